"""The random policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies.policy import Policy

__all__ = ["random_policy"]


def random_policy(generator: np.random.Generator) -> Policy:
    """Return a policy under which every agent takes one of its actions, all equally likely.

    Args:
        generator: for the draws.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(num_agents=2)
    >>> observations, _ = env.reset(seed=0)
    >>> random_policy(np.random.default_rng(0))(env, observations)
    {'agent_0': 3, 'agent_1': 2}
    """

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        del observations
        actions = generator.integers(env.config.num_actions, size=len(env.agents)).tolist()
        return dict(zip(env.agents, actions, strict=True))

    return choose
