"""The oracle: the documented GridWorld that `python -m benchmarks` times, with lists in place of arrays.

Its file imports nothing of the package that it judges, as test_layers.py checks: the moves, the draws of NumPy and the
drawing by pygame stand in it once more.
"""

import hashlib

import numpy as np

from benchmarks.documented import DocumentedGridWorld


class Oracle(DocumentedGridWorld):
    """The documented environment, whose ``reset`` and ``step`` return what compares with ==."""

    def reset(self, *, seed=None, options=None):
        """Draw the agent, then a target until it is somewhere else."""
        return plain(super().reset(seed=seed))

    def step(self, action):
        """Move, and stop at the rim of the grid."""
        return plain(super().step(action))


def plain(returned):
    """What `reset` or `step` returned, with lists in place of arrays, so that it compares with ==."""
    observation, *rest = returned
    return ({name: array.tolist() for name, array in observation.items()}, *rest)


def digest(frame):
    """SHA-256 of a frame's raw bytes."""
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()
