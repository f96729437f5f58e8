"""Four kinds of random maps, in which every free cell can reach every other.

The same arguments and seed give the same map on every platform: all random numbers come from ``Generator.integers``,
whose stream NumPy keeps except to correct errors, and random orders are sorted from them. A test compares the maps with
recorded ones.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_seed, is_real, shorten
from multigrid.actions import MOVES
from multigrid.maps._cells import FlatMap

# A generator takes some hundred bytes for each cell.
_MOST_CELLS = 2**27


def random_map(width: int, height: int, density: float, seed: int | np.random.Generator) -> NDArray[np.bool_]:
    """Return a map of randomly scattered walls that do not disconnect the free cells.

    Cells become walls in a random order. A cell is postponed while a wall in it would disconnect the free cells. So the
    number of walls is exact. At densities up to about 0.2 only a few cells are postponed, and the walls are
    almost independent; beyond 0.4 the free cells become winding corridors.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        density: the share of cells that are walls; their number is ``round(density * width * height)``.
        seed: a seed, or a generator to draw from.

    Returns:
        bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range, or a density that leaves no free cell.

    >>> walls = random_map(10, 6, density=0.3, seed=7)
    >>> walls.shape, int(walls.sum())
    ((10, 6), 18)
    """
    width, height = _check_sides(width, height)
    num_walls = round(check_share("density", density) * width * height)
    if num_walls == width * height:
        raise ValueError(f"density is {density}, which leaves no free cell of {width} x {height}; use a lower one")
    order = _draw_order(width * height, _make_generator(seed))

    flat = FlatMap(np.ones((width, height), dtype=bool))
    free, steps = flat.free, flat.steps
    cells = np.flatnonzero(free)[order].tolist()
    rank_of = {cell: rank for rank, cell in enumerate(cells)}
    ranks = list(range(len(cells)))
    waiting = set()
    while num_walls:
        cell = cells[heapq.heappop(ranks)]
        free[cell] = False
        if _disconnects(free, cell, steps):
            free[cell] = True
            waiting.add(cell)
            continue
        num_walls -= 1
        # Only a change of a neighbour can end a cell's wait.
        for step in steps:
            if cell + step in waiting:
                waiting.remove(cell + step)
                heapq.heappush(ranks, rank_of[cell + step])
    return ~flat.grid(free)


def maze(width: int, height: int, seed: int | np.random.Generator, loops: float = 0.0) -> NDArray[np.bool_]:
    """Return a maze of corridors one cell wide, by a random depth-first walk.

    Corridors meet at even x and y. So a side of an even number of cells ends in a line of walls.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        seed: a seed, or a generator to draw from.
        loops: the share of the walls between corridors that are removed afterwards. With 0 the maze is perfect: one
            path joins any two cells. With 1 only the pillars at odd x and y stay.

    Returns:
        bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> from multigrid.maps._text import format_map
    >>> print(format_map(maze(11, 5, seed=5)))
    .#.......#.
    .#.#####.#.
    ...#.....#.
    .###.#####.
    ...#.......
    """
    width, height = _check_sides(width, height)
    loops = check_share("loops", loops)
    walls = np.ones((width, height), dtype=bool)
    walls[::2, ::2] = False
    for (x, y), (next_x, next_y) in _draw_passages((width + 1) // 2, (height + 1) // 2, loops, _make_generator(seed)):
        walls[x + next_x, y + next_y] = False
    return walls


def rooms(
    width: int, height: int, room_size: int, seed: int | np.random.Generator, loops: float = 0.5
) -> NDArray[np.bool_]:
    """Return a map of rooms, with walls one cell thick between them and doors one cell wide.

    Along each side there are as many rooms of `room_size` as fit; the remaining cells make some of them larger.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        room_size: the smallest side of a room in cells, unless the map is smaller.
        seed: a seed, or a generator to draw from.
        loops: the share of the walls between rooms that have a door in addition to the doors that connect all rooms.
            With 0 one path joins any two rooms; with 1 every wall between two rooms has a door.

    Returns:
        bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> from multigrid.maps._text import format_map
    >>> print(format_map(rooms(14, 8, room_size=2, seed=1)))
    ..#..#..#.....
    ........#..#..
    #.#####.#.##.#
    ...........#..
    ..#..#..#..#..
    .###.#.###.##.
    ..#..#.....#..
    .....#..#.....
    """
    width, height = _check_sides(width, height)
    room_size = check_int("room_size", room_size, 1)
    loops, generator = check_share("loops", loops), _make_generator(seed)
    columns, rows = _split_into_rooms(width, room_size), _split_into_rooms(height, room_size)
    walls = np.ones((width, height), dtype=bool)
    for left, right in columns:
        for top, bottom in rows:
            walls[left:right, top:bottom] = False
    for (i, j), (next_i, next_j) in _draw_passages(len(columns), len(rows), loops, generator):
        x = _draw_door(columns, i, next_i, generator)
        y = _draw_door(rows, j, next_j, generator)
        walls[x, y] = False
    return walls


def warehouse(
    width: int,
    height: int,
    *,
    shelf_length: int = 5,
    shelf_height: int = 2,
    aisle_width: int = 1,
    fill: float = 1.0,
    seed: int | np.random.Generator = 0,
) -> NDArray[np.bool_]:
    r"""Return a map of a warehouse: blocks of shelves, with aisles between and around them.

    There are as many blocks as fit, in the middle of the map; the remaining cells widen the outermost aisles.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        shelf_length: a block's cells along x.
        shelf_height: its cells along y.
        aisle_width: the cells between two blocks, and at least as many between a block and the map's edge.
        fill: the share of the blocks that are kept, chosen at random.
        seed: a seed, or a generator to draw from; if all blocks are kept, the map does not depend on it.

    Returns:
        bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range, or a map that is too small for a block.

    >>> from multigrid.maps._text import format_map
    >>> print("a warehouse:", format_map(warehouse(15, 7)), sep="\n")
    a warehouse:
    ...............
    ..#####.#####..
    ..#####.#####..
    ...............
    ..#####.#####..
    ..#####.#####..
    ...............
    """
    width, height = _check_sides(width, height)
    shelf_length = check_int("shelf_length", shelf_length, 1)
    shelf_height = check_int("shelf_height", shelf_height, 1)
    aisle_width = check_int("aisle_width", aisle_width, 1)
    check_block(width, height, shelf_length, shelf_height, aisle_width)
    columns = (width - aisle_width) // (shelf_length + aisle_width)
    rows = (height - aisle_width) // (shelf_height + aisle_width)
    num_blocks = round(check_share("fill", fill) * columns * rows)
    left = (width + aisle_width - columns * (shelf_length + aisle_width)) // 2
    top = (height + aisle_width - rows * (shelf_height + aisle_width)) // 2
    walls = np.zeros((width, height), dtype=bool)
    for block in _draw_order(columns * rows, _make_generator(seed))[:num_blocks].tolist():
        x = left + block // rows * (shelf_length + aisle_width)
        y = top + block % rows * (shelf_height + aisle_width)
        walls[x : x + shelf_length, y : y + shelf_height] = True
    return walls


def _check_sides(width: int, height: int) -> tuple[int, int]:
    width, height = check_int("width", width, 1), check_int("height", height, 1)
    if width * height > _MOST_CELLS:
        raise ValueError(
            f"width and height are {width} and {height}, {width * height} cells; expected at most {_MOST_CELLS} cells"
        )
    return width, height


def _make_generator(seed: int | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    # Not default_rng, whose bit generator NumPy may change.
    return np.random.Generator(np.random.PCG64(check_seed(seed, " or a numpy Generator")))


def check_block(width: int, height: int, shelf_length: int, shelf_height: int, aisle_width: int) -> None:
    """Raise ValueError if a map has no room for a block of shelves and the aisles around it."""
    least = shelf_length + 2 * aisle_width, shelf_height + 2 * aisle_width
    if width < least[0] or height < least[1]:
        raise ValueError(
            f"the map is {width} x {height} cells, but a block of {shelf_length} x {shelf_height} with aisles of "
            f"{aisle_width} around it needs {least[0]} x {least[1]}; use a larger map or smaller blocks"
        )


def check_share(name: str, value: float) -> float:
    """Check a number from 0 to 1, and return it as a float."""
    expected = "expected a number from 0 to 1"
    if not is_real(value):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; {expected}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {shorten(value)}; {expected}")
    return float(value)


def _draw_order(count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a random permutation of 0 .. count - 1."""
    return np.argsort(generator.integers(0, 2**64, size=count, dtype=np.uint64), kind="stable").astype(np.int64)


def _disconnects(free: list[bool], cell: int, steps: list[int]) -> bool:
    """Return whether a wall in a cell disconnects its free neighbours."""
    neighbours = [
        cell + step
        for previous, step in zip([steps[-1], *steps[:-1]], steps, strict=True)
        # Two neighbours with a free corner between them are connected, so one represents both; mostly this suffices.
        if free[cell + step] and not (free[cell + previous] and free[cell + previous + step])
    ]
    return any(not _are_joined(free, neighbours[0], other, steps) for other in neighbours[1:])


def _are_joined(free: list[bool], one: int, other: int, steps: list[int]) -> bool:
    """Return whether one free cell reaches another, by a search from both ends, the smaller front first."""
    right, up, left, down = steps
    mine, theirs = {one}, {other}
    front, far_front = [one], [other]
    while front:
        reached = []
        for cell in front:
            for neighbour in (cell + right, cell + up, cell + left, cell + down):
                if free[neighbour] and neighbour not in mine:
                    if neighbour in theirs:
                        return True
                    mine.add(neighbour)
                    reached.append(neighbour)
        front = reached
        if len(far_front) < len(front):
            mine, theirs, front, far_front = theirs, mine, far_front, front
    return False


def _draw_passages(
    columns: int, rows: int, loops: float, generator: np.random.Generator
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return pairs of neighbours in a lattice: a random depth-first tree, and a share `loops` of the other pairs."""
    words = generator.integers(0, 2**64, size=(columns, rows, len(MOVES)), dtype=np.uint64)
    untried = np.argsort(words, axis=-1, kind="stable").tolist()
    start = divmod(int(generator.integers(columns * rows)), rows)
    visited, path, tree = {start}, [start], []
    while path:
        x, y = path[-1]
        if not untried[x][y]:
            path.pop()
            continue
        dx, dy = MOVES[untried[x][y].pop()]
        neighbour = (x + dx, y + dy)
        if 0 <= x + dx < columns and 0 <= y + dy < rows and neighbour not in visited:
            visited.add(neighbour)
            path.append(neighbour)
            tree.append(((x, y), neighbour))
    joined = {frozenset(pair) for pair in tree}
    others = [
        ((x, y), (x + dx, y + dy))
        for x in range(columns)
        for y in range(rows)
        for dx, dy in MOVES
        if x <= x + dx < columns and y <= y + dy < rows and frozenset(((x, y), (x + dx, y + dy))) not in joined
    ]
    added = _draw_order(len(others), generator)[: round(loops * len(others))]
    return [*tree, *(others[index] for index in added)]


def _split_into_rooms(length: int, room_size: int) -> list[tuple[int, int]]:
    """Return the (begin, end) of each room along a side; walls take one cell, and room sizes differ by at most 1."""
    count = max(1, (length + 1) // (room_size + 1))
    return [(index * (length + 1) // count, (index + 1) * (length + 1) // count - 1) for index in range(count)]


def _draw_door(spans: list[tuple[int, int]], here: int, there: int, generator: np.random.Generator) -> int:
    """Return a coordinate of the door between two rooms: that of their wall, or a random one along it."""
    first, end = spans[min(here, there)]
    return end if here != there else first + int(generator.integers(end - first))
