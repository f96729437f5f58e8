"""What an agent of Minigrid observes, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._phrases import draw, join, place
from multigrid.games.minigrid._grid import AGENT, DOOR, EMPTY, FLOOR, NUM_COLOURS
from multigrid.games.minigrid._options import COLOURS, list_missions
from multigrid.games.minigrid._tasks import Image

_TYPES = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
_LETTERS = "?.#.DKOXG~A"
_STATES = ("open", "closed", "locked")
_DIRECTIONS = ("east", "south", "west", "north")
_MEANINGS = {"@": "you, ahead is up", "#": "wall", "?": "not seen"}


def describe(scene: Any, i: int) -> str:
    """Return the mission, where the agent looks, what it carries, and what it sees."""
    parts, lines = scene.parts, []
    if "mission" in parts and (mission := list_missions(scene)[int(parts["mission"][0])]):
        lines.append(f"Your mission: {mission}.")
    if "direction" in parts:
        lines.append(f"You look {_DIRECTIONS[int(parts['direction'][0])]}.")
    if "image" in parts and scene.image >= Image.RGB:
        lines.append("You see an image, which is not in these words.")
    elif "image" in parts and scene.image == Image.FULL:
        lines += _describe_grid(parts["image"].astype(int), i)
    elif "image" in parts:
        lines += _describe_view(_read_codes(parts["image"].astype(int)))
    return "\n".join(lines)


def _read_codes(image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return type, colour and state of each cell, also of zeros and ones."""
    if image.shape[2] == 3:
        return image
    groups = np.split(image, [len(_TYPES), len(_TYPES) + NUM_COLOURS], axis=2)
    return np.stack([group.argmax(axis=2) for group in groups], axis=2)


def _describe_view(cells: NDArray[np.int64]) -> list[str]:
    half, last = cells.shape[0] // 2, cells.shape[1] - 1
    letters = [[_LETTERS[kind] for kind in column] for column in cells[..., 0].tolist()]
    letters[half][last] = "@"
    things = []
    for a, b in np.argwhere(cells[..., 0] > FLOOR).tolist():
        if (a, b) != (half, last):
            things.append((last - b + abs(a - half), f"{_name(*cells[a, b].tolist())} {_place(a - half, last - b)}"))
    carried = "nothing" if cells[half, last, 0] == EMPTY else _name(*cells[half, last].tolist())
    sorted_things = [text for _, text in sorted(things)]
    return [f"You carry {carried}.", draw("What you see", letters, _MEANINGS), f"There is {join(sorted_things)}."]


def _describe_grid(cells: NDArray[np.int64], i: int) -> list[str]:
    letters = [[_LETTERS[kind] for kind in column] for column in cells[..., 0].tolist()]
    things = [f"{_name(*cells[x, y].tolist())} at [{x}, {y}]" for x, y in np.argwhere(cells[..., 0] > FLOOR).tolist()]
    whose = f"You are a {COLOURS[i % NUM_COLOURS]} agent."
    return [whose, draw("The grid, y = 0 and north at the top", letters, {"#": "wall"}), f"There is {join(things)}."]


def _place(across: int, ahead: int) -> str:
    return place((ahead, across), ("ahead", "behind", "to the right", "to the left"))


def _name(kind: int, colour: int, state: int) -> str:
    if kind == AGENT:
        return f"a {COLOURS[colour]} agent that looks {_DIRECTIONS[state]}"
    return f"a {f'{_STATES[state]} ' * (kind == DOOR)}{COLOURS[colour]} {_TYPES[kind]}"
