"""Large-neighbourhood search: search the paths of a few agents again, around those of the others.

Li, Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search", IJCAI 2021.
The new paths are kept if the sum of costs does not rise. Where a function takes `states`, they are those of a window;
with None, the timetable has whole paths.

`Windowed` plans the next steps again in each step, by PIBT and this search: windowed parallel PIBT-LNS, WPPL, of Jiang,
Zhang, Veerapaneni and Li, "Scaling lifelong multi-agent path finding to more realistic settings", SoCS 2024.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import ON_TARGET_RULES
from multigrid.planning._graph import NOWHERE, NUM_MOVES, Ints
from multigrid.planning._kernels import borrowed, draw_below, inlined, kernel, make_generator
from multigrid.planning._path_search import (
    NO_PATH,
    Timetable,
    WindowStates,
    enter,
    find_path,
    find_path_in_window,
    make_timetable,
    price,
    remove,
)
from multigrid.planning._pibt import Team, sort_agents, sort_by_wait, step_team

_NUM_KINDS = 8
_CANDIDATES = 4
_TRIES_PER_AGENT = 8
# What each step after the horizon costs: more than can be saved before the horizon.
_PENALTY = 10_000


class Group(NamedTuple):
    """The agents whose paths are searched again."""

    members: Any  # int32 (N,): the agents; the first `size` entries count
    is_member: Any  # bool (N,)
    size: Any  # int64 (1,)


def make_group(num_agents: int) -> Group:
    """Return a group without agents, with room for `num_agents`."""
    return Group(np.zeros(num_agents, np.int32), np.zeros(num_agents, np.bool_), np.zeros(1, np.int64))


@kernel
def improve(table: Timetable, states: Any, group: Group, count: int) -> None:
    """Pick `count` groups, and search the paths of each again."""
    table, group = borrowed(table), borrowed(group)
    if states is not None:
        states = borrowed(states)
    for _ in range(count):
        # Small groups are searched more often: they take less time.
        most = 1 + draw_below(table.generator, 1 + draw_below(table.generator, table.old_costs.shape[0]))
        _pick_group(table, states, group, most)
        replan(table, states, group)


@inlined
def _pick_group(table: Timetable, states: Any, group: Group, most: int) -> None:
    """Pick up to `most` agents: a late agent with those that delay it, agents that come to one cell, or any agents."""
    is_window = states is not None
    num_agents = table.goals.shape[0]
    empty_group(group)
    kind = draw_below(table.generator, _NUM_KINDS)
    num_any, num_any_or_meeting = (2, 4) if is_window else (1, 5)
    if kind >= num_any_or_meeting:
        _pick_in_the_way(table, group, most, is_window)
    elif kind >= num_any:
        _pick_meeting(table, group, most, is_window)
    # If two agents are possible, any other one joins a group of one.
    while group.size[0] < min(most, 2) and not is_window:
        add_member(group, draw_below(table.generator, num_agents), most)
    if kind < num_any:
        for _ in range(most):
            add_member(group, draw_below(table.generator, num_agents), most)


@inlined
def empty_group(group: Group) -> None:
    """Take all agents out of a group."""
    for k in range(group.size[0]):
        group.is_member[group.members[k]] = False
    group.size[0] = 0


@inlined
def add_member(group: Group, agent: int, most: int) -> None:
    """Add an agent to a group, unless it is in it, is `NOBODY`, or the group has `most` agents."""
    if agent != NOBODY and not group.is_member[agent] and group.size[0] < most:
        group.is_member[agent] = True
        group.members[group.size[0]] = agent
        group.size[0] += 1


@inlined
def _pick_in_the_way(table: Timetable, group: Group, most: int, is_window: bool) -> None:
    """Pick a late agent, and the agents that it and they meet on random walks towards lower costs."""
    late = _draw_late(table)
    add_member(group, late, most)
    # An agent that crosses the target after the shortest path has ended delays the arrival.
    if not is_window:
        for t in range(_find_least(table, late), table.costs[late]):
            add_member(group, table.agents[t, table.goals[late]], most)
    for _ in range(_TRIES_PER_AGENT * most):
        if group.size[0] == most:
            return
        _walk(table, group, group.members[draw_below(table.generator, group.size[0])], most)


@inlined
def _draw_late(table: Timetable) -> int:
    """Return, of a few random agents, the one whose cost is largest compared with its shortest path."""
    latest, delay = 0, -1
    for _ in range(_CANDIDATES):
        agent = draw_below(table.generator, table.goals.shape[0])
        its_delay = table.costs[agent] - _find_least(table, agent)
        if its_delay > delay:
            latest, delay = agent, its_delay
    return int(latest)


@inlined
def _walk(table: Timetable, group: Group, agent: int, most: int) -> None:
    """Let an agent walk at random, as long as its cost could still decrease; add those that it meets."""
    last, row = table.lengths[agent], table.rows[agent]
    if last == 0:
        return
    t = draw_below(table.generator, last)
    cell = table.paths[agent, t]
    while cell != NOWHERE and t < last and group.size[0] < most:
        t += 1
        chosen, count = NOWHERE, 0
        for a in range(NUM_MOVES + 1):
            other_cell = table.neighbours[cell, a]
            if other_cell != NOWHERE and t + table.distances[row, other_cell] < table.costs[agent]:
                count += 1
                if draw_below(table.generator, count) == 0:
                    chosen = other_cell
        if chosen != NOWHERE:
            add_member(group, table.agents[t, chosen], most)
            if t >= table.held_from[chosen]:
                add_member(group, table.owners[chosen], most)
            leaving = table.agents[t - 1, chosen]
            if leaving != NOBODY and leaving == table.agents[t, cell]:
                add_member(group, leaving, most)
        cell = chosen


@inlined
def _pick_meeting(table: Timetable, group: Group, most: int, is_window: bool) -> None:
    """Pick agents that come to one cell, and to its neighbours, at about the same time."""
    times, num_agents = table.paths.shape[1], table.goals.shape[0]
    moment = draw_below(table.generator, times) if is_window else 0
    agent = draw_below(table.generator, num_agents)
    if not is_window:
        moment = draw_below(table.generator, table.lengths[agent] + 1)
    cell = table.paths[agent, moment]
    for away in range(times if cell != NOWHERE else 0):
        if group.size[0] == most:
            return
        for a in range(NUM_MOVES, -1, -1):
            other_cell = table.neighbours[cell, a]
            if other_cell == NOWHERE:
                continue
            if moment - away >= 0:
                add_member(group, table.agents[moment - away, other_cell], most)
            if moment + away < times:
                add_member(group, table.agents[moment + away, other_cell], most)


@inlined
def replan(table: Timetable, states: Any, group: Group) -> None:
    """Search the paths of a group one after the other; restore the old paths if the sum of costs would rise."""
    size, horizon = group.size[0], table.horizon[0]
    spare = 0
    for k in range(size):
        other = draw_below(table.generator, size - k) + k
        agent = group.members[other]
        group.members[k], group.members[other] = agent, group.members[k]
        table.old_costs[k] = table.costs[agent]
        spare += _price(table.costs[agent], horizon) - _price(_find_least(table, agent), horizon)
        for t in range(table.lengths[agent] + 1):
            table.old_paths[k, t] = table.paths[agent, t]
        remove(table, agent)
    found = 0
    while found < size:
        agent = group.members[found]
        if table.paths[agent, 0] != NOWHERE:
            least = _price(_find_least(table, agent), horizon)
            limit = _latest(spare + least, horizon)
            if states is None:
                cost = find_path(table, agent, limit)
            else:
                cost = find_path_in_window(table, states, agent, limit)
            if cost == NO_PATH:
                break
            spare -= _price(cost, horizon) - least
            table.costs[agent] = cost
            enter(table, agent)
        found += 1
    if found < size:
        for k in range(found):
            remove(table, group.members[k])
        for k in range(size):
            agent = group.members[k]
            table.costs[agent] = table.old_costs[k]
            for t in range(table.lengths[agent] + 1):
                table.paths[agent, t] = table.old_paths[k, t]
            enter(table, agent)


@inlined
def _find_least(table: Timetable, agent: int) -> Any:
    """Return the cost of an agent's shortest path, as if it were alone."""
    cell = table.paths[agent, 0]
    return 0 if cell == NOWHERE else table.distances[table.rows[agent], cell]


@inlined
def _price(cost: int, horizon: int) -> Any:
    return cost + _PENALTY * max(cost - horizon, 0)


@inlined
def _latest(price: int, horizon: int) -> Any:
    """Return the largest cost whose price is not higher."""
    return price if price <= horizon else horizon + (price - horizon) // (1 + _PENALTY)


_LENGTH = 20
_ROUNDS_PER_AGENT = 8
_FEWEST_ROUNDS = 100


class Windowed:
    """A plan of the next steps of N agents: `advance` drops its first step, adds one by PIBT, and improves it."""

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
