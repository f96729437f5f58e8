"""The POGEMA benchmark (Skrynnik et al., ICLR 2025): its instances played, its published results, and its scores.

The instances come under the rules of `multigrid`. ``python -m benchmarks.pogema`` plays them with planners, baselines
and trained models. They are read from a clone of CognitiveAISystems/pogema-benchmark at commit 3303133, of which no
file comes with this package; reading them needs PyYAML, which the extra ``benchmark`` brings.

>>> sum(len(numbers) for numbers in SETS.values())
35

This plays the set "puzzles" with a policy of one's own, and compares it with the published algorithms::

    instances = pogema.read_instances("CLONE", "puzzles")
    rows = pogema.play(instances, policy, "mine", file="rows.csv")
    print(pogema.scores([*rows, *pogema.published("CLONE", sets=["puzzles"])]))
"""

from benchmarks.pogema.clone import DataError
from benchmarks.pogema.instances import SETS, Instance, Kind, load, read_instances
from benchmarks.pogema.learned import find_others, learned
from benchmarks.pogema.own_policies import ObservationOptions, play
from benchmarks.pogema.playing import PolicySetup, Runner, Trial, blind
from benchmarks.pogema.published import Row, published
from benchmarks.pogema.rows import COLUMNS, join_rows, read_rows
from benchmarks.pogema.scores import Line, Missing, count_missing, find_bounds, scores, summarize

__all__ = [
    "COLUMNS", "SETS", "DataError", "Instance", "Kind", "Line", "Missing", "ObservationOptions",
    "PolicySetup", "Row", "Runner", "Trial", "blind", "count_missing", "find_bounds", "find_others", "join_rows",
    "learned", "load", "play", "published", "read_instances", "read_rows", "scores", "summarize",
]  # fmt: skip
