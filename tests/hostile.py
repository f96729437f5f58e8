"""Hostile inputs: what may happen to a file, by chance or on purpose, and odd values for any argument."""

from __future__ import annotations

import copy
import functools
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import multigrid

ODD_BYTES = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r\n", b"\n\n", b"\t", b" "),
    *(b"0", b"#", b",", b'"', b"-", b"[", b"}", b"\\u0000", b"9" * 5000, b"[" * 100_000, b'{"a":' * 100_000),
    *(b"NaN", b"-Infinity", b"1e999"),
]


def damage(content: bytes, random: np.random.Generator) -> bytes:
    """Return the content of a file after one accident, or up to three."""
    for _ in range(random.integers(1, 4)):
        at, to = sorted(random.integers(0, len(content) + 1, 2).tolist())
        lines = content.split(b"\n")
        one, other = random.integers(0, len(lines), 2).tolist()
        swapped = [*lines]
        swapped[one], swapped[other] = lines[other], lines[one]
        content = [
            content[:at] + bytes([random.integers(256)]) + content[at + 1 :],
            content[:at] + ODD_BYTES[random.integers(len(ODD_BYTES))] + content[at:],
            content[:at] + content[to:],
            content[:at],
            b"\n".join(swapped),
            b"\n".join([*lines[:one], lines[other], *lines[one:]]),
            b"\n".join(lines[:one] + lines[one + 1 :]),
        ][random.integers(7)]
    return content


HOSTILE_JSON: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 5, 2**31, 2**32, 2**63, 2**64, 2**128, -(2**63) - 1, 10**30, 10**4200),
    *(0.0, -0.0, 0.5, 1.0, 2.5, 1e308, -1e-308, float("nan"), float("inf")),
    *("", "a", "0", "1", "+1", " 1", "1_0", "0x1", "\u0663", "\0", "\ud800", "-", "--", "..", "a.A", "x" * 3000),
    *("f" * 32, "F" * 32, "0" * 32, "1" * 32, "0" * 31 + "2", "f" * 33, "00000000", "deadbeef"),
    *("park", "leave", "stay", "restart", "none", "symmetric", "shared", "view", "agent", "PCG64"),
    *([], [[]], [[], []], {}, {"a": 1}, [None], [0], [0, 0], [[0, 0]], [[0, 0], [1, 1]], [[0.5, 0], [1, 1]]),
    *([[0, 0, 0]], [[[0, 0]]], [["0", "0"]], [[True, False], [0, 1]], [[-1, -1], [0, 0]], [[2**64, 0], [0, 0]]),
    *(["."], ["..", "..."], ["#####"] * 4, ["....."] * 4, ["a...A"] * 4, ["00"] * 6, ["--"] * 6, ["view", "view"]),
    *(["agent", "target", "others", "view", "walls", "action_mask"], ["agent"]),
    {"state": "1", "inc": "1", "has_uint32": 0, "uinteger": 0},
]


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in some JSON with each of its keys."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places_in(inner)


def change_values(content: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return the same content with some values replaced, removed or swapped."""
    content = copy.deepcopy(content)
    for _ in range(random.integers(1, 3)):
        places = list(places_in(content))
        # Rows of maps and actions would be most of the places.
        tops = [place for place in places if place[0] is content or isinstance(place[0], dict)]
        some = tops if random.integers(2) else places
        (holder, key), (other, place) = (some[random.integers(len(some))] for _ in range(2))
        kind = random.integers(5)
        if kind < 3:
            holder[key] = copy.deepcopy(HOSTILE_JSON[random.integers(len(HOSTILE_JSON))])
        elif kind == 3 and len(content) > 1:
            del holder[key]
        else:
            holder[key], other[place] = copy.deepcopy((other[place], holder[key]))
    return content


class OwnError(Exception):
    """What only a hostile argument raises."""


class Refuses:
    """An object that raises whatever is asked of it."""

    def _refuse(self, *_given: Any, **_named: Any) -> Any:
        raise OwnError

    __array__ = __len__ = __iter__ = __getitem__ = __index__ = __int__ = __float__ = __bool__ = __eq__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __contains__ = __call__ = __fspath__ = __hash__ = _refuse


def itself() -> list[Any]:
    """A list that has itself in it."""
    endless: list[Any] = []
    endless.append(endless)
    return endless


def deep() -> list[Any]:
    """A list in a list, and so on."""
    return functools.reduce(lambda inner, _: [inner], range(5000), [])


VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, 7, -1, -2, -(2**70), 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30),
    *(0.5, -0.0, 1.0, 1e300, 1e-300, 1j, float("nan"), float("inf"), -float("inf"), ..., int, object, len),
    *("", "x", "agent_0", "0", "\0", "\udc80", "a.B\n.#.", "../x", "x" * 10**5, b"", b"x", Path("no/such/file")),
    *(Path(), range(3), slice(1), frozenset(), [], [0], [0, 1], [[0, 0]], [[0, 1], [2]], [None], ["x"], [{}]),
    *((), (1, 2), (0, -1), {}, {"a": 1}, {0: 0}, {"agent_0": 9}, {1}),
    *map(np.array, ([], 1, [1, 2], [[0, 1]], [[[0]]], [0.5], [np.nan], ["a"], [True], [None])),
    *(np.array([[True, False], [False, False]]), np.full((3, 2), 2**62), np.zeros(2, dtype=[("a", "i8")])),
    *(np.zeros(shape, dtype=bool) for shape in ((0, 3), (3, 0), (2, 3, 2))),
    *(np.uint64(2**64 - 1), np.int8(-1), np.float32("nan"), np.bool_(True), np.datetime64("NaT")),
    np.ma.masked_array([1, 2], mask=[1, 0]),
]
ODD: list[Callable[[], Any]] = [
    *(functools.partial(copy.copy, value) for value in VALUES),
    lambda: np.random.default_rng(0),
    lambda: np.random.RandomState(0),
    lambda: iter([1, 2]),
    lambda: (value for value in (0, 1)),
    lambda: io.StringIO("x"),
    *(itself, deep, Refuses, object, multigrid.GridWorldEnv, multigrid.GridConfig),
]
