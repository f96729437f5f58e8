"""Says where the POGEMA benchmark is: beside the package, in its source."""

raise ImportError(
    "multigrid.benchmark is now benchmarks/pogema, beside the package in its source; in a checkout, import its names"
    " from benchmarks.pogema"
)
