"""``python -m benchmarks.planning``: compare the planners with their goals and with published results."""
