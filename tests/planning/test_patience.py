"""Patience: how random the actions of an agent are, from its own past alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from multigrid import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._graph import Tables
from multigrid.planning._network import Patience, Temperatures
from multigrid.planning._surroundings import Surroundings

WALLS = "....#..\n.##....\n....#.."
TEMPERATURES = Temperatures(calm=0.25, restless=1.25, patience=2, arrived=0.75)


class Past:
    """What an agent remembers: the steps and ways since it got its target."""

    def __init__(self) -> None:
        self.target: Any = None
        self.ways: list[int] = []

    def temperature(self, target: tuple[int, ...], way: int, *, begins: bool) -> float:
        """The temperature after one more step, counted from the whole list."""
        if begins or target != self.target:
            self.target, self.ways = target, []
        self.ways.append(way)
        if way == 0:
            return 0.75
        waited = len(self.ways) - 1 - self.ways.index(min(self.ways))
        return 0.25 + min(max(waited - 2, 0), 8) / 8


@pytest.mark.parametrize("on_target", ["stay", "restart"])
def test_temperatures_are_those_of_each_past(on_target: Any) -> None:
    """Each agent's temperature rises from two steps to ten after it was nearest to the target that it has now."""
    config = GridConfig(
        walls=WALLS, num_agents=3, on_target=on_target, allow_stay=True, max_cycles=23, observe=("agent", "target")
    )
    envs = MultiGridVectorEnv(config, 2)
    envs.reset(seed=3)
    surroundings = Surroundings(Tables(config.is_wall, 6), 2, 3)
    patience, pasts = Patience(TEMPERATURES), [Past() for _ in range(6)]
    generator, seen = np.random.default_rng(0), set()
    for _ in range(120):
        states = envs.get_state()
        ways = surroundings.observe(states).ways
        found = patience.observe(states, ways)
        begins = np.repeat(states["steps"] == 0, 3)
        targets = states["target"].reshape(6, 2).tolist()
        expected = [
            past.temperature(tuple(target), way, begins=begun)
            for past, target, way, begun in zip(pasts, targets, ways.tolist(), begins.tolist(), strict=True)
        ]
        assert found.dtype == np.float32
        assert found.tolist() == expected
        seen |= set(expected)
        envs.step(generator.integers(0, 5, size=6))
    assert {0.25, 0.375, 0.75, 1.25} <= seen


def test_other_worlds_begin_anew() -> None:
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
