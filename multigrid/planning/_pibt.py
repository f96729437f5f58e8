"""Priority inheritance with backtracking, PIBT: one joint step at a time.

PIBT: Okumura, Machida, Defago and Tamura, Artificial Intelligence 310, 2022. In each step an agent chooses the cell
nearest to its target; the agent that has been away from its target longest chooses first. If another agent stands in
that cell, it chooses next, with the priority of the first; if it finds no cell, the first tries its next best cell.

The swap operation: Okumura, "Improving LaCAM for scalable eventually optimal multi-agent pathfinding", IJCAI 2023. Two
agents that meet in a corridor have to exchange their places, which is possible only at a cell with three or more
neighbours. So one of them moves backwards until there is one, and pulls the other after it.

Under *park* an agent on its target keeps its cell; under *leave* it has left from the next step on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import LEAVE, PARK
from multigrid.planning._graph import NOWHERE, NUM_MOVES, distance_tables
from multigrid.planning._kernels import borrowed, draw_bits, inlined, kernel
from multigrid.planning._search import Budget, Found, SearchProblem
from multigrid.planning._team import UNDECIDED, Team, make_team

_LAST_MOVE = 3
_STEPS_BETWEEN_LOOKS = 64


def search(problem: SearchProblem, budget: Budget, seed: int) -> Found:
    """Play PIBT until all agents have arrived, or for 10 C + 100 steps on C cells; see `multigrid.planning._search`.

    It is not complete, its lower bound is the sum of the shortest paths, and after Ctrl-C it has nothing to return.
    """
    graph, starts, goals, on_target, horizon = problem
    distances = distance_tables(graph.neighbours, goals)
    team = make_team(graph.neighbours, distances, goals, on_target, seed)
    team.now[:] = starts
    away = distances[np.arange(len(starts)), starts]
    team.order[:] = np.argsort(-away, kind="stable")
    lower_bound = int(np.maximum(away, on_target == "stay").sum())
    most = 10 * len(graph.cells) + 100 if horizon is None else horizon
    paths, steps, arrived = [starts[None]], 0, False
    while not arrived and steps < most and not budget.is_over(steps):
        count = budget.expansions_left(steps, min(_STEPS_BETWEEN_LOOKS, most - steps))
        played = np.empty((count, len(starts)), np.int32)
        num_played = int(_play(team, played))
        arrived = num_played < count or has_arrived(team)
        paths.append(played[:num_played])
        steps += num_played
    if not arrived:
        return Found(None, lower_bound, "unknown", steps)
    return Found(np.concatenate(paths), lower_bound, "feasible", steps)


@kernel
def _play(team: Team, played: Any) -> int:
    """Play steps until all agents have arrived, or `played`, int32 (T, N), is full; return how many."""
    team = borrowed(team)
    for step in range(played.shape[0]):
        step_team(team)
        sort_by_wait(team)
        played[step] = team.now
        if has_arrived(team):
            return step + 1
    return int(played.shape[0])


@inlined
def has_arrived(team: Team) -> bool:
    """Return whether each agent stands on its target or has left."""
    for i in range(team.now.shape[0]):
        if team.now[i] != team.goals[i] and team.now[i] != NOWHERE:
            return False
    return True


@kernel
def step_team(team: Team) -> None:
    """Move all agents by one step."""
    team = borrowed(team)
    begin_step(team)
    choose_cells(team)
    end_step(team)
    for i in range(team.now.shape[0]):
        team.now[i] = team.after[i]
        arrived = team.now[i] == team.goals[i] or team.now[i] == NOWHERE
        team.waited[i] = 0 if arrived else team.waited[i] + 1


@inlined
def sort_by_wait(team: Team) -> None:
    """Sort `order` by the time that agents have waited, the longest first; equal ones keep their order."""
    order, waited = team.order, team.waited
    for k in range(1, order.shape[0]):
        agent = order[k]
        place = k
        while place > 0 and waited[order[place - 1]] < waited[agent]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = agent


@inlined
def begin_step(team: Team) -> None:
    """Write the occupants of the cells, and the next cells of agents that have no choice."""
    rule = team.rule[0]
    for i in range(team.now.shape[0]):
        cell = team.now[i]
        is_there = cell == team.goals[i]
        team.after[i] = UNDECIDED
        if cell == NOWHERE or (rule == LEAVE and is_there):
            team.after[i] = NOWHERE
            continue
        team.occupant[cell] = i
        if rule == PARK and is_there:
            team.after[i] = cell
            team.reserved[cell] = i


@inlined
def end_step(team: Team) -> None:
    """Clear what `begin_step` and the agents' choices have written for each cell."""
    for i in range(team.now.shape[0]):
        if team.now[i] != NOWHERE:
            team.occupant[team.now[i]] = NOBODY
            team.reserved[team.now[i]] = NOBODY
        if team.after[i] >= 0:
            team.reserved[team.after[i]] = NOBODY


@inlined
def choose_cells(team: Team) -> bool:
    """Choose the next cells of all undecided agents; return whether each found one, as all do without constraints."""
    for k in range(team.order.shape[0]):
        first = team.order[k]
        if team.after[first] == UNDECIDED and not _choose(team, first):
            return False
    return True


@inlined
def _choose(team: Team, first: int) -> bool:
    """Choose the next cells of an agent and of those that it displaces; return whether it found one."""
    now, after, reserved, stack = team.now, team.after, team.reserved, team.stack
    depth, is_new, success = 0, True, False
    stack[0] = first
    while depth >= 0:
        agent = stack[depth]
        if is_new:
            _consider(team, agent)
            is_new, success = False, False
        # An agent has its second turn when the one that it displaces has chosen.
        if not success:
            other = _take_option(team, agent)
            if other >= 0:
                depth += 1
                stack[depth] = other
                is_new = True
                continue
            success = other == NOBODY
        if success:
            _pull(team, agent)
        else:
            after[agent] = now[agent]
            reserved[now[agent]] = agent
        depth -= 1
    return success


@inlined
def _take_option(team: Team, agent: int) -> int:
    """Reserve the best option left, and return the agent that it displaces or `NOBODY`; `UNDECIDED` if none is left."""
    now, after, reserved = team.now, team.after, team.reserved
    while team.tried[agent] < team.num_options[agent]:
        cell = team.options[agent, team.tried[agent]]
        team.tried[agent] += 1
        other = team.occupant[cell]
        is_held = other != NOBODY and other != agent
        if reserved[cell] != NOBODY or (is_held and after[other] == now[agent]):
            continue
        reserved[cell] = agent
        after[agent] = cell
        return other if is_held and after[other] == UNDECIDED else NOBODY
    return UNDECIDED


@inlined
def _pull(team: Team, agent: int) -> None:
    """If an agent has taken its first option, let the agent that swaps with it follow into its cell."""
    follower = team.pulled[agent]
    if team.tried[agent] != 1 or follower == NOBODY:
        return
    cell = team.now[agent]
    if team.after[follower] == UNDECIDED and team.reserved[cell] == NOBODY:
        team.after[follower] = cell
        team.reserved[cell] = follower


@inlined
def _consider(team: Team, agent: int) -> None:
    """Sort the cells that an agent can be in after the step: the nearest to its target first, ties at random.

    With scores, the largest come first. An agent that has to exchange places goes backwards, whatever its scores.
    """
    options, distances = team.options[agent], team.distances[team.rows[agent]]
    here, count = team.now[agent], 0
    # A random first column, and a random direction from there, give each of two equal cells the same chance.
    bits = draw_bits(team.generator)
    first, step = bits & _LAST_MOVE, 1 + (bits & NUM_MOVES) // 2
    for is_nearer in range(1, -1, -1):
        column = first
        for _ in range(NUM_MOVES):
            cell = team.neighbours[here, column]
            column = (column + step) & _LAST_MOVE
            if cell != NOWHERE and (distances[cell] < distances[here]) == is_nearer:
                options[count] = cell
                count += 1
        if is_nearer:
            options[count] = here
            count += 1
    team.tried[agent] = 0
    team.num_options[agent] = count
    team.pulled[agent] = _find_partner(team, agent)
    if team.pulled[agent] != NOBODY:
        for k in range(count // 2):
            options[k], options[count - 1 - k] = options[count - 1 - k], options[k]
    elif team.scores.shape[0] > 0:
        _rank(team, agent)


@inlined
def _rank(team: Team, agent: int) -> None:
    """Sort the options of an agent by their scores, the largest first."""
    options, scores, neighbours = team.options[agent], team.scores[agent], team.neighbours[team.now[agent]]
    count = 0
    for a in range(scores.shape[0]):
        if neighbours[a] != NOWHERE:
            place = count
            while place > 0 and scores[team.ranked[place - 1]] < scores[a]:
                team.ranked[place] = team.ranked[place - 1]
                place -= 1
            team.ranked[place] = a
            count += 1
    for k in range(count):
        options[k] = neighbours[team.ranked[k]]


@inlined
def _find_partner(team: Team, agent: int) -> int:
    """Return the agent with which an agent has to exchange places, and can, or `NOBODY`."""
    here, best = team.now[agent], team.options[agent, 0]
    if best == here:
        return NOBODY
    other = team.occupant[best]
    if (
        other != NOBODY
        and team.after[other] == UNDECIDED
        and _must_swap(team, agent, other, here, best)
        and _can_swap(team, best, here)
    ):
        return int(other)
    # An agent that has left a corridor backwards does not enter it again before the other one has left it, too.
    for a in range(NUM_MOVES):
        cell = team.neighbours[here, a]
        if cell == NOWHERE or cell == best:
            continue
        other = team.occupant[cell]
        if other != NOBODY and _must_swap(team, other, agent, here, best) and _can_swap(team, best, here):
            return int(other)
    return NOBODY


@inlined
def _find_exits(team: Team, cell: int, behind: int) -> tuple[int, int]:
    """Return the number of exits of a cell entered from `behind`, and one; an arrived agent's dead end is no exit."""
    count, exit_cell = 0, NOWHERE
    for a in range(NUM_MOVES):
        other = team.neighbours[cell, a]
        if other == NOWHERE or other == behind:
            continue
        stander = team.occupant[other]
        if team.degrees[other] == 1 and stander != NOBODY and team.goals[stander] == other:
            continue
        count += 1
        exit_cell = other
    return count, exit_cell


@kernel
def _must_swap(team: Team, pusher: int, puller: int, pusher_cell: int, puller_cell: int) -> bool:
    """Return whether an agent can reach its target only by exchanging places with the agent in front of it."""
    toward, back = team.distances[team.rows[pusher]], team.distances[team.rows[puller]]
    while toward[puller_cell] < toward[pusher_cell]:
        count, exit_cell = _find_exits(team, puller_cell, pusher_cell)
        if count > 1:
            return False
        if count == 0:
            break
        pusher_cell, puller_cell = puller_cell, exit_cell
    pusher_wants = toward[pusher_cell] == 0 or toward[puller_cell] < toward[pusher_cell]
    return bool(pusher_wants and back[pusher_cell] < back[puller_cell])


@kernel
def _can_swap(team: Team, pusher_cell: int, puller_cell: int) -> bool:
    """Return whether the corridor in which one agent pulls the other ends at a cell with two or more exits."""
    first = pusher_cell
    while puller_cell != first:
        count, exit_cell = _find_exits(team, puller_cell, pusher_cell)
        if count != 1:
            return count > 1
        pusher_cell, puller_cell = puller_cell, exit_cell
    return False
