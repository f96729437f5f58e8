"""The next step of PIBT in many worlds at once, from their states alone.

The agent that has travelled longest chooses first, as in `multigrid.planning.pibt`. Agents that have travelled equally
long take turns: after some steps, the next of them in index order becomes the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.core.rules import COLLISION_RULES, NONE, ON_TARGET_RULES, RESTART
from multigrid.planning.graph import FAR, NOWHERE, Places, Tables
from multigrid.planning.kernels import borrowed, inlined, kernel, make_generator
from multigrid.planning.pibt import begin_step, choose_cells, end_step, sort_by_wait
from multigrid.planning.search import Rule, check_collisions
from multigrid.planning.team import NUM_SCORES, Team, make_team


def check_rules(config: GridConfig) -> None:
    """Raise a ValueError if no controller supports the rules of a configuration."""
    check_collisions(config.collisions, "controller")
    must_wait = config.num_agents > 1 and (config.collisions != "none" or config.on_target == "stay")
    if must_wait and not config.allow_stay:
        raise ValueError(
            "allow_stay is False, but agents have to wait for one another; expected a world with allow_stay=True"
        )


class Batch:
    """The next step of PIBT in up to E worlds of a configuration.

    Raises:
        ValueError: the rules are not supported, see `check_rules`.
    """

    FIELDS: ClassVar = ("map_index", "steps", "episode_over", "location", "target", "status", "arrival_step")
    """The parts of a state that the actions depend on."""

    def __init__(self, config: GridConfig, num_worlds: int, seed: int = 0) -> None:
        check_rules(config)
        self.tables = Tables(config.is_wall, at_least=num_worlds * config.num_agents)  # the maps
        num_cells = self.tables.neighbours.shape[1]
        self._no_tables = np.empty((config.num_agents, num_cells), np.int32)
        # Between two arrivals, *restart* is to PIBT what *stay* is.
        self._rule: Rule = "stay" if config.on_target == "restart" else config.on_target
        self._team = self.make_team(0)
        # The action of agents whose actions have no effect.
        self._rest = int(Action.STAY) if config.allow_stay else 0
        self._num_actions = config.num_actions
        self._settings = np.array(
            [
                ON_TARGET_RULES.index(config.on_target),
                COLLISION_RULES.index(config.collisions),
                config.num_actions,
                int(make_generator(seed)[0]),
            ]
        )

    def make_team(self, map_index: int) -> Team:
        """Return the arrays of PIBT for a map; the caller sets cells, goals and rows."""
        no_goals = np.zeros(len(self._no_tables), np.int32)
        team = make_team(self.tables.neighbours[map_index], self._no_tables, no_goals, self._rule)
        return team._replace(degrees=self.tables.degrees[map_index], distances=self.tables.distances)

    def choose(
        self, states: Mapping[str, Any], scores: NDArray[np.float32] | None = None, places: Places | None = None
    ) -> NDArray[np.int64]:
        """Return the actions of all agents, int64 (E * N,), in the order of rows.

        Those of agents that have arrived and of worlds whose episodes are over have no effect.

        Args:
            states: of E worlds.
            scores: float32 (E * N, 5), of the actions of each agent, which prefers those with larger scores, unless it
                has to exchange places with another; by default it prefers shorter ways to its target. Under "none" they
                are not used.
            places: what `Tables.locate` returns for the states, if it is known.
        """
        cells, goals, rows = self.tables.locate(states) if places is None else places
        actions = np.full(cells.shape, self._rest)
        if scores is None:
            ranking = np.empty((len(cells), 0, NUM_SCORES), np.float32)
        else:
            ranking = scores.reshape(*cells.shape, NUM_SCORES)
            # PIBT also lets agents stay that have no such action; they do so only where no move is left.
            ranking = np.where(np.arange(NUM_SCORES) < self._num_actions, ranking, np.float32(-np.inf))
        choose_in_worlds(
            self._team,
            self._settings,
            (self.tables.neighbours, self.tables.degrees),
            (np.asarray(states["map_index"]), np.asarray(states["steps"]), np.asarray(states["episode_over"])),
            (cells, goals, rows, states["arrival_step"], ranking),
            actions,
        )
        return actions.ravel()

    def find_actions(self, map_index: int, cells: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the actions that lead from cells to those after the step, int64 (N,); both are int32 (N,)."""
        is_next = self.tables.neighbours[map_index][cells] == after[:, None]
        is_travelling = (cells != NOWHERE) & (after != NOWHERE)
        return np.where(is_travelling, is_next[:, : self._num_actions].argmax(axis=1), self._rest)


_NUM_COLUMNS = 5
_STEPS_OF_A_TURN = 8
_MASK = 2**32 - 1


@kernel
def choose_in_worlds(scratch: Team, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any) -> None:
    """Write the actions of E worlds.

    Args:
        scratch: the arrays that the worlds share one after the other.
        settings: the rule on target, of collisions, the number of actions, and the seed.
        graphs: neighbours int32 (M, C, 5), and degrees int32 (M, C).
        worlds: the map, the steps and whether the episode is over, (E,) each.
        agents: cells, goals, tables, and steps of the last arrivals, (E, N) each, and scores, float32 (E, N, 5), or
            (E, 0, 5) without scores.
        actions: int64 (E, N), those of agents whose actions have no effect are left as they are.
    """
    neighbours, degrees = graphs
    scratch = borrowed(scratch)
    maps, steps, over = worlds
    cells, goals, rows, arrival_steps, scores = agents
    for e in range(maps.shape[0]):
        if over[e]:
            continue
        m = maps[e]
        own = Team(
            neighbours[m],
            degrees[m],
            scratch.distances,
            rows[e],
            goals[e],
            cells[e],
            scratch.after,
            scratch.occupant,
            scratch.reserved,
            scratch.order,
            scratch.waited,
            scratch.options,
            scratch.tried,
            scratch.num_options,
            scratch.pulled,
            scratch.stack,
            scratch.rule,
            scratch.generator,
            scores[e],
            scratch.ranked,
        )
        team = borrowed(own)
        if settings[1] == NONE:
            _walk_alone(team)
        else:
            team.generator[0] = ((steps[e] & _MASK) * _STEPS_OF_A_TURN + settings[3]) & _MASK
            sort_agents(team, arrival_steps[e], steps[e], settings[0] == RESTART)
            begin_step(team)
            choose_cells(team)
            end_step(team)
        _write_actions(team, settings[2], actions[e])


@inlined
def _walk_alone(team: Team) -> None:
    """Let each agent take a shortest path, whatever the others do."""
    for i in range(team.now.shape[0]):
        team.after[i] = team.now[i]
        distances = team.distances[team.rows[i]]
        nearest = FAR
        for a in range(_NUM_COLUMNS if team.now[i] != NOWHERE else 0):
            cell = team.neighbours[team.now[i], a]
            if cell != NOWHERE and distances[cell] < nearest:
                nearest, team.after[i] = distances[cell], cell


@inlined
def sort_agents(team: Team, arrival_steps: Any, steps: int, is_lifelong: bool) -> None:
    """Sort the agents by the number of steps that they have travelled, the largest first; equal ones take turns."""
    order, waited = team.order, team.waited
    num_agents = order.shape[0]
    turn = (steps // _STEPS_OF_A_TURN) % num_agents
    for k in range(num_agents):
        agent = order[k] = (k + turn) % num_agents
        since = max(arrival_steps[agent], 0) if is_lifelong else 0
        waited[agent] = 0 if team.now[agent] == team.goals[agent] else steps - since + 1
    sort_by_wait(team)


@inlined
def _write_actions(team: Team, num_actions: int, actions: Any) -> None:
    for i in range(team.now.shape[0]):
        if team.now[i] == NOWHERE or team.after[i] == NOWHERE:
            continue
        for a in range(num_actions):
            if team.neighbours[team.now[i], a] == team.after[i]:
                actions[i] = a
                break
