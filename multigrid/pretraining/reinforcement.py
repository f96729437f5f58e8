"""Reinforcement learning after imitation: proximal policy optimization (Schulman et al., arXiv 2017) in rounds.

One process plays the worlds of round r + 1 while another learns from those of round r. So the network that plays is
that after round r - 1, and the ratio of probabilities corrects the difference. Equal seeds give equal weights. After
each round everything is on disk: the same command goes on where it was, with the same result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from multigrid._files import open_file, replace_file
from multigrid._processes import worker_pool
from multigrid.planning.network import Weights
from multigrid.pretraining.network import Network
from multigrid.pretraining.rollouts import PlaySettings, Samples, collect
from multigrid.pretraining.settings import check_settings

__all__ = [
    "MEANS",
    "Learner",
    "ReinforcementSettings",
    "Report",
    "count_reinforced",
    "learn",
    "make_learner",
    "reinforce",
    "surrogate",
]

MEANS = ("reward_stay", "reward_restart", "solved", "explained", "kl", "entropy", "clipped")
"""The figures of a round: the mean rewards in one-shot and in lifelong worlds; the share of one-shot worlds that are
solved; the share of the returns' variance that the critic explains; and the mean divergence from the network that
played, the mean entropy, and the share of ratios beyond `clip`. In the warm-up, kl and clipped are 0, entropy NaN."""

_STATE = "reinforcement.pt"
_PLAYER_DIED = (
    "the process that plays ended before it was done; is there enough memory? The same command goes on after the last "
    "round that is saved"
)


@dataclasses.dataclass(frozen=True)
class ReinforcementSettings:
    """What this training depends on, but for the weights that it begins with."""

    rounds: int = 40
    """The number of rounds."""
    seed: int = 0
    """Of worlds, actions, weights of the critic, and minibatches."""
    play: PlaySettings = dataclasses.field(default_factory=PlaySettings)
    """How agents play, and how their actions are judged."""
    warm_up: int = 4
    """The number of rounds in which only the critic learns."""
    epochs: int = 1
    """How often each sample is learned from; in the warm-up, twice as often."""
    batch_size: int = 4096
    """Samples in a minibatch."""
    rate: float = 3e-4
    """The learning rate of the actor in the first round; it falls in a straight line."""
    critic_rate: float = 1e-3
    """The learning rate of the critic, which also falls so."""
    clip: float = 0.2
    """By how much the ratio of an action's probabilities may differ from 1 before a further gain no longer counts."""
    entropy: float = 0.0
    """The factor of the entropy in the objective."""
    critic_hidden: tuple[int, int, int] = (96, 64, 32)
    """The units of the critic's hidden layers."""


Report = Callable[[int, Mapping[str, float], Weights], None]
"""Is called after each round with its number, from 1 on, the figures of the round, and the weights."""


@dataclasses.dataclass
class Learner:
    """The actor, the critic, and their optimizers."""

    actor: Network
    critic: Network
    actor_optimizer: torch.optim.Optimizer
    critic_optimizer: torch.optim.Optimizer

    def state(self) -> dict[str, Any]:
        """Return the state of all parts."""
        return {name: part.state_dict() for name, part in vars(self).items()}

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        for name, part in vars(self).items():
            part.load_state_dict(state[name])


def reinforce(weights: Weights, settings: ReinforcementSettings, folder: Path, report: Report) -> Weights:
    """Train a network, or go on, and return its weights.

    Args:
        weights: that the training begins with.
        settings: equal in all calls for a folder, as `weights` are.
        folder: keeps the state of the training.
        report: see `Report`.

    Raises:
        ValueError: the folder has a training with other settings.
        OSError: a file cannot be written.
        ChildProcessError: the process that plays was killed. After the last two errors, the same call goes on
            after the last round that is saved.
    """
    check_settings(settings, folder / "reinforcement.json")
    learner, players, first = _load(weights, settings, folder)
    with worker_pool(1, _PLAYER_DIED) as pool:
        waiting: dict[int, Future[tuple[Samples, dict[str, float]]]] = {}

        def order(number: int) -> None:
            if number < settings.rounds and number not in waiting:
                waiting[number] = pool.submit(_collect, *players[number % 2], settings, number)

        for number in range(first, settings.rounds):
            order(number)
            order(number + 1)
            samples, means = waiting.pop(number).result()
            figures = means | learn(learner, samples, settings, number)
            players[number % 2] = _weights_of(learner)
            # Before the round is saved: an interrupted one is repeated, and then reported again.
            report(number + 1, figures, learner.actor.weights())
            _save(learner, players, folder, number)
    return learner.actor.weights()


def count_reinforced(folder: Path) -> int:
    """Return the number of rounds of the training in a folder that are saved."""
    state = _read_state(folder)
    return 0 if state is None else int(state["round"]) + 1


def make_learner(weights: Weights, settings: ReinforcementSettings) -> Learner:
    """Return an actor with some weights, and a critic that has learned nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        actor, critic = Network.of(weights), Network(settings.critic_hidden, num_outputs=1)
    return Learner(
        actor,
        critic,
        torch.optim.Adam(actor.parameters(), settings.rate, fused=True),
        torch.optim.Adam(critic.parameters(), settings.critic_rate, fused=True),
    )


def surrogate(log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """Return the clipped objective of each action, float32 (R,), to be maximized.

    >>> one, three = torch.ones(1), torch.tensor([3.0])
    >>> surrogate(three.log(), one.log(), one, clip=0.5).item(), surrogate(three.log(), one.log(), -one, 0.5).item()
    (1.5, -3.0)
    """
    ratio = (log_probs - old_log_probs).exp()
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def learn(learner: Learner, samples: Samples, settings: ReinforcementSettings, number: int) -> dict[str, float]:
    """Learn from samples, and return figures of the round."""
    generator = np.random.default_rng([settings.seed, number, 1])
    trains_actor = number >= settings.warm_up
    for optimizer, rate in (
        (learner.actor_optimizer, settings.rate),
        (learner.critic_optimizer, settings.critic_rate),
    ):
        optimizer.param_groups[0]["lr"] = rate * (1 - number / settings.rounds)
    errors: list[float] = []
    facts: list[list[float]] = []
    advantages = samples.advantages / (samples.advantages.std() + np.float32(1e-6))
    for _ in range(settings.epochs * (1 if trains_actor else 2)):
        order = generator.permutation(len(samples.actions))
        # The last samples, too few for a minibatch, are left out.
        for start in range(0, max(1, len(order) - settings.batch_size + 1), settings.batch_size):
            chosen = order[start : start + settings.batch_size]
            batch = samples.take(chosen)
            errors.append(_teach_critic(learner, batch))
            if trains_actor:
                facts.append(_teach_actor(learner, batch, torch.from_numpy(advantages[chosen]), settings))
    error = float(np.mean(errors)) / float(samples.returns.var() + 1e-6)
    kl, entropy, clipped = np.mean(facts, axis=0).tolist() if facts else (0.0, np.nan, 0.0)
    return {"explained": 1 - error, "kl": kl, "entropy": entropy, "clipped": clipped}


def _teach_critic(learner: Learner, batch: Samples) -> float:
    learner.critic_optimizer.zero_grad()
    values: Tensor = learner.critic(batch.windows)
    error = (values[:, 0] - torch.from_numpy(batch.returns)).square().mean()
    error.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(learner.critic.parameters(), 10.0)
    learner.critic_optimizer.step()
    return float(error.detach())


def _teach_actor(learner: Learner, batch: Samples, advantages: Tensor, settings: ReinforcementSettings) -> list[float]:
    """Take one step, and return the mean divergence from the players, the entropy and the share of clipped samples."""
    learner.actor_optimizer.zero_grad()
    logs = torch.log_softmax(learner.actor(batch.windows) / torch.from_numpy(batch.temperatures)[:, None], dim=1)
    log_probs = logs.gather(1, torch.from_numpy(batch.actions.astype(np.int64))[:, None])[:, 0]
    old = torch.from_numpy(batch.log_probs)
    entropy = -(logs.exp() * logs).sum(dim=1).mean()
    gain = surrogate(log_probs, old, advantages, settings.clip).mean() + settings.entropy * entropy
    (-gain).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(learner.actor.parameters(), 0.5)
    learner.actor_optimizer.step()
    with torch.no_grad():
        ratio = log_probs - old
        kl = (ratio.exp() - 1 - ratio).mean()
        clipped = ((ratio.exp() - 1).abs() > settings.clip).float().mean()
    return [float(kl), float(entropy.detach()), float(clipped)]


def _collect(
    actor: Weights, critic: Weights, settings: ReinforcementSettings, number: int
) -> tuple[Samples, dict[str, float]]:
    """Play a round, in a process of its own."""
    torch.set_num_threads(1)
    return collect(actor, Network.of(critic), settings.seed, number, settings.play)


def _weights_of(learner: Learner) -> tuple[Weights, Weights]:
    return learner.actor.weights(), learner.critic.weights()


def _load(
    weights: Weights, settings: ReinforcementSettings, folder: Path
) -> tuple[Learner, list[tuple[Weights, Weights]], int]:
    """Return the learner, the networks that play even and odd rounds, and the number of the next round."""
    learner, state = make_learner(weights, settings), _read_state(folder)
    if state is None:
        return learner, [_weights_of(learner)] * 2, 0
    learner.load(state["learner"])
    players = [tuple(Weights(*(part.numpy() for part in network)) for network in player) for player in state["players"]]
    return learner, [(player[0], player[1]) for player in players], state["round"] + 1


def _read_state(folder: Path) -> dict[str, Any] | None:
    """Return what `_save` has written; None before the first round is saved."""
    file = folder / _STATE
    if not file.exists():
        return None
    with open_file(file) as opened:
        state: dict[str, Any] = torch.load(opened, weights_only=True)
    return state


def _save(learner: Learner, players: list[tuple[Weights, Weights]], folder: Path, number: int) -> None:
    arrays = [[[torch.from_numpy(part) for part in network] for network in player] for player in players]
    state = {"learner": learner.state(), "players": arrays, "round": number}
    with replace_file(folder / _STATE) as temporary:
        torch.save(state, temporary)
