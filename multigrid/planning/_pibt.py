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

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import LEAVE, NONE, ON_TARGET_RULES, PARK, RESTART
from multigrid.planning._graph import FAR, NOWHERE, NUM_COLUMNS, NUM_MOVES, Ints, distance_tables
from multigrid.planning._kernels import borrowed, draw_bits, inlined, kernel, make_generator
from multigrid.planning._search import Budget, Found, SearchProblem

UNDECIDED = -2  # in place of the next cell of an agent that has not chosen yet
NUM_SCORES = 5  # the number of scores of an agent that has some: one for each action, with stay
_LAST_MOVE, _STEPS_BETWEEN_LOOKS, _MASK = 3, 64, 2**32 - 1
# Of agents that have travelled equally long, the next in index order becomes the first after so many steps.
_STEPS_OF_A_TURN = 8


class Team(NamedTuple):
    """The arrays of PIBT for the N agents of one world on a graph of C cells; allocated once."""

    neighbours: Any  # int32 (C, 5), as in `Graph`
    degrees: Any  # int32 (C,): the number of other cells next to each cell
    distances: Any  # int32 (K, C): tables of distances, as `distance_tables` returns them
    rows: Any  # int32 (N,): the table of each agent's goal
    goals: Any  # int32 (N,)
    now: Any  # int32 (N,): the cell of each agent, `NOWHERE` for one that has left
    scores: Any  # float32 (N, 5), of each action, see `Batch.choose`; or (0, 5): none have scores
    order: Any  # int32 (N,): the agents in the order in which they choose
    # From here on, what teams may share, see `use_arrays`.
    after: Any  # int32 (N,): its cell after the step, or `UNDECIDED`
    occupant: Any  # int32 (C,): the agent in each cell, or `NOBODY`
    reserved: Any  # int32 (C,): the agent that will be in each cell after the step, or `NOBODY`
    waited: Any  # int32 (N,): the number of steps since each agent was last on its target
    options: Any  # int32 (N, 6): the cells that an agent considers, the best first; the last column is not read
    tried: Any  # int32 (N,): how many of its options an agent has tried
    num_options: Any  # int32 (N,)
    pulled: Any  # int32 (N,): the agent that follows into the cell of each, if it takes its first option, or `NOBODY`
    stack: Any  # int32 (N,): the agents that are choosing; each waits for the one after it, which it displaces
    rule: Any  # int64 (1,): `PARK`, `LEAVE` or `STAY` of `multigrid.core.rules`
    generator: Any  # int64 (1,), see `multigrid.planning._kernels`
    ranked: Any  # int32 (5,): the actions of one agent while they are sorted


@inlined
def use_arrays(
    team: Team, neighbours: Any, degrees: Any, rows: Any, goals: Any, now: Any, scores: Any, order: Any
) -> Team:
    """Return a team with other arrays, and the rest, from `after` on, shared."""
    return Team(neighbours, degrees, team.distances, rows, goals, now, scores, order, *team[8:])


def make_team(neighbours: Ints, distances: Ints, goals: Ints, on_target: str, seed: int = 0) -> Team:
    """Return the arrays for the agents of one world, of which the caller sets `now`, and `order` if it matters."""
    num_agents, num_cells = distances.shape
    return Team(
        neighbours,
        (neighbours != NOWHERE).sum(axis=1, dtype=np.int32) - np.int32(1),
        distances,
        rows=np.arange(num_agents, dtype=np.int32),
        goals=goals,
        **{name: np.full(num_agents, NOWHERE, np.int32) for name in ("now", "after")},
        **{name: np.full(num_cells, NOBODY, np.int32) for name in ("occupant", "reserved")},
        order=np.arange(num_agents, dtype=np.int32),
        options=np.zeros((num_agents, NUM_COLUMNS + 1), np.int32),
        **{name: np.zeros(num_agents, np.int32) for name in ("waited", "tried", "num_options", "pulled", "stack")},
        rule=np.array([ON_TARGET_RULES.index(on_target)]),
        generator=make_generator(seed),
        scores=np.empty((0, NUM_SCORES), np.float32),
        ranked=np.empty(NUM_COLUMNS, np.int32),
    )


def start_team(problem: SearchProblem, seed: int) -> tuple[Team, Ints, int]:
    """Return the arrays for the agents at their starts, their distances to the goals, and a lower bound of their costs.

    The agent whose way is longest chooses first.
    """
    graph, starts, goals, on_target, _ = problem
    distances = distance_tables(graph.neighbours, goals)
    team = make_team(graph.neighbours, distances, goals, on_target, seed)
    team.now[:] = starts
    away = distances[np.arange(len(starts)), starts]
    team.order[:] = np.argsort(-away, kind="stable")
    return team, away, int(np.maximum(away, on_target == "stay").sum())


def search(problem: SearchProblem, budget: Budget, seed: int) -> Found:
    """Play PIBT until all agents have arrived, or for 10 C + 100 steps on C cells; see `multigrid.planning._search`.

    It is not complete, its lower bound is the sum of the shortest paths, and after Ctrl-C it has nothing to return.
    """
    (team, _, lower_bound), starts = start_team(problem, seed), problem.starts
    most = 10 * len(problem.graph.cells) + 100 if problem.horizon is None else problem.horizon
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
                depth, is_new = depth + 1, True
                stack[depth] = other
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
            # Without a branch, which would often be predicted wrongly; what is not counted is overwritten.
            options[count] = cell
            count += (cell != NOWHERE) & ((distances[cell] < distances[here]) == is_nearer)
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
    # With two or more exits, nobody has to exchange places there.
    num_exits = 0
    for a in range(NUM_MOVES):
        cell = team.neighbours[best, a]
        num_exits += (cell != NOWHERE) & (cell != here) & (team.degrees[cell] > 1)
    if num_exits > 1:
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
        count, exit_cell = count + 1, other
    return count, exit_cell


@inlined
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


@inlined
def _can_swap(team: Team, pusher_cell: int, puller_cell: int) -> bool:
    """Return whether the corridor in which one agent pulls the other ends at a cell with two or more exits."""
    first = pusher_cell
    while puller_cell != first:
        count, exit_cell = _find_exits(team, puller_cell, pusher_cell)
        if count != 1:
            return count > 1
        pusher_cell, puller_cell = puller_cell, exit_cell
    return False


@kernel
def choose_in_worlds(scratch: Team, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any) -> None:
    """Write the actions of E worlds, int64 (E, N), but for those that have no effect; the worlds share `scratch`."""
    scratch = borrowed(scratch)
    neighbours, degrees = graphs  # int32 (M, C, 5) and (M, C)
    on_target, collisions, num_actions, seed = settings[0], settings[1], settings[2], settings[3]
    maps, steps, over = worlds  # (E,)
    cells, goals, rows, arrival_steps, scores = agents  # (E, N); scores float32 (E, N, 5), or (E, 0, 5) without
    for e in range(maps.shape[0]):
        if over[e]:
            continue
        m = maps[e]
        own = use_arrays(scratch, neighbours[m], degrees[m], rows[e], goals[e], cells[e], scores[e], scratch.order)
        team = borrowed(own)
        if collisions == NONE:
            _walk_alone(team)
        else:
            team.generator[0] = ((steps[e] & _MASK) * _STEPS_OF_A_TURN + seed) & _MASK
            sort_agents(team, arrival_steps[e], steps[e], on_target == RESTART)
            begin_step(team)
            choose_cells(team)
            end_step(team)
        for i in range(cells.shape[1]):
            write_action(team, i, num_actions, actions[e])


@inlined
def _walk_alone(team: Team) -> None:
    """Let each agent take a shortest path, whatever the others do."""
    for i in range(team.now.shape[0]):
        team.after[i] = team.now[i]
        distances = team.distances[team.rows[i]]
        nearest = FAR
        for a in range(NUM_COLUMNS if team.now[i] != NOWHERE else 0):
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
def write_action(team: Team, agent: int, num_actions: int, actions: Any) -> None:
    """Write the action that leads an agent to its cell after the step, if there is one."""
    if team.now[agent] == NOWHERE or team.after[agent] == NOWHERE:
        return
    for a in range(num_actions):
        if team.neighbours[team.now[agent], a] == team.after[agent]:
            actions[agent] = a
            break
