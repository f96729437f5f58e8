"""The part of a problem that is searched: the agents that have not arrived yet, and the graph of their map."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Action, Outcome
from multigrid.core.metrics import world_metrics
from multigrid.core.rules import ALL_VALID
from multigrid.core.worlds import Worlds
from multigrid.maps._cells import label_components
from multigrid.maps._target_lists import Layout
from multigrid.planning._graph import NOWHERE, Graph, Ints, build_graph
from multigrid.planning._problem import Problem


class Travellers:
    """The n agents of a problem that have not arrived yet; agents that have parked are walls, others are left out."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._there = np.flatnonzero(~problem.arrived)
        walls = problem.walls.copy()
        if problem.on_target == "park" and problem.collisions != "none":
            walls[tuple(problem.starts[problem.arrived].T)] = True
        self._walls = walls
        self._cells = [problem.starts[self._there], problem.targets[self._there]]
        self.graph: Graph = build_graph(walls)
        self.starts, self.goals = (self.graph.index[tuple(cells.T)] for cells in self._cells)

    @property
    def are_connected(self) -> bool:
        """Whether each agent can reach its target: agents that have parked may block the way."""
        labels = label_components(self._walls)
        starts, targets = (labels[tuple(cells.T)] for cells in self._cells)
        return bool((starts == targets).all())

    def find_actions(self, paths: Ints) -> NDArray[np.int8]:
        """Return the actions that lead along paths, int8 (T, n); raise a ValueError if an agent waits, but cannot."""
        before, after = paths[:-1], paths[1:]
        # Agents that have left stay where they were.
        gone = after == NOWHERE
        matches = self.graph.neighbours[before] == np.where(gone, before, after)[..., None]
        assert matches.any(axis=2).all(), "two cells of a path are not neighbours"
        actions: NDArray[np.int8] = matches.argmax(axis=2).astype(np.int8)
        stays = actions == Action.STAY
        if self.problem.allow_stay or not stays.any():
            return actions
        # Actions of agents that have arrived are ignored, except under "stay".
        has_arrived = (gone | (before == self.goals)) & (self.problem.on_target != "stay")
        for step, row in np.argwhere(stays & ~has_arrived):
            raise ValueError(
                f"agent_{self._there[row]} waits in step {step + 1} of the plan, but allow_stay is False; expected "
                "allow_stay=True where agents have to wait for one another, or for the last one under on_target='stay'"
            )
        actions[stays] = 0
        return actions

    def check_plan(self, paths: Ints, actions: NDArray[np.int8], costs: NDArray[np.int64]) -> None:
        """Play a plan with the kernels of the game; raise a RuntimeError if a move is refused, or a cost is another."""
        problem = self.problem
        config = dataclasses.replace(problem.config, walls=self._walls, num_agents=len(self.goals), size=None)
        world, only = Worlds(config), np.zeros(1, np.int64)
        world.reset(maps=only, layouts=Layout(np.concatenate(self._cells, axis=1)[None], None))
        for step, row in enumerate(actions):
            world.arrays.actions[0] = row
            if world.step() != ALL_VALID:
                raise RuntimeError(f"internal error: {row.tolist()} are not valid actions")
            there = paths[step + 1] != NOWHERE
            travels = there if problem.on_target == "stay" else there & (paths[step] != self.goals)
            outcomes = world.arrays.outcomes[0][travels]
            is_granted = np.isin(outcomes, (int(Outcome.MOVED), int(Outcome.STAYED)))
            cells = world.arrays.location[0][there]
            if not is_granted.all() or (cells != self.graph.cells[paths[step + 1][there]]).any():
                raise RuntimeError(f"internal error: the game refuses a move in step {step + 1} of the plan")
        metrics = world_metrics(world.measure(only))
        if not metrics["success"].all() or (metrics["arrival_step"] != costs).any():
            steps = metrics["arrival_step"].tolist()
            raise RuntimeError(f"internal error: the plan has arrivals in {costs.tolist()}, the game in {steps}")

    def widen(self, paths: Ints, actions: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return the actions, int8 (T, N), and cells, int64 (T + 1, N, 2), of all N agents of the problem."""
        problem, steps = self.problem, len(actions)
        all_actions = np.full((steps, problem.num_agents), int(Action.STAY) if problem.allow_stay else 0, np.int8)
        all_actions[:, self._there] = actions
        all_cells = np.full((steps + 1, problem.num_agents, 2), NOWHERE, np.int64)
        if problem.on_target == "park":
            all_cells[:] = problem.starts
        all_cells[:, self._there] = np.where(paths[..., None] == NOWHERE, NOWHERE, self.graph.cells[paths])
        return all_actions, all_cells
