"""The optimal sum of costs, by conflict-based search."""

from multigrid.planning.cbs.groups import search

__all__ = ["search"]
