"""AgileRL: IPPO, one actor and one critic for all agents, in worlds that agents leave one by one.

Install: ``pip install "multigrid-marl" "agilerl==2.58.0" peft``. Run: ``python -m multigrid.examples.agilerl_ippo``.

AgileRL's own AsyncPettingZooVecEnv plays the worlds, each in a process of its own. It takes every ``on_target``; under
"leave" the row of an agent that has arrived is NaN until its world ends. Keep ``flatten=True``: among the integers of a
Dict observation there is no NaN, and such rows come as -9223372036854775808 (found here, as all that follows).

AgileRL says in `MultiAgentAlgorithm.disassemble_grouped_outputs` that it takes an agent to end in the same step in all
worlds. Here it does not; hence `rollout`, with what else is wrong in 2.58.0 worked around:

- `AsyncAgentsWrapper`, made for agents that come and go, raises "cannot reshape array" when an agent has left one world
  and not another. It is not used: rows that are NaN are set to zero, and not learned from.
- `IPPO.learn` takes the observations agent by agent, but log-probabilities and advantages step by step, so that with
  more than one agent an action is judged by another one's advantage. All rows are passed as one agent's.
- `train_multi_agent_on_policy` forgets all ends as soon as a world ends: advantages run on into the next episode, and
  nothing says so. It is not used.
- The last observation of an episode is lost, for that of the next one comes in its place. An episode that ran out of
  time therefore counts as one after which nothing is to come.
- ``import agilerl.algorithms`` needs peft, which AgileRL installs with its extra "llm" only: see the first line.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

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
    """Return an untrained IPPO for such worlds; agents whose names differ in the number only share their nets."""
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
    """Play some steps, and return what `IPPO.learn` takes, and the observations to go on from.

    A row is an agent of a world. The steps in which it was there are laid end to end, then those of the next row, M in
    all, as if one agent had played them one after the other. A row that would go on after the last step has its
    value, discounted, added to its last reward, and ends.

    Returns:
        Under the name of the first agent: observations float32 (M, D), actions, log-probabilities, rewards, whether an
        episode begins, and values, all (M,); then an observation (1, D) and an end (1,), which change nothing.
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

    # Whose reward is NaN was not there. Observations tell it too late: an agent's last one comes as it leaves.
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
        # A row for each agent that is present, all under one name: they share one net.
        actions, *_ = ippo.get_action({"agent_0": np.stack([observations[agent] for agent in env.agents])})
        return dict(zip(env.agents, np.ravel(actions["agent_0"]).tolist(), strict=True))

    return multigrid.evaluate(config, policy, range(episodes))["success"].mean


def main(*, steps: int = 24_000, seed: int = 0, on_target: OnTarget = "leave", episodes: int = 200) -> dict[str, float]:
    """Train three agents on a small grid, and measure how often all arrive within 20 steps, before and after.

    Args:
        steps: of all agents together, those of agents that have left included; whole rounds of 1536 are played.
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
    main()
