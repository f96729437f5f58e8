"""Draw maps, layouts and targets, or take them from lists, as `multigrid.core.rules` describes."""

from __future__ import annotations

from typing import Any

from multigrid.core.arrays import ABSENT, NOBODY, Arrays
from multigrid.maps._cells import NO_TARGET, WALL
from multigrid.runtime.compiled import function
from multigrid.runtime.pcg64 import draw_integer


@function
def draw_map(w: Arrays, e: int) -> Any:
    """Draw the map of world e's next episode, or one of a pool; draw nothing if there is only one."""
    own_map = w.hooks.draw_own_map(w, e)
    return own_map if own_map != NOBODY else draw_integer(w.streams, e, w.components.shape[0])


@function
def draw_layout(w: Arrays, e: int) -> None:
    """Set the cell and the target of each agent of world e: those that the map shows, or random ones."""
    set_lists(w, e, w.layout_lists, w.map_index[e])
    if w.layouts.shape[0] > 0:
        for i in range(w.num_agents[e]):
            for axis in range(2):
                w.location[e, i, axis] = w.layouts[w.map_index[e], i, axis]
                w.target[e, i, axis] = w.layouts[w.map_index[e], i, 2 + axis]
        return
    components = w.components[w.map_index[e]]
    sizes = w.component_sizes[w.map_index[e]]
    # This scratch marks the agents and the targets placed so far, by cell.
    has_agent, has_target = w.occupant, w.first_requester
    num_agents, height = w.num_agents[e], components.shape[1]

    for i in range(num_agents):
        x, y = _draw_cell(w, e)
        while components[x, y] == WALL or sizes[components[x, y]] < 2 or has_agent[x * height + y] != NOBODY:
            x, y = _draw_cell(w, e)
        component = components[x, y]
        own_cell = x * height + y
        has_agent[own_cell] = i
        w.location[e, i, 0], w.location[e, i, 1] = x, y

        if not w.hooks.has_targets:
            continue
        # Each agent placed before has a target in its own component, so this counts the component's targets too.
        num_targets = w.component_agents[component]
        w.component_agents[component] += 1
        without_agent, without_target = sizes[component] - w.component_agents[component], sizes[component] - num_targets
        forced = False
        if without_agent == 1 and without_target == 2:
            x, y = _cell_without_agent(w, components, component)
            forced = has_target[x * height + y] == NOBODY
        if not forced:
            x, y = _draw_cell(w, e)
            cell = x * height + y
            while components[x, y] != component or cell == own_cell or has_target[cell] != NOBODY:
                x, y = _draw_cell(w, e)
                cell = x * height + y
        has_target[x * height + y] = i
        w.target[e, i, 0], w.target[e, i, 1] = x, y

    for i in range(num_agents):
        x, y = w.location[e, i, 0], w.location[e, i, 1]
        has_agent[x * height + y] = NOBODY
        if w.hooks.has_targets:
            has_target[w.target[e, i, 0] * height + w.target[e, i, 1]] = NOBODY
        w.component_agents[components[x, y]] = 0


@function
def set_layout(w: Arrays, e: int, layouts: Any, k: int) -> None:
    """Set the number, the cells and the targets of the agents of world e to row k of int64 (K, N, 4)."""
    w.num_agents[e] = 0
    for i in range(w.location.shape[1]):
        w.num_agents[e] += int(layouts[k, i, 0] != ABSENT)
        w.location[e, i, 0], w.location[e, i, 1] = layouts[k, i, 0], layouts[k, i, 1]
        w.target[e, i, 0], w.target[e, i, 1] = layouts[k, i, 2], layouts[k, i, 3]


@function
def _draw_cell(w: Arrays, e: int) -> tuple[int, int]:
    x = draw_integer(w.streams, e, w.components.shape[1])
    y = draw_integer(w.streams, e, w.components.shape[2])
    return x, y


@function
def _cell_without_agent(w: Arrays, components: Any, component: int) -> tuple[int, int]:
    """Return the one cell of a component that has no agent."""
    for x in range(components.shape[0]):
        for y in range(components.shape[1]):
            if components[x, y] == component and w.occupant[x * components.shape[1] + y] == NOBODY:
                return x, y
    return NOBODY, NOBODY


@function
def set_lists(w: Arrays, e: int, lists: Any, k: int) -> None:
    """Set the lists of targets of world e to row k of an array as `Arrays.target_lists`; none if that is empty."""
    if w.list_lengths.shape[0] == 0:
        return
    longest = lists.shape[2] if lists.shape[0] > 0 else 0
    for i in range(w.location.shape[1]):
        length = 0
        while length < longest and lists[k, i, length, 0] >= 0:
            for axis in range(2):
                w.target_lists[e, i, length, axis] = lists[k, i, length, axis]
            length += 1
        w.list_lengths[e, i] = length
        for unused in range(length, w.target_lists.shape[2]):
            w.target_lists[e, i, unused, 0], w.target_lists[e, i, unused, 1] = NO_TARGET, NO_TARGET


@function
def set_next_target(w: Arrays, e: int, i: int) -> None:
    """Give agent i of world e, which has arrived, the next target of its list; without one, draw a cell."""
    if w.list_lengths.shape[0] > 0 and w.list_lengths[e, i] > 0:
        index = w.arrivals[e, i] % w.list_lengths[e, i]
        for axis in range(2):
            w.target[e, i, axis] = w.target_lists[e, i, index, axis]
        return
    components = w.components[w.map_index[e]]
    here_x, here_y = w.location[e, i, 0], w.location[e, i, 1]
    if w.component_sizes[w.map_index[e], components[here_x, here_y]] < 2:
        return  # a game has moved the agent there, which is an error
    x, y = _draw_cell(w, e)
    while components[x, y] != components[here_x, here_y] or (x == here_x and y == here_y):
        x, y = _draw_cell(w, e)
    w.target[e, i, 0], w.target[e, i, 1] = x, y
