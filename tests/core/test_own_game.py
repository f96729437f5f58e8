"""A game of one's own, in short; tests/games has the whole."""

import dataclasses

import numpy as np
import pytest

import multigrid
from own_game import GAME

NUM_WORLDS, FEW = 2**11 + 1, 4  # so many are played by threads


def play(num_worlds: int, num_threads: int = 1) -> list[list[float]]:
    """Return all that the agents of the first worlds see and get in random play, beyond the end of episodes."""
    worlds = multigrid.vector_env(num_worlds, dataclasses.replace(GAME, max_cycles=4), num_threads=num_threads)
    rows = FEW * GAME.num_agents
    random, seen = np.random.default_rng(3), [worlds.reset(seed=5)[0][:rows].tolist()]
    for _ in range(30):
        actions = np.resize(random.integers(0, 6, rows), worlds.num_envs)
        seen += [array[:rows].tolist() for array in worlds.step(actions)[:4]]
    return seen


def test_a_game_plays_the_same_in_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled functions of a game play, on one thread or two, what Python plays."""
    alone, shared = play(FEW), play(NUM_WORLDS, num_threads=2)
    monkeypatch.setenv("MULTIGRID_CHECK", "1")
    assert alone == shared == play(FEW)
