"""Observation spaces: the order of their keys, and the form that a flat observation with an action mask has."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, flatten

from multigrid import GridConfig, parallel_env, vector_env
from multigrid.config import Part
from multigrid.parts import flat_slices

CONFIG: dict[str, Any] = {"size": (6, 4), "num_agents": 3, "view_radius": 1}


@pytest.mark.parametrize("observe", [None, ("target", "others", "agent"), get_args(Part)[::-1]], ids=str)
def test_keys_keep_their_order(observe: Any) -> None:
    """Spaces, observations and Gymnasium's `flatten` have the parts in the order of `observe`, as `flatten=True`."""
    config = GridConfig(**CONFIG, observe=observe)
    env, worlds = parallel_env(config), vector_env(2, config)
    space: Any = env.observation_space("agent_1")
    seen = env.reset(seed=3)[0]["agent_1"]
    for one in (seen, space, worlds.reset(seed=3)[0], worlds.single_observation_space, worlds.observation_space):
        assert list(one) == list(config.parts)
    np.testing.assert_array_equal(flatten(space, seen), np.concatenate([part.ravel() for part in seen.values()]))


@pytest.mark.parametrize("observe", [get_args(Part), ("walls", "action_mask", "offset"), ("action_mask",)], ids=str)
def test_the_mask_is_beside_the_flat_vector(observe: Any) -> None:
    """With an action mask a flat observation is the Dict of the vector of the other parts and the int8 mask."""
    settings = {**CONFIG, "allow_stay": True, "on_target": "leave", "max_cycles": 30}
    others = tuple(part for part in observe if part != "action_mask")
    env, plain = parallel_env(**settings, observe=observe, flatten=True), parallel_env(**settings, observe=observe)
    space = env.observation_space("agent_0")
    assert isinstance(space, Dict)
    assert list(space) == ["observation", "action_mask"]
    assert space["action_mask"] == Box(0, 1, (5,), np.int8)
    unmasked = parallel_env(**settings, observe=others, flatten=True) if others else None
    length = 0 if unmasked is None else unmasked.observation_space("agent_0").shape[0]  # type: ignore[index]
    assert space["observation"].shape == (length,)
    slices = flat_slices(env.unwrapped.config.part_shapes)
    assert tuple(slices) == others
    assert max((one.stop for one in slices.values()), default=0) == length
    random = np.random.default_rng(1)
    seen, parts = env.reset(seed=2)[0], plain.reset(seed=2)[0]
    vectors = {} if unmasked is None else unmasked.reset(seed=2)[0]
    while True:
        for agent, observation in seen.items():
            assert observation in space
            assert list(observation) == list(space)
            np.testing.assert_array_equal(observation["action_mask"], parts[agent]["action_mask"])
            if unmasked is not None:
                np.testing.assert_array_equal(observation["observation"], vectors[agent])
            for part in {"view", "walls"} & set(others):
                np.testing.assert_array_equal(observation["observation"][slices[part]], parts[agent][part].ravel())
        if not env.agents:
            break
        actions = {agent: int(random.integers(5)) for agent in env.agents}
        seen, parts = env.step(actions)[0], plain.step(actions)[0]
        vectors = {} if unmasked is None else unmasked.step(actions)[0]
