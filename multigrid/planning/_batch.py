"""The next step of PIBT in many worlds at once, from their states alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_path_finding
from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.core.rules import COLLISION_RULES, ON_TARGET_RULES
from multigrid.planning._graph import NOWHERE, Ints, Places, Tables
from multigrid.planning._kernels import make_generator
from multigrid.planning._next_step import choose_in_worlds
from multigrid.planning._search import check_collisions
from multigrid.planning._team import NUM_SCORES, Team, make_team


def check_rules(config: GridConfig) -> None:
    """Raise a ValueError if no controller supports the rules of a configuration."""
    check_path_finding(config, "a controller")
    check_collisions(config.collisions, "controller")
    must_wait = config.num_agents > 1 and (config.collisions != "none" or config.on_target == "stay")
    if must_wait and not config.allow_stay:
        expected = "expected a world with allow_stay=True"
        raise ValueError(f"allow_stay is False, but agents have to wait for one another; {expected}")


class Batch:
    """The next step of PIBT in up to E worlds of a configuration."""

    # The parts of a state that the actions depend on.
    FIELDS: ClassVar = ("map_index", "steps", "episode_over", "location", "target", "status", "arrival_step")

    def __init__(self, config: GridConfig, num_worlds: int, seed: int = 0) -> None:
        check_rules(config)
        self.tables = Tables(config.is_wall, at_least=num_worlds * config.num_agents)  # the maps
        self._num_agents = config.num_agents
        # Between two arrivals, PIBT plays *restart* as *stay*.
        self._rule = "stay" if config.on_target == "restart" else config.on_target
        self._team = self.make_team(0)
        self._rest = int(Action.STAY) if config.allow_stay else 0  # the action of agents whose actions have no effect
        self._num_actions = config.num_actions
        rules = ON_TARGET_RULES.index(config.on_target), COLLISION_RULES.index(config.collisions)
        self.collisions = config.collisions
        self._settings = np.array([*rules, config.num_actions, int(make_generator(seed)[0])])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_team": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._team = self.make_team(0)

    def make_team(self, map_index: int) -> Team:
        """Return the arrays of PIBT for a map; the caller sets cells, goals and rows."""
        neighbours, no_goals = self.tables.neighbours[map_index], np.zeros(self._num_agents, np.int32)
        team = make_team(neighbours, np.empty((self._num_agents, len(neighbours)), np.int32), no_goals, self._rule)
        return team._replace(degrees=self.tables.degrees[map_index], distances=self.tables.distances)

    def choose(
        self, states: Mapping[str, Any], scores: NDArray[np.float32] | None = None, places: Places | None = None
    ) -> NDArray[np.int64]:
        """Return the actions of all agents, int64 (E * N,), in the order of rows, in the states of E worlds.

        With scores, float32 (E * N, 5), an agent prefers the actions with the largest scores, instead of those that
        lead to the cells nearest to its target, unless it has to exchange places with another agent. Under "none",
        scores are not used. `places` is what `Tables.locate` returns for the states, if it is known.
        """
        cells, goals, rows = self.tables.locate(states) if places is None else places
        actions = np.full(cells.shape, self._rest)
        if scores is None:
            ranking = np.empty((len(cells), 0, NUM_SCORES), np.float32)
        else:
            ranking = scores.reshape(*cells.shape, NUM_SCORES)
            # PIBT lets agents stay even without a stay action: with this score, only where no move is left.
            ranking = np.where(np.arange(NUM_SCORES) < self._num_actions, ranking, np.float32(-np.inf))
        graphs = self.tables.neighbours, self.tables.degrees
        worlds = tuple(np.asarray(states[name]) for name in ("map_index", "steps", "episode_over"))
        agents = cells, goals, rows, states["arrival_step"], ranking
        choose_in_worlds(self._team, self._settings, graphs, worlds, agents, actions)
        return actions.ravel()

    def find_actions(self, map_index: int, cells: Ints, after: Ints) -> NDArray[np.int64]:
        """Return the actions that lead from cells to those after the step, int64 (N,); both are int32 (N,)."""
        is_next = self.tables.neighbours[map_index][cells] == after[:, None]
        is_travelling = (cells != NOWHERE) & (after != NOWHERE)
        return np.where(is_travelling, is_next[:, : self._num_actions].argmax(axis=1), self._rest)
