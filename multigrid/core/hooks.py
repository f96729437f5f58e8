"""Where the rules of a user's game come in: stubs that kernels call, and that do nothing.

The compiler removes them from the kernels of the built-in game. In the copies for a game, see `multigrid.core.games`,
others stand in their places.
"""

from __future__ import annotations

from typing import Any

from multigrid.runtime.arrays import LEFT, NOBODY, Arrays
from multigrid.runtime.compiled import inlined


@inlined
def clear(w: Arrays, e: int) -> None:
    """Fill the game's own state of world e with zeros, before its layout."""


@inlined
def begin_step(w: Arrays, e: int) -> None:
    """Prepare what the functions of a game read in a step of world e."""


@inlined
def begin(w: Arrays, e: int) -> None:
    """Begin an episode of world e, after its layout."""


@inlined
def restore(w: Arrays, e: int, given: Arrays, k: int) -> None:
    """Copy the game's own state of world k of other arrays to world e."""


@inlined
def take_level(w: Arrays, e: int) -> bool:  # noqa: ARG001 - as in `multigrid.core.levels`
    """Set what the episode of world e begins with to a level that was chosen for it; return whether there is one."""
    return False


@inlined
def draw_own_map(w: Arrays, e: int) -> int:  # noqa: ARG001 - as in `multigrid.core.drawn_maps`
    """Draw the map of world e, if maps are drawn, and return its index; else `NOBODY`."""
    return NOBODY


@inlined
def restore_own_map(w: Arrays, e: int, given: Arrays, k: int) -> None:
    """Copy the map of world k of other arrays to world e, if maps are drawn."""


@inlined
def may_enter(w: Arrays, e: int, i: int, x: int, y: int) -> bool:  # noqa: ARG001 - as the hook of a game
    """Return whether agent i may ask for a cell that is no wall and not its own."""
    return True


@inlined
def after_moves(w: Arrays, e: int) -> None:
    """Change what a step has brought, after arrivals."""


@inlined
def is_legal(w: Arrays, e: int, i: int, action: int) -> bool:  # noqa: ARG001 - as the hook of a game
    """Return whether the action mask lets agent i choose an action of the game."""
    return True


@inlined
def has_targets() -> bool:
    """Return whether agents have targets."""
    return True


@inlined
def has_moves() -> bool:
    """Return whether the first actions are the four moves and *stay*."""
    return True


@inlined
def finds_paths() -> bool:
    """Return whether states are those of path finding, and not those of a user's game."""
    return True


@inlined
def write_own_metrics(w: Arrays, e: int, figures: Any, k: int) -> None:
    """Write the game's own metrics of world e to a column of the figures, after those of path finding."""


@inlined
def write_own_parts(w: Arrays, e: int) -> None:
    """Write the parts of observations that the game adds, of all agents of world e, each into its array."""


@inlined
def write_own_flat(w: Arrays, e: int, i: int, part: int, out: Any) -> None:
    """Write one of the parts that the game adds, by its number among them, of agent i of world e."""


@inlined
def end_episode(w: Arrays, e: int) -> None:
    """End the episode of world e with this step: all agents that had not left before it are terminated.

    For the functions of a game.
    """
    for i in range(w.location.shape[1]):
        w.terminated[e, i] = w.status[e, i] != LEFT or w.terminated[e, i]
    w.episode_over[e] = True
