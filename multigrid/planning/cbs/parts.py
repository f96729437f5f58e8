"""Subsets of the plans of an agent or a group, from which a search for a larger group begins."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.cbs.world import Old, Space

__all__ = ["Node", "Part", "Single"]


@dataclasses.dataclass(slots=True)
class Node:
    """A subset of all plans of a group."""

    spaces: list[Space]
    bound: int
    """No plan in the subset has a smaller sum of costs."""
    old: Old | None
    """The paths from which those of the node are put together."""
    paths: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """int32 (n, T + 1): with the smallest cost of each agent; empty as long as they are not needed."""
    conflicts: list[list[int]] = dataclasses.field(default_factory=list)
    """Those of the paths, as rows of `list_conflicts`."""
    is_judged: bool = False
    """Whether the bound takes pairs and clusters into account."""
    stairs: list[tuple[int, int, NDArray[np.int32]]] = dataclasses.field(default_factory=list)
    """The pairs that cannot both have their smallest costs."""
    cluster: list[int] = dataclasses.field(default_factory=list)
    """Agents that cannot all have their smallest costs; empty if none are known."""

    @property
    def has_paths(self) -> bool:
        """Whether the paths have been chosen."""
        return len(self.paths) > 0

    @property
    def cost(self) -> int:
        """The sum of the smallest costs."""
        return sum(space.cost for space in self.spaces)


class Part(ABC):
    """An agent or a group for which the optimum is known: the subsets into which its plans have been divided."""

    agents: list[int]

    @abstractmethod
    def leaf(self, number: int) -> Node | None:
        """Return one of the subsets, in the order of their bounds; None if there are not so many.

        Args:
            number: from 0 on.
        """


class Single(Part):
    """A single agent.

    Args:
        space: the agent's.
    """

    def __init__(self, space: Space) -> None:
        self.agents = [space.agent]
        self._leaf = Node([space], space.cost, None)

    def leaf(self, number: int) -> Node | None:
        """Return all of the agent's paths, as subset 0."""
        return self._leaf if number == 0 else None
