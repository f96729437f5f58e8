"""Files of the weights of `multigrid.planning.learned.network`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multigrid._files import replace_file
from multigrid.planning.learned.network import Weights

__all__ = ["load_weights", "save_weights"]


def load_weights(file: Path) -> Weights:
    """Return the weights in a file that `save_weights` has written."""
    with np.load(file) as arrays:
        return Weights(*(np.ascontiguousarray(arrays[name], np.float32) for name in Weights._fields))


def save_weights(weights: Weights, file: Path) -> None:
    """Write weights, rounded to float16, to a file of the form .npz."""
    arrays = {name: array.astype(np.float16) for name, array in weights._asdict().items()}
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays)
