"""What a player of Overcooked or OvercookedV2 observes, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._phrases import COMPASS, draw, join, place

_COMPASS, _SIDES = ("north", "south", "east", "west"), ("up", "down", "right", "left")
"""The names of directions, in their order, in Overcooked and in OvercookedV2."""
_KINDS, _V2_KINDS = "P#OTDS", "#SPRBD"
"""The letters of the kinds of cells, in the order of the layers."""
_MEANINGS = {
    "@": "you",
    "&": "another player",
    "#": "counter",
    "P": "pot",
    "O": "onions",
    "T": "tomatoes",
    "D": "dishes",
    "S": "serving",
    "R": "recipe",
    "B": "button for the recipe",
    **{str(k): f"ingredient {k}" for k in range(10)},
}


def describe(scene: Any, i: int) -> str:
    """Return the kitchen, where players look and what they hold, and what is in pots and on counters."""
    names, lines = [f"agent_{j}" for j in range(scene.num_agents) if j != i], list[str]()
    for part, values in scene.parts.items():
        read = _read_features if part == "features" else _read_layers
        lines += read(values.astype(np.int64), names)
    return "\n".join(lines)


def _read_layers(layers: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    num_agents = len(names) + 1
    first, players, things = 5 * num_agents, list[str](), list[str]()
    letters, (x, y) = _draw_kinds(layers[..., first : first + 6], _KINDS), np.argwhere(layers[..., 0])[0].tolist()
    for k, (at, to) in enumerate(np.argwhere(layers[..., k])[0].tolist() for k in range(num_agents)):
        letters[at][to] = "&" if k else "@"
        looks = _COMPASS[layers[at, to, num_agents + 4 * k :][:4].argmax()]
        holds = _name_thing(layers[at, to, first + 6 :])
        who = f"{names[k - 1]} is {place((at - x, to - y), COMPASS)}, looks" if k else "You look"
        players.append(f"{who} {looks} and {'holds' if k else 'hold'} {holds}.")
        layers[at, to] = 0
    for at, to in np.argwhere(layers[..., [first, *range(first + 6, first + 15)]].any(axis=2)).tolist():
        is_pot, cell = layers[at, to, first] > 0, layers[at, to, first + 6 :]
        pieces = _name_soup(cell[:2] + cell[2:4])
        name = _name_pot(pieces, int(cell[4]), is_ready=cell[5] > 0) if is_pot else f"{_name_thing(cell)} on a counter"
        things.append(f"{name}, {place((at - x, to - y), COMPASS)}")
    urgent = ["Fewer than 40 steps are left."] * int(layers[..., -1].any())
    return [draw("The kitchen, north is up", letters, _MEANINGS), *players, f"There is {join(things)}.", *urgent]


def _name_thing(cell: NDArray[np.int64]) -> str:
    """Return what is in a hand or on a counter, given the layers from those of pots on."""
    if cell[2:4].any():
        return f"a soup of {_name_soup(cell[2:4])}"
    names = ("a dish", "an onion", "a tomato")
    return next((name for name, is_there in zip(names, cell[6:9], strict=True) if is_there), "nothing")


def _name_pot(pieces: str, left: int, *, is_ready: bool) -> str:
    if left:
        return f"a pot that cooks {pieces} for {left} more steps"
    return f"a pot with a ready soup of {pieces}" if is_ready else f"a pot with {pieces or 'nothing'}"


def _name_soup(counts: Sequence[int] | NDArray[np.int64]) -> str:
    """Return how many onions and tomatoes there are; "" for none."""
    named = zip(counts, ("onion", "tomato"), ("s", "es"), strict=True)
    return " and ".join(f"{count} {name}{plural * int(count > 1)}" for count, name, plural in named if count)


def _draw_kinds(kinds: NDArray[np.int64], letters: str) -> list[list[str]]:
    """Return the letter of each cell, [x][y], given layers (W, H, K)."""
    drawn: list[list[str]] = np.where(kinds.any(axis=2), np.array(list(letters))[kinds.argmax(axis=2)], ".").tolist()
    return drawn


def _read_features(vector: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    lines, own, size = [], vector[-2:].tolist(), len(vector) // (len(names) + 1) - 2
    for k, name in enumerate(["", *names]):
        block = vector[k * size : (k + 1) * size].tolist()
        away = vector[(len(names) + 1) * size + 2 * (k - 1) :][:2].tolist()
        who = f"{name} is {place(away, COMPASS)}, looks" if k else f"You are at {own}, look"
        holds = ["an onion", f"a soup of {_name_soup(block[16:18])}", "a dish", "a tomato"]
        held = next((what for what, is_held in zip(holds, block[4:8], strict=True) if is_held), "nothing")
        whose = "its" if k else "your"
        found = {"onions": block[8:10], "tomatoes": block[10:12], "dishes": block[12:14], "serving": block[18:20]}
        near = [f"{what} {place(offset, COMPASS)}" for what, offset in found.items() if any(offset)]
        for pot in (block[first : first + 10] for first in range(22, size - 4, 10)):
            if pot[0]:
                pieces = _name_soup(pot[5:7])
                near.append(f"{_name_pot(pieces, pot[7], is_ready=pot[4] > 0)}, {place(pot[8:], COMPASS)}")
        shut = [side for side, is_shut in zip(_COMPASS, block[-4:], strict=True) if is_shut]
        lines.append(f"{who} {_COMPASS[block[:4].index(1)]} and {'holds' if k else 'hold'} {held}.")
        lines.append(
            f"Nearest to {name or 'you'}: {join(near)}. On {whose} sides, no floor: {', '.join(shut) or 'none'}."
        )
    return lines


def describe_v2(scene: Any, i: int) -> str:
    """Return what a player of OvercookedV2 sees, where it looks, and what players hold."""
    layers = scene.parts["grid"].astype(np.int64).transpose(1, 0, 2)
    n = (layers.shape[2] - 25) // 5
    ends = np.cumsum([7 + n, 7 + n, 6 + n, 2 + n, 2 + n])
    own, others, kinds, thing, recipe, rest = np.split(layers, ends, axis=2)
    letters, (x, y) = _draw_kinds(kinds, _V2_KINDS + "0123456789"[:n]), np.argwhere(own[..., 0])[0].tolist()
    letters[x][y] = "@"
    lines, things = [f"You look {_SIDES[own[x, y, 1:5].argmax()]} and hold {_name_v2(own[x, y, 5:])}."], list[str]()
    for at, to in np.argwhere(others[..., 0]).tolist():
        cell, letters[at][to] = others[at, to], "&"
        does = f"looks {_SIDES[cell[1:5].argmax()]} and holds {_name_v2(cell[5:])}"
        lines.append(f"Another player is {_away(at - x, to - y)}, {does}.")
    for at, to in np.argwhere(thing.any(axis=2) | recipe.any(axis=2) | (kinds[..., 2] > 0)).tolist():
        cell, where = thing[at, to], _away(at - x, to - y)
        if kinds[at, to, 2]:
            things.append(f"{_name_pot(_list_pieces(cell), int(rest[at, to, 0]), is_ready=cell[1] > 0)}, {where}")
        elif recipe[at, to].any():
            things.append(f"the recipe {_list_pieces(recipe[at, to])}, {where}")
        else:
            things.append(f"{_name_v2(cell)} on a counter, {where}")
    correct = ["The last delivery was correct."] * int(rest[..., 1:].any())
    return "\n".join([draw("What you see", letters, _MEANINGS), *lines, f"There is {join(things)}.", *correct])


def _away(across: int, down: int) -> str:
    return place((across, down), ("right", "left", "down", "up"))


def _list_pieces(cell: NDArray[np.int64]) -> str:
    return " and ".join(f"{count} of ingredient {k}" for k, count in enumerate(cell[2:]) if count)


def _name_v2(cell: NDArray[np.int64]) -> str:
    """Return what is in a hand or on a counter, given plate, cooked, and the number of each ingredient."""
    pieces = _list_pieces(cell)
    if cell[1]:
        return f"a cooked dish of {pieces}"
    return " with ".join(one for one in ("a plate" * bool(cell[0]), pieces) if one) or "nothing"
