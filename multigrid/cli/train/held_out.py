"""How well a policy plays episodes that it was not trained on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy

if TYPE_CHECKING:
    from stable_baselines3.common.policies import ActorCriticPolicy

__all__ = ["Evaluation", "HeldOut", "drawn_policy", "evaluate", "play_episodes", "play_held_out", "record_frames"]

_HELD_FRAMES = 2
"""How many frames longer than the others the last one of an episode is shown."""


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Figures over a number of episodes."""

    episodes: int
    """How many episodes were played."""
    success_rate: float
    """The fraction of episodes in which all agents arrived (under *restart*: 0, for they never all do)."""
    mean_steps: float
    """Steps an episode."""
    mean_return: float
    """The sum of an agent's rewards, averaged over agents and episodes."""


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """K episodes, one by one."""

    success: NDArray[np.bool_]
    """bool (K,), whether all agents arrived."""
    steps: NDArray[np.float64]
    """float64 (K,)."""
    returns: NDArray[np.float64]
    """float64 (K,), the sum of an agent's rewards, averaged over agents."""

    def summary(self) -> Evaluation:
        """Return the figures over all of them."""
        means = (float(values.mean()) for values in (self.success, self.steps, self.returns))
        return Evaluation(len(self.steps), *means)


def evaluate(policy: ActorCriticPolicy, config: GridConfig, seeds: Sequence[int]) -> Evaluation:
    """Return the figures of `play_held_out`."""
    return play_held_out(policy, config, seeds).summary()


def play_held_out(policy: ActorCriticPolicy, config: GridConfig, seeds: Sequence[int]) -> HeldOut:
    """Play one episode for each seed, the agents drawing their actions from the policy.

    Actions are drawn, not the likeliest taken: two agents in each other's way, both doing what is likeliest, would
    stand there for ever. The draws are seeded by the episodes' seeds, and no global random state is used.
    """
    return play_episodes(config, seeds, lambda asked, draw: _drawn_actions(policy, config, asked, draw))


def play_episodes(
    config: GridConfig,
    seeds: Sequence[int],
    choose: Callable[[list[dict[str, Any]], np.random.Generator], list[int]],
) -> HeldOut:
    """Play one episode for each seed, all of them at the same time.

    Args:
        config: the world, whose episodes end.
        seeds: the episodes' seeds.
        choose: takes the observations of those who act next, by their names, one dictionary for each episode that goes
            on, and a generator seeded by the episodes' seeds; returns an action for each of them all, in that order.
    """
    envs = [MultiGridEnv(config) for _ in seeds]
    observations = [env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)]
    draw = np.random.default_rng([*seeds, 2])
    success, steps, returns = np.zeros(len(envs), dtype=bool), np.zeros(len(envs)), np.zeros(len(envs))
    while live := [index for index, env in enumerate(envs) if env.agents]:
        asked = [_asked(envs[index], observations[index]) for index in live]
        chosen = iter(choose(asked, draw))
        for index in live:
            env = envs[index]
            actions = {agent: next(chosen) for agent in env.agents}
            observations[index], rewards, terminations, _, _ = env.step(actions)
            steps[index] += 1
            returns[index] += sum(rewards.values()) / config.num_agents
            success[index] = bool(terminations) and all(terminations.values())
    return HeldOut(success, steps, returns)


def drawn_policy(policy: ActorCriticPolicy, draw: np.random.Generator) -> Policy:
    """Return a trained policy as one that can be called with an environment, its actions drawn as `evaluate` does."""

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        chosen = _drawn_actions(policy, env.config, [_asked(env, observations)], draw)
        return dict(zip(env.agents, chosen, strict=True))

    return choose


def record_frames(
    policy: ActorCriticPolicy, config: GridConfig, seeds: Sequence[int], max_frames: int
) -> list[NDArray[np.uint8]]:
    """Return the frames of one episode a seed, uint8 (height, width, 3), each last one held for a moment.

    They are whole episodes, as many of them as `max_frames` frames hold; only a first one longer than that is cut.
    """
    frames: list[NDArray[np.uint8]] = []
    for seed in seeds:
        env = MultiGridEnv(config, render_mode="rgb_array")
        observations, _ = env.reset(seed=seed)
        choose = drawn_policy(policy, np.random.default_rng([seed, 1]))
        episode = [env.render()]
        while env.agents and len(episode) < max_frames - _HELD_FRAMES:
            observations, *_ = env.step(choose(env, observations))
            episode.append(env.render())
        episode += episode[-1:] * _HELD_FRAMES
        if len(frames) + len(episode) > max_frames:
            break
        frames += [frame for frame in episode if isinstance(frame, np.ndarray)]
    return frames


def _asked(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, Any]:
    """Return what those see who act next, without the last observations of agents that have left."""
    return {agent: observations[agent] for agent in env.agents}


def _drawn_actions(
    policy: ActorCriticPolicy, config: GridConfig, observations: list[dict[str, Any]], draw: np.random.Generator
) -> list[int]:
    """Return an action for every agent of every env, in their order."""
    agents = [seen for by_agent in observations for seen in by_agent.values()]
    stacked: Any = (
        np.stack(agents)
        if config.flatten
        else {part: np.stack([seen[part] for seen in agents]) for part in config.parts}
    )
    with torch.no_grad():
        tensors, _ = policy.obs_to_tensor(stacked)
        categorical: Any = policy.get_distribution(tensors).distribution
        probabilities = categorical.probs.double().numpy()
    thresholds = probabilities.cumsum(axis=1)
    marks = draw.random((len(probabilities), 1)) * thresholds[:, -1:]
    chosen: list[int] = (thresholds <= marks).sum(axis=1).tolist()
    return chosen
