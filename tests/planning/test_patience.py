"""Patience: how random the actions of an agent are, from its own past alone."""

import numpy as np
import pytest

from multigrid import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._graph import Tables
from multigrid.planning._network import Patience, Temperatures
from multigrid.planning._surroundings import Surroundings

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
    """Another number of worlds, or another map, is another episode."""
    patience = Patience(TEMPERATURES)
    state = {"steps": np.array([9]), "map_index": np.array([0]), "target": np.array([[[4, 0]]])}
    way = np.int32([3])
    for steps in range(9):
        patience.observe({**state, "steps": np.array([steps])}, way)
    assert patience.observe(state, way).tolist() == [1.125]
    assert patience.observe({**state, "map_index": np.array([1])}, way).tolist() == [0.25]
    two = {name: np.repeat(part, 2, axis=0) for name, part in state.items()}
    assert patience.observe(two, np.int32([3, 3])).tolist() == [0.25, 0.25]
