"""The oracle: the documented GridWorld that `python -m benchmarks` times, with lists in place of arrays.

Its file imports nothing of the package that it judges, as test_layers.py checks: the moves, the draws of NumPy and the
drawing by pygame stand in it once more.
"""

import hashlib

import numpy as np

from benchmarks.documented import DocumentedGridWorld


class DocumentedRowColumn(DocumentedGridWorld):
    """The documented environment since Gymnasium 1.2.3: other steps, and frames of the cells ``[col, row]``."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        steps = np.array([0, 1]), np.array([-1, 0]), np.array([0, -1]), np.array([1, 0])
        self._action_to_direction = dict(enumerate(steps))

    def _render_frame(self):
        cells = self._agent_location, self._target_location
        self._agent_location, self._target_location = cells[0][::-1], cells[1][::-1]
        frame = super()._render_frame()
        self._agent_location, self._target_location = cells
        return frame


class Oracle(DocumentedGridWorld):
    """The documented environment, whose ``reset`` and ``step`` return what compares with ==."""

    def reset(self, *, seed=None, options=None):
        """Draw the agent, then a target until it is somewhere else."""
        return plain(super().reset(seed=seed))

    def step(self, action):
        """Move, and stop at the rim of the grid."""
        return plain(super().step(action))


class RowColumnOracle(Oracle, DocumentedRowColumn):
    """The same of the edition since Gymnasium 1.2.3."""


def plain(returned):
    """What `reset` or `step` returned, with lists in place of arrays, so that it compares with ==."""
    observation, *rest = returned
    return ({name: array.tolist() for name, array in observation.items()}, *rest)


def digest(frame):
    """SHA-256 of a frame's raw bytes."""
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()
