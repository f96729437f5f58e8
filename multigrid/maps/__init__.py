"""Read, write and generate maps: as pictures in text, as MovingAI's files, and at random.

A map is a boolean array [x, y], True at a wall, as `GridConfig` takes it.

>>> print(format_map(random_map(8, 3, density=0.25, seed=0)))
.#.....#
....#...
#..#..#.
"""

from multigrid.maps._descriptions import read_map
from multigrid.maps._drawn import Caves, MapGenerator, Mazes, RandomWalls, Rooms, WallComponents, Warehouses, generate
from multigrid.maps._generators import maze, random_map, rooms, warehouse
from multigrid.maps._levels import Level, mutate
from multigrid.maps._movingai import ScenarioRow, load_map, load_scenario, save_map, save_scenario
from multigrid.maps._text import ParsedMap, format_map, parse_map

__all__ = [
    "Caves", "Level", "MapGenerator", "Mazes", "ParsedMap", "RandomWalls", "Rooms", "ScenarioRow", "WallComponents",
    "Warehouses", "format_map", "generate", "load_map", "load_scenario", "maze", "mutate", "parse_map", "random_map",
    "read_map", "rooms", "save_map", "save_scenario", "warehouse",
]  # fmt: skip
