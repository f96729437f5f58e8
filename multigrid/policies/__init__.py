"""Baselines, which need no training, the pretrained policy that comes with this package, and policies of one's own.

A policy is called before each step of a `MultiGridEnv`, with the environment and its last observations, and returns
an action for every agent in ``env.agents``.

>>> import numpy as np
>>> from multigrid import parallel_env
>>> env, policy = parallel_env(size=(6, 4), num_agents=3), shortest_path_policy(np.random.default_rng(0))
>>> observations, _ = env.reset(seed=0)
>>> while env.agents:
...     observations, *_ = env.step(policy(env, observations))
>>> env.metrics()["csr"]
1.0
"""

from multigrid.policies._baselines import Policy, random_policy, shortest_path_policy
from multigrid.policies._learned import Pretrained, pretrained
from multigrid.policies._partners import Partners
from multigrid.policies._pools import Pool, read_pool, write_pool
from multigrid.policies._team import team
from multigrid.policies._trained import Trained, load

__all__ = [
    "Partners", "Policy", "Pool", "Pretrained", "Trained", "load", "pretrained", "random_policy", "read_pool",
    "shortest_path_policy", "team", "write_pool",
]  # fmt: skip
