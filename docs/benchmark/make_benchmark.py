"""Write the tables, figures and data of docs/benchmark: `python docs/benchmark/make_benchmark.py`.

`--data CLONE --work FOLDER` first takes over new rows: those of FOLDER/mapf, FOLDER/mapf-10s, FOLDER/bounds and
FOLDER/lmapf, in which the commands of provenance.md have played, and the figures of the published rows in the clone,
which go to benchmark.json. None of the benchmark's own files is copied.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark_cells import CELLS, format_cells
from benchmark_facts import gather
from benchmark_figures import draw_gaps, draw_success, draw_throughput
from benchmark_page import PAGES, make_lines, make_parts
from benchmark_rows import PARTS, pack, packed_name, sort_rows, unpack

from benchmarks.page_parts import fill_page
from benchmarks.pogema import SETS
from benchmarks.pogema.published import Row
from benchmarks.pogema.rows import read_rows
from multigrid._files import replace_file
from multigrid.cli._figures import write_figure
from multigrid.cli._files import write_json

FOLDER = Path(__file__).parent
FACTS = "benchmark.json"


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
    parts = make_parts(rows, facts, lines)
    if "field" not in parts[PAGES[0]]:
        sys.stderr.write("learned.json is of other rows: the tables of the whole field stay as they are\n")
    for name in PAGES:
        fill_page(FOLDER / name, parts[name], folder / name)


def read(folder: Path) -> tuple[dict[str, list[Row]], dict[str, Any]]:
    """Return the rows of each part and the content of benchmark.json, as `write` has written them."""
    rows = {part.name: unpack(folder / packed_name(part.name)) for part in PARTS}
    return rows, json.loads((folder / FACTS).read_text(encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the rows, and write everything."""
    parser = argparse.ArgumentParser(description="Write the tables, figures and data of docs/benchmark.")
    parser.add_argument("--data", type=Path, metavar="CLONE", help="a clone of the benchmark's repository")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="new rows; by default, those of docs/benchmark")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), help="with --work: their sets")
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER", help="where everything goes")
    options = parser.parse_args(arguments)
    if (options.data is None) != (options.work is None):
        parser.error("--data and --work go together")
    if options.work is None:
        write(*read(options.output), options.output)
        return
    files = {part.name: options.work / part.name / "rows.csv" for part in PARTS}
    rows = {name: sort_rows(read_rows(file)) if file.exists() else [] for name, file in files.items()}
    write(rows, gather(rows, options.data, options.sets), options.output)


if __name__ == "__main__":
    main()
