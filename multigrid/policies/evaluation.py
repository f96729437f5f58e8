"""Evaluate policies: play one episode for each seed, estimate the mean of each metric, and compare in pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from multigrid._checks import check_seed
from multigrid.config import GridConfig
from multigrid.core.metrics import METRICS
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy
from multigrid.policies.gaps import LowerBounds, estimate_gap, gap_of
from multigrid.policies.intervals import UNDEFINED, Estimate, bootstrap, wilson

__all__ = [
    "FEWEST_PAIRS",
    "MEASURES",
    "Difference",
    "Evaluation",
    "estimate_measures",
    "evaluate",
    "measure_episode",
]

MEASURES = ("success", *METRICS[2:])
"""The metrics of an episode as a whole: those of `multigrid.core.metrics` that are not per agent, and *success*, which
equals *csr*: 1 if all agents are successful, else 0."""

_RATES = ("success", "csr")
_COSTS = ("sum_of_costs", "makespan", "gap")
FEWEST_PAIRS = 6
"""Of fewer differences, all have one sign by chance in more than 5 % of cases: no 95 % interval can exclude 0."""


class Difference(NamedTuple):
    """How a metric differs between two policies, over pairs of episodes with equal seeds."""

    estimate: Estimate
    """The mean of the differences, the first policy's value minus the second's, and its 95 % bootstrap interval; no
    interval for fewer than 6 pairs, or if all pairs differ by the same number."""
    episodes: int
    """The number of pairs: those in which both values are defined; for costs, those that both policies solved."""
    wins: int
    """The number of pairs in which the first policy is better: it has the larger rate, or the smaller cost."""
    losses: int
    """The number of pairs in which the second policy is better."""

    @property
    def ties(self) -> int:
        """The number of pairs with equal values."""
        return self.episodes - self.wins - self.losses

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 lies outside the interval; without one, whether at least 6 pairs all have the same winner."""
        is_one_sided = self.episodes >= FEWEST_PAIRS and self.episodes in (self.wins, self.losses)
        return is_one_sided or self.estimate.low > 0 or self.estimate.high < 0


class _Differences(dict[str, Difference]):
    """A dict with a `Difference` for each metric, whose text has a line for each.

    >>> print(_Differences(makespan=Difference(Estimate(-2.5, -3.25, -1.5), episodes=40, wins=30, losses=2)))
    makespan      -2.50 [-3.25, -1.50]  40 pairs, 30 better, 2 worse
    """

    def __str__(self) -> str:
        """Return a line for each metric: the mean difference, its interval, and the numbers of pairs."""
        return "\n".join(
            f"{name:<13} {_show(one.estimate, '+')}  {one.episodes} pairs, {one.wins} better, {one.losses} worse"
            for name, one in self.items()
        )


class Evaluation(dict[str, Estimate]):
    """The results of K episodes: a dict with an `Estimate` for each metric, and the metrics of each episode.

    Args:
        config: the world.
        seeds: the K seeds of the episodes.
        episodes: the metrics of each, as `measure_episode` returns them, with "gap" or without.

    Raises:
        ValueError: the numbers of seeds and episodes differ, or are 0.

    >>> config = GridConfig(walls="a..A", max_cycles=9)
    >>> result = evaluate(config, lambda env, observations: {"agent_0": 0}, seeds=[4, 7])
    >>> result["makespan"].mean, result.seeds, result.episodes[1]["makespan"]
    (3.0, (4, 7), 3.0)
    """

    def __init__(self, config: GridConfig, seeds: Sequence[int], episodes: Sequence[Mapping[str, float]]) -> None:
        if len(seeds) != len(episodes) or not episodes:
            raise ValueError(f"there are {len(seeds)} seeds and {len(episodes)} episodes; expected as many, at least 1")
        super().__init__(estimate_measures(episodes))
        self.config = config
        self.seeds = tuple(seeds)
        self.episodes = tuple(dict(episode) for episode in episodes)

    def __str__(self) -> str:
        """Return a line for each metric: its mean and interval, or "undefined".

        >>> print(evaluate(GridConfig(walls="a..A", max_cycles=9), lambda env, observations: {"agent_0": 0}, range(2)))
        success       1.00 [0.34, 1.00]
        csr           1.00 [0.34, 1.00]
        isr           1.00
        sum_of_costs  3.00
        makespan      3.00
        throughput    undefined
        """
        return "\n".join(f"{name:<13} {_show(estimate)}" for name, estimate in self.items())

    def difference(self, other: Evaluation) -> dict[str, Difference]:
        """Return the paired differences of each metric, these values minus the other evaluation's.

        Both policies played the same layouts, so the differences vary less than the two means do. "sum_of_costs",
        "makespan" and "gap" are compared over the episodes in which all agents arrived under both policies; the other
        metrics over all episodes.

        Args:
            other: an evaluation in the same world, with the same seeds in the same order. The observations and
                `allow_stay` may differ.

        Returns:
            A dict with a `Difference` for each metric that both evaluations have; ``print`` shows a line for each.

        Raises:
            TypeError: `other` is not an Evaluation.
            ValueError: the worlds or the seeds differ.

        >>> from multigrid.policies import random_policy, shortest_path_policy
        >>> config, seeds = GridConfig(size=(6, 4), max_cycles=30), range(40)
        >>> policies = shortest_path_policy(np.random.default_rng(0)), random_policy(np.random.default_rng(0))
        >>> shortest, random = (evaluate(config, policy, seeds) for policy in policies)
        >>> differences = shortest.difference(random)
        >>> print(differences)  # doctest: +ELLIPSIS
        success       +... pairs, ... better, 0 worse
        ...
        >>> difference = differences["success"]
        >>> difference.excludes_zero, difference.losses, difference.wins + difference.ties
        (True, 0, 40)
        """
        if not isinstance(other, Evaluation):
            raise TypeError(f"other is of type {type(other).__name__}; expected an Evaluation")
        if self.seeds != other.seeds:
            raise ValueError("the seeds differ; expected two evaluations with the same seeds, in the same order")
        if _rules_of(self.config) != _rules_of(other.config):
            raise ValueError(
                "the worlds differ; expected two evaluations in one world, with any observations and actions"
            )
        solved = self._values("success") * other._values("success") == 1
        names = [name for name in self if name in other]
        return _Differences({name: _compare(name, self._values(name), other._values(name), solved) for name in names})

    def _values(self, name: str) -> NDArray[np.float64]:
        """Return a metric of each episode: float64 (K,)."""
        return np.array([episode[name] for episode in self.episodes], dtype=np.float64)


def _show(estimate: Estimate, sign: str = "") -> str:
    """Return a mean and its interval in square brackets; without the interval if there is none."""
    if np.isnan(estimate.mean):
        return "undefined"
    mean, low, high = (format(value, f"{sign}.2f") for value in estimate)
    return mean if np.isnan(estimate.low) else f"{mean} [{low}, {high}]"


def _compare(
    name: str, first: NDArray[np.float64], second: NDArray[np.float64], solved: NDArray[np.bool_]
) -> Difference:
    """Return the difference of a metric; `solved` is bool (K,), whether both policies solved an episode."""
    differences = first - second
    if name in _COSTS:
        differences = differences[solved]
    differences = differences[~np.isnan(differences)]
    count, greater, less = len(differences), int((differences > 0).sum()), int((differences < 0).sum())
    estimate = bootstrap(differences) if count else UNDEFINED
    if count < FEWEST_PAIRS:
        estimate = UNDEFINED._replace(mean=estimate.mean)
    return Difference(estimate, count, *((less, greater) if name in _COSTS else (greater, less)))


def _rules_of(config: GridConfig) -> GridConfig:
    """Return a configuration without what agents see, and whether they can stay: policies may differ in these."""
    return dataclasses.replace(config, observe=("agent",), view_radius=0, flatten=False, allow_stay=False)


@overload
def evaluate(
    config: GridConfig | ParallelEnv[str, Any, Any],
    policy: Policy,
    seeds: Iterable[int],
    *,
    per_episode: Literal[False] = False,
    bounds: LowerBounds | None = None,
) -> Evaluation: ...
@overload
def evaluate(
    config: GridConfig | ParallelEnv[str, Any, Any],
    policy: Callable[[int], Policy],
    seeds: Iterable[int],
    *,
    per_episode: Literal[True],
    bounds: LowerBounds | None = None,
) -> Evaluation: ...


def evaluate(
    config: GridConfig | ParallelEnv[str, Any, Any],
    policy: Any,
    seeds: Iterable[int],
    *,
    per_episode: bool = False,
    bounds: LowerBounds | None = None,
) -> Evaluation:
    """Play one episode for each seed and return the mean of each metric, with its 95 % confidence interval.

    The episodes are played one after the other; each begins with a reset to its seed, so equal seeds give equal layouts
    to all policies. Resets do not seed the policy: if it has a random generator, it continues its stream from episode
    to episode, and the result depends on the state of the generator at the call; equal states give equal results. With
    `per_episode` the policy is seeded, too, and each episode can be repeated by itself.

    Args:
        config: the world; or an environment with one's own observations, rewards or rules: a `MultiGridEnv` in
            wrappers of PettingZoo, or one of a subclass. Its `max_cycles` is a number, so that every episode ends. The
            metrics are those of the `MultiGridEnv` itself.
        policy: a function of the environment and its last observations that returns an action for each agent in
            ``env.agents``; see `multigrid.policies`. With `per_episode`, a function of an episode's seed that returns
            such a policy.
        seeds: K integers of at least 0, at least one.
        per_episode: whether to create the policy of each episode from the episode's seed, as ``multigrid evaluate`` and
            ``multigrid rollout`` do. A generator needs a stream of its own, such as that of ``default_rng([seed, 2])``:
            ``default_rng(seed)`` is the stream of the world.
        bounds: computes a lower bound of the sum of costs of each layout, for the metric "gap".

    Returns:
        An `Estimate` for each of "success", "csr", "isr", "sum_of_costs", "makespan" and "throughput", as
        `multigrid.core.metrics` defines them, over K episodes. A metric that `on_target` leaves undefined is all NaN.
        With `bounds` also for "gap", by which share the sum of costs is above the bound: the mean over the episodes in
        which all agents arrived.

    Raises:
        TypeError: `config` is neither a GridConfig nor an environment with a MultiGridEnv inside, `policy` cannot be
            called, a seed is not an integer, or `bounds` are not LowerBounds.
        ValueError: there are no seeds, a seed is negative, or `max_cycles` is None; with `bounds`, planners do not
            support the rules. Invalid actions of the policy cause the errors of `MultiGridEnv.step`.

    >>> from multigrid.policies import random_policy, shortest_path_policy
    >>> config = GridConfig(size=(6, 4), num_agents=3)
    >>> table = evaluate(config, shortest_path_policy(np.random.default_rng(0)), seeds=range(20))
    >>> table["success"].mean, round(table["success"].low, 2), table["success"].high
    (1.0, 0.84, 1.0)
    >>> make = lambda seed: random_policy(np.random.default_rng([seed, 2]))
    >>> table, seventh = (evaluate(config, make, seeds, per_episode=True) for seeds in (range(20), [7]))
    >>> table.episodes[7]["makespan"] == seventh.episodes[0]["makespan"]
    True
    >>> from pettingzoo.utils import BaseParallelWrapper
    >>> class Reversed(BaseParallelWrapper):
    ...     def step(self, actions):
    ...         return super().step({agent: (action + 2) % 4 for agent, action in actions.items()})
    >>> env = Reversed(MultiGridEnv(GridConfig(walls="a..A", max_cycles=9)))
    >>> evaluate(env, lambda env, observations: {"agent_0": 2}, seeds=[0])["makespan"].mean
    3.0

    See the page "The pretrained policy" (docs/pretrained.md in the source).
    """
    env: Any = MultiGridEnv(config) if isinstance(config, GridConfig) else config
    inner = env.unwrapped if isinstance(env, ParallelEnv) else None
    if not isinstance(inner, MultiGridEnv):
        raise TypeError(
            f"config is of type {type(config).__name__}; expected a GridConfig, or an environment of "
            "multigrid.parallel_env, which may be in wrappers"
        )
    if not callable(policy):
        expected = "a function of a seed" if per_episode else "a function of an env and observations"
        raise TypeError(f"policy is of type {type(policy).__name__}; expected {expected}")
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds are of type {type(seeds).__name__}; expected integers, such as range(100)")
    if bounds is not None and not isinstance(bounds, LowerBounds):
        raise TypeError(f"bounds are of type {type(bounds).__name__}; expected LowerBounds or None")
    if inner.max_cycles is None:
        raise ValueError("max_cycles is None, but each episode is played to its end; expected a number of steps")
    episode_seeds = [check_seed(seed, "") for seed in seeds]
    if not episode_seeds:
        raise ValueError("seeds are empty; expected at least one integer")
    episodes = [_play(env, inner, policy(seed) if per_episode else policy, seed, bounds) for seed in episode_seeds]
    return Evaluation(inner.config, episode_seeds, episodes)


def _play(
    env: ParallelEnv[str, Any, Any], inner: MultiGridEnv, policy: Any, seed: int, bounds: LowerBounds | None
) -> dict[str, float]:
    """Play one episode to its end and return its metrics."""
    observations, _ = env.reset(seed=seed)
    bound = None if bounds is None else bounds.of(inner)
    while env.agents:
        observations, *_ = env.step(policy(env, observations))
    measures = measure_episode(inner.metrics())
    return measures if bound is None else {**measures, "gap": gap_of(measures, bound)}


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

    If the episodes have a "gap", its mean is that of the values that are not NaN.

    >>> one = {"success": 1.0, "csr": 1.0, "isr": 1.0, "sum_of_costs": 7.0, "makespan": 4.0, "throughput": float("nan")}
    >>> estimate_measures([one, {**one, "sum_of_costs": 9.0}])["sum_of_costs"]
    Estimate(mean=8.0, low=7.0, high=9.0)
    """
    estimates = {}
    for name in MEASURES:
        values = np.array([episode[name] for episode in episodes], dtype=np.float64)
        interval = wilson if name in _RATES else bootstrap
        estimates[name] = UNDEFINED if np.isnan(values).any() else interval(values)
    if "gap" in episodes[0]:
        estimates["gap"] = estimate_gap([episode["gap"] for episode in episodes])
    return estimates
