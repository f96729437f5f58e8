"""The speed of this package beside that of other environments: `python -m benchmarks.peers`."""
