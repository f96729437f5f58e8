"""What `multigrid bench` runs inside the peers' own environments; nothing here imports this package.

`rounds.py` is the program; the other modules name what it plays, each of one peer, which it imports when it is asked
for, because it is installed there and not here.
"""
