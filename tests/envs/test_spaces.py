"""Flat observations: where each part is in the vector, and the mask beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, flatten

from multigrid import parallel_env, vector_env
from multigrid.parts import flat_slices
from worldgen import PARTS


@pytest.mark.parametrize("observe", [tuple(PARTS), ("walls", "action_mask", "offset"), ("action_mask",)], ids=str)
def test_a_flat_vector_has_the_parts_in_order(observe: Any) -> None:
    """`flat_slices` has each part of the vector; the mask, which is int8, is beside it; keys keep their order."""
    settings: dict[str, Any] = {"size": (6, 4), "num_agents": 3, "view_radius": 1, "allow_stay": True}
    others = tuple(part for part in observe if part != "action_mask")
    flat, plain = parallel_env(**settings, observe=observe, flatten=True), parallel_env(**settings, observe=observe)
    worlds = vector_env(2, plain.config)
    space: Any = flat.observation_space("agent_1")
    assert space["action_mask"] == Box(0, 1, (5,), np.int8)
    seen, parts = (env.reset(seed=2)[0]["agent_1"] for env in (flat, plain))
    for one in (parts, worlds.reset(seed=3)[0], worlds.single_observation_space, worlds.observation_space):
        assert list(one) == list(observe)
    np.testing.assert_array_equal(seen["action_mask"], parts["action_mask"])
    slices = flat_slices(plain.config.part_shapes)
    assert tuple(slices) == others
    assert max((one.stop for one in slices.values()), default=0) == space["observation"].shape[0]
    for part in others:
        assert seen["observation"][slices[part]].size == parts[part].size
        if part in ("view", "walls"):
            np.testing.assert_array_equal(seen["observation"][slices[part]], parts[part].ravel())
    in_order = np.concatenate([part.ravel() for part in parts.values()])
    np.testing.assert_array_equal(flatten(plain.observation_space("agent_1"), parts), in_order)
