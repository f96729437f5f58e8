"""The results of policies over episodes with equal seeds, and how they differ in pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, is_real, list_names, shorten
from multigrid.config import GridConfig
from multigrid.evaluation._estimates import RATES, UNDEFINED, Estimate, bootstrap, estimate_measures, wilson
from multigrid.evaluation._matrix import show_estimate

_COSTS = ("sum_of_costs", "makespan", "gap")
FEWEST_PAIRS = 6
"""Fewer differences all have one sign by chance in more than 5 % of cases, so no 95 % interval can exclude 0."""


class Difference(NamedTuple):
    """How a metric differs between two policies, over pairs of episodes with equal seeds."""

    estimate: Estimate
    """The mean of the differences, the first policy's value minus the second's, and its 95 % bootstrap interval; no
    interval for fewer than 6 pairs, or if all pairs differ by the same number."""
    episodes: int
    """The number of pairs: those in which both values are defined; for costs, those that both policies solved."""
    higher: int
    """The number of pairs in which the first policy's value is higher; whether that is better depends on the metric."""
    lower: int
    """The number of pairs in which it is lower."""

    @property
    def ties(self) -> int:
        """The number of pairs with equal values."""
        return self.episodes - self.higher - self.lower

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 lies outside the interval; without one, whether at least 6 pairs all differ in one direction."""
        is_one_sided = self.episodes >= FEWEST_PAIRS and self.episodes in (self.higher, self.lower)
        return is_one_sided or self.estimate.low > 0 or self.estimate.high < 0


class _Differences(dict[str, Difference]):
    """A dict with a `Difference` for each metric, whose text has a line for each."""

    def __str__(self) -> str:
        """Return a line for each metric: the mean difference, its interval, and the numbers of pairs."""
        return "\n".join(
            f"{name:<13} {show_estimate(one.estimate, 2, '+')}  "
            f"{one.episodes} pairs, {one.higher} higher, {one.lower} lower"
            for name, one in self.items()
        )


class Evaluation(dict[str, Estimate]):
    """The results of K episodes: a dict with an `Estimate` for each metric, and the metrics of each episode.

    Args:
        config: the world.
        seeds: the K seeds of the episodes.
        episodes: the metrics of each, as `measure_episode` returns them, with "gap" or without.
        repeats: how many episodes in a row have one seed; estimates and differences are over the means of these.

    Raises:
        ValueError: the numbers of seeds and episodes differ, or are 0; or seeds are not repeated so.

    >>> import multigrid
    >>> config = GridConfig(walls="a..A", max_cycles=9)
    >>> result = multigrid.evaluate(config, lambda env, observations: {"agent_0": 0}, seeds=[4, 7])
    >>> result["makespan"].mean, result.seeds, result.episodes[1]["makespan"]
    (3.0, (4, 7), 3.0)
    """

    def __init__(
        self, config: GridConfig, seeds: Sequence[int], episodes: Sequence[Mapping[str, float]], repeats: int = 1
    ) -> None:
        if len(seeds) != len(episodes) or not episodes:
            raise ValueError(f"there are {len(seeds)} seeds and {len(episodes)} episodes; expected as many, at least 1")
        check_repeats("repeats", repeats)
        worlds = [seeds[first : first + repeats] for first in range(0, len(seeds), repeats)]
        if any(len(world) < repeats or len(set(world)) > 1 for world in worlds):
            raise ValueError(f"seeds is {shorten(list(seeds))}; expected each seed {repeats} times in a row")
        self.config = config
        self.seeds = tuple(seeds)
        self.episodes = tuple(dict(episode) for episode in episodes)
        self.repeats = repeats
        means = {name: self._values(name).tolist() for name in episodes[0]}
        super().__init__(
            estimate_measures([dict(zip(means, row, strict=True)) for row in zip(*means.values(), strict=True)])
        )

    def __str__(self) -> str:
        """Return a line for each metric: its mean and interval, or "undefined"."""
        return "\n".join(f"{name:<13} {show_estimate(estimate, 2)}" for name, estimate in self.items())

    def worst(self, metric: str, share: float) -> Estimate:
        """Return the mean of a metric in the worst share of the worlds, those of the seeds.

        The worst worlds are chosen by the first half of the episodes of each, and measured by the second half. So it is
        not biased by episodes that went badly by chance: of a policy that is equally good in all worlds, it is the
        mean. The protocol is that of Rutherford et al. (NeurIPS 2024, arXiv:2408.15099).

        Args:
            metric: one of the metrics. The worst values are the lowest ones, but of "sum_of_costs", "makespan" and
                "gap" the highest.
            share: above 0, at most 1; 0.1 for the worst tenth. At least one world is chosen; of equal ones the first.

        Returns:
            The mean, with its interval over the chosen worlds: Wilson's for "success", "csr" and "isr", or else a
            bootstrap. All NaN if the metric of an episode is undefined.

        Raises:
            ValueError: the metric is unknown, the share is out of range, or each seed was played once.

        >>> config = GridConfig(walls="a..A", max_cycles=9)
        >>> played = [{"isr": isr} for isr in (1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0)]
        >>> result = Evaluation(config, [4, 4, 5, 5, 6, 6, 7, 7], played, repeats=2)
        >>> result.worst("isr", 0.5).mean  # seeds 5 and 6 began with 0; their second episodes have 1 and 0
        0.5
        """
        if metric not in self:
            raise ValueError(f"metric is {shorten(metric)}; expected one of {list_names(self)}")
        given: Any = share
        if not (is_int(given) or is_real(given)) or not 0 < given <= 1:
            raise ValueError(f"share is {shorten(share)}; expected a number above 0, at most 1, such as 0.1")
        if self.repeats == 1:
            raise ValueError("each seed was played once; expected an even number of times: evaluate(..., episodes=4)")
        values = self._table(metric)
        if np.isnan(values).any():
            return UNDEFINED
        chosen_by, measured = (half.mean(axis=1) for half in np.split(values, 2, axis=1))
        order = np.argsort(-chosen_by if metric in _COSTS else chosen_by, kind="stable")
        interval = wilson if metric in (*RATES, "isr") else bootstrap
        return interval(measured[order[: max(1, round(share * len(order)))]])

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

        >>> import multigrid
        >>> from multigrid.policies import random_policy, shortest_path_policy
        >>> config, seeds = GridConfig(size=(6, 4), max_cycles=30), range(40)
        >>> policies = shortest_path_policy(np.random.default_rng(0)), random_policy(np.random.default_rng(0))
        >>> shortest, random = (multigrid.evaluate(config, policy, seeds) for policy in policies)
        >>> difference = shortest.difference(random)["success"]
        >>> difference.excludes_zero, difference.lower, difference.higher + difference.ties
        (True, 0, 40)
        """
        if not isinstance(other, Evaluation):
            raise TypeError(f"other is of type {type(other).__name__}; expected an Evaluation")
        if (self.seeds, self.repeats) != (other.seeds, other.repeats):
            raise ValueError("the seeds differ; expected two evaluations with the same seeds, in the same order")
        if _rules_of(self.config) != _rules_of(other.config):
            raise ValueError(
                "the worlds differ; expected two evaluations in one world, with any observations and actions"
            )
        solved = self._values("success") * other._values("success") == 1
        names = [name for name in self if name in other]
        return _Differences({name: _compare(name, self._values(name) - other._values(name), solved) for name in names})

    def _table(self, name: str) -> NDArray[np.float64]:
        """Return a metric of each episode, with a row for each world: float64 (K / repeats, repeats)."""
        return np.array([episode[name] for episode in self.episodes], dtype=np.float64).reshape(-1, self.repeats)

    def _values(self, name: str) -> NDArray[np.float64]:
        """Return the mean of a metric in each world; that of a gap over the episodes that have one."""
        table = self._table(name)
        if name != "gap":
            means: NDArray[np.float64] = table.mean(axis=1)
            return means
        return np.array([np.mean(row[~np.isnan(row)] if not np.isnan(row).all() else row) for row in table])


def check_repeats(name: str, given: Any) -> None:
    """Raise unless each seed is played once, or an even number of times."""
    if not is_int(given) or given < 1 or (given > 1 and given % 2):
        raise ValueError(
            f"{name} is {shorten(given)}; expected 1, or an even number: worst() chooses worlds by one half of the "
            "episodes, and measures them by the other"
        )


def _compare(name: str, differences: NDArray[np.float64], solved: NDArray[np.bool_]) -> Difference:
    """Return the difference of a metric; `solved` is bool (K,), True for the episodes that both policies solved."""
    if name in _COSTS:
        differences = differences[solved]
    differences = differences[~np.isnan(differences)]
    count = len(differences)
    estimate = bootstrap(differences) if count else UNDEFINED
    if count < FEWEST_PAIRS:
        estimate = UNDEFINED._replace(mean=estimate.mean)
    return Difference(estimate, count, int((differences > 0).sum()), int((differences < 0).sum()))


def _rules_of(config: GridConfig) -> GridConfig:
    """Return a configuration without the observations and `allow_stay`, in which two evaluations may differ."""
    # What was given, and what followed from it, is the same world.
    resolved: dict[str, Any] = {
        name: getattr(config, name) for name in ("size", "num_agents", "least_agents", "max_cycles")
    }
    return dataclasses.replace(config, **resolved, observe=("agent",), view_radius=0, flatten=False, allow_stay=False)
