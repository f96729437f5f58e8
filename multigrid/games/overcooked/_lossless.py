"""The part *lossless*: layers of the kitchen, (W, H, LAYERS), as overcooked_ai encodes them for two players.

For N players, the observer first and then the others in index order:

| layers | 1, or the number, in cells |
|---|---|
| N | of each player |
| 4 N | of each player, in the layer of its direction: north, south, east, west |
| 6 | of pots, counters, supplies of onions, of tomatoes, of dishes, and places that serve |
| 2 | onions and tomatoes of soups in pots that do not cook |
| 2 | onions and tomatoes of all other soups, also on counters, and in hands, in the player's cell |
| 1 | how many steps the soup in a pot still cooks |
| 1 | soups in pots that are ready, and all soups elsewhere |
| 3 | dishes, onions and tomatoes on counters and in hands |
| 1 | everywhere, if fewer than 40 steps are left |

For two players these are the 26 layers of the original, which encodes no other number of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.games.overcooked._layouts import COUNTER, DISH, DISHES, ONION, ONIONS, POT, SERVING, SOUP, TOMATOES
from multigrid.runtime.compiled import inlined, unsigned

_STATIC = (POT, COUNTER, ONIONS, TOMATOES, DISHES, SERVING)
(_IN_POT, _IN_SOUP, _LEFT, _READY, _DISH, _ONION, _TOMATO, _URGENT) = (6, 8, 10, 11, 12, 13, 14, 15)
"""The layers after the first 5 N: onions come first, then tomatoes."""
_URGENT_STEPS = 40


def make_template(kind: NDArray[np.uint8], num_agents: int) -> NDArray[np.uint8]:
    """Return the layers of a kitchen without players and things, as one axis."""
    layers = np.zeros((*kind.shape, 5 * num_agents + 16), np.uint8)
    for layer, one in enumerate(_STATIC, 5 * num_agents):
        layers[..., layer] = kind == one
    return layers.ravel()


@inlined
def write_lossless(w: Any, s: Any, e: int, i: int, out: Any, most: int) -> None:
    """Write the layers of a kitchen, with times of at most `most`."""
    m, num_agents, width, height = w.map_index[e], w.num_agents[e], s.kind.shape[1], s.kind.shape[2]
    first, size = 5 * num_agents, 5 * num_agents + 16
    template, things, kinds = s.template[unsigned(m)], s.thing[unsigned(e)], s.kind[unsigned(m)]
    for k in range(out.shape[0]):
        out[k] = template[k]
    at = first
    for x in range(width):
        for y in range(height):
            there = int(things[x, y])
            if there > 0:
                if kinds[x, y] == POT:
                    _write_soup(s, m, out, at, there - SOUP, s.cooking[e, s.pot_in[m, x, y]], most)
                else:
                    _write_thing(out, at, there)
            at += size
    for j in range(num_agents):
        place = 0 if j == i else j + int(j < i)
        at = (w.location[e, j, 0] * height + w.location[e, j, 1]) * size
        out[unsigned(at + place)] = 1
        out[unsigned(at + num_agents + 4 * place + s.direction[e, j])] = 1
        if s.held[e, j] > 0:
            _write_thing(out, at + first, s.held[e, j])
    if 0 < w.max_cycles < w.steps[e] + _URGENT_STEPS:
        for k in range(first + _URGENT, out.shape[0], size):
            out[k] = 1


@inlined
def _write_thing(out: Any, at: int, thing: int) -> None:
    """Write what is on a counter or in a hand."""
    if thing > SOUP:
        out[unsigned(at + _IN_SOUP)], out[unsigned(at + _IN_SOUP + 1)] = (thing - SOUP) // 4, (thing - SOUP) % 4
        out[unsigned(at + _READY)] = 1
    else:
        out[unsigned(at + (_DISH if thing == DISH else _ONION if thing == ONION else _TOMATO))] = 1


@inlined
def _write_soup(s: Any, m: int, out: Any, at: int, recipe: int, cooking: int, most: int) -> None:
    """Write the soup in a pot."""
    layer = at + (_IN_SOUP if cooking > 0 else _IN_POT)
    out[unsigned(layer)], out[unsigned(layer + 1)] = recipe // 4, recipe % 4
    if cooking > 0:
        left = s.cook_time[m, recipe] + 1 - cooking
        out[unsigned(at + _LEFT)] = min(left, most)
        out[unsigned(at + _READY)] = left == 0
