"""Layouts of OvercookedV2: those of JaxMARL 0.2.0 by name, written in another form, or text."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import find_nearest, is_int, shorten
from multigrid.games.overcooked._layouts import list_cells

FLOOR, COUNTER, GOAL, POT, INDICATOR, BUTTON, PLATES, PILE = 0, 1, 4, 5, 6, 7, 9, 10
"""The kinds of cells; ingredient k comes from `PILE` + k."""
FULL, MOST_INGREDIENTS, COOK_TIME = 3, 10, 20
PLATE, COOKED = 1, 2
"""The bits of a thing that are no ingredients."""
_KINDS = {
    " ": FLOOR,
    "A": FLOOR,
    "W": COUNTER,
    "X": GOAL,
    "P": POT,
    "R": INDICATOR,
    "L": BUTTON,
    "B": PLATES,
    "O": PILE,
}
_KINDS |= {str(k): PILE + k for k in range(MOST_INGREDIENTS)}
_TEXT = """
cramped_room WWPWW/0A.A0/W...W/WBWXW recipes=000 swapped
asymm_advantages WWWWWWWWW/0.WXW0W.X/W...P...W/W.A.PA..W/WWWBWBWWW recipes=000
coord_ring WWWPW/W.A.P/BAW.W/0...W/W0XWW recipes=000
forced_coord WWWPW/0.WAP/0AW.W/B.W.W/WWWXW recipes=000
counter_circuit WWWPPWWW/W.A....W/B.WWWW.X/W.....AW/WWW00WWW recipes=000 swapped
cramped_room_v2 WWPWW/0A.A1/W...R/WBWXW
asymm_advantages_recipes_center WWWWWWWWW/0.WXR01.X/1...P...W/W.A.PA..W/WWWBWBWWW
asymm_advantages_recipes_right WWWWWWWWW/0.WXW01.X/1...P...R/W.A.PA..W/WWWBWBWWW
asymm_advantages_recipes_left WWWWWWWWW/0.WXW01.X/1...P...R/R.A.PA..W/WWWBWBWWW
two_rooms WWWWWB10W/W...W...R/P.A.W.A.W/W...W...X/WWWWWWWWW
two_rooms_both W01BWB10W/W...W...R/P.A.W.A.W/W...W...X/WWWWWWWWW
long_room WWWWWWWWWWWWWWW/B............AP/0.............X/WWWWWWWWWWWWWWW recipes=000
fun_coordination WWWWWWWWW/0...X...2/RA..P..AW/1...B...3/WWWWWWWWW recipes=002,113
more_fun_coordination WWWWWWWWW/W...X...W/RA..P..A1/0...P...2/W...B...W/WWWWWWWWW recipes=011,022
fun_symmetries WWWWBWW/2..W..0/R.APA.X/2..W..1/WWWWBWW recipes=000,111
fun_symmetries_plates WWWWWWW/B..W..0/R.APA.X/B..W..1/WWWWWWW recipes=000,111
fun_symmetries1 WWWWWBWW/2..WW..0/R.AWPA.X/2..WW..1/WWWWWBWW recipes=000,111
grounded_coord_simple WW2WWWWW/W..WB..0/R.ALPA.X/W..WB..1/WW2WWWWW recipes=000,111
grounded_coord_ring WWW2R2WWW/W.......W/W.WWLWW.W/2.0...B.2/RAXAP.X.R/2.1...B.2/W.WWLWW.W/W.......W/WWW2R2WWW
    recipes=000,111
test_time_simple WW2WWWWW/W..WB..0/R.AWPA.X/W..WB..1/WW2WWWWW recipes=000,111
test_time_wide WWXBWW/0.A..0/1....1/WPWPWW/3.A..3/W....W/WWRWWW recipes=000,111
demo_cook_simple WWWWWR2W0WW/0......W..B/W.....APA.X/1......W..B/WWWWWR2W1WW recipes=000,111
demo_cook_wide WWWWBXBWWWW/WWW0.A.1WWW/WWWWWPWWWWW/W....A....W/0..W3R3W..0/W1WWWWWWW1W recipes=000,111
"""
"""A name, the rows of the grid, with . for floor, the recipes, and whether the last of the players is the first."""


class Layout(NamedTuple):
    """What the rules read of a layout."""

    kind: NDArray[np.uint8]  # (W, H)
    cells: NDArray[np.int64]  # (N, 2), where players begin
    recipes: NDArray[np.int64]  # (R, 3), ingredients


def read_layout(name: Any, recipes: Any) -> Layout:
    """Return a layout, given its name or its rows, and its recipes, or None for those that it has, or else all.

    Raises TypeError or ValueError for what is no layout, and for what are no recipes.
    """
    if not isinstance(name, str):
        raise TypeError(f"layout is {shorten(name)}; expected a name, or the rows of a grid as text")
    given: list[str] = []
    if name in LAYOUTS:
        grid, *given = LAYOUTS[name]
        rows = grid.replace(".", " ").split("/")
    elif "\n" in name:
        rows = name.strip("\n").split("\n")
    else:
        near = find_nearest(name, LAYOUTS, 0.5)
        hint = f" (did you mean {near!r}?)" if near else ""
        raise ValueError(f"layout is {shorten(name)}{hint}; expected a layout's text, or out of {', '.join(LAYOUTS)}")
    kind, cells = _read_grid(rows)
    of_name = [tuple(map(int, recipe)) for word in given for recipe in re.findall(r"\d{3}", word)]
    num_ingredients = int(kind.max()) - PILE + 1
    if recipes is None and not of_name:
        if not (kind == INDICATOR).any():
            raise ValueError("the grid has no recipe indicator R; expected one, or possible_recipes=[[0, 0, 1], ...]")
        of_name = list(itertools.combinations_with_replacement(range(num_ingredients), FULL))
    found = check_recipes("possible_recipes", of_name if recipes is None else recipes, num_ingredients)
    return Layout(kind, cells[::-1] if "swapped" in given else cells, found)


def _read_grid(rows: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the kinds of the cells, (W, H), and the players' cells in reading order."""
    kind, cells = np.zeros((len(rows[0]), len(rows)), np.uint8), []
    for x, y, where, character in list_cells(rows):
        if character not in _KINDS:
            raise ValueError(f"{where} is {character!r}; expected one of {''.join(_KINDS)!r}")
        kind[x, y] = _KINDS[character]
        if kind[x, y] == FLOOR and (x in {0, len(kind) - 1} or y in {0, len(rows) - 1}):
            raise ValueError(f"{where} is floor, at the edge; expected W there")
        if character == "A":
            cells.append((x, y))
    if not cells or kind.max(initial=0) < PILE or not (kind == POT).any():
        raise ValueError("the grid has no player A, no pot P, or no ingredient 0 to 9; expected at least one of each")
    return kind, np.array(cells)


def check_recipes(label: str, given: Any, num_ingredients: int) -> NDArray[np.int64]:
    """Return recipes, (R, 3); raise ValueError for something else than lists of three ingredients."""
    expected = f"expected lists of {FULL} ingredients, from 0 to {num_ingredients - 1}"
    for recipe in given if isinstance(given, list | tuple) and given else [None]:
        numbers = recipe if isinstance(recipe, list | tuple) else ()
        if len(numbers) != FULL or not all(is_int(one) and 0 <= one < num_ingredients for one in numbers):
            raise ValueError(f"{label} is {shorten(given)}; {expected}")
    return np.array(given)


def add_ingredients(recipes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return recipes, (R, 3), as numbers (R,)."""
    return np.asarray((4 ** (recipes + 1)).sum(axis=1))


LAYOUTS = {name: rest for name, *rest in map(str.split, re.sub(r"\n +", " ", _TEXT).strip().splitlines())}
"""The rows of each layout, and what else its line says, by name."""
