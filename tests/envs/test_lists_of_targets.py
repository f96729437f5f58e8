"""Lists of targets under *restart* on every face: how they are passed, what is refused, and that they are one game."""

import copy
import re

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import multigrid
from faces import SINGLES, VECTORS, Parallel, Turns, Vector, refused
from helpers import frozen
from multigrid import GridConfig
from multigrid.maps._text import ParsedMap

MAP = "....#..\n..#....\n......#\n.#....."
STARTS = [[0, 0], [1, 0], [2, 0]]
LISTS = [[[1, 0], [0, 0]], [[1, 0], [1, 0], [2, 2]], [[6, 3]]]
RULES = {"on_target": "restart", "allow_stay": True, "collisions": "soft", "max_cycles": 40}
CONFIG = GridConfig(walls=MAP, num_agents=3, **RULES)
LAYOUT = {"agents": STARTS, "targets": LISTS}


@pytest.mark.parametrize("num_threads", [1, 2])
def test_each_world_plays_its_own_lists(num_threads):
    """Each world of a vector env plays what a single env plays, with its own lists, longer and shorter ones."""
    rotated = [LISTS[0], LISTS[1][1:] + LISTS[1][:1], [[5, 0], [6, 3], [0, 2], [5, 1], [0, 0]]]
    lists = [LISTS, rotated, LISTS, [one[:1] for one in rotated]]
    worlds, singles = multigrid.vector_env(4, CONFIG, num_threads=num_threads), []
    worlds.reset(seed=7, options={"agents": [STARTS] * 4, "targets": lists})
    for e in range(4):
        singles.append(multigrid.parallel_env(CONFIG))
        singles[e].reset(seed=7 + e, options={"agents": STARTS, "targets": lists[e]})
    for actions in np.random.default_rng(3).choice([0, 1, 2, 3, 4, 4], (39, 3)):
        worlds.step(np.tile(actions, 4))
        for env in singles:
            env.step(dict(zip(env.possible_agents, actions.tolist(), strict=True)))
        assert frozen(worlds.get_state(single=True)) == frozen([env.get_state() for env in singles])
    worlds.close()


def test_lists_for_all_worlds_or_for_each():
    """A list for each agent is every world's; a list of such lists has one for each world; a mask picks some."""
    worlds, one = multigrid.vector_env(2, CONFIG), multigrid.parallel_env(CONFIG)
    one.reset(seed=1, options=LAYOUT)
    kept = one.get_state()["target_lists"].tolist()
    for targets in (LISTS, [LISTS, LISTS], (LISTS, tuple(map(tuple, LISTS)))):
        worlds.reset(seed=1, options={"agents": STARTS, "targets": targets})
        assert worlds.get_state()["target_lists"].tolist() == [kept, kept]
    worlds.reset(seed=1, options={"agents": [STARTS] * 2, "targets": [LISTS, [[1, 1], [2, 2], [3, 3]]]})
    assert ["target_lists" in state for state in worlds.get_state(single=True)] == [True, False]
    worlds.reset(options={**LAYOUT, "reset_mask": np.repeat([False, True], 3)})
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
    with pytest.raises(ValueError, match=r"has the shape \(3, 3, 2\): a target for each agent of each world, or"):
        worlds.reset(options={"agents": STARTS, "targets": cells})
    worlds.reset(options={"agents": STARTS, "targets": [cells] * 3})
    assert worlds.get_state()["target_lists"].tolist() == [cells.tolist()] * 3
    worlds.reset(options={"agents": STARTS, "targets": cells[:, :2]})
    assert worlds.get_state()["target_lists"].tolist() == [cells[:, :2].tolist()] * 3


OF_0, OF_1 = (f"in the list of agent_{index} in options['targets']" for index in range(2))
BAD = [
    ([[], *LISTS[1:]], ValueError, "the list of agent_0 in options['targets'] is empty; expected at least one"),
    ([*LISTS[:2], [[-1, -1]]], ValueError, "the list of agent_2 in options['targets'] is empty"),
    (LISTS[:2], ValueError, "options['targets'] has 2 lists; expected 3, one for each agent"),
    ([LISTS[0], [[1, 0], [4, 0]], LISTS[2]], ValueError, f"target 1 {OF_1}, [4, 0], is"),
    ([[[1, 0], [7, 0]], *LISTS[1:]], ValueError, "[7, 0], is outside the 7 x 4 grid"),
    ([[[-1, -1], [1, 0]], *LISTS[1:]], ValueError, f"target 0 {OF_0}, [-1, -1], is"),
    ([[[1, 0], [-1, 0]], *LISTS[1:]], ValueError, f"target 1 {OF_0}, [-1, 0], is outside"),
    ([[[1, 0], [0.0, 1.0]], *LISTS[1:]], TypeError, f"target 1 {OF_0} is of float64"),
    ([[[1, 0], [1, 0, 2]], *LISTS[1:]], ValueError, f"target 1 {OF_0} has the shape"),
    ([[1, 0], *LISTS[1:]], ValueError, f"target 0 {OF_0} has the shape ()"),
    ([5, *LISTS[1:]], TypeError, "the list of agent_0 in options['targets'] is of type int"),
    ([np.array([[2**64 - 1, 0]], np.uint64), *LISTS[1:]], ValueError, "has the coordinate 18446744073709551615"),
    ([["ab"], *LISTS[1:]], ValueError, f"target 0 {OF_0} has the shape ()"),
]


@pytest.mark.parametrize(
    "face",
    [Parallel("MultiGridEnv", **RULES), Turns("AEC", **RULES), Vector("vector", AutoresetMode.SAME_STEP, **RULES)],
    ids=lambda face: face.name,
)
def test_bad_lists_are_refused(face):
    """The error names the agent and the place in its list, and nothing has changed."""
    env = face.make()
    face.reset(env, seed=2, options=LAYOUT if not isinstance(face, Vector) else {**LAYOUT, "targets": [LISTS] * 3})
    for targets, error, message in BAD:
        with refused(face, env, error, re.escape(message)):
            face.reset(env, seed=4, options={"agents": STARTS, "targets": copy.deepcopy(targets)})


def test_starts_with_lists_are_checked():
    """Agents with lists start in cells of their own, from which each can reach another one."""
    env = multigrid.parallel_env(walls="..#.\n..##", num_agents=2, on_target="restart")
    for starts, message in (([[0, 0], [0, 0]], r"\[0, 0\]"), ([[0, 0], [3, 0]], r"\[3, 0\] can reach no other cell")):
        with pytest.raises(ValueError, match=message):
            env.reset(options={"agents": starts, "targets": [[[0, 1]], [starts[1]]]})


def test_unreachable_targets_are_refused():
    """A target behind walls is refused by its place in the list."""
    env = multigrid.parallel_env(walls="..#..\n..#..", num_agents=1, on_target="restart")
    with pytest.raises(ValueError, match=r"target 2 in the list of agent_0 in options\['targets'\], \[3, 1\], cannot"):
        env.reset(options={"agents": [[0, 0]], "targets": [[[1, 0], [1, 1], [3, 1], [4, 0]]]})


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
    rules = {"on_target": "restart", "max_cycles": 3, "allow_stay": True}
    config = GridConfig(walls=picture, **rules)
    lists = [[[1, 0], [-1, -1], [-1, -1]], [[3, 1], [0, 0], [3, 1]]]
    assert (config.target_lists.tolist(), config.layouts.tolist()) == ([lists], [[[0, 0, 1, 0], [3, 1, 3, 1]]])
    assert GridConfig(walls=config.walls, **rules) == config
    assert GridConfig(walls=picture._replace(targets=[[[1, 0]], [[3, 1]]]), **rules) != config
    env, worlds = multigrid.parallel_env(config), multigrid.vector_env(3, config)
    worlds.reset(seed=1)
    for _ in range(3):
        env.reset()
        assert env.get_state()["target_lists"].tolist() == lists
        while env.agents:
            env.step({"agent_0": 0, "agent_1": 4})
            worlds.step([0, 4] * 3)
            assert (worlds.state() == env.state()).all()
        worlds.step([4] * 6)
    for on_target in ("park", "leave", "stay"):
        with pytest.raises(ValueError, match="the targets of walls are lists, but on_target is"):
            GridConfig(walls=picture, on_target=on_target)
    for walls in (["a.\na: 1,0", "aA"], ["aA", "a.\na: 1,0"]):
        with pytest.raises(ValueError, match="map 1 of walls has lists of targets, or has none, unlike the first"):
            GridConfig(walls=walls, on_target="restart")


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


@pytest.mark.parametrize(
    "face",
    [Parallel("MultiGridEnv", **RULES), Vector("vector", AutoresetMode.NEXT_STEP, num_threads=2, **RULES)],
    ids=lambda face: face.name,
)
def test_an_interrupted_reset_with_lists_can_be_repeated(face, monkeypatch):
    """If a signal prevents the reset, the env refuses all until another one."""

    def interrupt(*_):
        raise KeyboardInterrupt("at once")

    env = face.started()
    layout = {**LAYOUT, "targets": [LISTS] * 3} if isinstance(face, Vector) else LAYOUT
    with monkeypatch.context() as patched:
        patched.setattr(env._worlds.kernels, "begin_worlds", interrupt)
        with pytest.raises(KeyboardInterrupt, match="at once"):
            face.reset(env, seed=8, options=layout)
    with pytest.raises(RuntimeError, match="call reset"):
        env.get_state()
    face.reset(env, seed=8, options=layout)
    assert np.min(env.np_random_seed) == 8
    assert env.get_state()["target_lists"].shape[-3:] == (3, 3, 2)
