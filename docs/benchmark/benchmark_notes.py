"""What to know before one compares: the notes of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from benchmark_tables import TITLES

from benchmarks.pogema import Kind
from benchmarks.pogema.published import Row
from benchmarks.pogema.scores import instance_of

__all__ = ["list_notes"]

_OBSERVATIONS = """\
In September 2026, the authors announced that POGEMA's observations under `"soft"` miss agents that follow one \
another. The published rows are not corrected."""
_LENGTH = """\
The published length of a MAPF episode (*steps* in the rows of `published`) is the makespan minus 1, in {one_less:,} \
of {solved:,} rows with a solution; rows of this package count all steps."""
_SHORT = """\
The published MovingAI rows of IQL, VDN, QMIX and QPLEX have no makespan above {longest:g}, though the scenarios allow \
{steps} steps."""
_OTHER = """\
The published rows of Warehouse are of other scenarios than its files, so do not compare them{proof}, and all of \
RHCR's lifelong rows with 32 agents have more arrivals than agents that never meet can have."""


def list_notes(own: Sequence[Row], facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the notes.

    Args:
        own: the own rows of the kind "mapf".
        facts: the content of benchmark.json.
    """
    faults = facts["faults"]
    yield "Scores depend on which algorithms take part; CSR, gaps and throughput do not."
    for kind in get_args(Kind):
        if facts[kind]["missing"]:
            said = _say_missing(facts[kind]["missing"], facts[kind]["sizes"])
            yield f"Missing published {kind.upper()} rows: {said}."
    if faults["longest"] is not None:
        yield _SHORT.format(**faults, steps=facts["mapf"]["steps"]["movingai"])
    if "warehouse" in facts["mapf"]["sizes"] and "warehouse" in faults["other_scenarios"]:
        yield _OTHER.format(proof=_prove_others(facts["lacam"].get("warehouse", {})))
    yield _OBSERVATIONS
    yield _LENGTH.format(**faults)
    if facts["target_lists"]:
        low, high = facts["target_lists"]
        yield f"A lifelong agent has a list of {low} to {high} targets, which repeats after the last one."
    unsolvable = {instance_of(row) for row in own if row["status"] == "unsolvable"}
    if unsolvable:
        counts = sorted(Counter((name, agents) for name, _, _, agents in unsolvable).items())
        said = ", ".join(f"{count} of {TITLES[name]} with {agents} agents" for (name, agents), count in counts)
        yield f"Instances without a solution count as unsolved for every algorithm: {said}."
    yield "POGEMA 1.4 refuses maps with `&`, which some maps of the benchmark contain; here it is a free cell."


def _say_missing(missing: Sequence[Sequence[Any]], sizes: Mapping[str, Mapping[str, int]]) -> str:
    return "; ".join(
        f"{name}, {count:,} of {sum(sizes[where].values()):,} in {TITLES[where]}" for where, name, count in missing
    )


def _prove_others(lacam: Mapping[str, Mapping[str, int]]) -> str:
    below, total = (sum(counts.get(what, 0) for counts in lacam.values() for what in names) for names in _COUNTED)
    return (
        f". Of LaCAM's MAPF rows, {below:,} of {total:,} cost less than a proven bound of the scenario" if total else ""
    )


_COUNTED = (("below",), ("below", "equal", "above"))
