"""The instances of the POGEMA benchmark (Skrynnik et al., ICLR 2025), under the rules of this package.

They are read from a clone of CognitiveAISystems/pogema-benchmark at commit 3303133; none of its files comes with this
package. Reading them needs PyYAML, which the extra ``benchmark`` brings. In a checkout of the source,
`benchmarks.pogema` plays them, reads the published results, and computes scores.

>>> import multigrid.benchmark
>>> sum(len(numbers) for numbers in multigrid.benchmark.SETS.values())
26
"""

from typing import TYPE_CHECKING

from multigrid.benchmark._clone import DataError
from multigrid.benchmark._instances import SETS, Instance, Kind, load, read_instances

__all__ = ["SETS", "DataError", "Instance", "Kind", "load", "read_instances"]

_BESIDE = (
    *("COLUMNS", "Line", "Missing", "OTHER_SCENARIOS", "ObservationOptions", "PolicySetup", "Row", "Runner", "Trial"),
    *("blind", "count_missing", "find_bounds", "join_rows", "play", "published", "read_rows", "scores", "summarize"),
)

if not TYPE_CHECKING:  # type checkers would take any name for one of the module

    def __getattr__(name):
        if name in _BESIDE:
            place = f"benchmarks.pogema.{name}, beside the package in its source"
            raise ImportError(f"multigrid.benchmark.{name} is now {place}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
