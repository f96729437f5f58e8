"""Files of the weights of `multigrid.planning._network`."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from multigrid._files import MOST_BYTES, read_bytes, replace_file
from multigrid.planning._network import NUM_WAYS, Weights
from multigrid.planning._surroundings import NUM_AGENT_BITS, NUM_CELLS, NUM_GROUNDS
from multigrid.planning._team import NUM_SCORES


def load_weights(file: Path) -> Weights:
    """Return the weights in a file that `save_weights` has written.

    Raises:
        ValueError: it is not such a file; it has other arrays, or arrays of other shapes, such as those for another
            form of windows, or numbers that are not finite.
        OSError: the file cannot be read.
    """
    content, expected = io.BytesIO(read_bytes(file)), "expected a file of save_weights"
    try:
        with np.load(content, allow_pickle=False) as archive:
            num_bytes = sum(info.file_size for info in archive.zip.infolist())
            there = [name for name in Weights._fields if name in archive and num_bytes <= MOST_BYTES]
            arrays = {name: archive[name] for name in there}
    except Exception as error:
        # zipfile, zlib and NumPy raise a dozen kinds of errors for damaged archives.
        raise ValueError(f"{file} is not an archive of arrays ({error}); {expected}") from error
    if num_bytes > MOST_BYTES:
        raise ValueError(f"{file} has arrays of {num_bytes} bytes; expected at most {MOST_BYTES}")
    if missing := [name for name in Weights._fields if name not in arrays]:
        raise ValueError(f"{file} lacks the arrays {', '.join(missing)}; {expected}")
    for name, array in arrays.items():
        with np.errstate(over="ignore"):
            arrays[name] = np.ascontiguousarray(array, np.float32) if array.dtype.kind == "f" else array
        if array.dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{file} has {name} of {array.dtype}, or not finite; expected finite floats")
    weights = Weights(**arrays)
    first, second, third = (len(bias) for bias in (weights.bias, weights.second_bias, weights.third_bias))
    inputs = (NUM_CELLS, NUM_GROUNDS, first), (NUM_CELLS, NUM_AGENT_BITS, first), (NUM_WAYS, first), (first,)
    layers = (first, second), (second,), (second, third), (third,), (third, NUM_SCORES), (NUM_SCORES,)
    for name, array, shape in zip(Weights._fields, weights, (*inputs, *layers), strict=True):
        if array.shape != shape:
            raise ValueError(f"{file} has {name} of shape {array.shape}; expected {shape}: it is of another version")
    return weights


def save_weights(weights: Weights, file: Path) -> None:
    """Write weights, rounded to float16, to a file of the form .npz."""
    arrays = {name: array.astype(np.float16) for name, array in weights._asdict().items()}
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays)
