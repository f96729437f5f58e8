"""Train IPPO with AgileRL: one actor and one critic for all agents, in worlds that agents leave one by one.

Install: ``pip install "multigrid-marl" "agilerl==2.58.0" peft``. Run: ``python -m examples.agilerl_ippo``.

AgileRL's own AsyncPettingZooVecEnv plays the worlds, each in its own process. It accepts every ``on_target``; under
"leave" the row of an agent that has left is NaN until its world ends. Keep ``flatten=True``: the integers of a Dict
observation have no NaN, and such rows are -9223372036854775808 (found here, as are the following points).

AgileRL assumes (see `MultiAgentAlgorithm.disassemble_grouped_outputs`) that an agent ends in the same step in all
worlds. Here it does not, so this example has its own `rollout`, which also works around other bugs of 2.58.0:

- `AsyncAgentsWrapper`, for agents that join and leave, raises "cannot reshape array" when an agent has left one world
  and not another. It is not used: NaN rows are set to zero, and the learner does not get them.
- `IPPO.learn` orders the observations by agent, but log-probabilities and advantages by step, so that with more than
  one agent an action gets another agent's advantage. All rows are passed as those of one agent.
- `train_multi_agent_on_policy` drops all ends as soon as a world ends, without a warning: advantages continue into the
  next episode. It is not used.
- The last observation of an episode is lost, because the first one of the next episode replaces it. Therefore a
  truncated episode counts as terminated.
- ``import agilerl.algorithms`` needs peft, which AgileRL installs with its extra "llm" only: see the first line.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("agilerl", "peft", "torch", text=__doc__)

import numpy as np
import torch
from agilerl.algorithms import IPPO
from agilerl.vector import AsyncPettingZooVecEnv
from numpy.typing import NDArray

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.training import FIRST_TRAINING_SEED

__all__ = ["arrival_rate", "main", "make_ippo", "rollout"]


def make_ippo(config: multigrid.GridConfig) -> IPPO:
    """Return an untrained IPPO for these worlds; AgileRL shares nets among agents whose names differ by number only."""
    env = multigrid.parallel_env(config)
    return IPPO(
        observation_spaces=[env.observation_space(agent) for agent in env.possible_agents],
        action_spaces=[env.action_space(agent) for agent in env.possible_agents],
        agent_ids=env.possible_agents,
        batch_size=256,
        lr=1e-3,
        gamma=0.95,
    )


def rollout(
    ippo: IPPO, envs: AsyncPettingZooVecEnv, observations: dict[str, NDArray[Any]], steps: int
) -> tuple[tuple[dict[str, NDArray[Any]], ...], dict[str, NDArray[Any]]]:
    """Play `steps` steps; return the experiences for `IPPO.learn`, and the observations after the last step.

    A row is an agent of a world. The steps in which it is present are concatenated, row after row, to M steps, as if
    one agent had played them one after the other. If a row's episode has not ended after the last step, the discounted
    value of the last observation is added to the row's last reward, and the row ends.

    Returns:
        Under the name of the first agent: observations float32 (M, D), actions, log-probabilities, rewards, whether an
        episode begins, and values, all (M,); then an observation (1, D) and an end (1,), which have no effect.
    """
    record: list[tuple[NDArray[Any], ...]] = []
    for _ in range(steps):
        current = observations
        action, log_prob, _, value = ippo.get_action(_without_nan(current))
        observations, reward, terminated, truncated, _ = envs.step(action)
        end = {agent: (terminated[agent] == 1) | (truncated[agent] == 1) for agent in ippo.agent_ids}
        record.append(tuple(_rows(ippo, field) for field in (current, action, log_prob, reward, end, value)))
    states, actions, log_probs, rewards, ended, values = (np.stack(field) for field in zip(*record, strict=True))

    _, _, _, following = ippo.get_action(_without_nan(observations))
    rewards[-1] += ippo.gamma * _rows(ippo, following) * ~ended[-1]
    ended[-1] = True

    # An agent with the reward NaN was absent. Observations become NaN one step late: an agent that leaves gets one.
    there = ~np.isnan(rewards).T
    states, actions, log_probs, rewards, ended, values = (
        field.swapaxes(0, 1)[there] for field in (states, actions, log_probs, rewards, ended, values)
    )
    begins = np.concatenate([[1.0], ended[:-1]])
    experiences = (states, actions, log_probs, rewards, begins, values, states[-1:], np.ones(1))
    return tuple({ippo.agent_ids[0]: field} for field in experiences), observations


def _without_nan(observations: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {agent: np.nan_to_num(rows) for agent, rows in observations.items()}


def _rows(ippo: IPPO, field: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([field[agent] for agent in ippo.agent_ids])


def arrival_rate(ippo: IPPO, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive; actions are sampled."""

    def policy(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        # A row for each agent that is present, all under one name, because they share one net.
        actions, *_ = ippo.get_action({"agent_0": np.stack([observations[agent] for agent in env.agents])})
        return dict(zip(env.agents, np.ravel(actions["agent_0"]).tolist(), strict=True))

    return multigrid.evaluate(config, policy, range(episodes))["success"].mean


def main(*, steps: int = 24_000, seed: int = 0, on_target: OnTarget = "leave", episodes: int = 200) -> dict[str, float]:
    """Train three agents on a small grid, and measure how often all arrive within 20 steps, before and after.

    Args:
        steps: number of steps of all agents together, agents that have left included; only full rollouts of 1536 are
            played.
        seed: of the nets, of the sampled actions, and of the worlds.
        on_target: "leave" or "park".
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "before" and "after": the fractions of held-out episodes in which all agents arrive.

    Raises:
        ValueError: if ``on_target`` is another one.
    """
    if on_target not in ("leave", "park"):
        raise ValueError(
            f"on_target is {on_target!r}, expected 'leave' or 'park', where an arrival is the end of an agent's way"
        )
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - AgileRL shuffles with it
    config = multigrid.GridConfig(size=(5, 4), num_agents=3, on_target=on_target, flatten=True, max_cycles=20)
    worlds, horizon = 4, 128

    ippo = make_ippo(config)
    before = arrival_rate(ippo, config, episodes)
    with closing(AsyncPettingZooVecEnv([lambda: multigrid.parallel_env(config)] * worlds)) as envs:
        observations, _ = envs.reset(seed=FIRST_TRAINING_SEED + worlds * seed)
        for _ in range(steps // (worlds * config.num_agents * horizon)):
            experiences, observations = rollout(ippo, envs, observations, horizon)
            ippo.learn(experiences)
    after = arrival_rate(ippo, config, episodes)
    print(f"all agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
