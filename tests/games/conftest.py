"""What the tests of games share."""

import pytest

from multigrid.games import _registry


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a game that a test registers be unknown to the next one."""
    monkeypatch.setattr(_registry, "_GAMES", dict(_registry._GAMES))
