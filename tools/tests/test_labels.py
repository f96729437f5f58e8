"""Worlds and labels of the training: they are random, but what is learned in them is the planner's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from helpers import WALLS
from multigrid import GridConfig, MultiGridEnv, vector_env
from multigrid.maps._cells import label_components
from multigrid.planning._batch import Batch
from multigrid.planning._graph import Tables, build_graph
from multigrid.planning._network import Weights
from multigrid.planning._surroundings import ARRIVED, HERE, NUM_CELLS, REFUSED, Surroundings
from multigrid.planning._windowed import Windowed
from tools.pretraining import labels as labelling
from tools.pretraining.labels import Labels, produce
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


def test_plans_that_are_not_worth_it_give_no_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan whose costs are far above the shortest paths is not imitated."""
    monkeypatch.setattr(labelling, "_RATIO", 0.1)
    monkeypatch.setattr(labelling, "_DELAY", 0)
    generator = np.random.default_rng(0)
    config = GridConfig(size=(6, 4), num_agents=3, allow_stay=True, on_target="stay", collisions="soft", max_cycles=50)
    assert list(labelling._play(None, config, generator)) == []


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


@pytest.mark.parametrize("seed", [0, 1])
def test_lifelong_plans_are_windowed_plans(seed: int) -> None:
    """A plan begins where the agents are, and has the first five steps of what `Windowed` plans from there."""
    walls = GridConfig(walls=WALLS, num_agents=9).is_wall[0]
    config = GridConfig(
        walls=np.stack([walls, walls[::-1]]), num_agents=9, allow_stay=True, on_target="restart", collisions="soft"
    )
    envs, generator = vector_env(3, config), np.random.default_rng(2)
    envs.reset(seed=seed)
    for _ in range(40):
        envs.step(generator.integers(4, size=27))
    states, batch = envs.get_state(), Batch(config, num_worlds=3)
    assert (states["arrival_step"] >= 0).any()
    for world in range(3):
        plan = labelling._plan_steps(batch, states, world, np.random.default_rng([seed, world]))
        where = int(states["map_index"][world])
        graph = build_graph(config.is_wall[where])
        assert graph.cells[plan[0]].tolist() == states["location"][world].tolist()
        cells, goals = (graph.index[tuple(states[name][world].T)] for name in ("location", "target"))
        own_seed = int(np.random.default_rng([seed, world]).integers(2**31))
        windowed = Windowed(batch.make_team(where), "restart", own_seed, rounds=360)
        rows = batch.tables.locate(states)[2][world]
        windowed.advance(cells, goals, rows, states["arrival_step"][world], int(states["steps"][world]))
        np.testing.assert_array_equal(plan, windowed.paths[:6])
        # What is returned is the caller's own.
        windowed.paths[:] = -7
        np.testing.assert_array_equal(plan, windowed.paths[:6])


def test_lifelong_worlds_give_labels_of_travellers() -> None:
    """Plans of a lifelong world label up to five steps of each agent, none of them on its target."""
    config = GridConfig(walls=WALLS, num_agents=8, allow_stay=True, on_target="restart", collisions="soft")
    parts = list(labelling._play(None, config, np.random.default_rng(1)))
    assert len(parts) > 100
    assert max(len(part.actions) for part in parts) == 5 * 8
    middle = np.concatenate([part.agents[:, NUM_CELLS // 2] for part in parts])
    assert (middle & HERE).all()
    assert not (middle & ARRIVED).any()
    assert min(part.ways.min() for part in parts) == 1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_with_a_shield_no_move_is_refused(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """In configurations with a shield no label is of an agent whose move was refused; without, some are."""
    monkeypatch.setattr(labelling, "_SHARE_OF_SHIELDED", share)
    config = GridConfig(walls=WALLS, num_agents=12, allow_stay=True, on_target="restart", collisions="soft")
    parts: list[Labels] = list(labelling._play(sample_weights(), config, np.random.default_rng(1)))
    refused = [bool((part.agents & REFUSED).any()) for part in parts]
    assert any(refused) == (share == 0)


def test_small_and_crowded_worlds_are_among_the_others() -> None:
    """Worlds have sides of 4 to 41 cells and room to move; some are small, half are crowded, and half are lifelong."""
    worlds = [sample_world(np.random.default_rng([number, 5])) for number in range(120)]
    small = [world for world in worlds if max(world.width, world.height) < 10 and min(world.width, world.height) < 9]
    for world in worlds:
        free = (~world.is_wall).sum(axis=(1, 2))
        assert world.num_maps == 4
        assert 2 <= world.num_agents <= 0.35 * free.min()
        assert 4 <= min(world.width, world.height) <= max(world.width, world.height) <= 41
        assert all(label_components(walls).max() == 1 for walls in world.is_wall)
    assert 4 <= len(small) <= 16
    assert 45 <= sum(world.num_agents >= 32 for world in worlds) <= 75
    assert {world.num_agents for world in small} >= {2, 3, 4}
    assert max(world.num_agents for world in small) <= 24
    assert min(min(world.width, world.height) for world in small) == 4
    assert len({world.is_wall.tobytes() for world in worlds}) == 120
    lifelong = sum(world.on_target == "restart" for world in worlds)
    assert 45 <= lifelong <= 75
    assert {world.on_target for world in small} == {"stay", "restart"}
