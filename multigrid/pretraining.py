"""Says where the training of the shipped network is: beside the package, in its source."""

raise ImportError("multigrid.pretraining is now tools/pretraining, beside the package in its source")
