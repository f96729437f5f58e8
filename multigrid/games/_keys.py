"""What keys of `multigrid play` do in a game."""

from __future__ import annotations

from multigrid.actions import Action
from multigrid.config import GridConfig

# The other letters move and command.
_FREE = "1234567890bceghijklmotuvyz"
_WAYS = {
    "north": "up",
    "south": "down",
    "west": "left",
    "east": "right",
    "forward": "up",
    "left": "left",
    "right": "right",
}
"""The arrow of an action, by its name, in a game without the four moves."""


def find_own_keys(config: GridConfig) -> dict[str, tuple[int, str]]:
    """Return the numbers and names of a game's own actions by key, in order; those after the 26th have no key."""
    first = Action.STAY + 1 if config.game is None or config.game.moves else 0
    return dict(zip(_FREE, enumerate(config.own_actions, first), strict=False))


def find_ways(config: GridConfig) -> dict[str, int] | None:
    """Return the actions that the arrows stand for in a game without the four moves; None in others."""
    if config.game is None or config.game.moves:
        return None
    return {_WAYS[name]: number for number, name in enumerate(config.own_actions) if name in _WAYS}


def find_idle(config: GridConfig) -> int | None:
    """Return the action that does nothing, if there is one."""
    if config.game is None or config.game.moves:
        return int(Action.STAY) if config.num_actions > Action.STAY else None
    names = config.own_actions
    return names.index("none") if "none" in names else None
