"""``python -m benchmarks.planning``: the planners against their goals, and against published results."""
