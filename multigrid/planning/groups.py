"""Pick groups of agents whose paths large-neighbourhood search searches again.

Li, Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search", IJCAI 2021.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.planning.compiled import inlined, kernel
from multigrid.planning.graph import NOWHERE
from multigrid.planning.random_numbers import draw_below
from multigrid.planning.timetable import Timetable
from multigrid.runtime.arrays import NOBODY

__all__ = ["Group", "add_member", "empty_group", "make_group", "pick_group"]

_NUM_MOVES = 4
_NUM_KINDS = 8
_CANDIDATES = 4
_TRIES_PER_AGENT = 8


class Group(NamedTuple):
    """The agents that are picked.

    >>> make_group(5).members.shape
    (5,)
    """

    members: Any
    """int32 (N,): the agents; the first `size` entries count."""
    is_member: Any
    """bool (N,)."""
    size: Any
    """int64 (1,)."""


def make_group(num_agents: int) -> Group:
    """Return a group without agents, with room for `num_agents`."""
    return Group(np.zeros(num_agents, np.int32), np.zeros(num_agents, np.bool_), np.zeros(1, np.int64))


@kernel
def pick_group(table: Timetable, group: Group, most: int, generator: Any) -> None:
    """Pick up to `most` agents: a late agent with those that delay it, agents that come to one cell, or any agents.

    Args:
        table: the plan.
        group: the group; the agents that were in it are replaced.
        most: the largest size, at most N.
        generator: see `multigrid.planning.random_numbers`.
    """
    empty_group(group)
    kind = draw_below(generator, _NUM_KINDS)
    if kind > _NUM_KINDS // 2:
        _pick_in_the_way(table, group, most, generator)
    elif kind > 0:
        _pick_meeting(table, group, most, generator)
    # A group of one agent, where two are possible, is filled with any other.
    num_agents = table.goals.shape[0]
    while group.size[0] < min(most, 2):
        add_member(group, draw_below(generator, num_agents), most)
    if kind == 0:
        for _ in range(most):
            add_member(group, draw_below(generator, num_agents), most)


@inlined
def empty_group(group: Group) -> None:
    """Take all agents out of a group."""
    for k in range(group.size[0]):
        group.is_member[group.members[k]] = False
    group.size[0] = 0


@inlined
def add_member(group: Group, agent: int, most: int) -> None:
    """Add an agent to a group, unless it is in it, is `NOBODY`, or the group has `most` agents."""
    if agent != NOBODY and not group.is_member[agent] and group.size[0] < most:
        group.is_member[agent] = True
        group.members[group.size[0]] = agent
        group.size[0] += 1


@kernel
def _pick_in_the_way(table: Timetable, group: Group, most: int, generator: Any) -> None:
    """Pick a late agent, and agents that are met on random walks towards earlier arrivals, its own and theirs."""
    late = _draw_late(table, generator)
    add_member(group, late, most)
    # An agent that crosses the target after the shortest path has ended delays the arrival.
    for t in range(table.distances[late, table.paths[late, 0]], table.arrivals[late]):
        add_member(group, table.agents[t, table.goals[late]], most)
    for _ in range(_TRIES_PER_AGENT * most):
        if group.size[0] == most:
            return
        _walk(table, group, group.members[draw_below(generator, group.size[0])], most, generator)


@inlined
def _draw_late(table: Timetable, generator: Any) -> int:
    """Return, of a few random agents, the one whose arrival is latest compared with its shortest path."""
    latest, delay = 0, -1
    for _ in range(_CANDIDATES):
        agent = draw_below(generator, table.goals.shape[0])
        its_delay = table.arrivals[agent] - table.distances[agent, table.paths[agent, 0]]
        if its_delay > delay:
            latest, delay = agent, its_delay
    return latest


@kernel
def _walk(table: Timetable, group: Group, agent: int, most: int, generator: Any) -> None:
    """Let an agent walk at random, as long as it could still arrive earlier than it does; add those that it meets."""
    arrival = table.arrivals[agent]
    if arrival == 0:
        return
    t = draw_below(generator, arrival)
    cell = table.paths[agent, t]
    while t < arrival and group.size[0] < most:
        t += 1
        chosen, count = NOWHERE, 0
        for a in range(_NUM_MOVES + 1):
            other_cell = table.neighbours[cell, a]
            if other_cell != NOWHERE and t + table.distances[agent, other_cell] < arrival:
                count += 1
                if draw_below(generator, count) == 0:
                    chosen = other_cell
        if chosen == NOWHERE:
            return
        add_member(group, table.agents[t, chosen], most)
        if t >= table.held_from[chosen]:
            add_member(group, table.owners[chosen], most)
        leaving = table.agents[t - 1, chosen]
        if leaving != NOBODY and leaving == table.agents[t, cell]:
            add_member(group, leaving, most)
        cell = chosen


@kernel
def _pick_meeting(table: Timetable, group: Group, most: int, generator: Any) -> None:
    """Pick agents that come to one cell, and to its neighbours, at about the same time."""
    agent = draw_below(generator, table.goals.shape[0])
    add_member(group, agent, most)
    moment = draw_below(generator, table.arrivals[agent] + 1)
    cell = table.paths[agent, moment]
    for away in range(table.agents.shape[0]):
        if group.size[0] == most:
            return
        for a in range(_NUM_MOVES, -1, -1):
            other_cell = table.neighbours[cell, a]
            if other_cell == NOWHERE:
                continue
            if moment - away >= 0:
                add_member(group, table.agents[moment - away, other_cell], most)
            if moment + away < table.agents.shape[0]:
                add_member(group, table.agents[moment + away, other_cell], most)
