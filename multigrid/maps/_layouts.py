"""Checks of layouts: the cells of agents and of their targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.maps._cells import WALL

START_ON_TARGET = ("stay", "restart")
"""The values of `on_target` with which a layout that the caller gives may start an agent on its target."""

_LARGEST = np.iinfo(np.int64).max


def check_layout(
    components: NDArray[np.int32],
    num_agents: int,
    agents: Any,
    targets: Any,
    label: str = "{}",
    *,
    may_start_on_target: bool = False,
) -> NDArray[np.int64]:
    """Check the cells and targets that the caller gives, integers (N, 2) each; return both as int64 (2, N, 2).

    `label` names both in error messages, with ``{}`` for "agents" or "targets". Errors about a cell name the agent.

    >>> check_layout(np.ones((3, 2), np.int32), 1, agents=[[0, 0]], targets=[[2, 1]]).tolist()
    [[[0, 0]], [[2, 1]]]
    """
    names = [label.format(name) for name in ("agents", "targets")]
    layout = np.stack(
        [check_cells(name, cells, num_agents) for name, cells in zip(names, (agents, targets), strict=True)]
    )
    for name, what, cells in zip(names, ("location", "target"), layout, strict=True):
        check_places(name, what, cells, components)
    for index, (start, goal) in enumerate(zip(*layout.tolist(), strict=True)):
        if start == goal and not may_start_on_target:
            raise ValueError(f"agent_{index} starts on its own target, {start}; give it another target ({names[1]})")
        if start == goal and (components == components[tuple(start)]).sum() == 1:
            raise ValueError(f"agent_{index} at {start} can reach no other cell; give it another cell ({names[0]})")
        if components[tuple(start)] != components[tuple(goal)]:
            raise ValueError(
                f"agent_{index} at {start} cannot reach its target {goal}: walls lie between them ({names[1]})"
            )
    return layout


def check_places(name: str, what: str, cells: NDArray[np.int64], components: NDArray[np.int32]) -> None:
    """Check that cells, int64 (N, 2), are free and all different; `what` is "location" or "target"."""
    width, height = components.shape
    first_at: dict[tuple[int, int], int] = {}
    for index, (x, y) in enumerate(cells.tolist()):
        if not (0 <= x < width and 0 <= y < height):
            raise ValueError(
                f"the {what} of agent_{index} in {name} is [{x}, {y}], outside the {width} x {height} grid"
            )
        if components[x, y] == WALL:
            raise ValueError(f"the {what} of agent_{index} in {name} is [{x}, {y}], which is a wall")
        earlier = first_at.setdefault((x, y), index)
        if earlier != index:
            raise ValueError(
                f"agent_{earlier} and agent_{index} in {name} have the same {what}, [{x}, {y}]; "
                "give each a cell of its own"
            )


def check_cells(name: str, cells: Any, num_agents: int | None) -> NDArray[np.int64]:
    """Check the type and shape of cells, integers (N, 2), and return them as int64; without `num_agents`, any N."""
    expected = f"expected integers of shape ({num_agents}, 2): a cell [x, y] for each agent"
    if num_agents is None:
        expected = "expected integers (N, 2), a cell [x, y] for each"
    try:
        array = np.asarray(cells)
    except Exception as error:  # objects among the cells may raise any error
        raise ValueError(f"{name} is ragged; {expected}") from error
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} is of {array.dtype}; {expected}")
    if array.ndim != 2 or array.shape[1] != 2 or num_agents not in (None, len(array)):
        raise ValueError(f"{name} has the shape {array.shape}; {expected}")
    if array.size and array.max() > _LARGEST:
        raise ValueError(f"{name} has the coordinate {array.max()}; {expected}")
    return array.astype(np.int64)


def check_cell(name: str, cell: Any, components: NDArray[np.int32]) -> NDArray[np.int64]:
    """Check that two integers are a free cell ``[x, y]``, and return it as int64 (2,), a new array."""
    width, height = components.shape
    expected = f"expected two integers [x, y], a free cell of the {width} x {height} grid"
    x, y = check_pair(name, cell, expected).tolist()
    if not (0 <= x < width and 0 <= y < height):
        raise ValueError(f"{name} is [{x}, {y}], outside the grid; {expected}")
    if components[x, y] == WALL:
        raise ValueError(f"{name} is [{x}, {y}], which is a wall; {expected}")
    return np.array([x, y], dtype=np.int64)


def check_pair(name: str, pair: Any, expected: str) -> NDArray[Any]:
    """Check that a value is two integers, and return it as an array (2,), without a copy if it is an array."""
    try:
        array = np.asarray(pair)
    except Exception as error:  # an object may raise any error
        raise ValueError(f"{name} is ragged; {expected}") from error
    if array.shape != (2,):
        raise ValueError(f"{name} has the shape {array.shape}; {expected}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} is of {array.dtype}; {expected}")
    return array
