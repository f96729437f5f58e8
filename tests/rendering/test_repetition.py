"""When an episode only repeats itself: against a search that tries every step and every period."""

import numpy as np
import pytest

from multigrid import parallel_env
from multigrid.rendering._episode import find_repetition
from multigrid.rendering._text import describe_step
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
    states = begin + (cycle * 12)[: random.integers(0, 40)] + [9] * (seed % 3 == 0) or [0]
    rows = np.array([[state // 2, state % 2] for state in states])
    assert find_repetition(rows) == slow(states)


def episode_of(walls, play, steps=None, seed=None, **world):
    """Play an episode, or some steps of it; `play` gives the actions of a step, from step 1 on."""
    env = parallel_env(walls=walls, **world)
    trace, step = EpisodeTrace(env), 0
    env.reset(seed=seed)
    trace.note()
    while env.agents and step != steps:
        step += 1
        actions = {agent: play(step)[int(agent[-1])] for agent in env.agents}
        env.step(actions)
        trace.note(actions)
    return trace.episode("by hand")


VERDICTS = [
    # Both want the other's cell for ever, or run into the edge; agent 0 goes down and up again, in a cycle of two.
    (lambda _: (0, 2), {}, "deadlock from step 1: 0 of 2 agents arrived", 1, 5),
    (lambda _: (3, 3), {}, "nobody moves from step 0 on: 0 of 2 agents arrived", 0, 4),
    (lambda at: (1 if at % 2 else 3, 3), {}, "livelock from step 0 on, in a cycle of 2 steps: 0 of 2", 0, 4),
    # The first for a time in which it can happen by chance; then in another game.
    (lambda _: (0, 2), {"max_cycles": 9}, "out of time at step 9: 0 of 2 agents arrived", 9, 9),
    (lambda _: (0, 2), {"on_target": "restart"}, "deadlock from step 1: 0 arrivals", 1, 5),
    # Agent 0 goes right and down onto its target, agent 1 stays where it is.
    (lambda at: (int(at == 2), 3), {}, "nobody moves from step 2 on: 1 of 2", 2, 6),
]


@pytest.mark.parametrize(("play", "world", "text", "step", "shown"), VERDICTS)
def test_verdicts(play, world, text, step, shown):
    """A verdict says what came to pass and from when on; a film shows a few steps more."""
    episode = episode_of("a..b.\n.A..B", play, **{"max_cycles": 40, **world})
    assert episode.verdict.text.startswith(text)
    assert (episode.verdict.step, episode.last_shown, episode.verdict.solved) == (step, shown, False)
    cut = episode.until(3)
    assert (cut.num_steps, cut.verdict, cut.last_shown) == (3, episode.verdict, min(3, shown))


def test_episodes_that_end_otherwise():
    """A solved episode names its last arrival, and nothing is left out; one that was broken off has been stopped."""
    episode = episode_of("a.A\n#..\nb.B", lambda _: (0, 0), max_cycles=30)
    assert (episode.verdict, episode.last_shown) == (("solved at step 2", 2, True), 2)
    begun = episode_of("a.A\n...", None, steps=0, num_agents=1, max_cycles=9)
    assert begun.verdict.text == "stopped at step 0: 0 of 1 agent arrived"


def test_who_never_was_there_has_not_arrived():
    """Where the number of agents is drawn, those of this episode are counted, and no others."""
    world = {"size": (6, 5), "num_agents": (2, 8), "on_target": "leave"}
    episode = episode_of(None, lambda _: [3] * 8, steps=2, seed=1, **world)
    assert episode.present.sum(axis=1).tolist() == [5, 5, 5]
    assert describe_step(episode, 1)[0] == "step 1: 0 of 5 arrived"
    assert episode.verdict.text == "stopped at step 2: 0 of 5 agents arrived"
