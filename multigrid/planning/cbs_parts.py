"""Solved parts of a group: the subsets of their plans, from which the search for the whole group begins."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.cbs_world import KnownPaths, Space

__all__ = ["Node", "Part", "Single"]


@dataclasses.dataclass(slots=True)
class Node:
    """A node of the tree: the subset of a group's plans that limits of costs and constraints leave."""

    spaces: list[Space]
    """The space of each agent."""
    bound: int
    """No plan in the subset has a smaller sum of costs."""
    old: KnownPaths | None
    """Paths of the parent that are kept where they fit; None without any."""
    paths: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """int32 (n, T + 1): a path of the smallest cost for each agent; empty until they are needed."""
    conflicts: list[list[int]] = dataclasses.field(default_factory=list)
    """Those of the paths, as rows of `list_conflicts`."""
    is_judged: bool = False
    """Whether pairs and clusters have been examined to raise the bound."""
    stairs: list[tuple[int, int, NDArray[np.int32]]] = dataclasses.field(default_factory=list)
    """The pairs of agents that cannot both have their smallest costs, each with its staircase."""
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
    """An agent or a group whose optimum is known, with the subsets into which its plans have been divided."""

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
