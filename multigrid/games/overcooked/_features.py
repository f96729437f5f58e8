"""The part *features*: a vector for each player, as overcooked_ai's `featurize_state` without counter goals.

A block of 26 + 10 * num_pots for the observer, then one for each other player in index order; then each other's cell
minus the observer's, and the observer's cell. A block has

| numbers | what |
|---|---|
| 4 | direction: north, south, east, west |
| 4 | holds an onion, a soup, a dish, a tomato |
| 6 | offset of the nearest onions, tomatoes, dishes: 0, 0 if it holds one, or reaches none |
| 2 + 2 | 0, 0; onions and tomatoes of the soup that it holds |
| 2 + 2 | offset of the nearest place that serves; 0, 0 |
| 10 each | of *num_pots* nearest pots: 1, empty, full, cooks, ready, onions, tomatoes, steps left, offset; or zeros |
| 4 | whether the cell to the north, south, east, west is no floor |

The nearest is the one that takes the fewest actions to face, other players ignored, and of several the first in reading
order. Things on counters are not found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.games.overcooked._layouts import (
    AHEAD,
    DISH,
    DISHES,
    FLOOR,
    FULL,
    ONION,
    ONIONS,
    POT,
    SERVING,
    SOUP,
    TOMATOES,
)
from multigrid.runtime.compiled import function, inlined

_FOUND = (ONIONS, TOMATOES, DISHES, SERVING)
_OFFSETS = (8, 10, 12, 18)
_HOLDS, _SOUP, _POTS = 4, 16, 22


def count_features(num_pots: int) -> int:
    """Return the length of a block."""
    return _POTS + 10 * num_pots + 4


def count_actions(kind: NDArray[np.uint8], cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many actions it takes to face each of K cells, (K, 2), other players ignored; inf where none do.

    They are by the player's cell and direction, float64 (K, W, H, 4).
    """
    floor = np.argwhere(kind == FLOOR)
    # NumPy multiplies matrices of floats many times faster than those of bools.
    beside = (np.abs(floor[:, None] - floor).sum(axis=2) == 1).astype(np.float32)
    distance = np.where(np.eye(len(floor), dtype=bool), 0, np.inf)
    steps = 0
    while (ahead := ((distance == steps) @ beside > 0) & np.isinf(distance)).any():
        steps += 1
        distance[ahead] = steps
    number = np.full(kind.shape, -1)
    number[tuple(floor.T)] = np.arange(len(floor))
    actions = np.full((len(cells), *kind.shape, 4), np.inf)
    for k, cell in enumerate(cells):
        fewest = np.full((len(floor), 4), np.inf)
        for direction, step in enumerate(AHEAD):
            x, y = cell - step
            if 0 <= x < kind.shape[0] and 0 <= y < kind.shape[1] and (goal := number[x, y]) >= 0:
                before = number[x - step[0], y - step[1]]
                comes_so = before >= 0 and (distance[:, before] < distance[:, goal])
                found = np.repeat((distance[:, goal] + 1 - comes_so)[:, None], 4, axis=1)
                found[goal] = np.arange(4) != direction
                fewest = np.minimum(fewest, found)
        actions[k, floor[:, 0], floor[:, 1]] = fewest
    return actions


def find_nearest(kind: NDArray[np.uint8], num_pots: int) -> NDArray[np.int64]:
    """Return the cells x * H + y that are nearest to a player, int64 (W, H, 4, 4 + num_pots), -1 for none.

    They are by its cell, its direction, and what: onions, tomatoes, dishes, serving, and the nearest pots.
    """
    nearest = np.full((*kind.shape, 4, len(_FOUND) + num_pots), -1)
    for first, what in enumerate((*_FOUND, POT)):
        cells = np.argwhere(what == kind.T)[:, ::-1]
        actions = count_actions(kind, cells)
        for k in range(min(num_pots if what == POT else 1, len(cells))):
            taken = actions.argmin(axis=0)
            nearest[..., first + k] = np.where(np.isinf(actions.min(axis=0)), -1, (cells @ [kind.shape[1], 1])[taken])
            np.put_along_axis(actions, taken[None], np.inf, axis=0)
    return nearest


@inlined
def write_features(w, s, e, i, out):
    """Write the vector of player i."""
    num_agents, block = w.num_agents[e], out.shape[0] // w.num_agents[e] - 2
    for k in range(out.shape[0]):
        out[k] = 0
    for j in range(num_agents):
        place = 0 if j == i else j + int(j < i)
        _write_block(w, s, e, j, out, place * block)
        if j != i:
            at = num_agents * block + 2 * (place - 1)
            for axis in range(2):
                out[at + axis] = w.location[e, j, axis] - w.location[e, i, axis]
    for axis in range(2):
        out[out.shape[0] - 2 + axis] = w.location[e, i, axis]


@function
def _write_block(w, s, e, j, out, at):
    m, x, y = w.map_index[e], w.location[e, j, 0], w.location[e, j, 1]
    direction, held = s.direction[e, j], s.held[e, j]
    out[at + direction] = 1
    if held >= SOUP:
        out[at + _HOLDS + 1] = 1
        out[at + _SOUP], out[at + _SOUP + 1] = (held - SOUP) // 4, (held - SOUP) % 4
    elif held > 0:
        out[at + _HOLDS + (0 if held == ONION else 2 if held == DISH else 3)] = 1
    for k in range(4):
        # Onions, tomatoes and dishes are the things 1 to 3.
        if held != k + ONION:
            _write_offset(s, s.nearest[m, x, y, direction, k], x, y, out, at + _OFFSETS[k])
    for k in range(s.num_pots):
        cell, first = s.nearest[m, x, y, direction, 4 + k], at + _POTS + 10 * k
        if cell >= 0:
            to_x, to_y = cell // s.kind.shape[2], cell % s.kind.shape[2]
            recipe, cooking = max(int(s.thing[e, to_x, to_y]) - SOUP, 0), s.cooking[e, s.pot_in[m, to_x, to_y]]
            left = s.cook_time[m, recipe] + 1 - cooking if cooking > 0 else 0
            out[first], out[first + 1] = 1, recipe == 0
            out[first + 2] = cooking > 0 or recipe // 4 + recipe % 4 == FULL
            out[first + 3], out[first + 4] = left > 0, cooking > 0 and left == 0
            out[first + 5], out[first + 6], out[first + 7] = recipe // 4, recipe % 4, left
            _write_offset(s, cell, x, y, out, first + 8)
    for k in range(4):
        out[at + _POTS + 10 * s.num_pots + k] = s.kind[m, x + AHEAD[k, 0], y + AHEAD[k, 1]] != FLOOR


@inlined
def _write_offset(s, cell, x, y, out, at):
    if cell >= 0:
        out[at], out[at + 1] = cell // s.kind.shape[2] - x, cell % s.kind.shape[2] - y
