"""Reinforcement learning of the learned policy: advantages, the objective, and that a training goes on exactly."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from multigrid import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning.network import score
from multigrid.planning.surroundings import RADIUS
from multigrid.policies.learned import TEMPERATURES
from multigrid.pretraining import rollouts
from multigrid.pretraining.network import Network
from multigrid.pretraining.reinforcement import ReinforcementSettings, learn, make_learner, reinforce, surrogate
from multigrid.pretraining.rollouts import PlaySettings, collect, estimate_advantages, share_advantages

pytestmark = pytest.mark.heavy

HIDDEN = (16, 16, 8)
TINY = ReinforcementSettings(rounds=4, play=PlaySettings(samples=600), warm_up=1, batch_size=256, critic_hidden=HIDDEN)


def initial() -> Any:
    """Weights of a small network that has learned nothing."""
    torch.manual_seed(5)
    return Network(HIDDEN).weights()


def test_advantages_equal_their_definition() -> None:
    """An advantage is the sum of later errors of the values, each times discount * decay for each step until it."""
    generator = np.random.default_rng(0)
    steps, worlds, agents = 7, 3, 2
    rewards = generator.normal(size=(steps, worlds, agents)).astype(np.float32)
    values = generator.normal(size=(steps + 1, worlds, agents)).astype(np.float32)
    is_last = generator.random((steps, worlds)) < 0.2
    assert is_last.any()
    assert not is_last.all(axis=0).any()
    found = estimate_advantages(rewards, values, is_last, 0.9, 0.8)
    for t, e, i in np.ndindex(steps, worlds, agents):
        expected, factor = 0.0, 1.0
        for later in range(t, steps):
            after = 0.0 if is_last[later, e] else values[later + 1, e, i]
            expected += factor * (rewards[later, e, i] + 0.9 * after - values[later, e, i])
            factor *= 0.9 * 0.8
            if is_last[later, e]:
                break
        assert found[t, e, i] == pytest.approx(expected, abs=1e-5)


def test_advantages_are_shared_with_those_in_sight() -> None:
    """An agent gets its own advantage, and a share of those of the agents of its world in its window."""
    generator = np.random.default_rng(1)
    own = generator.normal(size=(2, 3, 6)).astype(np.float32)
    places = generator.integers(0, 14, (2, 3, 6, 2)).astype(np.int16)
    found = share_advantages(own, places, 0.3)
    for t, e, i in np.ndindex(2, 3, 6):
        apart = np.abs(places[t, e, i].astype(int) - places[t, e]).max(axis=1).tolist()
        others = [own[t, e, j] for j in range(6) if j != i and apart[j] <= RADIUS]
        assert found[t, e, i] == pytest.approx(own[t, e, i] + 0.3 * sum(others), abs=1e-5)
    np.testing.assert_allclose(share_advantages(own, places, 0.0), own)


@pytest.mark.parametrize("on_target", ["stay", "restart"])
def test_rewards_add_up_to_lost_steps(on_target: Any) -> None:
    """Until an agent arrives, its rewards are minus the steps that it took beyond a shortest path; rests are free."""
    config = GridConfig(
        walls="a..#.\n.#..A\nb.#..\nB...c\nC....",
        num_agents=3,
        allow_stay=True,
        collisions="soft",
        on_target=on_target,
        max_cycles=200,
    )
    rollout = rollouts._play(initial(), config, TEMPERATURES, np.random.default_rng(3))
    rewards, ways = rollout.rewards, rollout.windows.ways.reshape(-1, *rollout.rewards.shape[1:])
    assert set(np.unique(rewards)) >= {0, -1, -2}
    envs = MultiGridVectorEnv(config, rewards.shape[1])
    envs.reset(seed=int(np.random.default_rng(3).integers(2**31)))
    began, arrivals = np.zeros(rewards.shape[1:], int), 0
    for t in range(len(rewards)):
        infos = envs.step(rollout.actions[t].ravel().astype(int))[-1]
        began[rollout.is_reset[t]] = t + 1
        for e, i in np.argwhere(infos["arrived"].reshape(began.shape) == 1):
            since = began[e, i]
            if ways[since, e, i] > 0:
                assert rewards[since : t + 1, e, i].sum() == ways[since, e, i] - (t + 1 - since)
                arrivals += 1
            began[e, i] = t + 1
    assert arrivals > 10
    rests = rollout.is_resting & (ways[1:] == 0) & ~rollout.is_reset[:, :, None]
    assert rests.any() == (on_target == "stay")
    assert not rewards[rests].any()


def test_samples_are_what_the_network_does() -> None:
    """Log-probabilities are those of the network's softmax, and actions are sampled with them."""
    torch.manual_seed(0)
    actor, critic = initial(), Network(HIDDEN, num_outputs=1)
    samples, _ = collect(actor, critic, 0, 0, PlaySettings(samples=20_000))
    scores = torch.from_numpy(score(actor, samples.windows) / samples.temperatures[:, None])
    assert {round(float(one), 2) for one in np.unique(samples.temperatures)} > {0.2, 0.3, 0.6}
    logs = torch.log_softmax(scores, dim=1).numpy()
    np.testing.assert_allclose(logs[np.arange(len(logs)), samples.actions], samples.log_probs, atol=1e-4)
    shares = np.bincount(samples.actions, minlength=5) / len(logs)
    np.testing.assert_allclose(shares, np.exp(logs).mean(axis=0), atol=0.02)
    again, _ = collect(actor, critic, 0, 0, PlaySettings(samples=20_000))
    other, _ = collect(actor, critic, 0, 1, PlaySettings(samples=20_000))
    for one, same in zip(samples, again, strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(samples.grounds, other.grounds)


def test_the_objective_is_clipped() -> None:
    """The gradient of an action is 0 where its probability has changed by the limit, in the wanted direction."""
    for ratio, advantage, expected in ((1.1, 1, 1.1), (1.3, 1, 0), (0.7, 1, 0.7), (1.3, -1, -1.3), (0.7, -1, 0)):
        log_prob = torch.tensor([ratio]).log().requires_grad_()
        surrogate(log_prob, torch.zeros(1), torch.tensor([float(advantage)]), 0.2).sum().backward()
        assert log_prob.grad is not None
        assert log_prob.grad.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rewarded_action_becomes_likelier(sign: int) -> None:
    """Actions with advantages become likelier, those that turned out worse than expected less likely."""
    samples, _ = collect(initial(), Network(HIDDEN, num_outputs=1), 0, 0, PlaySettings(samples=600))
    judged = samples._replace(advantages=np.where(samples.actions == 2, sign, 0).astype(np.float32))
    settings = dataclasses.replace(TINY, warm_up=0, rate=1e-3)
    learner = make_learner(initial(), settings)

    def likelihood() -> float:
        return float(torch.softmax(learner.actor(samples.windows), dim=1)[:, 2].mean().detach())

    before = likelihood()
    figures = learn(learner, judged, settings, 0)
    assert (likelihood() - before) * sign > 0.005
    assert figures["kl"] >= 0


def test_the_critic_learns_first() -> None:
    """In the warm-up the actor is as it was; the critic explains more of the returns from round to round."""
    settings = dataclasses.replace(TINY, warm_up=99, rounds=100, critic_rate=1e-2)
    learner = make_learner(initial(), settings)
    samples, _ = collect(initial(), learner.critic, 0, 0, PlaySettings(samples=600))
    figures = [learn(learner, samples, settings, number) for number in range(6)]
    assert figures[-1]["explained"] > figures[0]["explained"]
    for one, other in zip(initial(), learner.actor.weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_training_goes_on_exactly(tmp_path: Path) -> None:
    """A training that ended after two of four rounds, and goes on, has the weights of one that was not interrupted."""

    class EndedError(Exception):
        pass

    def end_after_two(number: int, *_: Any) -> None:
        if number == 1:
            raise EndedError

    whole = reinforce(initial(), TINY, tmp_path / "whole", lambda *_: None)
    assert not np.array_equal(whole.ground, initial().ground)
    with pytest.raises(EndedError):
        reinforce(initial(), TINY, tmp_path / "parts", end_after_two)
    parts = reinforce(initial(), TINY, tmp_path / "parts", lambda *_: None)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match=r"a training with seed=0; got seed=1; expected equal settings"):
        reinforce(initial(), dataclasses.replace(TINY, seed=1), tmp_path / "parts", lambda *_: None)
