"""Plan the next steps of all agents again in each step: PIBT, improved by large-neighbourhood search.

Jiang, Zhang, Veerapaneni and Li, "Scaling lifelong multi-agent path finding to more realistic settings", SoCS 2024,
call this windowed parallel PIBT-LNS, WPPL. The plan of the step before loses its first step, and PIBT adds a last one.
Then the paths of a few agents at a time are searched again, around those of the others; the new ones are kept if the
sum of costs does not rise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.core.rules import ON_TARGET_RULES
from multigrid.planning._graph import NOWHERE, Ints
from multigrid.planning._kernels import borrowed, kernel, make_generator
from multigrid.planning._neighbourhoods import Group, add_member, empty_group, improve, make_group, replan
from multigrid.planning._next_step import sort_agents
from multigrid.planning._path_search import WindowStates, price
from multigrid.planning._pibt import sort_by_wait, step_team
from multigrid.planning._team import Team
from multigrid.planning._timetable import Timetable, enter, make_timetable, remove

_LENGTH = 20
_ROUNDS_PER_AGENT = 8
_FEWEST_ROUNDS = 100


class Windowed:
    """A plan of the next steps of N agents, which `advance` shifts by one step and improves."""

    def __init__(self, team: Team, on_target: str, seed: int, *, rounds: int | None = None, state: Any = ()) -> None:
        num_agents = len(team.now)
        self._team = team
        team.generator[:] = make_generator(seed)
        self._is_lifelong = on_target == "restart"
        self._table = make_timetable(team, ON_TARGET_RULES.index(on_target), _LENGTH, team.generator, is_window=True)
        self._states = WindowStates(*(np.empty_like(self._table.state_cells) for _ in range(2)))
        self._group = make_group(num_agents)
        self._old_goals = np.full(num_agents, NOWHERE, np.int32)
        self._rounds = max(_FEWEST_ROUNDS, _ROUNDS_PER_AGENT * num_agents) if rounds is None else rounds
        # What `advance` depends on besides its arguments: it enters all paths again.
        self.state = self._table.paths, self._old_goals, team.generator
        for own, given in zip(self.state, state, strict=False):
            own[:] = given

    @property
    def paths(self) -> Ints:
        """A copy of the plan, int32 (21, N): the cells of the agents now and after each step."""
        paths: Ints = self._table.paths.T.copy()
        return paths

    def advance(self, cells: Ints, goals: Ints, rows: Ints, arrival_steps: NDArray[np.int64], steps: int) -> Ints:
        """Plan from the present cells, and return the cells after the next step, int32 (N,).

        `Tables.locate` returns the first three, (N,) each. `arrival_steps`, (N,), are the steps of the last arrivals,
        and `steps` is the number of steps of the episode so far.
        """
        team, table = self._team, self._table
        team.goals[:], team.rows[:], team.now[:] = goals, rows, cells
        sort_agents(team, arrival_steps, steps, self._is_lifelong)
        if self._is_lifelong:
            # A list of targets may have the same cell twice in a row.
            self._old_goals[arrival_steps == steps] = NOWHERE
        _move_on(table, team, cells)
        _meet_goals(table, self._states, self._old_goals, self._group)
        improve(table, self._states, self._group, self._rounds)
        self._old_goals[:] = goals
        after: Ints = table.paths[:, 1].copy()
        return after


@kernel
def _move_on(table: Timetable, team: Team, cells: Any) -> None:
    """Drop the first step of the plan and add a last one; if the agents are not where it expects them, plan anew."""
    table, team = borrowed(table), borrowed(team)
    paths, num_agents, last = table.paths, cells.shape[0], table.paths.shape[1] - 1
    is_as_planned = True
    for i in range(num_agents):
        remove(table, i)
        is_as_planned = is_as_planned and (cells[i] == NOWHERE or cells[i] == paths[i, 1])
    first = last if is_as_planned else 1
    for i in range(num_agents):
        if is_as_planned:
            for t in range(last):
                paths[i, t] = NOWHERE if cells[i] == NOWHERE else paths[i, t + 1]
        else:
            paths[i, 0] = cells[i]
        team.now[i] = paths[i, first - 1]
    for t in range(first, last + 1):
        step_team(team)
        sort_by_wait(team)
        for i in range(num_agents):
            paths[i, t] = team.now[i]
    for i in range(num_agents):
        enter(table, i)
        table.costs[i] = price(table, i)


@kernel
def _meet_goals(table: Timetable, states: Any, old_goals: Any, group: Group) -> None:
    """Search the paths of those agents that have new goals, one after the other."""
    table, states, group = borrowed(table), borrowed(states), borrowed(group)
    for i in range(table.goals.shape[0]):
        if table.goals[i] != old_goals[i]:
            empty_group(group)
            add_member(group, i, 1)
            replan(table, states, group)
