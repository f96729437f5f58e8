"""What to know before one compares: the notes of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from benchmark_tables import TITLES

from benchmarks.pogema import Kind

__all__ = ["list_notes"]

_OBSERVATIONS = """\
Until September 2026, POGEMA's observations under `"soft"` lacked each agent that had just moved into the cell of one \
with a higher index (pull request 51 of Cognitive-AI-Systems/pogema). Published rows of learned policies are not \
corrected; LaCAM and RHCR do not use observations."""
_LENGTH = """\
In {one_less} published MAPF rows with a solution, `ep_length` (*steps*, if read by `published`) is the makespan minus \
1; rows of this package count all steps."""
_TIMES = """\
The published LaCAM searched for 1 s and, without a plan, again for 5, 10 and 60 s; RHCR for at most 10 s."""
_SHORT = """\
The published MovingAI rows of IQL, VDN, QMIX and QPLEX have no makespan above {longest:g}, though the scenarios allow \
{steps} steps."""
_OTHER = """\
The published rows of Warehouse are of other scenarios than those in the benchmark's files, so do not compare \
them{proof}, and all of RHCR's lifelong rows with 32 agents have more arrivals than possible even without \
conflicts."""


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
    yield _TIMES
    every = faults["one_less"] == faults["solved"]
    yield _LENGTH.format(one_less=("all {solved:,}" if every else "{one_less:,} of {solved:,}").format(**faults))
    if facts["target_lists"]:
        low, high = facts["target_lists"]
        yield f"A lifelong agent has a list of {low} to {high} targets, which repeats."
    yield "Some of the benchmark's maps contain `&`, which POGEMA 1.4 refuses; here it is a free cell."


def _prove_others(lacam: Mapping[str, Mapping[str, int]]) -> str:
    below, total = (sum(counts.get(what, 0) for counts in lacam.values() for what in names) for names in _COUNTED)
    return f". Of LaCAM's MAPF rows, {below:,} of {total:,} cost less than a proven bound" if total else ""


_COUNTED = (("below",), ("below", "equal", "above"))
