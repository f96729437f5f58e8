"""Train the network of `multigrid.policies.pretrained`: ``python -m multigrid.pretraining``. It needs torch."""
