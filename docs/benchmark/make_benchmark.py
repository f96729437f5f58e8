"""Play the POGEMA benchmark, and write its pages: `python docs/benchmark/make_benchmark.py --data CLONE --work FOLDER`.

Each part is a run of `python -m benchmarks.pogema --resume` in a folder of its own: FOLDER/mapf, FOLDER/mapf-10s,
FOLDER/bounds, FOLDER/lmapf. Whatever ends the command, the same command goes on with the rows that are missing. Then it
writes to docs/benchmark: benchmark.md has the results, with three figures; ablations.md compares forms, trainings and
baselines; provenance.md says what is proven and how the rows were made; cells.csv has the cells of the tables by number
of agents; the files .csv.gz have the rows; benchmark.json has the figures of the published rows. None of the
benchmark's own files is copied.

`--page-only` writes the pages of the rows that there are. `--redraw` makes pages and figures again from the files in
docs/benchmark; it needs neither CLONE nor FOLDER.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark_cells import CELLS, format_cells
from benchmark_facts import gather
from benchmark_figures import draw_gaps, draw_success, draw_throughput
from benchmark_page import make_lines, make_pages
from benchmark_rows import PARTS, pack, packed_name, sort_rows, unpack
from rich.console import Console

from benchmarks.pogema import SETS
from benchmarks.pogema.command import BenchmarkOptions, benchmark
from benchmarks.pogema.published import Row
from benchmarks.pogema.rows import read_rows
from multigrid._files import replace_file
from multigrid.cli._figures import write_figure
from multigrid.cli._files import write_json

FOLDER = Path(__file__).parent
FACTS = "benchmark.json"


def play(options: argparse.Namespace) -> int:
    """Play what is missing of all parts; return 0, or 130 after Ctrl-C."""
    seconds = {"bounds": options.bound_seconds, "mapf-10s": 10.0}
    every = {"lmapf": options.lifelong_every, "bounds": options.bound_every, "mapf-10s": options.long_every}
    console = Console(stderr=True)
    # What takes longest comes last.
    for part in sorted(PARTS, key=lambda part: part.name in seconds):
        console.print(f"{part.name}: {', '.join(part.policies)}")
        played = BenchmarkOptions(
            data=options.data,
            sets=tuple(options.sets),
            kind=part.kind,
            policy=part.policies,
            every=every.get(part.name, 1),
            time_limit=seconds.get(part.name, 1.0),
            processes=options.processes,
            output=options.work / part.name,
            resume=True,
        )
        # The scores of a part, which it prints, are in its folder.
        with contextlib.redirect_stdout(io.StringIO()):
            code = benchmark(played, console) if played.played_sets else 0
        if code:
            return code
    return 0


def write(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any], folder: Path) -> None:
    """Write pages, figures, cells, rows and benchmark.json."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = make_lines(rows, facts)
    for part in PARTS:
        with replace_file(folder / packed_name(part.name)) as temporary:
            temporary.write_bytes(pack(rows[part.name]))
    write_json(folder / FACTS, facts)
    write_figure(folder / "success.svg", draw_success(lines))
    write_figure(folder / "gap.svg", draw_gaps(lines))
    write_figure(folder / "throughput.svg", draw_throughput(lines))
    with replace_file(folder / CELLS) as temporary:
        temporary.write_text(format_cells(lines), encoding="utf-8")
    for name, text in make_pages(rows, facts, lines).items():
        with replace_file(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def read(folder: Path) -> tuple[dict[str, list[Row]], dict[str, Any]]:
    """Return the rows of each part and the content of benchmark.json, as `write` has written them."""
    rows = {part.name: unpack(folder / packed_name(part.name)) for part in PARTS}
    return rows, json.loads((folder / FACTS).read_text(encoding="utf-8"))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the flags."""
    parser = argparse.ArgumentParser(description="Play the POGEMA benchmark, and write its pages.")
    parser.add_argument("--data", type=Path, metavar="CLONE", help="a clone of the benchmark's repository")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="where the rows are, or go")
    parser.add_argument("--machine", metavar="TEXT", help="what the pages say of the machine")
    parser.add_argument("--processes", type=int, default=1, metavar="P", help="how many processes play")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), help="the sets of the pages")
    parser.add_argument("--lifelong-every", type=int, default=1, metavar="K", help="LMAPF: play every K-th scenario")
    parser.add_argument("--bound-seconds", type=float, default=1.0, metavar="S", help="CBS's time for an instance")
    parser.add_argument("--bound-every", type=int, default=1, metavar="K", help="CBS plays every K-th scenario")
    parser.add_argument("--long-every", type=int, default=8, metavar="K", help="LaCAM* plays every K-th for 10 s")
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER", help="where the pages go")
    parser.add_argument("--page-only", action="store_true", help="play nothing; write the pages of the rows there are")
    parser.add_argument("--redraw", action="store_true", help="make pages and figures again from the files beside them")
    options = parser.parse_args(arguments)
    if not options.redraw and None in (options.data, options.work, options.machine):
        parser.error("--data, --work and --machine are needed, but for --redraw")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, write the pages, and return the exit code."""
    options = parse(arguments)
    if options.redraw:
        write(*read(options.output), options.output)
        return 0
    if not options.page_only and (code := play(options)):
        return code
    files = {part.name: options.work / part.name / "rows.csv" for part in PARTS}
    rows = {name: sort_rows(read_rows(file)) if file.exists() else [] for name, file in files.items()}
    facts = gather(rows, options.data, options.sets)
    write(rows, {"machine": options.machine, **facts}, options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
