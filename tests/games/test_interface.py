"""What the class of a game may say beside its rules: spaces, infos, pictures, layouts, and what `prepare` returns."""

from __future__ import annotations

from typing import Any

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
