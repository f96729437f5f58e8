"""PPO with shared weights for worlds of several sizes and numbers of agents: what make_results.py trains.

Every agent of every world acts by one and the same network. It sees the part "view" of its observation, the window
around it, and besides, as in DHC (Ma, Luo and Ma, ICRA 2021), which of its moves bring it nearer to its target on a
shortest path around the walls. It sees the same of the other agents in its window, so that it knows who wants to
pass. It also gets how many steps are left, and which share of all agents is still away from its target. Nothing
else is exchanged, and nobody plans.

The reward of the rules, 1 to everyone when all stand on their targets, is rare in the beginning. So each agent also
gets the difference of a potential of its own, how far its target is (Ng, Harada and Russell, ICML 1999), and pays for
each step that does not end there: these are what the sum of costs counts.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import multigrid
from multigrid.actions import DIRECTIONS, Action, Outcome
from multigrid.config import GridConfig
from multigrid.core.metrics import METRICS
from multigrid.evaluation._estimates import measure_episode
from multigrid.maps._cells import UNREACHABLE, WALL, distances_to

_Floats = NDArray[np.float32]

_MOVES = DIRECTIONS[: Action.STAY]
_ARRIVED = len(_MOVES)
_KINDS = _ARRIVED + 1
# From the bits of an agent (bit a: action a brings it nearer; bit 4: it has arrived) to as many zeros and ones.
_UNPACKED = (np.arange(2**_KINDS)[:, None] >> np.arange(_KINDS) & 1).astype(np.float32)
_OUTCOMES = np.eye(len(Outcome), dtype=np.float32)
# Keeps the draws of actions apart from those of the world, which has the episode's own seed.
_PLAY_STREAM, _TRAIN_STREAM = 2, 3


@dataclasses.dataclass(frozen=True)
class Training:
    """How a network is trained."""

    steps: int
    """How many steps of agents in all."""
    seed: int
    """Of the weights, the draws of actions and the worlds."""
    batch: int
    """How many steps of agents a step of the optimiser is made of."""
    rollout: int = 32
    epochs: int = 2
    learning_rate: float = 7e-4
    discount: float = 0.99
    smoothing: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    """The weight of the policy's entropy, in the beginning; it falls, as the learning rate does."""
    nearer: float = 0.05
    """The reward for one cell nearer to the target."""
    away: float = 0.01
    """The cost of a step that does not end on the target."""


class Sight:
    """What the agents of worlds of one configuration see: float32 (rows, `num_seen`)."""

    def __init__(self, config: GridConfig) -> None:
        """Measure all ways of all maps."""
        regions, radius = config.components, config.view_radius
        self.config = config
        self.far = np.stack([_all_ways(one.shape, one.tobytes()) for one in regions])
        around = np.pad(regions, ((0, 0), (1, 1), (1, 1)), constant_values=WALL)
        bits = (self.far == 0).astype(np.uint8) << _ARRIVED
        width, height = regions.shape[1:]
        for action, (dx, dy) in enumerate(_MOVES.tolist()):
            free = around[:, 1 + dx : 1 + dx + width, 1 + dy : 1 + dy + height].reshape(len(regions), 1, -1) != WALL
            there = np.roll(self.far.reshape(*self.far.shape[:2], width, height), (-dx, -dy), axis=(2, 3))
            bits |= (free & (there.reshape(self.far.shape) < self.far)).astype(np.uint8) << action
        self.bits = bits
        self.stride = height + 2 * radius
        self.cells = (width + 2 * radius) * self.stride
        offsets = np.arange(-radius, radius + 1)
        self.offsets = (offsets[:, None] * self.stride + offsets).ravel()

    def ways(self, state: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return how many moves each agent is away from its target: int64 (worlds, agents)."""
        far: NDArray[np.int64] = self.far[self._places(state)].astype(np.int64)
        return far

    def __call__(self, state: Mapping[str, Any], view: NDArray[np.uint8]) -> _Floats:
        """Return what the agents see.

        Args:
            state: of all worlds, as `MultiGridVectorEnv.get_state`.
            view: uint8 (rows, 3, 2r+1, 2r+1), the part of the observations.
        """
        config, places = self.config, self._places(state)
        worlds, agents = state["location"].shape[:2]
        bits, far = self.bits[places], self.far[places]
        x, y = np.moveaxis(state["location"] + config.view_radius, -1, 0)
        standing = x * self.stride + y
        shown = np.zeros((worlds, self.cells), dtype=np.uint8)
        which = np.arange(worlds)[:, None]
        shown[which, standing] = bits
        others = _UNPACKED[shown[which[..., None], standing[..., None] + self.offsets]]
        assert config.max_cycles is not None
        left = 1 - np.broadcast_to(state["steps"][:, None], far.shape) / config.max_cycles
        away = np.broadcast_to((bits >> _ARRIVED == 0).mean(axis=1, keepdims=True), far.shape)
        numbers = np.stack([np.minimum(far, 20) / 20, left, away], axis=-1)
        rows = worlds * agents
        parts = (view, others, _OUTCOMES[state["outcomes"]], numbers)
        return np.concatenate([part.reshape(rows, -1).astype(np.float32, copy=False) for part in parts], axis=1)

    def _places(self, state: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        cells = (state[name][..., 0] * self.config.height + state[name][..., 1] for name in ("target", "location"))
        return state["map_index"][:, None], *cells


def num_seen(config: GridConfig) -> int:
    """Return how many numbers an agent sees."""
    return (3 + _KINDS) * (2 * config.view_radius + 1) ** 2 + len(Outcome) + 3


@functools.lru_cache(maxsize=1024)
def _all_ways(shape: tuple[int, int], cells: bytes) -> NDArray[np.int16]:
    """Distances by target and cell, int16 (W * H, W * H); the largest number where there is no way."""
    none, regions = np.iinfo(np.int16).max, np.frombuffer(cells, dtype=np.int32).reshape(shape)
    far = np.full((regions.size, regions.size), none, dtype=np.int16)
    for x, y in np.argwhere(regions != WALL).tolist():
        ways = distances_to(regions, (x, y)).ravel()
        far[x * regions.shape[1] + y] = np.where(ways == UNREACHABLE, none, ways)
    return far


class Network(nn.Module):
    """From what an agent sees to the logits of its actions, and the value of its state."""

    def __init__(self, num_inputs: int, num_actions: int) -> None:
        super().__init__()

        def layers(width: int, outputs: int) -> nn.Sequential:
            return nn.Sequential(
                nn.Linear(num_inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)
            )

        self.actor, self.critic = layers(128, num_actions), layers(64, 1)
        with torch.no_grad():
            self.actor[-1].weight.mul_(0.01)

    def log_probabilities(self, seen: torch.Tensor) -> torch.Tensor:
        """Return those of all actions: float32 (rows, actions)."""
        return torch.log_softmax(self.actor(seen), dim=-1)

    def draw(self, seen: _Floats, generator: np.random.Generator) -> tuple[NDArray[np.int64], _Floats]:
        """Draw an action for each row; return them and the logarithms of their probabilities."""
        with torch.no_grad():
            logarithms = self.log_probabilities(torch.from_numpy(seen)).numpy()
        noise = generator.gumbel(size=logarithms.shape)
        actions: NDArray[np.int64] = (logarithms + noise).argmax(axis=1)
        return actions, logarithms[np.arange(len(actions)), actions]


class Cell:
    """Worlds of one configuration, in training."""

    def __init__(self, config: GridConfig, rows: int, seed: int) -> None:
        """Begin their first episodes."""
        self.envs = multigrid.vector_env(max(1, rows // config.num_agents), config, autoreset_mode="SameStep")
        self.sight = Sight(config)
        observations, _ = self.envs.reset(seed=seed)
        self._look(observations)

    def _look(self, observations: Mapping[str, Any]) -> None:
        state = self.envs.get_state()
        self.seen = self.sight(state, observations["view"])
        self.ways = self.sight.ways(state).reshape(-1)

    def step(self, actions: NDArray[np.int64], training: Training) -> tuple[NDArray[Any], NDArray[Any]]:
        """Play a step; return the rewards of the rows, with what is added to them, and which rows have ended."""
        before = self.ways
        observations, rewards, terminated, truncated, _ = self.envs.step(actions)
        self._look(observations)
        ended = terminated | truncated
        # Those who all stand on their targets are no way from them; where time ran out, the last step adds nothing.
        after = np.where(terminated, 0, np.where(truncated, before, self.ways))
        shaped = training.nearer * (before - training.discount * after) - training.away * (after > 0)
        return rewards + shaped, ended


def train(
    configs: Sequence[GridConfig], rows: Sequence[int], training: Training, report: Callable[[float, float], None]
) -> Network:
    """Train a network on worlds of several configurations at once.

    Args:
        configs: which all give an agent the same to see.
        rows: about how many agents of each configuration play at once.
        training: how.
        report: is called ten times with the share that is done, and the mean reward of a step.
    """
    torch.manual_seed(training.seed)
    generator = np.random.default_rng([training.seed, _TRAIN_STREAM])
    cells = [
        Cell(config, count, seed=training.seed * 1_000_000 + 10_000 * number)
        for number, (config, count) in enumerate(zip(configs, rows, strict=True))
    ]
    ends = np.cumsum([len(cell.seen) for cell in cells])
    network = Network(num_seen(configs[0]), configs[0].num_actions)
    optimizer = torch.optim.Adam(network.parameters(), lr=training.learning_rate, eps=1e-5)
    rollouts = max(1, round(training.steps / (training.rollout * int(ends[-1]))))
    for number in range(rollouts):
        left = 1 - number / rollouts
        optimizer.param_groups[0]["lr"] = training.learning_rate * left
        now = dataclasses.replace(training, entropy=training.entropy * max(left, 0.05))
        seen, actions, drawn, rewards, ended = _rollout(cells, ends, network, generator, training)
        with torch.no_grad():
            values = network.critic(torch.from_numpy(seen)).squeeze(-1).numpy()
        advantages = _advantages(values, rewards, ended, training)
        batch = (seen[:-1], actions, drawn, advantages, advantages + values[:-1])
        _improve(network, optimizer, [part.reshape(-1, *part.shape[2:]) for part in batch], generator, now)
        if (number + 1) * 10 // rollouts > number * 10 // rollouts:
            report((number + 1) / rollouts, float(rewards.mean()))
    return network


def _rollout(
    cells: list[Cell], ends: NDArray[np.int64], network: Network, generator: np.random.Generator, training: Training
) -> tuple[NDArray[Any], ...]:
    seen, actions, drawn, rewards, ended = [np.concatenate([cell.seen for cell in cells])], [], [], [], []
    for _ in range(training.rollout):
        chosen, logarithms = network.draw(seen[-1], generator)
        parts = np.split(chosen, ends[:-1])
        outcomes = [cell.step(part, training) for cell, part in zip(cells, parts, strict=True)]
        seen.append(np.concatenate([cell.seen for cell in cells]))
        actions.append(chosen)
        drawn.append(logarithms)
        rewards.append(np.concatenate([one for one, _ in outcomes]))
        ended.append(np.concatenate([one for _, one in outcomes]))
    return tuple(np.stack(part) for part in (seen, actions, drawn, rewards, ended))


def _advantages(
    values: _Floats, rewards: NDArray[np.float64], ended: NDArray[np.bool_], training: Training
) -> NDArray[np.float32]:
    """Generalised advantage estimates. The steps left are seen, so that their end is an end."""
    advantages = np.zeros(rewards.shape, dtype=np.float32)
    following = np.zeros(rewards.shape[1])
    for step in reversed(range(len(rewards))):
        goes_on = ~ended[step]
        change = rewards[step] + training.discount * goes_on * values[step + 1] - values[step]
        following = change + training.discount * training.smoothing * goes_on * following
        advantages[step] = following
    return advantages


def _improve(
    network: Network,
    optimizer: torch.optim.Optimizer,
    batch: list[NDArray[Any]],
    generator: np.random.Generator,
    training: Training,
) -> None:
    tensors = [torch.from_numpy(part) for part in batch]
    for _ in range(training.epochs):
        order = torch.from_numpy(generator.permutation(len(batch[0])))
        for rows in order.split(training.batch):
            seen, actions, drawn, advantages, returns = (part[rows] for part in tensors)
            logarithms = network.log_probabilities(seen)
            chosen = logarithms.gather(1, actions[:, None]).squeeze(1)
            ratio = torch.exp(chosen - drawn)
            gain = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            kept = ratio.clamp(1 - training.clip, 1 + training.clip)
            loss = -torch.minimum(ratio * gain, kept * gain).mean()
            loss = loss + 0.5 * nn.functional.mse_loss(network.critic(seen).squeeze(1), returns)
            loss = loss + training.entropy * (logarithms.exp() * logarithms).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()


def play_all(network: Network, config: GridConfig, seeds: Sequence[int]) -> list[dict[str, float]]:
    """Play one episode for each seed, actions drawn from the network's policy.

    Returns:
        The measures of each episode, as `multigrid.evaluation._estimates.measure_episode`.
    """
    sight, generator = Sight(config), np.random.default_rng([seeds[0], _PLAY_STREAM])
    envs = multigrid.vector_env(len(seeds), config, autoreset_mode="SameStep")
    observations, _ = envs.reset(seed=list(seeds))
    measured: dict[int, dict[str, float]] = {}
    while len(measured) < len(seeds):
        actions, _ = network.draw(sight(envs.get_state(), observations["view"]), generator)
        observations, _, _, _, infos = envs.step(actions)
        if "final_info" not in infos:
            continue
        figures = infos["final_info"]
        for first in np.flatnonzero(infos["_final_info"])[:: config.num_agents].tolist():
            last = first + config.num_agents
            by_name = {name: figures[name][first] for name in METRICS} | {"success": figures["success"][first:last]}
            # Worlds that are done play on, with episodes that nobody asked for.
            measured.setdefault(first // config.num_agents, measure_episode(by_name))
    return [measured[number] for number in range(len(seeds))]
