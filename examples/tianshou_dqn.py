"""Train DQN with Tianshou 2: one network for all agents, through PettingZoo's agent-by-agent interface (AEC).

Install: ``pip install "multigrid-marl" "tianshou==2.0.1"`` (Python 3.11 or newer). Run:
``python -m examples.tianshou_dqn``.

``on_target`` may be "park" or "stay". Under "leave", Tianshou ends the whole episode when the first agent arrives, and
a further step raises an AssertionError (found here, in 2.0.1).

Bugs of 2.0.1, worked around in `make_dqn`:

- Each turn is stored with the next observation of the agent that acts next, not of the agent that acted
  (thu-ml/tianshou, pull request 812, closed). With ``n_step_return_horizon=num_agents``, a return ends at the agent's
  own next turn. The exception are the last turns before a time limit, whose returns end at the first agent's last
  observation. These turns are few, so this is not worked around.
- `MultiAgentPolicy` does not set its policies to training mode, so none of them explores, and ``eps_training`` has no
  effect (found here; similar to thu-ml/tianshou, pull request 968). Instead, ``eps_inference`` is set for training, and
  evaluations call the net directly.
"""

from __future__ import annotations

import logging
from typing import Any

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("tianshou", "torch", text=__doc__)

import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.training import FIRST_TRAINING_SEED

__all__ = ["arrival_rate", "main", "make_dqn"]


def make_dqn(config: multigrid.GridConfig) -> DQN[Any]:
    """Return a DQN with one net, which all agents of a world share."""
    env = multigrid.parallel_env(config)
    policy = DiscreteQLearningPolicy(
        model=Net(
            state_shape=env.observation_space("agent_0").shape,
            action_shape=config.num_actions,
            hidden_sizes=[64, 64],
        ),
        action_space=env.action_space("agent_0"),
        eps_inference=0.2,  # in training: see the top
    )
    return DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=0.95,  # for each turn, not for each step of the world
        n_step_return_horizon=config.num_agents,  # see the top
        target_update_freq=50,
    )


def arrival_rate(dqn: DQN[Any], config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive.

    A tenth of the actions is random: with greedy actions, two agents that block each other would do so for ever.
    """
    generator = np.random.default_rng(0)

    def policy(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        with torch.no_grad():
            values, _ = dqn.policy.model(np.stack([observations[agent] for agent in env.agents]))
        random = generator.integers(config.num_actions, size=len(values))
        actions = np.where(generator.random(len(values)) < 0.1, random, values.argmax(dim=1).numpy())
        return dict(zip(env.agents, actions.tolist(), strict=True))

    return multigrid.evaluate(config, policy, range(episodes))["success"].mean


def main(*, steps: int = 24_000, seed: int = 0, on_target: OnTarget = "park", episodes: int = 200) -> dict[str, float]:
    """Train two agents on a small grid, and measure how often both arrive within 15 steps, before and after.

    Args:
        steps: number of turns of both agents together.
        seed: of the net, of the exploration, and of the worlds.
        on_target: "park" or "stay".
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "before" and "after": the fractions of held-out episodes in which both agents arrive.

    Raises:
        ValueError: if ``on_target`` is another one.
    """
    if on_target not in ("park", "stay"):
        raise ValueError(
            f"on_target is {on_target!r}, expected 'park' or 'stay', for Tianshou ends an episode as an agent leaves, "
            "and under 'restart' nobody has arrived for good"
        )
    logging.getLogger("tianshou").setLevel(logging.ERROR)  # a warning for every collection: returns are by agent
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - Tianshou explores and samples with it
    config = multigrid.GridConfig(size=(4, 3), num_agents=2, on_target=on_target, flatten=True, max_cycles=15)

    def make() -> PettingZooEnv:
        return PettingZooEnv(multigrid.env(config))

    envs = DummyVectorEnv([make] * 32)
    envs.seed(FIRST_TRAINING_SEED + len(envs) * seed)
    dqn = make_dqn(config)
    agents = MultiAgentOffPolicyAlgorithm(algorithms=[dqn] * config.num_agents, env=make())

    before = arrival_rate(dqn, config, episodes)
    agents.run_training(
        OffPolicyTrainerParams(
            training_collector=Collector(agents, envs, VectorReplayBuffer(20_000, len(envs)), exploration_noise=True),
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=128,
            update_step_num_gradient_steps_per_sample=1 / 16,
            batch_size=256,
            multi_agent_return_reduction=lambda returns: returns.mean(axis=-1),
            show_progress=False,
            verbose=False,
        )
    )
    after = arrival_rate(dqn, config, episodes)
    print(f"both agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
