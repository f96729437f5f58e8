"""Messages, shields and looks ahead: whom agents know, and which of several joint steps they take."""

import numpy as np
import pytest

from multigrid import GridConfig, maps
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._graph import NOWHERE
from multigrid.planning._pibt import sort_by_wait, step_team
from multigrid.policies._coordination import make_arrays
from multigrid.policies._learned import Coordination

WALLS = maps.rooms(23, 12, 4, 3)


def begin(num_agents, rounds, **options):
    """A world, its state, and what chooses the steps of its agents."""
    config = GridConfig(walls=WALLS, num_agents=num_agents, on_target="stay", collisions="soft", allow_stay=True)
    envs = MultiGridVectorEnv(config, 1)
    envs.reset(seed=num_agents)
    return envs, Coordination(config, 1, rounds, **{"progress": 0.5, "horizon": 6, **options})


def choose(together, states, places, scores, priorities):
    """The actions, from copies of the scores."""
    return together.choose_together(states, scores.copy(), priorities, places)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_an_agent_knows_those_that_it_has_heard_of(rounds):
    """After k rounds an agent acts as with a shield among those that k windows join to it, and no others."""
    envs, together = begin(14, rounds)
    _, shield = begin(14, None)
    generator, counts = np.random.default_rng(rounds), set()
    for _ in range(12):
        states = envs.get_state()
        places = shield.tables.locate(states)
        together.tables.locate(states)
        scores = generator.normal(size=(3, 14, 5)).astype(np.float32)
        priorities = generator.integers(0, 9, 14).astype(np.int32)
        found = choose(together, states, places, scores, priorities)
        location = states["location"][0]
        is_near = np.abs(location[:, None] - location).max(axis=2) <= 5
        known = np.linalg.matrix_power(is_near.astype(int), rounds) > 0
        for agent in range(14):
            cells = np.where(known[agent], places[0], NOWHERE)
            alone = choose(shield, states, (cells, *places[1:]), scores, priorities)
            assert found[agent] == alone[agent]
        counts |= set(known.sum(axis=1).tolist())
        envs.step(found)
    assert len(counts) > 3
    assert min(counts) < 10


def look_ahead(team, horizon):
    """How long agents travel in the next steps, and how far they are in the end."""
    value = 0
    for _ in range(horizon):
        value += int((team.now != team.goals).sum())
        sort_by_wait(team)
        step_team(team)
    return value + int(team.distances[team.rows, team.now].sum())


def test_the_candidate_with_the_shortest_ways_is_taken():
    """Each agent takes its step of the first joint step after which those that it knows travel least."""
    envs, together = begin(14, 1, progress=0.0, horizon=5)
    generator, taken = np.random.default_rng(2), []
    for step in range(9):
        states = envs.get_state()
        cells, goals, rows = (part[0] for part in together.tables.locate(states))
        scores = generator.normal(size=(4, 14, 5)).astype(np.float32)
        priorities = generator.permutation(14).astype(np.int32)
        found = choose(together, states, (cells[None], goals[None], rows[None]), scores, priorities)
        location = states["location"][0]
        for agent in range(0, 14, 3):
            known = np.flatnonzero(np.abs(location - location[agent]).max(axis=1) <= 5)
            known = known[np.argsort(-priorities[known])]
            first, values = [], []
            for own in scores[:, known]:
                team = together.make_team(0)
                team.generator[0] = 8 * step + together._settings[-1]
                team.waited[: len(known)] = priorities[known]
                order = np.arange(len(known), dtype=np.int32)
                team = team._replace(goals=goals[known], rows=rows[known], now=cells[known], scores=own, order=order)
                step_team(team)
                first.append(team.now[known == agent][0])
                values.append(look_ahead(team._replace(scores=own[:0]), 5))
            best = int(np.argmin(values))
            assert together.tables.neighbours[0][cells[agent], found[agent]] == first[best]
            taken.append(best)
        envs.step(found)
    assert set(taken) == {0, 1, 2, 3}


def test_memory_is_proportional_to_the_number_of_agents():
    """What agents know, and what they compare, takes twice the memory with twice the agents."""
    small, large = (sum(part.nbytes for arrays in make_arrays(n, 2) for part in arrays) for n in (300, 600))
    assert abs(large - 2 * small) < 100


def test_no_message_is_a_choice_alone():
    """In no round of messages an agent knows itself alone, and takes the action with the largest score."""
    envs, together = begin(14, 0, progress=0.0)
    states = envs.get_state()
    scores = np.random.default_rng(1).normal(size=(1, 14, 5)).astype(np.float32)
    places = together.tables.locate(states)
    free = together.tables.neighbours[0][places[0][0]] != NOWHERE
    best = np.where(free, scores[0], -np.inf).argmax(axis=1)
    assert choose(together, states, places, scores, np.ones(14, np.int32)).tolist() == best.tolist()


@pytest.mark.parametrize("first", [0, 1])
def test_the_candidate_that_leads_nearer_is_taken(first):
    """Of two joint steps, the one after which all are sooner on their targets is taken, whichever comes first."""
    config = GridConfig(walls="a....A\n#.###.\nB....b", on_target="stay", collisions="soft", allow_stay=True)
    envs = MultiGridVectorEnv(config, 1)
    envs.reset()
    together = Coordination(config, 1, None, progress=0.0, horizon=4)
    scores = np.zeros((2, 2, 5), np.float32)
    # Towards the targets, and against that; the first agent goes right, the second one left.
    scores[first, 0, 0] = scores[first, 1, 2] = 1
    scores[1 - first, :, 4] = 1
    states = envs.get_state()
    places = together.tables.locate(states)
    assert choose(together, states, places, scores, np.ones(2, np.int32)).tolist() == [0, 2]


@pytest.mark.parametrize("one_is_first", [False, True])
def test_the_highest_priority_chooses_first(one_is_first):
    """Of two agents that want one cell, the one with the higher priority gets it; the other stays where it is."""
    config = GridConfig(walls="a.b\n#A#\n#B#", on_target="stay", collisions="soft", allow_stay=True)
    envs = MultiGridVectorEnv(config, 1)
    envs.reset()
    together = Coordination(config, 1, None, progress=1.0, horizon=0)
    states = envs.get_state()
    priorities = np.array([8, 3] if one_is_first else [3, 8], np.int32)
    scores = np.zeros((1, 2, 5), np.float32)
    found = choose(together, states, together.tables.locate(states), scores, priorities)
    assert found.tolist() == ([0, 4] if one_is_first else [4, 2])
