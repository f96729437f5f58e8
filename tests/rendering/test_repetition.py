"""When an episode only repeats itself: against a search that tries every step and every period."""

import numpy as np
import pytest

from multigrid import parallel_env
from multigrid.rendering._repetition import find_repetition
from multigrid.scenarios.tracing import EpisodeTrace


def slow(states):
    """Try each period from one, and each step from the first."""
    last = len(states) - 1
    for period in range(1, 65):
        for step in range(last + 1):
            enough = last - step >= 10 and last - step >= 3 * period
            if enough and all(states[at] == states[at + period] for at in range(step, last - period + 1)):
                return step, period
    return None


@pytest.mark.parametrize("seed", range(40))
def test_repetitions_of_random_states(seed):
    """A random beginning and a cycle, whole or broken off, have the repetition that the search finds."""
    random = np.random.default_rng(seed)
    begin = random.integers(0, 3, random.integers(0, 12)).tolist()
    cycle = random.integers(0, 3, random.integers(1, 6)).tolist()
    states = begin + (cycle * 12)[: random.integers(0, 40)] + [9] * (seed % 3 == 0)
    states = states or [0]
    rows = np.array([[state // 2, state % 2] for state in states])
    assert find_repetition(rows) == slow(states)


def episode_of(walls, moves, **world):
    """Play an episode; `moves` gives the actions of each step, from step 1 on."""
    env = parallel_env(walls=walls, **world)
    trace = EpisodeTrace(env)
    env.reset()
    trace.note()
    while env.agents:
        row = (
            moves[min(len(trace._states) - 1, len(moves) - 1)] if isinstance(moves, list) else moves(len(trace._states))
        )
        actions = {agent: row[int(agent[-1])] for agent in env.agents}
        env.step(actions)
        trace.note(actions)
    return trace.episode("by hand")


@pytest.mark.parametrize(
    ("moves", "world", "text", "step", "shown"),
    [
        # Both want the other's cell for ever.
        (lambda _: (0, 2), {"max_cycles": 40}, "deadlock from step 1: 0 of 2 agents arrived", 1, 5),
        # Both run into the edge for ever.
        (lambda _: (3, 3), {"max_cycles": 40}, "nobody moves from step 0 on: 0 of 2 agents arrived", 0, 4),
        # Agent 0 goes down and up again, in a cycle of two.
        (
            lambda at: (1 if at % 2 else 3, 3),
            {"max_cycles": 40},
            "livelock from step 0 on, in a cycle of 2 steps: 0 of 2",
            0,
            4,
        ),
        # The same for a time in which it can happen by chance.
        (lambda _: (0, 2), {"max_cycles": 9}, "out of time at step 9: 0 of 2 agents arrived", 9, 9),
        (lambda _: (0, 2), {"on_target": "restart", "max_cycles": 40}, "deadlock from step 1: 0 arrivals", 1, 5),
        # Agent 0 goes right and down onto its target, agent 1 stays where it is.
        (lambda at: ((0, 1, 0, 0)[min(at - 1, 3)], 3), {"max_cycles": 40}, "nobody moves from step 2 on: 1 of 2", 2, 6),
    ],
)
def test_verdicts(moves, world, text, step, shown):
    """A verdict says what came to pass and from when on; a film shows a few steps more."""
    episode = episode_of("a..b.\n.A..B", moves, **world)
    assert episode.verdict.text.startswith(text)
    assert (episode.verdict.step, episode.last_shown, episode.verdict.solved) == (step, shown, False)
    cut = episode.until(3)
    assert (cut.num_steps, cut.verdict, cut.last_shown) == (3, episode.verdict, min(3, shown))


def test_a_solved_episode_is_solved():
    """Where all have arrived, the verdict names the last arrival, and nothing is left out."""
    episode = episode_of("a.A\n#..\nb.B", lambda _: (0, 0), max_cycles=30)
    assert (episode.verdict, episode.last_shown) == (("solved at step 2", 2, True), 2)


def test_an_episode_that_was_broken_off():
    """Before its limit an episode is said to have been stopped; one without a step too."""
    env = parallel_env(walls="a.A\n...", num_agents=1, max_cycles=9)
    trace = EpisodeTrace(env)
    env.reset()
    trace.note()
    assert trace.episode("begun").verdict.text == "stopped at step 0: 0 of 1 agent arrived"
