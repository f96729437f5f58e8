"""What `python -m benchmarks.peers` runs in the Python environments of other libraries; nothing here imports multigrid.

`serve_rounds.py` is the program. Each other module plays one library, and imports it only where it plays, for it is
installed there and not here.
"""
