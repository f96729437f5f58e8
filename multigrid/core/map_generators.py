"""Draw maps into a world's own slot, by the generators of `multigrid.maps`, from the world's stream.

Cells become `WALL` or `FREE`, which `build_map` labels. As many entries of its queue as a component has cells may be
left changed: it resets them.
"""

from __future__ import annotations

import math
from typing import Any

from multigrid.actions import MOVES
from multigrid.core.arrays import NOBODY, Arrays
from multigrid.core.rules import build_moves
from multigrid.maps._cells import WALL
from multigrid.maps._drawn import Caves, MapGenerator, Mazes, RandomWalls, Rooms, WallComponents, Warehouses
from multigrid.runtime.compiled import function
from multigrid.runtime.pcg64 import draw_integer, next_float

# The options of a generator are its fields after the sides, see `MapGenerator.options`.
FIRST = 2
EXACT = FIRST + 3
ROOM_LOOPS = FIRST + 2
SHELF_HEIGHT, AISLE_WIDTH, KEPT = range(FIRST + 2, FIRST + 8, 2)
BIRTH_LIMIT, DEATH_LIMIT, STEPS = range(FIRST + 3, FIRST + 6)
PIECES, STRAIGHT = FIRST + 3, FIRST + 5

DX, DY = tuple(dx for dx, _ in MOVES), tuple(dy for _, dy in MOVES)
FREE, _FREED, _FILLED = -1, -2, -3
_LEAST_WEIGHT = 1e-9


@function
def _fill(components: Any, sides: tuple[int, int, int, int], value: int) -> None:
    """Fill the cells from the left side to before the right one, and from the top to before the bottom."""
    for x in range(sides[0], sides[1]):
        for y in range(sides[2], sides[3]):
            components[x, y] = value


@function
def _clear(w: Arrays, e: int, width: int, height: int, value: int) -> None:
    """Fill a map of so many cells, and what is around it with walls."""
    _fill(w.components[e], (0, w.components.shape[1], 0, w.components.shape[2]), WALL)
    _fill(w.components[e], (0, width, 0, height), value)


@function
def draw_random_walls(w: Arrays, e: int, width: int, height: int, share: float) -> None:
    """Draw a map of `multigrid.maps.RandomWalls`, with a share of its density."""
    density = _draw_share(w, e, FIRST) * share
    cells = width * height
    left = round(density * cells)
    _clear(w, e, width, height, WALL)
    if w.map_options[EXACT] == 0:
        _scatter(w, e, width, height, density)
        return
    for x in range(width):
        for y in range(height):
            if draw_integer(w.streams, e, cells) < left:
                left -= 1
            else:
                w.components[e, x, y] = FREE
            cells -= 1


@function
def _scatter(w: Arrays, e: int, width: int, height: int, density: float) -> None:
    for x in range(width):
        for y in range(height):
            if next_float(w.streams, e) >= density:
                w.components[e, x, y] = FREE


@function
def _draw_share(w: Arrays, e: int, first: int) -> Any:
    """Draw as NumPy's ``Generator.uniform`` and ``triangular``, given the first of three options; nothing if fixed."""
    low, mode, high = w.map_options[first], w.map_options[first + 1], w.map_options[first + 2]
    if low == high:
        return low
    drawn = next_float(w.streams, e)
    if mode < 0:
        return low + (high - low) * drawn
    if drawn <= (mode - low) / (high - low):
        return low + math.sqrt(drawn * ((mode - low) * (high - low)))
    return high - math.sqrt((1.0 - drawn) * ((high - mode) * (high - low)))


@function
def _draw_range(w: Arrays, e: int, first: int) -> Any:
    """Draw an integer from the first of two options to the second; nothing if it is fixed."""
    low, high = int(w.map_options[first]), int(w.map_options[first + 1])
    return low + draw_integer(w.streams, e, high - low + 1)


@function
def draw_maze(w: Arrays, e: int, width: int, height: int, share: float) -> None:  # noqa: ARG001 - as all generators
    """Draw a map of `multigrid.maps.Mazes`: rooms of one cell."""
    columns, rows = (width + 1) // 2, (height + 1) // 2
    _draw_rooms(w, e, (columns, rows, 2 * columns - 1, 2 * rows - 1), w.map_options[FIRST])


@function
def draw_rooms(w: Arrays, e: int, width: int, height: int, share: float) -> None:  # noqa: ARG001 - as all generators
    """Draw a map of `multigrid.maps.Rooms`."""
    size = _draw_range(w, e, FIRST)
    columns, rows = max(1, (width + 1) // (size + 1)), max(1, (height + 1) // (size + 1))
    _draw_rooms(w, e, (columns, rows, width, height), w.map_options[ROOM_LOOPS])


@function
def _draw_rooms(w: Arrays, e: int, plan: tuple[int, int, int, int], loops: float) -> None:
    """Draw rooms joined by a random walk that backtracks at dead ends, and by loops; see `_find_room` for the plan."""
    components, path, rows = w.components[e], w.first_requester, plan[1]
    _clear(w, e, 0, 0, WALL)
    x, y = draw_integer(w.streams, e, plan[0]), draw_integer(w.streams, e, rows)
    _fill(components, _find_room(x, y, plan), FREE)
    path[0] = x * rows + y
    last = 1
    while last > 0:
        x, y = path[last - 1] // rows, path[last - 1] % rows
        ways = 0
        for action in range(4):
            ways += _is_new(components, x + DX[action], y + DY[action], plan)
        if ways == 0:
            last -= 1
            continue
        chosen = draw_integer(w.streams, e, ways)
        for action in range(4):
            to_x, to_y = x + DX[action], y + DY[action]
            if _is_new(components, to_x, to_y, plan):
                if chosen == 0:
                    _fill(components, _find_room(to_x, to_y, plan), FREE)
                    _open_door(w, e, _find_wall(min(x, to_x), min(y, to_y), x == to_x, plan), 1.0)
                    path[last] = to_x * rows + to_y
                    last += 1
                    break
                chosen -= 1
    for x in range(plan[0] if loops > 0 else 0):
        for y in range(rows):
            if x + 1 < plan[0]:
                _open_door(w, e, _find_wall(x, y, False, plan), loops)
            if y + 1 < rows:
                _open_door(w, e, _find_wall(x, y, True, plan), loops)


@function
def _find_room(x: int, y: int, plan: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Return the sides of a room, for `_fill`, of so many columns and rows in a map of some width and height."""
    columns, rows, width, height = plan[0], plan[1], plan[2] + 1, plan[3] + 1
    left, right = x * width // columns, (x + 1) * width // columns - 1
    return left, right, y * height // rows, (y + 1) * height // rows - 1


@function
def _find_wall(x: int, y: int, is_below: bool, plan: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Return the sides of the wall on the right of a room, or of that below it."""
    left, right, top, bottom = _find_room(x, y, plan)
    return (left, right, bottom, bottom + 1) if is_below else (right, right + 1, top, bottom)


@function
def _is_new(components: Any, x: int, y: int, plan: tuple[int, int, int, int]) -> int:
    if not (0 <= x < plan[0] and 0 <= y < plan[1]):
        return 0
    room = _find_room(x, y, plan)
    return int(components[room[0], room[2]] == WALL)


@function
def _open_door(w: Arrays, e: int, wall: tuple[int, int, int, int], chance: float) -> None:
    """Open a door in a wall, unless it has one, with a probability."""
    for x in range(wall[0], wall[1]):
        for y in range(wall[2], wall[3]):
            if w.components[e, x, y] != WALL:
                return
    if chance == 1.0 or next_float(w.streams, e) < chance:
        x = wall[0] + draw_integer(w.streams, e, wall[1] - wall[0])
        w.components[e, x, wall[2] + draw_integer(w.streams, e, wall[3] - wall[2])] = FREE


@function
def draw_warehouse(w: Arrays, e: int, width: int, height: int, share: float) -> None:
    """Draw a map of `multigrid.maps.Warehouses`, with a share of its blocks."""
    length, depth, aisle = _draw_range(w, e, FIRST), _draw_range(w, e, SHELF_HEIGHT), _draw_range(w, e, AISLE_WIDTH)
    columns, rows = (width - aisle) // (length + aisle), (height - aisle) // (depth + aisle)
    first_x = (width + aisle - columns * (length + aisle)) // 2
    first_y = (height + aisle - rows * (depth + aisle)) // 2
    blocks = columns * rows
    left = round(_draw_share(w, e, KEPT) * share * blocks)
    _clear(w, e, width, height, FREE)
    for x in range(first_x, first_x + columns * (length + aisle), length + aisle):
        for y in range(first_y, first_y + rows * (depth + aisle), depth + aisle):
            if left == blocks or (left > 0 and draw_integer(w.streams, e, blocks) < left):
                _fill(w.components[e], (x, x + length, y, y + depth), WALL)
                left -= 1
            blocks -= 1


@function
def draw_cave(w: Arrays, e: int, width: int, height: int, share: float) -> None:
    """Draw a map of `multigrid.maps.Caves`, with a share of its walls at first."""
    components = w.components[e]
    _clear(w, e, width, height, WALL)
    _scatter(w, e, width, height, _draw_share(w, e, FIRST) * share)
    for _ in range(int(w.map_options[STEPS])):
        for x in range(width):
            for y in range(height):
                near = _count_walls(components, x, y, width, height)
                if components[x, y] == WALL and near - 1 < w.map_options[DEATH_LIMIT]:
                    components[x, y] = _FREED
                elif components[x, y] == FREE and near > w.map_options[BIRTH_LIMIT]:
                    components[x, y] = _FILLED
        for x in range(width):
            for y in range(height):
                is_wall = components[x, y] == WALL or components[x, y] == _FILLED
                components[x, y] = WALL if is_wall else FREE


@function
def _count_walls(components: Any, x: int, y: int, width: int, height: int) -> int:
    """Return how many of nine cells were walls before this step."""
    walls = 0
    for near_x in range(x - 1, x + 2):
        for near_y in range(y - 1, y + 2):
            inside = 0 <= near_x < width and 0 <= near_y < height
            walls += not inside or components[near_x, near_y] == WALL or components[near_x, near_y] == _FREED
    return walls


@function
def draw_wall_components(w: Arrays, e: int, width: int, height: int, share: float) -> None:
    """Draw a map of `multigrid.maps.WallComponents`, with a share of its walls."""
    components = w.components[e]
    width, height = (width - 1) | 1, (height - 1) | 1
    density, pieces, straight = _draw_share(w, e, FIRST), _draw_range(w, e, PIECES), _draw_share(w, e, STRAIGHT)
    _clear(w, e, width, height, FREE)
    for _ in range(int((width + 2) * (height + 2) * density * share // pieces)):
        # The posts on the right and below begin no walls, as in the definition.
        x, y = (
            2 * draw_integer(w.streams, e, (width + 1) // 2) - 1,
            2 * draw_integer(w.streams, e, (height + 1) // 2) - 1,
        )
        if x > 0 and y > 0:
            components[x, y] = WALL
        last = -1
        for _ in range(pieces):
            last = _draw_way(w, e, (x, y, last), (width, height), straight)
            to_x, to_y = x + 2 * DX[last], y + 2 * DY[last]
            if 0 < to_x < width and 0 < to_y < height and components[to_x, to_y] == FREE:
                components[x + DX[last], y + DY[last]] = WALL
                components[to_x, to_y] = WALL
                x, y = to_x, to_y


@function
def _draw_way(w: Arrays, e: int, end: tuple[int, int, int], sides: tuple[int, int], straight: float) -> int:
    """Draw the direction in which a wall goes on from a post, x and y, and the last direction, to one in or around."""
    way, total = 0, 0.0
    for action in range(4):
        if -1 <= end[0] + 2 * DX[action] <= sides[0] and -1 <= end[1] + 2 * DY[action] <= sides[1]:
            # Where a wall that only goes straight cannot go on, it turns.
            weight = straight if action == end[2] else max(1.0 - straight, _LEAST_WEIGHT)
            total += weight
            if next_float(w.streams, e) * total < weight:
                way = action
    return way


@function
def build_map(w: Arrays, m: int) -> Any:
    """Label the components of map m, whose free cells are not `WALL`, and build what follows; return its room."""
    components, sizes, queue = w.components[m], w.component_sizes[m], w.first_requester
    width, height = components.shape[0], components.shape[1]
    for c in range(sizes.shape[0]):
        sizes[c] = 0
    for x in range(width):
        for y in range(height):
            if components[x, y] != WALL:
                components[x, y] = FREE
    count, room = WALL, 0
    for x in range(width):
        for y in range(height):
            if components[x, y] == FREE:
                count += 1
                size = _flood(components, queue, x, y, count)
                # Without targets, an agent may be in a cell that can reach no other.
                sizes[count] = size if w.hooks.has_targets else max(size, 2)
                room += size if sizes[count] > 1 else 0
    build_moves(w, m)
    if w.blocked.shape[0] > 0:
        radius = (w.blocked.shape[1] - width) // 2
        for x in range(width):
            for y in range(height):
                w.blocked[m, x + radius, y + radius] = components[x, y] == WALL
    return room


@function
def _flood(components: Any, queue: Any, x: int, y: int, label: int) -> Any:
    """Label a component, given one of its cells; return its size. The queue is scratch, as before."""
    width, height = components.shape[0], components.shape[1]
    components[x, y] = label
    queue[0] = x * height + y
    first, last = 0, 1
    while first < last:
        here_x, here_y = queue[first] // height, queue[first] % height
        queue[first] = NOBODY
        first += 1
        for action in range(4):
            to_x, to_y = here_x + DX[action], here_y + DY[action]
            if 0 <= to_x < width and 0 <= to_y < height and components[to_x, to_y] == FREE:
                components[to_x, to_y] = label
                queue[last] = to_x * height + to_y
                last += 1
    return last


KERNELS: dict[type[MapGenerator], Any] = {
    RandomWalls: draw_random_walls, Mazes: draw_maze, WallComponents: draw_wall_components, Rooms: draw_rooms,
    Warehouses: draw_warehouse, Caves: draw_cave,
}  # fmt: skip
