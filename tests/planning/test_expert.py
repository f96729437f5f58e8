"""The batch expert: PIBT's actions for all rows in one call."""

import numpy as np
import pytest

from multigrid import GridConfig, MultiGridEnv, planning, vector_env
from multigrid.planning import _graph as graphs
from multigrid.planning._graph import build_graph
from multigrid.planning._pibt import make_team, sort_agents

# Two maps of one size with different numbers of cells, not square.
MAPS = ["...#...\n.#...#.\n...#...\n.#.....", "#......\n..##.#.\n.......\n.#...#."]
OPTIONS = {"walls": MAPS, "num_agents": 5, "allow_stay": True, "max_cycles": 30}


@pytest.mark.parametrize("autoreset_mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("on_target", ["restart", "stay", "leave", "park"])
def test_it_is_pibt_in_each_world(on_target, autoreset_mode):
    """Its actions are those of ``controller("pibt")`` in each world, and every move is granted."""
    envs = vector_env(6, on_target=on_target, autoreset_mode=autoreset_mode, **OPTIONS)
    envs.reset(seed=3)
    one, policy = MultiGridEnv(envs.config), planning.controller("pibt")
    for _ in range(40):
        actions = planning.expert(envs)
        assert (actions.dtype, actions.shape) == (np.int64, (30,))
        for state, row in zip(envs.get_state(single=True), actions.reshape(6, 5), strict=True):
            one.set_state(state)
            assert all(row[one.possible_agents.index(agent)] == act for agent, act in policy(one, {}).items())
        *_, infos = envs.step(actions)
        if autoreset_mode == "NextStep":
            assert set(infos["outcome"].tolist()) <= {0, 1, 7}


def test_it_arrives_in_crowds():
    """On both maps nearly all agents arrive together, and under *restart* again and again."""
    envs = vector_env(16, on_target="stay", **{**OPTIONS, "max_cycles": 60, "num_agents": 9})
    envs.reset(seed=1)
    ends = []
    for _ in range(61):
        *_, infos = envs.step(planning.expert(envs))
        ends += infos["success"][infos["_success"]].tolist() if "success" in infos else []
    assert len(ends) >= 16 * 9
    assert np.mean(ends) > 0.9


def test_labels_depend_on_the_states_alone():
    """Another environment, another place in the batch, and an earlier call change nothing."""
    envs = vector_env(4, on_target="restart", **OPTIONS)
    envs.reset(seed=2)
    for _ in range(7):
        envs.step(np.random.default_rng(0).integers(5, size=20))
    labels = planning.expert(envs)
    other = vector_env(3, on_target="restart", **OPTIONS)
    other.reset(seed=9)
    planning.expert(other)
    other.set_state([envs.get_state([e], single=True)[0] for e in (2, 0, 2)])
    np.testing.assert_array_equal(planning.expert(other), labels.reshape(4, 5)[[2, 0, 2]].ravel())
    np.testing.assert_array_equal(planning.expert(envs), labels)


def test_few_tables_give_the_same_labels(monkeypatch):
    """Where tables for all targets need too much memory, they are computed again when they are needed."""
    plenty, few = ([], [])
    for labels, most_bytes in ((plenty, 2**28), (few, 1)):
        monkeypatch.setattr(graphs, "_MOST_BYTES", most_bytes)
        envs = vector_env(3, on_target="restart", **OPTIONS)
        envs.reset(seed=5)
        for _ in range(30):
            labels.append(planning.expert(envs))
            envs.step(labels[-1])
    np.testing.assert_array_equal(plenty, few)


def test_agents_that_have_arrived_stay():
    """The actions of rows without effect are *stay*, or 0 where there is no such action."""
    for allow_stay, rest in ((True, 4), (False, 0)):
        config = GridConfig(walls="a.A.b..B", on_target="leave", allow_stay=allow_stay, collisions="none")
        envs = vector_env(1, config, autoreset_mode="Disabled")
        envs.reset()
        for expected in ([0, 0], [rest, 0], [rest, rest]):
            envs.step([0, 0])
            assert planning.expert(envs).tolist() == expected


@pytest.mark.parametrize(("is_lifelong", "order"), [(True, [3, 1, 0, 2]), (False, [1, 3, 0, 2])])
def test_who_has_been_under_way_longest_chooses_first(is_lifelong, order):
    """Time counts from the last arrival where there are new targets; equal agents take turns; who is there is last."""
    graph = build_graph(np.zeros((5, 2), bool))
    goals = np.array([1, 3, 5, 7], np.int32)
    team = make_team(graph.neighbours, np.zeros((4, 10), np.int32), goals, "stay")
    team.now[:] = [0, 2, 5, 8]
    sort_agents(team, np.array([5, 2, 9, -1]), 12, is_lifelong)
    assert team.order.tolist() == order
