"""The part *grid* of OvercookedV2: layers of the kitchen, as `multigrid.games.overcooked._v2` describes them."""

from __future__ import annotations

import numpy as np

from multigrid.games.overcooked._v2_layouts import BUTTON, COUNTER, FLOOR, GOAL, INDICATOR, PILE, PLATES, POT
from multigrid.runtime.compiled import function

_ORDER = (COUNTER, GOAL, POT, INDICATOR, BUTTON, PLATES)
_LAYER = np.array([_ORDER.index(kind) if kind in _ORDER else -1 for kind in range(PILE)])
"""The layer of each kind of cells but piles."""


@function
def write_grid(w, s, e, i, out):
    """Write the layers that player i sees."""
    width, height, view = s.kind.shape[0], s.kind.shape[1], s.sight[0]
    num_ingredients = s.num_ingredients[0]
    num_layers = 25 + 5 * num_ingredients + int(s.indicate_successful_delivery)
    columns = 2 * view + 1 if view > 0 else width
    left, top = (w.location[e, i, 0] - view, w.location[e, i, 1] - view) if view > 0 else (0, 0)
    of_agent = 7 + num_ingredients
    for k in range(out.shape[0]):
        out[k] = 0
    for at in range(0, out.shape[0], num_layers):
        x, y = left + at // num_layers % columns, top + at // num_layers // columns
        kind = int(s.kind[x, y]) if 0 <= x < width and 0 <= y < height else FLOOR
        if kind != FLOOR:
            first = at + 2 * of_agent
            out[first + (6 + kind - PILE if kind >= PILE else _LAYER[kind])] = 1
            first += 6 + num_ingredients
            _write_thing(out, first, int(s.thing[e, x, y]), num_ingredients)
            if kind == INDICATOR or (kind == BUTTON and s.timer[e, x, y] > 0):
                _write_thing(out, first + 2 + num_ingredients, s.recipe[e], num_ingredients)
            first += 2 * (2 + num_ingredients)
            if kind == POT:
                out[first] = s.timer[e, x, y]
            elif kind == GOAL and s.indicate_successful_delivery:
                out[first + 1] = s.is_correct[e]
    rows = out.shape[0] // num_layers // columns
    for j in range(w.num_agents[e]):
        column, row = w.location[e, j, 0] - left, w.location[e, j, 1] - top
        if 0 <= column < columns and 0 <= row < rows:
            first = (row * columns + column) * num_layers + (0 if j == i else of_agent)
            out[first], out[first + 1 + s.direction[e, j]] = 1, 1
            _write_thing(out, first + 5, s.held[e, j], num_ingredients)


@function
def _write_thing(out, first, thing, num_ingredients):
    """Write plate, cooked, and the number of each ingredient."""
    if thing == 0:
        return
    out[first], out[first + 1] = thing & 1, thing >> 1 & 1
    for k in range(num_ingredients):
        out[first + 2 + k] = thing >> 2 * (k + 1) & 3
