"""The recipe `examples.mappo`: a training ends with its budget, and returns a policy."""

import numpy as np
import pytest
import torch

from examples.mappo import Options, train

pytestmark = pytest.mark.heavy


def test_a_training_ends_with_its_budget():
    """The rollout that reaches the budget of steps is the last one; the policy gives each agent an action."""
    settings = {"name": "Foraging-8x8-2p-2f-coop-v3", "worlds": 4, "rollout": 8, "hidden": 8}
    trained = train(Options(**settings, steps=65))
    assert trained.steps == 2 * 8 * 4 * 2
    torch.manual_seed(0)
    actions = trained.act(np.zeros((50, 2, 12), np.float32))
    assert actions.shape == (50, 2)
    assert set(np.unique(actions)) == set(range(6))
    assert train(Options(**settings, seconds=0)).steps == 0


def test_a_policy_keeps_the_scale_of_its_training():
    """What a policy sees after its training does not change how it acts."""
    trained = train(Options(name="Foraging-8x8-2p-2f-coop-v3", worlds=4, rollout=8, hidden=8, steps=64))
    seen = np.random.default_rng(0).uniform(0, 8, (50, 2, 12)).astype(np.float32)
    torch.manual_seed(0)
    before = trained.act(seen)
    trained.act(1e6 * seen)
    torch.manual_seed(0)
    np.testing.assert_array_equal(trained.act(seen), before)
