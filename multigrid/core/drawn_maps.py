"""Draw maps from the streams of the worlds, as `multigrid.maps.MapGenerator` describes, and build what follows.

Map m is that of world m. In the copies of the kernels for a generator, `_draw_own_map` and `_restore_own_map` stand in
the places of the stubs of `multigrid.core.hooks`, and `generate` is the generator's function.
"""

from __future__ import annotations

from typing import Any

from multigrid._checks import shorten
from multigrid.core import hooks
from multigrid.core.map_generators import DX, DY, FREE, KERNELS
from multigrid.core.rules import build_moves
from multigrid.maps._cells import WALL
from multigrid.maps._drawn import MapGenerator
from multigrid.runtime import pcg64
from multigrid.runtime.arrays import NOBODY, Arrays
from multigrid.runtime.compiled import compiles_games, find_plain, kernel
from multigrid.runtime.copies import Copies, digest_functions
from multigrid.runtime.kernels import Kernels
from multigrid.runtime.pcg64 import draw_integer
from multigrid.runtime.world_generators import PLAIN

LEAST_SIDE, LARGEST_SIDE = 0, 1
_PATIENCE = 100
_FOUND: dict[type[MapGenerator], Kernels] = {}

generate: Any = None


def _draw_own_map(w: Arrays, e: int) -> int:
    width, height = w.components.shape[1], w.components.shape[2]
    if w.map_options[LEAST_SIDE] > 0:
        least, largest = int(w.map_options[LEAST_SIDE]), int(w.map_options[LARGEST_SIDE])
        width = height = least + draw_integer(w.streams, e, largest - least + 1)
    tries = 0
    generate(w, e, width, height, 1.0)
    while build_map(w, e) < w.num_agents[e]:
        tries += 1
        generate(w, e, width, height, 0.5 ** (tries // _PATIENCE))
    return int(e)


def _restore_own_map(w: Arrays, e: int, given: Arrays, k: int) -> None:
    for x in range(w.components.shape[1]):
        for y in range(w.components.shape[2]):
            w.components[e, x, y] = given.components[k, x, y]
    build_map(w, e)
    w.map_index[e] = e


@kernel
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
            if components[x, y] == WALL:
                sizes[WALL] += 1
            elif components[x, y] == FREE:
                count += 1
                size = _flood(components, queue, x, y, count)
                sizes[count] = size
                room += size if size > 1 else 0
    build_moves(w, m)
    if w.blocked.shape[0] > 0:
        radius = (w.blocked.shape[1] - width) // 2
        for x in range(width):
            for y in range(height):
                w.blocked[m, x + radius, y + radius] = components[x, y] == WALL
    return room


@kernel
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


def find_generator(generator: MapGenerator) -> Any:
    """Return the kernel of a generator; raise TypeError for one that has none."""
    kernel_of = KERNELS.get(type(generator))
    if kernel_of is None:
        names = ", ".join(one.__name__ for one in KERNELS)
        raise TypeError(f"walls is {shorten(generator)}; expected one of {names}")
    return kernel_of


def specialise(generator: MapGenerator, kernels: Kernels) -> Kernels:
    """Return the kernels of worlds that draw their maps, given those of worlds whose maps are known."""
    kind = type(generator)
    if kind not in _FOUND:
        draw, is_compiled = find_generator(generator), compiles_games()
        copies = Copies(f"{kind.__name__}-{digest_functions([find_plain(draw), _draw_own_map, _restore_own_map], '')}")
        copies.replace(hooks.draw_own_map, copies.fill(_draw_own_map, {"generate": copies.copy(draw)}))
        copies.replace(hooks.restore_own_map, copies.fill(_restore_own_map, {}))
        copied = kernels.change(copies.copy if is_compiled else lambda kernel: find_plain(copies.copy(kernel)))
        draws = [one for one in (pcg64.draw_integer, pcg64.next_float) if copies.find(one) is not one]
        plain = {copies.find(one): find_plain(one) for one in draws}
        plain |= {copies.find(one): run for one, run in PLAIN.items()}
        _FOUND[kind] = copied._replace(are_compiled=is_compiled, plain=plain)
    return _FOUND[kind]
