"""A* over the joint states of a few agents on a small map; it also proves that there is no plan.

A joint state has a digit for each agent: its cell, or C when it has stopped on its goal for good. Agents that have not
stopped cost 1 a step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._cbs_spaces import is_conflict
from multigrid.planning._cbs_tree import World
from multigrid.planning._graph import FAR, Ints
from multigrid.planning._kernels import inlined, kernel

_NONE = -1
_NUM_SUMS = 1 << 18
_FOUND, _EXHAUSTED, _GOES_ON = 0, 1, 2


class JointProblem(NamedTuple):
    """A problem of a few agents, for the kernels."""

    neighbours: Ints
    distances: Ints  # int32 (N, C)
    goals: Ints
    leaves: bool
    absorbing: bool
    size: int  # the number of joint states
    num_steps: int  # 1 if equal states of different steps are one state; else the horizon plus 1


class Queue(NamedTuple):
    """The open states, in one list for each sum of the cost so far and the distances that are left."""

    heads: Ints  # int32: the first state of each list, -1 if it is empty
    links: Ints  # int32 (states, 2): the next and the previous state in the list
    costs: Ints  # int32 (states,), on the best path, `FAR` without one; -1 - cost once it is expanded
    parents: Ints  # int32 (states,): the state before each on that path
    least: NDArray[np.int64]  # int64 (2,): the first list that may have a state; the state of the goal, once found


@inlined
def distance_left(problem: Any, k: int, cell: int) -> int:
    """Return the least further cost of an agent that has not stopped."""
    return int(max(1, problem.distances[k, cell]))


@kernel
def push(queue: Any, state: int, parent: int, cost: int, total: int) -> None:
    """Put a state into the list of its sum, or move it there, if its cost decreases."""
    if queue.costs[state] <= cost:
        return
    after, before = queue.links[state]
    if queue.costs[state] != FAR:
        if before == _NONE:
            # The distances left, `total` - `cost`, are the same whenever a state is pushed.
            queue.heads[total + queue.costs[state] - cost] = after
        else:
            queue.links[before, 0] = after
        if after != _NONE:
            queue.links[after, 1] = before
    head = queue.heads[total]
    queue.links[state, 0], queue.links[state, 1] = head, _NONE
    if head != _NONE:
        queue.links[head, 1] = state
    queue.heads[total], queue.costs[state], queue.parents[state] = state, cost, parent


@kernel
def pop(queue: Any) -> int:
    """Remove a state of the smallest sum, and return it; -1 if there is none."""
    while queue.least[0] < queue.heads.shape[0]:
        state = queue.heads[queue.least[0]]
        if state != _NONE:
            after = queue.links[state, 0]
            queue.heads[queue.least[0]] = after
            if after != _NONE:
                queue.links[after, 1] = _NONE
            return int(state)
        queue.least[0] += 1
    return _NONE


@kernel
def list_moves(problem: Any, digits: Any, moves: Any, counts: Any) -> None:
    """Write the moves of each agent, int32 (N, 6, 3): the cell after it, -1 if gone, its digit, the least cost then."""
    num_cells = problem.neighbours.shape[0]
    for k in range(digits.shape[0]):
        goal = problem.goals[k]
        if digits[k] == num_cells:
            moves[k, 0, 0], moves[k, 0, 1], moves[k, 0, 2] = -1 if problem.leaves else goal, num_cells, 0
            counts[k] = 1
            continue
        count = 0
        for a in range(5):
            after = problem.neighbours[digits[k], a]
            if after == goal:
                moves[k, count, 0], moves[k, count, 1], moves[k, count, 2] = after, num_cells, 0
                count += 1
            if after >= 0 and not (after == goal and problem.absorbing):
                moves[k, count, 0], moves[k, count, 1] = after, after
                moves[k, count, 2] = distance_left(problem, k, after)
                count += 1
        counts[k] = count


@inlined
def _find_combination(cells: Any, options: Any, counts: Any, chosen: Any, k: int) -> bool:
    """Go on from agent k's option to the next options of all n agents without a conflict; False if none are left.

    Options are int32 (n, most, 3), of which the cell after each comes first; those chosen, int32 (n,), are overwritten.
    """
    while k >= 0:
        if chosen[k] == counts[k]:
            k -= 1
            if k >= 0:
                chosen[k] += 1
        elif _has_conflict(cells, options, chosen, k):
            chosen[k] += 1
        elif k + 1 < chosen.shape[0]:
            k += 1
            chosen[k] = 0
        else:
            return True
    return False


@inlined
def _has_conflict(cells: Any, options: Any, chosen: Any, k: int) -> bool:
    """Return whether the option of agent k is in conflict with that of an agent with a smaller index."""
    after = options[k, chosen[k], 0]
    for j in range(k):
        if is_conflict(cells[k], after, cells[j], options[j, chosen[j], 0]):
            return True
    return False


@kernel
def expand(problem: Any, queue: Any, state: int, scratch: Any) -> None:
    """Push all successors of a state."""
    (digits, cells, counts, chosen), moves = scratch
    num_agents, base = digits.shape[0], problem.neighbours.shape[0] + 1
    step, rest = state // problem.size, state % problem.size
    active = 0
    for k in range(num_agents):
        digits[k] = rest % base
        rest //= base
        active += digits[k] < base - 1
        cells[k] = digits[k] if digits[k] < base - 1 else -1
    next_step = 0 if problem.num_steps == 1 else step + 1
    cost = queue.costs[state] + active
    queue.costs[state] = -1 - queue.costs[state]
    list_moves(problem, digits, moves, counts)
    k = chosen[0] = 0
    while _find_combination(cells, moves, counts, chosen, k):
        k = num_agents - 1
        code, total, latest = 0, cost, 0
        for j in range(num_agents - 1, -1, -1):
            code = code * base + moves[j, chosen[j], 1]
            total += moves[j, chosen[j], 2]
            latest = max(latest, moves[j, chosen[j], 2])
        if total < queue.heads.shape[0] and (problem.num_steps == 1 or next_step + latest < problem.num_steps):
            push(queue, code + next_step * problem.size, state, cost, total)
        chosen[k] += 1


@kernel
def search_states(problem: Any, queue: Any, max_expansions: int) -> Any:
    """Expand states; return how many, and `_FOUND`, `_EXHAUSTED` or `_GOES_ON`."""
    by_agent = np.zeros((4, problem.goals.shape[0]), np.int32)
    moves = np.zeros((problem.goals.shape[0], 6, 3), np.int32)
    scratch = (by_agent[0], by_agent[1], by_agent[2], by_agent[3]), moves
    for expansion in range(max_expansions):
        state = pop(queue)
        if state == _NONE:
            return expansion, _EXHAUSTED
        if state % problem.size == problem.size - 1:
            queue.least[1] = state
            return expansion, _FOUND
        expand(problem, queue, state, scratch)
    return max_expansions, _GOES_ON


def count_states(num_cells: int, num_agents: int) -> int:
    """Return the number of joint states of some agents on a map."""
    return int((num_cells + 1) ** num_agents)


class Joint:
    """An A* search over the joint states of a few agents."""

    def __init__(self, world: World, agents: list[int], *, is_timed: bool) -> None:
        size, num_steps = count_states(world.num_cells, len(agents)), world.horizon + 1 if is_timed else 1
        arrays = world.neighbours, world.distances[agents], world.goals[agents]
        self._problem = JointProblem(*arrays, world.leaves, world.absorbing, size, num_steps)
        states = size * num_steps
        heads, links, parents = (np.full(shape, _NONE, np.int32) for shape in (_NUM_SUMS, (states, 2), states))
        self._queue = Queue(heads, links, np.full(states, FAR, np.int32), parents, np.zeros(2, np.int64))
        self.expansions, self._end = 0, _GOES_ON
        start, total = 0, 0
        for k in reversed(range(len(agents))):
            cell = int(world.starts[agents[k]])
            start = start * (world.num_cells + 1) + cell
            total += distance_left(self._problem, k, cell)
        push(self._queue, start, _NONE, 0, total)

    def run(self, max_expansions: int) -> None:
        """Expand states until the end of the search."""
        expansions, self._end = search_states(self._problem, self._queue, max_expansions)
        self.expansions += expansions

    @property
    def is_over(self) -> bool:
        """Whether the optimal plan is found, or it is proven that there is none."""
        return self._end != _GOES_ON

    @property
    def bound(self) -> int:
        """No plan has a smaller sum of costs; `FAR` if there is none."""
        return FAR if self._end == _EXHAUSTED else int(self._queue.least[0])

    def paths(self) -> Ints | None:
        """Return the optimal plan as int32 (n, T + 1), None if there is none."""
        if self._end != _FOUND:
            return None
        problem, base = self._problem, len(self._problem.neighbours) + 1
        states = [int(self._queue.least[1])]
        while self._queue.parents[states[-1]] != _NONE:
            states.append(int(self._queue.parents[states[-1]]))
        codes = np.array(states[::-1]) % problem.size
        digits = codes // base ** np.arange(len(problem.goals))[:, None] % base
        has_stopped = digits == base - 1
        paths = np.where(has_stopped, problem.goals[:, None], digits).astype(np.int32)
        if problem.leaves:
            paths[:, 1:][has_stopped[:, :-1]] = -1
        return paths
