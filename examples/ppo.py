"""Train one policy for all agents with PPO, on many worlds at once. Read this file from top to bottom, and copy it.

Install: ``pip install "multigrid-marl" torch``. Run: ``python -m examples.ppo --steps 300000 --size 5``. All
flags of `multigrid.GridConfig` are flags here; every ``on_target`` and ``reward`` mode trains.

Every agent of every world is a row: R = worlds * agents rows share one actor and one critic, whose input is a row's own
observation. Common mistakes, and how this file avoids them:

- *Truncation is not termination.* The return of a truncated row includes the value of its last observation, that of a
  terminated row does not. In Gymnasium's NEXT_STEP mode ``observations[t + 1]`` is always the result of step t.
- *The step after an episode's end is not a transition.* In NEXT_STEP mode it ignores the actions and returns the first
  observation of the next episode. The loss excludes such rows, and no advantage is propagated through them.
- *Agents that have left do not learn.* Under ``on_target="leave"`` the row of an agent that has left is zeros, with
  ``alive`` False in the infos, until its world ends; the loss excludes these rows, too.
- *Evaluations use other episodes.* Seeds of training are above a million, held-out seeds below. Evaluations sample the
  actions, too: with the likeliest actions, two agents that block each other would do so for ever.

Sources: Schulman et al. 2017 (PPO, arXiv:1707.06347) and 2016 (advantages, arXiv:1506.02438).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from multigrid import GridConfig, MultiGridVectorEnv, vector_env
from multigrid._files import replace_file
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.integrations.tyro import grid_registry
from multigrid.wrappers._vector_reward import RewardFunction, VectorReward

__all__ = ["Evaluation", "Options", "Result", "advantages_of", "evaluate", "main", "make_net", "train"]


@dataclasses.dataclass(frozen=True)
class Options:
    """Train one policy for all agents with PPO."""

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=GridConfig)
    """The world. Its observations are flattened in any case, without the part "action_mask"."""
    steps: int = 300_000
    """Rows to play: steps of all agents together, rounded up to whole rollouts."""
    seed: int = 0
    """Two runs with the same seed and flags end with equal weights."""
    save: Path | None = None
    """Where to write the weights, a state_dict for `torch.load(..., weights_only=True)`; by default nowhere."""
    episodes: int = 200
    """Held-out episodes to play before and after."""
    worlds: int = 128
    """Worlds played side by side."""
    rollout: int = 32
    """Steps of each world between two updates."""
    epochs: int = 4
    """Passes over a rollout in an update."""
    batch_size: int = 2048
    """Transitions in a minibatch, at most."""
    learning_rate: float = 2e-3
    """Falling linearly to 0."""
    gamma: float = 0.95
    """The discount."""
    gae_lambda: float = 0.95
    """How far advantages look ahead: 0 is one step, 1 the whole episode."""
    clip: float = 0.2
    """How far an update may change the probability of an action: a factor of 1 - clip to 1 + clip."""
    entropy: float = 0.02
    """The weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    """The gradient's largest norm."""
    hidden: tuple[int, ...] = (64, 64)
    """The sizes of the hidden layers, of the actor and of the critic."""


class Evaluation(NamedTuple):
    """The share of held-out episodes in which all agents arrive (under *restart* 0), mean steps, an agent's return."""

    success_rate: float
    mean_steps: float
    mean_return: float


class Result(NamedTuple):
    """The results of a training; the rates are agent-steps per second, of the env alone and of the whole training."""

    before: Evaluation
    after: Evaluation
    net: nn.ModuleDict
    env_rate: float
    rate: float


def make_net(envs: MultiGridVectorEnv, hidden: tuple[int, ...]) -> nn.ModuleDict:
    """Return an actor, whose initial policy is almost uniform, and a critic, both with orthogonal weights."""

    def mlp(outputs: int, last_gain: float) -> nn.Sequential:
        sizes = [math.prod(envs.single_observation_space.shape or ()), *hidden, outputs]
        layers: list[nn.Module] = []
        for depth, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes), start=1):
            linear = nn.Linear(fan_in, fan_out)
            nn.init.orthogonal_(linear.weight, 2**0.5 if depth <= len(hidden) else last_gain)
            nn.init.zeros_(linear.bias)
            layers += [linear, nn.Tanh()]
        return nn.Sequential(*layers[:-1])

    return nn.ModuleDict({"actor": mlp(envs.config.num_actions, 0.01), "critic": mlp(1, 1.0)})


def sample(logits: Tensor, stream: torch.Generator) -> Tensor:
    """Sample an action for each row of logits (R, actions): int64 (R,)."""
    return torch.multinomial(logits.softmax(dim=1), 1, generator=stream).squeeze(1)


@torch.no_grad()
def evaluate(net: nn.ModuleDict, config: GridConfig, episodes: int) -> Evaluation:
    """Play the episodes with the seeds 0, 1, ..., one per world; the actions have a random generator of their own."""
    envs, stream = vector_env(episodes, config), torch.Generator().manual_seed(0)
    rows, _ = envs.reset(seed=0)
    playing, successes, steps, returns = np.ones(episodes, dtype=bool), 0.0, 0.0, 0.0
    while playing.any():
        rows, rewards, _, _, infos = envs.step(sample(net["actor"](torch.from_numpy(rows)), stream).numpy())
        steps += playing.sum()
        returns += rewards.reshape(episodes, -1).mean(axis=1)[playing].sum()
        if "csr" in infos:  # metrics of the worlds whose episode has ended, with a row for each agent
            csr, ended = (infos[name].reshape(episodes, -1)[:, 0] for name in ("csr", "_csr"))
            successes += (csr[playing & ended] == 1).sum()
            playing &= ~ended
    envs.close()
    return Evaluation(*(float(total) / episodes for total in (successes, steps, returns)))


def advantages_of(
    rewards: Tensor, values: Tensor, terminated: Tensor, done: Tensor, *, gamma: float, gae_lambda: float
) -> Tensor:
    """Return the generalised advantage estimates of T steps of R rows: float32 (T, R).

    The rewards are float32 (T, R); the values are float32 (T + 1, R), of the observations before each step and after
    the last. `terminated` is bool (T, R): the value after such a step counts as 0. `done` is bool (T, R), terminated or
    truncated: advantages stop there. So the value after a truncated step counts, and nothing later.

    >>> rewards, values = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.5], [0.5], [9.0]])
    >>> arrives = torch.tensor([[False], [True]])
    >>> advantages_of(rewards, values, arrives, arrives, gamma=0.5, gae_lambda=1.0).tolist()
    [[0.0], [0.5]]
    """
    errors = rewards + gamma * values[1:] * ~terminated - values[:-1]
    advantages, following = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        following = errors[t] + gamma * gae_lambda * following * ~done[t]
        advantages[t] = following
    return advantages


def update(net: nn.ModuleDict, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, ...], options: Options) -> None:
    """Improve the net on transitions (K, ...): observations, actions, log-probabilities, advantages and returns."""
    for _ in range(options.epochs):
        # Parts of nearly equal size: a small last part would give a noisy step of the same weight as the others.
        parts = math.ceil(len(batch[0]) / options.batch_size)
        for part in torch.randperm(len(batch[0])).tensor_split(parts):
            observations, actions, old, advantages, returns = (array[part] for array in batch)
            log_probabilities = net["actor"](observations).log_softmax(dim=1)
            ratio = (log_probabilities.gather(1, actions[:, None]).squeeze(1) - old).exp()
            gain = torch.min(ratio * advantages, ratio.clamp(1 - options.clip, 1 + options.clip) * advantages).mean()
            entropy = -(log_probabilities.exp() * log_probabilities).sum(dim=1).mean()
            misjudged = nn.functional.mse_loss(net["critic"](observations).squeeze(1), returns)
            optimizer.zero_grad()
            (misjudged / 2 - gain - options.entropy * entropy).backward()
            nn.utils.clip_grad_norm_(net.parameters(), options.max_grad_norm)
            optimizer.step()


def train(net: nn.ModuleDict, envs: MultiGridVectorEnv | VectorReward, options: Options) -> tuple[int, float, float]:
    """Train the net; return the number of agent-steps, the seconds that the env took, and the seconds in total."""
    stream, optimizer = torch.Generator().manual_seed(options.seed), torch.optim.Adam(net.parameters(), eps=1e-5)
    length, rows = options.rollout, envs.num_envs
    observations = torch.zeros(length + 1, rows, math.prod(envs.single_observation_space.shape or ()))
    logits = torch.zeros(length, rows, options.grid.num_actions)
    actions, rewards = torch.zeros(length, rows, dtype=torch.int64), torch.zeros(length, rows)
    terminated, alive = (torch.zeros(length, rows, dtype=torch.bool) for _ in range(2))
    done = torch.zeros(length + 1, rows, dtype=torch.bool)  # done[t]: the step before t ended the row's episode

    began, env_seconds, played = time.perf_counter(), 0.0, 0
    observations[-1] = torch.from_numpy(envs.reset(seed=FIRST_TRAINING_SEED + options.seed * options.worlds)[0])
    updates = math.ceil(options.steps / (length * rows))
    for number in range(updates):
        observations[0], done[0] = observations[-1], done[-1]
        for t in range(length):
            with torch.no_grad():
                logits[t] = net["actor"](observations[t])
            actions[t] = sample(logits[t], stream)
            asked = time.perf_counter()
            following, reward, ended, limited, infos = envs.step(actions[t].numpy())
            env_seconds += time.perf_counter() - asked
            observations[t + 1], rewards[t] = map(torch.from_numpy, (following, reward))
            terminated[t], alive[t], done[t + 1] = map(torch.from_numpy, (ended, infos["alive"], ended | limited))

        with torch.no_grad():
            values = net["critic"](observations).squeeze(2)
            discounts = {"gamma": options.gamma, "gae_lambda": options.gae_lambda}
            advantages = advantages_of(rewards, values, terminated, done[1:], **discounts)
            old = logits.log_softmax(dim=2).gather(2, actions[..., None]).squeeze(2)
        # Exclude the steps that only begin an episode, and those of agents that have left.
        kept = alive & ~done[:-1]
        returns, gains = (advantages + values[:-1])[kept], advantages[kept]
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        optimizer.param_groups[0]["lr"] = options.learning_rate * (1 - number / updates)
        update(net, optimizer, (observations[:-1][kept], actions[kept], old[kept], gains, returns), options)
        played += len(returns)
    return played, env_seconds, time.perf_counter() - began


def main(options: Options, reward: RewardFunction | None = None) -> Result:
    """Train, evaluate before and after, print both and the throughput, and save the weights if `save` is set.

    A `reward` replaces the env's in the training, see `VectorReward`; evaluations keep the env's, to be comparable.
    Raises a ValueError if `steps` is below 1 or there is no limit; a FileNotFoundError without the folder of `save`.
    """
    parts = tuple(part for part in options.grid.parts if part != "action_mask")
    config = dataclasses.replace(options.grid, flatten=True, observe=parts)
    if config.max_cycles is None or options.steps < 1:
        raise ValueError(f"--max-cycles is {config.max_cycles}, --steps {options.steps}; expected numbers from 1 on")
    if options.save is not None and not options.save.parent.is_dir():
        raise FileNotFoundError(f"--save is {options.save}, but {options.save.parent} is no folder; make it first")
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    torch.manual_seed(options.seed)
    envs = vector_env(options.worlds, config)
    net = make_net(envs, options.hidden)
    before = evaluate(net, config, options.episodes)
    played, env_seconds, seconds = train(net, VectorReward(envs, reward) if reward else envs, options)
    envs.close()
    after = evaluate(net, config, options.episodes)
    result = Result(before, after, net, played / env_seconds, played / seconds)
    print(f"{options.episodes} held-out episodes\nbefore: {before}\nafter {played:,} agent-steps: {after}")
    print(f"agent-steps a second: {result.env_rate:,.0f} the env alone, {result.rate:,.0f} the whole ({seconds:.1f} s)")
    if options.save is not None:
        with replace_file(options.save) as temporary:
            torch.save(net.state_dict(), temporary)
    return result


if __name__ == "__main__":
    main(tyro.cli(Options, registry=grid_registry()))
