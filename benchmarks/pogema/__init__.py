"""The POGEMA benchmark (Skrynnik et al., ICLR 2025): its instances played, its published results, and its scores.

``python -m benchmarks.pogema`` plays the instances with planners, baselines and trained models. `multigrid.benchmark`
reads them; both need a clone of CognitiveAISystems/pogema-benchmark at commit 3303133, and the extra ``benchmark``.

This plays the set "puzzles" with a policy of one's own, and compares it with the published algorithms::

    instances = multigrid.benchmark.read_instances("CLONE", "puzzles")
    rows = pogema.play(instances, policy, "mine", file="rows.csv")
    print(pogema.scores([*rows, *pogema.published("CLONE", sets=["puzzles"])]))
"""

from benchmarks.pogema.own_policies import ObservationOptions, play
from benchmarks.pogema.playing import PolicySetup, Runner, Trial, blind
from benchmarks.pogema.published import OTHER_SCENARIOS, Row, published
from benchmarks.pogema.rows import COLUMNS, join_rows, read_rows
from benchmarks.pogema.scores import Line, Missing, count_missing, find_bounds, scores, summarize

__all__ = [
    "COLUMNS", "OTHER_SCENARIOS", "Line", "Missing", "ObservationOptions", "PolicySetup", "Row", "Runner", "Trial",
    "blind", "count_missing", "find_bounds", "join_rows", "play", "published", "read_rows", "scores", "summarize",
]  # fmt: skip
