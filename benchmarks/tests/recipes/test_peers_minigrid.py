"""Minigrid beside the game of this package: in no id a step, a stream or a frame differs, and a difference is seen."""

import pytest

from benchmarks import minigrid
from multigrid.games.minigrid._envs import MinigridEnv

pytestmark = pytest.mark.filterwarnings("ignore")  # of the original


@pytest.mark.parametrize("game_id", minigrid.IDS)
def test_no_step_of_minigrid_differs(game_id: str, request: pytest.FixtureRequest) -> None:
    """Random episodes show, pay and end in each step what they do in minigrid, on the same stream."""
    minigrid.compare(game_id, 10_000 if request.config.getoption("--long") else 300, seed=1)


def test_a_difference_to_minigrid_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another action than minigrid's ends the comparison with where it was."""
    step = MinigridEnv.step
    monkeypatch.setattr(MinigridEnv, "step", lambda env, action: step(env, 1 if action == 0 else action))
    with pytest.raises(minigrid.DifferenceError, match=r"MiniGrid-DoorKey-8x8-v0, seed 2, episode 1, step \d+: image"):
        minigrid.compare("MiniGrid-DoorKey-8x8-v0", 300, seed=2)
