"""Plans for all agents at once, by priority inheritance with backtracking.

PIBT: Okumura, Machida, Defago and Tamura, "Priority inheritance with backtracking for iterative multi-agent path
finding", Artificial Intelligence 310, 2022. In every step the agents select their cells one after the other, those
longest away from their targets first. Each selects the free neighbour nearest to its target. If another agent stands
there, that agent selects next, with the priority of the first. The plans have no vertex and no swapping conflict, so
``collisions="symmetric"`` grants every move. PIBT does not solve every problem that has a solution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.maps.components import WALL
from multigrid.maps.distances import distances_to
from multigrid.maps.flat import FlatMap

__all__ = ["plan"]


class _Planner:
    def __init__(self, config: GridConfig, seed: int) -> None:
        (components,), (targets,) = config.components, config.walls.targets
        self.flat = FlatMap(components != WALL)
        self.moves = [*enumerate(self.flat.steps), (int(Action.STAY), 0)]
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.targets = self.indices(targets)
        # Only free cells are looked up, so the values of the rim do not matter.
        self.distances = [np.pad(distances_to(components, target), 1).ravel().tolist() for target in targets.tolist()]

    def indices(self, cells: NDArray[np.int64]) -> list[int]:
        return [self.flat.index(x, y) for x, y in cells.tolist()]

    def step(self, now: list[int], waited: list[int]) -> list[int]:
        """Return an action for each agent; those longest away from their targets select first."""
        self.now, self.occupant = now, {cell: agent for agent, cell in enumerate(now)}
        self.after: list[int | None] = [None] * len(now)
        self.actions = [int(Action.STAY)] * len(now)
        self.reserved: set[int] = set()
        self.luck = self.generator.random((len(now), len(self.moves))).tolist()
        for agent in sorted(range(len(now)), key=lambda agent: -waited[agent]):
            if self.after[agent] is None:
                self._choose(agent)
        return self.actions

    def _choose(self, agent: int) -> bool:
        here, distances = self.now[agent], self.distances[agent]
        options = [(action, here + step) for action, step in self.moves if self.flat.free[here + step]]
        options.sort(key=lambda option: (distances[option[1]], option[1] in self.occupant, self.luck[agent][option[0]]))
        for action, cell in options:
            other = self.occupant.get(cell)
            if cell in self.reserved or (other is not None and other != agent and self.after[other] == here):
                continue
            self.reserved.add(cell)
            self.after[agent], self.actions[agent] = cell, action
            if other is None or self.after[other] is not None or self._choose(other):
                return True
            # The other agent cannot make way and keeps its cell.
        self.after[agent], self.actions[agent] = here, int(Action.STAY)
        self.reserved.add(here)
        return False


def plan(config: GridConfig, seed: int) -> NDArray[np.int8] | None:
    r"""Return joint actions after which all agents stand on their targets at once, or None.

    Args:
        config: its ``walls`` are one `ParsedMap` with agents and targets, and ``allow_stay`` is True. The plan assumes
            ``on_target="stay"``: agents may leave their targets again.
        seed: seeds the random order of neighbours that are equally near.

    Returns:
        int8 (T, N), the action of each agent in each step; None if no solution within ``config.max_cycles`` steps is
        found.

    >>> plan(GridConfig(walls="a.A\n#.B\nb..", on_target="stay", allow_stay=True), seed=0).tolist()
    [[0, 0], [0, 0], [4, 3]]
    """
    planner = _Planner(config, seed)
    (starts,) = config.walls.agents
    now = planner.indices(starts)
    waited = [0] * len(now)
    steps = dict(planner.moves)
    actions: list[list[int]] = []
    while now != planner.targets:
        if config.max_cycles is not None and len(actions) == config.max_cycles:
            return None
        waited = [0 if cell == target else w + 1 for cell, target, w in zip(now, planner.targets, waited, strict=True)]
        actions.append(list(planner.step(now, waited)))
        now = [cell + steps[action] for cell, action in zip(now, actions[-1], strict=True)]
    return np.array(actions, dtype=np.int8).reshape(-1, config.num_agents)
