"""Train multi-agent PPO on a game of rware or lb-foraging, over many worlds at once or over the original package.

Install: ``pip install "multigrid-marl[train]"``; for ``--original`` also ``pip install rware lbforaging``.
Run: ``python -m examples.mappo rware-tiny-2ag-v2 --seconds 1200``.

All agents share an actor, which sees the agent's own observation and its number; the critic sees those of all agents.
The file NAME.csv has a line for each minute: seconds, steps of all agents together, and the mean return of the last
episodes, rewards added over agents.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("gymnasium", "torch", "tyro", text=__doc__)

import gymnasium
import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from torch import nn

from multigrid import games
from multigrid.integrations.training import training_seed

__all__ = ["Options", "Trained", "main", "train"]

_Floats = NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class Options:
    """The settings of a training."""

    name: tyro.conf.Positional[str]
    """The id of the game."""
    seconds: float = 1200.0
    """The budget of time."""
    steps: float = math.inf
    """The budget of steps of all agents together, which ends the training, too."""
    seed: int = 0
    """The seed of worlds, weights and actions."""
    original: bool = False
    """Train on environments of the original package, one after the other."""
    worlds: int = 128
    """How many worlds are played."""
    rollout: int = 32
    """How many steps of all worlds come before an update."""
    epochs: int = 4
    """How often an update goes through them."""
    minibatches: int = 4
    """In how many parts."""
    learning_rate: float = 5e-4
    """The step size of Adam."""
    gamma: float = 0.99
    """The discount."""
    trace: float = 0.95
    """The lambda of generalised advantage estimation."""
    clip: float = 0.2
    """How far the ratio of probabilities may go from 1."""
    entropy: float = 0.01
    """The weight of the entropy."""
    hidden: int = 128
    """The width of the two hidden layers of both networks."""
    folder: Path = Path("results/mappo")
    """Where the curve is written."""


class Trained(NamedTuple):
    """What a training returns."""

    curve: list[tuple[float, int, float]]
    """Seconds, agent-steps and mean return, about once a minute."""
    steps: int
    """The agent-steps that were played."""
    act: Callable[[_Floats], NDArray[np.int64]]
    """Samples actions (worlds, agents) for observations (worlds, agents, D)."""


class Worlds(Protocol):
    """Many worlds: observations (worlds, agents, D), rewards (worlds, agents), and which episodes have ended."""

    num_actions: int

    def reset(self, seed: int) -> _Floats: ...

    def step(self, actions: NDArray[np.int64]) -> tuple[_Floats, _Floats, NDArray[np.bool_]]: ...


class NativeWorlds:
    """The worlds of this package, in one call a step."""

    def __init__(self, name: str, num_worlds: int) -> None:
        self._envs: Any = games.vector_env(name, num_worlds, autoreset_mode="SameStep", metrics=False)
        self._shape = num_worlds, self._envs.config.num_agents
        self.num_actions = int(self._envs.single_action_space.n)

    def reset(self, seed: int) -> _Floats:
        observations: _Floats = self._envs.reset(seed=seed)[0]
        return observations.reshape(*self._shape, -1)

    def step(self, actions: NDArray[np.int64]) -> tuple[_Floats, _Floats, NDArray[np.bool_]]:
        observations, rewards, terminated, truncated, _ = self._envs.step(actions.ravel())
        ended = (terminated | truncated).reshape(self._shape)[:, 0]
        return observations.reshape(*self._shape, -1), rewards.reshape(self._shape), ended


class OriginalWorlds:
    """Environments of the original package, one after the other."""

    def __init__(self, name: str, num_worlds: int) -> None:
        __import__("rware" if name.startswith("rware") else "lbforaging")
        self._envs: list[Any] = [gymnasium.make(name, disable_env_checker=True).unwrapped for _ in range(num_worlds)]
        self.num_actions = int(self._envs[0].action_space[0].n)

    def reset(self, seed: int) -> _Floats:
        return np.array([env.reset(seed=seed + k)[0] for k, env in enumerate(self._envs)], np.float32)

    def step(self, actions: NDArray[np.int64]) -> tuple[_Floats, _Floats, NDArray[np.bool_]]:
        observed, rewards, ended = [], [], []
        for env, chosen in zip(self._envs, actions.tolist(), strict=True):
            observations, reward, terminated, _, _ = env.step(chosen)
            observed.append(env.reset()[0] if terminated else observations)
            rewards.append(reward)
            ended.append(bool(terminated))
        return np.array(observed, np.float32), np.array(rewards, np.float32), np.array(ended)


def _make_network(inputs: int, hidden: int, outputs: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, outputs)]
    for layer in layers[::2]:
        nn.init.orthogonal_(layer.weight, gain if layer is layers[-1] else 2**0.5)  # type: ignore[arg-type]
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return nn.Sequential(*layers)


class _Inputs:
    """What the networks get: observations, scaled by what was seen so far, and the numbers of agents."""

    def __init__(self, num_agents: int) -> None:
        self._numbers = torch.eye(num_agents)
        self._most = torch.ones(1)

    def make(self, observations: _Floats, *, learn: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the inputs of the actor and of the critic, (worlds, agents, ...); `learn` adapts the scale."""
        seen = torch.as_tensor(observations)
        if learn:
            self._most = torch.maximum(self._most, seen.abs().amax(dim=(0, 1)))
        seen = seen / self._most
        numbers = self._numbers.expand(*seen.shape[:2], -1)
        together = seen.flatten(1)[:, None].expand(-1, seen.shape[1], -1)
        return torch.cat([seen, numbers], dim=2), torch.cat([together, numbers], dim=2)


def train(options: Options, report: Callable[[float, int, float], None] | None = None) -> Trained:
    """Train within the budget, and call a function with each point of the curve."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    envs: Worlds = (OriginalWorlds if options.original else NativeWorlds)(options.name, options.worlds)
    observations = envs.reset(seed=training_seed(options.seed, worlds=options.worlds))
    num_worlds, num_agents, _ = observations.shape
    inputs = _Inputs(num_agents)
    for_actor, for_critic = inputs.make(observations)
    actor = _make_network(for_actor.shape[2], options.hidden, envs.num_actions, 0.01)
    critic = _make_network(for_critic.shape[2], options.hidden, 1, 1.0)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], options.learning_rate, eps=1e-5)
    returns, episodes = np.zeros(num_worlds), collections.deque[float](maxlen=4 * num_worlds)
    scale, steps, curve, begin = 1.0, 0, list[tuple[float, int, float]](), time.perf_counter()
    while (seconds := time.perf_counter() - begin) < options.seconds and steps < options.steps:
        kept: list[Any] = []
        for _ in range(options.rollout):
            with torch.no_grad():
                choice: Any = torch.distributions.Categorical(logits=actor(for_actor))
                actions = choice.sample()
                values = critic(for_critic)[..., 0]
            observations, rewards, ended = envs.step(actions.numpy())
            returns += rewards.sum(axis=1)
            episodes.extend(returns[ended].tolist())
            returns[ended] = 0
            row = (for_actor, for_critic, actions, choice.log_prob(actions), values)
            kept.append((*row, torch.as_tensor(rewards, dtype=torch.float32), torch.as_tensor(ended)))
            for_actor, for_critic = inputs.make(observations)
        with torch.no_grad():
            last = critic(for_critic)[..., 0]
        scale = _update(
            options, actor, critic, optimizer, [torch.stack(one) for one in zip(*kept, strict=True)], last, scale
        )
        steps += options.rollout * num_worlds * num_agents
        if episodes and seconds >= 60 * len(curve):
            curve.append((seconds, steps, float(np.mean(episodes))))
            if report is not None:
                report(*curve[-1])

    @torch.no_grad()
    def act(seen: _Floats) -> NDArray[np.int64]:
        choice: Any = torch.distributions.Categorical(logits=actor(inputs.make(seen, learn=False)[0]))
        chosen: NDArray[np.int64] = choice.sample().numpy()
        return chosen

    return Trained(curve, steps, act)


def _update(
    options: Options, actor: Any, critic: Any, optimizer: Any, kept: list[torch.Tensor], last: Any, scale: float
) -> float:
    """Update both networks; return the scale by which returns are divided, which follows their spread."""
    for_actor, for_critic, actions, log_probs, values, rewards, ended = kept
    advantages, advantage = torch.zeros_like(values), torch.zeros_like(last)
    for step in reversed(range(len(values))):
        goes_on = (~ended[step]).float()[:, None]
        change = rewards[step] / scale + options.gamma * goes_on * last - values[step]
        advantage = change + options.gamma * options.trace * goes_on * advantage
        advantages[step], last = advantage, values[step]
    targets = advantages + values
    spread = float((targets * scale).std())
    rows = [one.flatten(0, 2) for one in (for_actor, for_critic, actions, log_probs, advantages, targets)]
    for _ in range(options.epochs):
        for part in torch.randperm(len(rows[0])).chunk(options.minibatches):
            seen, all_seen, chosen, before, better, target = (one[part] for one in rows)
            choice: Any = torch.distributions.Categorical(logits=actor(seen))
            ratio = (choice.log_prob(chosen) - before).exp()
            better = (better - better.mean()) / (better.std() + 1e-8)
            limited = ratio.clamp(1 - options.clip, 1 + options.clip)
            gain = torch.minimum(ratio * better, limited * better).mean() + options.entropy * choice.entropy().mean()
            loss = 0.5 * (critic(all_seen)[..., 0] - target).square().mean() - gain
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
    return max(0.95 * scale + 0.05 * spread, 0.05)


def main(options: Options) -> None:
    """Train, and write the curve."""
    kind = "original" if options.original else "native"
    path = options.folder / f"{options.name}-{kind}-{options.seed}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("seconds", "agent_steps", "return"))

        def report(seconds: float, steps: int, mean: float) -> None:
            writer.writerow((f"{seconds:.0f}", steps, f"{mean:.3f}"))
            file.flush()
            print(f"{options.name} ({kind}, seed {options.seed}): {mean:.2f} after {steps:,} steps, {seconds:.0f} s")

        train(options, report)


if __name__ == "__main__":
    main(tyro.cli(Options))
