"""The nodes of LaCAM*: configurations in a hash table, with the edges between them.

All arrays have room for the same number of nodes; `make_room` returns larger ones between two calls of a kernel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.planning._graph import Ints
from multigrid.planning._kernels import borrowed, inlined, kernel

NONE = -1  # in place of a node or an edge
CLOSED = -2  # in `Nodes.below` of a node that is not open

NUM_NODES, NUM_EDGES, TOP, GOAL = range(4)  # the entries of `Nodes.state`

_FEWEST = 256
# As in the kernels' random numbers, no product exceeds 2**62.
_FACTOR, _MASK = 747796405, 0xFFFFFFFF
_SHIFT = 15


class Nodes(NamedTuple):
    """The arrays of K nodes for N agents; the first node is the start."""

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
    while nodes.table[slot] != NONE and not _are_equal(nodes.cells[nodes.table[slot]], cells):
        slot = (slot + 1) & mask
    return int(slot)


@inlined
def _hash(cells: Ints) -> Any:
    value = np.int64(0)
    for i in range(cells.shape[0]):
        value = ((value + np.int64(cells[i]) + 2) * _FACTOR) & _MASK
        value ^= value >> _SHIFT
    return value


@inlined
def _are_equal(one: Any, other: Any) -> bool:
    for i in range(one.shape[0]):
        if one[i] != other[i]:
            return False
    return True
