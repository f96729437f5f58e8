"""Minigrid beside the game of this package: in no id a step, a stream or a frame differs, and a difference is seen."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from multigrid.games.minigrid._envs import MinigridEnv
from multigrid.games.minigrid._tasks import list_ids

pytestmark = pytest.mark.filterwarnings("ignore")  # of the original

IDS = [f"MiniGrid-{name}" for name in list_ids()]
# Mostly forward, so that agents get about.
ACTIONS = [0, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 6]


def compare(game_id: str, num_steps: int, seed: int) -> None:
    """Play both with the same random actions, and compare all that they return, their streams, and some frames."""
    pytest.importorskip("minigrid")
    theirs: Any = gymnasium.make(game_id, render_mode="rgb_array").unwrapped
    ours: Any = gymnasium.make(f"multigrid/{game_id}", render_mode="rgb_array").unwrapped
    random = np.random.default_rng(seed)
    actions = [action for action in ACTIONS if action < ours.action_space.n]
    is_over, episode = True, 0
    for step in range(num_steps):
        where = f"{game_id}, seed {seed}, episode {episode}, step {step}"
        if is_over:
            begin = {"seed": int(random.integers(2**31))} if episode % 2 == 0 else {}
            shown, again = theirs.reset(**begin), ours.reset(**begin)
            episode += 1
        else:
            action = int(random.choice(actions))
            shown, again = theirs.step(action), ours.step(action)
        is_over = any(shown[2:4]) and not is_over
        assert shown[0].keys() == again[0].keys(), where
        np.testing.assert_array_equal(again[0]["image"], shown[0]["image"], where)
        assert (again[0]["direction"], again[0]["mission"]) == (shown[0]["direction"], shown[0]["mission"]), where
        assert repr(again[1:]) == repr(shown[1:]), where
        assert ours.np_random.bit_generator.state == theirs.np_random.bit_generator.state, where
        if step % 500 == 0:
            np.testing.assert_array_equal(ours.render(), theirs.render(), where)


@pytest.mark.parametrize("game_id", IDS)
def test_no_step_of_minigrid_differs(game_id: str, request: pytest.FixtureRequest) -> None:
    """Random episodes show, pay and end in each step what they do in minigrid, on the same stream."""
    compare(game_id, 10_000 if request.config.getoption("--long") else 300, seed=1)


def test_a_difference_to_minigrid_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another action than minigrid's ends the comparison with where it was."""
    step = MinigridEnv.step
    monkeypatch.setattr(MinigridEnv, "step", lambda env, action: step(env, 1 if action == 0 else action))
    with pytest.raises(AssertionError, match="MiniGrid-DoorKey-8x8-v0, seed 2, episode 1, step "):
        compare("MiniGrid-DoorKey-8x8-v0", 300, seed=2)
