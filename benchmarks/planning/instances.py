"""The instances and published results of the POGEMA benchmark, read from a clone of its repository.

The clone is that of CognitiveAISystems/pogema-benchmark, at commit 3303133. Of each set NN-NAME it holds

- ``algorithms/experiments/NN-NAME/maps.yaml``: pictures of the maps, of which ``#`` alone is a wall;
- ``algorithms/experiments/NN-NAME/NN-NAME-mapf.yaml``, and ``-lmapf.yaml`` for lifelong worlds: the largest number of
  steps, and for each scenario its map, its seed, and the agents' cells and targets, as [row, column]; a lifelong agent
  has a list of targets;
- ``raw_data_MAPF/NN-NAME/ALGORITHM.json``, and ``raw_data_LMAPF``: the published results of each algorithm.

An instance of n agents consists of the first n agents of a scenario. The files are read by regular expressions for the
form that they have, not as YAML in general.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["SETS", "DataError", "Instance", "Kind", "read_instances", "read_published"]

Kind = Literal["mapf", "lmapf"]

SETS = {
    "random": (8, 16, 24, 32, 48, 64),
    "mazes": (8, 16, 24, 32, 48, 64),
    "warehouse": (32, 64, 96, 128, 160, 192),
    "movingai": (64, 128, 192, 256),
    "puzzles": (2, 3, 4),
    "pathfinding": (1,),
}
"""The sets, and their numbers of agents."""

_WANTED = "expected a clone of CognitiveAISystems/pogema-benchmark at commit 3303133"
_MAP = re.compile(r'^"?([^"\s:]+)"?: \|-?\n((?: +\S+\n?)+)', re.MULTILINE)
_SCENARIO = re.compile(r"^  \S+:\n((?:    .*\n?)+)", re.MULTILINE)
_FIELD = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", re.MULTILINE)
_STEPS = re.compile(r"^  max_episode_steps: (\d+)$", re.MULTILINE)


class DataError(Exception):
    """The folder lacks a file, or a file has another content than expected; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Instance:
    """A map with agents and their targets, one for each or, in a lifelong world, a list for each.

    Attributes:
        name: its map and seed.
        walls: bool (W, H), True at ``[x, y]`` for a wall.
        starts: int64 (N, 2), the agents' cells.
        targets: int64 (L, 2) for each agent.
        steps: the largest number of steps.
    """

    name: str
    walls: NDArray[np.bool_]
    starts: NDArray[np.int64]
    targets: tuple[NDArray[np.int64], ...]
    steps: int


def read_instances(clone: Path, kind: Kind, name: str) -> list[Instance]:
    """Return the instances of a set, each with the largest number of agents, sorted by name.

    Raises:
        DataError: a file is missing, or not as expected.
    """
    folder = _find_folder(clone / "algorithms" / "experiments", name)
    maps_file, file = folder / "maps.yaml", folder / f"{folder.name}-{kind}.yaml"
    maps = {found[1]: _read_walls(found[2]) for found in _MAP.finditer(_read(maps_file))}
    head, _, rest = _read(file).partition("\nscenarios:\n")
    steps = _STEPS.search(head)
    scenarios = [dict(_FIELD.findall(found[1])) for found in _SCENARIO.finditer(rest)]
    if not scenarios or not maps or steps is None:
        raise DataError(f"{file}: no scenarios, maps or steps; {_WANTED}")
    try:
        instances = [_make_instance(fields, maps, int(steps[1])) for fields in scenarios]
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise DataError(f"{file}: a scenario is not as expected: {error!r}; {_WANTED}") from error
    for instance in instances:
        if len(instance.starts) < max(SETS[name]):
            raise DataError(
                f"{file}: {instance.name} has {len(instance.starts)} agents, not {max(SETS[name])}; {_WANTED}"
            )
    return sorted(instances, key=lambda instance: instance.name)


def read_published(clone: Path, kind: Kind, name: str) -> list[tuple[str, str, int, dict[str, float]]]:
    """Return algorithm, instance, number of agents and metrics of each published result of a set.

    Raises:
        DataError: a file is missing, or not as expected.
    """
    instances = read_instances(clone, kind, name)
    folder = _find_folder(clone / f"raw_data_{kind.upper()}", name)
    files = sorted(folder.glob("*.json"))
    if not files:
        raise DataError(f"{folder}: no published results; {_WANTED}")
    # Where a set has only one map, or only one seed, the results do not name it.
    only = [min({instance.name.split()[part] for instance in instances}) for part in (0, 1)]
    most = len(instances[0].starts)
    rows = []
    try:
        for file in files:
            for row in json.loads(_read(file)):
                given = row["env_grid_search"]
                name = _name(given.get("map_name", only[0]), given.get("seed", only[1]))
                rows.append((file.stem, name, int(given.get("num_agents", most)), dict(row["metrics"])))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file}: a result is not as expected: {error!r}; {_WANTED}") from error
    return rows


def _find_folder(folder: Path, name: str) -> Path:
    found = sorted(folder.glob(f"[0-9][0-9]-{name}"))
    if len(found) != 1:
        raise DataError(f"{folder} has {len(found)} folders ??-{name}; {_WANTED}")
    return found[0]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: {error}; {_WANTED}") from error


def _name(map_name: str, seed: Any) -> str:
    return f"{map_name} {int(seed):03}"


def _read_walls(picture: str) -> NDArray[np.bool_]:
    return np.array([[letter == "#" for letter in line] for line in picture.split()]).T


def _make_instance(fields: dict[str, str], maps: dict[str, NDArray[np.bool_]], steps: int) -> Instance:
    starts, rows = (json.loads(fields[key]) for key in ("agents_xy", "targets_xy"))
    lists = [row if isinstance(row[0], list) else [row] for row in rows]
    targets = tuple(np.array(cells)[:, ::-1] for cells in lists)
    name = fields["map_name"].strip('"')
    instance = Instance(_name(name, fields["seed"]), maps[name], np.array(starts)[:, ::-1], targets, steps)
    for cells in (instance.starts, *targets):
        if cells.min() < 0 or instance.walls[tuple(cells.T)].any():
            raise ValueError(f"{instance.name}: an agent or a target on a wall")
    if len(targets) != len(starts):
        raise ValueError(f"{instance.name}: {len(starts)} agents, {len(targets)} targets")
    return instance
