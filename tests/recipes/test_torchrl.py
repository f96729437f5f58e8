"""TorchRL: the recipe learns under "leave", and agents that have left teach nothing."""

import doctest
import warnings

import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.envs.utils import check_env_specs

import multigrid

with warnings.catch_warnings():
    # To import TorchRL is enough for it: its own classes have its own deprecated base.
    warnings.filterwarnings("ignore", message=".* which inherits from WeightUpdaterBase is deprecated")
    from multigrid.examples import torchrl_ppo

WORLD = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target="leave", flatten=True, max_cycles=20)


def test_it_learns(capsys):
    """On held-out episodes, trained agents arrive far more often than untrained ones, and `main` says so."""
    rates = torchrl_ppo.main(steps=4000, seed=1)
    assert rates["before"] < 0.3
    assert rates["after"] > 0.8
    expected = f"{rates['before']:.1%} before training, {rates['after']:.1%} after"
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_every_mode_keeps_the_specs(on_target):
    """TorchRL's own check of an environment finds nothing, whatever follows an arrival."""
    config = multigrid.GridConfig(size=(5, 4), num_agents=3, on_target=on_target, flatten=True, max_cycles=20)
    check_env_specs(torchrl_ppo.make_env(config, seed=3), seed=3)


def test_restart_is_refused():
    """`main` takes no world in which nobody arrives for good."""
    with pytest.raises(ValueError, match="on_target is 'restart'; expected 'park', 'leave' or 'stay'"):
        torchrl_ppo.main(on_target="restart")


def walked(actions, walls="a.A..\nb...B", steps=6):
    """What TorchRL makes of agents that play these actions, (T, 2)."""
    env = torchrl_ppo.make_env(multigrid.GridConfig(walls=walls, on_target="leave", flatten=True), seed=0)
    played = iter(torch.tensor(actions))

    def act(_):
        return next(played)

    policy = TensorDictModule(act, in_keys=[("agent", "observation")], out_keys=[("agent", "action")])
    return env, env.rollout(steps, policy)


def test_the_episode_goes_on_without_who_has_left():
    """An agent that arrives after two steps is masked from the third, and the other one walks on to its own target."""
    _, data = walked([[0, 0]] * 4)
    assert data.shape == (4,)
    assert data["agent", "mask"].tolist() == [[True, True]] * 2 + [[False, True]] * 2
    assert data["next", "agent", "reward"][..., 0].tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert data["next", "done"].flatten().tolist() == [False, False, False, True]


def test_who_has_left_teaches_nothing():
    """Whatever stands in the rows of an agent that has left, losses and advantages of the others are the same."""
    torch.manual_seed(0)
    env, data = walked([[0, 0]] * 4)
    actor, critic = torchrl_ppo.make_nets(env)
    gae, loss = torchrl_ppo.make_objectives(actor, critic)
    with torch.no_grad():
        data["agent", "action_log_prob"] = actor.get_dist(data).log_prob(data["agent", "action"])
    there = data["agent", "mask"]

    def learnt(value):
        changed = data.clone()
        changed["agent", "observation"][~there] = value
        changed["agent", "action_log_prob"][~there] = -value
        torchrl_ppo.add_advantages(gae, changed)
        losses = loss(changed)
        return changed["agent", "advantage"][there], [
            losses[f"loss_{name}"] for name in ("objective", "critic", "entropy")
        ]

    one, other = learnt(0.0), learnt(5.0)
    assert one[0].mean().abs() < 1e-6
    assert one[0].std() == pytest.approx(1, abs=1e-5)
    torch.testing.assert_close(one, other)


def test_arrival_rate_draws_actions():
    """Actions are drawn, and an episode counts when every agent has arrived in it."""
    config = multigrid.GridConfig(walls="a.A\nb.B", on_target="leave", flatten=True, max_cycles=4)

    def sure(seen):
        logits = torch.zeros(*seen.shape[:-1], 4)
        logits[..., 0] = 50.0
        return logits

    env = torchrl_ppo.make_env(config, seed=0)
    actor, _ = torchrl_ppo.make_nets(env)

    def judged(net):
        actor.module[0].module = net
        torch.manual_seed(0)
        return torchrl_ppo.arrival_rate(actor, config, 400)

    class Sure(torch.nn.Module):
        def forward(self, seen):
            return sure(seen)

    class Even(torch.nn.Module):
        def forward(self, seen):
            return torch.zeros(*seen.shape[:-1], 4)

    assert judged(Sure()) == 1
    assert 0 < judged(Even()) < 0.3


def test_the_same_weights_for_all():
    """Two agents that see the same do the same, and have the same value."""
    actor, critic = torchrl_ppo.make_nets(torchrl_ppo.make_env(WORLD, seed=0))
    row = torch.rand(7, 1, 6).expand(7, 2, 6)
    data = TensorDict({"agent": {"observation": row}}, [7])
    logits, values = actor.get_dist(data).logits, critic(data)["agent", "state_value"]
    torch.testing.assert_close(logits[:, 0], logits[:, 1])
    torch.testing.assert_close(values[:, 0], values[:, 1])


def test_examples():
    """Every example of the module, which only this environment can import, prints what it says."""
    assert doctest.testmod(torchrl_ppo).failed == 0
