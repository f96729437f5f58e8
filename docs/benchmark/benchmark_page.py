"""The tables of the pages in docs/benchmark, from the rows and benchmark.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark_facts import read_lines
from benchmark_learned import PAIRS, read_field, show_dense, show_field, show_pairs, show_trainings
from benchmark_rows import label_rows
from benchmark_tables import (
    GROUPS,
    bounds_table,
    played_table,
    scores_table,
    success_table,
)

from benchmarks.pogema.published import Row
from benchmarks.pogema.scores import Line, summarize

PAGES = ("benchmark.md", "ablations.md", "provenance.md")


def make_lines(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any]) -> list[Line]:
    """Return the results by number of agents, of this package and published."""
    return [*summarize(label_rows(rows, "mapf")), *summarize(label_rows(rows, "lmapf")), *read_lines(facts)]


def make_parts(
    rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any], lines: Sequence[Line]
) -> dict[str, dict[str, str]]:
    """Return the parts of each of `PAGES` by their names.

    Those about the whole field are left out for other rows than those of learned.json.

    Args:
        rows: those of each part.
        facts: the content of benchmark.json.
        lines: what `make_lines` returns.
    """
    own = {kind: label_rows(rows, kind) for kind in ("mapf", "lmapf")}
    shown_lines = [line for line in lines if line.kind == "mapf"]
    tables = [success_table(shown_lines, group, facts["mapf"]) for group in GROUPS]
    results = {"success": "\n".join(text for lines_of_table in tables for text in lines_of_table)}
    for kind, found in own.items():
        shown = tuple({line.algorithm for line in summarize(found)})
        results[f"scores, {kind}"] = "\n".join(scores_table(facts[kind]["joint"], shown))
    ablations = {}
    provenance = {"bounds": "\n".join(bounds_table(own["mapf"], facts)), "played": "\n".join(played_table(rows, facts))}
    if field := read_field(rows["mapf"], facts):
        results["field"] = "\n".join(show_field(field))
        results |= {name: "\n".join(show_pairs(field, name)) for name in PAIRS}
        ablations["dense"] = "\n".join(show_dense(field))
        ablations["trainings"] = "\n".join(show_trainings(field))
    return dict(zip(PAGES, (results, ablations, provenance), strict=True))
