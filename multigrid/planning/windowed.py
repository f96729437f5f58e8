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

from multigrid.planning.compiled import borrowed, inlined, kernel
from multigrid.planning.graph import NOWHERE
from multigrid.planning.groups import Group, add_member, empty_group, make_group
from multigrid.planning.next_step import sort_agents
from multigrid.planning.pibt import sort_by_wait, step_team
from multigrid.planning.random_numbers import draw_below, make_generator
from multigrid.planning.team import Team
from multigrid.planning.window import NO_PATH, Window, clear, enter, find_path, make_window, price, remove
from multigrid.runtime.arrays import NOBODY

__all__ = ["Windowed"]

_LENGTH = 20
_ROUNDS_PER_AGENT = 8
_FEWEST_ROUNDS = 100
_LARGEST_GROUP = 16
_NUM_MOVES = 4
_NUM_KINDS = 4
_CANDIDATES = 4
_TRIES_PER_AGENT = 8


class Windowed:
    """A plan of the next steps of N agents, which `advance` shifts by one step and improves.

    Args:
        team: arrays for the agents, whose neighbours and tables of distances are set.
        on_target: the rule.
        seed: breaks ties, and picks the agents whose paths are searched again.
        length: the number of steps.
        rounds: how often a group's paths are searched again in each step; None for 8 times N, and at least 100.
    """

    def __init__(
        self, team: Team, on_target: str, seed: int, *, length: int = _LENGTH, rounds: int | None = None
    ) -> None:
        num_agents = len(team.now)
        self._team = team
        team.generator[:] = make_generator(seed)
        self._is_lifelong = on_target == "restart"
        self._window = make_window(team, on_target, length, min(_LARGEST_GROUP, num_agents))
        self._group = make_group(num_agents)
        self._old_goals = np.full(num_agents, NOWHERE, np.int32)
        self._rounds = max(_FEWEST_ROUNDS, _ROUNDS_PER_AGENT * num_agents) if rounds is None else rounds

    @property
    def paths(self) -> NDArray[np.int32]:
        """A copy of the plan, int32 (length + 1, N): the cells of the agents now and after each step."""
        paths: NDArray[np.int32] = self._window.paths.copy()
        return paths

    def advance(
        self,
        cells: NDArray[np.int32],
        goals: NDArray[np.int32],
        rows: NDArray[np.int32],
        arrival_steps: NDArray[np.int64],
        steps: int,
    ) -> NDArray[np.int32]:
        """Plan from the present cells, and return the cells after the next step, int32 (N,).

        Args:
            cells: int32 (N,), `NOWHERE` for an agent that has left.
            goals: int32 (N,).
            rows: int32 (N,), the tables of the goals.
            arrival_steps: int64 (N,), the steps of the last arrivals.
            steps: the steps of the episode so far.
        """
        team, window = self._team, self._window
        team.goals[:], team.rows[:], team.now[:] = goals, rows, cells
        sort_agents(team, arrival_steps, steps, self._is_lifelong)
        if self._is_lifelong:
            # A list of targets may have the same cell twice in a row.
            self._old_goals[arrival_steps == steps] = NOWHERE
        _move_on(window, team, cells)
        _meet_goals(window, self._old_goals, self._group)
        _improve(window, self._group, self._rounds)
        self._old_goals[:] = goals
        after: NDArray[np.int32] = window.paths[1].copy()
        return after


@kernel
def _move_on(w: Window, team: Team, cells: Any) -> None:
    """Drop the first step of the plan and add a last one; if the agents are not where it expects them, plan anew."""
    w, team = borrowed(w), borrowed(team)
    clear(w)
    last = w.paths.shape[0] - 1
    is_as_planned = True
    for i in range(cells.shape[0]):
        is_as_planned = is_as_planned and (cells[i] == NOWHERE or cells[i] == w.paths[1, i])
    first = 1
    if is_as_planned:
        first = last
        for t in range(last):
            for i in range(cells.shape[0]):
                w.paths[t, i] = NOWHERE if cells[i] == NOWHERE else w.paths[t + 1, i]
    else:
        for i in range(cells.shape[0]):
            w.paths[0, i] = cells[i]
    for i in range(cells.shape[0]):
        team.now[i] = w.paths[first - 1, i]
    for t in range(first, last + 1):
        step_team(team)
        sort_by_wait(team)
        for i in range(cells.shape[0]):
            w.paths[t, i] = team.now[i]
    for i in range(cells.shape[0]):
        enter(w, i)
        w.costs[i] = price(w, i)


@kernel
def _meet_goals(w: Window, old_goals: Any, group: Group) -> None:
    """Search the paths of those agents that have new goals, one after the other."""
    w, group = borrowed(w), borrowed(group)
    for i in range(w.goals.shape[0]):
        if w.goals[i] != old_goals[i]:
            empty_group(group)
            add_member(group, i, 1)
            _replan(w, group)


@kernel
def _improve(w: Window, group: Group, rounds: int) -> None:
    w, group = borrowed(w), borrowed(group)
    for _ in range(rounds):
        # Small groups are searched more often: they take less time.
        most = 1 + draw_below(w.generator, 1 + draw_below(w.generator, w.old_costs.shape[0]))
        _pick_group(w, group, most)
        _replan(w, group)


@inlined
def _pick_group(w: Window, group: Group, most: int) -> None:
    """Pick up to `most` agents: a late agent with those that delay it, agents that come to one cell, or any agents."""
    empty_group(group)
    kind = draw_below(w.generator, _NUM_KINDS)
    if kind == 0:
        for _ in range(most):
            add_member(group, draw_below(w.generator, w.goals.shape[0]), most)
    elif kind == 1:
        _pick_meeting(w, group, most)
    else:
        add_member(group, _draw_late(w), most)
        for _ in range(_TRIES_PER_AGENT * most):
            if group.size[0] == most:
                return
            _walk(w, group, group.members[draw_below(w.generator, group.size[0])], most)


@inlined
def _draw_late(w: Window) -> int:
    """Return, of a few random agents, the one whose cost is largest compared with its shortest path."""
    latest, delay = 0, -1
    for _ in range(_CANDIDATES):
        agent = draw_below(w.generator, w.goals.shape[0])
        its_delay = w.costs[agent] - _find_least(w, agent)
        if its_delay > delay:
            latest, delay = agent, its_delay
    return int(latest)


@inlined
def _walk(w: Window, group: Group, agent: int, most: int) -> None:
    """Let an agent walk at random, as long as its cost could still decrease; add those that it meets."""
    last = w.paths.shape[0] - 1
    t = draw_below(w.generator, last)
    cell = w.paths[t, agent]
    while cell != NOWHERE and t < last and group.size[0] < most:
        t += 1
        chosen, count = NOWHERE, 0
        for a in range(_NUM_MOVES + 1):
            other_cell = w.neighbours[cell, a]
            if other_cell != NOWHERE and t + w.distances[w.rows[agent], other_cell] < w.costs[agent]:
                count += 1
                if draw_below(w.generator, count) == 0:
                    chosen = other_cell
        if chosen != NOWHERE:
            add_member(group, w.agents[t, chosen], most)
            leaving = w.agents[t - 1, chosen]
            if leaving != NOBODY and leaving == w.agents[t, cell]:
                add_member(group, leaving, most)
        cell = chosen


@inlined
def _pick_meeting(w: Window, group: Group, most: int) -> None:
    """Pick agents that come to one cell, and to its neighbours, at about the same time."""
    times = w.paths.shape[0]
    moment = draw_below(w.generator, times)
    cell = w.paths[moment, draw_below(w.generator, w.goals.shape[0])]
    for away in range(times if cell != NOWHERE else 0):
        for a in range(_NUM_MOVES, -1, -1):
            other_cell = w.neighbours[cell, a]
            if other_cell == NOWHERE:
                continue
            if moment - away >= 0:
                add_member(group, w.agents[moment - away, other_cell], most)
            if moment + away < times:
                add_member(group, w.agents[moment + away, other_cell], most)
        if group.size[0] == most:
            return


@inlined
def _replan(w: Window, group: Group) -> None:
    """Search the paths of a group one after the other; restore the old paths if the sum of costs would rise."""
    size = group.size[0]
    spare = 0
    for k in range(size):
        other = draw_below(w.generator, size - k) + k
        agent = group.members[other]
        group.members[k], group.members[other] = agent, group.members[k]
        w.old_costs[k] = w.costs[agent]
        spare += w.costs[agent] - _find_least(w, agent)
        for t in range(w.paths.shape[0]):
            w.old_paths[k, t] = w.paths[t, agent]
        remove(w, agent)
    found = 0
    while found < size:
        agent = group.members[found]
        if w.paths[0, agent] != NOWHERE:
            least = _find_least(w, agent)
            cost = find_path(w, agent, spare + least)
            if cost == NO_PATH:
                break
            spare -= cost - least
            w.costs[agent] = cost
            for t in range(w.paths.shape[0]):
                w.paths[t, agent] = w.found[t]
            enter(w, agent)
        found += 1
    if found < size:
        for k in range(found):
            remove(w, group.members[k])
        for k in range(size):
            agent = group.members[k]
            w.costs[agent] = w.old_costs[k]
            for t in range(w.paths.shape[0]):
                w.paths[t, agent] = w.old_paths[k, t]
            enter(w, agent)


@inlined
def _find_least(w: Window, agent: int) -> Any:
    """Return the cost of an agent's shortest path, as if it were alone."""
    cell = w.paths[0, agent]
    return 0 if cell == NOWHERE else w.distances[w.rows[agent], cell]
