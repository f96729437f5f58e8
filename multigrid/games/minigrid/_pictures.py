"""Frames of Minigrid, pixel for pixel: tiles are drawn three times as large, and then made smaller."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import hexadecimal
from multigrid.games.minigrid._grid import (
    AGENT,
    AHEAD,
    BALL,
    BOX,
    CLOSED,
    DOOR,
    EMPTY,
    FLOOR,
    GOAL,
    GREY,
    KEY,
    LAVA,
    LOCKED,
    NUM_COLOURS,
    UP,
    WALL,
)
from multigrid.games.minigrid._view import see
from multigrid.rendering._scene import Badge, Mark

_RGB = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (112, 39, 195), (255, 255, 0), (100, 100, 100))
_BLACK, _LAVA = (0, 0, 0), (255, 128, 0)
_FINER, _LINE, _LIGHT = 3, 0.031, 0.30
_WAVE_RADIUS = 0.03
_TRIANGLE = ((0.12, 0.19), (0.87, 0.50), (0.12, 0.81))
_NOBODY = -1
_LETTERS = {WALL: "", FLOOR: "", GOAL: "G", LAVA: "~", KEY: "K", BALL: "O", BOX: "X"}
_NUM_DIRECTIONS, _NUM_STATES = 4, 3
NUM_TILES = AGENT * NUM_COLOURS + NUM_COLOURS * (_NUM_STATES - 1)
"""How many things there are by type and colour, and doors that are not open."""

_Pixels = NDArray[np.uint8]
# A coordinate of each pixel of a tile, along x and along y.
_Points = tuple[NDArray[np.float64], NDArray[np.float64]]


def _box(at: _Points, left: float, right: float, top: float, bottom: float) -> Any:
    x, y = at
    return (x >= left) & (x <= right) & (y >= top) & (y <= bottom)


def _disc(at: _Points, x: float, y: float, radius: float) -> Any:
    return (at[0] - x) ** 2 + (at[1] - y) ** 2 <= radius**2


def _line(at: _Points, start: tuple[float, float], end: tuple[float, float], radius: float) -> Any:
    first, last = np.array(start, np.float32), np.array(end, np.float32)
    length = np.linalg.norm(last - first)
    across, down = (last - first) / length
    box = _box(
        at,
        min(start[0], end[0]) - radius,
        max(start[0], end[0]) + radius,
        min(start[1], end[1]) - radius,
        max(start[1], end[1]) + radius,
    )
    along = np.clip((at[0] - first[0]) * across + (at[1] - first[1]) * down, 0, length)
    away = np.hypot(at[0] - (first[0] + along * across), at[1] - (first[1] + along * down))
    return box & (away <= radius)


def _triangle(at: _Points, direction: int) -> Any:
    turn = -direction * math.pi / 2
    x, y = at[0] - 0.5, at[1] - 0.5
    x, y = 0.5 + x * math.cos(turn) - y * math.sin(turn), 0.5 + y * math.cos(turn) + x * math.sin(turn)
    a, b, c = np.array(_TRIANGLE, np.float32)
    to_c, to_b = c - a, b - a
    point_x, point_y = x - a[0], y - a[1]
    cc, cb, bb = to_c @ to_c, to_c @ to_b, to_b @ to_b
    cp, bp = to_c[0] * point_x + to_c[1] * point_y, to_b[0] * point_x + to_b[1] * point_y
    share = 1 / (cc * bb - cb * cb)
    u, v = (bb * cp - cb * bp) * share, (cc * bp - cb * cp) * share
    return (u >= 0) & (v >= 0) & (u + v < 1)


def _draw_door(tile: _Pixels, at: _Points, colour: Any, state: int) -> None:
    if state == LOCKED:
        tile[...] = colour
        tile[_box(at, 0.06, 0.94, 0.06, 0.94)] = 0.45 * np.array(colour)
        tile[_box(at, 0.52, 0.75, 0.50, 0.56)] = colour
    elif state == CLOSED:
        for inset, shade in ((0, colour), (0.04, _BLACK), (0.08, colour), (0.12, _BLACK)):
            tile[_box(at, inset, 1 - inset, inset, 1 - inset)] = shade
        tile[_disc(at, 0.75, 0.50, 0.08)] = colour
    else:
        tile[_box(at, 0.88, 1, 0, 1)] = colour
        tile[_box(at, 0.92, 0.96, 0.04, 0.96)] = _BLACK


def _draw_thing(tile: _Pixels, at: _Points, kind: int, colour: Any, state: int) -> None:
    if kind in {WALL, GOAL}:
        tile[...] = colour
    elif kind == FLOOR:
        tile[_box(at, _LINE, 1, _LINE, 1)] = np.array(colour) / 2
    elif kind == LAVA:
        tile[...] = _LAVA
        for k in range(3):
            low, high = 0.3 + 0.2 * k, 0.4 + 0.2 * k
            corners = [(0.1, low), (0.3, high), (0.5, low), (0.7, high), (0.9, low)]
            for start, end in itertools.pairwise(corners):
                tile[_line(at, start, end, _WAVE_RADIUS)] = _BLACK
    elif kind == DOOR:
        _draw_door(tile, at, colour, state)
    elif kind == KEY:
        for box in ((0.50, 0.63, 0.31, 0.88), (0.38, 0.50, 0.59, 0.66), (0.38, 0.50, 0.81, 0.88)):
            tile[_box(at, *box)] = colour
        tile[_disc(at, 0.56, 0.28, 0.190)] = colour
        tile[_disc(at, 0.56, 0.28, 0.064)] = _BLACK
    elif kind == BALL:
        tile[_disc(at, 0.5, 0.5, 0.31)] = colour
    elif kind == BOX:
        tile[_box(at, 0.12, 0.88, 0.12, 0.88)] = colour
        tile[_box(at, 0.18, 0.82, 0.18, 0.82)] = _BLACK
        tile[_box(at, 0.16, 0.84, 0.47, 0.53)] = colour


@functools.lru_cache(4096)
def draw_tile(size: int, kind: int, colour: int, state: int, agent: int, direction: int, *, is_lit: bool) -> _Pixels:
    """Return a tile, uint8 (size, size, 3): a thing, over it an agent of a colour unless it is -1, and light."""
    fine = _FINER * size
    middles = (np.arange(fine) + 0.5) / fine
    at = np.broadcast_to(middles, (fine, fine)), np.broadcast_to(middles[:, None], (fine, fine))
    tile = np.zeros((fine, fine, 3), np.uint8)
    tile[(at[0] <= _LINE) | (at[1] <= _LINE)] = _RGB[GREY]
    _draw_thing(tile, at, kind, _RGB[colour], state)
    if agent != _NOBODY:
        tile[_triangle(at, direction)] = _RGB[agent]
    if is_lit:
        tile = (tile + _LIGHT * (255 - tile)).clip(0, 255).astype(np.uint8)
    made: _Pixels = tile.reshape(size, _FINER, size, _FINER, 3).mean(axis=3).mean(axis=1).astype(np.uint8)
    made.setflags(write=False)
    return made


def draw_tiles(size: int, num_colours: int) -> NDArray[np.uint8]:
    """Return tiles, uint8 (L, K, size * size * 3): nobody or an agent, by colour and direction; then these in light.

    There are L = 2 (1 + 4 `num_colours`) of those, and K = `NUM_TILES` things.
    """
    things = [(kind, colour, 0) for kind in range(AGENT) for colour in range(NUM_COLOURS)]
    things += [(DOOR, colour, state) for state in range(1, _NUM_STATES) for colour in range(NUM_COLOURS)]
    agents = [
        (_NOBODY, 0),
        *((colour, direction) for colour in range(num_colours) for direction in range(_NUM_DIRECTIONS)),
    ]
    tiles = [
        [draw_tile(size, *thing, *agent, is_lit=is_lit).ravel() for thing in things]
        for is_lit in (False, True)
        for agent in agents
    ]
    return np.array(tiles)


def list_marks(scene: Any) -> Iterator[Mark | Badge]:
    """Yield what is in the cells, and where agents look and what they carry, for text and for pages."""
    for x, y in np.argwhere(scene.cells[..., 0] != EMPTY).tolist():
        kind, colour, state = scene.cells[x, y].tolist()
        letter = _LETTERS[kind] if kind != DOOR else "-DL"[state]
        yield Mark((x, y), hexadecimal(_LAVA if kind == LAVA else _RGB[colour]), letter)
    for i in np.flatnonzero(scene.present & ~scene.ended).tolist():
        kind, colour, _ = scene.carried[i].tolist()
        held = (hexadecimal(_RGB[colour]), _LETTERS[kind]) if kind else ("", "")
        yield Badge(i, int(scene.direction[i]), *held)


def list_colours(num_agents: int) -> list[str]:
    """Return the colours of agents by which they see one another."""
    return [hexadecimal(_RGB[i % NUM_COLOURS]) for i in range(num_agents)]


def draw_frame(scene: Any) -> _Pixels:
    """Return the frame of a world, or what agent 0 sees with `agent_pov`: uint8 (height, width, 3)."""
    present = np.flatnonzero(scene.present & ~scene.ended).tolist()
    if scene.agent_pov:
        return _draw_view(scene, present)
    lit = np.zeros((scene.width, scene.height), bool)
    agents = {}
    for i in present:
        x, y = scene.agents[i].tolist()
        agents[x, y] = i % NUM_COLOURS, int(scene.direction[i])
        if scene.highlight:
            for cell in _find_lit(scene, i).values():
                if 0 <= cell[0] < scene.width and 0 <= cell[1] < scene.height:
                    lit[cell] = True
    return _join(scene.tile_size, scene.cells, agents, lit)


def _find_lit(scene: Any, i: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the cells of an agent's view that are visible, and the cells of the grid that these are."""
    view, direction, (x, y) = scene.agent_view_size, int(scene.direction[i]), scene.agents[i].tolist()
    visible, (dx, dy) = np.zeros(view, np.int64), AHEAD[direction].tolist()
    look: Any = see
    look(scene.cells, x, y, direction, bool(scene.through[0]), visible)
    found = {}
    for b in range(view):
        for a in range(view):
            if visible[b] >> a & 1:
                step, side = view - 1 - b, a - view // 2
                found[a, b] = x + step * dx - side * dy, y + step * dy + side * dx
    return found


def _draw_view(scene: Any, present: list[int]) -> _Pixels:
    view, found = scene.agent_view_size, _find_lit(scene, 0)
    cells, lit, agents = np.zeros((view, view, 3), np.uint8), np.zeros((view, view), bool), {}
    for at, (x, y) in found.items():
        inside = 0 <= x < scene.width and 0 <= y < scene.height
        cells[at], lit[at] = scene.cells[x, y] if inside else (WALL, GREY, 0), True
        for j in present:
            if scene.agents[j].tolist() == [x, y]:
                agents[at] = j % NUM_COLOURS, int(scene.direction[j] - scene.direction[0] + UP) % 4
    own = view // 2, view - 1
    cells[own] = *scene.carried[0, :2], 0
    agents[own] = 0, UP
    return _join(scene.tile_size, cells, agents, lit)


def _join(size: int, cells: Any, agents: dict[tuple[int, int], tuple[int, int]], lit: NDArray[np.bool_]) -> _Pixels:
    width, height = lit.shape
    frame = np.zeros((height * size, width * size, 3), np.uint8)
    listed, is_lit = cells.tolist(), lit.tolist()
    for x in range(width):
        for y in range(height):
            look = agents.get((x, y), (_NOBODY, 0))
            tile = draw_tile(size, *listed[x][y], *look, is_lit=is_lit[x][y])
            frame[y * size : (y + 1) * size, x * size : (x + 1) * size] = tile
    return frame
