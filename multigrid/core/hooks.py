"""Default hooks, which do nothing: what the rules call, as ``w.hooks.NAME``, where another game has a function.

The compiler removes them from the kernels of the built-in game. `DEFAULTS` lists all hooks.
"""

from __future__ import annotations

from typing import Any

from multigrid.core import delays, invariants, observe, placement, rules
from multigrid.core.arrays import LEFT, NOBODY, Arrays
from multigrid.runtime.compiled import inlined
from multigrid.runtime.tables import RULES


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
def take_level(w: Arrays, e: int) -> bool:  # noqa: ARG001 - as in `multigrid.core.drawn_maps`
    """Set what the episode of world e begins with to a level that was chosen for it; return whether there is one."""
    return False


@inlined
def draw_own_map(w: Arrays, e: int) -> int:  # noqa: ARG001 - as in `multigrid.core.drawn_maps`
    """Draw the map of world e, if maps are drawn, and return its index; else `NOBODY`."""
    return NOBODY


@inlined
def keep_beginning(w: Arrays, e: int) -> None:
    """Keep the layout with which the episode of world e begins, if maps are drawn."""


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
def write_own_metrics(w: Arrays, e: int, figures: Any, k: int) -> None:
    """Write the game's own metrics of world e to a column of the figures, after those of path finding."""


@inlined
def write_own_infos(w: Arrays, e: int) -> None:
    """Write the infos that the game adds, of all agents of world e, each into its array."""


@inlined
def write_own_parts(w: Arrays, e: int) -> None:
    """Write the parts of observations that the game adds, of all agents of world e, each into its array."""


@inlined
def write_own_flat(w: Arrays, e: int, i: int, part: int, out: Any) -> None:
    """Write one of the parts that the game adds, by its number among them, of agent i of world e."""


@inlined
def draw_images(w: Arrays, e: int) -> None:
    """Draw the images that agents of world e observe, if there are any, as `multigrid.core.images`."""


@inlined
def paint(w: Arrays, e: int, i: int, x: int, y: int) -> int:  # noqa: ARG001 - as the hook of a game
    """Return the colour of a cell in an image that agent i observes, 0xRRGGBB, or a negative number for none."""
    return -1


@inlined
def end_episode(w: Arrays, e: int) -> None:
    """End the episode of world e with this step: all agents that had not left before it are terminated.

    For the functions of a game.
    """
    for i in range(w.location.shape[1]):
        w.terminated[e, i] = w.status[e, i] != LEFT or w.terminated[e, i]
    w.episode_over[e] = True


DEFAULTS: dict[str, Any] = {
    **{one.__name__: one for one in (clear, begin_step, begin, restore, may_enter, after_moves, is_legal)},
    **{one.__name__: one for one in (take_level, draw_own_map, keep_beginning, restore_own_map)},
    **{one.__name__: one for one in (write_own_infos, write_own_parts, write_own_flat, write_own_metrics)},
    **{one.__name__: one for one in (draw_images, paint)},
    **{one.__name__: one for one in (rules.request_moves, rules.ask_game, rules.resolve, rules.move)},
    **{one.__name__: one for one in (rules.play_step, rules.play_worlds, placement.draw_layout)},
    **{one.__name__: one for one in (delays.begin_delays, delays.hold_up, observe.write_delays)},
    "check_play": invariants.check_play,
    "has_infos": False,
    "has_targets": True,
    "has_moves": True,
    "finds_paths": True,
}
"""All hooks by name, functions and numbers, with those of the built-in game."""
RULES[""] = DEFAULTS
