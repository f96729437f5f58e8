"""The kernels of LaCAM*: expand nodes, and update the costs of nodes that a cheaper path reaches.

A node is expanded with the next set of constraints, in the order of a breadth-first search: none; one for the first
agent of its order; for the first two; and so on. Each constraint fixes the next cell of an agent, and PIBT chooses the
cells of the others. Sets of constraints are numbered, and computed from their numbers instead of being stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import STAY
from multigrid.planning._graph import NOWHERE, NUM_COLUMNS, Ints
from multigrid.planning._kernels import are_equal, borrowed, draw_below, inlined, kernel
from multigrid.planning._pibt import UNDECIDED, Team, begin_step, choose_cells, end_step, sort_by_wait

NONE = -1  # in place of a node or an edge
CLOSED = -2  # in `Nodes.below` of a node that is not open

NUM_NODES, NUM_EDGES, TOP, GOAL = range(4)  # the entries of `Nodes.state`

_FEWEST = 256
# As in the kernels' random numbers, no product exceeds 2**62.
_FACTOR, _MASK = 747796405, 0xFFFFFFFF
_SHIFT = 15


class Nodes(NamedTuple):
    """The arrays of K nodes for N agents, a hash table of configurations with the edges between them.

    The first node is the start. `make_room` returns larger arrays between two calls of a kernel.
    """

    cells: Any  # int32 (K, N): the configuration, the cell of each agent
    order: Any  # int32 (K, N): the agents in the order in which PIBT lets them choose
    waited: Any  # int32 (K, N): the number of steps since each agent was on its target
    parent: Any  # int32 (K,): the node before this one on the cheapest known path from the start
    cost: Any  # int32 (K,): the cost of that path
    to_go: Any  # int32 (K,): a lower bound of the cost from here on
    tried: Any  # int64 (K,): how many sets of constraints were tried
    below: Any  # int32 (K,): the next node on the stack of open nodes, or `CLOSED`
    above: Any  # int32 (K,): the node before it on the stack
    queued: Any  # int32 (K,): the next node of the queue of nodes whose costs were lowered, or `CLOSED`
    first_edge: Any  # int32 (K,): the first edge of a linked list
    next_edge: Any  # int32 (K,): by edge, the next one from the same node
    edge_to: Any  # int32 (K,): by edge, the node that it leads to
    edge_cost: Any  # int32 (K,): by edge, its cost
    table: Any  # int32 (2**B,): nodes by hash, with `NONE` in free slots; more than half of them are free
    state: Any  # int64 (4,): the numbers of nodes and of edges, the top of the stack, and the node of the goal

    @property
    def bytes_of_a_node(self) -> int:
        """How much memory a node takes."""
        return int(sum(field[:1].nbytes for field in self[:-2]) + 4 * self.table.itemsize)


def make_nodes(num_agents: int, room: int = _FEWEST) -> Nodes:
    """Return arrays without a node."""
    by_agent = {name: np.empty((room, num_agents), np.int32) for name in ("cells", "order", "waited")}
    names = ("parent", "cost", "to_go", "below", "above", "queued", "first_edge", "next_edge", "edge_to", "edge_cost")
    return Nodes(
        **by_agent,
        **{name: np.full(room, CLOSED, np.int32) for name in names},
        tried=np.zeros(room, np.int64),
        table=np.full(4 * room, NONE, np.int32),
        state=np.array([0, 0, NONE, NONE], np.int64),
    )


def make_room(nodes: Nodes, count: int) -> Nodes:
    """Return arrays with the same nodes and room for `count` more nodes and edges."""
    needed, room = int(nodes.state[:TOP].max()) + count, len(nodes.parent)
    if needed <= room:
        return nodes
    while needed > room:
        room *= 2
    larger = make_nodes(nodes.cells.shape[1], room)
    for old, new in zip(nodes[:-2], larger[:-2], strict=True):
        new[: len(old)] = old
    larger.state[:] = nodes.state
    _fill_table(larger)
    return larger


@kernel
def _fill_table(nodes: Nodes) -> None:
    nodes = borrowed(nodes)
    for node in range(nodes.state[NUM_NODES]):
        nodes.table[find_slot(nodes, nodes.cells[node])] = node


@kernel
def find_slot(nodes: Nodes, cells: Any) -> int:
    """Return the slot in the hash table of the node with a configuration, int32 (N,), or the free slot for it."""
    mask = nodes.table.shape[0] - 1
    slot = _hash(cells) & mask
    while nodes.table[slot] != NONE and not are_equal(nodes.cells[nodes.table[slot]], cells):
        slot = (slot + 1) & mask
    return int(slot)


@inlined
def _hash(cells: Ints) -> Any:
    value = np.int64(0)
    for i in range(cells.shape[0]):
        value = ((value + np.int64(cells[i]) + 2) * _FACTOR) & _MASK
        value ^= value >> _SHIFT
    return value


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
