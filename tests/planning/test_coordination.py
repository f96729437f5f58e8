"""Messages, shields and looks ahead: whom agents know, and which of several joint steps they take."""

import numpy as np
import pytest

from multigrid import GridConfig, maps
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._graph import NOWHERE
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
