"""Train a policy with a memory for all agents, with PPO, on many worlds at once. Read it from top to bottom; copy it.

Install: ``pip install "multigrid-marl" torch tyro``. Run: ``python -m examples.recurrent_ppo --seed 1``, and again
with ``--feed-forward`` for the same learner without a memory, to compare. A run that was stopped continues from its
last checkpoint when it is started again; a larger ``--steps`` continues one that has ended.

Each agent of each world is a row: R = worlds * agents rows share the weights, and each has a state of its own, the
memory of its episode. `examples.ppo` explains truncation, departures and the steps that begin an episode. What a memory
adds:

- *A state ends with its episode.* In Gymnasium's NEXT_STEP mode, step t ends an episode, ``observations[t + 1]`` is the
  last one, step t + 1 is the reset, and ``observations[t + 2]`` begins the next episode, with a state of zeros. The
  state of step t + 1 is the old one: the value of the last observation, which counts at a truncation, depends on it.
- *Updates repeat what was played.* A minibatch is a set of rows with all steps of the rollout in order, and begins with
  the states with which these rows entered the rollout. Gradients flow through the whole rollout, not further back.
- *The curve is that of the training*: each episode has a new layout, and a point is the mean return of the episodes
  that ended since the last point, rewards added over agents.

FOLDER/NAME-ARM-SEED.json has the curve, the .pt beside it the last checkpoint.
"""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import tyro
from gymnasium.spaces import Box
from torch import Tensor, nn

from multigrid import MultiGridVectorEnv, games
from multigrid._files import replace_file
from multigrid.integrations.training import training_seed

__all__ = ["Net", "Options", "Rollout", "Trainer", "main"]


@dataclasses.dataclass(frozen=True)
class Options:
    """Train one policy for all agents with PPO, with a memory or without."""

    name: tyro.conf.Positional[str] = "Foraging-2s-8x8-2p-2f-coop-v3"
    """The id of a game of this package: the agents of the default one see two cells far."""
    feed_forward: bool = False
    """Without a memory: a linear layer as wide as the memory in its place."""
    steps: int = 2_000_000
    """Steps of all agents together, rounded up to whole rollouts."""
    seed: int = 0
    """The seed of worlds, weights and actions. Two runs with the same flags end with equal weights."""
    folder: Path = Path("results/recurrent")
    """Where the curve and the checkpoint are written."""
    save_every: int = 20
    """Updates between two points of the curve, each with a checkpoint."""
    worlds: int = 64
    """Worlds played side by side."""
    rollout: int = 64
    """Steps of each world between two updates."""
    epochs: int = 4
    """Passes over a rollout in an update."""
    minibatches: int = 4
    """Parts of the rows in a pass."""
    learning_rate: float = 1e-3
    """The step size of Adam."""
    gamma: float = 0.99
    """The discount."""
    gae_lambda: float = 0.95
    """How far advantages look ahead: 0 is one step, 1 the whole episode."""
    clip: float = 0.2
    """How far an update may change the probability of an action: a factor of 1 - clip to 1 + clip."""
    entropy: float = 0.01
    """The weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    """The gradient's largest norm."""
    hidden: int = 64
    """The width of both layers."""


class Rollout(NamedTuple):
    """What T steps of R rows have shown, or of some of these rows; `states` are those before the first step."""

    observations: Tensor  # float32 (T, R, D)
    begins: Tensor  # bool (T, R): a new episode begins with this observation
    states: Tensor  # float32 (R, H)
    actions: Tensor  # int64 (T, R)
    old: Tensor  # float32 (T, R): the log-probabilities of the actions when they were sampled
    advantages: Tensor  # float32 (T, R)
    returns: Tensor  # float32 (T, R)
    kept: Tensor  # bool (T, R): False for steps that only begin an episode, and of agents that have left

    def rows(self, rows: Tensor) -> Rollout:
        """Return that of some of the rows."""
        return Rollout(*(part[rows] if part is self.states else part[:, rows] for part in self))


class Net(nn.Module):
    """A layer, a memory or a second layer, and on top of them the policy and the value of the state."""

    def __init__(self, envs: MultiGridVectorEnv, hidden: int, *, has_memory: bool) -> None:
        super().__init__()
        space = envs.single_observation_space
        if not isinstance(space, Box):
            raise TypeError(f"agents observe {space}; expected a game whose agents observe a Box")
        high = space.high
        # Inputs of the order of 1, wherever the space has bounds.
        self.scale = torch.from_numpy(np.where(np.isfinite(high) & (high > 1), high, np.float32(1))).flatten()
        self.encoder = nn.Linear(high.size, hidden)
        self.core: nn.Module = nn.GRUCell(hidden, hidden) if has_memory else nn.Linear(hidden, hidden)
        self.actor, self.critic = nn.Linear(hidden, envs.config.num_actions), nn.Linear(hidden, 1)
        for layer, gain in ((self.encoder, 2**0.5), (self.actor, 0.01), (self.critic, 1.0)):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)

    def forward(self, observations: Tensor, begins: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits (T, R, actions), values (T, R) and the states (R, H) after T steps of R rows.

        Where an episode begins, its state is zeros.
        """
        inputs = self.encoder(observations / self.scale).tanh()
        if isinstance(self.core, nn.GRUCell):
            outputs = []
            for now, begin in zip(inputs, begins, strict=True):
                states = self.core(now, states * ~begin[:, None])
                outputs.append(states)
            features = torch.stack(outputs)
        else:
            features = self.core(inputs).tanh()
        return self.actor(features), self.critic(features).squeeze(2), states


# What a checkpoint contains beside weights, worlds and random numbers; and flags that may change after it.
_SAVED = ("observations", "states", "ended", "begins", "returns", "finished", "updates", "curve")
_CHANGEABLE = ("steps", "folder", "save_every")


class Trainer:
    """A training: the worlds, the weights, and all else that a checkpoint contains."""

    def __init__(self, options: Options) -> None:
        self.options, flags = options, dataclasses.asdict(options)
        self.flags = {name: value for name, value in flags.items() if name not in _CHANGEABLE}
        torch.manual_seed(options.seed)
        self.envs = games.vector_env(options.name, options.worlds, metrics=False)
        self.net = Net(self.envs, options.hidden, has_memory=not options.feed_forward)
        self.optimizer = torch.optim.Adam(self.net.parameters(), options.learning_rate, eps=1e-5)
        rows = self.envs.num_envs
        first, _ = self.envs.reset(seed=training_seed(options.seed, worlds=options.worlds))
        self.observations = torch.from_numpy(first).flatten(1)
        self.states = torch.zeros(rows, options.hidden)
        # Whether the last step ended an episode, so that the next one is a reset; and whether it was that reset.
        self.ended, self.begins = torch.zeros(rows, dtype=torch.bool), torch.ones(rows, dtype=torch.bool)
        self.returns = torch.zeros(rows, dtype=torch.float64)  # of the episodes so far
        self.finished: list[float] = []  # the returns of the episodes that ended since the last point
        self.updates, self.curve = 0, list[list[float]]()

    @property
    def steps(self) -> int:
        """The steps of all agents together."""
        return self.updates * self.options.rollout * int(self.envs.num_envs)

    @torch.no_grad()
    def play(self) -> Rollout:
        """Play a rollout, and judge it."""
        steps, entered, num_agents = [], self.states, self.envs.config.num_agents
        for _ in range(self.options.rollout):
            logits, values, self.states = self.net(self.observations[None], self.begins[None], self.states)
            actions = torch.multinomial(logits[0].softmax(dim=1), 1).squeeze(1)
            before = self.observations, self.begins, actions, logits[0].log_softmax(dim=1), values[0]
            following, *results, infos = self.envs.step(actions.numpy())
            rewards, terminated, truncated, alive = map(torch.from_numpy, (*results, infos["alive"]))
            steps.append((*before, rewards.float(), terminated, terminated | truncated, alive & ~self.ended))
            self.observations = torch.from_numpy(following).flatten(1)
            self.begins, self.ended = self.ended, terminated | truncated
            self.returns += rewards
            # The return of an episode is the sum over its agents; it counts when the last of them has ended.
            over = self.begins.view(-1, num_agents).all(dim=1)
            self.finished += self.returns.view(-1, num_agents)[over].sum(dim=1).tolist()
            self.returns[over.repeat_interleave(num_agents)] = 0
        parts = (torch.stack(part) for part in zip(*steps, strict=True))
        seen, begins, chosen, log_probabilities, values, rewards, terminated, done, kept = parts
        ahead = self.net(self.observations[None], self.begins[None], self.states)[1]
        advantages = self.judge(rewards, torch.cat([values, ahead]), terminated, done)
        old = log_probabilities.gather(2, chosen[..., None]).squeeze(2)
        return Rollout(seen, begins, entered, chosen, old, advantages, advantages + values, kept)

    def judge(self, rewards: Tensor, values: Tensor, terminated: Tensor, done: Tensor) -> Tensor:
        """Return the generalised advantage estimates, float32 (T, R); the values are (T + 1, R)."""
        gamma, gae_lambda = self.options.gamma, self.options.gae_lambda
        errors = rewards + gamma * values[1:] * ~terminated - values[:-1]
        advantages, following = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
        for t in reversed(range(len(rewards))):
            following = errors[t] + gamma * gae_lambda * following * ~done[t]
            advantages[t] = following
        return advantages

    def update(self, played: Rollout) -> None:
        """Improve the weights."""
        for _ in range(self.options.epochs):
            for rows in torch.randperm(self.envs.num_envs).tensor_split(self.options.minibatches):
                part = played.rows(rows)
                logits, values, _ = self.net(part.observations, part.begins, part.states)
                log_probabilities = logits.log_softmax(dim=2)[part.kept]
                chosen = log_probabilities.gather(1, part.actions[part.kept][:, None]).squeeze(1)
                ratio, gains = (chosen - part.old[part.kept]).exp(), part.advantages[part.kept]
                gains = (gains - gains.mean()) / (gains.std() + 1e-8)
                limited = ratio.clamp(1 - self.options.clip, 1 + self.options.clip)
                gain = torch.min(ratio * gains, limited * gains).mean()
                entropy = -(log_probabilities.exp() * log_probabilities).sum(dim=1).mean()
                misjudged = nn.functional.mse_loss(values[part.kept], part.returns[part.kept])
                self.optimizer.zero_grad()
                (misjudged / 2 - gain - self.options.entropy * entropy).backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), self.options.max_grad_norm)
                self.optimizer.step()
        self.updates += 1

    def note(self) -> float:
        """Add a point to the curve: the steps, and the mean return of the episodes since the last point, or NaN."""
        mean, self.finished = float(np.mean(self.finished or [np.nan])), []
        self.curve.append([self.steps, round(mean, 4)])
        return mean

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        worlds: Any = self.envs.get_state()
        content: dict[str, Any] = {"flags": self.flags} | {name: getattr(self, name) for name in _SAVED}
        content |= {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}
        content |= {"random": torch.get_rng_state(), "worlds": {k: torch.from_numpy(v) for k, v in worlds.items()}}
        with replace_file(path) as temporary:
            torch.save(content, temporary)

    def load(self, path: Path) -> None:
        """Continue where the checkpoint was written; raise a ValueError if it was with other flags."""
        content = torch.load(path, weights_only=True)
        changed = [
            f"{name} {content['flags'][name]}" for name in self.flags if content["flags"][name] != self.flags[name]
        ]
        if changed:
            raise ValueError(f"{path} was trained with {', '.join(changed)}; pass the same, or another --folder")
        for name in _SAVED:
            setattr(self, name, content[name])
        self.net.load_state_dict(content["net"])
        self.optimizer.load_state_dict(content["optimizer"])
        self.envs.set_state({name: tensor.numpy() for name, tensor in content["worlds"].items()})
        torch.set_rng_state(content["random"])


def main(options: Options) -> Trainer:
    """Train, or continue, and write the curve and checkpoints; return the training at its end."""
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    arm = "feed-forward" if options.feed_forward else "recurrent"
    stem = options.folder / f"{options.name}-{arm}-{options.seed}"
    checkpoint, curve = stem.with_name(f"{stem.name}.pt"), stem.with_name(f"{stem.name}.json")
    options.folder.mkdir(parents=True, exist_ok=True)
    trainer, began = Trainer(options), time.perf_counter()
    if checkpoint.is_file():
        trainer.load(checkpoint)
    first = trainer.steps
    while trainer.steps < options.steps:
        trainer.update(trainer.play())
        if trainer.updates % options.save_every == 0 or trainer.steps >= options.steps:
            mean, rate = trainer.note(), (trainer.steps - first) / (time.perf_counter() - began)
            trainer.save(checkpoint)
            with replace_file(curve) as temporary:
                temporary.write_text(json.dumps({"flags": trainer.flags, "curve": trainer.curve}) + "\n")
            print(f"{stem.name}: return {mean:.3f} after {trainer.steps:,} steps, {rate:,.0f} a second", flush=True)
    return trainer


if __name__ == "__main__":
    main(tyro.cli(Options))
