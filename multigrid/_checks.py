"""Check arguments."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import itertools
import math
import reprlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from multigrid.parts import PARTS, Part

_LARGEST = 2**63 - 1
_MOST_OF_A_LIST, _MOST_OF_A_TEXT = 250, 500
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200
_SHORT.maxtuple = _SHORT.maxlist = 16

_OTHER_NAMES = {
    "size": ("grid_size", "field_size", "map_size", "board_size", "world_size", "grid_shape", "shape"),
    "num_agents": ("n_agents", "agents", "number_of_agents", "players", "num_players", "n_players", "n_pursuers"),
    "walls": ("map", "map_name", "grid", "layout", "layout_name", "desc", "obstacles"),
    "collisions": ("collision_system",),
    "observe": ("obs_type", "observation_type", "observations", "obs"),
    "view_radius": ("obs_radius", "sensor_range", "sight", "sight_range", "view_range"),
    "reward": ("reward_type", "cooperative", "shared_reward", "joint_reward"),
    "allow_stay": ("noop", "allow_noop"),
    "max_cycles": ("max_steps", "max_episode_steps", "max_frames", "episode_limit", "horizon", "time_limit"),
    "num_worlds": ("num_envs", "n_envs"),
    "render_size": ("window_size", "screen_size"),
}
"""The names of options in other libraries, by the name here."""
_WIDTHS_OF_VIEWS = ("view_size", "agent_view_size", "obs_range", "obs_size", "fov", "fov_size")
"""The names in other libraries of the number of cells along a side of the view."""
_OTHER_WAYS: dict[str, dict[tuple[str, ...], str]] = {
    "size": {("width", "height", "x_size", "y_size"): "size=(width, height)"},
    "num_agents": {
        ("agents_xy", "targets_xy"): "reset(options={'agents': ..., 'targets': ...})",
        ("seed",): "reset(seed=...)",
    },
    "walls": {("density", "obstacle_density"): "walls=multigrid.maps.random_map(width, height, density)"},
}
"""What to write in place of options of other libraries; suggested if the function has the option that is the key."""

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


def list_names(names: Iterable[object]) -> str:
    """Return names for an error message, with commas; of many, the first and how many others there are.

    >>> list_names(["size", "walls"]), list_names(range(1000))[-16:]
    ('size, walls', '4 and 935 others')
    """
    shown = list(map(str, names))
    count = next((k for k in range(len(shown)) if len(", ".join(shown[: k + 1])) > _MOST_OF_A_LIST), len(shown))
    others = f" and {len(shown) - count} others" if count < len(shown) else ""
    return ", ".join(shown[:count]) + others


@contextlib.contextmanager
def name_errors(function: str) -> Iterator[None]:
    """Let an exception that a user's function raises be a TypeError or ValueError that names the function."""
    try:
        yield
    except Exception as error:
        kind = TypeError if isinstance(error, TypeError | AttributeError | NameError) else ValueError
        text = str(error) if type(error) in {TypeError, ValueError} else f"{type(error).__name__}: {error}"
        raise kind(f"{function}: {text[:_MOST_OF_A_TEXT]}") from error


def check_bool(name: str, value: object) -> bool:
    """Check a bool, Python's or NumPy's, and return it as Python's."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; expected True or False")
    return bool(value)


def is_int(value: object) -> bool:
    """Return whether a value is an integer, Python's or NumPy's; a bool is not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return whether a value is a real number, Python's or NumPy's; a bool is not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_int(name: str, value: Any, least: int, otherwise: str = "", most: float = _LARGEST) -> int:
    """Check an int or a NumPy integer from `least` to `most`, and return it as an int.

    `otherwise` names what else is allowed, for the messages, such as " or None for no limit".
    """
    expected = f"expected an integer of at least {least}{otherwise}"
    if not is_int(value):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; {expected}")
    if value < least:
        raise ValueError(f"{name} is {shorten(value)}; {expected}")
    if value > most:
        raise ValueError(f"{name} is {shorten(value)}; {expected}, and at most {most}")
    return int(value)


def check_seed(seed: Any, otherwise: str = ", or None") -> int:
    """Check the seed of one world, an integer of at least 0 and of any size, and return it as an int."""
    return check_int("seed", seed, 0, otherwise, math.inf)


def check_size(size: Any) -> int | tuple[int, int]:
    """Check the size of a grid, and return it as ints: the side of a square, or (width, height)."""
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


def resolve_size(size: Any, of_map: tuple[int, ...] | None, default: int, advice: str) -> int | tuple[int, int]:
    """Check a size, and that it is that of the map, if there is one; return it, or where it is None the other one's."""
    given = None if size is None else check_size(size)
    if of_map is None:
        return default if given is None else given
    width, height = of_map
    if given is not None and (given if isinstance(given, tuple) else (given, given)) != (width, height):
        raise ValueError(f"size is {shorten(size)} but the map is {width} x {height} cells; {advice}")
    return width, height


def check_num_agents(num_agents: Any, least: Any, fixed_by: str | None) -> tuple[int, int | None]:
    """Check the number of agents, or a pair of the least and the largest one.

    Return the largest and the least, or None if all episodes have as many. `least` is the least without a pair, and
    `fixed_by` what has the same number of agents in all episodes, or None.
    """
    is_listed = isinstance(num_agents, Sequence) or (isinstance(num_agents, np.ndarray) and num_agents.ndim == 1)
    if is_listed and not isinstance(num_agents, str | bytes) and len(num_agents) == 2:
        least, num_agents = num_agents
    most = check_int("num_agents", num_agents, 1, " or a pair of them")
    if least is None or check_int("least_agents", least, 1) == most:
        return most, None
    if least > most:
        raise ValueError(f"num_agents is from {least} to {most}; expected the least number first")
    if fixed_by is not None:
        raise ValueError(f"num_agents is from {least} to {most}, but {fixed_by} has as many in every episode")
    return most, int(least)


def check_name(field: str, value: Any, names: tuple[str, ...]) -> str:
    """Check that a value is one of some names, and return it as a plain str."""
    # `value in names` fails for an array, and a subclass of str may compare differently.
    plain = str.__str__(value) if isinstance(value, str) else None
    if plain not in names:
        meant = plain and find_nearest(plain, names, 0.6)
        hint = f" (did you mean {meant!r}?)" if meant else ""
        raise ValueError(f"{field} is {shorten(value)}{hint}; expected one of {list_names(map(repr, names))}")
    return plain


def check_parts(observe: Any, known: Collection[str] = PARTS) -> tuple[Part, ...]:
    """Check the names of the parts of an observation against those that are known, and return them as a tuple."""
    observe = (observe,) if isinstance(observe, str) else observe
    if not isinstance(observe, Sequence):
        raise TypeError(f"observe is {shorten(observe)}; expected a tuple of names out of {list_names(known)}")
    if not observe:
        raise ValueError(f"observe is empty; expected at least one name out of {list_names(known)}")
    parts = tuple(check_name("a part of observe", part, tuple(known)) for part in observe)
    if len(set(parts)) != len(parts):
        raise ValueError(f"observe is {shorten(parts)}; name each part once")
    return cast("tuple[Part, ...]", parts)


def find_nearest(word: str, names: Iterable[str], similarity: float) -> str | None:
    """Return the name that a word most likely misspells, or None.

    `similarity` is the least `difflib.SequenceMatcher.ratio` of the two, from 0 to 1. The names are in lower case.

    >>> find_nearest("num_agent", ["size", "num_agents"], 0.6), find_nearest("colour", ["size", "num_agents"], 0.6)
    ('num_agents', None)
    """
    return next(iter(difflib.get_close_matches(word[:100].lower(), names, 1, similarity)), None)


def unexpected_keywords(function: str, given: Mapping[str, object], names: Collection[str]) -> TypeError:
    """Return the error for keywords that a function does not have; its message suggests those that are nearest.

    >>> print(unexpected_keywords("GridConfig", {"n_agents": 3}, ["size", "num_agents"]))
    GridConfig() got an unexpected keyword argument 'n_agents' (did you mean num_agents?); expected size, num_agents
    """
    others = {other: name for name, others in _OTHER_NAMES.items() for other in others if name in names}
    for name in names:
        for words, way in _OTHER_WAYS.get(name, {}).items():
            others |= dict.fromkeys(words, way)
    if "view_radius" in names:
        for word in _WIDTHS_OF_VIEWS:
            width = given.get(word)
            others[word] = f"view_radius={width // 2}" if isinstance(width, int) else "view_radius"
    unknown = []
    for word in given:
        if word not in names:
            meant = others.get(word) or find_nearest(word, names, 0.6)
            unknown.append(shorten(word) + (f" (did you mean {meant}?)" if meant else ""))
    arguments = "an unexpected keyword argument" if len(unknown) == 1 else "unexpected keyword arguments"
    return TypeError(f"{function}() got {arguments} {list_names(unknown)}; expected {list_names(names)}")


def check_keywords(cls: _Class) -> _Class:
    """Make the constructor of a dataclass raise `unexpected_keywords` for keywords that are not fields."""
    create: Any = vars(cls)["__init__"]
    names = list(vars(cls)["__dataclass_fields__"])

    @functools.wraps(create)
    def check_and_create(self: Any, *args: Any, **keywords: Any) -> None:
        if not keywords.keys() <= set(names):
            raise unexpected_keywords(cls.__name__, keywords, names)
        create(self, *args, **keywords)

    cls.__init__ = check_and_create  # type: ignore[misc]
    return cls


def keep_given(cls: Any) -> Any:
    """Make the constructor keep which fields it was given, also when `dataclasses.replace` calls it."""
    create, own = cls.__init__, cls.__dataclass_fields__
    # `replace` passes the changes, and then the attributes with the names of these fields, in this order.
    marker: Any = dataclasses.make_dataclass("Marker", [("_given", dataclasses.InitVar, None)])
    fields = {**marker.__dataclass_fields__, **own}

    @functools.wraps(create)
    def keep_and_create(self: Any, *args: Any, **keywords: Any) -> None:
        if "_given" in keywords:
            changes = dict(itertools.takewhile(lambda item: item[0] != "_given", keywords.items()))
            least = {"least_agents": None} if "num_agents" in changes else {}
            keywords = {**keywords["_given"], **least, **changes}
        vars(self).update(_given=dict(zip(own, args, strict=False)) | keywords, __dataclass_fields__=fields)
        create(self, *args, **keywords)

    cls.__init__ = keep_and_create
    return cls


def check_limit(max_cycles: Any) -> int | None:
    """Check a limit of steps, None for no limit, and return it."""
    return None if max_cycles is None else check_int("max_cycles", max_cycles, 1, " or None for no limit")


def check_path_finding(config: Any, what: str) -> None:
    """Raise ValueError for the configuration of a game, whose rules something that finds paths does not know."""
    if config.game is not None:
        raise ValueError(
            f"{what} finds paths by the rules of path finding; the environment is of the game {config.game.__name__}, "
            "which has rules of its own"
        )
