"""Files of the weights of `multigrid.planning.learned.network`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multigrid._files import replace_file
from multigrid.planning.learned.network import NUM_WAYS, Weights
from multigrid.planning.learned.surroundings import NUM_AGENT_BITS, NUM_CELLS, NUM_GROUNDS
from multigrid.planning.team import NUM_SCORES

__all__ = ["load_weights", "save_weights"]


def load_weights(file: Path) -> Weights:
    """Return the weights in a file that `save_weights` has written.

    Raises:
        ValueError: it has other arrays, or arrays of other shapes, such as those for another form of windows.
        OSError: the file cannot be read.
    """
    with np.load(file) as arrays:
        if missing := [name for name in Weights._fields if name not in arrays]:
            raise ValueError(f"{file} lacks the arrays {', '.join(missing)}; expected a file of save_weights")
        weights = Weights(*(np.ascontiguousarray(arrays[name], np.float32) for name in Weights._fields))
    first, second, third = (len(bias) for bias in (weights.bias, weights.second_bias, weights.third_bias))
    expected = Weights(
        ground=(NUM_CELLS, NUM_GROUNDS, first),
        agents=(NUM_CELLS, NUM_AGENT_BITS, first),
        ways=(NUM_WAYS, first),
        bias=(first,),
        second=(first, second),
        second_bias=(second,),
        third=(second, third),
        third_bias=(third,),
        last=(third, NUM_SCORES),
        last_bias=(NUM_SCORES,),
    )
    for name, array, shape in zip(Weights._fields, weights, expected, strict=True):
        if array.shape != shape:
            raise ValueError(f"{file} has {name} of shape {array.shape}; expected {shape}: it is of another version")
    return weights


def save_weights(weights: Weights, file: Path) -> None:
    """Write weights, rounded to float16, to a file of the form .npz."""
    arrays = {name: array.astype(np.float16) for name, array in weights._asdict().items()}
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays)
