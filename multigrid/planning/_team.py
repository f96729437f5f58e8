"""The arrays of priority inheritance with backtracking, allocated once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import ON_TARGET_RULES
from multigrid.planning._graph import NOWHERE, NUM_COLUMNS, Ints
from multigrid.planning._kernels import inlined, make_generator

UNDECIDED = -2  # in place of the next cell of an agent that has not chosen yet
NUM_SCORES = 5  # the number of scores of an agent that has some: one for each action, with stay


class Team(NamedTuple):
    """The arrays of PIBT for the N agents of one world on a graph of C cells; allocated once."""

    neighbours: Any  # int32 (C, 5), as in `Graph`
    degrees: Any  # int32 (C,): the number of other cells next to each cell
    distances: Any  # int32 (K, C): tables of distances, as `distance_tables` returns them
    rows: Any  # int32 (N,): the table of each agent's goal
    goals: Any  # int32 (N,)
    now: Any  # int32 (N,): the cell of each agent, `NOWHERE` for one that has left
    scores: Any  # float32 (N, 5), of each action, see `Batch.choose`; or (0, 5): none have scores
    after: Any  # int32 (N,): its cell after the step, or `UNDECIDED`
    occupant: Any  # int32 (C,): the agent in each cell, or `NOBODY`
    reserved: Any  # int32 (C,): the agent that will be in each cell after the step, or `NOBODY`
    order: Any  # int32 (N,): the agents in the order in which they choose
    waited: Any  # int32 (N,): the number of steps since each agent was last on its target
    options: Any  # int32 (N, 5): the cells that an agent considers, the best first
    tried: Any  # int32 (N,): how many of its options an agent has tried
    num_options: Any  # int32 (N,)
    pulled: Any  # int32 (N,): the agent that follows into the cell of each, if it takes its first option, or `NOBODY`
    stack: Any  # int32 (N,): the agents that are choosing; each waits for the one after it, which it displaces
    rule: Any  # int64 (1,): `PARK`, `LEAVE` or `STAY` of `multigrid.core.rules`
    generator: Any  # int64 (1,), see `multigrid.planning._kernels`
    ranked: Any  # int32 (5,): the actions of one agent while they are sorted


@inlined
def use_arrays(
    team: Team, neighbours: Any, degrees: Any, rows: Any, goals: Any, now: Any, scores: Any, order: Any
) -> Team:
    """Return a team with other arrays, and the rest shared."""
    return Team(
        neighbours,
        degrees,
        team.distances,
        rows,
        goals,
        now,
        scores,
        team.after,
        team.occupant,
        team.reserved,
        order,
        team.waited,
        team.options,
        team.tried,
        team.num_options,
        team.pulled,
        team.stack,
        team.rule,
        team.generator,
        team.ranked,
    )


def make_team(neighbours: Ints, distances: Ints, goals: Ints, on_target: str, seed: int = 0) -> Team:
    """Return the arrays for the agents of one world, of which the caller sets `now`, and `order` if it matters."""
    num_agents, num_cells = distances.shape
    return Team(
        neighbours,
        (neighbours != NOWHERE).sum(axis=1, dtype=np.int32) - np.int32(1),
        distances,
        rows=np.arange(num_agents, dtype=np.int32),
        goals=goals,
        **{name: np.full(num_agents, NOWHERE, np.int32) for name in ("now", "after")},
        **{name: np.full(num_cells, NOBODY, np.int32) for name in ("occupant", "reserved")},
        order=np.arange(num_agents, dtype=np.int32),
        options=np.zeros((num_agents, NUM_COLUMNS), np.int32),
        **{name: np.zeros(num_agents, np.int32) for name in ("waited", "tried", "num_options", "pulled", "stack")},
        rule=np.array([ON_TARGET_RULES.index(on_target)]),
        generator=make_generator(seed),
        scores=np.empty((0, NUM_SCORES), np.float32),
        ranked=np.empty(NUM_COLUMNS, np.int32),
    )
