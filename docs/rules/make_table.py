"""Play every situation of the rules explorer, and pack the answers.

The scripts of the explorer only look answers up, so the rules are written nowhere else.
"""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sphinx.pycode import ModuleAnalyzer

from multigrid import Action, Outcome, vector_env
from multigrid.actions import BLOCKED, DIRECTIONS
from multigrid.core.rules import COLLISION_RULES
from multigrid.maps import parse_map

MOST_AGENTS = 3
NO_ANSWER = 255
"""The code of situations in which two agents would begin in one cell."""


class Map(NamedTuple):
    """A map that the explorer offers."""

    title: str
    text: str


class Example(NamedTuple):
    """A situation that the page has ready: the agents are (x, y, name of the action)."""

    title: str
    text: str
    map: str
    agents: tuple[tuple[int, int, str], ...]
    rule: str = COLLISION_RULES[0]


MAPS = {
    "open": Map("open", "....\n....\n...."),
    "corridor": Map("corridor", ".....\n#.###"),
    "door": Map("door", "..#..\n.....\n..#.#"),
}

EXAMPLES = (
    Example("Swap", "Two agents request each other's cells.", "corridor", ((1, 0, "right"), (2, 0, "left"))),
    Example(
        "Contested cell", "Both agents request the free cell in the door.", "door", ((1, 1, "right"), (3, 1, "left"))
    ),
    Example(
        "Following",
        "Three agents in a row request the cell ahead. The one in the middle is agent 2.",
        "open",
        ((0, 1, "right"), (2, 1, "right"), (1, 1, "right")),
    ),
    Example(
        "A cell just left",
        "Agents 0 and 2 request the cell of agent 1, which requests another.",
        "open",
        ((0, 1, "right"), (1, 1, "up"), (2, 1, "left")),
    ),
    Example(
        "Contested, with a follower",
        "Agents 0 and 2 request one cell, and agent 1 requests that of agent 0.",
        "door",
        ((3, 0, "up"), (4, 0, "left"), (2, 1, "right")),
    ),
    Example(
        "Held up",
        "Agent 2 stays. Agent 1 requests its cell, and agent 0 that of agent 1.",
        "corridor",
        ((0, 0, "right"), (1, 0, "right"), (2, 0, "stay")),
    ),
    Example(
        "The winner is refused",
        "Agents 0 and 1 request the cell of agent 2, which stays. Under soft, agent 0 keeps its request and does not "
        "pass it on.",
        "corridor",
        ((1, 0, "right"), (3, 0, "left"), (2, 0, "stay")),
        "soft",
    ),
)


def read_walls(name: str) -> NDArray[np.bool_]:
    """Return where the walls of a map are, bool (W, H)."""
    return np.asarray(parse_map(MAPS[name].text).walls)


def play(walls: NDArray[np.bool_], num_agents: int, rule: str) -> NDArray[np.int64]:
    """Play one step of every layout with every joint action.

    Returns:
        int64 (layouts, joint actions, agents, 3): how far each agent moved in x and in y, and its outcome. The layouts
        are all ordered choices of free cells, the first cell varying slowest; so do the joint actions.
    """
    layouts = np.array(list(itertools.permutations(np.argwhere(~walls).tolist(), num_agents)))
    joint_actions = np.array(list(itertools.product(range(len(Action)), repeat=num_agents)))
    # Nothing ends: there is no limit of steps, and each agent begins on its target, where it goes on acting.
    envs = vector_env(
        len(layouts),
        walls=walls,
        num_agents=num_agents,
        collisions=rule,
        on_target="stay",
        allow_stay=True,
        max_cycles=None,
        autoreset_mode="Disabled",
    )
    envs.reset(seed=0, options={"agents": layouts, "targets": layouts})
    beginning = envs.get_state()
    answers = np.zeros((len(layouts), len(joint_actions), num_agents, 3), dtype=np.int64)
    for index, actions in enumerate(joint_actions):
        envs.set_state(beginning)
        *_, infos = envs.step(np.tile(actions, len(layouts)))
        answers[:, index, :, :2] = envs.state()[..., :2] - layouts
        answers[:, index, :, 2] = infos["outcome"].reshape(len(layouts), num_agents)
    return answers


def fill(answers: NDArray[np.uint8], num_cells: int, num_agents: int) -> NDArray[np.uint8]:
    """Give every tuple of cells a place, also those in which agents share one, so that an answer is easy to find."""
    cells = np.array(list(itertools.permutations(range(num_cells), num_agents))).T
    filled = np.full((*[num_cells] * num_agents, *answers.shape[1:]), NO_ANSWER, dtype=np.uint8)
    filled[tuple(cells)] = answers
    return filled


def make_table() -> dict[str, Any]:
    """Return all that the explorer knows, as JSON has it.

    "answers" is the base64 form of the deflated bytes of all maps, one after the other, each with one, two and three
    agents: uint8 (cell of agent 0, ..., agent, action of agent 0, ..., rule). A byte is a place in "codes".
    """
    codes: dict[tuple[int, ...], int] = {}
    parts, maps = [], {}
    for name, one in MAPS.items():
        walls = read_walls(name)
        cells = np.argwhere(~walls).tolist()
        maps[name] = {"title": one.title, "width": walls.shape[0], "height": walls.shape[1], "cells": cells}
        for num_agents in range(1, MOST_AGENTS + 1):
            # Agents before actions and rules: in this order the bytes deflate best.
            played = np.stack([play(walls, num_agents, rule) for rule in COLLISION_RULES], axis=-2)
            played = np.moveaxis(played, 2, 1)
            # One number for a step in x and y, -1 to 1, and an outcome: `np.unique` of rows would sort for long.
            x, y, outcome = np.moveaxis(played, -1, 0)
            numbers = ((x + 1) * 3 + y + 1) * len(Outcome) + outcome
            own = np.zeros(9 * len(Outcome), dtype=np.uint8)
            for number in np.flatnonzero(np.bincount(numbers.ravel())).tolist():
                step, result = divmod(number, len(Outcome))
                code = (step // 3 - 1, step % 3 - 1, result)
                own[number] = codes.setdefault(code, len(codes))
            parts.append(fill(own[numbers], len(cells), num_agents).tobytes())
    meanings = ModuleAnalyzer.for_module("multigrid.actions").find_attr_docs()
    return {
        "mostAgents": MOST_AGENTS,
        "rules": COLLISION_RULES,
        "actions": [
            {"name": action.name.lower(), "step": step}
            for action, step in zip(Action, DIRECTIONS.tolist(), strict=True)
        ],
        "outcomes": [
            {
                "name": outcome.name.lower(),
                "meaning": " ".join(meanings["Outcome", outcome.name]).strip(),
                "refused": outcome in BLOCKED,
            }
            for outcome in Outcome
        ],
        "codes": list(codes),
        "maps": maps,
        "examples": [example._asdict() for example in EXAMPLES],
        "answers": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii"),
    }


def script(table: dict[str, Any]) -> str:
    """Return the table as a script, for a page opened from a file cannot fetch another file."""
    return f"window.rulesExplorerTable = {json.dumps(table, separators=(',', ':'))};\n"
