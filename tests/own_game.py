"""The games that every adapter brings to its learner, and what must have arrived there."""

import dataclasses

import numpy as np

from examples.games.key_and_door import KeyAndDoor
from multigrid import GridConfig

# A flat vector has two coordinates of the agent, two of the other, has_key, and two of the goal.
SIZE, HAS_KEY = 7, 4
GAME = GridConfig(game=KeyAndDoor, options={"penalty": 0.25}, size=3, max_cycles=40, flatten=True)

# Of rware and of lb-foraging: the numbers of an observation, and of actions.
ORIGINALS = {"rware-tiny-2ag-v2": (71, 5), "Foraging-8x8-2p-2f-coop-v3": (12, 6)}


def fields_of(config):
    """Return the fields of a config by name."""
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}


def check_brought(observations, actions, rewards, *, pays=4.75):
    """What a learner got of the game's part, took of its actions, and was paid, is all there is, and all of it."""
    assert observations.shape[-1] >= SIZE
    assert set(np.unique(observations[..., HAS_KEY])) == {0, 1}
    assert set(np.unique(actions)) == {0, 1, 2, 3, 4, 5}
    assert set(np.unique(rewards)) == {-0.25, pays}
