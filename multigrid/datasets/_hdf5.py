"""Write episodes to the HDF5 file of a Minari dataset, in Minari's own layout.

Minari's ``HDF5Storage.update_episodes`` gives each array chunks of its own, so that it can grow: for rows of a dozen
steps that takes 1.6 ms and 29 kB a row, of which 8 kB are data. Arrays of a fixed size inside the object headers take
0.4 ms and 13 kB. Minari reads both alike, and adds further episodes to both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5p, h5s, h5t

FILE = "main_data.hdf5"
"""The name that Minari gives to the file."""

# An object header, which also holds other things, has at most 64 KiB.
_MOST_BYTES_INSIDE = 60_000


def write_episodes(path: Path, first: int, episodes: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
    """Append episodes to a file."""
    scalar = h5s.create(h5s.SCALAR)
    with h5py.File(path, "a", track_order=True) as file:
        for number, (attributes, arrays) in enumerate(episodes, start=first):
            group = h5g.create(file.id, f"episode_{number}".encode())
            for name, value in {"id": number, **attributes}.items():
                one = np.asarray(value)
                kind = _find_type(one.dtype)
                h5a.create(group, name.encode(), kind, scalar).write(one, kind)
            for name, array in arrays.items():
                _write_array(group, name, array)


def _write_array(group: Any, name: str, array: Any) -> None:
    if isinstance(array, Mapping):
        subgroup = h5g.create(group, name.encode())
        for part, value in array.items():
            _write_array(subgroup, part, value)
        return
    array = np.ascontiguousarray(array)
    kind, layout = _find_type(array.dtype), _find_layout(inside=array.nbytes <= _MOST_BYTES_INSIDE)
    h5d.create(group, name.encode(), kind, h5s.create_simple(array.shape), layout).write(h5s.ALL, h5s.ALL, array, kind)


@functools.cache
def _find_type(dtype: np.dtype[Any]) -> Any:
    return h5t.py_create(dtype, logical=True)


@functools.cache
def _find_layout(*, inside: bool) -> Any:
    layout = h5p.create(h5p.DATASET_CREATE)
    layout.set_layout(h5d.COMPACT if inside else h5d.CONTIGUOUS)
    return layout
