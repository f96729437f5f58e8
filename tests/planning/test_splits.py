"""A node of conflict-based search is divided into parts that lose no plan."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from multigrid.planning.cbs.tree import Tree

COSTS = (5, 8, 6)
LARGEST = 99


def parts(split, node):
    """The parts of a node: for each agent, the smallest and the largest cost there."""
    limits = SimpleNamespace(_limit=lambda _space, low=0, high=LARGEST: (low, high))
    for changes in split(limits, node):
        limited = dict(changes)
        yield [limited.get(k, (0, LARGEST)) for k in range(len(node.spaces))]


def count_parts(every, costs):
    """In how many parts the agents can have such costs."""
    return sum(all(low <= cost <= high for (low, high), cost in zip(part, costs, strict=True)) for part in every)


@pytest.mark.parametrize("stairs", [[3, 3, 1, 0], [2, 0], [4, 4, 4, 2, 2, 0]])
def test_pairs_of_costs_are_divided(stairs):
    """Each pair of costs that two agents can have at once is in one of both parts."""
    node = SimpleNamespace(spaces=[SimpleNamespace(cost=cost) for cost in COSTS], stairs=[(0, 1, np.array(stairs))])
    every = list(parts(Tree._split_costs, node))
    assert len(every) == 2
    for more, (step, surplus) in itertools.product(range(4), enumerate(stairs)):
        assert count_parts(every, (COSTS[0] + step, COSTS[1] + surplus + more, COSTS[2])) == 1


def test_costs_of_a_cluster_are_divided():
    """Costs of which one is above the least are in one part; the least of all in none."""
    node = SimpleNamespace(spaces=[SimpleNamespace(cost=cost) for cost in COSTS], cluster=[2, 0, 1])
    every = list(parts(Tree._split_cluster, node))
    for more in itertools.product(range(3), repeat=3):
        assert count_parts(every, np.add(COSTS, more)) == (any(more))
