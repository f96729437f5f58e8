"""Options of a game: what users pass for them, and what a game's function `prepare` makes of them."""

from __future__ import annotations

import enum
import functools
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from multigrid._checks import (
    check_bool,
    check_int,
    check_limit,
    check_parts,
    check_size,
    find_nearest,
    is_int,
    list_names,
    name_errors,
    shorten,
)
from multigrid.game import Description, Game, describe, is_number
from multigrid.parts import PARTS, name_extents

_MOST_OF_AN_EXTENT = 2**40
MOST_BITS = 32
"""The largest number of bits of a message: an action with one is a number of 64 bits."""
_SHOW_WALLS = ("walls", "view")
_PREPARED = ("size", "num_agents", "max_cycles", "observe", "walls", "actions", "message_bits")
"""What `prepare` may return beside constants and extents."""


def resolve_options(game: Any, given: Any) -> dict[str, Any] | None:
    """Return all options of a game, those that are given in place of the defaults; None without a game."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"options is {shorten(given)}; expected a dict")
    if game is None:
        if given:
            raise TypeError(f"options has {shorten(next(iter(given)))}; there is no game")
        return None
    defaults, given = describe(game, again=True).options, given or {}
    for name in given:
        if name not in defaults:
            near = find_nearest(str(name), defaults, 0.6)
            hint = f" (did you mean {near!r}?)" if near else ""
            raise TypeError(f"options has {shorten(name)}{hint}; {game.__name__} has {list_names(defaults) or 'none'}")
    return {name: _cast(name, value, defaults[name]) for name, value in {**defaults, **given}.items()}


def _cast(name: str, value: Any, default: Any) -> Any:
    """Return an option in the type of its default."""
    if not is_number(default):
        return _freeze(name, value)
    if isinstance(default, enum.IntEnum):
        return find_member(name, value, type(default))
    if isinstance(default, bool):
        return check_bool(name, value)
    if isinstance(default, int):
        if not is_int(value):
            raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; expected an integer")
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{name} is {shorten(value)}; expected an integer of 64 bits")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; expected a number")
    try:
        return float(_freeze(name, value))
    except OverflowError as error:
        raise ValueError(f"{name} is {shorten(value)}; expected a number that a float can hold") from error


def find_member(name: str, value: Any, kind: type[enum.IntEnum]) -> enum.IntEnum:
    """Return the member of an enum that is given as itself, by its name, or as a member of another enum."""
    if isinstance(value, kind):
        return value
    members = {word.upper(): one for word, one in kind.__members__.items()}
    word = str(getattr(value, "name", value)).upper()
    if word in members:
        return members[word]
    if is_int(value) and value in set(kind):
        return kind(value)
    raise ValueError(f"{name} is {shorten(value)}; expected one of {', '.join(kind.__members__)}")


def _freeze(name: str, value: Any) -> Any:
    """Return an option that only `prepare` reads: None, a str, a number, or nested tuples of these."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"{name} is nan, which is not equal to itself; expected a number")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, list | tuple):
        return tuple(_freeze(name, one) for one in value)
    kind = type(value).__name__
    raise TypeError(f"{name} is {shorten(value)} of type {kind}; expected None, a str, numbers, or lists of these")


def check_walls(game: type[Game] | None, *, has_walls: bool = False, observe: Any = None) -> None:
    """Raise ValueError for walls, and for parts that show walls, in a game that has none."""
    if game is None or game.walls:
        return
    reason = f"the grid of {game.__name__} has none (walls = False): what is in its cells is in its State"
    if has_walls:
        raise ValueError(f"walls are given, but {reason}; leave them out")
    observe = (observe,) if isinstance(observe, str) else observe
    for part in _SHOW_WALLS if isinstance(observe, tuple | list) else ():
        if part in observe:
            raise ValueError(f"observe has {part!r}, which shows walls, but {reason}; expected other parts")


def prepare_fields(game: type[Game] | None, c: Any) -> dict[str, Any]:
    """Return what a game's function `prepare` returns, checked; it is empty without such a function.

    Raises TypeError or ValueError for what it raises or what it cannot return, and ValueError if `size`, `num_agents`
    or `message_bits` were given otherwise.
    """
    found = None if game is None else describe(game)
    if found is None or "prepare" not in found.plain:
        return {}
    label = f"{found.name}.prepare"
    with name_errors(label):
        returned: Any = found.plain["prepare"](c)
    if not isinstance(returned, dict):
        raise TypeError(f"{label} returns {shorten(returned)}; expected a dict")
    if "walls" in returned and not found.game.walls:
        raise ValueError(f"{label} returns walls, but {found.name}.walls is False; leave out one of them")
    if "walls" in returned and c.maps is not None:
        raise ValueError("walls are given, but by its options the game has its own; leave them out")
    prepared: dict[str, Any] = {name: int(value) if is_int(value) else value for name, value in returned.items()}
    _check_keys(found, label, prepared)
    checks: dict[str, Any] = {"size": check_size, "num_agents": functools.partial(check_int, "num_agents", least=1)}
    checks["message_bits"] = functools.partial(check_int, "message_bits", least=0, most=MOST_BITS)
    for name, check in checks.items():
        if name not in prepared:
            continue
        value, given = prepared[name], getattr(c, name)
        with name_errors(label):
            check(value)
        if given is not None and not np.array_equal(np.broadcast_to(check(given), np.shape(value)), value):
            raise ValueError(f"{name} is {shorten(given)}, but by its options the game has {value}; leave it out")
    with name_errors(label):
        check_limit(prepared.get("max_cycles"))
        if prepared.get("observe") is not None:
            check_parts(prepared["observe"], [*PARTS, *found.parts])
        if "actions" in prepared:
            names, idle = found.actions, found.game.idle
            count = check_int("actions", prepared["actions"], 1, most=len(names))
            if idle and idle not in names[:count]:
                raise ValueError(f"actions is {count}, without {idle!r}, which is idle; name idle among the first")
    return prepared


def _check_keys(game: Description, label: str, prepared: Mapping[Any, Any]) -> None:
    """Check that `prepare` returns constants of State, extents that shapes name, and the fields that it may set."""
    fields = [name for state in game.states for name in getattr(state, "_fields", ())]
    shapes = [spec.shape for spec in game.parts.values()]
    shapes += [str(hint) for state in game.states for hint in getattr(state, "__annotations__", {}).values()]
    extents = set(re.findall(r"\w+", " ".join(shapes)))
    # What the functions get that have `c` as an argument.
    is_read = not game.plain.keys().isdisjoint({"observation_space", "make_observations"})
    taken = (*name_extents(1, 1, 1, 1, 1, 1, 1), "E", "M", "maps", "on_target", *game.options)
    for name, value in prepared.items():
        if not isinstance(name, str) or name in taken:
            expected = "expected a str" if not isinstance(name, str) else "which is taken; choose another name"
            raise ValueError(f"{label} returns {shorten(name)}, {expected}")
        is_extent = is_int(value) and name not in fields
        if name in {*_PREPARED, *fields} or (is_read and not is_extent):
            continue
        if not is_extent or not (is_read or name in extents):
            raise ValueError(
                f"{label} returns {shorten(name)}, which neither State nor a shape has; expected constants of State, "
                f"integers for shapes, and {list_names(_PREPARED)}"
            )
        check_int(f"{name} of {label}", value, 0, most=_MOST_OF_AN_EXTENT)
