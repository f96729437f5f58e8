"""Layouts by hand, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.regions import WALL

__all__ = ["checked_layout"]


def checked_layout(config: GridConfig, agents: Any, targets: Any, map_index: int) -> NDArray[np.int64]:
    """Return a layout by hand as int64 (2, N, 2): the agents' cells, then their targets.

    Args:
        config: the world that it is for.
        agents: integers (N, 2), the agents' cells ``[x, y]``; no two alike.
        targets: integers (N, 2), their targets; no two alike.
        map_index: which map of the pool.

    Raises:
        TypeError: not integers.
        ValueError: another shape, a cell outside the grid or in a wall, one cell twice, an agent that starts on its own
            target or cannot reach it. The message names the agent.
    """
    layout = np.stack([_checked_cells(config, "agents", agents), _checked_cells(config, "targets", targets)])
    regions = config.regions[map_index]
    for name, what, cells in zip(("agents", "targets"), ("location", "target"), layout, strict=True):
        first_at: dict[tuple[int, int], int] = {}
        for index, (x, y) in enumerate(cells.tolist()):
            if not (0 <= x < config.width and 0 <= y < config.height):
                raise ValueError(
                    f"the {what} of agent_{index} in options[{name!r}] is [{x}, {y}], outside the "
                    f"{config.width} x {config.height} grid"
                )
            if regions[x, y] == WALL:
                raise ValueError(f"the {what} of agent_{index} in options[{name!r}] is [{x}, {y}], which is a wall")
            earlier = first_at.setdefault((x, y), index)
            if earlier != index:
                raise ValueError(
                    f"agent_{earlier} and agent_{index} in options[{name!r}] have the same {what}, [{x}, {y}]; "
                    "give each a cell of its own"
                )
    for index, (start, goal) in enumerate(zip(*layout.tolist(), strict=True)):
        if start == goal:
            raise ValueError(f"agent_{index} starts on its own target, {start}; give it another target")
        if regions[tuple(start)] != regions[tuple(goal)]:
            raise ValueError(f"agent_{index} at {start} cannot reach its target {goal}: walls lie between them")
    return layout


def _checked_cells(config: GridConfig, name: str, cells: Any) -> NDArray[np.int64]:
    expected = f"expected integers of shape ({config.num_agents}, 2): a cell [x, y] for each agent"
    try:
        array = np.asarray(cells)
    except ValueError as error:
        raise ValueError(f"options[{name!r}] is ragged; {expected}") from error
    if array.dtype.kind not in "iu":
        raise TypeError(f"options[{name!r}] is of {array.dtype}; {expected}")
    if array.shape != (config.num_agents, 2):
        raise ValueError(f"options[{name!r}] has the shape {array.shape}; {expected}")
    return array.astype(np.int64)
