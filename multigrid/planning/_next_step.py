"""The kernels of PIBT's next step in many worlds.

The agent that has travelled longest chooses first, as in `multigrid.planning._pibt`. Agents that have travelled equally
long take turns: after some steps, the next of them in index order becomes the first.
"""

from __future__ import annotations

from typing import Any

from multigrid.core.rules import NONE, RESTART
from multigrid.planning._graph import FAR, NOWHERE
from multigrid.planning._kernels import borrowed, inlined, kernel
from multigrid.planning._pibt import begin_step, choose_cells, end_step, sort_by_wait
from multigrid.planning._team import Team

_NUM_COLUMNS = 5
_STEPS_OF_A_TURN = 8
_MASK = 2**32 - 1


@kernel
def choose_in_worlds(scratch: Team, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any) -> None:
    """Write the actions of E worlds.

    Args:
        scratch: the arrays that the worlds share one after the other.
        settings: the rule on target, of collisions, the number of actions, and the seed.
        graphs: neighbours int32 (M, C, 5), and degrees int32 (M, C).
        worlds: the map, the steps and whether the episode is over, (E,) each.
        agents: cells, goals, tables, and steps of the last arrivals, (E, N) each, and scores, float32 (E, N, 5), or
            (E, 0, 5) without scores.
        actions: int64 (E, N), those of agents whose actions have no effect are left as they are.
    """
    neighbours, degrees = graphs
    scratch = borrowed(scratch)
    maps, steps, over = worlds
    cells, goals, rows, arrival_steps, scores = agents
    for e in range(maps.shape[0]):
        if over[e]:
            continue
        m = maps[e]
        own = Team(
            neighbours[m],
            degrees[m],
            scratch.distances,
            rows[e],
            goals[e],
            cells[e],
            scratch.after,
            scratch.occupant,
            scratch.reserved,
            scratch.order,
            scratch.waited,
            scratch.options,
            scratch.tried,
            scratch.num_options,
            scratch.pulled,
            scratch.stack,
            scratch.rule,
            scratch.generator,
            scores[e],
            scratch.ranked,
        )
        team = borrowed(own)
        if settings[1] == NONE:
            _walk_alone(team)
        else:
            team.generator[0] = ((steps[e] & _MASK) * _STEPS_OF_A_TURN + settings[3]) & _MASK
            sort_agents(team, arrival_steps[e], steps[e], settings[0] == RESTART)
            begin_step(team)
            choose_cells(team)
            end_step(team)
        _write_actions(team, settings[2], actions[e])


@inlined
def _walk_alone(team: Team) -> None:
    """Let each agent take a shortest path, whatever the others do."""
    for i in range(team.now.shape[0]):
        team.after[i] = team.now[i]
        distances = team.distances[team.rows[i]]
        nearest = FAR
        for a in range(_NUM_COLUMNS if team.now[i] != NOWHERE else 0):
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
def _write_actions(team: Team, num_actions: int, actions: Any) -> None:
    for i in range(team.now.shape[0]):
        if team.now[i] == NOWHERE or team.after[i] == NOWHERE:
            continue
        for a in range(num_actions):
            if team.neighbours[team.now[i], a] == team.after[i]:
                actions[i] = a
                break
