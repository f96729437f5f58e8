"""The eight symmetries of the square: a window that is turned or mirrored asks for the turned or mirrored action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS, MOVES, Action
from multigrid.policies._surroundings import CAME, NEARER, NUM_AGENT_BITS, NUM_CELLS, RADIUS, SIDE
from tools.pretraining.labels import Labels


class Symmetry(NamedTuple):
    """A symmetry, as permutations."""

    cells: NDArray[np.int64]
    """int64 (121,): the cell of the window that comes to each cell."""
    codes: NDArray[np.uint16]
    """uint16 (65536,): what becomes of each agents' code."""
    actions: NDArray[np.uint8]
    """uint8 (5,): what becomes of each action."""


def _make(matrix: NDArray[np.int64]) -> Symmetry:
    offsets = np.stack(np.meshgrid(*[np.arange(-RADIUS, RADIUS + 1)] * 2, indexing="ij"), axis=-1).reshape(NUM_CELLS, 2)
    # The inverse of a symmetry is its transpose.
    from_cells = (offsets @ matrix + RADIUS) @ (SIDE, 1)
    after = DIRECTIONS @ matrix.T
    actions = (after[:, None] == DIRECTIONS).all(axis=2).argmax(axis=1)
    codes = np.arange(2**NUM_AGENT_BITS)
    new = codes.copy()
    for first in (NEARER, CAME):
        for move in range(len(MOVES)):
            new &= ~(first << move)
        for move in range(len(MOVES)):
            new |= np.where(codes & (first << move), first << int(actions[move]), 0)
    return Symmetry(from_cells, new.astype(np.uint16), actions.astype(np.uint8))


# The columns are what becomes of right and up.
_TURN = DIRECTIONS[[Action.UP, Action.LEFT]].T
_MIRROR = DIRECTIONS[[Action.RIGHT, Action.DOWN]].T
SYMMETRIES = tuple(
    _make(np.linalg.matrix_power(_TURN, turns) @ np.linalg.matrix_power(_MIRROR, mirrored))
    for mirrored in (0, 1)
    for turns in range(4)
)
"""All eight; the first changes nothing."""


def transform(labels: Labels, symmetry: Symmetry) -> Labels:
    """Return labels, turned or mirrored."""
    # Unlike `labels.grounds[:, symmetry.cells]`, this keeps the order in memory, for which the kernels are compiled.
    return Labels(
        np.take(labels.grounds, symmetry.cells, axis=1),
        symmetry.codes[np.take(labels.agents, symmetry.cells, axis=1)],
        labels.ways,
        symmetry.actions[labels.actions],
    )
