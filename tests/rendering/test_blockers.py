"""Who was in the way of a refused move: by hand, and in random play against the rules' second telling."""

import numpy as np
import pytest

from multigrid import parallel_env
from multigrid.rendering._episode import MOST_BLOCKERS, NO_ACTION, NOBODY, find_blockers, find_requests
from multigrid.scenarios.tracing import EpisodeTrace
from reference import CONTESTED, EDGE, OCCUPIED, SWAP, WALL, requests
from worldgen import COLLISIONS, walls_of

MAP = "..#...\n......\n.#....\n....#."


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
@pytest.mark.parametrize("collisions", COLLISIONS)
def test_blockers_of_random_play(collisions, on_target):
    """Occupied and swap name who stood in the requested cell, contested the others that asked for it; else nobody."""
    seen, walls = set(), walls_of(MAP)
    settings = {"collisions": collisions, "on_target": on_target, "num_agents": 9, "allow_stay": True}
    for seed in range(3):
        env = parallel_env(walls=walls, max_cycles=60, **settings)
        trace, random, taken = EpisodeTrace(env), np.random.default_rng(seed), []
        env.reset(seed=seed)
        trace.note()
        while env.agents:
            taken.append({agent: int(random.integers(env.config.num_actions)) for agent in env.agents})
            env.step(taken[-1])
            trace.note(taken[-1])
        episode = trace.episode("random")
        assert episode.blockers.shape == (episode.num_steps + 1, 9, MOST_BLOCKERS)
        assert (episode.blockers[0] == NOBODY).all()
        for step, actions in enumerate(taken, start=1):
            at = {i: tuple(episode.agents[step - 1, i].tolist()) for i in range(9) if episode.present[step - 1, i]}
            outcomes = episode.outcomes[step].tolist()
            parked = {i for i in at if outcomes[i] == 7}
            wish, _ = requests(walls, at, parked, {i: actions[f"agent_{i}"] for i in at})
            for i in range(9):
                found = [j for j in episode.blockers[step, i].tolist() if j != NOBODY]
                expected = []
                if outcomes[i] in (OCCUPIED, SWAP):
                    expected = [j for j in at if at[j] == wish[i]]
                elif outcomes[i] == CONTESTED:
                    expected = [j for j in at if j != i and wish[j] == wish[i] != at[j]]
                assert found == expected, (step, i)
                assert bool(found) == (outcomes[i] in (OCCUPIED, CONTESTED, SWAP))
                seen.add(outcomes[i])
    assert {EDGE, WALL} <= seen
    assert ({OCCUPIED, CONTESTED, SWAP} & seen == set()) == (collisions == "none")
    # An episode whose actions are not all known has no blockers.
    trace.note()
    assert (trace.episode("more").actions, trace.episode("more").blockers) == (None, None)


def test_requests_leave_the_grid():
    """A request is the cell one step away, be it outside the grid; without an action it is the own cell."""
    cells = np.array([[[0, 2], [3, 1]], [[0, 2], [3, 2]], [[0, 2], [3, 2]]])
    actions = np.array([[NO_ACTION, NO_ACTION], [2, 1], [4, NO_ACTION]])
    assert find_requests(cells, actions).tolist() == [[[0, 2], [3, 1]], [[-1, 2], [3, 2]], [[0, 2], [3, 2]]]


def test_three_others_can_be_in_the_way():
    """Of four agents around a cell that all ask for it, each is refused because of the other three."""
    cells = np.array([[[1, 0], [0, 1], [2, 1], [1, 2]]] * 2)
    present, actions = np.ones((2, 4), bool), np.array([[NO_ACTION] * 4, [1, 0, 2, 3]])
    blockers = find_blockers(cells, present, actions, np.array([[1] * 4, [CONTESTED] * 4]))
    assert blockers[1].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
