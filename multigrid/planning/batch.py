"""PIBT for the next step of many worlds at once, as a function of their states alone.

The agent that has been under way longest chooses first, as in `multigrid.planning.pibt`. Agents that have been so
equally long take turns: the first of them is another after some steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT
from multigrid.core.rules import COLLISION_RULES, NONE, ON_TARGET_RULES, RESTART
from multigrid.planning.compiled import announce_compilation, borrowed, inlined, kernel
from multigrid.planning.graph import FAR, NOWHERE
from multigrid.planning.luck import make_luck
from multigrid.planning.pibt import begin_step, choose_cells, end_step
from multigrid.planning.search import Rule
from multigrid.planning.tables import Tables
from multigrid.planning.team import Team, make_team

__all__ = ["Batch", "States", "check_rules", "sort_agents"]

States: TypeAlias = Mapping[str, Any]
"""The states of E worlds, as `MultiGridVectorEnv.get_state` returns them."""

_SUPPORTED = ("symmetric", "soft", "none")
_NUM_COLUMNS = 5
_STEPS_OF_A_TURN = 8
_MASK = 2**32 - 1


def check_rules(config: GridConfig) -> None:
    """Raise a ValueError if no controller supports the rules of a configuration.

    >>> check_rules(GridConfig(collisions="priority"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: collisions is 'priority', which no controller supports; expected one of 'symmetric', 'soft', 'none'
    """
    if config.collisions not in _SUPPORTED:
        raise ValueError(
            f"collisions is {config.collisions!r}, which no controller supports; "
            f"expected one of {', '.join(map(repr, _SUPPORTED))}"
        )
    must_wait = config.num_agents > 1 and (config.collisions != "none" or config.on_target == "stay")
    if must_wait and not config.allow_stay:
        raise ValueError(
            "allow_stay is False, but agents have to wait for one another; expected a world with allow_stay=True"
        )


class Batch:
    """PIBT for up to E worlds of a configuration.

    Args:
        config: the configuration.
        num_worlds: E.
        seed: breaks ties; with equal seeds, equal states get equal actions.

    Raises:
        ValueError: the rules are not supported, see `check_rules`.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(walls="a.A", allow_stay=True)
    >>> _ = env.reset()
    >>> Batch(env.config, num_worlds=1).choose({name: np.array([part]) for name, part in env.get_state().items()})
    array([0])
    """

    FIELDS: ClassVar = ("map_index", "steps", "episode_over", "location", "target", "status", "arrival_step")
    """The parts of states that count."""

    def __init__(self, config: GridConfig, num_worlds: int, seed: int = 0) -> None:
        check_rules(config)
        announce_compilation()
        self.tables = Tables(config.is_wall, at_least=num_worlds * config.num_agents)
        """The maps."""
        num_cells = self.tables.neighbours.shape[1]
        self._no_tables = np.empty((config.num_agents, num_cells), np.int32)
        # Agents with new targets go on as those under *stay* do.
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
                int(make_luck(seed)[0]),
            ]
        )

    def make_team(self, map_index: int) -> Team:
        """Return arrays for a world on a map; agents, goals and rows are to be set."""
        no_goals = np.zeros(len(self._no_tables), np.int32)
        team = make_team(self.tables.neighbours[map_index], self._no_tables, no_goals, self._rule)
        return team._replace(degrees=self.tables.degrees[map_index], distances=self.tables.distances)

    def locate(self, states: States) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the cells of agents and targets, and the rows of `Tables.distances` for these, int32 (E, N) each.

        The cell of an agent that has left is `NOWHERE`.
        """
        maps = np.asarray(states["map_index"])[:, None]
        self.tables.build(maps[:, 0])
        cells, goals = (
            self.tables.index[maps, places[..., 0], places[..., 1]] for places in (states["location"], states["target"])
        )
        cells[states["status"] == LEFT] = NOWHERE
        rows = self.tables.find_rows(np.repeat(maps, goals.shape[1], axis=1).ravel(), goals.ravel())
        return cells, goals, rows.reshape(goals.shape)

    def choose(self, states: States) -> NDArray[np.int64]:
        """Return the actions of all agents, int64 (E * N,), in the order of rows.

        Those of agents that have arrived and of worlds whose episodes are over have no effect.
        """
        cells, goals, rows = self.locate(states)
        actions = np.full(cells.shape, self._rest)
        choose_in_worlds(
            self._team,
            self._settings,
            (self.tables.neighbours, self.tables.degrees),
            (np.asarray(states["map_index"]), np.asarray(states["steps"]), np.asarray(states["episode_over"])),
            (cells, goals, rows, states["arrival_step"]),
            actions,
        )
        return actions.ravel()

    def find_actions(self, map_index: int, cells: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the actions that lead from cells to others, int32 (N,), on a map: int64 (N,)."""
        is_next = self.tables.neighbours[map_index][cells] == after[:, None]
        is_travelling = (cells != NOWHERE) & (after != NOWHERE)
        return np.where(is_travelling, is_next[:, : self._num_actions].argmax(axis=1), self._rest)


@kernel
def choose_in_worlds(scratch: Team, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any) -> None:
    """Write the actions of E worlds.

    Args:
        scratch: arrays of which any world uses those that are not its own.
        settings: the rule on target, of collisions, the number of actions, and the seed.
        graphs: neighbours int32 (M, C, 5), and degrees int32 (M, C).
        worlds: the map, the steps and whether the episode is over, (E,) each.
        agents: cells, goals, tables, and steps of the last arrivals, (E, N) each.
        actions: int64 (E, N), those of agents whose actions have no effect are left as they are.
    """
    neighbours, degrees = graphs
    scratch = borrowed(scratch)
    maps, steps, over = worlds
    cells, goals, rows, arrival_steps = agents
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
            scratch.luck,
        )
        team = borrowed(own)
        if settings[1] == NONE:
            _walk_alone(team)
        else:
            team.luck[0] = ((steps[e] & _MASK) * _STEPS_OF_A_TURN + settings[3]) & _MASK
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
    """Sort the agents by the time that they have been under way, the longest first; equal ones take turns."""
    order, waited = team.order, team.waited
    num_agents = order.shape[0]
    turn = (steps // _STEPS_OF_A_TURN) % num_agents
    for k in range(num_agents):
        agent = (k + turn) % num_agents
        since = max(arrival_steps[agent], 0) if is_lifelong else 0
        waited[agent] = 0 if team.now[agent] == team.goals[agent] else steps - since + 1
        place = k
        while place > 0 and waited[order[place - 1]] < waited[agent]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = agent


@inlined
def _write_actions(team: Team, num_actions: int, actions: Any) -> None:
    for i in range(team.now.shape[0]):
        if team.now[i] == NOWHERE or team.after[i] == NOWHERE:
            continue
        for a in range(num_actions):
            if team.neighbours[team.now[i], a] == team.after[i]:
                actions[i] = a
                break
