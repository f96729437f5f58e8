"""The suite of scenarios that comes with the package.

It has five kinds of maps, each with 2 to 64 agents: empty, random, maze, rooms, warehouse. The rules are those of
classical path finding (Stern et al., SoCS 2019): no vertex and no swapping conflict; following is allowed; agents on
their targets may step aside; the episode ends when all agents stand on their targets at once. Each file holds a plan
that solves it. ``python -m multigrid.scenarios.make_suite`` writes the files, with the same bytes each time.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from multigrid._checks import shorten
from multigrid.scenarios.scenario import Scenario, load

__all__ = ["FOLDER", "find_scenario", "get", "names"]

FOLDER = Path(__file__).parent / "suite"


def names() -> list[str]:
    """Return the names of the suite's scenarios, KIND-WIDTHxHEIGHT-AGENTS, by kind and number of agents.

    >>> names()[:3]
    ['empty-9x7-2', 'empty-11x9-4', 'empty-17x13-8']
    """
    return sorted(_stems(), key=lambda name: (name.split("-")[0], int(name.split("-")[2])))


def get(name: str) -> Scenario:
    """Return the scenario of the suite with this name.

    Raises:
        ValueError: the suite has no such scenario.

    >>> get("maze-17x13-8").config.num_agents
    8
    """
    if name not in _stems():
        raise ValueError(
            f"there is no scenario {shorten(name)} in the suite; multigrid.scenarios.names() has {names()}"
        )
    return load(FOLDER / f"{name}.json")


def find_scenario(source: str | PathLike[str]) -> Scenario:
    """Return the scenario in a file or, if there is no such file, the scenario of the suite with this name.

    Args:
        source: a path, or a name as a str.

    Raises:
        OSError: there is neither such a file nor such a name, or the file cannot be read.
        ValueError: the file does not hold a scenario.

    >>> find_scenario("maze-17x13-8").name
    'maze-17x13-8'
    """
    path = Path(source)
    if not path.is_file() and isinstance(source, str):
        if source in names():
            return get(source)
        if not path.exists():
            raise FileNotFoundError(
                f"there is no file {source!r}, nor a scenario of this name in the suite; multigrid.scenarios.names() "
                f"has {', '.join(names())}"
            )
    return load(path)


def _stems() -> list[str]:
    return [path.stem for path in FOLDER.glob("[!.]*.json")]
