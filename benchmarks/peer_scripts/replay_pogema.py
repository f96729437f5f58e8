"""Play episodes in POGEMA, as standard input asks for them.

Usage: python replay_pogema.py

The first line on standard output is ``{"version": "1.4.0", "moves": [[0, 0], ...]}``, with POGEMA's [row, column] of
each of its actions. Each line ``{"world": {...}, "actions": [[0, 1], ...]}`` on standard input, with the arguments of
POGEMA's GridConfig and an action of each agent in each step, is answered by a line

- walls: the map, a list of rows of 0 and 1;
- cells: [row, column] of each agent at the beginning and after each step;
- targets: the same of their targets, under on_target="restart"; otherwise at the beginning alone;
- rewards: of each agent in each step;
- over: whether the episode has ended, after which no step is played;
- metrics: POGEMA's own, if it has.

The end of the input ends the program.
"""

from __future__ import annotations

import contextlib
import json
import sys
from importlib import metadata
from typing import Any

from pogema import GridConfig, pogema_v0  # type: ignore[import-not-found]


def main() -> None:
    """Answer each line."""
    answers = sys.stdout
    # What a library prints must not stand between the answers.
    with contextlib.redirect_stdout(sys.stderr):
        _answer(answers, {"version": metadata.version("pogema"), "moves": GridConfig().MOVES})
        for line in sys.stdin:
            request = json.loads(line)
            _answer(answers, _play(request["world"], request["actions"]))


def _play(world: dict[str, Any], actions: list[list[int]]) -> dict[str, Any]:
    # Agents that see one cell far take the least time; they play the same game.
    env = pogema_v0(GridConfig(**{"seed": 0, **world}, obs_radius=1))
    env.reset()
    walls = env.get_obstacles(ignore_borders=True).astype(int).tolist()
    cells, targets = [env.get_agents_xy(ignore_borders=True)], [env.get_targets_xy(ignore_borders=True)]
    rewards, over, infos = [], False, [{}]
    for row in actions:
        if over:
            break
        # Under "soft" POGEMA writes into the list.
        _, reward, terminated, truncated, infos = env.step(list(row))
        cells.append(env.get_agents_xy(ignore_borders=True))
        if world["on_target"] == "restart":
            targets.append(env.get_targets_xy(ignore_borders=True))
        rewards.append(reward)
        over = all(terminated) or all(truncated)
    return {
        "walls": walls,
        "cells": cells,
        "targets": targets,
        "rewards": rewards,
        "over": over,
        "metrics": infos[0].get("metrics", {}),
    }


def _answer(stream: Any, content: dict[str, Any]) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
