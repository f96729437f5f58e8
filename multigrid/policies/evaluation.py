"""Evaluate a policy: play one episode for each seed, and estimate the mean of each metric over the episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from multigrid._checks import check_seed
from multigrid.config import GridConfig
from multigrid.core.metrics import METRICS
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy
from multigrid.policies.intervals import UNDEFINED, Estimate, bootstrap, wilson

__all__ = ["MEASURES", "estimate_measures", "evaluate", "measure_episode"]

MEASURES = ("success", *METRICS[2:])
"""The metrics of an episode as a whole: those of `multigrid.core.metrics` that are not per agent, and *success*, which
equals *csr*: 1 if all agents are successful, else 0."""

_RATES = ("success", "csr")


def evaluate(config: GridConfig, policy: Policy, seeds: Iterable[int]) -> dict[str, Estimate]:
    """Play one episode for each seed and return the mean of each metric, with its 95 % confidence interval.

    The episodes are played one after the other. A policy with a random generator continues its stream from episode to
    episode, so the result depends on the state of the generator at the call; equal states give equal results.

    Args:
        config: the world; its `max_cycles` is a number, so that every episode ends.
        policy: a function of a `MultiGridEnv` and its last observations that returns an action for each agent in
            ``env.agents``; see `multigrid.policies`.
        seeds: K integers of at least 0, at least one.

    Returns:
        An `Estimate` for each of "success", "csr", "isr", "sum_of_costs", "makespan" and "throughput", as
        `multigrid.core.metrics` defines them, over K episodes. A metric that `on_target` leaves undefined is all NaN.

    Raises:
        TypeError: `config` is not a GridConfig, `policy` cannot be called, or a seed is not an integer.
        ValueError: there are no seeds, a seed is negative, or `max_cycles` is None. Invalid actions of the policy cause
            the errors of `MultiGridEnv.step`.

    >>> from multigrid.policies import shortest_path_policy
    >>> config = GridConfig(size=(6, 4), num_agents=3)
    >>> table = evaluate(config, shortest_path_policy(np.random.default_rng(0)), seeds=range(20))
    >>> table["success"].mean, round(table["success"].low, 2), table["success"].high
    (1.0, 0.84, 1.0)
    """
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is of type {type(config).__name__}; expected a GridConfig")
    if not callable(policy):
        raise TypeError(f"policy is of type {type(policy).__name__}; expected a function of an env and observations")
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds are of type {type(seeds).__name__}; expected integers, such as range(100)")
    if config.max_cycles is None:
        raise ValueError("max_cycles is None, but each episode is played to its end; expected a number of steps")
    episode_seeds = [check_seed(seed) for seed in seeds]
    if not episode_seeds:
        raise ValueError("seeds are empty; expected at least one integer")
    env = MultiGridEnv(config)
    episodes = []
    for seed in episode_seeds:
        observations, _ = env.reset(seed=seed)
        while env.agents:
            observations, *_ = env.step(policy(env, observations))
        episodes.append(measure_episode(env.metrics()))
    return estimate_measures(episodes)


def measure_episode(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the `MEASURES` of an episode from the metrics that `MultiGridEnv.metrics` returned.

    >>> env = MultiGridEnv(GridConfig(walls="a.A", max_cycles=9))
    >>> _ = env.reset(), env.step({"agent_0": 0}), env.step({"agent_0": 0})
    >>> measure_episode(env.metrics())["success"], measure_episode(env.metrics())["makespan"]
    (1.0, 2.0)
    """
    return {name: float(metrics["csr" if name == "success" else name]) for name in MEASURES}


def estimate_measures(episodes: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """Return the mean and the interval of each of the `MEASURES` over K >= 1 episodes; NaN if one value is NaN.

    >>> one = {"success": 1.0, "csr": 1.0, "isr": 1.0, "sum_of_costs": 7.0, "makespan": 4.0, "throughput": float("nan")}
    >>> estimate_measures([one, one])["sum_of_costs"]
    Estimate(mean=7.0, low=7.0, high=7.0)
    """
    estimates = {}
    for name in MEASURES:
        values = np.array([episode[name] for episode in episodes], dtype=np.float64)
        interval = wilson if name in _RATES else bootstrap
        estimates[name] = UNDEFINED if np.isnan(values).any() else interval(values)
    return estimates
