"""The suite of scenarios that comes with the package.

The rules are those of classical path finding (Stern et al., SoCS 2019): vertex and swapping conflicts are forbidden,
following is allowed, and an episode ends when all agents stand on their targets at once. In *delivery-17x13-8*, the
default task of ``multigrid train``, agents leave at their targets instead. Plans are optimal where conflict-based
search found one, else the best that LaCAM* found. In a checkout, ``python -m tools.make_suite`` regenerates
them.
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path

from multigrid._checks import shorten
from multigrid.scenarios._scenario import Scenario, load

FOLDER = Path(__file__).parent / "suite"
BOUNDS = "bounds.json"
"""The name of the file with the lower bounds, in the folder of the suite."""


def names() -> list[str]:
    """Return the names of the suite's scenarios, KIND-WIDTHxHEIGHT-AGENTS, by kind and number of agents.

    >>> names()[:3]
    ['delivery-17x13-8', 'empty-9x7-2', 'empty-11x9-4']
    """
    stems = (path.stem for path in FOLDER.glob("[!.]*.json") if path.name != BOUNDS)
    return sorted(stems, key=lambda name: (name.split("-")[0], int(name.split("-")[2])))


def get(name: str) -> Scenario:
    """Return the scenario of the suite with this name.

    Raises:
        ValueError: the suite has no such scenario.

    >>> get("maze-17x13-8").config.num_agents
    8

    See the page "The suite" (docs/environments/suite.md in the source).
    """
    _check_name(name)
    return load(FOLDER / f"{name}.json")


def lower_bound(name: str) -> int:
    """Return a proven lower bound of the sum of costs of all plans for the scenario of the suite with this name.

    If the recorded episode has this sum of costs, no plan is better.

    Raises:
        ValueError: the suite has no such scenario.

    >>> lower_bound("maze-17x13-8")
    103
    """
    _check_name(name)
    bounds: dict[str, int] = json.loads((FOLDER / BOUNDS).read_text(encoding="utf-8"))
    return bounds[name]


def _check_name(name: str) -> None:
    if name not in names():
        raise ValueError(f"there is no scenario {shorten(name)} in the suite, where {name_nearest(name)}")


def name_nearest(name: object) -> str:
    """Return a clause of an error message, with the three names of the suite that are most like a wrong one."""
    known = names()
    first, second, third = difflib.get_close_matches(name[:100] if isinstance(name, str) else "", known, n=3, cutoff=0)
    return f"the nearest of {len(known)} names are {first!r}, {second!r} and {third!r}"
