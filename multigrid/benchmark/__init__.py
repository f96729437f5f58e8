"""The POGEMA benchmark (Skrynnik et al., ICLR 2025) under the rules of this package.

The instances and the published results are read from a clone of CognitiveAISystems/pogema-benchmark at commit 3303133;
none of its files comes with this package. Reading them needs PyYAML, which the extra ``benchmark`` brings.

>>> import multigrid.benchmark
>>> sum(len(numbers) for numbers in multigrid.benchmark.SETS.values())
26
"""

from multigrid.benchmark.clone import DataError
from multigrid.benchmark.instances import SETS, Instance, Kind, load, read_instances
from multigrid.benchmark.published import OTHER_SCENARIOS, Row, published
from multigrid.benchmark.scores import Missing, count_missing, scores
from multigrid.benchmark.summary import Line, summarize

__all__ = [
    "OTHER_SCENARIOS",
    "SETS",
    "DataError",
    "Instance",
    "Kind",
    "Line",
    "Missing",
    "Row",
    "count_missing",
    "load",
    "published",
    "read_instances",
    "scores",
    "summarize",
]
