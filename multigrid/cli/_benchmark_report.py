"""The report of ``multigrid benchmark``, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from multigrid.benchmark import OTHER_SCENARIOS, Line, Row, count_missing, scores, summarize
from multigrid.benchmark._scores import instance_of
from multigrid.evaluation._estimates import Estimate

__all__ = ["format_report"]

# A score of seconds, which depend on the machine.
_OF_ONE_MACHINE = "Scalability"

_COLUMNS = (
    *("set", "agents", "algorithm", "instances", "CSR", "ISR", "throughput", "gap to the bound", "with a bound"),
    "seconds",
)
_ALIGNED = {"set": "---", "algorithm": "---"}
_OWN = """Relative scores change with the algorithms that take part, so these differ from the published ones. An
instance counts if all algorithms with rows in the score's sets have a row for it."""


def format_report(own: Sequence[Row], others: Sequence[Row]) -> str:
    """Return tables of scores and of results by number of agents."""
    played = {row["set"] for row in own}
    lines = ["# The POGEMA benchmark", ""]
    lines += _format_scores("Scores of the published rows", scores(others))
    missing = count_missing(others)
    if missing:
        lines += [
            "Published rows are missing: "
            + ", ".join(f"{count:,} of {algorithm} in {name}" for (name, algorithm), count in missing.items())
            + ". Instances without them are dropped above; below, each score is the mean over an algorithm's own rows.",
            "",
            *_format_scores("Scores of the published rows, each over its own", scores(others, missing="own")),
        ]
    both = {
        score: by_algorithm
        for score, by_algorithm in scores([*own, *others]).items()
        if score != _OF_ONE_MACHINE and any(row["algorithm"] in by_algorithm for row in own)
    }
    if both:
        lines += [*_format_scores("Scores with the rows of this run", both), *_OWN.splitlines(), ""]
    instances = {instance_of(row) for row in own}
    shared = [row for row in others if instance_of(row) in instances]
    lines += _format_lines(summarize([*own, *shared]), {row["algorithm"] for row in own})
    for name in sorted(name for kind, name in OTHER_SCENARIOS if kind == own[0]["kind"] and name in played):
        lines += [f"The published rows of {name} belong to other scenarios than its file has: do not compare them.", ""]
    versions = sorted({row["multigrid"] for row in own})
    if len(versions) > 1:
        lines += [f"The rows of this run are of several versions of multigrid: {', '.join(versions)}.", ""]
    return "\n".join(lines)


def _format_scores(title: str, found: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of a table with a row for each algorithm."""
    algorithms = list(dict.fromkeys(name for by_algorithm in found.values() for name in by_algorithm))
    yield from (f"## {title}", "")
    yield f"| algorithm | {' | '.join(found)} |"
    yield f"| --- |{' ---: |' * len(found)}"
    for name in algorithms:
        cells = [_format_number(by_algorithm.get(name, math.nan)) for by_algorithm in found.values()]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _format_lines(lines: Sequence[Line], own: Collection[str]) -> Iterator[str]:
    """Yield the lines of a table of success, throughput and gaps, and of the seconds of own algorithms."""
    yield from ("## Results by number of agents", "")
    yield from ("Means over the instances of this run, with 95 % confidence intervals.", "")
    order = list(dict.fromkeys(line.set for line in lines))
    rows = []
    for line in sorted(lines, key=lambda line: (order.index(line.set), line.agents)):
        estimates = [_format_estimate(one) for one in (line.csr, line.isr, line.throughput, line.gap)]
        bounded = str(line.bounded) if line.bounded else ""
        # Seconds of other machines are not compared.
        seconds = _format_number(line.seconds) if line.algorithm in own else ""
        rows.append([line.set, str(line.agents), line.algorithm, str(line.instances), *estimates, bounded, seconds])
    shown = [k for k in range(len(_COLUMNS)) if any(row[k] for row in rows)]
    for row in (_COLUMNS, [_ALIGNED.get(name, "---:") for name in _COLUMNS], *rows):
        yield f"| {' | '.join(row[k] for k in shown)} |"
    unsolvable = {(line.set, line.agents): line.unsolvable for line in lines if line.unsolvable}
    yield ""
    if unsolvable:
        counts = [f"{count} of {name} with {agents} agents" for (name, agents), count in unsolvable.items()]
        yield from (f"Proven to have no solution: {', '.join(counts)}.", "")


def _format_number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _format_estimate(estimate: Estimate) -> str:
    if math.isnan(estimate.mean):
        return ""
    if math.isnan(estimate.low):
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
