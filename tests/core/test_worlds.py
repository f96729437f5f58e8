"""Maps as pictures and pools, and the figures by which an episode is judged."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

from multigrid import Action, GridConfig, MultiGridEnv, parallel_env, vector_env
from multigrid.maps import parse_map

CORRIDOR = """
    a....B
    ..##..
    b.#..A
"""
MIRRORED = """
    B....a
    ..##..
    A..#.b
"""


def test_letters_set_starts_and_targets() -> None:
    """A picture's letters are the layout of every episode, agents in alphabetical order, and nothing is drawn."""
    env = parallel_env(walls=CORRIDOR)
    assert env.config.num_agents == 2
    assert (env.config.width, env.config.height) == (6, 3)
    env.reset(seed=0)
    before = env.np_random.bit_generator.state
    for _ in range(3):
        env.reset()
        assert env.state().tolist() == [[0, 0, 5, 2], [0, 2, 5, 0]]
    assert env.np_random.bit_generator.state == before
    assert env.config.components[0, 2, 1] == env.config.components[0, 2, 2] == 0


def test_the_letters_say_how_many_agents_there_are() -> None:
    """num_agents may be left out beside letters; a number that disagrees is refused."""
    assert GridConfig(walls="aA.\nbB.\ncC.").num_agents == 3
    assert GridConfig(walls="aA.\nbB.\ncC.", num_agents=3).num_agents == 3
    with pytest.raises(ValueError, match="num_agents is 4 but the map shows 3"):
        GridConfig(walls="aA.\nbB.\ncC.", num_agents=4)


def test_a_picture_without_letters_is_walls() -> None:
    """Without letters a picture only has walls, and layouts are drawn on it as on the same array."""
    walls = np.array([[False, True], [False, False], [False, False]])
    drawn, given = parallel_env(walls="...\n#.."), parallel_env(walls=walls)
    assert drawn.config == given.config
    for env in (drawn, given):
        env.reset(seed=5)
    assert drawn.state().tolist() == given.state().tolist()


def test_a_pool_of_pictures_draws_one_of_their_layouts() -> None:
    """Each episode takes map and layout of one picture of the pool, and over many episodes of every one."""
    env = parallel_env(walls=[CORRIDOR, MIRRORED], observe=("agent", "walls"))
    seen = set()
    for k in range(40):
        observations, _ = env.reset(seed=3 if k == 0 else None)
        first = tuple(observations["agent_0"]["agent"].tolist())
        walls = observations["agent_0"]["walls"]
        assert (first, walls[2, 2], walls[3, 2]) in {((0, 0), 1, 0), ((5, 0), 0, 1)}
        layout = {(0, 0): [[0, 0, 5, 2], [0, 2, 5, 0]], (5, 0): [[5, 0, 0, 2], [5, 2, 0, 0]]}
        assert env.state().tolist() == layout[first]
        seen.add(first)
    assert seen == {(0, 0), (5, 0)}


def test_the_map_of_a_pool_is_drawn_first() -> None:
    """With a pool one bounded draw chooses the map, before the layout; with one map nothing is drawn for it."""
    maps = np.zeros((5, 4, 3), dtype=bool)
    maps[np.arange(5), [0, 1, 2, 3, 0], [0, 1, 2, 0, 1]] = True
    env = parallel_env(walls=maps, num_agents=1, observe=("walls",))
    for seed in range(20):
        observations, _ = env.reset(seed=seed)
        drawn = np.random.default_rng(seed)
        assert (observations["agent_0"]["walls"] == maps[drawn.integers(5)]).all()
        while True:
            cell = (int(drawn.integers(4)), int(drawn.integers(3)))
            if not observations["agent_0"]["walls"][cell]:
                break
        assert env.state()[0, :2].tolist() == list(cell)


def test_everything_seen_is_of_the_episodes_own_map() -> None:
    """With a pool, the view, the walls and the action mask are those of the map that is played, whose walls stop."""
    maps = np.zeros((2, 4, 3), dtype=bool)
    maps[1, 2, 1] = True
    env = parallel_env(walls=maps, num_agents=1, observe=("view", "walls", "action_mask"), view_radius=1)
    layout = {"agents": [[1, 1]], "targets": [[0, 0]]}
    for index in (1, 0, 1):
        seen = env.reset(options={"map": index, **layout})[0]["agent_0"]
        assert seen["view"][0].tolist() == [[0, 0, 0], [0, 0, 0], [0, index, 0]]
        assert seen["walls"].tolist() == maps[index].tolist()
        assert seen["action_mask"].tolist() == [1 - index, 1, 1, 1]
        env.step({"agent_0": Action.RIGHT})
        assert env.state()[0, :2].tolist() == [2 - index, 1]


def test_options_choose_the_map() -> None:
    """options["map"] sets the map of a pool, with or without a layout, and the map is not drawn then."""
    maps = np.zeros((3, 4, 3), dtype=bool)
    maps[1, 1, 1] = maps[2, 2, 2] = True
    env = parallel_env(walls=maps, num_agents=2, observe=("walls",))
    for index in (2, 1, np.int64(0)):
        observations, _ = env.reset(seed=1, options={"map": index})
        assert (observations["agent_1"]["walls"] == maps[index]).all()
    one_map = parallel_env(walls=maps[2], num_agents=2)
    one_map.reset(seed=1)
    env.reset(seed=1, options={"map": 2})
    assert env.state().tolist() == one_map.state().tolist()
    layout = {"agents": [[1, 1], [0, 0]], "targets": [[3, 0], [1, 0]]}
    env.reset(options={"map": 2, **layout})
    assert env.state().tolist() == [[1, 1, 3, 0], [0, 0, 1, 0]]
    with pytest.raises(ValueError, match=r"location of agent_0 .* \[1, 1\], which is a wall"):
        env.reset(options={"map": 1, **layout})


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"map": 2}, ValueError, "options\\['map'\\] is 2, but there are 2 maps"),
        ({"map": -1}, ValueError, "options\\['map'\\] is -1; expected an integer of at least 0"),
        ({"map": 0.5}, TypeError, "options\\['map'\\] is 0.5 of type float"),
        ({"map": True}, TypeError, "options\\['map'\\] is True of type bool"),
        ({"agents": [[0, 0]], "targets": [[1, 0]]}, ValueError, "a layout for one of 2 maps; say which"),
    ],
)
def test_a_bad_map_changes_nothing(options: dict[str, Any], error: type[Exception], complaint: str) -> None:
    """A map that is not there is refused with the number of maps, and the episode goes on."""
    env = parallel_env(walls=np.zeros((2, 3, 2), dtype=bool), num_agents=1)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(error, match=complaint):
        env.reset(seed=9, options=options)
    np.testing.assert_equal(env.get_state(), before)


@pytest.mark.parametrize(
    ("walls", "complaint"),
    [
        (["aA.", "aA"], r"map 1 of walls has the shape \(2, 1\), the first \(3, 1\)"),
        (["aA..", "aAbB"], "map 1 of walls shows 2 agents, the first 1"),
        (["aA", "a."], "map 1 of walls: line 1, column 1 of the picture: agent 'a' has no target"),
        (
            "a.#.A",
            r"agent_0 at \[0, 0\] cannot reach its target \[4, 0\]: walls lie between them \(the targets of map 0",
        ),
        ("", "map 0 of walls: the picture is empty"),
        ("..\n#x#", "map 0 of walls: line 2 of the picture, '#x#', has 3 characters"),
    ],
)
def test_bad_pictures_are_refused(walls: Any, complaint: str) -> None:
    """A picture that cannot be played is refused when the configuration is made, and the error says where."""
    with pytest.raises(ValueError, match=complaint):
        GridConfig(walls=walls, num_agents=1)


@pytest.mark.parametrize("many", [False, True], ids=["one world", "vector env"])
def test_a_state_has_nobody_in_a_cell_that_can_reach_no_other(many: bool) -> None:
    """A state that differs from a game's in the cell of somebody who has arrived, now cut off, is refused unchanged."""
    config = GridConfig(walls=".#...\n#....\n.....", num_agents=2, on_target="stay", allow_stay=True)
    env: Any = vector_env(1, config) if many else MultiGridEnv(config)
    layout = {"agents": [[3, 0], [1, 2]], "targets": [[4, 0], [4, 2]]}
    env.reset(seed=0, options=layout)
    env.step(np.array([0, 0]) if many else {"agent_0": 0, "agent_1": 0})
    state, before = env.get_state(), env.get_state()
    for name in ("location", "target"):
        assert state[name][..., 0, :].ravel().tolist() == [4, 0]
        state[name][..., 0, :] = 0
    with pytest.raises(ValueError, match="location in the state"):
        env.set_state(state)
    np.testing.assert_equal(env.get_state(), before)
    env.set_state(before)


@pytest.mark.parametrize("many", [False, True], ids=["one world", "vector env"])
@pytest.mark.parametrize("agent", [0, 1, 2])
def test_a_state_has_no_target_that_its_agent_cannot_reach(agent: int, many: bool) -> None:
    """One agent whose target lies behind walls is enough for a state to be refused, whichever it is."""
    config = GridConfig(walls="..#..\n..#..\n..#..\n..#..", num_agents=3, on_target="restart")
    env: Any = vector_env(1, config) if many else MultiGridEnv(config)
    env.reset(seed=0, options={"agents": [[0, 0], [1, 1], [4, 3]], "targets": [[1, 0], [0, 3], [3, 3]]})
    state, before = env.get_state(), env.get_state()
    x = state["target"][..., agent, 0]
    x += 3 if agent < 2 else -3
    state["distances"][..., agent] = np.abs(state["location"] - state["target"]).sum(axis=-1)[..., agent]
    with pytest.raises(ValueError, match="target in the state"):
        env.set_state(state)
    np.testing.assert_equal(env.get_state(), before)
    env.set_state(before)


NARROW = parse_map("a.B\nb.A")


@pytest.mark.parametrize(
    ("change", "error", "complaint"),
    [
        ({"walls": NARROW.walls.astype(int)}, TypeError, "map 0 of walls is of int64; expected a boolean array"),
        ({"agents": [[0, 0], [0, 0]]}, ValueError, "agent_0 and agent_1 in the agents of map 0 of walls have the same"),
        ({"agents": [[0, 0], [3, 0]]}, ValueError, r"agent_1 in the agents of map 0 of walls is \[3, 0\], outside"),
        ({"agents": [[0, 0], [-1, -1]]}, ValueError, r"is \[-1, -1\], outside the 3 x 2 grid"),
        ({"agents": [[0, 0], [2, 0]]}, ValueError, r"agent_1 starts on its own target, \[2, 0\]"),
        ({"agents": [[0.5, 0], [1, 0]]}, TypeError, "the agents of map 0 of walls is of float64"),
        ({"targets": [[2, 1]]}, ValueError, r"the targets of map 0 of walls has the shape \(1, 2\); expected"),
        ({"targets": []}, ValueError, r"the targets of map 0 of walls has the shape \(0,\); expected"),
        ({"agents": []}, ValueError, r"the targets of map 0 of walls has the shape \(2, 2\); expected"),
    ],
)
@pytest.mark.parametrize("stacked", [False, True])
def test_pictures_made_by_hand_are_checked(
    change: dict[str, Any], error: type[Exception], complaint: str, stacked: bool
) -> None:
    """A ParsedMap that no parser has read, or a stack of them, is checked like a layout by hand."""
    picture = NARROW._replace(**change)
    if stacked:
        picture = type(picture)(*(np.array([field]) for field in picture))
    with pytest.raises(error, match=complaint):
        GridConfig(walls=picture)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), dataclasses.replace])
def test_configurations_with_pictures_are_values(copied: Any) -> None:
    """Two configurations of the same pictures are equal, hash alike and survive copies; letters make a difference."""
    config = GridConfig(walls=[CORRIDOR, MIRRORED])
    assert copied(config) == config == GridConfig(walls=[parse_map(CORRIDOR), parse_map(MIRRORED)])
    assert hash(copied(config)) == hash(config)
    assert config != GridConfig(walls=config.maps)
    assert config != GridConfig(walls=[MIRRORED, CORRIDOR])
    assert dataclasses.replace(config, max_cycles=9).layouts.tolist() == config.layouts.tolist()


def play(env: MultiGridEnv, *steps: str) -> MultiGridEnv:
    """Play steps of one character an agent: > right, < left, v one down the page, ^ one up, - stay."""
    env.reset(seed=0)
    for actions in steps:
        env.step({agent: ">v<^-".index(action) for agent, action in zip(env.agents, actions, strict=True)})
    return env


def told(env: MultiGridEnv) -> dict[str, Any]:
    """The metrics without arrays."""
    return {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in env.metrics().items()}


THREE = "aA...\nb.B..\nc..C."


def world(on_target: str, **settings: Any) -> MultiGridEnv:
    """Three agents in three rows, one, two and three cells from their targets."""
    return parallel_env(walls=THREE, on_target=on_target, allow_stay=True, **settings)


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_metrics_of_a_solved_episode(on_target: str) -> None:
    """All arrived, after 1, 2 and 4 steps: the sum of costs is 7, the makespan 4."""
    steps = (">>>", "->>", "--^", "-->") if on_target == "park" else (">>>", ">>", "-", ">")
    env = play(world(on_target), *steps)
    assert env.agents == []
    expected = {"success": [True] * 3, "arrival_step": [1.0, 2.0, 4.0], "csr": 1.0, "isr": 1.0, "sum_of_costs": 7.0}
    metrics = told(env)
    assert math.isnan(metrics.pop("throughput"))
    assert metrics == {**expected, "makespan": 4.0}


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_metrics_of_an_episode_cut_short(on_target: str) -> None:
    """Who has not arrived when the limit comes is charged with all the steps, and the success rate is individual."""
    steps = (">>-", "->-", "---") if on_target == "park" else (">>-", ">-", "-")
    env = play(world(on_target, max_cycles=3), *steps)
    assert env.agents == []
    metrics = told(env)
    assert metrics["success"] == [True, True, False]
    assert metrics["arrival_step"][:2] == [1.0, 2.0]
    assert math.isnan(metrics["arrival_step"][2])
    assert (metrics["csr"], metrics["isr"]) == (0.0, pytest.approx(2 / 3))
    assert (metrics["sum_of_costs"], metrics["makespan"]) == (6.0, 3.0)


def test_under_stay_walking_off_undoes_an_arrival() -> None:
    """Under stay the arrival that counts is the first of the steps that the agent has stood there without a break."""
    env = play(world("stay"), ">--", "<--", ">>-", "->>")
    metrics = told(env)
    assert metrics["success"] == [True, True, False]
    assert metrics["arrival_step"][:2] == [3.0, 4.0]
    assert metrics["sum_of_costs"] == 3 + 4 + 4
    env = play(world("stay"), ">--", "<--")
    assert told(env)["success"] == [False] * 3
    env = play(world("stay"), ">>>", "->>", "-->")
    assert told(env)["arrival_step"] == [1.0, 2.0, 3.0]
    assert (env.metrics()["csr"], env.metrics()["sum_of_costs"]) == (1.0, 6.0)


def test_metrics_before_the_first_step() -> None:
    """At reset nobody has arrived and nothing has been spent; what is not defined yet is NaN."""
    metrics = told(play(world("park")))
    assert metrics["success"] == [False] * 3
    assert all(math.isnan(step) for step in metrics["arrival_step"])
    assert (metrics["csr"], metrics["isr"], metrics["sum_of_costs"], metrics["makespan"]) == (0.0, 0.0, 0.0, 0.0)
    assert math.isnan(metrics["throughput"])
    assert math.isnan(told(play(world("restart")))["throughput"])


def test_throughput_is_arrivals_over_steps() -> None:
    """Under restart the throughput counts all arrivals over the steps played, and the other figures are undefined."""
    env = world("restart", max_cycles=None)
    env.reset(seed=4)
    random = np.random.default_rng(0)
    arrivals = np.zeros(3)
    for step in range(1, 200):
        rewards = env.step(dict(zip(env.agents, random.integers(0, 5, 3).tolist(), strict=True)))[1]
        arrivals += list(rewards.values())
        metrics = told(env)
        assert metrics["throughput"] == pytest.approx(arrivals.sum() / step)
        assert metrics["success"] == (arrivals > 0).tolist()
    assert arrivals.sum() >= 10
    assert all(math.isnan(metrics[name]) for name in ("csr", "isr", "sum_of_costs", "makespan"))


def test_metrics_begin_anew_with_each_episode() -> None:
    """A reset clears what the last episode has counted."""
    env = play(world("park"), ">>>", "->>", "-->")
    assert told(env)["csr"] == 1.0
    assert told(play(env))["success"] == [False] * 3
    env = play(world("restart", max_cycles=None), ">--")
    assert env.metrics()["throughput"] == 1.0
    assert play(env, "---").metrics()["throughput"] == 0.0
