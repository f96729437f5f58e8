"""Says where the launcher is: beside the package, in its source."""

raise ImportError("multigrid.integrations.epymarl is now examples/epymarl, beside the package in its source")
