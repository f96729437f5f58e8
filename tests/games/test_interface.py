"""What the class of a game may say beside its rules: spaces, infos, pictures, layouts, and what `prepare` returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import multigrid
from multigrid import Game


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python run the games; `test_games` plays those of `sample_games` compiled, too."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")


class Hurry(Game):
    """A step pays the limit of steps."""

    def after_moves(w, s, e):
        w.rewards[e, 0] = w.max_cycles


def test_a_game_reads_the_limit_of_steps() -> None:
    """`w.max_cycles` is the limit that holds now, 0 for none, and a game cannot set it."""

    class Sets(Hurry):
        def after_moves(w, s, e):
            w.max_cycles = 3

    for limit, expected in ((7, 7), (None, 0)):
        env: Any = multigrid.parallel_env(game=Hurry, size=(4, 3), max_cycles=limit)
        env.reset(seed=0)
        assert env.step({"agent_0": 0, "agent_1": 0})[1]["agent_0"] == expected
    env.max_cycles = 5
    assert env.step({"agent_0": 0, "agent_1": 0})[1]["agent_0"] == 5
    with pytest.raises(TypeError, match=r"Sets\.after_moves .*w\.max_cycles"):
        multigrid.parallel_env(game=Sets, size=(4, 3))


class Quits(Game):
    """Agent 0 terminates in the second step."""

    def after_moves(w, s, e):
        w.terminated[e, 0] = w.steps[e] == 2


def test_an_agent_that_is_alone_does_not_leave_others() -> None:
    """A game of one agent needs no `departures = False`: its arrays without copies are those that the env has."""
    for num_agents in (1, 2):
        settings: Any = {"game": Quits, "num_agents": num_agents, "size": (4, 3), "autoreset_mode": "Disabled"}
        envs = multigrid.vector_env(2, copy=False, **settings)
        observations, _ = envs.reset(seed=0)
        assert envs.config.agents_can_leave == (num_agents > 1)
        assert np.shares_memory(observations["agent"], envs.reset(seed=1)[0]["agent"]) == (num_agents == 1)
        for _ in range(2):
            _, _, terminated, _, infos = envs.step(np.zeros(2 * num_agents, np.int64))
        assert terminated[::num_agents].all()
        assert infos["alive"].all()
