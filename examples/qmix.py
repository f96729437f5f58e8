"""Train QMIX, VDN and independent Q-learning where an agent has to give way: an example of `state()`. Torch only.

Agent a walks ahead of b in a corridor with one bay, and a's target comes first. An agent that has arrived parks: if a
takes the shortest path, b can never reach its target. Each agent observes only its own cell and its own target. Both
get the team's reward, 1/2 for each arrival, so giving way earns more than the shortest path.

An independent learner on its target observes the same whether b has passed or is blocked, so one-step targets cannot
show it the value of giving way. QMIX (Rashid et al., 2018, https://arxiv.org/abs/1803.11485) learns one value of the
team: a net that reads `state()` mixes the agents' values. It acts with the agents' own nets, whose inputs are those of
the independent learners. VDN sums the agents' values and does not read the state.

    pip install "multigrid-marl" torch
    python -m examples.qmix                  # QMIX
    python -m examples.qmix --method iql     # independent learners; --n-step 10 for longer returns

Several learners are trained in one batch. `on_target` must be "park" or "stay": the agents of a world end together.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", text=__doc__)

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import elu, one_hot

import multigrid
from multigrid.integrations.training import FIRST_TRAINING_SEED

__all__ = ["MAP", "Agents", "Dense", "Mixer", "Options", "Trainer", "VectorWorlds", "evaluate", "main", "train"]

METHODS = ("qmix", "vdn", "iql")

MAP = """
    #...##
    ba..AB
"""


class Dense(nn.Module):
    """A linear layer for each of K learners: float32 (K, M, inputs) to (K, M, outputs).

    >>> Dense(3, 4, 2)(torch.zeros(3, 5, 4)).shape
    torch.Size([3, 5, 2])
    """

    def __init__(self, learners: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter((torch.rand(learners, inputs, outputs) * 2 - 1) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(learners, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each learner's layer to its own rows."""
        return torch.baddbmm(self.bias, x, self.weight)


class Agents(nn.Module):
    """A net for the values of an agent's actions, from its own observation; all agents of a learner share it.

    >>> Agents(3, 48, 5)(torch.zeros(3, 7, 2, 48)).shape
    torch.Size([3, 7, 2, 5])
    """

    def __init__(self, learners: int, inputs: int, actions: int, width: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(Dense(learners, inputs, width), nn.ReLU(), Dense(learners, width, width), nn.ReLU()),
            Dense(learners, width, actions),
        )

    def forward(self, observed: Tensor) -> Tensor:
        """Value actions: what agents observe, float32 (K, M, N, inputs), to float32 (K, M, N, actions)."""
        values: Tensor = self.layers(observed.flatten(1, 2)).view(*observed.shape[:3], -1)
        return values


class Mixer(nn.Module):
    """A net for the team's value, monotonic in each agent's value, with weights from the state, for K learners.

    >>> Mixer(3, 48, 2)(torch.zeros(3, 7, 2), torch.zeros(3, 7, 48)).shape
    torch.Size([3, 7])
    """

    def __init__(self, learners: int, inputs: int, agents: int, width: int = 32) -> None:
        super().__init__()
        self.shape = (agents, width)
        self.weights, self.bias = Dense(learners, inputs, agents * width), Dense(learners, inputs, width)
        self.output = Dense(learners, inputs, width)
        self.level = nn.Sequential(Dense(learners, inputs, width), nn.ReLU(), Dense(learners, width, 1))

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Mix the values of the agents' actions, float32 (K, M, N), in states, float32 (K, M, inputs)."""
        weights = self.weights(state).abs().view(*state.shape[:2], *self.shape)
        hidden = elu((values[..., None] * weights).sum(2) + self.bias(state))
        mixed: Tensor = (hidden * self.output(state).abs()).sum(2) + self.level(state).squeeze(2)
        return mixed


class Replay:
    """The last T steps of all worlds, in order."""

    observed: Tensor
    states: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    ended: Tensor
    played: Tensor  # 0 where the env ignored the actions because it reset the world

    def __init__(self, steps: int) -> None:
        self.steps, self.count = steps, 0

    def add(self, **step: Tensor) -> None:
        """Keep a step: arrays (K, E, ...), of E worlds of each of K learners."""
        for name, array in step.items():
            if not self.count:
                setattr(self, name, torch.zeros(self.steps, *array.shape, dtype=array.dtype))
            getattr(self, name)[self.count % self.steps] = array
        self.count += 1

    def sample(
        self, rows: int, n_step: int, gamma: float
    ) -> tuple[tuple[Tensor, ...], Tensor, Tensor, tuple[Tensor, ...]]:
        """Sample steps; return their indices, n-step returns (K, M, N), the discount and indices of the next state."""
        learners, worlds, agents = self.rewards.shape[1:]
        back = torch.randint(n_step + 1, min(self.count, self.steps) + 1, (learners, rows))
        first = now = self.count - back
        k, e = torch.arange(learners)[:, None], torch.randint(worlds, (learners, rows))
        returns, discount = torch.zeros(learners, rows, agents), torch.ones(learners, rows)
        going = torch.ones(learners, rows, dtype=torch.bool)
        for _ in range(n_step):
            at = (now % self.steps, k, e)
            returns += (going * discount)[..., None] * self.rewards[at]
            discount = torch.where(going, discount * gamma * (1 - self.terminated[at]), discount)
            now = now + going.long()
            going = going & ~self.ended[at]
        return (first % self.steps, k, e), returns, discount, (now % self.steps, k, e)


class Worlds:
    """The worlds of K learners, E for each, with cells as single numbers."""

    def __init__(self, learners: int, worlds: int, seed: int, **settings: Any) -> None:
        fields: dict[str, Any] = {"walls": MAP, "on_target": "park", "reward": "shared", "max_cycles": 30} | settings
        fields |= {"observe": ("agent", "target"), "allow_stay": True}
        self.envs = multigrid.vector_env(learners * worlds, **fields)
        config = self.envs.config
        if config.on_target not in ("park", "stay"):
            raise ValueError(f"on_target is {config.on_target!r}; expected 'park' or 'stay', where all end together")
        if config.max_cycles is None:
            raise ValueError("max_cycles is None, with which an evaluation might never end; expected an integer")
        self.shape = (learners, worlds, config.num_agents)
        self.observations, _ = self.envs.reset(seed=seed)
        self.over = torch.zeros(learners, worlds, dtype=torch.bool)

        cells, self.num_actions = config.width * config.height, config.num_actions
        self.inputs = 2 * cells, config.num_agents * cells
        """How many numbers the nets take: of an agent, and of the state."""

    def encode(self, cells: Tensor) -> Tensor:
        """Turn observations or states of `look`, int64 (..., n), into zeros and ones, float32 (..., n * cells)."""
        return one_hot(cells, self.inputs[0] // 2).float().flatten(-2)

    def _numbered(self, cells: Any) -> Tensor:
        return torch.as_tensor(cells[..., 0] * self.envs.config.height + cells[..., 1]).view(self.shape)

    def look(self) -> dict[str, Tensor]:
        """Return the observations, int64 (K, E, N, 2), and the state, int64 (K, E, N), which only training uses."""
        observed = [self._numbered(self.observations[part]) for part in ("agent", "target")]
        return {"observed": torch.stack(observed, -1), "states": self._numbered(self.envs.state())}

    def step(self, actions: Tensor) -> dict[str, Tensor]:
        """Play actions, int64 (K, E, N). A world whose episode is over resets and ignores its actions."""
        self.observations, *results, _ = self.envs.step(actions.flatten().numpy())
        rewards, terminated, truncated = (torch.as_tensor(array).view(self.shape) for array in results)
        # All agents of a world end together, so the flags of the first agent are those of the world.
        played, self.over = ~self.over, (terminated | truncated)[..., 0]
        flags = {"terminated": terminated[..., 0].float(), "ended": self.over, "played": played.float()}
        return {"rewards": rewards.float()} | flags


class VectorWorlds(Worlds):
    """The worlds of K learners, E for each, whose agents observe vectors and end together; the state is all vectors.

    Raises ValueError if agents of path finding end apart.
    """

    def __init__(self, learners: int, worlds: int, seed: int, config: multigrid.GridConfig) -> None:
        if config.game is None and config.on_target not in ("park", "stay"):
            raise ValueError(f"on_target is {config.on_target!r}; expected 'park' or 'stay', where all end together")
        self.envs = multigrid.vector_env(learners * worlds, config)
        self.shape = (learners, worlds, config.num_agents)
        self.observations, _ = self.envs.reset(seed=seed)
        self.over = torch.zeros(learners, worlds, dtype=torch.bool)
        (size,) = self.envs.single_observation_space.shape or ()
        self.inputs = size, size * config.num_agents
        self.num_actions = config.num_actions

    def encode(self, cells: Tensor) -> Tensor:
        """Return vectors as they are."""
        return cells

    def look(self) -> dict[str, Tensor]:
        """Return the observations, float32 (K, E, N, D), and the state, float32 (K, E, N * D)."""
        observed = torch.from_numpy(self.observations).view(*self.shape, -1)
        return {"observed": observed, "states": observed.flatten(2)}


@torch.no_grad()
def evaluate(agents: Agents, learners: int, episodes: int = 1, seed: int = 0, **settings: Any) -> np.ndarray:
    """Play greedily on seeds that training did not use. On a map with fixed starts all episodes are the same.

    Returns:
        The share of each learner's episodes in which both agents arrive, float64 (K,).
    """
    worlds = Worlds(learners, episodes, seed, **settings)
    arrived = torch.zeros(learners, episodes, dtype=torch.bool)
    over = arrived.clone()
    while not over.all():
        flags = worlds.step(agents(worlds.encode(worlds.look()["observed"])).argmax(-1))
        arrived |= flags["terminated"].bool() & ~over
        over |= flags["ended"]
    return arrived.double().mean(1).numpy()


@dataclasses.dataclass(frozen=True)
class Options:
    """The settings of a training.

    Raises:
        ValueError: the method is unknown, or a number of steps or checks is below 1.
    """

    method: str = "qmix"
    """"qmix", "vdn" (the sum of the agents' values) or "iql" (independent Q-learning)."""
    steps: int = 1500
    """Number of steps of each world; each but the first 50 is followed by a gradient step."""
    learners: int = 1
    """K, the number of learners, trained in one batch."""
    seed: int = 0
    """The seed of the nets, the exploration and the worlds."""
    worlds: int = 32
    """E, the number of worlds of each learner."""
    n_step: int = 1
    """Number of rewards in a target before it bootstraps; not corrected for exploration."""
    gamma: float = 0.9
    """The discount."""
    learning_rate: float = 3e-3
    """Adam's initial learning rate; it falls linearly almost to 0."""
    exploring: float = 0.6
    """The share of the steps over which the share of random actions falls from 1 to `epsilon`."""
    epsilon: float = 0.05
    """The share of random actions afterwards."""
    batch: int = 128
    """Number of sampled steps for the gradient of each learner."""
    renew: int = 20
    """Number of steps between two updates of the target nets."""
    checks: int = 10
    """Number of evaluations after the initial one, at most one per step."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}; expected one of {', '.join(METHODS)}")
        if min(self.steps, self.n_step, self.checks) < 1:
            raise ValueError(
                f"steps is {self.steps}, n_step {self.n_step}, checks {self.checks}; expected integers of at least 1"
            )


class Trainer:
    """The nets of K learners, the target nets, and the optimizer."""

    def __init__(self, options: Options, env: Worlds) -> None:
        self.options, self.encode = options, env.encode
        (learners, _, num_agents), (seen, known) = env.shape, env.inputs
        self.agents, self.old_agents = (Agents(learners, seen, env.num_actions) for _ in range(2))
        self.mixer, self.old_mixer = (Mixer(learners, known, num_agents) for _ in range(2))
        weights = [*self.agents.parameters(), *(self.mixer.parameters() if options.method == "qmix" else ())]
        self.adam = torch.optim.Adam(weights, options.learning_rate)
        self.fall = torch.optim.lr_scheduler.LinearLR(self.adam, 1.0, 0.0, options.steps)

    def renew(self) -> None:
        """Copy the nets to the target nets."""
        self.old_agents.load_state_dict(self.agents.state_dict())
        self.old_mixer.load_state_dict(self.mixer.state_dict())

    def explore(self, look: dict[str, Tensor], step: int) -> Tensor:
        """Return the best actions for the observations, int64 (K, E, N), a share of them replaced by random ones."""
        options = self.options
        with torch.no_grad():
            values = self.agents(self.encode(look["observed"]))
        actions: Tensor = values.argmax(-1)
        share = max(options.epsilon, 1 - (1 - options.epsilon) * step / (options.exploring * options.steps))
        return torch.where(torch.rand(actions.shape) < share, torch.randint(values.shape[-1], actions.shape), actions)

    def learn(self, replay: Replay) -> None:
        """Take a gradient step on a sample of the replay."""
        now, returns, discount, later = replay.sample(self.options.batch, self.options.n_step, self.options.gamma)
        values = self.agents(self.encode(replay.observed[now])).gather(3, replay.actions[now][..., None]).squeeze(3)
        with torch.no_grad():
            # Double Q-learning: the new nets select the actions, and the old nets evaluate them.
            observed = self.encode(replay.observed[later])
            best = self.agents(observed).argmax(3, keepdim=True)
            next_values = self.old_agents(observed).gather(3, best).squeeze(3)
        if self.options.method == "iql":
            errors = values - (returns + discount[..., None] * next_values)
        else:
            summed = self.options.method == "vdn"
            with torch.no_grad():
                after = next_values.sum(2) if summed else self.old_mixer(next_values, self.encode(replay.states[later]))
            team = values.sum(2) if summed else self.mixer(values, self.encode(replay.states[now]))
            errors = (team - (returns.mean(2) + discount * after))[..., None]
        # A mean over each learner's steps, and a sum over learners, whose gradients are independent.
        loss = (errors.square() * replay.played[now][..., None]).mean((1, 2)).sum()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.fall.step()


def train(trainer: Trainer, env: Worlds) -> Iterator[int]:
    """Train, and yield the number of steps of each world after each of them."""
    options, replay = trainer.options, Replay(2500)
    for step in range(options.steps):
        if step % options.renew == 0:
            trainer.renew()
        look = env.look()
        actions = trainer.explore(look, step)
        replay.add(**look, actions=actions, **env.step(actions))
        if step >= max(50, options.n_step):
            trainer.learn(replay)
        yield step + 1


def main(method: str = "qmix", *, verbose: bool = True, **settings: Any) -> dict[str, Any]:
    """Train, and evaluate before, during and after the training.

    Args:
        method: as in `Options`.
        verbose: whether to print.
        settings: the other fields of `Options`, and keywords of `multigrid.vector_env` for the worlds.

    Returns:
        ``before`` and ``after``, float64 (K,), as `evaluate` returns them; ``steps`` (checks + 1,), the steps of the
        evaluations, and ``success`` (checks + 1, K), their results; and ``agents``, the nets.

    Raises:
        ValueError: as `Options`, and for worlds whose agents do not end together, or that have no time limit.
    """
    names = {field.name for field in dataclasses.fields(Options)} & settings.keys()
    options = Options(method, **{name: settings.pop(name) for name in names})
    learners, steps, checks = options.learners, options.steps, options.checks
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    env = Worlds(learners, options.worlds, FIRST_TRAINING_SEED + options.seed, **settings)
    trainer = Trainer(options, env)

    curve = [(0, evaluate(trainer.agents, learners, **settings))]
    for step in train(trainer, env):
        if step * checks // steps > (step - 1) * checks // steps:
            curve.append((step, evaluate(trainer.agents, learners, **settings)))
            if verbose:
                print(f"{method} after {step:6,} steps: both arrive with {curve[-1][1].mean():.0%} of the learners")
    marks, success = (np.array(part) for part in zip(*curve, strict=True))
    if verbose:
        print(f"{method}: before training {success[0].mean():.0%}, after {success[-1].mean():.0%}; each: {success[-1]}")
    return {"before": success[0], "after": success[-1], "steps": marks, "success": success, "agents": trainer.agents}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="QMIX, VDN or independent Q-learning where an agent has to give way.")
    parser.add_argument("--method", choices=METHODS, default="qmix")
    for flag, default in (("--steps", 1500), ("--learners", 1), ("--seed", 0), ("--n-step", 1)):
        parser.add_argument(flag, type=int, default=default)
    main(**vars(parser.parse_args()))
