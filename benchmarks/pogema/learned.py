"""Rows of learned policies that were published after those of the benchmark, in repositories of their own.

`SOURCES` names the repositories. Of each, a user names the folder of a clone; ``learned-SOURCE.sha256``, beside this
module, has the checksums of its files, if they are known. No source states its instances, so a file is left out if a
sum of costs is below its instance's proven bound, or a row names no instance of the set.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from benchmarks.pogema.clone import Clone, DataError, read_sums
from benchmarks.pogema.instances import DENSE, LISTS, SETS, folder_of
from benchmarks.pogema.published import Row, read_metrics, read_results
from benchmarks.pogema.scores import instance_of
from multigrid._checks import check_int, check_name

Bounds: TypeAlias = Mapping[tuple[Any, ...], float]
"""A proven bound of the sum of costs for each set, map, seed and number of agents."""


class Source(NamedTuple):
    """A repository, and where its rows are."""

    repository: str
    commit: str
    """The commit of the checksums or, without any, of the files' format."""
    files: str
    """The pattern of a set's files; ``{folder}`` is its folder in the benchmark, ``{set}`` the folder's name."""
    by_file: bool = False
    """Whether the file name without ``.json`` is the algorithm's name, instead of the field in the rows."""


SOURCES = {
    "ddg": Source(
        "Cognitive-AI-Systems/MAPF-GPT-DDG",
        "dc8ddf26f89901da77024fca7036a0eb48b27faa",
        "{folder}/*.json",
    ),
    "hmagat": Source("aandreychuk/hmagat", "6adeef8b963d3b6eab042461a510679dd7a8db7c", "results/results_{set}.json"),
    "dmm": Source(
        "CognitiveAISystems/DMM",
        "8fe32997c3ba1b9d010a10d7b618bf5c570c0289",
        "raw_results/01_pogema_benchmark/data/{folder}/*.json",
        by_file=True,
    ),
    "railgun": Source(
        "TachikakaMin/pogema-benchmark",
        "cff033d4467743d36f3622cf349c9b9671dd74a6",
        "algorithms/experiments/{folder}/RAILGUN.json",
    ),
}
"""The repositories on GitHub. "dmm" and "railgun" have no known checksums: read with ``check=False``."""


@dataclasses.dataclass(frozen=True)
class _LearnedClone(Clone):
    source: str = ""

    @property
    def sums(self) -> dict[str, str]:
        """The SHA-256 checksum of each file that is read, by its path; none for a source without known ones."""
        return list_sums(self.source)

    @property
    def wanted(self) -> str:
        """Which clone is expected."""
        one = SOURCES[self.source]
        return f"expected a clone of {one.repository} at commit {one.commit[:7]}"

    def check_folder(self) -> None:
        """Raise a DataError unless there is such a folder."""
        if not self.folder.is_dir():
            raise DataError(f"{self.folder} is no folder; {self.wanted}")


def list_sums(source: str) -> dict[str, str]:
    """Return the known SHA-256 checksums of the files of a source, by path."""
    file = Path(__file__).with_name(f"learned-{source}.sha256")
    return read_sums(file) if file.exists() else {}


def learned(
    clone: str | PathLike[str], source: str, bounds: Bounds, *, sets: Iterable[str] | None = None, check: bool = True
) -> list[Row]:
    """Return the rows of newer learned policies; files of other instances than the benchmark's are left out.

    Args:
        clone: the folder of a clone of the source's repository, at its commit.
        source: a name in `SOURCES`.
        bounds: those of all instances, as `benchmarks.pogema.find_bounds` returns them.
        sets: names of sets; None for all but "warehouse-lists" and, of those with more agents than the benchmark has,
            those without bounds.
        check: whether files must have the known checksums.

    Returns:
        Dicts as `benchmarks.pogema.published` returns them, sorted by set and file. Results of numbers of agents that a
        set of the benchmark does not have are left out.

    Raises:
        DataError: a file is missing or differs, or a result is not as expected. The message names it.
        ValueError: there is no such source or set, or a set has no bounds.
    """
    names = None if sets is None else [check_name("a set", name, tuple(SETS)) for name in sets]
    files = _read_files(clone, source, bounds, names, check=check)
    return [row for _, found, other in files if not other for row in found]


def find_others(clone: str | PathLike[str], source: str, bounds: Bounds, *, check: bool = True) -> dict[str, str]:
    """Return the evidence for each file of other instances, by its path; arguments as for `learned`, without `sets`."""
    return {path: other for path, _, other in _read_files(clone, source, bounds, None, check=check) if other}


def _read_files(
    clone: str | PathLike[str], source: str, bounds: Bounds, names: Iterable[str] | None, *, check: bool
) -> Iterator[tuple[str, list[Row], str]]:
    """Yield each file's path, its rows, and the evidence that they are of other instances, "" if there is none."""
    check_name("source", source, tuple(SOURCES))
    files = _LearnedClone(Path(clone), check, source)
    files.check_folder()
    if check and not files.sums:
        one = SOURCES[source]
        raise DataError(
            f"the SHA-256 checksums of the files of {one.repository} are not known, so a clone cannot be checked; "
            "check=False reads it as it is"
        )
    bounded = {key[0] for key in bounds}
    default = [name for name in SETS if name != LISTS and (name not in DENSE or name in bounded)]
    by_set = {name: _list_files(files, name) for name in (default if names is None else names)}
    if missing := [name for name, paths in by_set.items() if not paths and names is not None]:
        raise files.error(", ".join(missing), "has no results")
    if not any(by_set.values()):
        raise DataError(f"{files.folder} has no results; {files.wanted}")
    for name, paths in by_set.items():
        for path in paths:
            yield path, *_read_file(files, name, path, bounds)


def _list_files(files: _LearnedClone, name: str) -> list[str]:
    """Return the paths of the results of a set, sorted: the known ones if files are checked, else all."""
    folder = Path(folder_of(name)).name
    pattern = SOURCES[files.source].files.format(set=folder.partition("-")[2], folder=folder)
    if files.check:
        return sorted(path for path in files.sums if Path(path).match(pattern))
    return sorted(file.relative_to(files.folder).as_posix() for file in files.folder.glob(pattern))


def _read_file(files: _LearnedClone, name: str, path: str, bounds: Bounds) -> tuple[list[Row], str]:
    instances = [key for key in bounds if key[0] == name]
    if not instances:
        raise ValueError(f"bounds has none for the set {name!r}, needed to check its rows; expected those of all sets")
    maps = {key[1] for key in instances}
    seeds = {key[2] for key in instances}
    rows: list[Row] = []
    nameless = below = 0
    seen = set()
    for row in read_results(files, path, functools.partial(_make_row, name=name, maps=maps, seeds=seeds)):
        if row["agents"] not in SETS[name]:
            continue
        if SOURCES[files.source].by_file:
            row["algorithm"] = Path(path).stem
        key = instance_of(row)
        nameless += key not in bounds
        below += bool(row["csr"]) and row["sum_of_costs"] < bounds.get(key, 0.0)
        if key in seen and key in bounds:
            raise files.error(path, f"has two results for {key}")
        seen.add(key)
        rows.append(row)
    said = [
        f"{count:,} of {len(rows):,} rows {what}"
        for count, what in ((below, "cost less than a proven bound"), (nameless, "name no instance of the set"))
        if count
    ]
    return rows, " and ".join(said)


def _make_row(result: Any, name: str, maps: set[str], seeds: set[int]) -> Row:
    """Return a row. A result may lack a map or a seed that all instances of the set share; else it has -1, or ""."""
    given = result["env_grid_search"]
    seed = given.get("seed", min(seeds) if len(seeds) == 1 else None)
    row: Row = {
        "kind": "mapf",
        "set": name,
        "map": str(given.get("map_name", min(maps) if len(maps) == 1 else "")),
        "seed": -1 if seed is None else check_int("seed", seed, 0),
        "agents": check_int("num_agents", given["num_agents"], 1),
        "algorithm": str(result["algorithm"]),
        **read_metrics(result["metrics"]),
    }
    if row["csr"] is None or (row["csr"] and row["sum_of_costs"] is None):
        raise ValueError("it lacks CSR, or SoC, which a result with a solution has")
    return row
