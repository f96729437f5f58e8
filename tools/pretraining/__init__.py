"""Train the network of `multigrid.policies.pretrained`: ``python -m tools.pretraining``. It needs torch."""
