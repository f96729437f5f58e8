"""``python -m benchmarks.pogema``: play the POGEMA benchmark, and compare with its published results."""
