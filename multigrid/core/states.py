"""The form of saved states, and their copies that are checked before they are restored."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, shorten
from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.core import generators
from multigrid.core.arrays import ABSENT, LEAST_AGENTS, Arrays
from multigrid.maps._cells import NO_TARGET, WALL, label_components
from multigrid.maps._layouts import make_layout

FIELDS = (
    *("map_index", "steps", "episode_over", "location", "target", "status", "arrivals", "arrival_step"),
    *("rewards", "terminated", "truncated", "num_ended", "outcomes", "distances"),
)
"""The arrays that every state has, besides its random stream."""

DELAY_FIELDS = ("delay_streams", "delay_left", "delayed_steps")
"""The arrays that a state has beside `FIELDS` in a world with delays."""

MESSAGES = "messages"
"""The array that a state has beside `FIELDS` in a world with messages."""

NUM_AGENTS = "num_agents"
"""The array that a state has beside `FIELDS` in a world whose number of agents is drawn."""

WALLS = "walls"
"""The map of a state, bool (W, H), beside `FIELDS` in a world whose maps are drawn; "map_index" is 0 then."""

LISTS = "target_lists"
"""The array that a state has beside `FIELDS` if its world has lists of targets: (N, T, 2), T in the longest list."""

BEGINNINGS = "beginnings"
"""The layout at the beginning of the episode, int64 (N, 4), `ABSENT` for an agent that takes no part, with `WALLS`."""

_LABELS = ("components", "component_sizes")

VERSION = 3
"""The version of the form, incremented when the names or the meaning of the fields change."""

EXPECTED = "expected what get_state() of the same configuration returned"


def list_fields(arrays: Arrays, own: Collection[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of every state by name, but for its random stream; a game adds the actions, and its `own`."""
    names = FIELDS if arrays.own is None else (*FIELDS, "actions")
    names = (*names, *DELAY_FIELDS) if len(arrays.delay_left) else names
    names = (*names, MESSAGES) if len(arrays.messages) else names
    names = (*names, NUM_AGENTS) if arrays.settings[LEAST_AGENTS] < arrays.location.shape[1] else names
    names = (*names, BEGINNINGS) if draws_maps(arrays) else names
    return {name: getattr(arrays, name) for name in names} | {name: getattr(arrays.own, name) for name in own}


def draws_maps(arrays: Arrays) -> bool:
    """Return whether each world has a map of its own."""
    return len(arrays.map_options) > 0


def read_maps(arrays: Arrays, worlds: Any) -> dict[str, NDArray[Any]]:
    """Return what states say of the maps of some worlds, where these are drawn."""
    index = arrays.map_index[worlds]
    return {"map_index": np.zeros_like(index), WALLS: arrays.components[worlds] == WALL}


def walls_of(config: GridConfig, state: Any) -> NDArray[np.bool_]:
    """Return the map of the state of one world, bool (W, H)."""
    walls: NDArray[np.bool_] = state[WALLS] if WALLS in state else config.is_wall[state["map_index"]]
    return walls


class StateBuffer:
    """Arrays into which the states of K worlds are copied to be checked; all but the state is shared with the worlds.

    `own` are the arrays of a game's state. `longest` is the number of targets in the longest of the states' lists, 0
    without lists. Raises ValueError if there is not enough memory for the lists.
    """

    def __init__(self, arrays: Arrays, num_worlds: int, longest: int = 0, own: Collection[str] = ()) -> None:
        sources = list_fields(arrays, own) | {"streams": arrays.streams}
        self._fields = {name: np.zeros((num_worlds, *array.shape[1:]), array.dtype) for name, array in sources.items()}
        if draws_maps(arrays):
            self._fields[WALLS] = np.zeros((num_worlds, *arrays.components.shape[1:]), np.bool_)
        shape = (num_worlds if longest else 0, arrays.arrivals.shape[1], longest, 2)
        check_worlds(num_worlds, math.prod(shape) * arrays.target_lists.itemsize)
        self._lists, self._lengths = np.zeros(shape, np.int64), np.zeros(shape[:2], np.int64)
        shared = {name: field for name, field in self._fields.items() if name in Arrays._fields}
        self.arrays = arrays._replace(**shared, target_lists=self._lists, list_lengths=self._lengths)
        if own:
            fields = {name: self._fields[name] for name in own}
            self.arrays = self.arrays._replace(own=arrays.own._replace(**fields))
        if draws_maps(arrays):
            maps = {name: np.zeros_like(getattr(arrays, name)[:1].repeat(num_worlds, axis=0)) for name in _LABELS}
            self.arrays = self.arrays._replace(**maps)
        self.num_worlds, self.longest = num_worlds, longest
        # Indexing takes longer than copying a small field.
        self._first = self._row(0) if num_worlds else []

    def read(self, states: Any) -> None:
        """Copy states from stacked arrays by name, (K, ...); raise TypeError or ValueError for anything else."""
        _check_version(states, "the state", (self.num_worlds,))
        for name, field in self._fields.items():
            _copy(states, name, field, "the state")
        if self.longest:
            _copy(states, LISTS, self._lists, "the state")

    def read_each(self, states: Sequence[Any]) -> None:
        """Copy K states of single worlds, as `read`."""
        for k, state in enumerate(states):
            label = "the state" if len(states) == 1 else f"state {k}"
            _check_version(state, label)
            for name, field in self._first if k == 0 else self._row(k):
                _copy(state, name, field, label)
            if self.longest:
                longest = find_longest(state)
                self._lists[k, :, longest:] = NO_TARGET
                if longest:
                    _copy(state, LISTS, self._lists[k, :, :longest], label)
            _read_generator(self.arrays.streams[k], state, label)

    def _row(self, k: int) -> list[tuple[str, NDArray[Any]]]:
        return [(name, field[k, ...]) for name, field in self._fields.items() if name != "streams"]

    def label_maps(self, config: GridConfig) -> None:
        """Label the components of the copied maps; raise ValueError for a state of another map than its own."""
        if WALLS not in self._fields:
            return
        index, labels, sizes = self.arrays.map_index, self.arrays.components, self.arrays.component_sizes
        if index.any():
            raise ValueError(f"map_index in the state is {index.tolist()}; expected 0, for its map is its walls")
        index[...] = np.arange(self.num_worlds)
        for k, walls in enumerate(self._fields[WALLS]):
            labels[k] = label_components(walls)
            sizes[k] = np.bincount(labels[k].ravel(), minlength=sizes.shape[1])
            if not config.has_targets:
                sizes[k] = np.maximum(sizes[k], 2)
            cells = self._fields[BEGINNINGS][k]
            count = int(self._fields[NUM_AGENTS][k]) if NUM_AGENTS in self._fields else len(cells)
            first = cells[: max(count, 0)]
            if config.game is None:
                layout = first[:, :2], first[:, 2:]
                make_layout(labels[k], count, *layout, config.on_target, label=f"{{}} of {BEGINNINGS} in the state")
            elif ((first < 0) | (first >= np.tile(walls.shape, 2))).any() or walls[tuple(first[:, :2].T)].any():
                raise ValueError(f"{BEGINNINGS} in the state has a cell that is a wall, or outside the map; {EXPECTED}")
            if (cells[len(first) :] != ABSENT).any():
                raise ValueError(f"{BEGINNINGS} in the state has more than {count} agents; {EXPECTED}")

    def count_lists(self) -> None:
        """Compute the lengths of the copied lists."""
        if self.longest:
            self._lengths[...] = (self._lists[..., 0] != NO_TARGET).sum(axis=2)


def find_longest(states: Any) -> int:
    """Return the length of the longest list of targets in unchecked states, fillers included; 0 without lists."""
    longest = 0
    for state in states if isinstance(states, list) else (states,):
        if isinstance(state, dict) and state.get(LISTS) is not None:
            try:
                shape = np.shape(state[LISTS])
            except (ValueError, TypeError) as error:
                raise ValueError(f"{LISTS} in the state is ragged, or no array; {EXPECTED}") from error
            # The rest of the shape is checked when the lists are read.
            longest = max(longest, 1, *shape[-2:-1])
    return longest


def _check_version(state: Any, label: str, shape: tuple[int, ...] = ()) -> None:
    """Raise an error unless a state is a dict whose version, an int or for K worlds an array (K,), is this one."""
    if not isinstance(state, dict):
        raise TypeError(f"{label} is of type {type(state).__name__}; {EXPECTED}")
    version: Any = state.get("version")
    # The usual case first: NumPy's functions take longer than all the rest.
    if type(version) is int and version == VERSION and not shape:
        return
    is_whole = version.dtype.kind in "iu" if isinstance(version, np.ndarray) else is_int(version)
    if not is_whole or np.any(version != VERSION):
        found = shorten(version) if "version" in state else "missing, as in states of older versions"
        raise ValueError(f"version in {label} is {found}; expected {VERSION}, that of get_state() in this multigrid")
    if np.shape(version) != shape:
        raise ValueError(f"version in {label} is of shape {np.shape(version)}, not {shape}; {EXPECTED}")


def _copy(states: dict[str, Any], name: str, field: NDArray[Any], label: str) -> None:
    """Copy a field of one or more states into an array of the required shape and dtype."""
    array = states.get(name)
    if field.ndim == 0 and type(array) is field.dtype.type:
        field[()] = array
        return
    if type(array) is not np.ndarray or array.dtype is not field.dtype or array.shape != field.shape:
        array = _check_field(states, name, field, label)
    # A bool that is neither 0 nor 1 in memory is True to NumPy, and anything to compiled code.
    field[...] = array.view(np.uint8) != 0 if field.dtype.kind == "b" else array


def _check_field(states: dict[str, Any], name: str, field: NDArray[Any], label: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.asarray(states[name])
    except KeyError:
        problem = "missing"
    except (ValueError, TypeError):
        problem = "ragged, or no array"
    else:
        if array.shape == field.shape and array.dtype == field.dtype:
            return array
        problem = f"{array.dtype} of shape {array.shape}"
    raise ValueError(f"{name} in {label} is {problem}, not {field.dtype} of shape {field.shape}; {EXPECTED}")


def _read_generator(stream: NDArray[np.uint64], state: dict[str, Any], label: str) -> None:
    bits = state.get("np_random")
    problem = "" if isinstance(bits, dict) and bits.get("bit_generator") == "PCG64" else "it is not of a PCG64"
    try:
        if not problem:
            generators.write_checked_stream(stream, bits)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise ValueError(f"np_random in {label} is {shorten(bits)}: {problem}; expected the state of a PCG64")
