"""TorchRL: the recipe learns under "leave", and agents that have left teach nothing."""

import warnings

import pytest
import torch
from tensordict import TensorDict, TensorDictBase

import multigrid
from multigrid.integrations.torchrl import MultiGridTorchRLEnv
from own_game import GAME, ORIGINALS
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

with warnings.catch_warnings():
    # To import TorchRL is enough for it: its own classes have its own deprecated base.
    warnings.filterwarnings("ignore", message=".* which inherits from WeightUpdaterBase is deprecated")
    from examples import torchrl_ppo

WORLD = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target="leave", max_cycles=20)


def test_who_has_left_teaches_nothing():
    """Whatever stands in the rows of an agent that has left, losses and advantages of the others are the same."""
    torch.manual_seed(0)
    env = MultiGridTorchRLEnv(multigrid.GridConfig(walls="a.A..\nb...B", on_target="leave"), seed=0)

    def right(data: TensorDictBase):
        return data.set(("agents", "action"), torch.zeros(1, 2, dtype=torch.int64))

    data = env.rollout(4, right)
    actor, critic = torchrl_ppo.make_nets(env)
    gae, loss = torchrl_ppo.make_objectives(actor, critic)
    with torch.no_grad():
        data["agents", "action_log_prob"] = actor.get_dist(data).log_prob(data["agents", "action"])
    there = data["agents", "mask"]

    def learnt(value):
        changed = data.clone()
        changed["agents", "observation"][~there] = value
        changed["agents", "action_log_prob"][~there] = -value
        torchrl_ppo.add_advantages(gae, changed)
        losses = loss(changed)
        losses = [losses[f"loss_{name}"] for name in ("objective", "critic", "entropy")]
        return changed["agents", "advantage"][there], losses

    one, other = learnt(0.0), learnt(5.0)
    assert one[0].mean().abs() < 1e-6
    assert one[0].std() == pytest.approx(1, abs=1e-5)
    torch.testing.assert_close(one, other)


def test_arrival_rate_draws_actions():
    """Actions are drawn, and an episode counts when every agent has arrived in it."""
    config = multigrid.GridConfig(walls="a.A\nb.B", on_target="leave", max_cycles=4)
    actor, _ = torchrl_ppo.make_nets(MultiGridTorchRLEnv(config))

    class East(torch.nn.Module):
        def __init__(self, logit):
            super().__init__()
            self.logits = torch.tensor([logit, 0.0, 0.0, 0.0])

        def forward(self, seen):
            return self.logits.expand(*seen.shape[:-1], 4)

    rates = []
    for logit in (50.0, 0.0):
        actor.module[0].module = East(logit)
        torch.manual_seed(0)
        rates.append(torchrl_ppo.arrival_rate(actor, config, 400))
    assert rates[0] == 1
    assert 0 < rates[1] < 0.3


def test_the_same_weights_for_all():
    """Two agents that see the same do the same, and have the same value."""
    actor, critic = torchrl_ppo.make_nets(MultiGridTorchRLEnv(WORLD))
    row = torch.rand(7, 1, 6).expand(7, 2, 6)
    data = TensorDict({"agents": {"observation": row}}, [7])
    logits, values = actor.get_dist(data).logits, critic(data)["agents", "state_value"]
    torch.testing.assert_close(logits[:, 0], logits[:, 1])
    torch.testing.assert_close(values[:, 0], values[:, 1])


def test_a_game_is_learned_from():
    """The example trains on a game of one's own, with a logit for each of its actions."""
    torch.manual_seed(0)
    env = MultiGridTorchRLEnv(GAME, 20, seed=0)
    actor, critic = torchrl_ppo.make_nets(env)
    before = [weights.clone() for weights in actor.parameters()]
    torchrl_ppo.train(env, actor, critic, 500)
    assert not any(map(torch.equal, before, actor.parameters()))
    assert actor.get_dist(env.reset()).logits.shape == (20, 2, 6)


@pytest.mark.parametrize("game_id", ORIGINALS)
def test_the_originals_are_learned_from(game_id):
    """The example trains on rware and lb-foraging, with a logit for each of their actions."""
    size, num_actions = ORIGINALS[game_id]
    torch.manual_seed(0)
    env = MultiGridTorchRLEnv(multigrid.games.config(game_id), 20, seed=0)
    actor, critic = torchrl_ppo.make_nets(env)
    before = [weights.clone() for weights in actor.parameters()]
    torchrl_ppo.train(env, actor, critic, 500)
    assert not any(map(torch.equal, before, actor.parameters()))
    first = env.reset()
    assert first["agents", "observation"].shape == (20, 2, size)
    assert actor.get_dist(first).logits.shape == (20, 2, num_actions)


test_it_learns = learning(torchrl_ppo.main, before=0.3, after=0.8, steps=4000, seed=1)
test_other_modes_are_refused = refusing(torchrl_ppo.main, "restart", "'park', 'leave' or 'stay'")
test_examples = examples_of("multigrid.integrations.torchrl", "examples.torchrl_ppo")
test_pages = pages_of_recipe("torchrl")
