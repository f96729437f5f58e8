"""Conflict-based search: plans with the optimal sum of costs."""

from multigrid.planning.cbs.groups import search

__all__ = ["search"]
