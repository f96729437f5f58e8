"""The least sum of costs that all pairs of agents allow.

This is the WDG heuristic of Li et al. (IJCAI 2019), a weighted vertex cover. Here a pair of agents has a staircase, see
`multigrid.planning.cbs_pairs.make_staircase`, instead of a single weight. A surplus is the cost of an agent above its
smallest cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.planning.compiled import kernel

__all__ = ["cover"]


@kernel
def find_violated(surplus: Any, pairs: Any, stairs: Any) -> int:
    """Return the pair that lacks most: the surplus of its second agent is furthest below its staircase; -1 for none."""
    worst, most = -1, 0
    for p in range(pairs.shape[0]):
        u, v, begin, length = pairs[p]
        if surplus[u] < length:
            lack = stairs[begin + surplus[u]] - surplus[v]
            if lack > most:
                worst, most = p, lack
    return worst


@kernel
def bound_rest(surplus: Any, pairs: Any, stairs: Any, is_used: Any) -> int:
    """Return a lower bound on the sum that is still to be added to the surpluses, by pairs without a common agent."""
    is_used[:] = False
    total = 0
    while True:
        best, most = -1, 0
        for p in range(pairs.shape[0]):
            u, v, begin, length = pairs[p]
            if is_used[u] or is_used[v]:
                continue
            least = max(0, length - surplus[u])
            for a in range(surplus[u], length):
                least = min(least, a - surplus[u] + max(0, stairs[begin + a] - surplus[v]))
            if least > most:
                best, most = p, least
        if best < 0:
            return total
        is_used[pairs[best, 0]] = True
        is_used[pairs[best, 1]] = True
        total += most


@kernel
def cover(num_agents: int, pairs: Any, stairs: Any, max_nodes: int) -> int:
    """Return the smallest sum of surpluses that all staircases allow, or a lower bound on it.

    Args:
        num_agents: the number of agents.
        pairs: int32 (P, 4): two agents, where the pair's staircase begins in `stairs`, and its length.
        stairs: int32: the staircases, as `make_staircase` returns them, one after the other.
        max_nodes: the number of nodes of the search after which a lower bound is returned.

    >>> pairs = np.array([[0, 1, 0, 3], [1, 2, 0, 3]], np.int32)
    >>> int(cover(3, pairs, np.array([2, 2, 0], np.int32), 100))
    2
    """
    stack = np.zeros((max_nodes + 2, num_agents), np.int32)
    is_used = np.zeros(num_agents, np.bool_)
    best = 2**30
    depth, nodes = 1, 0
    while depth > 0:
        depth -= 1
        surplus = stack[depth].copy()
        total = surplus.sum()
        if total + bound_rest(surplus, pairs, stairs, is_used) >= best:
            continue
        p = find_violated(surplus, pairs, stairs)
        if p < 0:
            best = total
            continue
        nodes += 1
        if nodes > max_nodes:
            best = min(best, total + bound_rest(surplus, pairs, stairs, is_used))
            for other in range(depth):
                rest = bound_rest(stack[other], pairs, stairs, is_used)
                best = min(best, stack[other].sum() + rest)
            return int(best)
        u, v, begin, length = pairs[p]
        a = surplus[u]
        while a < length and stairs[begin + a] == stairs[begin + surplus[u]]:
            a += 1
        stack[depth] = surplus
        stack[depth, u] = a
        stack[depth + 1] = surplus
        stack[depth + 1, v] = stairs[begin + surplus[u]]
        depth += 2
    return int(best)
