"""The policies that need no files, by the names that the command line gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, get_args

import numpy as np

from multigrid import planning
from multigrid._checks import check_name
from multigrid.policies._baselines import Policy, random_policy, shortest_path_policy
from multigrid.policies._learned import MESSAGES, POLICY_STREAM, pretrained

PolicyFactory: TypeAlias = Callable[[int], Policy]
"""A function that returns the policy of an episode for the episode's seed."""


def _make_planner(method: planning.ControllerMethod) -> Callable[[np.random.Generator], Policy]:
    return lambda generator: planning.controller(method, seed=int(generator.integers(2**32)))


BUILT_IN: dict[str, Callable[[np.random.Generator], Policy]] = {
    "random": random_policy,
    "shortest-path": shortest_path_policy,
    **{method: _make_planner(method) for method in get_args(planning.ControllerMethod)},
    "pretrained": lambda generator: pretrained(seed=generator),
    "pretrained-messages": lambda generator: pretrained(messages=MESSAGES, seed=generator),
    "pretrained-shield": lambda generator: pretrained(shield=True, seed=generator),
}
"""The built-in policies, by name."""


def built_in_factory(name: str) -> PolicyFactory:
    """Return the factory of the policy with a name in `BUILT_IN`.

    Raises:
        ValueError: there is no such policy.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(walls="a.A", max_cycles=9)
    >>> observations, _ = env.reset()
    >>> built_in_factory("shortest-path")(0)(env, observations)
    {'agent_0': 0}
    """
    make = BUILT_IN[check_name("policy", name, tuple(BUILT_IN))]
    return lambda seed: make(np.random.default_rng([seed, POLICY_STREAM]))
