"""A former module, whose error names its new place, examples/harl."""

raise ImportError("multigrid.integrations.harl is now examples/harl, beside the package in its source")
