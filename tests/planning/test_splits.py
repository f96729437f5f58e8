"""A node of conflict-based search is divided into parts that lose no plan."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from multigrid.planning._cbs_spaces import FORBID_CELL, REQUIRE_CELL, is_open, make_blocked
from multigrid.planning._cbs_tree import Tree

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


def test_each_agent_raises_the_bound_once():
    """The bound is never above the smallest sum of costs that all pairs allow, nor below what one pair needs."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        pairs = {tuple(sorted(rng.permutation(4)[:2].tolist())) for _ in range(rng.integers(1, 5))}
        stairs = {pair: np.append(np.sort(rng.integers(0, 4, 3))[::-1], 0) for pair in sorted(pairs)}
        needed = [
            min(
                sum(costs)
                for costs in itertools.product(range(4), repeat=4)
                if all(costs[j] >= stairs[i, j][costs[i]] for i, j in chosen)
            )
            for chosen in [[pair] for pair in stairs] + [list(stairs)]
        ]
        node = SimpleNamespace(
            conflicts=[[*pair, 0, 0] for pair in stairs], spaces=range(4), cost=9, bound=9, stairs=[]
        )
        Tree._judge(SimpleNamespace(_world=SimpleNamespace(stairs=lambda *pair, of=stairs: of[pair])), node)
        assert max(needed[:-1]) <= node.bound - node.cost <= needed[-1]


def test_a_swap_is_divided():
    """One of both does not take that action then; or it does, and the others are neither in its cells nor opposite."""
    search = SimpleNamespace(
        _rank=lambda _node, agent, _conflict: agent,
        _action=lambda cell, after: 10 * cell + after,
        _can_be=lambda *_: True,
        _constrain=lambda _space, added: added,
    )
    node = SimpleNamespace(conflicts=[[0, 1, 2, 1]], paths=np.array([[5, 6, 7, 8], [6, 9, 8, 7]]), spaces=["a", "b"])
    without, taken = Tree._split_cells(search, node)
    assert without == [(0, {(2, 7, 78)})]
    forbidden = {(2, 7, FORBID_CELL), (3, 8, FORBID_CELL), (2, 8, 87)}
    assert taken == [(0, {(2, 7, REQUIRE_CELL), (3, 8, REQUIRE_CELL)}), (1, forbidden)]


def test_an_action_is_forbidden_in_its_cell_at_its_step_alone():
    """A constraint of an action leaves all other actions, cells and steps as they are."""
    blocked = make_blocked(frozenset({(1, 0, 3)}), 4)
    others = [(1, 0, 2), (1, 2, 3), (0, 0, 3)]
    assert [is_open(blocked, *action, 1) for action in ((1, 0, 3), *others)] == [False, True, True, True]
