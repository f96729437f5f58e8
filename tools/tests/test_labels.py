"""Worlds and labels of the training: they are random, but what is learned in them is the planner's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from multigrid import GridConfig, MultiGridEnv
from multigrid.maps._cells import label_components
from multigrid.planning._graph import Tables, build_graph
from multigrid.policies._network import Weights
from multigrid.policies._surroundings import ARRIVED, HERE, NUM_CELLS, Surroundings
from tools.pretraining import labels as labelling
from tools.pretraining.labels import produce
from tools.pretraining.worlds import sample_world

pytestmark = pytest.mark.heavy

SHIFTS = [(1, 0), (0, 1), (-1, 0), (0, -1), (0, 0)]


def sample_weights() -> Weights:
    """Weights of a small network."""
    shapes = [(121, 20, 8), (121, 16, 8), (2, 8), (8,), (8, 8), (8,), (8, 8), (8,), (8, 5), (5,)]
    generator = np.random.default_rng(0)
    return Weights(*(generator.normal(0, 0.3, shape).astype(np.float32) for shape in shapes))


def test_labels_are_the_planner_s() -> None:
    """An agent that sees no other and is far from its target takes a step that brings it nearer, as in a short plan."""
    found = produce(None, seed=7, number=0, count=15_000)
    middle = found.agents[:, NUM_CELLS // 2].astype(int)
    others = (found.agents & HERE != 0).sum(axis=1) - 1
    chosen = (others == 0) & (middle & ARRIVED == 0) & (found.ways > 12) & (found.actions < 4)
    assert chosen.sum() > 100
    assert ((middle[chosen] >> (1 + found.actions[chosen])) & 1).mean() > 0.95


def test_labels_depend_on_the_arguments_alone() -> None:
    """Equal arguments give equal labels; another round or another seed gives other ones."""
    weights = sample_weights()
    one, again, other, seeded = (
        produce(weights, seed, number, 2000) for seed, number in ((0, 1), (0, 1), (0, 2), (1, 1))
    )
    for part, own in zip(one, again, strict=True):
        np.testing.assert_array_equal(part, own)
    assert not any(np.array_equal(one.grounds, labels.grounds) for labels in (other, seeded))


def look(env: MultiGridEnv, surroundings: Surroundings) -> Any:
    """The windows of an environment."""
    state: Any = env.get_state()
    return surroundings.observe({name: np.asarray(state[name])[None] for name in Surroundings.FIELDS})


def test_lifelong_labels_end_when_an_agent_arrives() -> None:
    """The labels are the windows and actions of those who follow the plan, of each agent until it first arrives."""
    # The second agent arrives after the first step, and walks off again; the third one is there at once.
    config = GridConfig(walls="..#...\n.....#\n#..#..", num_agents=3, allow_stay=True, on_target="stay")
    starts, targets = [[0, 0], [3, 1], [4, 2]], [[2, 1], [4, 1], [4, 2]]
    plan = np.array([starts, [[0, 1], [4, 1], [4, 2]], [[1, 1], [3, 1], [4, 2]], [[2, 1], [3, 0], [4, 1]]])
    env, graph = MultiGridEnv(config), build_graph(config.is_wall[0])
    env.reset(options={"agents": starts, "targets": targets})
    following, planning = (Surroundings(Tables(config.is_wall, 3), num_worlds=1, num_agents=3) for _ in range(2))
    look(env, planning)
    cells, goals = graph.index[tuple(plan.T)].T, graph.index[tuple(np.array(targets).T)]
    labels = labelling._label_travellers(planning, graph, cells, goals, world=0)

    windows, actions = [], []
    for before, after in itertools.pairwise(plan):
        windows.append(look(env, following))
        actions.append([SHIFTS.index(tuple(shift)) for shift in (after - before).tolist()])
        env.step(dict(zip(env.agents, actions[-1], strict=True)))
        assert env.get_state()["location"].tolist() == after.tolist()
    rows = [(0, 0), (0, 1), (1, 0), (2, 0)]  # of each step, the agents that have not arrived yet
    for part, own in zip(labels[:3], zip(*windows, strict=True), strict=True):
        np.testing.assert_array_equal(part, [own[step][agent] for step, agent in rows])
    assert labels.actions.tolist() == [actions[step][agent] for step, agent in rows]


def test_small_and_crowded_worlds_are_among_the_others() -> None:
    """Worlds have sides of 4 to 41 cells and room to move; some are small, half are crowded, and half are lifelong."""
    worlds = [sample_world(np.random.default_rng([number, 5])) for number in range(120)]
    small = [world for world in worlds if max(world.width, world.height) < 10 and min(world.width, world.height) < 9]
    for world in worlds:
        assert 2 <= world.num_agents <= 0.35 * (~world.is_wall).sum(axis=(1, 2)).min()
        assert 4 <= min(world.width, world.height) <= max(world.width, world.height) <= 41
        assert all(label_components(walls).max() == 1 for walls in world.is_wall)
    assert len({world.is_wall.tobytes() for world in worlds}) == 120
    assert 4 <= len(small) <= 16
    assert max(world.num_agents for world in small) <= 24
    assert 45 <= sum(world.num_agents >= 32 for world in worlds) <= 75
    assert 45 <= sum(world.on_target == "restart" for world in worlds) <= 75
