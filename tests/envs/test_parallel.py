"""The PettingZoo face: the official suites, one game under every face, determinism, fresh objects, clear errors."""

from __future__ import annotations

import copy
import math
import types
from importlib.metadata import version
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from pettingzoo.test.max_cycles_test import max_cycles_test
from pettingzoo.test.state_test import state_test

import multigrid
from helpers import frozen
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv, env, parallel_env

ON_TARGET = ["park", "leave", "stay", "restart"]
MODES = [*({"on_target": mode} for mode in ON_TARGET), {"flatten": True}, {"allow_stay": True, "num_agents": 5}]
WALLS = np.array([list("....#.."), list("..#...."), list("......#"), list(".#.....")]).T == "#"


def some_env(**settings: Any) -> MultiGridEnv:
    """A world that is neither square nor symmetric."""
    return parallel_env(**{"walls": WALLS, "num_agents": 3, "max_cycles": 40, **settings})


def actions_of(env: MultiGridEnv, random: np.random.Generator) -> dict[str, int]:
    """An action for everyone who is still there."""
    drawn = random.integers(0, env.config.num_actions, len(env.agents)).tolist()
    return dict(zip(env.agents, drawn, strict=True))


def episodes(env: MultiGridEnv, seed: int | None, number: int = 3) -> list[Any]:
    """Everything that some episodes of random play tell, infos included; the first is seeded."""
    told = []
    random = np.random.default_rng(9)
    for k in range(number):
        told.append(frozen(env.reset(seed=seed if k == 0 else None)))
        while env.agents:
            told.append(frozen(env.step(actions_of(env, random))))
    return told


def rest_of(env: MultiGridEnv, seed: int = 9) -> list[Any]:
    """Everything that the rest of the episode and the next two tell, the state included."""
    told, random = [], np.random.default_rng(seed)
    while env.agents:
        told.append((frozen(env.step(actions_of(env, random))), env.state().tolist(), list(env.agents)))
    return told + episodes(env, seed=None, number=2)


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_parallel_api(settings: dict[str, Any]) -> None:
    """PettingZoo's own test of a ParallelEnv passes."""
    parallel_api_test(some_env(**settings), num_cycles=100)


# It expects an image or a vector; a Dict is neither, and allowed.
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array", "ignore:Observation space for each agent")
@pytest.mark.parametrize("settings", MODES, ids=str)
def test_aec_api(settings: dict[str, Any]) -> None:
    """PettingZoo's own test of an AEC env passes on its conversion."""
    api_test(env(**{"num_agents": 3, "size": (5, 3), "max_cycles": 40, **settings}), num_cycles=60)


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_seeds(settings: dict[str, Any]) -> None:
    """PettingZoo's own seed tests pass, on both faces."""
    settings = {"num_agents": 3, "size": (5, 3), **settings}
    parallel_seed_test(lambda: parallel_env(**settings))
    seed_test(lambda: env(**settings), num_cycles=50)


@pytest.mark.parametrize("mode", ON_TARGET)
def test_rendering_api(mode: str) -> None:
    """PettingZoo's own render test passes, window and arrays."""
    render_test(lambda render_mode: env(num_agents=2, size=(5, 3), on_target=mode, render_mode=render_mode))


@pytest.mark.filterwarnings("ignore:The state contains negative numbers")  # those of agents that have left
@pytest.mark.parametrize("mode", ON_TARGET)
def test_state_api(mode: str) -> None:
    """PettingZoo's own state test passes, on both faces."""
    settings = {"num_agents": 3, "size": (5, 3), "on_target": mode, "max_cycles": 30}
    state_test(env(**settings), parallel_env(**settings))


def test_max_cycles_api() -> None:
    """PettingZoo's own limit test passes; under restart, so that no episode can end before the limit."""
    module = types.SimpleNamespace(
        env=lambda **given: env(on_target="restart", **given),
        parallel_env=lambda **given: parallel_env(on_target="restart", **given),
    )
    max_cycles_test(module)


@pytest.mark.parametrize("mode", ["park", "leave", "stay"])
def test_one_agent_is_the_documented_env(mode: str) -> None:
    """With one agent the ParallelEnv plays the episodes of the Gymnasium env, resets included."""
    one, many = GridWorldEnv(size=4), parallel_env(size=4, num_agents=1, on_target=mode, max_cycles=None)
    random = np.random.default_rng(0)
    for k in range(20):
        observation, info = one.reset(seed=17 if k == 0 else None)
        observations, infos = many.reset(seed=17 if k == 0 else None)
        assert frozen(observations["agent_0"]) == frozen(observation)
        assert infos["agent_0"]["distance"] == info["distance"]
        terminated = False
        while not terminated:
            action = int(random.integers(4))
            observation, reward, terminated, truncated, info = one.step(action)
            told = [by_agent["agent_0"] for by_agent in many.step({"agent_0": action})]
            assert frozen(told[0]) == frozen(observation)
            assert told[1:4] == [reward, terminated, truncated]
            assert told[4]["distance"] == info["distance"]
        assert many.agents == []


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_aec_plays_the_same_game(settings: dict[str, Any]) -> None:
    """The AEC env gives every agent what the ParallelEnv gives it, over whole episodes."""
    parallel, aec = (
        some_env(**settings),
        env(GridConfig(**{"walls": WALLS, "num_agents": 3, "max_cycles": 40, **settings})),
    )
    random = np.random.default_rng(1)
    for seed in range(4):
        observations, infos = parallel.reset(seed=seed)
        aec.reset(seed=seed)
        told = {agent: [observations[agent], 0, False, False, infos[agent]] for agent in parallel.agents}
        while parallel.agents:
            actions = actions_of(parallel, random)
            for agent in parallel.agents:
                assert aec.agent_selection == agent
                assert frozen(list(aec.last())) == frozen(told[agent])
                aec.step(actions[agent])
            step = parallel.step(actions)
            told = {agent: [part[agent] for part in step] for agent in step[0]}
            for agent in [agent for agent in told if agent not in parallel.agents]:
                assert frozen(list(aec.last())) == frozen(told[agent])
                aec.step(None)
        assert aec.agents == []


@pytest.mark.parametrize("mode", ON_TARGET)
def test_a_state_of_the_end_is_the_end(mode: str) -> None:
    """A state taken when the episode was over restores a finished env, and the stream for its next reset."""
    one, other = some_env(on_target=mode), some_env(on_target=mode)
    one.reset(seed=6)
    random = np.random.default_rng(3)
    while one.agents:
        one.step(actions_of(one, random))
    other.reset(seed=0)
    other.set_state(one.get_state())
    assert other.agents == []
    assert other.step({}) == ({}, {}, {}, {}, {})
    assert episodes(other, seed=None) == episodes(one, seed=None)


def test_a_state_may_have_someone_where_another_has_left() -> None:
    """The cell of an agent that has left is free in a state too; and under none a cell may be shared."""
    one = some_env(on_target="leave", num_agents=2, allow_stay=True)
    one.reset(seed=0, options={"agents": [[0, 0], [2, 0]], "targets": [[1, 0], [6, 3]]})
    one.step({"agent_0": 0, "agent_1": 4})
    one.step({"agent_1": 2})
    state = one.get_state()
    first = rest_of(one)
    one.set_state(state)
    assert one.state().tolist() == [[-1] * 4, [1, 0, 6, 3]]
    assert rest_of(one) == first
    shared = some_env(collisions="none", num_agents=2)
    shared.reset(seed=0, options={"agents": [[0, 0], [2, 0]], "targets": [[3, 0], [6, 3]]})
    shared.step({"agent_0": 0, "agent_1": 2})
    shared.set_state(shared.get_state())
    assert shared.state()[:, :2].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_lists_of_agents_are_never_shared(settings: dict[str, Any]) -> None:
    """`agents` is neither `possible_agents` nor a list of another episode, and none changes after it was handed out."""
    one = some_env(**settings)
    everyone = list(one.possible_agents)
    kept = [(one.possible_agents, everyone), (one.agents, [])]
    random = np.random.default_rng(0)
    for seed in (1, 2):
        one.reset(seed=seed)
        state = one.get_state()
        assert not any(one.agents is earlier for earlier, _ in kept)
        kept.append((one.agents, everyone))
        while one.agents:
            kept.append((one.agents, list(one.agents)))
            one.step(actions_of(one, random))
        one.set_state(state)
        assert not any(one.agents is earlier for earlier, _ in kept)
        kept.append((one.agents, everyone))
        for earlier, content in kept:
            assert earlier == content
    one.agents.clear()
    one.reset()
    assert one.agents == one.possible_agents == everyone


def test_spaces_are_exact_and_the_same_object() -> None:
    """The spaces say what is observed, to the bound and the dtype, and each call returns the same one."""
    one = parallel_env(
        size=(6, 4), num_agents=3, observe=("others", "agent", "view", "walls", "action_mask"), view_radius=1
    )
    cell = Box(np.zeros(2, np.int64), np.array([5, 3]), dtype=np.int64)
    expected = {
        "others": Box(np.full((2, 2), -1), np.array([[5, 3]] * 2), dtype=np.int64),
        "agent": cell,
        "view": Box(0, 1, (3, 3, 3), np.uint8),
        "walls": Box(0, 1, (6, 4), np.uint8),
        "action_mask": Box(0, 1, (4,), np.int8),
    }
    assert one.observation_space("agent_1") == Dict(expected)
    assert list(one.reset(seed=0)[0]["agent_1"]) == list(expected)
    assert one.action_space("agent_1") == Discrete(4)
    assert parallel_env(allow_stay=True).action_space("agent_0") == Discrete(5)
    for agent in one.possible_agents:
        assert one.observation_space(agent) is one.observation_space(agent) is one.observation_spaces[agent]
        assert one.action_space(agent) is one.action_space(agent) is one.action_spaces[agent]
    flat = parallel_env(size=(6, 4), num_agents=2, flatten=True).observation_space("agent_0")
    assert flat == Box(np.array([0, 0, 0, 0, -1, -1], np.float32), np.ones(6, np.float32), dtype=np.float32)
    assert one.state_space == Box(np.full((3, 4), -1), np.array([[5, 3, 5, 3]] * 3), dtype=np.int64)


def test_skrl_and_others_recognise_the_class() -> None:
    """The public class is a direct subclass of ParallelEnv, which some libraries look for, with its metadata."""
    assert pettingzoo.ParallelEnv in MultiGridEnv.__bases__
    assert MultiGridEnv.metadata["render_fps"] == 4
    assert MultiGridEnv.metadata["name"] == "multigrid_v0"
    assert parallel_env().render_mode is None


@pytest.mark.parametrize("kind", ["parallel", "aec"])
def test_pettingzoo_makes_it(kind: str) -> None:
    """pettingzoo.make, where PettingZoo has it, finds the registered id and hands the options on."""
    has_registry = tuple(map(int, version("pettingzoo").split(".")[:2])) >= (1, 27)
    assert hasattr(pettingzoo, "make") == has_registry
    if not has_registry:
        return
    made = pettingzoo.make(kind, "multigrid/MultiGrid-v0", num_agents=4, max_cycles=7)
    assert made.possible_agents == ["agent_0", "agent_1", "agent_2", "agent_3"]
    assert made.unwrapped.max_cycles == 7


def test_a_config_or_keywords() -> None:
    """parallel_env and env take a GridConfig or its fields, not both, and nothing else."""
    config = GridConfig(size=(4, 3))
    assert parallel_env(config).config == parallel_env(size=(4, 3)).config == config
    assert env(config).unwrapped.config == config
    with pytest.raises(TypeError, match="both a config and \\['num_agents'\\]"):
        parallel_env(config, num_agents=3)
    with pytest.raises(TypeError, match="both a config and \\['flatten', 'size'\\]"):
        env(config, size=4, flatten=True)
    with pytest.raises(TypeError, match="config is of type dict"):
        parallel_env({"size": 4})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sizes"):
        parallel_env(sizes=4)


def test_the_class_takes_nothing_but_a_config() -> None:
    """MultiGridEnv itself says what it expects, as parallel_env does."""
    assert MultiGridEnv().config == GridConfig()
    with pytest.raises(TypeError, match="config is of type dict"):
        MultiGridEnv({"size": 4})  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{}, {"agent_0": 0}, {"agent_0": 99}, {"nobody": 99}, None, [7], 3.5], ids=str)
def test_step_after_the_end(given: Any) -> None:
    """A finished env answers five new empty dicts, whatever it is given."""
    one = some_env(max_cycles=1)
    one.reset(seed=0)
    one.step(dict.fromkeys(one.agents, 0))
    told = one.step(given)
    assert told == ({}, {}, {}, {}, {})
    assert len({id(part) for part in (*told, *one.step(given))}) == 10


BAD_ACTIONS = [
    ({"agent_0": 0, "agent_2": 0}, ValueError, r"actions lack \['agent_1'\]"),
    ({"agent_0": 0, "agent_1": 0, "agent_2": 0, "agent_9": 0}, ValueError, r"unknown \['agent_9'\]"),
    ({"agent_0": 0, "agent_1": 4, "agent_2": 0}, ValueError, "action for agent_1 is 4; .* allow_stay=True"),
    ({"agent_0": 9, "agent_1": 0, "agent_2": "x"}, (TypeError, ValueError), "action for agent_0 is 9"),
    ({}, ValueError, r"actions lack \['agent_0', 'agent_1', 'agent_2'\]"),
    ({0: 0, 1: 0, 2: 0}, ValueError, r"actions lack \['agent_0', 'agent_1', 'agent_2'\]"),
    (3, TypeError, "actions are of type int; expected a dict"),
    (np.zeros(3, int), TypeError, "actions are of type ndarray; expected a dict"),
    (None, TypeError, "actions are of type NoneType; expected a dict"),
    ([0, 0, 0], TypeError, "actions are of type list; expected a dict"),
]


@pytest.mark.parametrize(("actions", "error", "complaint"), BAD_ACTIONS)
def test_bad_actions_change_nothing(actions: Any, error: type[Exception], complaint: str) -> None:
    """A bad action is an error that names the agent, what came and what was expected; nobody has moved."""
    one, untouched = some_env(), some_env()
    for each in (one, untouched):
        each.reset(seed=2)
        each.step(dict.fromkeys(each.agents, 1))
    with pytest.raises(error, match=complaint):
        one.step(actions)
    assert frozen(one.get_state()) == frozen(untouched.get_state())
    assert episodes(one, seed=None) == episodes(untouched, seed=None)


def test_parked_agents_actions_are_examined_and_departed_agents_are_not() -> None:
    """A parked agent is still live, so a bad action of it raises; one that has left may be given anything."""
    layout = {"agents": [[0, 0], [0, 3]], "targets": [[1, 0], [6, 3]]}
    parked = some_env(num_agents=2, on_target="park")
    parked.reset(options=layout)
    parked.step({"agent_0": 0, "agent_1": 1})
    with pytest.raises(ValueError, match="action for agent_0 is 9"):
        parked.step({"agent_0": 9, "agent_1": 1})
    left = some_env(num_agents=2, on_target="leave")
    left.reset(options=layout)
    left.step({"agent_0": 0, "agent_1": 1})
    assert list(left.step({"agent_0": "anything", "agent_1": 1})[0]) == ["agent_1"]


@pytest.mark.parametrize(
    ("bad", "error", "complaint"),
    [
        (9, ValueError, "{} is 9; expected an integer from 0 to 3"),
        (10**30, ValueError, "{} is 1000"),
        (0.0, TypeError, "{} is 0.0 of type float"),
        (None, TypeError, "{} is None of type NoneType"),
    ],
)
@pytest.mark.parametrize("mode", ["park", "leave"])
def test_bad_actions_later_in_the_episode_change_nothing(
    mode: str, bad: Any, error: type[Exception], complaint: str
) -> None:
    """Also when somebody has parked or left, a bad action of a live agent is an error, and nobody has moved."""
    one, untouched = some_env(on_target=mode), some_env(on_target=mode)
    for each in (one, untouched):
        each.reset(seed=2, options={"agents": [[0, 0], [0, 3], [3, 0]], "targets": [[1, 0], [6, 3], [0, 1]]})
        each.step({"agent_0": 0, "agent_1": 3, "agent_2": 1})
    parked_or_next = one.agents[0]
    assert one.agents == (["agent_0"] if mode == "park" else []) + ["agent_1", "agent_2"]
    good = dict.fromkeys(one.agents, 1)
    with pytest.raises(error, match=f"action for {complaint.format(parked_or_next)}"):
        one.step({**good, parked_or_next: bad})
    with pytest.raises(error, match=f"action for {complaint.format('agent_2')}"):
        one.step({**good, "agent_2": bad})
    with pytest.raises(ValueError, match=r"actions lack \['agent_1'\]"):
        one.step({agent: 1 for agent in one.agents if agent != "agent_1"})
    with pytest.raises(ValueError, match=r"unknown \['agent_3'\]"):
        one.step({**dict.fromkeys(one.possible_agents, 1), "agent_3": 1})
    assert frozen(one.get_state()) == frozen(untouched.get_state())
    assert rest_of(one) == rest_of(untouched)


@pytest.mark.parametrize("departed", ["anything", None, 99, -1, 10**30, math.nan])
def test_actions_of_departed_agents_are_not_examined(departed: Any) -> None:
    """Whatever an agent that has left is given, the others play on as if it had been given nothing."""
    one, other = some_env(on_target="leave"), some_env(on_target="leave")
    for each in (one, other):
        each.reset(seed=0, options={"agents": [[0, 0], [0, 3], [3, 0]], "targets": [[1, 0], [6, 3], [0, 1]]})
        each.step({"agent_0": 0, "agent_1": 3, "agent_2": 1})
    assert one.agents == ["agent_1", "agent_2"]
    random = np.random.default_rng(0)
    while other.agents:
        actions = actions_of(other, random)
        gone = {agent: departed for agent in one.possible_agents if agent not in one.agents}
        assert frozen(one.step({**gone, **actions})) == frozen(other.step(actions))


def test_a_target_behind_walls_is_refused() -> None:
    """An agent must be able to reach its target; if it is not, the env is as it was."""
    walls = np.array([list(".#.."), list(".#..")]).T == "#"
    one, untouched = parallel_env(walls=walls, num_agents=2), parallel_env(walls=walls, num_agents=2)
    one.reset(seed=3)
    untouched.reset(seed=3)
    with pytest.raises(ValueError, match=r"agent_1 at \[0, 1\] cannot reach its target \[3, 0\]"):
        one.reset(seed=4, options={"agents": [[2, 0], [0, 1]], "targets": [[2, 1], [3, 0]]})
    assert rest_of(one) == rest_of(untouched)


def test_the_limit_can_be_set_in_mid_episode() -> None:
    """max_cycles takes effect at once, None for never included."""
    one = some_env(on_target="restart", max_cycles=5)
    one.reset(seed=0)
    one.max_cycles = None
    for _ in range(50):
        one.step(dict.fromkeys(one.agents, 0))
    assert one.max_cycles is None
    one.max_cycles = 51
    assert all(one.step(dict.fromkeys(one.agents, 0))[3].values())
    assert one.agents == []
    one.reset(seed=0)
    one.step(dict.fromkeys(one.agents, 0))
    one.max_cycles = np.int64(1)  # passed already: the next step is the last
    assert all(one.step(dict.fromkeys(one.agents, 0))[3].values())
    assert one.config.max_cycles == 5


@pytest.mark.parametrize(
    ("limit", "error"),
    [(0, ValueError), (-1, ValueError), (-7, ValueError)]
    + [(bad, TypeError) for bad in (2.5, True, "7", math.nan, [3])],
    ids=str,
)
def test_a_bad_limit_changes_nothing(limit: Any, error: type[Exception]) -> None:
    """max_cycles set on an env is checked as the one of a GridConfig is, with the same words."""
    with pytest.raises(error, match=r"max_cycles is .*; expected an integer of at least 1 or None for no limit"):
        GridConfig(max_cycles=limit)
    one, untouched = some_env(), some_env()
    one.reset(seed=0)
    untouched.reset(seed=0)
    with pytest.raises(error, match=r"max_cycles is .*; expected an integer of at least 1 or None for no limit"):
        one.max_cycles = limit
    assert one.max_cycles == 40
    assert rest_of(one) == rest_of(untouched)


def test_a_limit_too_large_to_count_to_is_refused() -> None:
    """A limit is as large as one likes up to what a 64-bit integer holds; beyond, the error says which field it is."""
    one = parallel_env(max_cycles=2**62)
    one.max_cycles = 2**63 - 1
    one.reset(seed=0)
    assert not any(one.step(dict.fromkeys(one.agents, 0))[3].values())
    with pytest.raises(ValueError, match="max_cycles is 1000"):
        one.max_cycles = 10**30
    assert one.max_cycles == 2**63 - 1
    with pytest.raises(ValueError, match="max_cycles is 1000"):
        parallel_env(max_cycles=10**30)


@pytest.mark.parametrize(
    ("size", "shape"), [((7, 4), (293, 512, 3)), ((3, 8), (512, 192, 3)), ((1, 2), (512, 256, 3)), (6, (512, 512, 3))]
)
def test_the_longer_side_of_a_picture_is_512(size: Any, shape: tuple[int, ...]) -> None:
    """Cells are squares, so a picture has the shape of its world; each call returns another array."""
    one = parallel_env(size=size, render_mode="rgb_array")
    one.reset(seed=0)
    frame = one.render()
    assert (frame.shape, frame.dtype) == (shape, np.uint8)
    again = one.render()
    assert not np.shares_memory(frame, again)
    np.testing.assert_array_equal(frame, again)


def test_the_picture_shows_everyone() -> None:
    """Each agent has a colour, its target a tint of it, walls are dark, and those who left are gone."""
    one = some_env(num_agents=2, render_mode="rgb_array", on_target="leave")
    one.reset(options={"agents": [[0, 2], [5, 0]], "targets": [[1, 2], [3, 2]]})
    frame = one.render()
    side = 512 / 7
    assert frame.dtype == np.uint8

    def at(x: int, y: int) -> list[int]:
        # Beside the middle, where the number is.
        return frame[int((y + 0.5) * side), int((x + 0.25) * side)].tolist()

    first, second = at(0, 2), at(5, 0)
    assert len({tuple(colour) for colour in (first, second, at(1, 2), at(3, 2), at(4, 0), at(6, 0))}) == 6
    for agent, target in ((first, at(1, 2)), (second, at(3, 2))):
        tint = [255 - (255 - value) * 0.45 for value in agent]
        assert np.abs(np.array(tint) - target).max() <= 1
    assert max(at(4, 0)) < 100
    assert at(6, 0) == [255, 255, 255]
    one.step({"agent_0": 0, "agent_1": 0})
    frame = one.render()
    assert at(0, 2) == at(1, 2) == [255, 255, 255]


def test_a_window_opens_closes_and_opens_again() -> None:
    """Human mode shows a frame at every step; after close() the next frame opens a new window."""
    import pygame

    one = some_env(render_mode="human")
    one.metadata = one.metadata | {"render_fps": 1000}
    one.reset(seed=0)
    surface = pygame.display.get_surface()
    assert surface.get_size() == (512, 293)
    drawn = some_env(render_mode="rgb_array")
    drawn.reset(seed=0)
    np.testing.assert_array_equal(pygame.surfarray.array3d(surface).transpose(1, 0, 2), drawn.render())
    one.step(dict.fromkeys(one.agents, 0))
    drawn.step(dict.fromkeys(drawn.agents, 0))
    np.testing.assert_array_equal(pygame.surfarray.array3d(surface).transpose(1, 0, 2), drawn.render())
    copy.deepcopy(one).step(dict.fromkeys(one.agents, 0))
    one.close()
    assert not pygame.display.get_init()
    one.step(dict.fromkeys(one.agents, 0))
    assert pygame.display.get_init()
    assert one.render() is None
    one.close()
    one.close()


def test_rendering_without_a_mode_warns() -> None:
    """render() without a render_mode says which modes there are; an unknown mode is refused."""
    one = some_env()
    one.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array' or 'human'"):
        assert one.render() is None
    with pytest.raises(ValueError, match="render_mode is 'ascii'; expected None or one of 'human', 'rgb_array'"):
        some_env(render_mode="ascii")


def test_too_many_agents_are_refused_with_the_numbers() -> None:
    """An env with more agents than cells to stand on cannot be made."""
    with pytest.raises(ValueError, match=r"num_agents is 7, but the grid \(3 x 2\) has room for 6"):
        parallel_env(size=(3, 2), num_agents=7)
    walls = np.array([list(".#.."), list("#...")]).T == "#"  # the corner is a cell that can reach no other
    with pytest.raises(ValueError, match=r"num_agents is 6, but the map \(4 x 2\) has room for 5: 6 free cells in 2"):
        parallel_env(walls=walls, num_agents=6)
    assert parallel_env(walls=walls, num_agents=5).reset(seed=0)


def test_public_names() -> None:
    """The names of the design are there, and nothing else is promised."""
    assert set(multigrid.__all__) <= set(dir(multigrid))
    for name in multigrid.__all__:
        assert getattr(multigrid, name).__module__.startswith("multigrid.")
    with pytest.raises(AttributeError, match="no attribute 'Gridworld'"):
        _ = multigrid.Gridworld  # type: ignore[attr-defined]


def test_the_replaced_generator_draws_the_layouts() -> None:
    """A generator that is not PCG64 draws through NumPy: the same draws give the same layout, by any bit generator."""
    for bits in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        one = some_env(on_target="restart", num_agents=2)
        one.np_random = np.random.Generator(bits(3))
        drawn = np.random.Generator(bits(3))
        one.reset()
        taken: dict[str, list[Any]] = {"agents": [], "targets": []}
        for _ in range(2):
            for kind in ("agents", "targets"):
                while True:
                    cell = (int(drawn.integers(7)), int(drawn.integers(4)))
                    own = taken["agents"][-1] if kind == "targets" else None
                    if not WALLS[cell] and cell not in taken[kind] and cell != own:
                        break
                taken[kind].append(cell)
        assert one.state().tolist() == [[*a, *b] for a, b in zip(taken["agents"], taken["targets"], strict=True)]
        assert one.np_random.bit_generator.state["bit_generator"] == bits.__name__
        np.testing.assert_equal(one.np_random.bit_generator.state, drawn.bit_generator.state)
        before = one.get_state()
        first = episodes(one, seed=None)
        one.set_state(before)
        assert episodes(one, seed=None) == first
