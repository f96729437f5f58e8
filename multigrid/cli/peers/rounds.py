"""Play rounds of a peer's environments, as many as are asked for on standard input.

Usage: python rounds.py PLAYER AGENTSxSIZE...

PLAYER is a module beside this file. Its ``contenders(agents, size)`` gives a function for each name, which makes an
environment and returns how many worlds it has and a function that plays a step of all of them.

The first line out tells the versions of the peer's PACKAGES, what can be played, and why the rest cannot:
``{"versions": {}, "contenders": [{"name": "", "agents": 8, "size": 16, "worlds": 1}], "failures": []}``. From then on a
line ``{"play": 0, "seconds": 0.05}`` plays the first contender for about so long, and is answered by a line
``{"seconds": 0.0512, "agent_steps": 800}``. The end of the input ends the program.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any


def main(player: str, *cases: str) -> None:
    """Make everything, tell what there is, and play what is asked for."""
    answers = sys.stdout
    # What a peer prints must not stand between the answers.
    with contextlib.redirect_stdout(sys.stderr):
        module = importlib.import_module(player)
        made, plays, failures = _made(module, [tuple(map(int, case.split("x"))) for case in cases])
        versions = {package: metadata.version(package) for package in module.PACKAGES}
        _answer(answers, {"versions": versions, "contenders": made, "failures": failures})
        for line in sys.stdin:
            asked = json.loads(line)
            case = made[asked["play"]]
            seconds, steps = play_round(plays[asked["play"]], asked["seconds"])
            _answer(answers, {"seconds": seconds, "agent_steps": steps * case["agents"] * case["worlds"]})


def _made(module: Any, cases: list[Any]) -> tuple[list[dict[str, Any]], list[Callable[[], Any]], list[str]]:
    made, plays, failures = [], [], []
    for agents, size in cases:
        for name, make in module.contenders(agents, size).items():
            try:
                worlds, play = make()
                play()  # compiles, where there is something to compile
            except Exception as error:  # noqa: BLE001 - a peer may fail in any way, and the others go on
                failures.append(f"{name}, {agents} agents: {type(error).__name__}: {error}")
                continue
            made.append({"name": name, "agents": agents, "size": size, "worlds": worlds})
            plays.append(play)
    return made, plays, failures


def play_round(play: Callable[[], Any], limit: float) -> tuple[float, int]:
    """Play until the time is over; return the seconds that it took, and how often it was played."""
    steps, before = 0, time.perf_counter()
    while True:
        play()
        steps += 1
        seconds = time.perf_counter() - before
        if seconds >= limit:
            return seconds, steps


def _answer(stream: Any, content: dict[str, Any]) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
