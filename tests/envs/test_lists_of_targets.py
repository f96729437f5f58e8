"""Lists of targets under *restart* on every face: how they are passed, what is refused, and that they are one game."""

import copy
import re

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import multigrid
from faces import SINGLES, VECTORS, Parallel, Turns, Vector, refused
from helpers import frozen
from multigrid import GridConfig, planning
from multigrid.core.worlds import GAME, Worlds
from multigrid.maps.text import ParsedMap
from multigrid.runtime.compiled import COMPILED

MAP = "....#..\n..#....\n......#\n.#....."
STARTS = [[0, 0], [1, 0], [2, 0]]
LISTS = [[[1, 0], [0, 0]], [[1, 0], [1, 0], [2, 2]], [[6, 3]]]
RULES = {"on_target": "restart", "allow_stay": True, "collisions": "soft", "max_cycles": 40}
CONFIG = GridConfig(walls=MAP, num_agents=3, **RULES)
LAYOUT = {"agents": STARTS, "targets": LISTS}


def joint_actions(steps=60, seed=3):
    """Random joint actions of three agents, in which staying is likely."""
    return np.random.default_rng(seed).choice([0, 1, 2, 3, 4, 4], (steps, 3))


def history(env, options, steps=40):
    """What a ParallelEnv shows of a seeded episode with these options: states, rewards, infos."""
    env.reset(seed=5, options=options)
    shown = [env.get_state()]
    for actions in joint_actions(steps):
        observations, rewards, *_, infos = env.step(dict(zip(env.possible_agents, actions.tolist(), strict=True)))
        shown.append([observations, rewards, infos, env.get_state(), env.metrics()["throughput"]])
    return shown


def test_metrics_count_every_arrival():
    """The throughput is the number of arrivals by step, repeated targets included."""
    env = multigrid.parallel_env(CONFIG)
    shown = history(env, {"agents": STARTS, "targets": [[[0, 0], [0, 0], [0, 1]], [[1, 0], [1, 1]], [[2, 0]]]})
    arrivals = sum(info["arrived"] for step in shown[1:] for info in step[2].values())
    assert env.get_state()["arrivals"].sum() == arrivals > 5
    assert env.metrics()["throughput"] == arrivals / 40


def test_turns_and_rounds_are_one_game():
    """The AEC env plays the same episode with lists."""
    parallel, turns = multigrid.parallel_env(CONFIG), multigrid.env(CONFIG)
    parallel.reset(seed=5, options=LAYOUT)
    turns.reset(seed=5, options=LAYOUT)
    for number, actions in enumerate(joint_actions(40)):
        parallel.step(dict(zip(parallel.possible_agents, actions.tolist(), strict=True)))
        for agent, action in zip(turns.possible_agents, actions.tolist(), strict=True):
            assert turns.agent_selection == agent
            turns.step(action)
        assert frozen(turns.get_state()) == frozen(parallel.get_state())
        if number == 20:
            turns.set_state(parallel.get_state())


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("num_threads", [1, 2])
def test_worlds_with_and_without_lists(mode, num_threads):
    """Each world of a vector env plays what a single env plays, with its own lists or none; resets drop the lists."""
    num_worlds = 4
    worlds = multigrid.vector_env(num_worlds, CONFIG, autoreset_mode=mode, num_threads=num_threads)
    singles = [multigrid.parallel_env(CONFIG) for _ in range(num_worlds)]
    rotated = [LISTS[0], LISTS[1][1:] + LISTS[1][:1], [[5, 0], [6, 3], [0, 2], [5, 1], [0, 0]]]
    lists = [LISTS, rotated, LISTS, [one[:1] for one in rotated]]
    worlds.reset(seed=7, options={"agents": [STARTS] * num_worlds, "targets": lists})
    for e, env in enumerate(singles):
        env.reset(seed=7 + e, options={"agents": STARTS, "targets": lists[e]})
    mask = np.repeat([False, False, True, False], 3)
    worlds.reset(options={"reset_mask": mask})
    singles[2].reset()
    for number, actions in enumerate(joint_actions(100)):
        ending = [not env.agents for env in singles]
        if any(ending) and mode is AutoresetMode.DISABLED:
            worlds.reset(options={"reset_mask": np.repeat(ending, 3)})
        seen, rewards, *_ = worlds.step(np.tile(actions, num_worlds))
        for e, env in enumerate(singles):
            if ending[e]:
                env.reset()
                if mode is AutoresetMode.NEXT_STEP:
                    continue
            observations, gained, *_ = env.step(dict(zip(env.possible_agents, actions.tolist(), strict=True)))
            assert list(gained.values()) == rewards[3 * e : 3 * e + 3].tolist(), (number, e)
            if mode is AutoresetMode.SAME_STEP and not env.agents:
                env.reset()
                continue
            for i, one in enumerate(observations.values()):
                assert (one["target"] == seen["target"][3 * e + i]).all(), (number, e)
        if mode is AutoresetMode.SAME_STEP or number < 39:
            for kept, env in zip(worlds.get_state(single=True), singles, strict=True):
                assert frozen(kept) == frozen(env.get_state()), number
    assert "target_lists" not in worlds.get_state()


def test_lists_for_all_worlds_or_for_each():
    """A list for each agent is every world's; a list of such lists has one for each world; a mask picks some."""
    worlds = multigrid.vector_env(2, CONFIG)
    one = multigrid.parallel_env(CONFIG)
    one.reset(seed=1, options=LAYOUT)
    kept = one.get_state()["target_lists"].tolist()
    for targets in (LISTS, [LISTS, LISTS], (LISTS, tuple(map(tuple, LISTS)))):
        worlds.reset(seed=1, options={"agents": STARTS, "targets": targets})
        assert worlds.get_state()["target_lists"].tolist() == [kept, kept]
    mixed = [LISTS, [[1, 1], [2, 2], [3, 3]]]
    worlds.reset(seed=1, options={"agents": [STARTS] * 2, "targets": mixed})
    states = worlds.get_state(single=True)
    assert [state.get("target_lists") is None for state in states] == [False, True]
    mask = np.repeat([False, True], 3)
    worlds.reset(options={"agents": STARTS, "targets": LISTS, "reset_mask": mask})
    assert worlds.get_state()["target_lists"].tolist() == [kept, kept]
    even = np.array([[[1, 0], [2, 0]]] * 3)
    worlds.reset(options={"agents": STARTS, "targets": even})
    assert worlds.get_state()["target_lists"].tolist() == [even.tolist()] * 2


def test_as_many_worlds_as_agents():
    """Targets for each world keep their meaning; where it could be lists for all worlds too, the error says so."""
    worlds = multigrid.vector_env(3, CONFIG)
    cells = np.array([[[1, 0], [0, 0], [6, 3]], [[3, 3], [0, 2], [1, 1]], [[2, 2], [3, 2], [4, 2]]])
    worlds.reset(seed=1, options={"agents": [STARTS] * 3, "targets": cells})
    assert worlds.state()[:, :, 2:].tolist() == cells.tolist()
    assert "target_lists" not in worlds.get_state()
    with pytest.raises(
        ValueError, match=re.escape("has the shape (3, 3, 2): a target for each agent of each world, or")
    ):
        worlds.reset(options={"agents": STARTS, "targets": cells})
    worlds.reset(options={"agents": STARTS, "targets": [cells] * 3})
    assert worlds.get_state()["target_lists"].tolist() == [cells.tolist()] * 3
    worlds.reset(options={"agents": STARTS, "targets": cells[:, :2]})
    assert worlds.get_state()["target_lists"].tolist() == [cells[:, :2].tolist()] * 3


def test_targets_may_be_shared_and_be_starts():
    """Agents may have targets in common at once, in every place of their lists, and start on their own."""
    env = multigrid.parallel_env(CONFIG)
    env.reset(options={"agents": STARTS, "targets": [[[0, 0], [3, 3]], [[0, 0], [3, 3]], [[0, 0]]]})
    assert env.state()[:, 2:].tolist() == [[0, 0]] * 3
    rewards = env.step({"agent_0": 4, "agent_1": 4, "agent_2": 4})[1]
    assert rewards == {"agent_0": 1.0, "agent_1": 0.0, "agent_2": 0.0}
    assert env.state()[:, 2:].tolist() == [[3, 3], [0, 0], [0, 0]]


BAD = [
    ([[], LISTS[1], LISTS[2]], ValueError, "the list of agent_0 in options['targets'] is empty; expected at least one"),
    ([LISTS[0], LISTS[1], [[-1, -1]]], ValueError, "the list of agent_2 in options['targets'] is empty"),
    (LISTS[:2], ValueError, "options['targets'] has 2 lists; expected 3, one for each agent"),
    (
        [LISTS[0], [[1, 0], [4, 0]], LISTS[2]],
        ValueError,
        "target 1 in the list of agent_1 in options['targets'], [4, 0], is",
    ),
    ([[[1, 0], [7, 0]], *LISTS[1:]], ValueError, "[7, 0], is outside the 7 x 4 grid"),
    ([[[1, 0], [0, -1]], *LISTS[1:]], ValueError, "target 1 in the list of agent_0 in options['targets'], [0, -1], is"),
    (
        [[[-1, -1], [1, 0]], *LISTS[1:]],
        ValueError,
        "target 0 in the list of agent_0 in options['targets'], [-1, -1], is",
    ),
    (
        [[[1, 0], [0.0, 1.0]], *LISTS[1:]],
        TypeError,
        "target 1 in the list of agent_0 in options['targets'] is of float64",
    ),
    (
        [[[1, 0], [1, 0, 2]], *LISTS[1:]],
        ValueError,
        "target 1 in the list of agent_0 in options['targets'] has the shape",
    ),
    ([[1, 0], *LISTS[1:]], ValueError, "target 0 in the list of agent_0 in options['targets'] has the shape ()"),
    ([5, *LISTS[1:]], TypeError, "the list of agent_0 in options['targets'] is of type int"),
    ([np.array([[2**64 - 1, 0]], np.uint64), *LISTS[1:]], ValueError, "has the coordinate 18446744073709551615"),
    ([[[True, False]], *LISTS[1:]], TypeError, "is of bool"),
    ([["ab"], *LISTS[1:]], ValueError, "target 0 in the list of agent_0 in options['targets'] has the shape ()"),
    (np.array(LISTS[:1] * 3, float), TypeError, "target 0 in the list of agent_0 in options['targets'] is of float64"),
]


@pytest.mark.parametrize(
    "face",
    [
        Parallel("MultiGridEnv", **RULES),
        Turns("AEC", **RULES),
        Vector("vector", AutoresetMode.SAME_STEP, **RULES),
    ],
    ids=lambda face: face.name,
)
@pytest.mark.parametrize(("targets", "error", "message"), BAD, ids=range(len(BAD)))
def test_bad_lists_are_refused(face, targets, error, message):
    """The error names the agent and the place in its list, and nothing has changed."""
    env = face.make()
    face.reset(env, seed=2, options=LAYOUT if not isinstance(face, Vector) else {**LAYOUT, "targets": [LISTS] * 3})
    with refused(face, env, error, re.escape(message)):
        face.reset(env, seed=4, options={"agents": STARTS, "targets": copy.deepcopy(targets)})


def test_unreachable_targets_are_refused():
    """A target behind walls is refused by its place in the list."""
    env = multigrid.parallel_env(walls="..#..\n..#..", num_agents=1, on_target="restart")
    with pytest.raises(
        ValueError, match=re.escape("target 2 in the list of agent_0 in options['targets'], [3, 1], cannot")
    ):
        env.reset(options={"agents": [[0, 0]], "targets": [[[1, 0], [1, 1], [3, 1], [4, 0]]]})


def test_starts_are_checked_as_without_lists():
    """Agents begin in cells of their own, from which they can walk, whatever their lists are."""
    env = multigrid.parallel_env(CONFIG)
    with pytest.raises(ValueError, match=r"agent_0 and agent_2 in .* have the same location"):
        env.reset(options={"agents": [[0, 0], [1, 0], [0, 0]], "targets": LISTS})
    alone = multigrid.parallel_env(walls="..#.\n..##", num_agents=1, on_target="restart")
    with pytest.raises(ValueError, match=r"agent_0 at \[3, 0\] can reach no other cell"):
        alone.reset(options={"agents": [[3, 0]], "targets": [[[3, 0]]]})


@pytest.mark.parametrize(
    "face", [face for face in (*SINGLES, *VECTORS) if face.on_target != "restart"], ids=lambda face: face.name
)
def test_other_rules_refuse_lists(face):
    """Under another rule than *restart* lists are refused, on the documented single-agent faces too."""
    env = face.started()
    starts = face.layout["agents"]
    options = {"agents": starts, "targets": [[[0, 0], [1, 1]]] * len(starts)}
    message = f"options['targets'] are lists, but on_target is '{face.on_target}'; use on_target='restart'"
    if isinstance(face, Vector) and len(starts) == 3:
        options["targets"] = [options["targets"]] * 3
    with refused(face, env, ValueError, re.escape(message)):
        face.reset(env, options=options)


def test_maps_with_lists():
    """A map with lists gives them in every episode, is equal to itself alone, and needs *restart*."""
    picture = ParsedMap(np.zeros((4, 3), bool), np.array([[0, 0], [3, 1]]), [[[1, 0]], [[3, 1], [0, 0], [3, 1]]])
    config = GridConfig(walls=picture, on_target="restart", max_cycles=3, allow_stay=True)
    assert config.target_lists.tolist() == [[[[1, 0], [-1, -1], [-1, -1]], [[3, 1], [0, 0], [3, 1]]]]
    assert config.layouts.tolist() == [[[0, 0, 1, 0], [3, 1, 3, 1]]]
    assert GridConfig(walls=config.walls, on_target="restart", max_cycles=3, allow_stay=True) == config
    shorter = GridConfig(walls=picture._replace(targets=[[[1, 0]], [[3, 1]]]), on_target="restart")
    assert shorter != config
    env = multigrid.parallel_env(config)
    worlds = multigrid.vector_env(3, config)
    worlds.reset(seed=1)
    for _ in range(3):
        env.reset()
        assert env.get_state()["target_lists"].tolist() == config.target_lists[0].tolist()
        while env.agents:
            env.step({"agent_0": 0, "agent_1": 4})
            worlds.step([0, 4] * 3)
            assert (worlds.state() == env.state()).all()
        worlds.step([4] * 6)
    for on_target in ("park", "leave", "stay"):
        with pytest.raises(ValueError, match="the targets of walls are lists, but on_target is"):
            GridConfig(walls=picture, on_target=on_target)


def test_a_layout_by_hand_replaces_the_lists_of_a_map():
    """On a map with lists, targets by hand are followed by drawn ones, and other lists by hand by their own."""
    env = multigrid.parallel_env(walls=["a...\na: 1,0 0,0", "...a\na: 0,0"], on_target="restart", allow_stay=True)
    env.reset(seed=1, options={"agents": [[2, 0]], "targets": [[2, 0]], "map": 0})
    assert "target_lists" not in env.get_state()
    before = env.np_random.bit_generator.state
    env.step({"agent_0": 4})
    assert env.np_random.bit_generator.state != before
    env.reset(options={"agents": [[2, 0]], "targets": [[[3, 0], [1, 0], [2, 0]]], "map": 1})
    assert env.get_state()["target_lists"].tolist() == [[[3, 0], [1, 0], [2, 0]]]
    for index, lists in enumerate(([[[1, 0], [0, 0]]], [[[0, 0]]])):
        env.reset(options={"map": index})
        assert env.get_state()["target_lists"].tolist() == lists


@pytest.mark.skipif(not COMPILED, reason="an interpreted kernel leaves the worlds half played")
@pytest.mark.parametrize(
    "face",
    [Parallel("MultiGridEnv", **RULES), Vector("vector", AutoresetMode.NEXT_STEP, num_threads=2, **RULES)],
    ids=lambda face: face.name,
)
def test_an_interrupted_reset_with_lists_changes_nothing(face, monkeypatch):
    """If a signal prevents the reset, the room that was made for its lists is all that has changed."""

    def interrupt(*_):
        raise KeyboardInterrupt("at once")

    env = face.started()
    layout = {**LAYOUT, "targets": [LISTS] * 3} if isinstance(face, Vector) else LAYOUT
    with refused(face, env, KeyboardInterrupt, "at once"), monkeypatch.context() as patched:
        patched.setattr(Worlds, "game", GAME._replace(begin=interrupt))
        face.reset(env, options=layout)
    face.reset(env, options=layout)
    assert env.get_state()["target_lists"].shape[-3:] == (3, 3, 2)


def test_pools_have_lists_everywhere_or_nowhere():
    """In a pool all maps have lists, or none."""
    for walls in (["a.\na: 1,0", "aA"], ["aA", "a.\na: 1,0"]):
        with pytest.raises(ValueError, match="map 1 of walls has lists of targets, or has none, unlike the first"):
            GridConfig(walls=walls, on_target="restart")


@pytest.mark.parametrize("method", ["pibt", "windowed"])
def test_controllers_see_the_present_targets(method):
    """Controllers go to the targets of the lists, one after the other, repeated ones too."""
    walls = np.zeros((7, 3), bool)
    lists = [[[6, 0], [6, 0], [6, 0], [0, 0]], [[0, 2], [0, 2], [6, 2]]]
    env = multigrid.parallel_env(walls=walls, num_agents=2, **{**RULES, "max_cycles": 30})
    observations, _ = env.reset(options={"agents": [[0, 0], [6, 2]], "targets": lists})
    policy = planning.controller(method)
    arrivals = [[], []]
    while env.agents:
        observations, *_, infos = env.step(policy(env, observations))
        for agent, info in enumerate(infos.values()):
            if info["arrived"]:
                arrivals[agent].append(int(env.get_state()["steps"]))
    # Six cells there, repeated targets one step later each, six cells back.
    assert arrivals[0] == [6, 7, 8, 14, 20, 21, 22, 28]
    assert arrivals[1] == [6, 7, 13, 19, 20, 26]
