"""`python -m benchmarks.games`: what it plays here, and the rates of its rows."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import games

pytestmark = pytest.mark.heavy


def test_each_game_is_played_here(monkeypatch):
    """One world and 1,024 worlds of a game play steps of all of their agents."""
    monkeypatch.setattr(games, "Pogema", lambda *_: SimpleNamespace(close=lambda: None))
    listed = dict(games.list_games(Path("nowhere")))
    assert len(listed) == 10
    for name, makers in listed.items():
        for kind, make in makers.items():
            if kind != "original":
                seconds, steps = make()(0.01)
                assert seconds >= 0.01, name
                assert steps % {"one world": 4, "1,024 worlds": 1024}[kind] == 0, name


def test_a_rate_is_a_median_without_the_first_turn():
    """Plays take turns; the first turn, in which rules may be compiled, does not count."""
    played = []
    seconds = {"a": itertools.chain([100.0], itertools.count(1.0)), "b": itertools.repeat(0.5)}

    def play(name):
        played.append(name)
        return next(seconds[name]), 8

    makers = {name: lambda name=name: lambda _: play(name) for name in seconds}
    assert games.measure(makers) == {"a": 1.0, "b": 16.0}  # the eighth of 15 turns
    assert played == ["a", "b"] * (len(played) // 2)
