"""Check arguments, and the memory that a configuration needs, before it is allocated."""

from __future__ import annotations

import difflib
import functools
import math
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from multigrid.parts import PARTS, Part, resolve_shape

__all__ = [
    "check_bool",
    "check_grid",
    "check_int",
    "check_keywords",
    "check_limit",
    "check_memory",
    "check_name",
    "check_observations",
    "check_parts",
    "check_seed",
    "check_size",
    "check_worlds",
    "find_nearest",
    "is_int",
    "shorten",
    "unexpected_keywords",
]

_LARGEST = 2**63 - 1
_MOST_BYTES = 2**36
_MOST_BYTES_OF_AN_OBSERVATION = 2**30
# Allocations of more bytes are tried first.
_UNTRIED_BYTES = 2**30
# Measured, in bytes: for a cell of the arrays, for a cell while components are labelled, and for a map.
_BYTES_OF_A_CELL, _BYTES_OF_A_SEARCHED_CELL, _BYTES_OF_A_MAP = 25, 100, 500

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200
_SHORT.maxtuple = _SHORT.maxlist = 16

_OTHER_NAMES = {
    "size": ("grid_size", "field_size", "map_size", "shape"),
    "num_agents": ("n_agents", "agents", "players", "num_players", "n_players"),
    "walls": ("map", "map_name", "grid", "layout", "obstacles"),
    "collisions": ("collision_system",),
    "observe": ("obs_type", "observation_type", "observations", "obs"),
    "view_radius": ("obs_radius", "sensor_range", "sight", "agent_view_size"),
    "reward": ("reward_type", "cooperative", "shared_reward"),
    "max_cycles": ("max_steps", "max_episode_steps", "episode_limit", "horizon", "time_limit"),
    "num_worlds": ("num_envs", "n_envs"),
}
"""The names of options in other libraries, by the name here."""

_Class = TypeVar("_Class", bound=type)


def shorten(value: object) -> str:
    """Return the `repr` of a value for an error message, shortened; never raise an error.

    >>> shorten([1, "a"]), len(shorten("a" * 1000)), len(shorten(10**9999)) < 100
    ("[1, 'a']", 200, True)
    """
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer of thousands of digits
        return f"<a value of type {type(value).__name__} that is too large to show>"


def check_bool(name: str, value: object) -> bool:
    """Return a bool, Python's or NumPy's, as Python's.

    Raises:
        TypeError: it is something else.

    >>> check_bool("copy", np.True_)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; expected True or False")
    return bool(value)


def is_int(value: object) -> bool:
    """Return whether a value is an integer, Python's or NumPy's; a bool is not.

    >>> is_int(np.int8(3)), is_int(True), is_int(3.0)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_int(name: str, value: Any, least: int, otherwise: str = "") -> int:
    """Check an integer, and return it as an int.

    Args:
        name: the argument's name, for the messages.
        value: an int or a NumPy integer.
        least: the smallest allowed value.
        otherwise: what else is expected, for the messages, such as " or None for no limit".

    Raises:
        TypeError: the value is not an integer.
        ValueError: the value is less than `least`, or does not fit into 64 bits.

    >>> check_int("width", np.int64(7), 1)
    7
    """
    expected = f"expected an integer of at least {least}{otherwise}"
    if not is_int(value):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; {expected}")
    if value < least:
        raise ValueError(f"{name} is {shorten(value)}; {expected}")
    if value > _LARGEST:
        raise ValueError(f"{name} is {shorten(value)}; {expected}, and at most {_LARGEST}, which 64 bits hold")
    return int(value)


def check_seed(seed: Any, otherwise: str = ", or None") -> int:
    """Check the seed of one world, and return it as an int.

    Args:
        seed: an int or a NumPy integer of at least 0, of any size.
        otherwise: what else is expected, for the messages.

    Raises:
        TypeError: the seed is not an integer.
        ValueError: the seed is negative.

    >>> check_seed(np.uint8(7))
    7
    """
    expected = f"expected an integer of at least 0{otherwise}"
    if not is_int(seed):
        raise TypeError(f"seed is {shorten(seed)} of type {type(seed).__name__}; {expected}")
    if seed < 0:
        raise ValueError(f"seed is {shorten(seed)}; {expected}")
    return int(seed)


def check_grid(width: int, height: int, num_maps: int | None) -> None:
    """Check that the maps of a grid fit into memory.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        num_maps: how many maps there are; None for a grid without walls.

    Raises:
        ValueError: the grid is too large; the message gives the bytes.

    >>> check_grid(2**10, 2**10, num_maps=None)
    """
    cells = width * height
    size = f"{shorten(width)} x {shorten(height)} cells"
    if num_maps is None:
        check_memory(f"size is {size}, which", cells * _BYTES_OF_A_CELL, "use a smaller size")
    else:
        needed = num_maps * (cells * _BYTES_OF_A_CELL + _BYTES_OF_A_MAP) + cells * _BYTES_OF_A_SEARCHED_CELL
        check_memory(f"walls has {num_maps} maps of {size}, which", needed, "use smaller or fewer maps")


def check_observations(parts: Collection[Part], extents: Mapping[str, int], *, flatten: bool) -> None:
    """Check that the observations fit into memory.

    Args:
        parts: the parts of an observation.
        extents: as `multigrid.parts.name_extents` returns.
        flatten: whether the parts are one float32 vector.

    Raises:
        ValueError: the observations are too large; the message gives the field and the bytes.

    >>> check_observations(("agent", "view"), {"W": 5, "H": 5, "N": 2, "V": 5}, flatten=False)
    """
    width, height, num_agents = (extents[name] for name in "WHN")
    whole_map = max(width, height) - 1
    causes: dict[Part, tuple[str, str]] = {
        "view": (
            f"view_radius is {shorten(extents['V'] // 2)}",
            f"use a smaller view_radius; {whole_map} shows the whole grid from each of its cells",
        ),
        "walls": (
            f"the grid has {width} x {height} cells",
            "leave 'walls' out of observe, or use a smaller grid or fewer agents",
        ),
        "others": (f"num_agents is {num_agents}", "leave 'others' out of observe, or use fewer agents"),
    }
    # Other parts are small.
    for part in [part for part in causes if part in parts]:
        field, advice = causes[part]
        cause = f"{field}: the part {part!r} of observe"
        numbers = math.prod(resolve_shape(PARTS[part].shape, extents))
        itemsize = 4 if flatten else np.dtype(PARTS[part].dtype).itemsize
        check_memory(f"{cause}, for one agent,", numbers * itemsize, advice, _MOST_BYTES_OF_AN_OBSERVATION)
        # The arrays and a step's results have them, and an agent's space has two bounds, with masks.
        needed = num_agents * numbers * (4 * itemsize + 2)
        check_memory(f"{cause}, for {num_agents} agents, with their spaces,", needed, advice)


def check_worlds(num_worlds: int, needed: int) -> None:
    """Check that the arrays of the worlds fit into memory.

    Args:
        num_worlds: the number of worlds.
        needed: the bytes of their arrays.

    Raises:
        ValueError: there are too many worlds; the message gives the bytes.

    >>> check_worlds(1000, 10**6)
    """
    check_memory(f"num_worlds is {shorten(num_worlds)}, which", needed, "use fewer worlds")


def check_memory(what: str, needed: int, advice: str, most: int = _MOST_BYTES) -> None:
    """Check that something fits into memory.

    Args:
        what: takes the memory; the subject of the message.
        needed: the bytes.
        advice: what to do otherwise.
        most: the most bytes that are allowed.

    Raises:
        ValueError: it takes more, or more than this machine has; the message gives the bytes.

    >>> check_memory("the map", 10**12, "use a smaller one")
    Traceback (most recent call last):
    ValueError: the map takes about 1000000000000 bytes; expected at most 68719476736: use a smaller one
    """
    if needed > most:
        raise ValueError(f"{what} takes about {shorten(needed)} bytes; expected at most {most}: {advice}")
    if needed > _UNTRIED_BYTES:
        try:
            np.empty(needed, dtype=np.uint8)
        except MemoryError as error:
            raise ValueError(
                f"{what} takes about {needed} bytes, which this machine does not have: {advice}"
            ) from error


def check_size(size: Any) -> int | tuple[int, int]:
    """Check the size of a grid, and return it as ints: the side of a square, or (width, height).

    Raises:
        TypeError: neither an integer nor two of them.
        ValueError: a side below 1.

    >>> check_size(np.array([7, 4]))
    (7, 4)
    """
    expected = "expected the side of a square, or (width, height), in whole cells"
    if is_int(size):
        sides: Sequence[Any] = (size,)
    elif isinstance(size, Sequence) and not isinstance(size, str | bytes | bytearray) and len(size) == 2:
        sides = size
    elif isinstance(size, np.ndarray) and size.shape == (2,):
        sides = size.tolist()
    else:
        raise TypeError(f"size is {shorten(size)} of type {type(size).__name__}; {expected}")
    for side in sides:
        if not is_int(side):
            raise TypeError(f"size is {shorten(size)}; {expected}")
        if side < 1:
            raise ValueError(f"size is {shorten(size)}; {expected}, each at least 1")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


def check_name(field: str, value: Any, names: tuple[str, ...]) -> str:
    """Check that a value is one of some names, and return it as a plain str.

    Raises:
        ValueError: it is none of them.

    >>> check_name("reward", "shared", ("individual", "shared"))
    'shared'
    """
    # `value in names` fails for an array, and a subclass of str may compare differently.
    plain = str.__str__(value) if isinstance(value, str) else None
    if plain not in names:
        meant = plain and find_nearest(plain, names, 0.6)
        hint = f" (did you mean {meant!r}?)" if meant else ""
        raise ValueError(f"{field} is {shorten(value)}{hint}; expected one of {', '.join(map(repr, names))}")
    return plain


def check_parts(observe: Any) -> tuple[Part, ...]:
    """Check the names of the parts of an observation, and return them as a tuple.

    Raises:
        TypeError: no sequence.
        ValueError: no name, an unknown one, or one twice.

    >>> check_parts(["agent", "view"])
    ('agent', 'view')
    """
    if isinstance(observe, str) or not isinstance(observe, Sequence):
        raise TypeError(f"observe is {shorten(observe)}; expected a tuple of names out of {', '.join(PARTS)}")
    if not observe:
        raise ValueError(f"observe is empty; expected at least one name out of {', '.join(PARTS)}")
    parts = tuple(check_name("a part of observe", part, tuple(PARTS)) for part in observe)
    if len(set(parts)) != len(parts):
        raise ValueError(f"observe is {shorten(parts)}; name each part once")
    return cast("tuple[Part, ...]", parts)


def find_nearest(word: str, names: Iterable[str], similarity: float) -> str | None:
    """Return the name that a word most likely misspells, or None.

    Args:
        word: the word, of which the first 100 characters are compared, in lower case.
        names: the names, in lower case.
        similarity: the least similarity, from 0 to 1, as `difflib.SequenceMatcher.ratio` measures it.

    >>> find_nearest("num_agent", ["size", "num_agents"], 0.6), find_nearest("colour", ["size", "num_agents"], 0.6)
    ('num_agents', None)
    """
    return next(iter(difflib.get_close_matches(word[:100].lower(), names, 1, similarity)), None)


def unexpected_keywords(function: str, given: Iterable[str], names: Collection[str]) -> TypeError:
    """Return the error for keywords that a function does not have; it names those that were probably meant.

    Args:
        function: the function's name.
        given: all keywords that were given.
        names: the keywords that the function has, of which not all are among the given ones.

    >>> print(unexpected_keywords("GridConfig", ["n_agents"], ["size", "num_agents"]))
    GridConfig() got an unexpected keyword argument 'n_agents' (did you mean num_agents?); expected size, num_agents
    """
    others = {other: name for name, others in _OTHER_NAMES.items() for other in others if name in names}
    others |= dict.fromkeys(("width", "height"), "size=(width, height)") if "size" in names else {}
    unknown = []
    for word in given:
        if word not in names:
            meant = others.get(word) or find_nearest(word, names, 0.6)
            unknown.append(shorten(word) + (f" (did you mean {meant}?)" if meant else ""))
    arguments = "an unexpected keyword argument" if len(unknown) == 1 else "unexpected keyword arguments"
    return TypeError(f"{function}() got {arguments} {', '.join(unknown)}; expected {', '.join(names)}")


def check_keywords(cls: _Class) -> _Class:
    """Make the constructor of a dataclass raise `unexpected_keywords` for keywords that are no fields.

    >>> import dataclasses
    >>> @check_keywords
    ... @dataclasses.dataclass
    ... class Options:
    ...     max_cycles: int
    >>> Options(max_steps=3)
    Traceback (most recent call last):
    TypeError: Options() got an unexpected keyword argument 'max_steps' (did you mean max_cycles?); expected max_cycles
    """
    create: Any = vars(cls)["__init__"]
    names = list(vars(cls)["__dataclass_fields__"])

    @functools.wraps(create)
    def check_and_create(self: Any, *args: Any, **keywords: Any) -> None:
        if not keywords.keys() <= set(names):
            raise unexpected_keywords(cls.__name__, keywords, names)
        create(self, *args, **keywords)

    cls.__init__ = check_and_create  # type: ignore[misc]
    return cls


def check_limit(max_cycles: Any) -> int | None:
    """Check a limit of steps, None for no limit, and return it.

    Raises:
        TypeError: neither an integer nor None.
        ValueError: an integer below 1.

    >>> check_limit(300)
    300
    """
    return None if max_cycles is None else check_int("max_cycles", max_cycles, 1, " or None for no limit")
