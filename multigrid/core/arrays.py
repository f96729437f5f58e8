"""Says where the arrays are, to programs and pickles of earlier versions."""

raise ImportError(
    "multigrid.core.arrays is now multigrid/runtime/arrays.py; an environment pickled by an earlier version cannot be "
    "loaded: create it again"
)
