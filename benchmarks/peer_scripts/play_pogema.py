"""Play rounds of POGEMA, as standard input asks for them, on empty maps where targets restart.

Usage: python play_pogema.py AGENTSxSIZE...

The first line on standard output lists what can be played: ``[{"name": "", "agents": 8, "size": 16}]``. Each line
``{"play": 0, "seconds": 0.05}`` on standard input plays the first of these for about so long, and is answered by a line
``{"seconds": 0.0512, "agent_steps": 800}``. The end of the input ends the program.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

CASES: dict[str, dict[str, Any]] = {
    "POGEMA priority": {"collision_system": "priority"},
    "POGEMA soft": {"collision_system": "soft"},
    "POGEMA priority, r = 2": {"collision_system": "priority", "obs_radius": 2},
    "POGEMA priority, lists": {"collision_system": "priority", "integration": None},
}
"""Settings by name; without an integration, actions and observations are lists, else PettingZoo's dicts."""


def play_round(step: Callable[[], Any], limit: float) -> tuple[float, int]:
    """Call a function repeatedly until a time limit in seconds; return the seconds taken and the number of calls.

    >>> seconds, calls = play_round(lambda: None, 0.01)
    >>> seconds >= 0.01, calls > 1
    (True, True)
    """
    calls, before = 0, time.perf_counter()
    while True:
        step()
        calls += 1
        seconds = time.perf_counter() - before
        if seconds >= limit:
            return seconds, calls


def make_step(agents: int, size: int, **settings: Any) -> Callable[[], Any]:
    """Return a function that plays a step of a new world."""
    from pogema import GridConfig, pogema_v0  # type: ignore[import-not-found]

    settings = {"integration": "PettingZoo", **settings}
    world = {"num_agents": agents, "size": size, "density": 0.0, "on_target": "restart", "seed": 0}
    env = pogema_v0(GridConfig(**world, **settings, max_episode_steps=10**9))
    env.reset()
    rows = np.random.default_rng(0).integers(0, 5, (64, agents)).tolist()
    if settings["integration"] is not None:
        rows = [dict(zip(env.possible_agents, row, strict=True)) for row in rows]
    actions = itertools.cycle(rows)
    return lambda: env.step(next(actions))


def main(*sizes: str) -> None:
    """Make everything, write what there is, and play what is asked for."""
    answers = sys.stdout
    # What a library prints must not stand between the answers.
    with contextlib.redirect_stdout(sys.stderr):
        crowds = [tuple(map(int, size.split("x"))) for size in sizes]
        cases = [{"name": name, "agents": agents, "size": size} for agents, size in crowds for name in CASES]
        steps = [make_step(one["agents"], one["size"], **CASES[one["name"]]) for one in cases]
        _answer(answers, cases)
        for line in sys.stdin:
            request = json.loads(line)
            seconds, calls = play_round(steps[request["play"]], request["seconds"])
            _answer(answers, {"seconds": seconds, "agent_steps": calls * cases[request["play"]]["agents"]})


def _answer(stream: Any, content: Any) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
