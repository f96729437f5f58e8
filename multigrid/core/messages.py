"""Messages: the bits that agents send with their actions, as `multigrid.core.rules` describes.

Without messages, `Arrays.messages` is empty, and nothing here does anything.
"""

from __future__ import annotations

from typing import Any

from multigrid.core.arrays import LEFT, NUM_ACTIONS, Arrays
from multigrid.runtime.compiled import function


@function
def send_messages(w: Arrays, e: int) -> Any:
    """Decode the actions of world e, in which `multigrid.actions.check_action` has encoded the messages.

    An action is then a number below `num_actions`, and the messages are bits, the first of which was the lowest.
    """
    num_bits = w.messages.shape[2]
    # The setting is the number of actions with each message.
    num_actions = w.settings[NUM_ACTIONS] >> num_bits
    for i in range(w.messages.shape[1]):
        # Nobody has checked the action of an agent that has left.
        sent = 0 if w.status[e, i] == LEFT else w.actions[e, i] // num_actions
        w.actions[e, i] -= sent * num_actions
        for bit in range(num_bits):
            w.messages[e, i, bit] = (sent >> bit) & 1


@function
def clear_messages(w: Arrays, e: int) -> Any:
    """Set all messages of world e to 0."""
    for i in range(w.messages.shape[1]):
        for bit in range(w.messages.shape[2]):
            w.messages[e, i, bit] = 0


@function
def restore_messages(w: Arrays, e: int, given: Arrays, k: int) -> Any:
    """Copy the messages of world k in `given` to world e."""
    for i in range(w.messages.shape[1]):
        for bit in range(w.messages.shape[2]):
            w.messages[e, i, bit] = given.messages[k, i, bit]


@function
def are_bits(w: Arrays, e: int) -> bool:
    """Return whether all bits in the messages of world e are 0 or 1."""
    for i in range(w.messages.shape[1]):
        for bit in range(w.messages.shape[2]):
            if w.messages[e, i, bit] != 0 and w.messages[e, i, bit] != 1:
                return False
    return True
