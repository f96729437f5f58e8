"""The POGEMA benchmark (Skrynnik et al., ICLR 2025) under the rules of this package.

The instances and the published results are read from a clone of CognitiveAISystems/pogema-benchmark at commit 3303133;
none of its files comes with this package. Reading them needs PyYAML, which the extra ``benchmark`` brings.

This plays the set "puzzles" with a policy of one's own, and compares it with the published algorithms::

    instances = benchmark.read_instances("CLONE", "puzzles")
    rows = benchmark.play(instances, policy, "mine", file="rows.csv")
    print(benchmark.scores([*rows, *benchmark.published("CLONE", sets=["puzzles"])]))

>>> import multigrid.benchmark
>>> sum(len(numbers) for numbers in multigrid.benchmark.SETS.values())
26
"""

from multigrid.benchmark._clone import DataError
from multigrid.benchmark._instances import SETS, Instance, Kind, load, read_instances
from multigrid.benchmark._own_policies import ObservationOptions, play
from multigrid.benchmark._playing import PolicySetup, Runner, Trial, blind
from multigrid.benchmark._published import OTHER_SCENARIOS, Row, published
from multigrid.benchmark._rows import COLUMNS, join_rows, read_rows
from multigrid.benchmark._scores import Line, Missing, count_missing, find_bounds, scores, summarize

__all__ = [
    "COLUMNS", "OTHER_SCENARIOS", "SETS", "DataError", "Instance", "Kind", "Line", "Missing", "ObservationOptions",
    "PolicySetup", "Row", "Runner", "Trial", "blind", "count_missing", "find_bounds", "join_rows", "load", "play",
    "published", "read_instances", "read_rows", "scores", "summarize",
]  # fmt: skip
