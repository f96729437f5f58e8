"""Write an episode as one page for the browser, which needs no network and no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import Colour, contrast, hexadecimal, legible, parse_colour, rim
from multigrid.actions import BLOCKED, MOVES, Outcome
from multigrid.core.arrays import NOBODY
from multigrid.core.metrics import DELAYS, DELAYS_LABEL, LABELS, METRICS
from multigrid.game import describe
from multigrid.rendering._episode import MOST_BLOCKERS, NO_ACTION, Episode
from multigrid.rendering._scene import HELD, place_arrow

__all__ = ["replay_page"]

FLOORS: dict[str, Colour] = {"light": (255, 255, 255), "dark": (39, 43, 51)}
"""The colour of free cells in each scheme of the page; agents contrast with it."""

_BITS, _MORE = 7, 0x80
_MOST_METRICS = 8
_SCRIPTS = ("codec.js", "scene.js", "timeline.js", "details.js", "controls.js")


def replay_page(episode: Episode, other: Episode | None = None) -> str:
    """Return an HTML page, in ASCII, that shows an episode; equal episodes give equal pages.

    The page plays, pauses, steps, scrubs, and follows an agent; "?" lists its keys. With ``#step=21&agent=3`` at the
    end of its address, it opens at that step and follows that agent. Its content security policy forbids the network.
    For tests, ``window.multigrid.lastDrawing()`` returns the latest drawing.

    Args:
        episode: the episode.
        other: another episode of the same layout, to show beside it in step; the shorter one stays at its last step.
            The agent's figures are those of the one that is clicked, and of the other with ``&in=B`` in the address;
            ``lastDrawing(1)`` is its drawing.

    >>> import multigrid.scenarios
    >>> from multigrid.scenarios.tracing import trace_episode
    >>> page = replay_page(trace_episode(multigrid.scenarios.get("empty-9x7-2")))
    >>> page[:15], len(page) < 100_000
    ('<!doctype html>', True)
    """
    style = _resource("page.css")
    for scheme, floor in FLOORS.items():
        style = style.replace(f"{{{{{scheme}_floor}}}}", hexadecimal(floor))
    script = "".join(map(_resource, _SCRIPTS))
    episodes = {"episode": episode} if other is None else {"episode": episode, "other-episode": other}
    title = " and ".join(episode.name for episode in episodes.values())
    parts = {
        "title": html.escape(title).encode("ascii", "xmlcharrefreplace").decode("ascii"),
        "style": style,
        "script": script,
        "data": "\n".join(_data_element(name, episode) for name, episode in episodes.items()),
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }
    return re.sub(r"{{(\w+)}}", lambda match: parts[match[1]], _resource("page.html"))


def _data_element(name: str, episode: Episode) -> str:
    # A "<" can end a script element, even inside quotes.
    data = json.dumps(_data(episode), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{data}</script>'


def _data(episode: Episode) -> dict[str, Any]:
    config, shape = episode.config, episode.outcomes.shape
    own = () if config.game is None else describe(config.game).functions
    # In games with moves of their own, actions do not say where a refused move led.
    given = None if episode.blockers is None else episode.actions
    actions = np.full(shape, NO_ACTION) if given is None else given
    blockers = np.full((*shape, MOST_BLOCKERS), NOBODY) if episode.blockers is None else episode.blockers
    return {
        "name": episode.name,
        "width": config.width,
        "height": config.height,
        "agents": config.num_agents,
        "steps": episode.num_steps,
        "game": None if config.game is None else config.game.__name__,
        "has_targets": config.has_targets,
        "has_delays": config.delays is not None,
        "rules": {
            "collisions": None if {"step", "resolve"} & set(own) else config.collisions,
            "on_target": config.on_target,
            "reward": config.reward,
        },
        "palettes": {scheme: _palette(episode.colours, floor) for scheme, floor in FLOORS.items()},
        "outcome_names": [outcome.name.lower() for outcome in Outcome],
        "blocked": [int(outcome) for outcome in BLOCKED],
        "verdict": episode.verdict._asdict(),
        "moves": MOVES,
        "most_blockers": MOST_BLOCKERS,
        # Metrics that the rules do not define are NaN.
        "metrics": [row for row in _list_metrics(episode) if math.isfinite(row[1])],
        "walls": pack(episode.walls.T.reshape(1, -1)),
        # For each mark the index of its cell, its colour and that of its letter; then after which steps it is there.
        "marks": [
            (cell[0] + config.width * cell[1], colour, hexadecimal(contrast(parse_colour(colour))), letter)
            for cell, colour, letter in episode.marked
        ],
        "marked": pack(np.array(list(episode.marked.values()), np.int64).reshape(-1, episode.num_steps + 1)),
        # For each badge its agent, the corners of its arrow, the colour of what it holds and that of the letter, and
        # the letter; then after which steps it is there.
        "badges": [
            (
                agent,
                [] if direction is None else place_arrow(direction),
                colour,
                hexadecimal(contrast(parse_colour(colour))) if colour else "",
                letter,
            )
            for agent, direction, colour, letter in episode.badged
        ],
        "badged": pack(np.array(list(episode.badged.values()), np.int64).reshape(-1, episode.num_steps + 1)),
        "held": HELD,
        # The index of each cell, counted row by row.
        "cells": pack((episode.agents @ (1, config.width)).T),
        "targets": pack((episode.targets @ (1, config.width)).T),
        "present": pack(episode.present.T),
        "arrivals": pack(episode.arrivals.T),
        "outcomes": pack(episode.outcomes.T),
        # The number of each refused action plus 1, and 0 for all others.
        "refused": pack(np.where(np.isin(episode.outcomes, BLOCKED), actions - NO_ACTION, 0).T),
        # In rows for each agent, the index of each blocker plus 1, and 0 for nobody.
        "blockers": pack((blockers - NOBODY).transpose(1, 2, 0).reshape(-1, episode.num_steps + 1)),
        "distances": _values(episode.distances.T),
        # In rows of steps, because shared rewards are equal for all agents of a step.
        "rewards": _values(episode.rewards),
    }


def _list_metrics(episode: Episode) -> list[tuple[str, float, str]]:
    """Return a short name, the value and the meaning of each metric of the whole episode.

    Of a game with more than eight, only those that are not 0.
    """
    labels = {name: label for name, label in LABELS.items() if episode.config.has_targets}
    labels |= {DELAYS: DELAYS_LABEL} if DELAYS in episode.metrics else {}
    own = [name for name in episode.metrics if name not in {*METRICS, *labels}]
    if len(own) > _MOST_METRICS:
        own = [name for name in own if episode.metrics[name] != 0]
    rows = [(label.short, episode.metrics[name], label.meaning) for name, label in labels.items()]
    return rows + [(name.replace("_", " "), episode.metrics[name], "a metric of the game") for name in own]


def _palette(colours: list[Colour], floor: Colour) -> dict[str, list[str]]:
    """Return the colours of the agents, of the numbers on them, and of their rims."""
    palette = [legible(colour, floor) for colour in colours]
    return {
        "colours": list(map(hexadecimal, palette)),
        "inks": [hexadecimal(contrast(colour)) for colour in palette],
        "rims": [hexadecimal(rim(colour)) for colour in palette],
    }


def _values(rows: NDArray[np.float64]) -> dict[str, Any]:
    values, places = np.unique(rows, return_inverse=True)
    # JSON has no other numbers; JavaScript reads these texts as numbers.
    written = [value if math.isfinite(value) else json.dumps(value) for value in values.tolist()]
    return {"values": written, "places": pack(places.reshape(rows.shape))}


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def pack(rows: NDArray[Any]) -> str:
    """Return integers (R, L) as base64, with one byte for a small change along a row and about none for no change.

    codec.js decodes it.

    - Each row is written as differences, the first one from 0.
    - A difference d is written as 2d, or as -2d - 1 if it is negative.
    - A run of zeros, which may continue in the next row, is written as a 0 and the number of zeros after the first.
    - These numbers are written in groups of seven bits, the lowest first. The eighth bit is set in all bytes of a
      number except its last.

    >>> base64.b64decode(pack(np.array([[5, 5, 5, 4], [0, 0, 200, 200]]))).hex(" ")
    '0a 00 01 01 00 01 90 03 00 00'
    """
    differences = np.diff(rows.astype(np.int64), axis=1, prepend=0).ravel()
    signless = np.where(differences < 0, -2 * differences - 1, 2 * differences)
    begins = np.ones(len(signless), dtype=np.bool_)
    begins[1:] = (signless[1:] != 0) | (signless[:-1] != 0)
    starts = np.flatnonzero(begins)
    heads, following = signless[starts], np.diff(starts, append=len(signless)) - 1
    numbers = np.stack([heads, following], axis=1)[np.stack([heads >= 0, heads == 0], axis=1)]
    groups: list[NDArray[np.int64]] = []
    left = numbers
    while not groups or left.any():
        groups.append(left)
        left = left >> _BITS
    digits = np.stack(groups, axis=1)
    rest = digits >> _BITS
    used = digits > 0
    used[:, 0] = True
    packed = (digits % _MORE + np.where(rest > 0, _MORE, 0)).astype(np.uint8)[used]
    return base64.b64encode(packed.tobytes()).decode("ascii")
