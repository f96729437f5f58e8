"""Rows, one for each algorithm and instance: the published rows of the POGEMA benchmark, and checks of any rows.

A clone holds the published ones in ``raw_data_MAPF/NN-SET/ALGORITHM.json``; ``raw_data_LMAPF`` has the lifelong ones.

The rows of Warehouse are of the instances of the set "warehouse", which POGEMA draws, not of the lists in the clone.
Those of the kind "lmapf" are of targets that POGEMA draws during the episode; no instances here have them. Some
algorithms lack rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, get_args

from benchmarks.pogema.clone import Clone
from benchmarks.pogema.instances import LISTS, SETS, UNPUBLISHED, Instance, Kind, folder_of, read_instances
from multigrid._checks import check_int, check_name, is_int, shorten

Row: TypeAlias = dict[str, Any]
"""What an algorithm reached on an instance; `published` lists the keys."""

INSTANCE = ("set", "map", "seed", "agents")
"""The keys of a row that name its instance."""

_LEAST = {"seed": 0, "agents": 1}
_EXPECTED = "expected dicts as benchmarks.pogema.published and play return them"

_METRICS = {"csr": "CSR", "isr": "ISR", "sum_of_costs": "SoC", "makespan": "makespan"} | {
    "throughput": "avg_throughput", "steps": "ep_length", "seconds": "runtime"
}  # fmt: skip


def published(
    clone: str | PathLike[str], kind: Kind = "mapf", *, sets: Sequence[str] | None = None, check: bool = True
) -> list[Row]:
    """Return the published results, sorted by set and file.

    Args:
        clone: the folder of a clone of CognitiveAISystems/pogema-benchmark at commit 3303133.
        kind: "mapf" or "lmapf". The lifelong algorithms' rows of the set "pathfinding" are of single episodes.
        sets: names of sets; None for all. There are no rows of "warehouse-lists", "random-dense" and
            "mazes-dense".
        check: as for `benchmarks.pogema.load`.

    Returns:
        Dicts with the keys "kind", "set", "map", "seed", "agents" and "algorithm", and with floats, or None for what
        was not measured: "csr", "isr", "sum_of_costs", "makespan" and "throughput", as `multigrid.core.metrics` defines
        them; "steps", the length of the episode, which here is one less than the number of steps until the last
        arrival; "collisions", the refused moves of all agents; "seconds", the time of computing, on several machines.

    Raises:
        DataError: a file is missing or differs, or a row is not as expected. The message names it.
        ModuleNotFoundError: PyYAML is not installed.
        TypeError: `sets` is no list.
        ValueError: there is no such set or kind.
    """
    check_name("kind", kind, get_args(Kind))
    if isinstance(sets, str):
        raise TypeError(f"sets is {shorten(sets)}; expected a list of names, or None for all sets")
    names = SETS if sets is None else dict.fromkeys(check_name("a set", name, tuple(SETS)) for name in sets)
    return [
        row for name in names if name not in UNPUBLISHED for row in _read_set(Clone(Path(clone), check), kind, name)
    ]


def _read_set(files: Clone, kind: Kind, name: str) -> Iterator[Row]:
    # Lifelong rows of Warehouse have the maps, seeds and steps of the lists.
    source = LISTS if (kind, name) == ("lmapf", "warehouse") else name
    instances = read_instances(files.folder, source, "mapf" if name == "pathfinding" else kind, check=files.check)
    known = {instance.key[2:]: instance for instance in instances}
    for path in _list_results(files, folder_of(name, f"raw_data_{kind.upper()}")):
        seen = set()
        for row in read_results(files, path, functools.partial(_make_row, first=instances[0], known=known)):
            key = row["map"], row["seed"], row["agents"]
            if key in seen:
                raise files.error(path, f"has two results for {known[key].name}")
            seen.add(key)
            yield {"kind": kind, "set": name, **row}


def read_results(files: Clone, path: str, make_row: Callable[[Any], Row]) -> Iterator[Row]:
    """Yield the row of each result in a JSON file; a DataError names the result of which there is none."""
    given = files.read_json(path)
    if not isinstance(given, list):
        raise files.error(path, "has no list of results")
    for number, result in enumerate(given):
        try:
            _check_form(result)
            row = make_row(result)
        except (KeyError, TypeError, ValueError) as error:
            what = f"it has no field {error}" if isinstance(error, KeyError) else str(error)
            raise files.error(path, f"has a result (number {number}) that is not as expected: {what}") from error
        yield row


def _check_form(result: Any) -> None:
    if not isinstance(result, dict):
        raise TypeError(f"it is {shorten(result)}; expected an object")
    for name in ("env_grid_search", "metrics"):
        if not isinstance(result[name], dict):
            raise TypeError(f"{name} is {shorten(result[name])}; expected an object")


def _list_results(files: Clone, folder: str) -> list[str]:
    """Return the paths of the JSON files in a folder, sorted: the known ones if files are checked, else all."""
    if files.check:
        paths = [path for path in files.sums if path.startswith(f"{folder}/") and path.endswith(".json")]
    else:
        paths = [f"{folder}/{file.name}" for file in (files.folder / folder).glob("*.json")]
    if not paths:
        raise files.error(folder, "has no published results")
    return sorted(paths)


def _make_row(result: Any, first: Instance, known: dict[tuple[Any, ...], Instance]) -> Row:
    """Return a row without its kind and set; a field that a result lacks is the same in all instances of its set."""
    given, metrics = result["env_grid_search"], result["metrics"]
    seed = check_int("seed", given.get("seed", first.seed), 0)
    agents = check_int("num_agents", given.get("num_agents", first.num_agents), 1)
    key = given.get("map_name", first.map), seed, agents
    if key not in known:
        raise ValueError(f"it is of {shorten(key)}; expected a map, a seed and a number of agents of the scenarios")
    row: Row = {"map": key[0], "seed": seed, "agents": agents, "algorithm": str(result["algorithm"])}
    row |= read_metrics(metrics)
    if row["steps"] is None:
        row["steps"] = float(known[key].steps)
    return row


def read_metrics(metrics: Any) -> Row:
    """Return the metrics of a result under the names of a row; None for what it lacks."""
    found: Row = {name: _get_number(metrics, other) for name, other in _METRICS.items()}
    counts = [_get_number(metrics, name) for name in ("a_collisions", "o_collisions")]
    return {**found, "collisions": None if None in counts else sum(filter(None, counts))}


def _get_number(metrics: Any, name: str) -> float | None:
    value = metrics.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {shorten(value)}; expected a number")
    return float(value)


def check_rows(rows: Any, *names: str) -> list[dict[str, Any]]:
    """Return rows as a list; raise an error unless they are dicts with valid values of some keys."""
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes | Mapping):
        raise TypeError(f"rows are of type {type(rows).__name__}; {_EXPECTED}, in a list")
    checked = list(rows)
    for index, row in enumerate(checked):
        if not isinstance(row, dict):
            raise TypeError(f"row {index} is {shorten(row)}; {_EXPECTED}")
        for name in names:
            if name not in row:
                raise ValueError(f"row {index} has no {name!r}; {_EXPECTED}")
            if name in _LEAST:
                check_int(f"{name!r} of row {index}", row[name], _LEAST[name])
            elif not isinstance(row[name], str):
                raise TypeError(f"{name!r} of row {index} is {shorten(row[name])}; expected a text")
        if "kind" in names and row["kind"] not in ("mapf", "lmapf"):
            raise ValueError(f"'kind' of row {index} is {shorten(row['kind'])}; expected 'mapf' or 'lmapf'")
    return checked


def get_number(row: Mapping[str, Any], name: str, *, above: float | None = None, most: float = math.inf) -> float:
    """Return the number in a row under a name; raise an error unless it is finite and in range."""
    value = row.get(name)
    what = f"the row of {row.get('algorithm')} for {tuple(row.get(key) for key in INSTANCE)}"
    if value is None:
        raise ValueError(f"{what} has no {name!r}, which is needed here; expected a number")
    if isinstance(value, bool) or not (isinstance(value, float) or is_int(value)):
        raise TypeError(f"{what} has {shorten(value)} as {name!r}; expected a number")
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not math.isfinite(number) or number < 0 or (above is not None and number <= above) or number > most:
        least = "of at least 0" if above is None else f"above {above:g}"
        limit = f", and at most {most:g}" if most < math.inf else ""
        raise ValueError(f"{what} has {shorten(value)} as {name!r}; expected a number {least}{limit}")
    return number
