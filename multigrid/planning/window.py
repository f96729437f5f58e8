"""The paths of all agents over the next steps (the window), and the search of one agent's path in it.

The cost of a path is the step in which the agent arrives or, if it does not, the length of the window plus the distance
that is left; under *stay*, it is the number of steps away from the target. The search is A* over cells, steps and
whether the agent has arrived. Since costs are small integers, the open states are kept in one stack for each cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.rules import LEAVE, ON_TARGET_RULES, PARK, STAY
from multigrid.planning.compiled import inlined
from multigrid.planning.graph import NOWHERE
from multigrid.planning.random_numbers import draw_below
from multigrid.planning.team import Team
from multigrid.runtime.arrays import NOBODY

__all__ = ["NO_PATH", "Window", "clear", "enter", "find_path", "make_window", "price", "remove"]

NO_PATH = -1
"""In place of a cost."""

_NUM_COLUMNS = 5
_STAY_COLUMN = 4
_NO_STATE = -1
_LARGEST_LABEL = 2**30
# A step costs at most 1, and increases the distance by at most 1.
_MOST_A_STEP = 2


class Window(NamedTuple):
    """The paths of N agents on C cells over the next H steps, and the agent in each cell at each step."""

    neighbours: Any
    """int32 (C, 5), as in `multigrid.planning.graph.Graph`."""
    distances: Any
    """int32 (K, C): tables of distances, as `multigrid.planning.graph.distance_tables` returns them."""
    rows: Any
    """int32 (N,): the table of each agent's goal."""
    goals: Any
    """int32 (N,)."""
    rule: Any
    """int64 (1,): as `multigrid.core.rules` numbers them."""
    paths: Any
    """int32 (H + 1, N): the cell of each agent after each step, `NOWHERE` once it has left."""
    costs: Any
    """int64 (N,): the cost of each path."""
    agents: Any
    """int32 (H + 1, C): the agent in each cell after each step, or `NOBODY`."""
    found: Any
    """int32 (H + 1,): the path that the last search has found."""
    old_paths: Any
    """int32 (G, H + 1): the paths of up to G agents that are searched again."""
    old_costs: Any
    """int64 (G,): their costs."""
    labels: Any
    """int32 (2, H + 1, C): the number of the search state of a cell at a step, before and after the arrival; smaller
    numbers are of older searches."""
    state_cells: Any
    """int32 (S,): the cell of each state of a search."""
    state_times: Any
    """int32 (S,)."""
    state_arrived: Any
    """int32 (S,): whether the agent has arrived."""
    state_costs: Any
    """int32 (S,): its cost so far, and the distance that is left."""
    state_parents: Any
    """int32 (S,): the state before it."""
    state_below: Any
    """int32 (S,): the next state on the same stack."""
    tops: Any
    """int32 (2 H + 2,): the top of the stack for each cost above the least."""
    next_label: Any
    """int64 (1,): where the numbers of the next search begin."""
    generator: Any
    """int64 (1,), see `multigrid.planning.random_numbers`."""


def make_window(team: Team, on_target: str, length: int, largest: int = 1) -> Window:
    """Return a window without paths.

    Args:
        team: its neighbours, tables of distances, rows and goals are the window's, too.
        on_target: the rule.
        length: H, in steps.
        largest: G.

    >>> from multigrid.planning.team import make_team
    >>> alone, zero = np.array([[-1, -1, -1, -1, 0]], np.int32), np.zeros(1, np.int32)
    >>> make_window(make_team(alone, zero[None], zero, "stay"), "stay", 3).paths.shape
    (4, 1)
    """
    num_agents, num_cells = len(team.now), len(team.neighbours)
    shape = (length + 1, num_cells)
    num_states = 3 * (length + 1) * num_cells
    return Window(
        team.neighbours,
        team.distances,
        team.rows,
        team.goals,
        np.array([ON_TARGET_RULES.index(on_target)]),
        paths=np.full((length + 1, num_agents), NOWHERE, np.int32),
        costs=np.zeros(num_agents, np.int64),
        agents=np.full(shape, NOBODY, np.int32),
        found=np.full(length + 1, NOWHERE, np.int32),
        old_paths=np.full((largest, length + 1), NOWHERE, np.int32),
        old_costs=np.zeros(largest, np.int64),
        labels=np.zeros((2, *shape), np.int32),
        state_cells=np.empty(num_states, np.int32),
        state_times=np.empty(num_states, np.int32),
        state_arrived=np.empty(num_states, np.int32),
        state_costs=np.empty(num_states, np.int32),
        state_parents=np.empty(num_states, np.int32),
        state_below=np.empty(num_states, np.int32),
        tops=np.full(_MOST_A_STEP * (length + 1), _NO_STATE, np.int32),
        next_label=np.ones(1, np.int64),
        generator=team.generator,
    )


@inlined
def enter(w: Window, agent: int) -> None:
    """Enter an agent's path."""
    for t in range(w.paths.shape[0]):
        if w.paths[t, agent] != NOWHERE:
            w.agents[t, w.paths[t, agent]] = agent


@inlined
def remove(w: Window, agent: int) -> None:
    """Remove an agent's path; it stays in `paths`."""
    for t in range(w.paths.shape[0]):
        if w.paths[t, agent] != NOWHERE:
            w.agents[t, w.paths[t, agent]] = NOBODY


@inlined
def clear(w: Window) -> None:
    """Remove the paths of all agents."""
    for agent in range(w.goals.shape[0]):
        remove(w, agent)


@inlined
def price(w: Window, agent: int) -> Any:
    """Return the cost of an agent's path."""
    goal, rule, last = w.goals[agent], w.rule[0], w.paths.shape[0] - 1
    cost = 0
    for t in range(last + 1):
        cell = w.paths[t, agent]
        is_there = cell == goal
        if rule != STAY and (cell == NOWHERE or (is_there and (t > 0 or rule == PARK))):
            return t
        if t < last and not (rule == STAY and is_there and w.paths[t + 1, agent] == goal):
            cost += 1
    return cost + w.distances[w.rows[agent], w.paths[last, agent]]


@inlined
def find_path(w: Window, agent: int, limit: int) -> int:
    """Find a path of least cost that is in conflict with no path in the window; write it to `found`.

    Args:
        w: the window, without the agent's path.
        agent: an agent that has not left.
        limit: the largest cost.

    Returns:
        The cost, or `NO_PATH`.
    """
    start, goal, last = w.paths[0, agent], w.goals[agent], w.paths.shape[0] - 1
    least = int(w.distances[w.rows[agent], start])
    if w.next_label[0] > _LARGEST_LABEL:
        w.labels[:] = 0
        w.next_label[0] = 1
    first = w.next_label[0]
    most = min(limit - least, w.tops.shape[0] - 1)
    for extra in range(most + 1):
        w.tops[extra] = _NO_STATE
    arrived = int(w.rule[0] == PARK and start == goal)
    w.labels[arrived, 0, start] = first
    if most >= 0:
        _push(w, 0, start, arrived, _NO_STATE, 0)
    count, cost, extra = 1, NO_PATH, 0
    while extra <= most:
        state = w.tops[extra]
        if state == _NO_STATE:
            extra += 1
            continue
        w.tops[extra] = w.state_below[state]
        cell, t, arrived = w.state_cells[state], w.state_times[state], w.state_arrived[state]
        if w.labels[arrived, t, cell] != first + state:
            continue
        if t == last or (arrived == 1 and w.rule[0] == LEAVE):
            _write_path(w, state)
            cost = least + extra
            break
        if count + _NUM_COLUMNS > w.state_cells.shape[0]:
            break
        count = _push_next(w, agent, state, count, most)
    w.next_label[0] = first + count
    return cost


@inlined
def _push_next(w: Window, agent: int, state: int, count: int, most: int) -> int:
    """Push the states one step after a state; return how many there are in all."""
    cell, t, arrived, extra = (
        w.state_cells[state],
        w.state_times[state] + 1,
        w.state_arrived[state],
        w.state_costs[state],
    )
    goal, rule = w.goals[agent], w.rule[0]
    here = 0 if arrived == 1 else w.distances[w.rows[agent], cell]
    first, turn = w.next_label[0], draw_below(w.generator, _NUM_COLUMNS)
    for k in range(_NUM_COLUMNS):
        column = (k + turn) % _NUM_COLUMNS
        other_cell = w.neighbours[cell, column]
        if other_cell == NOWHERE or w.agents[t, other_cell] != NOBODY:
            continue
        if rule == PARK and arrived == 1 and column != _STAY_COLUMN:
            continue
        leaving = w.agents[t - 1, other_cell]
        if column != _STAY_COLUMN and leaving != NOBODY and leaving == w.agents[t, cell]:
            continue
        is_free = arrived == 1 or (rule == STAY and cell == goal and other_cell == goal)
        there = 0 if arrived == 1 else w.distances[w.rows[agent], other_cell]
        other_extra = extra + there - here + (0 if is_free else 1)
        if other_extra > most:
            continue
        has_arrived = int(arrived == 1 or (rule != STAY and other_cell == goal))
        label = w.labels[has_arrived, t, other_cell]
        if label >= first and w.state_costs[label - first] <= other_extra:
            continue
        w.labels[has_arrived, t, other_cell] = first + count
        _push(w, count, other_cell, has_arrived, state, other_extra)
        count += 1
    return count


@inlined
def _push(w: Window, state: int, cell: int, arrived: int, parent: int, extra: int) -> None:
    w.state_times[state] = 0 if parent == _NO_STATE else w.state_times[parent] + 1
    w.state_cells[state], w.state_arrived[state] = cell, arrived
    w.state_parents[state], w.state_costs[state] = parent, extra
    w.state_below[state] = w.tops[extra]
    w.tops[extra] = state


@inlined
def _write_path(w: Window, state: int) -> None:
    w.found[w.state_times[state] + 1 :] = NOWHERE
    while state != _NO_STATE:
        w.found[w.state_times[state]] = w.state_cells[state]
        state = w.state_parents[state]
