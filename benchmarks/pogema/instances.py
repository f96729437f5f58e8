"""The instances of the POGEMA benchmark: maps with agents and their targets.

A clone has a folder ``algorithms/experiments/NN-NAME`` for each set. Its file ``maps.yaml`` holds pictures, in which
only ``#`` is a wall. ``NN-NAME-mapf.yaml`` and, for lifelong path finding, ``NN-NAME-lmapf.yaml`` hold the number of
steps, and scenarios with a map, a seed, and cells as [row, column]. An instance of n agents has the first n agents of a
scenario.

The published results of Warehouse are of other instances than the lists in its files: of those that POGEMA draws from
the same picture. These are the set "warehouse"; the lists are the set "warehouse-lists". The sets "random-dense" and
"mazes-dense" have more agents than the lists of Random and Mazes, on the same maps: POGEMA draws them, too, and their
first agents are those of the lists.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.pogema.clone import Clone, DataError
from multigrid._checks import check_int, check_name, shorten
from multigrid.config import GridConfig
from multigrid.maps._cells import label_components
from multigrid.maps._layouts import is_listed
from multigrid.maps._text import ParsedMap
from multigrid.scenarios import Scenario

Kind: TypeAlias = Literal["mapf", "lmapf"]
"""*mapf*: an episode ends when all agents stand on their targets; *lmapf*: agents get one target after the other."""

LISTS = "warehouse-lists"
"""The set of the lists in the files of Warehouse."""
DENSE = ("random-dense", "mazes-dense")
"""The sets with more agents than the benchmark has, for which others have published rows."""

SETS: dict[str, tuple[int, ...]] = {
    "random": (8, 16, 24, 32, 48, 64),
    "mazes": (8, 16, 24, 32, 48, 64),
    "warehouse": (32, 64, 96, 128, 160, 192),
    "movingai": (64, 128, 192, 256),
    "puzzles": (2, 3, 4),
    "pathfinding": (1,),
    LISTS: (32, 64, 96, 128, 160, 192),
    **dict(zip(DENSE, ((80, 96), (80,)), strict=True)),
}
"""The sets, those with a folder in the order of their numbers, and their numbers of agents."""

SINGLE = ("warehouse", "pathfinding", *DENSE)
"""The sets without lifelong scenarios."""
UNPUBLISHED = (LISTS, *DENSE)
"""The sets for which a clone has no results, and no folder of their own."""

DRAWN = {"warehouse": 128, **dict.fromkeys(DENSE, 1)}
"""The sets that POGEMA draws, and the number of scenarios of each map: those of the seeds from 0 on."""
_ON_TARGET = {"mapf": "nothing", "lmapf": "restart"}


@dataclasses.dataclass(frozen=True, eq=False)
class Instance:
    """A map with agents and the targets of each; `seed` is the number of the scenario among those of the map."""

    kind: Kind
    set: str
    map: str
    seed: int
    walls: NDArray[np.bool_]
    """bool (W, H), True at ``[x, y]`` for a wall."""
    starts: NDArray[np.int64]
    """int64 (N, 2), the agents' cells."""
    targets: tuple[NDArray[np.int64], ...]
    """int64 (L, 2) for each agent: L is 1, or in a lifelong world the number of targets of this agent."""
    steps: int
    """The largest number of steps."""
    source: str = ""
    """The file and the scenario, for error messages."""

    @property
    def num_agents(self) -> int:
        """N."""
        return len(self.starts)

    @property
    def name(self) -> str:
        """MAP-SEED-AGENTS, such as puzzle-00-009-4."""
        return f"{self.map}-{self.seed:03}-{self.num_agents}"

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """The kind, set, map, seed and number of agents, which no two instances share."""
        return self.kind, self.set, self.map, self.seed, self.num_agents

    def select(self, num_agents: int) -> Instance:
        """Return the instance of the first agents alone.

        Raises:
            TypeError, ValueError: it has no such number of agents.
        """
        if check_int("num_agents", num_agents, 1) > self.num_agents:
            raise ValueError(
                f"num_agents is {num_agents}; expected at most {self.num_agents}, the agents of {self.name}"
            )
        return dataclasses.replace(self, starts=self.starts[:num_agents], targets=self.targets[:num_agents])

    def scenario(self) -> Scenario:
        """Return the instance as a scenario, under POGEMA's rules: "soft" collisions; "stay" on targets, or "restart".

        Raises:
            DataError: the layout is not valid, see `GridConfig`.
        """
        targets: Any = self.targets if self.kind == "lmapf" else np.concatenate([cells[:1] for cells in self.targets])
        try:
            config = GridConfig(
                walls=ParsedMap(self.walls, self.starts, targets),
                collisions="soft",
                on_target="restart" if self.kind == "lmapf" else "stay",
                allow_stay=True,
                max_cycles=self.steps,
            )
        except ValueError as error:
            raise DataError(f"{self.source}: {error}") from error
        return Scenario(self.name, config)


def load(clone: str | PathLike[str], name: str, kind: Kind = "mapf", *, check: bool = True) -> list[Scenario]:
    """Return all instances of a set as scenarios, by number of agents, then by map and seed.

    An instance is an ordinary scenario, which can be played and recorded; those of the kind "mapf" can be solved. The
    rules are POGEMA's: "soft" collisions, the stay action, and "stay" on targets or, with lists of targets, "restart".

    Args:
        clone: the folder of a clone of CognitiveAISystems/pogema-benchmark at commit 3303133.
        name: one of `SETS`.
        kind: "mapf" or "lmapf".
        check: whether the files must have the SHA-256 sums of those at that commit; if False, other files of the same
            form are read, too.

    Raises:
        DataError: a file is missing or differs, or a scenario is not as expected. The message names it.
        ModuleNotFoundError: PyYAML is not installed.
        ValueError: there is no such set or kind.
    """
    return [instance.scenario() for instance in read_instances(clone, name, kind, check=check)]


def read_instances(
    clone: str | PathLike[str],
    name: str,
    kind: Kind = "mapf",
    *,
    agents: Sequence[int] | None = None,
    every: int = 1,
    check: bool = True,
) -> list[Instance]:
    """Return instances of a set as arrays, by number of agents, then by map and seed.

    Args:
        clone: as for `load`.
        name: as for `load`.
        kind: "mapf" or "lmapf".
        agents: the numbers of agents; None for those of the set.
        every: take only every K-th scenario, from the first one on.
        check: as for `load`.

    Raises:
        DataError, ModuleNotFoundError, ValueError: as for `load`, or `agents` or `every` is out of range.
        TypeError: `agents` or `every` is of another type.
    """
    file, every = file_of(name, kind), check_int("every", every, 1)
    numbers = SETS[name] if agents is None else _check_numbers(agents)
    files = Clone(Path(clone), check)
    pictures = dict(_read_pictures(files, f"{folder_of(name)}/maps.yaml"))
    drawn = DRAWN.get(name, 0)
    found = _draw_scenarios(files, file, pictures, drawn) if drawn else _read_scenarios(files, file, pictures)
    scenarios = sorted(found, key=lambda one: (one[0], one[1]))
    for (map_name, seed, *_), following in itertools.pairwise(scenarios):
        if (map_name, seed) == following[:2]:
            raise files.error(file, f"has two scenarios of the map {shorten(map_name)} with the seed {seed}")
    whole = [Instance(kind, name, *fields) for fields in scenarios[::every]]
    for instance in whole:
        if instance.num_agents < max(numbers):
            raise DataError(f"{instance.source} has {instance.num_agents} agents; expected at least {max(numbers)}")
    return [instance.select(count) for count in numbers for instance in whole]


def _check_numbers(agents: Any) -> tuple[int, ...]:
    """Return numbers of agents without repetitions."""
    if not is_listed(agents):
        raise TypeError(f"agents is {shorten(agents)}; expected numbers of agents in a list, or None")
    numbers = tuple(dict.fromkeys(check_int("a number of agents", count, 1) for count in agents))
    if not numbers:
        raise ValueError("agents is empty; expected at least one number of agents, or None for those of the set")
    return numbers


def folder_of(name: str, above: str = "algorithms/experiments") -> str:
    """Return the path of the folder of a set, within a clone."""
    folder = check_name("the set", name, tuple(SETS)).partition("-")[0]
    return f"{above}/{tuple(SETS).index(folder) + 1:02}-{folder}"


def file_of(name: str, kind: Kind) -> str:
    """Return the path of the scenarios of a set, within a clone."""
    folder = folder_of(name)
    check_name("kind", kind, get_args(Kind))
    if kind == "lmapf" and name in SINGLE:
        raise ValueError(f"the set {name!r} has no lifelong scenarios; expected the kind 'mapf', or another set")
    return f"{folder}/{Path(folder).name}-{kind}.yaml"


def _read_pictures(files: Clone, path: str) -> Iterator[tuple[str, NDArray[np.str_]]]:
    """Yield the name and the letters, (W, H), of each map."""
    pictures = files.read_yaml(path)
    if not isinstance(pictures, dict) or not pictures:
        raise files.error(path, "has no maps")
    for name, picture in pictures.items():
        lines = picture.split() if isinstance(picture, str) else []
        if not lines or len({len(line) for line in lines}) > 1:
            raise files.error(path, f"has a map {shorten(name)} that is no picture with lines of one length")
        yield str(name), np.array([list(line) for line in lines]).T


def _read_content(files: Clone, path: str) -> tuple[dict[str, Any], int]:
    """Return the scenarios in a file, and their number of steps."""
    content = files.read_yaml(path)
    try:
        environment, scenarios = content["environment"], content["scenarios"]
        steps = check_int("max_episode_steps", environment["max_episode_steps"], 1)
        rules = environment["collision_system"], environment["on_target"]
        scenarios = dict(scenarios)
    except (KeyError, TypeError, ValueError) as error:
        raise files.error(path, f"lacks scenarios, or what they have in common: {error!r}") from error
    if rules != ("soft", _ON_TARGET[path.rpartition("-")[2].removesuffix(".yaml")]):
        raise files.error(path, f"has the rules {shorten(rules)}")
    if not scenarios:
        raise files.error(path, "has no scenarios")
    return scenarios, steps


def _draw_scenarios(
    files: Clone, path: str, pictures: Mapping[str, NDArray[np.str_]], seeds: int
) -> Iterator[tuple[Any, ...]]:
    """Yield what `_read_scenarios` does of the scenarios that POGEMA 1.4 draws, with all agents for which it has room.

    Starts are the ``@`` of a map, and targets the ``$``, or both are any free cells. Cells come in lists by rows, which
    one generator shuffles.
    """
    _, steps = _read_content(files, path)
    for name, letters in pictures.items():
        walls = _find_walls(letters)
        has_places = bool((letters == "@").any() and (letters == "$").any())
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            starts, targets = _draw_places(letters, random) if has_places else _draw_cells(walls, random)
            for cells in (starts, targets):
                cells.setflags(write=False)
            yield name, seed, walls, starts, tuple(targets[:, None]), steps, f"{name}, seed {seed}"


def _draw_places(letters: NDArray[np.str_], random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and targets, int64 (N, 2) each, from ``@`` and ``$``."""
    starts, targets = (np.argwhere(letter == letters.T)[:, ::-1].copy() for letter in "@$")
    for cells in (starts, targets):
        random.shuffle(cells)
    count = min(len(starts), len(targets))
    return starts[:count], targets[:count]


def _draw_cells(walls: NDArray[np.bool_], random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and targets, int64 (N, 2) each, from the free cells.

    Of each component, the 1st, 3rd, ... of the shuffled cells is a start, and the cell after it this agent's target.
    """
    cells = np.argwhere(~walls.T)[:, ::-1].copy()
    random.shuffle(cells)
    components = label_components(walls)[tuple(cells.T)]
    pairs = np.empty((0, 2), np.int64)
    for component in np.unique(components):
        own = np.flatnonzero(components == component)
        pairs = np.concatenate([pairs, own[: len(own) // 2 * 2].reshape(-1, 2)])
    starts, targets = pairs[pairs[:, 0].argsort()].T
    return cells[starts], cells[targets]


def _find_walls(letters: NDArray[np.str_]) -> NDArray[np.bool_]:
    walls: NDArray[np.bool_] = letters == "#"
    walls.setflags(write=False)
    return walls


def _read_scenarios(files: Clone, path: str, pictures: Mapping[str, NDArray[np.str_]]) -> Iterator[tuple[Any, ...]]:
    """Yield the map, seed, walls, starts, targets, steps and source of each scenario."""
    scenarios, steps = _read_content(files, path)
    maps = {name: _find_walls(letters) for name, letters in pictures.items()}
    for name, fields in scenarios.items():
        try:
            layout = _read_layout(fields, maps)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            what = f"it has no field {error}" if isinstance(error, KeyError) else str(error)
            raise files.error(path, f"has a {name} that is not as expected: {what}") from error
        yield *layout, steps, f"{files.folder / path}, {name}"


def _read_layout(fields: Any, maps: Mapping[str, NDArray[np.bool_]]) -> tuple[Any, ...]:
    """Return the map, seed, walls, starts and targets of a scenario; raise an error if it is not as expected."""
    name, seed = fields["map_name"], check_int("seed", fields["seed"], 0)
    if name not in maps:
        raise ValueError(f"there is no map {shorten(name)} in maps.yaml")
    walls = maps[name]
    starts = _make_cells("agents_xy", fields["agents_xy"])
    targets = []
    for index, given in enumerate(fields["targets_xy"]):
        if not given:
            raise ValueError(f"agent_{index} has an empty list of targets")
        targets.append(_make_cells(f"targets_xy of agent_{index}", given if isinstance(given[0], list) else [given]))
    if len(targets) != len(starts):
        raise ValueError(f"it has {len(starts)} agents and {len(targets)} lists of targets")
    for what, cells in (("the start", [starts]), ("a target", targets)):
        owners = np.repeat(np.arange(len(starts)), 1 if what == "the start" else [len(rows) for rows in cells])
        x, y = np.concatenate(cells).T
        inside = (x >= 0) & (y >= 0) & (x < walls.shape[0]) & (y < walls.shape[1])
        bad = ~inside
        bad[inside] = walls[x[inside], y[inside]]
        if bad.any():
            first = int(bad.argmax())
            where = "in a wall" if inside[first] else f"outside the {walls.shape[0]} x {walls.shape[1]} cells"
            raise ValueError(
                f"{what} of agent_{owners[first]}, row {y[first]} and column {x[first]}, is {where} of the map {name}"
            )
    return name, seed, walls, starts, tuple(targets)


def _make_cells(what: str, rows: Any) -> NDArray[np.int64]:
    """Return cells [x, y], int64 (L, 2), for rows and columns."""
    try:
        cells = np.array(rows)
    except ValueError:  # ragged
        cells = np.empty(0)
    if cells.dtype.kind != "i" or cells.ndim != 2 or cells.shape[1] != 2:
        raise ValueError(f"{what} is {shorten(rows)}; expected a list of [row, column]")
    cells = np.ascontiguousarray(cells[:, ::-1], dtype=np.int64)
    cells.setflags(write=False)
    return cells
