"""A former module, whose error names its new place, examples/epymarl."""

raise ImportError("multigrid.integrations.epymarl is now examples/epymarl, beside the package in its source")
