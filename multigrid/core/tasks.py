"""The kernel with which threads share the work on worlds, see `multigrid.runtime.threads`."""

from __future__ import annotations

from typing import Any

from multigrid.core.arrays import unpack
from multigrid.core.observe import observe_any_worlds
from multigrid.core.rules import reset_worlds
from multigrid.runtime.atomics import add, clear_memory, copy_memory, exchange_if, load, pause, store, yield_core
from multigrid.runtime.compiled import inlined, kernel
from multigrid.runtime.threads import (
    DONE,
    FIRST,
    KIND,
    LAST,
    PIECES,
    PLAY,
    RESET_ENDED,
    SOURCE,
    TASK,
    TICKET,
    TO,
    WRITE,
    ZEROS,
)

_UNCLAIMED_MASK, _NUMBER_MASK = 2**32 - 1, 2**31 - 1
_SPINS = 5000
"""The spins of an idle follower before it sleeps: some tenths of a millisecond."""


@kernel
def play_tasks(  # noqa: PLR0917 - kernels have no keywords
    address_table: Any, board: Any, kind: int, first: int, last: int, most_pieces: int
) -> None:
    """Play pieces of tasks: as the leader of one, or, if `most_pieces` is 0, as a follower.

    The leader begins a task on worlds, or bytes, first .. last - 1, and returns when all of its pieces are done. A
    follower returns when there has been no piece for `_SPINS` spins. Both are one kernel, for each of two would compile
    the whole game.
    """
    pieces = min(most_pieces, last - first)
    if pieces > 0:
        board[TASK, KIND], board[TASK, FIRST], board[TASK, LAST] = kind, first, last
        board[TASK, PIECES] = pieces
        store(board, DONE, 0, 0)
        # A new number, so that a follower that has read the last ticket cannot claim with it.
        number = ((load(board, TICKET, 0) >> 32) + 1) & _NUMBER_MASK
        store(board, TICKET, 0, (number << 32) + pieces)
    spins = 0
    while pieces > 0 or spins < _SPINS:
        ticket = load(board, TICKET, 0)
        if ticket & _UNCLAIMED_MASK > 0:
            if exchange_if(board, TICKET, 0, ticket, ticket - 1):
                # The task cannot change until this piece is done.
                _play_piece(address_table, board, (ticket & _UNCLAIMED_MASK) - 1)
                add(board, DONE, 0, 1)
                spins = 0
        elif pieces > 0 and load(board, DONE, 0) == pieces:
            break
        else:
            spins += 1
            pause()
            if pieces > 0 and spins % _SPINS == 0:
                yield_core()


@inlined
def _play_piece(address_table: Any, board: Any, piece: int) -> None:
    first, worlds = load(board, TASK, FIRST), load(board, TASK, LAST) - load(board, TASK, FIRST)
    pieces, kind = load(board, TASK, PIECES), load(board, TASK, KIND)
    begin, end = first + worlds * piece // pieces, first + worlds * (piece + 1) // pieces
    if kind == WRITE:
        to, source = load(board, TASK, TO) + begin, load(board, TASK, SOURCE)
        if source == ZEROS:
            clear_memory(to, end - begin)
        else:
            copy_memory(to, source + begin, end - begin)
        return
    if kind == PLAY:
        unpack(address_table).hooks.play_worlds(address_table, begin, end)
    else:
        reset_worlds(address_table, begin, end, kind == RESET_ENDED)
    observe_any_worlds(address_table, begin, end)
