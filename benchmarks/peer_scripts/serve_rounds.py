"""Play rounds of another library's environments, as standard input asks for them.

Usage: python serve_rounds.py ROUNDS SCRIPT AGENTSxSIZE...

ROUNDS is the path of ``benchmarks/speed/rounds.py``, which times the rounds of all cases alike. SCRIPT is a module
beside this file; its ``make_cases(agents, size)`` returns, by name, functions that make an environment and return the
number of its worlds and a function that plays a step of all of them.

The first line on standard output has the versions of the script's PACKAGES, what can be played, and what failed:
``{"versions": {}, "cases": [{"name": "", "agents": 8, "size": 16, "worlds": 1}], "failures": []}``. Each line
``{"play": 0, "seconds": 0.05}`` on standard input plays the first case for about so long, and is answered by a line
``{"seconds": 0.0512, "agent_steps": 800}``. The end of the input ends the program.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import runpy
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any


def main(rounds: str, script: str, *sizes: str) -> None:
    """Make everything, write what there is, and play what is asked for."""
    # By its path, for the package that it belongs to cannot be imported here.
    play_round = runpy.run_path(rounds)["play_round"]
    answers = sys.stdout
    # What a library prints must not stand between the answers.
    with contextlib.redirect_stdout(sys.stderr):
        module = importlib.import_module(script)
        cases, steps, failures = _make_cases(module, [tuple(map(int, size.split("x"))) for size in sizes])
        versions = {package: metadata.version(package) for package in module.PACKAGES}
        _answer(answers, {"versions": versions, "cases": cases, "failures": failures})
        for line in sys.stdin:
            request = json.loads(line)
            case = cases[request["play"]]
            seconds, calls = play_round(steps[request["play"]], request["seconds"])
            _answer(answers, {"seconds": seconds, "agent_steps": calls * case["agents"] * case["worlds"]})


def _make_cases(module: Any, sizes: list[Any]) -> tuple[list[dict[str, Any]], list[Callable[[], Any]], list[str]]:
    cases, steps, failures = [], [], []
    for agents, size in sizes:
        for name, make in module.make_cases(agents, size).items():
            try:
                worlds, step = make()
                step()  # compiles, where there is something to compile
            except Exception as error:  # noqa: BLE001 - a library may fail in any way, and the others go on
                failures.append(f"{name}, {agents} agents: {type(error).__name__}: {error}")
                continue
            cases.append({"name": name, "agents": agents, "size": size, "worlds": worlds})
            steps.append(step)
    return cases, steps, failures


def _answer(stream: Any, content: dict[str, Any]) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
