"""Says where the examples are: beside the package, in its source."""

raise ImportError(
    "multigrid.examples is now examples/, beside the package in its source; in a checkout, run: python -m examples.NAME"
)
