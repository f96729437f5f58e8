"""The kernels of PIBT's next step in many worlds.

The agent that has travelled longest chooses first, as in `multigrid.planning._pibt`. Agents that have travelled equally
long take turns: after some steps, the next of them in index order becomes the first.
"""

from __future__ import annotations

from typing import Any

from multigrid.core.rules import NONE, RESTART
from multigrid.planning._graph import FAR, NOWHERE, NUM_COLUMNS
from multigrid.planning._kernels import borrowed, inlined, kernel
from multigrid.planning._pibt import begin_step, choose_cells, end_step, sort_by_wait
from multigrid.planning._team import Team, use_arrays

_STEPS_OF_A_TURN = 8
_MASK = 2**32 - 1


@kernel
def choose_in_worlds(scratch: Team, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any) -> None:
    """Write the actions of E worlds, int64 (E, N), but for those that have no effect; the worlds share `scratch`."""
    scratch = borrowed(scratch)
    neighbours, degrees = graphs  # int32 (M, C, 5) and (M, C)
    on_target, collisions, num_actions, seed = settings[0], settings[1], settings[2], settings[3]
    maps, steps, over = worlds  # (E,)
    cells, goals, rows, arrival_steps, scores = agents  # (E, N); scores float32 (E, N, 5), or (E, 0, 5) without
    for e in range(maps.shape[0]):
        if over[e]:
            continue
        m = maps[e]
        own = use_arrays(scratch, neighbours[m], degrees[m], rows[e], goals[e], cells[e], scores[e], scratch.order)
        team = borrowed(own)
        if collisions == NONE:
            _walk_alone(team)
        else:
            team.generator[0] = ((steps[e] & _MASK) * _STEPS_OF_A_TURN + seed) & _MASK
            sort_agents(team, arrival_steps[e], steps[e], on_target == RESTART)
            begin_step(team)
            choose_cells(team)
            end_step(team)
        for i in range(cells.shape[1]):
            write_action(team, i, num_actions, actions[e])


@inlined
def _walk_alone(team: Team) -> None:
    """Let each agent take a shortest path, whatever the others do."""
    for i in range(team.now.shape[0]):
        team.after[i] = team.now[i]
        distances = team.distances[team.rows[i]]
        nearest = FAR
        for a in range(NUM_COLUMNS if team.now[i] != NOWHERE else 0):
            cell = team.neighbours[team.now[i], a]
            if cell != NOWHERE and distances[cell] < nearest:
                nearest, team.after[i] = distances[cell], cell


@inlined
def sort_agents(team: Team, arrival_steps: Any, steps: int, is_lifelong: bool) -> None:
    """Sort the agents by the number of steps that they have travelled, the largest first; equal ones take turns."""
    order, waited = team.order, team.waited
    num_agents = order.shape[0]
    turn = (steps // _STEPS_OF_A_TURN) % num_agents
    for k in range(num_agents):
        agent = order[k] = (k + turn) % num_agents
        since = max(arrival_steps[agent], 0) if is_lifelong else 0
        waited[agent] = 0 if team.now[agent] == team.goals[agent] else steps - since + 1
    sort_by_wait(team)


@inlined
def write_action(team: Team, agent: int, num_actions: int, actions: Any) -> None:
    """Write the action that leads an agent to its cell after the step, if there is one."""
    if team.now[agent] == NOWHERE or team.after[agent] == NOWHERE:
        return
    for a in range(num_actions):
        if team.neighbours[team.now[agent], a] == team.after[agent]:
            actions[agent] = a
            break
