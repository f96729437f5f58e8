"""Levels, what an episode begins with: kept for each world whose maps are drawn, and set in place of a drawn one."""

from __future__ import annotations

from multigrid.core.arrays import ABSENT, Arrays
from multigrid.core.map_generators import FREE, build_map
from multigrid.core.placement import set_layout
from multigrid.maps._cells import WALL
from multigrid.runtime.compiled import inlined


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
