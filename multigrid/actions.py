"""Actions, their directions, and the outcomes of moves.

Directions are defined only here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten


class Action(IntEnum):
    """An agent's move to a neighbouring cell, or none (``STAY``, with ``allow_stay=True`` or a game's own actions).

    A cell is ``[x, y]``. Action 1, up, adds 1 to y, which is one cell down in pictures.

    >>> Action.UP, DIRECTIONS[Action.UP].tolist()
    (<Action.UP: 1>, [0, 1])
    """

    RIGHT = 0
    UP = 1
    LEFT = 2
    DOWN = 3
    STAY = 4


DIRECTIONS: NDArray[np.int64] = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], dtype=np.int64)
"""int64 (5, 2): the step ``[dx, dy]`` of each `Action`."""
DIRECTIONS.setflags(write=False)

ROW_COLUMN_ACTIONS = (1, 2, 3, 0)
"""Where a cell is ``[row, col]``: the actions above with the steps of right, up, left and down, as frames show them."""

MOVES: tuple[tuple[int, int], ...] = tuple((int(dx), int(dy)) for dx, dy in DIRECTIONS if dx or dy)
"""The steps ``(dx, dy)`` of the four actions that move an agent, in their order: each a quarter turn from the last."""


class Outcome(IntEnum):
    """Why the last move of an agent ended as it did; a plain int in ``infos[agent]["outcome"]``.

    If several apply, it is the first of PARKED, DELAYED, STAYED, EDGE, WALL, SWAP, CONTESTED, OCCUPIED.

    >>> Outcome(5)
    <Outcome.CONTESTED: 5>
    """

    MOVED = 0
    """The agent moved."""
    STAYED = 1
    """It requested to stay, or the episode has just begun."""
    EDGE = 2
    """Its move led off the grid."""
    WALL = 3
    """Its move led into a wall."""
    OCCUPIED = 4
    """The requested cell was not free."""
    CONTESTED = 5
    """Another agent requested the same cell."""
    SWAP = 6
    """It and another agent requested each other's cells."""
    PARKED = 7
    """It had already arrived; its actions are ignored."""
    DELAYED = 8
    """It was delayed."""


BLOCKED_BY_AGENT = (Outcome.OCCUPIED, Outcome.CONTESTED, Outcome.SWAP)
"""The outcomes of a move that was refused because of another agent."""

BLOCKED = (Outcome.EDGE, Outcome.WALL, *BLOCKED_BY_AGENT)
"""The outcomes of a move that was refused."""


def check_action(action: Any, num_actions: int, whose: str = "", bits: int = 0) -> int:
    """Check an int, a NumPy integer or an integer array of one element, below `num_actions`, and return it as an int.

    `whose` is the agent's name, for the message; "" for the single-agent env, which has no fifth action. With `bits`,
    an action may be a sequence ``[action, bit, ...]``; the number is action + num_actions * (bit 0 + 2 * bit 1 + ...).
    An action alone sends zeros.
    """
    if bits and (isinstance(action, list | tuple) or np.ndim(action) > 0):
        return _encode_message(action, num_actions, whose, bits)
    whom = f" for {whose}" if whose else ""
    expected = f"expected an integer from 0 to {num_actions - 1}{', or [action, bit, ...]' if bits else ''}"
    if hasattr(type(action), "__array__") and not isinstance(action, np.generic):
        # Tensors as well, as in the actions of a vector env.
        action = np.asarray(action)
        if action.size != 1:
            raise ValueError(f"action{whom} is an array of shape {action.shape}; {expected}, or an array of one")
        action = action.reshape(-1)[0]
    if isinstance(action, bool) or not isinstance(action, int | np.integer):
        hint = "; an action drawn from the action space is one" if isinstance(action, float | np.floating) else ""
        raise TypeError(f"action{whom} is {shorten(action)} of type {type(action).__name__}; {expected}{hint}")
    if not 0 <= action < num_actions:
        stay = "; 4 (stay) needs allow_stay=True" if whose and action == Action.STAY == num_actions else ""
        raise ValueError(f"action{whom} is {int(action)}; {expected}{stay}")
    return int(action)


def _encode_message(action: Any, num_actions: int, whose: str, bits: int) -> int:
    try:
        values = np.asarray(action)
    except ValueError:  # rows of different lengths
        values = np.empty(0, np.object_)
    one_or_more = f"{bits} bit{'s' * (bits > 1)}"
    expected = f"expected an integer from 0 to {num_actions - 1}, and then {one_or_more}, each 0 or 1"
    is_listed = values.shape == (1 + bits,) and values.dtype.kind in "iu"
    if not is_listed or not 0 <= values[0] < num_actions or not np.isin(values[1:], (0, 1)).all():
        raise ValueError(f"action for {whose} is {shorten(action)}; {expected}")
    return int(encode_messages(values, num_actions))


def encode_messages(actions: NDArray[np.int64], num_actions: int) -> NDArray[np.int64]:
    """Return the numbers of actions with bits, integers (..., 1 + bits), as `check_action`."""
    weights = np.concatenate([[1], num_actions << np.arange(actions.shape[-1] - 1)])
    numbers: NDArray[np.int64] = actions @ weights
    return numbers


def add_messages(actions: Any, num_actions: int, bits: int) -> NDArray[Any]:
    """Return actions (n,) with their bits, integers (n, 1 + bits): those of `check_action`, zeros for actions alone.

    Without bits, or if they have them, actions are returned as they are.
    """
    numbers = np.asarray(actions)
    if not bits or numbers.ndim > 1:
        return numbers
    sent = (numbers // num_actions)[:, None] >> np.arange(bits)
    return np.column_stack([numbers % num_actions, sent & 1])
