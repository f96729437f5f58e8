"""What to know before one compares: the notes of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from benchmark_tables import TITLES

from benchmarks.pogema import Kind

__all__ = ["list_notes"]

_OBSERVATIONS = """\
In September 2026, the authors announced that POGEMA's observations under `"soft"` miss agents that follow one \
another. The published rows are not corrected."""
_LENGTH = """\
In {one_less:,} of {solved:,} published MAPF rows with a solution, *steps* is the makespan minus 1; rows of this \
package count all steps."""
_SHORT = """\
The published MovingAI rows of IQL, VDN, QMIX and QPLEX have no makespan above {longest:g}, though the scenarios allow \
{steps} steps."""
_OTHER = """\
The published rows of Warehouse are of other scenarios than its files, so do not compare them{proof}, and all of \
RHCR's lifelong rows with 32 agents have more arrivals than agents that never meet can have."""


def list_notes(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the notes, from the content of benchmark.json."""
    faults = facts["faults"]
    missing = [
        f"{name} ({kind.upper()}), {count:,} of {sum(facts[kind]['sizes'][where].values()):,} in {TITLES[where]}"
        for kind in get_args(Kind)
        for where, name, count in facts[kind]["missing"]
    ]
    if missing:
        yield f"Missing published rows: {'; '.join(missing)}."
    if faults["longest"] is not None:
        yield _SHORT.format(**faults, steps=facts["mapf"]["steps"]["movingai"])
    if "warehouse" in facts["mapf"]["sizes"] and "warehouse" in faults["other_scenarios"]:
        yield _OTHER.format(proof=_prove_others(facts["lacam"].get("warehouse", {})))
    yield _OBSERVATIONS
    yield _LENGTH.format(**faults)
    if facts["target_lists"]:
        low, high = facts["target_lists"]
        yield f"A lifelong agent has a list of {low} to {high} targets, which repeats."
    yield "POGEMA 1.4 refuses maps with `&`, which some of these contain; here it is a free cell."


def _prove_others(lacam: Mapping[str, Mapping[str, int]]) -> str:
    below, total = (sum(counts.get(what, 0) for counts in lacam.values() for what in names) for names in _COUNTED)
    return f". Of LaCAM's MAPF rows, {below:,} of {total:,} cost less than a proven bound" if total else ""


_COUNTED = (("below",), ("below", "equal", "above"))
