"""JaxMARL's OvercookedV2 beside the game of this package: no step differs, and a difference is seen."""

import pytest

from benchmarks import overcooked_v2

pytestmark = pytest.mark.filterwarnings("ignore")  # of the original


def test_no_step_of_jaxmarl_differs(request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> None:
    """Random layouts and options have in each step the states, rewards and observations of the original."""
    episodes = 100 if request.config.getoption("--long") else 4
    assert overcooked_v2.main(["--episodes", str(episodes), "--seed", "1"]) == 0
    assert f"{episodes} episodes, {200 * episodes} steps, no difference" in capfd.readouterr().out


def test_a_difference_to_jaxmarl_is_seen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Players who begin elsewhere end the comparison with where it was."""
    set_state = overcooked_v2._set_state

    def turn(env: object, state: object) -> None:
        set_state(env, state)
        own = env.get_state()
        env.set_state({**own, "direction": (own["direction"] + 1) % 4})

    monkeypatch.setattr(overcooked_v2, "_set_state", turn)
    assert overcooked_v2.main(["--episodes", "2"]) == 1
    assert "benchmarks: episode" in capfd.readouterr().err
