"""What runs in the Python environment of POGEMA, or there and here: nothing in here imports multigrid."""
