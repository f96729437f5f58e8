"""overcooked_ai beside the game of this package: in random kitchens no step differs, and a difference is seen."""

import pytest

from benchmarks import overcooked
from multigrid import games

pytestmark = pytest.mark.filterwarnings("ignore")  # of the original


def test_no_step_of_overcooked_differs(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    """Random kitchens have in each step the states, rewards, events, observations and potentials of the original."""
    episodes = 500 if request.config.getoption("--long") else 20
    assert overcooked.main(["--episodes", str(episodes), "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith(f"{episodes} episodes, {200 * episodes} steps, no difference")


def test_a_difference_to_overcooked_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another cook time than the original's ends the comparison with where it was."""
    make = games.parallel_env

    def make_other(game_id: str, **options: object) -> object:
        env = make(game_id, **options)
        env.config.prepared["cook_time"][:] += 1
        return env

    monkeypatch.setattr(games, "parallel_env", make_other)
    assert overcooked.main(["--episodes", "20"]) == 1
    assert "benchmarks: episode" in capsys.readouterr().err
