"""The speed of this package beside that of POGEMA: `python -m benchmarks.peers`."""
