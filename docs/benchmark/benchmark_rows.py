"""The parts of the benchmark, and their rows: in the folder of a run, and packed beside the page."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.pogema import SETS, Kind
from benchmarks.pogema.published import Row
from benchmarks.pogema.rows import RowFile, read_rows


class Part(NamedTuple):
    """A run of ``python -m benchmarks.pogema``, in a folder of its own."""

    name: str
    """The name of the folder."""
    kind: Kind
    """The kind of the instances."""
    what: str
    """What it is, for the page."""


PARTS = (
    Part("mapf", "mapf", "MAPF"),
    Part("mapf-10s", "mapf", "MAPF, more time"),
    Part("bounds", "mapf", "bounds"),
    Part("lmapf", "lmapf", "LMAPF"),
)
"""The parts, in the order of the page."""

LABELS = {
    "lacam": "LaCAM*",
    "windowed": "windowed planning",
    "cbs": "CBS",
    "pretrained-shield": "pretrained policy, with a shield",
    "pretrained-messages": "pretrained policy, with messages",
    "pretrained": "pretrained policy, alone",
    "pibt": "PIBT",
    "shortest-path": "shortest paths",
    "random": "random play",
}
"""What the policies are called by the page, the best first."""


def label(algorithm: str, seconds: float) -> str:
    """Return what an algorithm is called by the page.

    >>> label("lacam", 10.0), label("pibt", 0.0)
    ('LaCAM* (10 s)', 'PIBT')
    """
    return LABELS.get(algorithm, algorithm) + (f" ({seconds:g} s)" if seconds else "")


def label_of(row: Row) -> str:
    """Return what the algorithm of a row is called by the page."""
    return label(row["algorithm"], row["time_limit"])


def label_rows(rows: Mapping[str, Sequence[Row]], kind: Kind) -> list[Row]:
    """Return the rows of all parts of one kind; equal algorithms with other time limits get other names."""
    parts = [part.name for part in PARTS if part.kind == kind]
    return [{**row, "algorithm": label_of(row)} for name in parts for row in rows[name]]


def packed_name(part: str) -> str:
    """Return the name of the file with the rows of a part."""
    return f"{part}.csv.gz"


def sort_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows in the order of the sets: several processes write them in any order, and resamples depend on it.

    >>> one = {"set": "mazes", "agents": 8, "map": "maze-0", "seed": 0}
    >>> rows = [{**one, "algorithm": "pibt"}, {**one, "algorithm": "lacam"}, {**one, "set": "random", "algorithm": "a"}]
    >>> [row["algorithm"] for row in sort_rows(rows)]
    ['a', 'lacam', 'pibt']
    """
    sets, policies = list(SETS), [*LABELS]

    def place(row: Row) -> tuple[object, ...]:
        name = row["algorithm"]
        where = policies.index(name) if name in policies else len(policies)
        return sets.index(row["set"]), row["agents"], row["map"], row["seed"], where, name

    return sorted(rows, key=place)


def format_rows(rows: Sequence[Row]) -> bytes:
    """Return the rows as CSV, sorted: equal rows give equal bytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        with RowFile(file) as target:
            for row in sort_rows(rows):
                target.append(row)
        return file.read_bytes()


def pack(rows: Sequence[Row]) -> bytes:
    """Return the rows as gzip'd CSV."""
    return gzip.compress(format_rows(rows), mtime=0)


def unpack(file: Path) -> list[Row]:
    """Return the rows of a file that `pack` made."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "rows.csv"
        plain.write_bytes(gzip.decompress(file.read_bytes()))
        return read_rows(plain)
