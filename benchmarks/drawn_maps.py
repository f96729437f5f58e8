"""``python -m benchmarks.drawn_maps``: maps that are drawn, beside those of published definitions, by statistics."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import multigrid
from multigrid.cli._options import parse
from multigrid.maps import MapGenerator, RandomWalls, WallComponents, parse_map

_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_PRIMAL = (0.0, 0.33, 0.5)


@dataclasses.dataclass(frozen=True)
class DrawnMapsOptions:
    """Draw maps of PRIMAL, POGEMA and POGEMA's benchmark twice, and print a table of their statistics."""

    draws: int = 1000
    """The number of maps of each row."""
    benchmark: Path | None = None
    """The benchmark's experiments/02-mazes/maps.yaml, whose maps give one more row."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, draw, print, and return the exit code."""
    options = parse(DrawnMapsOptions, arguments, "python -m benchmarks.drawn_maps")
    print_row = sys.stdout.write
    print_row("| | | share of walls | of free cells, those in the largest component | path of two random cells |\n")
    print_row("|---|---|---:|---:|---:|\n")
    for name, (generator, define) in make_rows().items():
        random = np.random.default_rng(0)
        drawn = draw_maps(generator, options.draws)
        print_row(f"| {name} | drawn | {summarise(drawn)} |\n")
        print_row(f"| | by its definition | {summarise(define(random) for _ in range(options.draws))} |\n")
    if options.benchmark is not None:
        print_row(f"| | the benchmark's own maps | {summarise(read_mazes(options.benchmark))} |\n")
    return 0


def make_rows() -> dict[str, tuple[MapGenerator, Callable[[np.random.Generator], np.ndarray]]]:
    """Return, by name, a generator, and a function that draws a map by the published definition."""
    rows: dict[str, Any] = {}
    for side in (10, 25, 40):
        rows[f"PRIMAL, {side} x {side}"] = (
            RandomWalls(size=side, density=_PRIMAL),
            lambda random, side=side: random.random((side, side)) < random.triangular(*_PRIMAL),
        )
    rows["POGEMA, 20 x 20"] = (RandomWalls(size=20), lambda random: random.random((20, 20)) < 0.3)
    # The benchmark's own maps have sides of 17, 19 and 21.
    rows["mazes of POGEMA's benchmark, 19 x 19"] = WallComponents(size=19), lambda random: grow_walls(random, 19)
    return rows


def draw_maps(generator: MapGenerator, count: int) -> Iterator[np.ndarray]:
    """Return the maps that so many worlds draw."""
    envs = multigrid.vector_env(count, walls=generator, num_agents=1)
    envs.reset(seed=0)
    walls: Any = envs.get_state()["walls"]
    return iter(walls)


def grow_walls(random: np.random.Generator, side: int) -> np.ndarray:
    """Return a maze of a side that is odd, as pogema-toolbox defines it, with the ranges of the benchmark."""
    density, pieces, straight = random.uniform(0, 1), int(random.integers(1, 9)), random.uniform(0.75, 0.85)
    grid = np.ones((side + 2, side + 2), bool)
    grid[1:-1, 1:-1] = False
    for _ in range(int(grid.size * density // pieces)):
        x, y = (2 * int(random.integers(len(grid) // 2)) for _ in range(2))
        grid[x, y] = True
        last = (0, 0)
        for _ in range(pieces):
            ways = [(dx, dy) for dx, dy in _STEPS if 0 <= x + 2 * dx < side + 2 and 0 <= y + 2 * dy < side + 2]
            weights = np.array([straight if way == last else 1 - straight for way in ways])
            last = ways[int(random.choice(len(ways), p=weights / weights.sum()))]
            to_x, to_y = x + 2 * last[0], y + 2 * last[1]
            if not grid[to_x, to_y]:
                grid[x + last[0], y + last[1]] = grid[to_x, to_y] = True
                x, y = to_x, to_y
    return grid[1:-1, 1:-1]


def read_mazes(path: Path) -> Iterator[np.ndarray]:
    """Yield the maps of the benchmark's file: blocks of text."""
    for block in re.findall(r"(?:^ +[.#@$!]+\n?)+", path.read_text(), re.MULTILINE):
        yield parse_map(
            "\n".join(re.sub("[^#]", ".", line.strip()) for line in block.split("\n") if line.strip())
        ).walls


def summarise(maps: Iterator[np.ndarray]) -> str:
    """Return means with 95 % intervals: the share of walls, of the largest component, and a path's length."""
    random = np.random.default_rng(1)
    found = np.array([measure(walls, random) for walls in maps])
    cells = []
    for column, digits in zip(found.T, (3, 3, 1), strict=True):
        values = column[~np.isnan(column)]
        half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
        cells.append(f"{values.mean():.{digits}f} ± {half:.{digits}f}")
    return " | ".join(cells)


def measure(walls: np.ndarray, random: np.random.Generator) -> tuple[float, float, float]:
    """Return the share of walls, that of the largest component, and the path between two random cells of one."""
    left = set(map(tuple, np.argwhere(~walls).tolist()))
    if not left:
        return 1.0, np.nan, np.nan
    start = sorted(left)[int(random.integers(len(left)))]
    free, largest, distances = len(left), 0, {}
    while left:
        first = start if start in left else next(iter(left))
        found = flood(left, first)
        largest = max(largest, len(found))
        distances = distances or found
        left -= found.keys()
    others = sorted(set(distances) - {start})
    path = distances[others[int(random.integers(len(others)))]] if others else np.nan
    return float(walls.mean()), largest / free, path


def flood(cells: set[tuple[int, int]], start: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Return the distances from a cell to all that it reaches."""
    distances, queue = {start: 0}, deque([start])
    while queue:
        x, y = queue.popleft()
        for dx, dy in _STEPS:
            to = (x + dx, y + dy)
            if to in cells and to not in distances:
                distances[to] = distances[x, y] + 1
                queue.append(to)
    return distances


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
