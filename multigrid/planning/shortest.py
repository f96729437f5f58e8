"""Shortest paths, one agent at a time: plans where agents pass through one another."""

from __future__ import annotations

import numpy as np

from multigrid.planning.graph import NOWHERE, distance_tables
from multigrid.planning.search import Budget, Found, Instance

__all__ = ["search"]


def search(
    instance: Instance,
    budget: Budget,  # noqa: ARG001 - all searches have these
    seed: int,  # noqa: ARG001
) -> Found:
    """Return the shortest path of each agent, as if it were alone; see `multigrid.planning.search`."""
    graph, starts, goals, on_target, horizon = instance
    distances = distance_tables(graph.neighbours, goals)
    agents = np.arange(len(starts))
    away = distances[agents, starts]
    charged = np.maximum(away, on_target == "stay")
    steps = int(charged.max())
    if horizon is not None and steps > horizon:
        return Found(None, int(charged.sum()), "unsolvable", 0)
    paths = [starts]
    for step in range(steps):
        options = graph.neighbours[paths[-1]]
        reachable = np.where(options == NOWHERE, np.iinfo(np.int32).max, distances[agents[:, None], options])
        moved = options[agents, reachable.argmin(axis=1)]
        paths.append(np.where((on_target == "leave") & (step >= away), NOWHERE, moved).astype(np.int32))
    return Found(np.stack(paths), int(charged.sum()), "optimal", 0)
