"""Groups of agents that are solved apart from one another (independence detection of Standley, AAAI 2010)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.cbs.joint import Joint, count_states
from multigrid.planning.cbs.parts import Part, Single
from multigrid.planning.cbs.tree import Tree
from multigrid.planning.cbs.world import World
from multigrid.planning.graph import FAR
from multigrid.planning.search import Budget, Found, Instance

__all__ = ["search"]

_TRIES = 200
_MAX_STATES = 1 << 22
"""The largest number of joint states for a joint search."""
_STATES_PER_NODE = 200
"""A node of a tree takes about as long as this number of joint states."""
_CHUNK = 2000


def search(instance: Instance, budget: Budget, seed: int) -> Found:
    """Search for a plan with the smallest sum of costs; see `multigrid.planning.search`.

    An expansion is a node of a tree, or a joint state.
    """
    world = World(instance)
    everybody = range(len(instance.starts))
    spaces = [world.space(k, 1, world.horizon, frozenset()) for k in everybody]
    singles = [space for space in spaces if space is not None]
    if len(singles) < len(everybody):
        return Found(None, FAR, "unsolvable", 0)
    fixed = np.empty((0, 1), np.int32)
    paths = world.choose_paths(singles, fixed, seed=seed, max_tries=_TRIES)
    parts: list[Part] = [Single(space) for space in singles]
    bounds = [space.cost for space in singles]
    expansions = 0
    while True:
        conflicts = world.conflicts(paths)
        if not len(conflicts):
            return Found(_arrange(paths), sum(bounds), "optimal", expansions)
        one, other = (next(p for p, part in enumerate(parts) if k in part.agents) for k in conflicts[0, :2])
        inside = {*parts[one].agents, *parts[other].agents}
        fixed = paths[[k for k in everybody if k not in inside]]
        tree = Tree(world, (parts[one], parts[other]), fixed, seed)
        bound, expansions = _solve(world, tree, budget, expansions)
        parts = [part for p, part in enumerate(parts) if p not in (one, other)] + [tree]
        bounds = [old for p, old in enumerate(bounds) if p not in (one, other)] + [bound]
        if bound == FAR:
            return Found(None, FAR, "unsolvable", expansions)
        if tree.paths is not None:
            last = max(paths.shape[1], tree.paths.shape[1]) - 1
            paths = np.stack([world.pad(path, k, last) for k, path in enumerate(paths)])
            paths[tree.agents] = [world.pad(path, k, last) for k, path in zip(tree.agents, tree.paths, strict=True)]
        if tree.cost > bound:
            is_plan = tree.paths is not None and not len(world.conflicts(paths))
            return Found(
                _arrange(paths) if is_plan else None, sum(bounds), "feasible" if is_plan else "unknown", expansions
            )


def _solve(world: World, tree: Tree, budget: Budget, expansions: int) -> tuple[int, int]:
    """Search for the optimal plan of a group, and return its lower bound, and the number of expansions so far."""
    states = count_states(world.num_cells, len(tree.agents))
    while not tree.is_over and not budget.is_over(expansions):
        if states <= min(_MAX_STATES, tree.expansions * _STATES_PER_NODE):
            return _solve_jointly(world, tree, budget, expansions)
        tree.expand()
        expansions += 1
    return tree.bound, expansions


def _solve_jointly(world: World, tree: Tree, budget: Budget, expansions: int) -> tuple[int, int]:
    """Do the same for a group whose tree grows too large.

    The horizon comes into joint search only if the optimal plan without it is too long.
    """
    bound = tree.bound
    for is_timed in (False, True):
        size = count_states(world.num_cells, len(tree.agents)) * (world.horizon + 1 if is_timed else 1)
        if size > _MAX_STATES:
            break
        joint = Joint(world, tree.agents, is_timed=is_timed)
        while not joint.is_over and not budget.is_over(expansions + joint.expansions):
            joint.run(budget.expansions_left(expansions + joint.expansions, _CHUNK))
        expansions += joint.expansions
        bound = max(bound, joint.bound)
        paths = joint.paths()
        if paths is not None and paths.shape[1] - 1 <= world.horizon:
            tree.settle(paths, bound)
        if paths is None or paths.shape[1] - 1 <= world.horizon:
            return bound, expansions
    while not tree.is_over and not budget.is_over(expansions):
        tree.expand()
        expansions += 1
    return max(bound, tree.bound), expansions


def _arrange(paths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return paths as int32 (T + 1, N), without the last steps in which nothing changes, but for the first step."""
    last = paths.shape[1] - 1
    while last > 1 and (paths[:, last] == paths[:, last - 1]).all():
        last -= 1
    return np.ascontiguousarray(paths[:, : last + 1].T)
