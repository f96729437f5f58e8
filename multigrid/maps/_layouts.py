"""Checks of layouts: the cells of agents, and of their targets or lists of targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.maps._cells import NO_TARGET, WALL

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


_EXPECTED = "expected a list of cells [x, y], each two integers"


class Layout(NamedTuple):
    """The layout of a world, or those of K worlds, in stacks."""

    cells: NDArray[np.int64] | None
    """int64 (N, 4), x, y, target x, target y; None for a random layout."""
    lists: NDArray[np.int64] | None
    """int64 (N, T, 2), lists of targets as `read_lists` returns them; None without."""


RANDOM_LAYOUT = Layout(None, None)
"""The layout of a world whose cells and targets are sampled."""


def is_listed(value: Any) -> bool:
    """Return whether a value is a sequence other than text, or an array with at least one axis."""
    kind = type(value)
    # Most values are of these types, and a check against Sequence is slow.
    if kind is list or kind is int:
        return kind is list
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def holds_lists(targets: Any) -> bool:
    """Return whether targets are a list of cells for each agent, rather than one cell for each.

    >>> holds_lists([[[0, 1], [2, 3]], [[4, 5]]]), holds_lists([[0, 1], [2, 3]])
    (True, False)
    """
    if isinstance(targets, np.ndarray) and targets.dtype != object:
        return targets.ndim == 3
    return is_listed(targets) and any(is_listed(one) and (len(one) == 0 or is_listed(one[0])) for one in targets)


def make_layout(
    components: NDArray[np.int32], num_agents: int, agents: Any, targets: Any, on_target: str, *, label: str = "{}"
) -> Layout:
    """Check a layout that the caller gives, with a target or a list of targets for each agent; see `check_layout`.

    In a game without targets these are None, and the cells [0, 0] in the layout.

    >>> make_layout(np.ones((3, 2), np.int32), 1, [[0, 0]], [[[2, 1], [1, 0]]], "restart").cells.tolist()
    [[0, 0, 2, 1]]
    """
    if targets is None:
        name = label.format("agents")
        starts = check_cells(name, agents, num_agents)
        check_places(name, "location", starts, components)
        return Layout(np.concatenate([starts, np.zeros_like(starts)], axis=1), None)
    if not holds_lists(targets):
        may_start = on_target in START_ON_TARGET
        cells = check_layout(components, num_agents, agents, targets, label, may_start_on_target=may_start)
        return Layout(np.concatenate(cells, axis=1), None)
    if on_target != "restart":
        raise ValueError(
            f"{label.format('targets')} are lists, but on_target is {on_target!r}; use on_target='restart', or give "
            "each agent one target [x, y]"
        )
    starts, lists = check_lists(components, num_agents, agents, targets, label)
    return Layout(np.concatenate([starts, lists[:, 0]], axis=1), lists)


def read_lists(name: str, targets: Any, num_agents: int) -> NDArray[np.int64]:
    """Check the form of lists of targets, integers (L, 2) for each agent, and return them as int64 (N, T, 2).

    Rows ``[-1, -1]`` at the end of a list are dropped. T is the longest L; shorter lists are filled with `NO_TARGET`.

    >>> read_lists("targets", [[[0, 1]], [[2, 3], [4, 5]]], 2).tolist()
    [[[0, 1], [-1, -1]], [[2, 3], [4, 5]]]
    """
    if len(targets) != num_agents:
        raise ValueError(f"{name} has {len(targets)} lists; expected {num_agents}, one for each agent")
    lists = [_read_list(_of(index, name), one) for index, one in enumerate(targets)]
    array = np.full((num_agents, max(map(len, lists)), 2), NO_TARGET)
    for row, one in zip(array, lists, strict=True):
        row[: len(one)] = one
    return array


def to_lists(lists: NDArray[np.int64]) -> list[list[list[int]]]:
    """Return what `read_lists` returned as lists of integers, without filling."""
    return [cells[: _length(cells)].tolist() for cells in lists]


def check_lists(
    components: NDArray[np.int32], num_agents: int, agents: Any, targets: Any, label: str = "{}"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check a layout with lists of targets; return the agents' cells, int64 (N, 2), and the lists, int64 (N, T, 2).

    Agents may have targets in common, and may start on their own targets.
    """
    names = [label.format(name) for name in ("agents", "targets")]
    starts = check_cells(names[0], agents, num_agents)
    lists = read_lists(names[1], targets, num_agents)
    check_places(names[0], "location", starts, components)
    width, height = components.shape
    sizes = np.bincount(components.ravel())
    for index, ((x, y), targets_of_one) in enumerate(zip(starts.tolist(), lists, strict=True)):
        if sizes[components[x, y]] == 1:
            raise ValueError(f"agent_{index} at [{x}, {y}] can reach no other cell; give it another cell ({names[0]})")
        cells = targets_of_one[: _length(targets_of_one)]
        inside = ((cells >= 0) & (cells < (width, height))).all(axis=1)
        there = np.where(inside, components[tuple(np.where(inside[:, None], cells, 0).T)], WALL)
        wrong = np.flatnonzero(there != components[x, y])
        if len(wrong):
            first = wrong[0]
            problem = (
                f"is outside the {width} x {height} grid"
                if not inside[first]
                else "is a wall"
                if there[first] == WALL
                else f"cannot be reached from [{x}, {y}]: walls lie between them"
            )
            raise ValueError(f"target {first} in {_of(index, names[1])}, {cells[first].tolist()}, {problem}")
    return starts, lists


def _of(index: int, name: str) -> str:
    return f"the list of agent_{index} in {name}"


def _length(cells: NDArray[np.int64]) -> int:
    """Return the number of rows up to the last that is not `NO_TARGET`."""
    used = np.flatnonzero((cells != NO_TARGET).any(axis=1))
    return int(used[-1]) + 1 if len(used) else 0


def _read_list(name: str, given: Any) -> NDArray[np.int64]:
    if not is_listed(given):
        raise TypeError(f"{name} is of type {type(given).__name__}; {_EXPECTED}")
    array: Any
    try:
        array = np.asarray(given)
    except Exception:  # noqa: BLE001 - objects among the cells may raise any error
        array = np.empty(0, object)
    if len(given) and (array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu"):
        for index, cell in enumerate(given):
            check_pair(f"target {index} in {name}", cell, _EXPECTED)
        raise ValueError(f"{name} has the shape {array.shape} and the type {array.dtype}; {_EXPECTED}")
    if len(given) and array.max() > _LARGEST:
        raise ValueError(f"{name} has the coordinate {array.max()}; {_EXPECTED}")
    cells: NDArray[np.int64] = array[: _length(array)].astype(np.int64) if len(given) else np.empty((0, 2), np.int64)
    if len(cells) == 0:
        raise ValueError(f"{name} is empty; expected at least one cell [x, y]")
    return cells


def check_room(config: Any) -> None:
    """Raise ValueError for more agents than cells that can reach another, or a bad layout of the letters."""
    if config.draws_maps:
        config.walls.check_room(config.num_agents)
        return
    for index, components in enumerate(config.components):
        sizes = np.bincount(components.ravel())[1:]
        room = int(sizes[sizes > config.has_targets].sum())
        if config.num_agents > room:
            where = f"map {index}" if config.num_maps > 1 else "the map" if config.walls is not None else "the grid"
            alone = int(sizes.sum()) - room
            apart = f": {alone} of its {room + alone} free cells can reach no other" if alone else ""
            raise ValueError(
                f"num_agents is {config.num_agents}, but {where} ({config.width} x {config.height}) has room for "
                f"{room}{apart}; use fewer agents or a larger {'size' if config.walls is None else 'map'}"
            )
    if config.layouts is not None:
        for index, (agents, targets) in enumerate(zip(config.walls.agents, config.walls.targets, strict=True)):
            label = f"the {{}} of map {index} of walls" if config.num_maps > 1 else "the {} of walls"
            layout = agents, targets if config.has_targets else None
            make_layout(config.components[index], config.num_agents, *layout, config.on_target, label=label)
