"""The part *features*: a vector for each player, as overcooked_ai's `featurize_state` of two pots and no counter goals.

A block of 46 for the observer, then one for each other player in index order; then each other's cell minus the
observer's, and the observer's cell. A block has

| numbers | what |
|---|---|
| 4 | direction: north, south, east, west |
| 4 | holds an onion, a soup, a dish, a tomato |
| 6 | offset of the nearest onions, tomatoes, dishes: 0, 0 if it holds one, or reaches none |
| 2 + 2 | 0, 0; onions and tomatoes of the soup that it holds |
| 2 + 2 | offset of the nearest place that serves; 0, 0 |
| 10, twice | of the two nearest pots: 1, empty, full, cooks, ready, onions, tomatoes, steps left, offset; or zeros |
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

BLOCK = 46
_FOUND = (ONIONS, TOMATOES, DISHES, SERVING, POT, POT)
_OFFSETS = (8, 10, 12, 18)
_HOLDS, _SOUP, _POTS, _WALLS = 4, 16, 22, 42


def find_nearest(kind: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the cells x * H + y that are nearest to a player, int64 (W, H, 4, 6), -1 for none.

    They are by its cell, its direction, and what: onions, tomatoes, dishes, serving, a pot, the next pot.
    """
    floor, height = np.argwhere(kind == FLOOR), kind.shape[1]
    # NumPy multiplies matrices of floats many times faster than those of bools.
    beside = (np.abs(floor[:, None] - floor).sum(axis=2) == 1).astype(np.float32)
    distance = np.where(np.eye(len(floor), dtype=bool), 0, np.inf)
    steps = 0
    while (ahead := ((distance == steps) @ beside > 0) & np.isinf(distance)).any():
        steps += 1
        distance[ahead] = steps
    number = np.full(kind.shape, -1)
    number[tuple(floor.T)] = np.arange(len(floor))

    def count_actions(cell: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many actions it takes to face a cell, from each cell of floor and each direction."""
        fewest = np.full((len(floor), 4), np.inf)
        for direction, step in enumerate(AHEAD):
            x, y = cell - step
            if 0 <= x < kind.shape[0] and 0 <= y < height and (goal := number[x, y]) >= 0:
                before = number[x - step[0], y - step[1]]
                comes_so = before >= 0 and (distance[:, before] < distance[:, goal])
                actions = np.repeat((distance[:, goal] + 1 - comes_so)[:, None], 4, axis=1)
                actions[goal] = np.arange(4) != direction
                fewest = np.minimum(fewest, actions)
        return fewest

    nearest = np.full((*kind.shape, 4, len(_FOUND)), -1)
    taken = None
    for k, what in enumerate(_FOUND):
        cells = np.argwhere(what == kind.T)[:, ::-1]
        if len(cells):
            actions = np.array([count_actions(cell) for cell in cells])
            if k and what == _FOUND[k - 1]:
                np.put_along_axis(actions, taken, np.inf, axis=0)
            taken = actions.argmin(axis=0, keepdims=True)
            found = np.where(np.isinf(actions.min(axis=0)), -1, (cells @ [height, 1])[taken[0]])
            nearest[floor[:, 0], floor[:, 1], :, k] = found
    return nearest


@inlined
def write_features(w, s, e, i, out):
    """Write the vector of player i."""
    num_agents = w.num_agents[e]
    for k in range(out.shape[0]):
        out[k] = 0
    for j in range(num_agents):
        place = 0 if j == i else j + int(j < i)
        _write_block(w, s, e, j, out, place * BLOCK)
        if j != i:
            at = num_agents * BLOCK + 2 * (place - 1)
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
    for k in range(2):
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
        out[at + _WALLS + k] = s.kind[m, x + AHEAD[k, 0], y + AHEAD[k, 1]] != FLOOR


@inlined
def _write_offset(s, cell, x, y, out, at):
    if cell >= 0:
        out[at], out[at + 1] = cell // s.kind.shape[2] - x, cell % s.kind.shape[2] - y
