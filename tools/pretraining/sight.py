"""The policy with less in sight: how much of its success is due to what it observes of other agents' targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from multigrid.planning._graph import NOWHERE, NUM_MOVES, Ints, Tables
from multigrid.planning._kernels import kernel
from multigrid.planning._network import Weights
from multigrid.planning._past import Temperatures
from multigrid.planning._surroundings import (
    ARRIVED,
    CLOSE,
    FARTHER,
    NEARER,
    NUM_CELLS,
    RADIUS,
    SIDE,
    TARGET,
    Surroundings,
    Windows,
)
from multigrid.policies._learned import Pretrained

Sight: TypeAlias = Literal["all", "near", "own"]
"""What agents see of other agents' targets.

- "all": what `multigrid.planning._surroundings` describes.
- "near": the same, but for the targets of agents outside the window.
- "own": neither targets nor what depends on them: the moves that lead other agents nearer, their distances, and whether
  they have arrived.
"""

_OF_TARGETS = NEARER * (2**NUM_MOVES - 1) | ARRIVED | CLOSE | FARTHER | TARGET
_MIDDLE = NUM_CELLS // 2


class SightedSurroundings(Surroundings):
    """Windows as `Surroundings` gives them, without what is not in sight."""

    def __init__(self, tables: Tables, num_worlds: int, num_agents: int, sight: Sight) -> None:
        super().__init__(tables, num_worlds, num_agents)
        self._sight = sight

    def _look(self, agents: tuple[Ints, Ints, Ints, Ints], states: Mapping[str, Any]) -> Windows:
        windows = super()._look(agents, states)
        if self._sight == "near":
            _hide_far_targets(agents[0], states["location"], states["target"], windows.agents)
        elif self._sight == "own":
            windows.agents[:, np.arange(NUM_CELLS) != _MIDDLE] &= np.uint16(0xFFFF & ~_OF_TARGETS)
        return windows


class SightedPolicy(Pretrained):
    """The pretrained policy with the weights of a training with this sight; agents exchange no messages."""

    def __init__(
        self,
        weights: Weights,
        sight: Sight,
        *,
        shield: bool = False,
        seed: int | np.random.Generator = 0,
        temperatures: Temperatures | None = None,
    ) -> None:
        super().__init__(weights, shield=shield, seed=seed, temperatures=temperatures)
        self._sight = sight

    def _begin(self, env: Any) -> Any:
        tables, together, _, *past = super()._begin(env)
        num_worlds = getattr(env, "num_worlds", 1)
        return tables, together, SightedSurroundings(tables, num_worlds, env.config.num_agents, self._sight), *past


@kernel
def _hide_far_targets(cells: Any, locations: Any, targets: Any, codes: Any) -> None:
    """Keep, of the bits of targets in windows, those of agents in the same window."""
    num_agents = cells.shape[1]
    for e in range(cells.shape[0]):
        for i in range(num_agents):
            window = codes[e * num_agents + i]
            for k in range(NUM_CELLS):
                if k != _MIDDLE:
                    window[k] &= np.uint16(0xFFFF & ~TARGET)
            for j in range(num_agents):
                if i == j or cells[e, i] == NOWHERE or cells[e, j] == NOWHERE:
                    continue
                dx, dy = locations[e, j, 0] - locations[e, i, 0], locations[e, j, 1] - locations[e, i, 1]
                x, y = targets[e, j, 0] - locations[e, i, 0], targets[e, j, 1] - locations[e, i, 1]
                is_own = targets[e, j, 0] == targets[e, i, 0] and targets[e, j, 1] == targets[e, i, 1]
                is_middle = x == 0 and y == 0
                if max(abs(dx), abs(dy), abs(x), abs(y)) <= RADIUS and not is_own and not is_middle:
                    window[SIDE * (x + RADIUS) + y + RADIUS] |= np.uint16(TARGET)
