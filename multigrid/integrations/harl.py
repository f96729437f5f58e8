"""Says where the launcher is: beside the package, in its source."""

raise ImportError("multigrid.integrations.harl is now examples/harl, beside the package in its source")
