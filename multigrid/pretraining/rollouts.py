"""What agents of the network meet in many worlds, each acting by itself, and how good each of their actions was.

An agent's reward is minus the number of steps that it loses: 0 for a step that brings it nearer to its target, -1 for
one that it waits, -2 for one that leads it away, and 0 for a rest on its target. So the sum of the rewards until all
have arrived is minus the cost above that of shortest paths; in a lifelong world, fewer lost steps are more
arrivals. Advantages are estimated as by Schulman et al., ICLR 2016. An action helps or hinders
the agents nearby: a share of the advantages of the agents in sight is added to its own.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning.graph import Tables
from multigrid.planning.network import Patience, Temperatures, Weights, score
from multigrid.planning.surroundings import RADIUS, Surroundings, Windows
from multigrid.policies.learned import TEMPERATURES
from multigrid.pretraining.network import Network
from multigrid.pretraining.worlds import sample_world

__all__ = ["PlaySettings", "Samples", "collect", "estimate_advantages", "share_advantages"]

_NUM_STEPS = 128
_FEWEST_WORLDS, _MOST_WORLDS, _NUM_AGENTS = 2, 48, 96
_CRITIC_BATCH = 4096
_STREAM = 3

_Floats = NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class PlaySettings:
    """How agents play, and how their actions are judged."""

    samples: int = 200_000
    """The least number of new samples a round."""
    discount: float = 0.97
    """The discount of rewards for each step (gamma)."""
    decay: float = 0.95
    """The lambda of the estimated advantages."""
    sharing: float = 0.5
    """The factor of the advantages of the agents in sight."""
    temperatures: Temperatures = TEMPERATURES
    """How random the actions are."""
    resting: float = 0.3
    """The share of the samples of agents on their targets that is kept."""


class Samples(NamedTuple):
    """R windows, and what agents did there."""

    grounds: NDArray[np.uint8]
    """As in `Windows`."""
    agents: NDArray[np.uint16]
    """As in `Windows`."""
    ways: NDArray[np.int32]
    """As in `Windows`."""
    temperatures: _Floats
    """float32 (R,): what the scores were divided by."""
    actions: NDArray[np.uint8]
    """uint8 (R,)."""
    log_probs: _Floats
    """float32 (R,): the logarithms of the actions' probabilities."""
    advantages: _Floats
    """float32 (R,): how much better than expected the actions turned out."""
    returns: _Floats
    """float32 (R,): the critic's targets."""

    @property
    def windows(self) -> Windows:
        """The windows alone."""
        return Windows(self.grounds, self.agents, self.ways)

    def take(self, rows: NDArray[Any]) -> Samples:
        """Return the samples with some indices, or those where bools are True."""
        parts: Any = (part[rows] for part in self)
        return Samples(*parts)


class _Rollout(NamedTuple):
    """T steps of E worlds with N agents, and what the agents see after them."""

    windows: Windows
    """(T + 1) * E * N windows."""
    temperatures: _Floats
    """float32 (T, E, N), as the next four are of such a shape."""
    actions: NDArray[np.uint8]
    log_probs: _Floats
    rewards: _Floats
    is_resting: NDArray[np.bool_]
    """Whether an agent stands on its target where it is to stay, before the step."""
    locations: NDArray[np.int16]
    """int16 (T, E, N, 2): before the step."""
    is_reset: NDArray[np.bool_]
    """bool (T, E): whether the step ignores the actions, and begins an episode."""
    is_solved: NDArray[np.bool_]
    """bool (T, E): whether all agents terminate in the step."""


def collect(
    actor: Weights, critic: Network, seed: int, number: int, play: PlaySettings
) -> tuple[Samples, dict[str, float]]:
    """Return at least ``play.samples`` samples, and means over the one-shot and the lifelong worlds.

    They depend on the arguments alone.

    Args:
        actor: the weights of the network that plays.
        critic: estimates the discounted sum of an agent's later rewards.
        seed: of the training.
        number: of the round.
        play: see `PlaySettings`.

    >>> actor, critic = Network((8, 8, 8)).weights(), Network((8, 8, 8), num_outputs=1)
    >>> samples, means = collect(actor, critic, 0, 0, PlaySettings(samples=1000))
    >>> len(samples.actions) >= 1000, list(means)
    (True, ['reward_stay', 'reward_restart', 'solved'])
    """
    generator = np.random.default_rng([seed, number, _STREAM])
    parts, total = [], 0
    rewards: dict[str, list[float]] = {"reward_stay": [], "reward_restart": []}
    solved = []
    while total < play.samples:
        config = sample_world(generator, _NUM_STEPS)
        rollout = _play(actor, config, play.temperatures, generator)
        samples = _judge(rollout, critic, play, generator)
        parts.append(samples)
        total += len(samples.actions)
        rewards[f"reward_{config.on_target}"].append(float(rollout.rewards[~rollout.is_reset].mean()))
        if config.on_target == "stay":
            solved.append(float(rollout.is_solved.any(axis=0).mean()))
    joined = Samples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    means = {**rewards, "solved": solved}
    return joined, {name: float(np.mean(values)) if values else np.nan for name, values in means.items()}


def estimate_advantages(
    rewards: _Floats, values: _Floats, is_last: NDArray[np.bool_], discount: float, decay: float
) -> _Floats:
    """Return generalized advantage estimates, float32 (T, E, N).

    Args:
        rewards: float32 (T, E, N).
        values: float32 (T + 1, E, N), the sums of later rewards that are expected before and after each step.
        is_last: bool (T, E), whether nothing is expected after a step.
        discount: of rewards for each step (gamma).
        decay: the lambda of the estimates.

    >>> ones, last = np.ones((3, 1, 1), np.float32), np.array([[False], [False], [True]])
    >>> estimate_advantages(ones, np.zeros((4, 1, 1), np.float32), last, 0.5, 1.0).ravel().tolist()
    [1.75, 1.5, 1.0]
    """
    goes_on = (~is_last).astype(np.float32)[:, :, None]
    td_errors = rewards + np.float32(discount) * goes_on * values[1:] - values[:-1]
    advantages: _Floats = np.empty_like(td_errors)
    later = np.zeros_like(td_errors[0])
    for t in reversed(range(len(td_errors))):
        advantages[t] = later = td_errors[t] + np.float32(discount * decay) * goes_on[t] * later
    return advantages


def share_advantages(advantages: _Floats, locations: NDArray[np.int16], sharing: float) -> _Floats:
    """Add to the advantage of each agent those of the others that it sees, times a factor.

    Args:
        advantages: float32 (T, E, N).
        locations: int16 (T, E, N, 2).
        sharing: the factor.

    >>> share_advantages(np.float32([[[1, 2, 4]]]), np.int16([[[[0, 0], [3, 5], [6, 0]]]]), 0.5).tolist()
    [[[2.0, 4.5, 5.0]]]
    """
    apart = np.abs(locations[:, :, :, None] - locations[:, :, None])
    is_seen = (apart <= RADIUS).all(axis=-1).astype(np.float32)
    shared: _Floats = np.float32(sharing) * np.matmul(is_seen, advantages[..., None])[..., 0]
    shared += np.float32(1 - sharing) * advantages
    return shared


def _play(actor: Weights, config: GridConfig, temperatures: Temperatures, generator: np.random.Generator) -> _Rollout:
    """Play worlds."""
    num_agents = config.num_agents
    num_worlds = int(np.clip(_NUM_AGENTS // num_agents, _FEWEST_WORLDS, _MOST_WORLDS))
    envs = MultiGridVectorEnv(config, num_worlds)
    envs.reset(seed=int(generator.integers(2**31)))
    surroundings = Surroundings(Tables(config.is_wall, num_worlds * num_agents), num_worlds, num_agents)
    patience = Patience(temperatures)
    stays, shape = config.on_target == "stay", (num_worlds, num_agents)
    states = envs.get_state()
    seen, steps = [surroundings.observe(states)], []
    for _ in range(_NUM_STEPS):
        divisors = patience.observe(states, seen[-1].ways)
        scores = score(actor, seen[-1]) / divisors[:, None]
        actions = (scores + generator.gumbel(size=scores.shape).astype(np.float32)).argmax(axis=1)
        _, _, terminated, _, infos = envs.step(actions)
        before, states = states, envs.get_state()
        seen.append(surroundings.observe(states))
        is_resting = stays & (before["arrival_step"] >= 0)
        # A lifelong agent that has arrived has another target already.
        ways = np.where(infos["arrived"] == 1, 0, seen[-1].ways)
        nearer = (seen[-2].ways - ways).reshape(shape)
        rewards = nearer - 1 + (is_resting & (states["arrival_step"] >= 0))
        parts = divisors, actions, _log_probs(scores, actions), rewards, is_resting
        is_solved = terminated.reshape(shape).all(axis=1)
        steps.append((*(part.reshape(shape) for part in parts), before["location"], before["episode_over"], is_solved))
    windows = Windows(*(np.concatenate(arrays) for arrays in zip(*seen, strict=True)))
    columns = [np.stack(arrays) for arrays in zip(*steps, strict=True)]
    dtypes = (np.float32, np.uint8, np.float32, np.float32, np.bool_, np.int16, np.bool_, np.bool_)
    return _Rollout(windows, *(column.astype(dtype) for column, dtype in zip(columns, dtypes, strict=True)))


def _log_probs(scores: _Floats, actions: NDArray[np.int64]) -> _Floats:
    """Return the logarithms of the probabilities of actions, float32 (R,)."""
    top = scores.max(axis=1, keepdims=True)
    chosen = np.take_along_axis(scores - top, actions[:, None], axis=1)[:, 0]
    logs: _Floats = chosen - np.log(np.exp(scores - top).sum(axis=1))
    return logs


def _judge(rollout: _Rollout, critic: Network, play: PlaySettings, generator: np.random.Generator) -> Samples:
    """Return the samples of some steps, without those of steps that ignored the actions, and of most rests."""
    shape, windows = rollout.actions.shape, rollout.windows
    values = _evaluate(critic, windows).reshape(-1, *shape[1:])
    is_last = rollout.is_solved | rollout.is_reset
    own = estimate_advantages(rollout.rewards, values, is_last, play.discount, play.decay)
    advantages = share_advantages(own, rollout.locations, play.sharing)
    is_kept = ~rollout.is_reset[:, :, None] & (~rollout.is_resting | (generator.random(shape) < play.resting))
    rows = np.flatnonzero(is_kept)
    parts = (rollout.temperatures, rollout.actions, rollout.log_probs, advantages, own + values[:-1])
    columns: Any = (*windows, *(part.reshape(-1) for part in parts))
    return Samples(*(column[rows] for column in columns))


def _evaluate(critic: Network, windows: Windows) -> _Floats:
    """Return what the critic expects, float32 (R,), computed in parts that fit into caches."""
    columns: Any = windows
    chunks = [slice(start, start + _CRITIC_BATCH) for start in range(0, len(windows.ways), _CRITIC_BATCH)]
    with torch.no_grad():
        return np.concatenate([critic(Windows(*(part[rows] for part in columns))).numpy()[:, 0] for rows in chunks])
