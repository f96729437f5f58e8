"""Minigrid beside the game of this package: in no id a step, a stream or a frame differs, and a difference is seen."""

import importlib
from typing import Any

import gymnasium
import numpy as np
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


WRAPPERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "FullyObsWrapper": ({}, {"image": "full"}),
    "ImgObsWrapper": ({}, {"observe": "image"}),
    "OneHotPartialObsWrapper": ({}, {"image": "onehot"}),
    "RGBImgObsWrapper": ({}, {"image": "rgb_full"}),
    "RGBImgPartialObsWrapper": ({}, {"image": "rgb"}),
    "DictObservationSpaceWrapper": ({}, {"mission": "words"}),
    "FlatObsWrapper": ({}, {"observe": ("image", "mission"), "mission": "letters"}),
    "StochasticActionWrapper": ({"prob": 0.6}, {"action_probability": 0.6}),
    "NoDeath": (
        {"no_death_types": ("lava", "ball"), "death_cost": -0.5},
        {"no_death": ("lava", "ball"), "death_cost": -0.5},
    ),
    "ActionBonus": ({}, {}),
    "PositionBonus": ({}, {}),
}
"""By wrapper of minigrid, its keywords and the same options here; without options the wrapper is put around both."""


def list_numbers(observation: Any) -> Any:
    """Return what minigrid or this package shows as lists, numbers and texts."""
    if isinstance(observation, dict):
        return {name: list_numbers(observation[name]) for name in sorted(observation)}
    return observation if isinstance(observation, str) else np.asarray(observation).tolist()


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", ["LavaCrossingS9N2", "Dynamic-Obstacles-6x6", "PutNear-6x6-N2", "LockedRoom"])
def test_no_step_of_a_wrapper_differs(name: str, wrapper: str, request: pytest.FixtureRequest) -> None:
    """Random episodes show, pay and end in each step what they do under the wrapper, on the same stream."""
    wrap: Any = getattr(importlib.import_module("minigrid.wrappers"), wrapper)
    keywords, options = WRAPPERS[wrapper]
    theirs = wrap(gymnasium.make(f"MiniGrid-{name}-v0").unwrapped, **keywords)
    ours: Any = gymnasium.make(f"multigrid/MiniGrid-{name}-v0", **options).unwrapped
    ours = gymnasium.wrappers.FlattenObservation(ours) if wrapper == "FlatObsWrapper" else ours
    ours = ours if options else wrap(ours)
    random, is_over = np.random.default_rng(0), True
    for step in range(10_000 if request.config.getoption("--long") else 300):
        if is_over:
            one, other = theirs.reset(seed=step), ours.reset(seed=step)
        else:
            action = int(random.choice([0, 1, 2, 2, 2, 2, 3, 4, 5][: 6 if "Obstacles" in name else 9]))
            one, other = theirs.step(action), ours.step(action)
        is_over = len(one) > 2 and (one[2] or one[3])
        assert [list_numbers(one[0]), *one[1:]] == [list_numbers(other[0]), *other[1:]], step
        streams = [env.unwrapped.np_random.bit_generator.state for env in (theirs, ours)]
        assert streams[0] == streams[1], step
