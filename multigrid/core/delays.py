"""Delays: how agents are held up, as `multigrid.core.rules` describes."""

from __future__ import annotations

from typing import Any

from multigrid.actions import Outcome
from multigrid.core.arrays import DELAY_EVENTS, LEAST_DELAY, TRAVELLING, Arrays
from multigrid.runtime.compiled import function, inlined
from multigrid.runtime.pcg64 import draw_share, next_float

BERNOULLI, POISSON = range(2)
"""The event models, in the order of `multigrid._delays.DelayEvents`."""

_DELAYED = int(Outcome.DELAYED)


@inlined
def has_delays(w: Arrays) -> bool:
    """Return whether agents can be delayed."""
    return bool(w.delay_durations.shape[0] > 0)


@inlined
def hold_up(w: Arrays, e: int, num_agents: int) -> None:
    """Let the agents that are delayed ask for their own cells."""
    if not draw_delays(w, e, num_agents):
        return
    note_delays(w, e, num_agents)
    outcomes, own_cell, requested = w.outcomes[e], w.own_cell, w.requested
    for i in range(num_agents):
        if outcomes[i] == _DELAYED:
            requested[i] = own_cell[i]


@inlined
def draw_delays(w: Arrays, e: int, num_agents: int) -> bool:
    """Let all delays go on by a step, and draw new ones; return whether there are any."""
    left, num_left = w.delay_left[e], 0
    for i in range(num_agents):
        left[i] = max(left[i] - 1, 0)
        num_left += left[i]
    count = draw_share(w.delay_streams, e, w.delay_counts)
    if count > 0:
        _begin_delays(w, e, count)
    return bool(count > 0 or num_left > 0)


@inlined
def note_delays(w: Arrays, e: int, num_agents: int) -> None:
    """Set the outcomes of the agents that are delayed, and count the step for each."""
    left, status, outcomes, delayed_steps = w.delay_left[e], w.status[e], w.outcomes[e], w.delayed_steps[e]
    for i in range(num_agents):
        if left[i] > 0 and status[i] == TRAVELLING:
            outcomes[i] = _DELAYED
            delayed_steps[i] += 1


@inlined
def _delay(w: Arrays, e: int, i: int) -> None:
    """Begin a delay of agent i, unless it has one."""
    if w.delay_left[e, i] == 0:
        w.delay_left[e, i] = w.settings[LEAST_DELAY] + draw_share(w.delay_streams, e, w.delay_durations)


@function
def _begin_delays(w: Arrays, e: int, count: int) -> None:
    """Delay some agents: of all, those that are not delayed (bernoulli), or as many of these (poisson)."""
    left, chosen, size = w.delay_left[e], w.refusal_reason, 0
    if count == 1 and w.settings[DELAY_EVENTS] == BERNOULLI:
        _delay(w, e, int(next_float(w.delay_streams, e) * left.shape[0]))
        return
    for i in range(left.shape[0]):
        if w.settings[DELAY_EVENTS] == BERNOULLI or left[i] == 0:
            chosen[size] = i
            size += 1
    for k in range(min(count, size)):
        other = k + int(next_float(w.delay_streams, e) * (size - k))
        _delay(w, e, chosen[other])
        chosen[other] = chosen[k]


@function
def begin_delays(w: Arrays, e: int) -> Any:
    """Begin an episode of world e in which nobody is delayed."""
    for i in range(w.delay_left.shape[1] if has_delays(w) else 0):
        w.delay_left[e, i] = 0
        w.delayed_steps[e, i] = 0


@function
def restore_delays(w: Arrays, e: int, given: Arrays, k: int) -> Any:
    """Copy the delays of world k of other arrays to world e."""
    if has_delays(w):
        for word in range(w.delay_streams.shape[1]):
            w.delay_streams[e, word] = given.delay_streams[k, word]
        for i in range(w.delay_left.shape[1]):
            w.delay_left[e, i], w.delayed_steps[e, i] = given.delay_left[k, i], given.delayed_steps[k, i]
