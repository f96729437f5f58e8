"""What agents remember: how random their actions are, how long they travel, and where they were."""

import numpy as np
import pytest

from multigrid import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._graph import Tables
from multigrid.policies._past import Patience, Temperatures, Trail
from multigrid.policies._surroundings import Surroundings

WALLS = "....#..\n.##....\n....#.."
TEMPERATURES = Temperatures(calm=0.25, restless=1.25, patience=2, arrived=0.75)


def temperature(past, target, way, *, begins):
    """The temperature after one more step, counted from the whole list of ways since an agent got its target."""
    if begins or past[:1] != [target]:
        past[:] = [target]
    past.append(way)
    waited = len(past) - 1 - past.index(min(past[1:]), 1)
    return 0.75 if way == 0 else 0.25 + min(max(waited - 2, 0), 8) / 8


@pytest.mark.parametrize("on_target", ["stay", "restart"])
def test_temperatures_are_those_of_each_past(on_target):
    """Each agent's temperature rises from two steps to ten after it was nearest to the target that it has now."""
    config = GridConfig(walls=WALLS, num_agents=3, on_target=on_target, allow_stay=True, max_cycles=23)
    envs = MultiGridVectorEnv(config, 2)
    envs.reset(seed=3)
    surroundings = Surroundings(Tables(config.is_wall, 6), 2, 3)
    patience, pasts = Patience(TEMPERATURES), [[] for _ in range(6)]
    generator, seen = np.random.default_rng(0), set()
    for _ in range(120):
        states = envs.get_state()
        ways = surroundings.observe(states).ways
        found = patience.observe(states, ways)
        begins = np.repeat(states["steps"] == 0, 3)
        targets = states["target"].reshape(6, 2).tolist()
        expected = [
            temperature(past, tuple(target), way, begins=begun)
            for past, target, way, begun in zip(pasts, targets, ways.tolist(), begins.tolist(), strict=True)
        ]
        assert (found.dtype, found.tolist()) == (np.float32, expected)
        seen |= set(expected)
        envs.step(generator.integers(0, 5, size=6))
    assert {0.25, 0.375, 0.75, 1.25} <= seen


def test_other_worlds_begin_anew():
    """Another number of worlds, another map, and a step that was not observed, begin another past."""
    patience = Patience(TEMPERATURES)
    state = {"steps": np.array([9]), "map_index": np.array([0]), "target": np.array([[[4, 0]]])}
    way = np.int32([3])
    for steps in range(9):
        patience.observe({**state, "steps": np.array([steps])}, way)
    assert patience.observe(state, way).tolist() == [1.125]
    assert patience.observe({**state, "map_index": np.array([1])}, way).tolist() == [0.25]
    assert patience.has_begun.tolist() == [True]
    for steps in range(9):
        patience.observe({**state, "steps": np.array([steps])}, way)
        assert patience.has_begun.tolist() == [steps == 0]
    assert patience.observe({**state, "steps": np.array([10])}, way).tolist() == [0.25]
    two = {name: np.repeat(part, 2, axis=0) for name, part in state.items()}
    assert patience.observe(two, np.int32([3, 3])).tolist() == [0.25, 0.25]


@pytest.mark.parametrize("on_target", ["stay", "restart"])
def test_priorities_are_steps_of_travelling(on_target):
    """A priority is 4,096 for each step since an agent was on its target or got it, and its way when it got it."""
    config = GridConfig(walls=WALLS, num_agents=3, on_target=on_target, allow_stay=True, max_cycles=31)
    envs = MultiGridVectorEnv(config, 2)
    envs.reset(seed=4)
    surroundings, patience = Surroundings(Tables(config.is_wall, 6), 2, 3), Patience(TEMPERATURES)
    generator, since, largest = np.random.default_rng(1), [(None, 0, 0)] * 6, 0
    for _ in range(150):
        states = envs.get_state()
        ways = surroundings.observe(states).ways.tolist()
        patience.observe(states, np.int32(ways))
        targets = map(tuple, states["target"].reshape(6, 2).tolist())
        for row, (target, way, steps) in enumerate(
            zip(targets, ways, np.repeat(states["steps"], 3).tolist(), strict=True)
        ):
            if steps == 0 or target != since[row][0]:
                since[row] = target, steps, way
            elif way == 0:
                since[row] = target, steps, since[row][2]
            expected = (steps - since[row][1] + 1) * 4096 + since[row][2] if way else 0
            assert patience.priorities[row] == expected
            largest = max(largest, expected)
        envs.step(generator.integers(0, 5, size=6))
    assert largest > 15 * 4096


def test_a_trail_makes_agents_leave():
    """Each of the last 32 steps in a cell costs 0.5, 0.9 times as much a step back; a cell costs at most 1."""
    config = GridConfig(walls=WALLS, num_agents=3, on_target="stay", allow_stay=True, max_cycles=40)
    envs = MultiGridVectorEnv(config, 2)
    envs.reset(seed=5)
    tables = Tables(config.is_wall, 6)
    trail, pasts = Trail(tables, 2, 3), [[] for _ in range(6)]
    generator, moves = np.random.default_rng(2), np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]])
    is_free, num_arrived = ~config.is_wall[0], 0
    for _ in range(130):
        states = envs.get_state()
        scores = np.zeros((6, 5), np.float32)
        trail.lower(states, tables.locate(states), states["steps"] == 0, scores)
        for row, past in enumerate(pasts):
            here, target = (states[name].reshape(6, 2)[row].tolist() for name in ("location", "target"))
            if states["steps"][row // 3] == 0:
                past.clear()
            past.insert(0, here)
            ahead = [move.tolist() for move in here + moves]
            free = [(0 <= x < 7 and 0 <= y < 3 and bool(is_free[x, y])) for x, y in ahead]
            after = [cell if ok else here for cell, ok in zip(ahead, free, strict=True)]
            costs = [sum(0.5 * 0.9**age for age, cell in enumerate(past[:32]) if cell == there) for there in after]
            costs = [min(cost, 1.0) for cost in costs]
            if here == target:
                costs, num_arrived = [0.0] * 5, num_arrived + 1
            np.testing.assert_allclose(-scores[row], costs, atol=1e-5)
        envs.step(generator.integers(0, 5, size=6))
    assert num_arrived > 0
