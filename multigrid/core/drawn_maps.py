"""Draw maps from the streams of the worlds, as `multigrid.maps.MapGenerator` describes, and build what follows.

Map m is that of world m. `HOOKS` take the places of those of `multigrid.core.hooks`, and ``w.hooks.generate`` is the
generator's kernel. A level, what an episode begins with, is kept for each world, and can replace a drawn one.
"""

from __future__ import annotations

from typing import Any

from multigrid._checks import shorten
from multigrid.core.arrays import ABSENT, Arrays
from multigrid.core.map_generators import FREE, KERNELS, build_map
from multigrid.core.placement import set_layout
from multigrid.maps._cells import WALL
from multigrid.maps._drawn import MapGenerator
from multigrid.runtime.compiled import inlined
from multigrid.runtime.pcg64 import draw_integer

LEAST_SIDE, LARGEST_SIDE = 0, 1
_PATIENCE = 100


@inlined
def take_level(w: Arrays, e: int) -> bool:
    """Set the level of `Arrays.next_cells`, if there is one, which is then forgotten; return whether there was."""
    if w.next_cells[e, 0, 0] == ABSENT:
        w.level_ids[e] = ABSENT
        return False
    for x in range(w.components.shape[1]):
        for y in range(w.components.shape[2]):
            w.components[e, x, y] = WALL if w.next_walls[e, x, y] else FREE
    build_map(w, e)
    w.map_index[e], w.level_ids[e] = e, w.next_ids[e]
    set_layout(w, e, w.next_cells, e)
    w.next_cells[e, 0, 0] = ABSENT
    return True


@inlined
def keep_beginning(w: Arrays, e: int) -> None:
    """Keep the layout with which an episode begins."""
    for i in range(w.location.shape[1]):
        for axis in range(2):
            takes_part = i < w.num_agents[e]
            w.beginnings[e, i, axis] = w.location[e, i, axis] if takes_part else ABSENT
            w.beginnings[e, i, 2 + axis] = w.target[e, i, axis] if takes_part else ABSENT


@inlined
def restore_beginning(w: Arrays, e: int, given: Arrays, k: int) -> None:
    """Copy the beginning of world k of other arrays to world e; states have no number of a level."""
    for i in range(w.location.shape[1]):
        for column in range(4):
            w.beginnings[e, i, column] = given.beginnings[k, i, column]
    w.level_ids[e] = ABSENT


@inlined
def _draw_own_map(w: Arrays, e: int) -> int:
    width, height = w.components.shape[1], w.components.shape[2]
    if w.map_options[LEAST_SIDE] > 0:
        least, largest = int(w.map_options[LEAST_SIDE]), int(w.map_options[LARGEST_SIDE])
        width = height = least + draw_integer(w.streams, e, largest - least + 1)
    tries = 0
    w.hooks.generate(w, e, width, height, 1.0)
    while build_map(w, e) < w.num_agents[e]:
        tries += 1
        w.hooks.generate(w, e, width, height, 0.5 ** (tries // _PATIENCE))
    return int(e)


@inlined
def _restore_own_map(w: Arrays, e: int, given: Arrays, k: int) -> None:
    for x in range(w.components.shape[1]):
        for y in range(w.components.shape[2]):
            w.components[e, x, y] = given.components[k, x, y]
    build_map(w, e)
    w.map_index[e] = e
    restore_beginning(w, e, given, k)


HOOKS = {
    "take_level": take_level,
    "draw_own_map": _draw_own_map,
    "restore_own_map": _restore_own_map,
    "keep_beginning": keep_beginning,
}
"""The hooks of worlds that draw their maps."""


def find_generator(generator: MapGenerator) -> Any:
    """Return the kernel of a generator; raise TypeError for one that has none."""
    kernel_of = KERNELS.get(type(generator))
    if kernel_of is None:
        names = ", ".join(one.__name__ for one in KERNELS)
        raise TypeError(f"walls is {shorten(generator)}; expected one of {names}")
    return kernel_of
