"""Messages: the bits that agents send with their actions, as `multigrid.core.rules` describes.

Without messages, `Arrays.messages` is empty, and nothing here does anything.
"""

from __future__ import annotations

from typing import Any

from multigrid.core.arrays import LEFT, NUM_ACTIONS, Arrays
from multigrid.runtime.compiled import function


@function
def send_messages(w: Arrays, e: int) -> Any:
    """Take the messages out of the actions of world e, as `multigrid.actions.check_action` has put them in."""
    num_bits = w.messages.shape[2]
    num_actions = w.settings[NUM_ACTIONS] >> num_bits
    for i in range(w.messages.shape[1]):
        # Nobody has checked the action of an agent that has left.
        sent = 0 if w.status[e, i] == LEFT else w.actions[e, i] // num_actions
        w.actions[e, i] -= sent * num_actions
        for bit in range(num_bits):
            w.messages[e, i, bit] = (sent >> bit) & 1


@function
def clear_messages(w: Arrays, e: int) -> Any:
    """Begin an episode of world e in which nobody has said anything."""
    for i in range(w.messages.shape[1]):
        for bit in range(w.messages.shape[2]):
            w.messages[e, i, bit] = 0


@function
def restore_messages(w: Arrays, e: int, given: Arrays, k: int) -> Any:
    """Copy the messages of world k of other arrays to world e."""
    for i in range(w.messages.shape[1]):
        for bit in range(w.messages.shape[2]):
            w.messages[e, i, bit] = given.messages[k, i, bit]


@function
def are_bits(w: Arrays, e: int) -> bool:
    """Return whether the messages of world e have 0 and 1 alone."""
    for i in range(w.messages.shape[1]):
        for bit in range(w.messages.shape[2]):
            if w.messages[e, i, bit] != 0 and w.messages[e, i, bit] != 1:
                return False
    return True
