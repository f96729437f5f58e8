"""Groups of agents that are solved apart from one another (independence detection of Standley, AAAI 2010)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.cbs.tree import Tree
from multigrid.planning.cbs.world import World
from multigrid.planning.graph import FAR, Graph
from multigrid.planning.search import Budget, Found, Rule

__all__ = ["search"]

_TRIES = 200


def search(
    graph: Graph,
    starts: NDArray[np.int32],
    goals: NDArray[np.int32],
    *,
    on_target: Rule,
    horizon: int | None,
    budget: Budget,
    seed: int,
) -> Found:
    """Search for a plan with the smallest sum of costs.

    Args:
        graph: the map.
        starts: int32 (N,), cells, no two equal.
        goals: int32 (N,), cells, no two equal.
        on_target: what becomes of an agent on its goal.
        horizon: the largest makespan, or None.
        budget: a started budget; an expansion is a node of a tree.
        seed: breaks ties.
    """
    world = World(graph, starts, goals, on_target=on_target, horizon=horizon)
    everybody = range(len(starts))
    if any(world.distances[k, starts[k]] > world.horizon for k in everybody):
        return Found(None, FAR, "unsolvable", 0)
    spaces = [world.space(k, 1, world.horizon, frozenset()) for k in everybody]
    singles = [space for space in spaces if space is not None]
    if len(singles) < len(starts):
        return Found(None, FAR, "unsolvable", 0)
    fixed = np.empty((0, 1), np.int32)
    paths = world.choose_paths(singles, fixed, seed=seed, max_tries=_TRIES)
    bounds: dict[tuple[int, ...], int] = {(k,): singles[k].cost for k in everybody}
    expansions = 0
    while True:
        conflicts = world.conflicts(paths)
        if not len(conflicts):
            return Found(np.ascontiguousarray(_trim(paths).T), sum(bounds.values()), "optimal", expansions)
        group, merged = _merge(bounds, conflicts)
        for old in merged:
            del bounds[old]
        others = [k for k in everybody if k not in group]
        tree = Tree(world, list(group), paths[others], sum(merged.values()), seed)
        while not tree.is_over and not budget.is_over(expansions + tree.expansions):
            tree.expand()
        expansions += tree.expansions
        if not tree.is_over:
            return Found(None, sum(bounds.values()) + tree.bound, "unknown", expansions)
        if tree.paths is None:
            return Found(None, FAR, "unsolvable", expansions)
        bounds[group] = tree.cost
        last = max(paths.shape[1], tree.paths.shape[1]) - 1
        wider = np.stack([world.pad(path, k, last) for k, path in enumerate(paths)])
        wider[list(group)] = [world.pad(path, k, last) for k, path in zip(group, tree.paths, strict=True)]
        paths = wider


def _merge(
    bounds: dict[tuple[int, ...], int], conflicts: NDArray[np.int32]
) -> tuple[tuple[int, ...], dict[tuple[int, ...], int]]:
    """Return a new group of agents from groups with a conflict between them, and the bounds of those groups."""
    i, j = int(conflicts[0, 0]), int(conflicts[0, 1])
    merged = {group: bound for group, bound in bounds.items() if i in group or j in group}
    return tuple(sorted(k for group in merged for k in group)), merged


def _trim(paths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Leave out the last steps in which nothing changes, but keep one step at least."""
    last = paths.shape[1] - 1
    while last > 1 and (paths[:, last] == paths[:, last - 1]).all():
        last -= 1
    return paths[:, : last + 1]
