"""The kernels of LaCAM*: expand nodes, and update the costs of nodes that a cheaper path reaches.

A node is expanded with the next set of constraints, in the order of a breadth-first search: none; one for the first
agent of its order; for the first two; and so on. Each constraint fixes the next cell of an agent, and PIBT chooses the
cells of the others. Sets of constraints are numbered, and computed from their numbers instead of being stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import STAY
from multigrid.planning._graph import NOWHERE, NUM_COLUMNS
from multigrid.planning._kernels import borrowed, draw_below, inlined, kernel
from multigrid.planning._nodes import CLOSED, GOAL, NONE, NUM_EDGES, NUM_NODES, TOP, Nodes, find_slot
from multigrid.planning._pibt import begin_step, choose_cells, end_step, sort_by_wait
from multigrid.planning._team import UNDECIDED, Team

NO_BOUND = 2**31 - 1  # a bound that excludes nothing

_EXHAUSTED, _INFEASIBLE, _FEASIBLE = range(3)
_START = 0
# How often the search goes on from the start rather than from the known configuration that it has reached.
_RESTART = 1000


@kernel
def add_start(nodes: Nodes, team: Team) -> None:
    """Add the start, which `team` holds in `now`, `order` and `waited`, and open it."""
    team.after[:] = team.now
    _add_node(nodes, team, NONE, 0, find_slot(nodes, team.now))


@kernel
def expand(nodes: Nodes, team: Team, bound: int, count: int) -> int:
    """Expand up to `count` nodes, until a cheaper path to the goal is found or no node is open; return how many."""
    nodes, team = borrowed(nodes), borrowed(team)
    state = nodes.state
    best = _cost_of_goal(nodes)
    for done in range(count):
        if state[TOP] == NONE:
            return done
        _expand_top(nodes, team, bound)
        if _cost_of_goal(nodes) < best:
            return done + 1
    return count


@kernel
def trace_back(nodes: Nodes) -> Any:
    """Return the configurations on the cheapest known path to the goal, int32 (T + 1, N)."""
    length, node = 0, nodes.state[GOAL]
    while node != NONE:
        length += 1
        node = nodes.parent[node]
    paths = np.empty((length, nodes.cells.shape[1]), np.int32)
    node = nodes.state[GOAL]
    while node != NONE:
        length -= 1
        paths[length] = nodes.cells[node]
        node = nodes.parent[node]
    return paths


@inlined
def _cost_of_goal(nodes: Nodes) -> int:
    goal = nodes.state[GOAL]
    return NO_BOUND if goal == NONE else int(nodes.cost[goal])


@kernel
def _expand_top(nodes: Nodes, team: Team, bound: int) -> None:
    top = nodes.state[TOP]
    limit = min(bound, _cost_of_goal(nodes))
    if nodes.cost[top] + nodes.to_go[top] >= limit:
        _close(nodes, top)
        return
    for i in range(team.now.shape[0]):
        team.now[i], team.order[i] = nodes.cells[top, i], nodes.order[top, i]
    begin_step(team)
    constrained = _constrain(team, nodes.tried[top], top)
    nodes.tried[top] += 1
    if constrained == _EXHAUSTED:
        _close(nodes, top)
    elif constrained == _FEASIBLE and choose_cells(team):
        _connect(nodes, team, top, limit)
    end_step(team)


@kernel
def _constrain(team: Team, number: int, node: int) -> int:
    """Fix the next cells of agents by the set of constraints `number`; return whether it exists and is feasible."""
    num_agents = team.order.shape[0]
    level, sets, rest = 0, 1, number
    while rest >= sets:
        if level == num_agents:
            return _EXHAUSTED
        rest -= sets
        sets *= _count_choices(team, team.order[level])
        level += 1
    while level > 0:
        level -= 1
        agent = team.order[level]
        choices = _count_choices(team, agent)
        choice = rest % choices
        rest //= choices
        # The first choice varies from node to node and agent to agent, so that no direction is preferred.
        if team.after[agent] == UNDECIDED and not _fix(team, agent, choice, (node + agent) % NUM_COLUMNS):
            return _INFEASIBLE
    return _FEASIBLE


@inlined
def _count_choices(team: Team, agent: int) -> Any:
    """Return how many cells an agent can be in after the step, other agents aside."""
    return 1 + team.degrees[team.now[agent]] if team.after[agent] == UNDECIDED else 1


@inlined
def _fix(team: Team, agent: int, choice: int, offset: int) -> bool:
    """Fix the next cell of an agent; return False if that is in conflict with cells that are fixed already."""
    here = team.now[agent]
    cell = NOWHERE
    for k in range(NUM_COLUMNS):
        other_cell = team.neighbours[here, (k + offset) % NUM_COLUMNS]
        if other_cell != NOWHERE:
            if choice == 0:
                cell = other_cell
            choice -= 1
    other = team.occupant[cell]
    if team.reserved[cell] != NOBODY or (other != NOBODY and other != agent and team.after[other] == here):
        return False
    team.after[agent] = cell
    team.reserved[cell] = agent
    return True


@kernel
def _connect(nodes: Nodes, team: Team, top: int, limit: int) -> None:
    """Add an edge to the configuration after the step; add its node, or update costs and open it again."""
    step_cost = 0
    for i in range(team.now.shape[0]):
        step_cost += _charge(team.now[i], team.after[i], team.goals[i], top == _START and team.rule[0] == STAY)
    slot = find_slot(nodes, team.after)
    node = nodes.table[slot]
    is_new = node == NONE
    if is_new:
        node = _add_node(nodes, team, top, nodes.cost[top] + step_cost, slot)
    edge = nodes.state[NUM_EDGES]
    nodes.state[NUM_EDGES] += 1
    nodes.edge_to[edge], nodes.edge_cost[edge] = node, step_cost
    nodes.next_edge[edge], nodes.first_edge[top] = nodes.first_edge[top], edge
    if not is_new:
        _pass_on(nodes, top, limit)
        again = _START if draw_below(team.generator, _RESTART) == 0 else node
        if nodes.cost[again] + nodes.to_go[again] < limit:
            _open(nodes, again)


@inlined
def _charge(cell: int, after: int, goal: int, is_first: bool) -> int:
    """Return what a step costs an agent: 1, or 0 if it has arrived."""
    if cell == NOWHERE:
        return 0
    return int(is_first or cell != goal or (after != goal and after != NOWHERE))


@kernel
def _add_node(nodes: Nodes, team: Team, parent: int, cost: int, slot: int) -> int:
    """Add a node for the configuration after the step, open it, and return it."""
    node = nodes.state[NUM_NODES]
    nodes.state[NUM_NODES] += 1
    nodes.table[slot] = node
    # Under *stay* the arrivals of agents that start on their targets are counted after the first step.
    charge = int(parent == NONE and team.rule[0] == STAY)
    to_go = 0
    for i in range(team.now.shape[0]):
        cell = team.after[i]
        nodes.cells[node, i] = cell
        waited = team.waited[i] if parent == NONE else nodes.waited[parent, i] + 1
        if cell == NOWHERE or cell == team.goals[i]:
            waited = 0
            to_go += charge
        else:
            to_go += team.distances[i, cell]
        nodes.waited[node, i] = team.waited[i] = waited
    sort_by_wait(team)
    for i in range(team.now.shape[0]):
        nodes.order[node, i] = team.order[i]
    nodes.parent[node], nodes.cost[node], nodes.to_go[node] = parent, cost, to_go
    nodes.tried[node], nodes.first_edge[node] = 0, NONE
    nodes.below[node], nodes.queued[node] = CLOSED, CLOSED
    _open(nodes, node)
    _note_arrival(nodes, node)
    return int(node)


@inlined
def _note_arrival(nodes: Nodes, node: int) -> None:
    """Make a node the goal if all have arrived there at less cost; under *leave* more than one can be a goal."""
    if nodes.to_go[node] == 0 and nodes.cost[node] < _cost_of_goal(nodes):
        nodes.state[GOAL] = node


@kernel
def _pass_on(nodes: Nodes, first: int, limit: int) -> None:
    """Lower the costs of all nodes to which a cheaper path leads through a node, and open them again."""
    queued = nodes.queued
    queued[first] = NONE
    last = first
    while first != NONE:
        edge = nodes.first_edge[first]
        while edge != NONE:
            node = nodes.edge_to[edge]
            cost = nodes.cost[first] + nodes.edge_cost[edge]
            if cost < nodes.cost[node]:
                nodes.cost[node], nodes.parent[node] = cost, first
                _note_arrival(nodes, node)
                if cost + nodes.to_go[node] < limit:
                    _open(nodes, node)
                if queued[node] == CLOSED:
                    queued[last], queued[node] = node, NONE
                    last = node
            edge = nodes.next_edge[edge]
        following = queued[first]
        queued[first] = CLOSED
        first = following


@kernel
def _open(nodes: Nodes, node: int) -> None:
    """Put a node on top of the stack of open nodes, wherever in it the node is."""
    if nodes.state[TOP] == node:
        return
    if nodes.below[node] != CLOSED:
        _close(nodes, node)
    top = nodes.state[TOP]
    nodes.below[node], nodes.above[node] = top, NONE
    if top != NONE:
        nodes.above[top] = node
    nodes.state[TOP] = node


@kernel
def _close(nodes: Nodes, node: int) -> None:
    """Take a node off the stack of open nodes."""
    below, above = nodes.below[node], nodes.above[node]
    if above == NONE:
        nodes.state[TOP] = below
    else:
        nodes.below[above] = below
    if below != NONE:
        nodes.above[below] = above
    nodes.below[node] = CLOSED
