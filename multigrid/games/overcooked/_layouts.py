"""Layouts of Overcooked: their names, files and text, checked, as tables for the rules.

Things have codes: `NOTHING`, `ONION`, `TOMATO`, `DISH`, and for a soup of o onions and t tomatoes `SOUP` + 4 * o + t.
"""

from __future__ import annotations

import ast
import enum
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import find_nearest, is_int, is_real, list_names, shorten
from multigrid._files import read_bytes
from multigrid.actions import DIRECTIONS, Action
from multigrid.games.overcooked._names import LAYOUTS

NOTHING, ONION, TOMATO, DISH = range(4)
SOUP, NUM_RECIPES = 16, 16
FULL = 3
"""The most ingredients of a soup."""
RECIPES = [4 * onions + tomatoes for onions in range(4) for tomatoes in range(4) if 0 < onions + tomatoes <= FULL]
"""Of soups that a pot takes, 4 * onions + tomatoes."""
FLOOR, POT, COUNTER, ONIONS, TOMATOES, DISHES, SERVING, OUTSIDE = range(8)
"""The kinds of cells; `OUTSIDE` fills up a layout that is smaller than others."""
AHEAD = DIRECTIONS[[Action.DOWN, Action.UP, Action.RIGHT, Action.LEFT]]
"""The steps to the north, south, east and west, where y - 1 is north."""
COMMON_VALUE, COMMON_TIME, COMMON_BONUS = 20, 20, 2
"""The value and the cook time of a soup of which the layout says nothing, and what a bonus order multiplies."""
TRAINING: dict[str, Any] = {
    "steps": 5_000_000,
    "fade_shaping": 0.7,
    "gamma": 0.99,
    "entropy": 0.01,
    "hidden": (64, 64),
    "rollout": 128,
    "batch_size": 2048,
    "epochs": 4,
}
"""The defaults of ``multigrid train`` in both games."""
SHAPING = {"PLACEMENT_IN_POT_REW": 3.0, "DISH_PICKUP_REWARD": 3.0, "SOUP_PICKUP_REWARD": 5.0}
"""The shaped rewards of placing an ingredient, taking a dish, and taking a soup, by their names in files."""
_UNUSED = ("DISH_DISP_DISTANCE_REW", "POT_DISTANCE_REW", "SOUP_DISTANCE_REW")
_CHARACTERS = " PXOTDS"
_THINGS = {"onion": ONION, "tomato": TOMATO, "dish": DISH}
_KEYS = (
    *("grid", "start_all_orders", "start_bonus_orders", "recipe_values", "recipe_times", "onion_value", "tomato_value"),
    *("onion_time", "tomato_time", "cook_time", "delivery_reward", "order_bonus", "rew_shaping_params", "start_state"),
    "num_items_for_soup",
)
_EXCLUSIVE = (
    ("delivery_reward", "recipe_values", "onion_value", "tomato_value"),
    ("cook_time", "recipe_times", "onion_time", "tomato_time"),
)
_LONGEST_PATH = 1024
_LONGEST_TIME = 2**31 - 1


class Dynamics(enum.IntEnum):
    """When soups begin to cook."""

    NEW = 0
    """When a player with empty hands interacts with the pot; soups have one to three ingredients."""
    OLD = 1
    """With the third ingredient."""


class Layout(NamedTuple):
    """What the rules read of a layout."""

    kind: NDArray[np.uint8]  # (W, H)
    players: NDArray[np.int64]  # (N, 4): x, y, direction and held thing of each at the beginning
    things: NDArray[np.uint8]  # (W, H), at the beginning
    cooking: NDArray[np.int64]  # (P,), of the pots in reading order, 0 or 1 + the steps that its soup has cooked
    reward: NDArray[np.float64]  # (16,), by recipe, 4 * onions + tomatoes
    cook_time: NDArray[np.int64]  # (16,)
    best: NDArray[np.float64]  # (16,), the highest reward of a soup with these ingredients and maybe more
    shaping: NDArray[np.float64]  # (3,), as in `SHAPING`
    ingredient_value: NDArray[np.float64]  # (2,), of an onion and a tomato, for the potential alone

    @property
    def pots(self) -> NDArray[np.int64]:
        """The cells of the pots in reading order, (P, 2)."""
        return np.argwhere(self.kind.T == POT)[:, ::-1]


def read_layout(name: Any, *, is_old: bool) -> Layout:
    """Return a layout, given its name, the path of a file, the file's text or that of its grid alone.

    Raises TypeError or ValueError for what is no layout, or none of the old dynamics.
    """
    if not isinstance(name, str):
        raise TypeError(f"layout is {shorten(name)}; expected a name, the path of a layout file, or its text")
    if name in LAYOUTS:
        return _make(LAYOUTS[name], is_old=is_old)
    if "{" in name:
        return _make(_parse(name), is_old=is_old)
    if "\n" in name:
        return _make({"grid": name}, is_old=is_old)
    if len(name) < _LONGEST_PATH and Path(name).is_file():
        return _make(_parse(read_bytes(Path(name)).decode(errors="replace")), is_old=is_old)
    near = find_nearest(name, LAYOUTS, 0.5)
    hint = f" (did you mean {near!r}?)" if near else ""
    expected = f"expected a layout's text, the path of a file, or out of {', '.join(LAYOUTS)}"
    raise ValueError(f"layout is {shorten(name)}{hint}; {expected}"[:600])


def _parse(text: str) -> dict[str, Any]:
    """Return the dict of a layout file, a Python literal."""
    try:
        # The value of infinity has no literal.
        found = ast.literal_eval(re.sub(r"float\(\s*[\"']inf[\"']\s*\)|\bnp\.inf\b", "1e999", text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"the layout {shorten(text)} cannot be read ({error}); expected a dict as in Python") from None
    if not isinstance(found, dict):
        raise TypeError(f"the layout is {shorten(found)}; expected a dict with a grid")
    return found


def _make(entries: Mapping[str, Any], *, is_old: bool) -> Layout:
    for key in entries:
        if key not in _KEYS:
            raise ValueError(f"the layout has {shorten(key)}; expected {list_names(_KEYS)}")
    if not isinstance(entries.get("grid"), str):
        raise TypeError(f"the layout's grid is {shorten(entries.get('grid'))}; expected rows of text")
    kind, starts = _read_grid(entries["grid"])
    for given in ({name for name in names if name in entries} for names in _EXCLUSIVE):
        kinds = {"onion" if name.startswith(("onion", "tomato")) else name for name in given}
        if len(kinds) > 1 or ("onion" in kinds and len(given) == 1):
            expected = "expected one kind of values and one of times; onions and tomatoes have both or none"
            raise ValueError(f"the layout has {' and '.join(sorted(given))}; {expected}")
    orders = _read_orders("start_all_orders", entries.get("start_all_orders", ()))
    bonus = _read_orders("start_bonus_orders", entries.get("start_bonus_orders", ()))
    if is_old and any(sum(divmod(recipe, 4)) != FULL for recipe in orders or [1]):
        raise ValueError('dynamics is "old", where soups have 3 ingredients; expected orders of 3, or dynamics="new"')
    things, cooking, players = np.zeros_like(kind), np.zeros((kind == POT).sum(), np.int64), np.zeros((len(starts), 4))
    players[:, :2] = starts
    values = _tabulate(entries, orders, "delivery_reward", "recipe_values", "value", COMMON_VALUE)
    times = _tabulate(entries, orders, "cook_time", "recipe_times", "time", COMMON_TIME)
    layout = Layout(
        kind=kind,
        players=players.astype(np.int64),
        things=things,
        cooking=cooking,
        reward=np.zeros(NUM_RECIPES),
        cook_time=np.minimum(times, _LONGEST_TIME).astype(np.int64),
        best=np.zeros(NUM_RECIPES),
        shaping=_read_shaping(entries.get("rew_shaping_params")),
        ingredient_value=np.array([entries.get("onion_value") or 21.0, entries.get("tomato_value") or 13.0]),
    )
    if state := entries.get("start_state"):
        _read_state(state, layout)
        orders = _read_orders("all_orders", state.get("all_orders", ())) or orders
        bonus = _read_orders("bonus_orders", state.get("bonus_orders", ())) or bonus
    factor = _check_number("order_bonus", entries.get("order_bonus", COMMON_BONUS))
    if not set(bonus) <= set(orders or RECIPES):
        raise ValueError("a bonus order of the layout is none of its orders; expected some of them")
    for recipe in orders or RECIPES:
        layout.reward[recipe] = values[recipe] * (factor if recipe in bonus else 1)
    for recipe in range(NUM_RECIPES):
        onions, tomatoes = divmod(recipe, 4)
        more = [one for one in RECIPES if one // 4 >= onions and one % 4 >= tomatoes]
        layout.best[recipe] = max(layout.reward[more], default=0)
    return layout


def list_cells(rows: list[str]) -> Iterator[tuple[int, int, str, str]]:
    """Yield x, y, the place in words, and the character of each cell; rows of unequal length raise ValueError."""
    for y, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"row {y} of the grid has {len(row)} cells, and row 0 has {len(rows[0])}; expected as many"
            )
        for x, character in enumerate(row):
            yield x, y, f"row {y}, column {x} of the grid", character


def _read_grid(text: str) -> tuple[NDArray[np.uint8], list[tuple[int, int]]]:
    """Return the kinds of the cells, (W, H), and the players' cells."""
    rows = [row.strip() for row in text.strip("\n").split("\n")]
    starts: dict[int, tuple[int, int]] = {}
    kind = np.zeros((len(rows[0]), len(rows)), np.uint8)
    for x, y, where, character in list_cells(rows):
        if character in "123456789":
            if int(character) in starts:
                raise ValueError(f"{where} is player {character}, and so is another cell; expected each once")
            starts[int(character)] = x, y
        elif character not in _CHARACTERS:
            raise ValueError(f"{where} is {character!r}; expected a digit, or out of {_CHARACTERS!r}")
        kind[x, y] = max(_CHARACTERS.find(character), FLOOR)
        if kind[x, y] == FLOOR and (x in (0, len(kind) - 1) or y in (0, len(rows) - 1)):
            raise ValueError(f"{where} is floor, at the edge; expected a counter there")
    if sorted(starts) != list(range(1, len(starts) + 1)) or not starts:
        raise ValueError(f"the grid has the players {sorted(starts)}; expected 1, or 1 and 2, and so on")
    for kinds, letter in (((DISHES,), "D"), ((SERVING,), "S"), ((POT,), "P"), ((ONIONS, TOMATOES), "O or T")):
        if not np.isin(kind, kinds).any():
            raise ValueError(f"the grid has no {letter}; expected at least one")
    return kind, [starts[number] for number in sorted(starts)]


def _read_orders(name: str, given: Any) -> list[int]:
    """Return recipes, 4 * onions + tomatoes."""
    found = []
    for order in given if isinstance(given, list | tuple) else [given]:
        ingredients = order.get("ingredients") if isinstance(order, dict) else None
        if not isinstance(ingredients, list | tuple) or not set(ingredients) <= {"onion", "tomato"}:
            raise ValueError(
                f'{name} has {shorten(order)}; expected {{"ingredients": ["onion", "tomato"]}} or the like'
            )
        recipe = 4 * list(ingredients).count("onion") + list(ingredients).count("tomato")
        if not 0 < len(ingredients) <= FULL or recipe in found:
            raise ValueError(f"{name} has {shorten(order)}; expected 1 to {FULL} ingredients, and each order once")
        found.append(recipe)
    return found


def _check_number(name: str, value: Any) -> float:
    if not (is_int(value) or is_real(value)) or math.isnan(value) or value < 0:
        raise ValueError(f"{name} of the layout is {shorten(value)}; expected a number of at least 0")
    return float(value)


def _tabulate(
    entries: Mapping[str, Any], orders: list[int], of_all: str, of_each: str, of_ingredient: str, common: int
) -> NDArray[np.float64]:
    """Return the value or the cook time of each recipe."""
    onions, tomatoes = np.divmod(np.arange(NUM_RECIPES), 4)
    names = [f"{ingredient}_{of_ingredient}" for ingredient in ("onion", "tomato")]
    each = [_check_number(name, entries.get(name, 0)) for name in names]
    found = each[0] * onions + each[1] * tomatoes if all(each) else np.full(NUM_RECIPES, float(common))
    if of_each in entries:
        numbers = entries[of_each]
        if not isinstance(numbers, list | tuple) or len(numbers) != len(orders):
            raise ValueError(f"{of_each} of the layout is {shorten(numbers)}; expected a list, a number for each order")
        found[orders] = [_check_number(of_each, number) for number in numbers]
    if number := _check_number(of_all, entries.get(of_all, 0)):
        found[:] = number
    return found


def _read_shaping(given: Any) -> NDArray[np.float64]:
    given = {} if given is None else given
    if not isinstance(given, Mapping) or not set(given) <= {*SHAPING, *_UNUSED}:
        raise ValueError(f"rew_shaping_params is {shorten(given)}; expected None, or a dict of {list_names(SHAPING)}")
    return np.array([_check_number(name, {**SHAPING, **given}[name]) for name in SHAPING])


def _read_state(state: Any, layout: Layout) -> None:
    """Set what a layout begins with to a `start_state`."""
    expected = "expected that of a file: different cells of floor for the players, and things on counters and in pots"
    try:
        for i, player in enumerate(state["players"]):
            held = _read_thing(player.get("held_object"))[0]
            layout.players[i] = *player["position"], AHEAD.tolist().index(list(player["orientation"])), held
        pots, objects = layout.pots.tolist(), state.get("objects", ())
        is_sound = len(state["players"]) == len(layout.players)
        for one in objects.values() if isinstance(objects, dict) else objects:
            (x, y), (thing, cooking) = one["position"], _read_thing(one)
            layout.things[x, y] = thing
            if is_in_pot := [x, y] in pots and thing > SOUP:
                layout.cooking[pots.index([x, y])] = min(cooking, layout.cook_time[thing - SOUP] + 1)
            is_sound = is_sound and min(x, y) >= 0 and (is_in_pot or layout.kind[x, y] == COUNTER)
        cells = layout.players[:, :2]
        is_sound = is_sound and cells.min() >= 0 and not layout.kind[tuple(cells.T)].any()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"start_state of the layout cannot be read ({error!r}); {expected}") from None
    if not is_sound or len(np.unique(cells, axis=0)) < len(cells):
        raise ValueError(f"start_state of the layout is {shorten(state)}; {expected}")


def _read_thing(given: Any) -> tuple[int, int]:
    """Return the code of a thing, and 0 or 1 + the steps that it has cooked."""
    if given is None:
        return NOTHING, 0
    if given["name"] != "soup":
        return _THINGS[given["name"]], 0
    names = [one["name"] for one in given["_ingredients"]]
    recipe = 4 * names.count("onion") + names.count("tomato")
    if not 0 < len(names) <= FULL or set(names) - {"onion", "tomato"}:
        raise ValueError(f"a soup of {names}")
    return SOUP + recipe, given.get("cooking_tick", -1) + 1
