"""Draw maps from the streams of the worlds, as `multigrid.maps.MapGenerator` describes, and build what follows.

Map m is that of world m. In the copies of the kernels for a generator, `_draw_own_map` and `_restore_own_map` stand in
the places of the stubs of `multigrid.core.hooks`, and `generate` is the generator's function.
"""

from __future__ import annotations

from typing import Any

from multigrid._checks import shorten
from multigrid.core import hooks, levels
from multigrid.core.map_generators import KERNELS, build_map
from multigrid.maps._drawn import MapGenerator
from multigrid.runtime import pcg64
from multigrid.runtime.arrays import Arrays
from multigrid.runtime.compiled import compiles_games, find_plain
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
        functions: dict[Any, Any] = {
            hooks.take_level: levels.take_level,
            hooks.draw_own_map: _draw_own_map,
            hooks.restore_own_map: _restore_own_map,
            hooks.begin: levels.keep_beginning,
            hooks.restore: levels.restore_beginning,
        }
        copies = Copies(f"the maps of {kind.__name__}-{digest_functions([find_plain(draw), *functions.values()])}")
        called = {"generate": copies.copy(draw)}
        for stub, function in functions.items():
            copies.replace(stub, copies.fill(function, called if function is _draw_own_map else {}))
        copied = kernels.change(copies.copy if is_compiled else lambda kernel: find_plain(copies.copy(kernel)))
        draws = [one for one in (pcg64.draw_integer, pcg64.next_float) if copies.find(one) is not one]
        plain = {copies.find(one): find_plain(one) for one in draws}
        plain |= {copies.find(one): run for one, run in PLAIN.items()}
        _FOUND[kind] = copied._replace(are_compiled=is_compiled, plain=plain)
    return _FOUND[kind]
