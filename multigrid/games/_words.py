"""What agents of foraging and of the warehouse observe, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid._phrases import COMPASS, draw, join, place
from multigrid.games._warehouse_options import NUM_CELL, NUM_OWN, ImageLayer

_LOOKS = ("up", "down", "left", "right")
_SIDES = ("right", "left", "down", "up")


def describe_foraging(scene: Any) -> str:
    """Return the player's own place and level, and the foods and players that it sees."""
    return "\n".join(_describe_foraging(scene, part, values) for part, values in scene.parts.items())


def _describe_foraging(scene: Any, part: str, values: Any) -> str:
    things = list[str]()
    if part == "vector":
        foods, width = values[: 3 * scene.F].astype(int).reshape(-1, 3).tolist(), 2 + scene.observe_agent_levels
        (own, *others), level = values[3 * scene.F :].astype(int).reshape(-1, width).tolist(), ""
        if width == 3:
            level = f", of level {own[2]}"
        here = f"You are in row {own[0]}, column {own[1]} of the cells that you see{level}."
        seen = [("food", *food) for food in foods] + [("player", *other) for other in others]
        for what, row, column, *levels in seen:
            if row >= 0:
                away = place((column - own[1], row - own[0]), COMPASS)
                things.append(f"a {what} {f'of level {levels[0]}, ' if levels else ''}{away}")
        return f"{here}\nThere is {join(things)}."
    players, foods, free = values.astype(int)
    centre = len(free) // 2
    letters = np.where(players > 0, "&", np.where(foods > 0, "F", np.where(free > 0, ".", "#")))
    letters[centre, centre] = "@"
    for what, layer in (("food", foods), ("player", players)):
        for row, column in np.argwhere(layer).tolist():
            if (row, column) != (centre, centre):
                level = f"of level {layer[row, column]}, " if what == "food" or scene.observe_agent_levels else ""
                things.append(f"a {what} {level}{place((column - centre, row - centre), COMPASS)}")
    own_level = f"Your level is {players[centre, centre]}.\n" if scene.observe_agent_levels else ""
    legend = {"@": "you", "&": "player", "F": "food", "#": "outside"}
    return f"{own_level}{draw('What you see, north is up', letters.T.tolist(), legend)}\nThere is {join(things)}."


def describe_warehouse(scene: Any) -> str:
    """Return where the agent is and looks, whether it carries a shelf, and what is in the cells around it."""
    lines = list[str]()
    for part, values in scene.parts.items():
        if part == "vector":
            lines += _describe_vector(scene, values)
        elif part == "features":
            looks, on_way, carries = _LOOKS[values[:4].argmax()], values[4] > 0, values[5] > 0
            lines.append(_describe_own(looks, on_way=on_way, carries=carries))
        else:
            ahead = "what is ahead is up" if scene.image_observation_directional else "in the middle you"
            lines.append(f"What you see, {ahead}:")
            for layer, cells in zip(scene.layer.tolist(), values, strict=True):
                letters = [[f"{value:g}" if value else "." for value in column] for column in cells.T.tolist()]
                lines.append(draw(ImageLayer(layer).name.lower().replace("_", " "), letters, {}))
    return "\n".join(lines)


def _describe_own(looks: str, *, on_way: bool, carries: bool) -> str:
    way = "on a way" if on_way else "at a place for shelves"
    return f"You look {looks}, {way}, and carry {'a shelf' if carries else 'nothing'}."


def _describe_vector(scene: Any, values: Any) -> list[str]:
    looks, side = _LOOKS[values[3:7].argmax()], 2 * scene.sensor_range + 1
    lines = [
        f"You are at [{values[0]:g}, {values[1]:g}].",
        _describe_own(looks, on_way=values[7] > 0, carries=values[2] > 0),
    ]
    things = list[str]()
    for k, cell in enumerate(values[NUM_OWN:].reshape(side * side, NUM_CELL + scene.msg_bits)):
        across, down = k % side - scene.sensor_range, k // side - scene.sensor_range
        where, said = place((across, down), _SIDES), "".join(f"{bit:g}" for bit in cell[5:-2])
        if cell[0] and (across or down):
            things.append(f"an agent {where}, looks {_LOOKS[cell[1:5].argmax()]}{f', says {said}' if said else ''}")
        elif cell[0] and said:
            lines.append(f"You said {said}.")
        if cell[-2]:
            things.append(f"a {'requested ' if cell[-1] else ''}shelf {where}")
    return [*lines, f"There is {join(things)}."]
