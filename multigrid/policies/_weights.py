"""Files of the weights of `multigrid.policies._network`."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._files import MOST_BYTES, read_bytes, replace_file
from multigrid.planning._pibt import NUM_SCORES
from multigrid.policies._network import NUM_WAYS, Weights
from multigrid.policies._surroundings import NUM_AGENT_BITS, NUM_CELLS, NUM_GROUNDS


def load_weights(file: Path) -> Weights:
    """Return the weights in a file that `save_weights` has written.

    Raises:
        ValueError: it is not such a file; it has other arrays, or arrays of other shapes, such as those for another
            form of windows, or numbers that are not finite.
        OSError: the file cannot be read.
    """
    content = io.BytesIO(read_bytes(file))
    try:
        with zipfile.ZipFile(content) as archive:
            there = set(archive.namelist())
            if missing := [name for name in Weights._fields if f"{name}.npy" not in there]:
                raise ValueError(f"{file} lacks the arrays {', '.join(missing)}; expected a file of save_weights")
            weights = Weights(*(_read_array(archive, name, file) for name in Weights._fields))
    # What zipfile raises for damaged, encrypted and unknown forms of archives.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{file} is not an archive of arrays ({error}); expected a file of save_weights") from error
    first, second, third = (len(bias) for bias in (weights.bias, weights.second_bias, weights.third_bias))
    inputs = (NUM_CELLS, NUM_GROUNDS, first), (NUM_CELLS, NUM_AGENT_BITS, first), (NUM_WAYS, first), (first,)
    layers = (first, second), (second,), (second, third), (third,), (third, NUM_SCORES), (NUM_SCORES,)
    for name, array, shape in zip(Weights._fields, weights, (*inputs, *layers), strict=True):
        if array.shape != shape:
            raise ValueError(f"{file} has {name} of shape {array.shape}; expected {shape}: it is of another version")
    return weights


def _read_array(archive: zipfile.ZipFile, name: str, file: Path) -> NDArray[np.float32]:
    """Return an array of finite floats, float32 and C-contiguous; memory is allocated only for what is there."""
    info, form = archive.getinfo(f"{name}.npy"), np.lib.format
    came, expected = f"{file} has {name}", "expected a file of save_weights"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{came} in a compression that NumPy does not write; {expected}")
    if info.file_size > MOST_BYTES:
        raise ValueError(f"{came} of {info.file_size} bytes; expected at most {MOST_BYTES}")
    member = io.BytesIO(archive.read(f"{name}.npy"))
    readers: dict[Any, Any] = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    try:
        shape, _, dtype = readers[form.read_magic(member)](member)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{came} in an unknown form ({error}); {expected}") from error
    num_bytes, there = math.prod(shape) * dtype.itemsize, info.file_size - member.tell()
    if dtype.kind != "f" or min(shape, default=0) < 0 or num_bytes != there:
        raise ValueError(f"{came} of {dtype} {shape} in {there} bytes; expected floats, all of them there")
    member.seek(0)
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(form.read_array(member), np.float32)
    if not np.isfinite(array).all():
        raise ValueError(f"{came} with numbers that are not finite; expected finite ones")
    return array


def save_weights(weights: Weights, file: Path) -> None:
    """Write weights, rounded to float16, to a file of the form .npz."""
    arrays = {name: array.astype(np.float16) for name, array in weights._asdict().items()}
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays)
