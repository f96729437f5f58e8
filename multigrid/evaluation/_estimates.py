"""The metrics of an episode, and their means over episodes, with 95 % confidence intervals.

- A metric that is 0 or 1 in every episode, such as success, gets Wilson's score interval (Wilson, JASA 1927), which
  stays within 0 and 1 and is not empty where all episodes agree (Brown, Cai and DasGupta, Statistical Science 2001).
- Any other metric gets the percentile bootstrap over episodes (Efron 1979; Agarwal et al., NeurIPS 2021). The resamples
  come from a generator with a fixed seed, so that equal episodes give equal intervals. Where all values are equal, all
  resamples are, too, and say nothing of other episodes: then there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.core.metrics import METRICS
from multigrid.envs.parallel import MultiGridEnv

MEASURES = ("success", *METRICS[2:])
"""The metrics of an episode as a whole: those of `multigrid.core.metrics` that are not per agent, and *success*, which
equals *csr*: 1 if all agents are successful, else 0."""

RATES = ("success", "csr")
"""The metrics that are 0 or 1 in every episode."""
_RESAMPLES = 2000
_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution


class Estimate(NamedTuple):
    """A mean and its 95 % confidence interval; all NaN if the mean is undefined."""

    mean: float
    """The mean over episodes."""
    low: float
    """The lower end; NaN if there is no interval, as for the bootstrap of one number or of equal numbers."""
    high: float
    """The upper end."""


UNDEFINED = Estimate(math.nan, math.nan, math.nan)
"""The estimate of an undefined mean."""


def wilson(values: NDArray[np.float64]) -> Estimate:
    """Return the mean of zeros and ones, and Wilson's interval, which is too wide for values between them."""
    count, mean = len(values), float(values.mean())
    share = _Z**2 / count
    centre = (mean + share / 2) / (1 + share)
    half = math.sqrt(mean * (1 - mean) * share + share**2 / 4) / (1 + share)
    # Rounding must not move an end past the mean if all episodes agree.
    return Estimate(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)))


def bootstrap(values: NDArray[np.float64]) -> Estimate:
    """Return the mean, and the middle 95 % of the means of resamples; no interval if all values are equal."""
    return resample(values, lambda chosen: float(chosen.mean()))


def resample(values: NDArray[Any], statistic: Callable[[NDArray[Any]], float]) -> Estimate:
    """Return a statistic of values, and the middle 95 % of it over resamples; no interval if all values are equal.

    Resamples of which the statistic is NaN are left out.
    """
    found = statistic(values)
    if math.isnan(found) or values.min() == values.max():
        return Estimate(found, math.nan, math.nan)
    generator = np.random.default_rng(0)
    drawn = [statistic(values[generator.integers(len(values), size=len(values))]) for _ in range(_RESAMPLES)]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Estimate(found, float(low), float(high))


class LowerBounds:
    r"""Lower bounds of the sum of costs, for the layouts of episodes, each computed once under the same rules.

    Args:
        seconds: the time for each layout.

    >>> from multigrid.config import GridConfig
    >>> env = MultiGridEnv(GridConfig(walls="a.A\n#..\nB.b", max_cycles=9))
    >>> _ = env.reset()
    >>> LowerBounds(seconds=1.0).of(env)
    4.0
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[tuple[Any, ...], float] = {}

    def of(self, env: MultiGridEnv) -> float:
        """Return a lower bound of the sum of costs of all plans from the present state of an environment.

        Raises:
            ValueError: the rules are not supported, see `multigrid.planning.solve`.
        """
        from multigrid.planning import Problem, bounds

        problem = Problem.of(env)
        # Without `allow_stay`, for these bounds let agents wait.
        rules = problem.collisions, problem.on_target, problem.max_cycles, problem.walls.shape
        arrays = problem.walls, problem.starts, problem.targets, problem.arrived
        key = *rules, *(array.tobytes() for array in arrays)
        if key not in self._known:
            self._known[key] = bounds(problem, self._seconds).lower
        return self._known[key]


def gap_of(measures: Mapping[str, float], bound: float) -> float:
    """Return the share that an episode's sum of costs is above a bound; NaN unless all agents arrived."""
    return measures["sum_of_costs"] / bound - 1 if measures["success"] else math.nan


def estimate_gap(gaps: Sequence[float]) -> Estimate:
    """Return the mean of the gaps that are not NaN, with its 95 % confidence interval."""
    values = np.array([gap for gap in gaps if not np.isnan(gap)])
    return bootstrap(values) if len(values) else UNDEFINED


def measure_episode(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the `MEASURES` of an episode, and those of a game, from what `MultiGridEnv.metrics` returned."""
    own = [name for name in metrics if name not in METRICS]
    return {name: float(metrics["csr" if name == "success" else name]) for name in (*MEASURES, *own)}


def measure_played(env: MultiGridEnv, rewards: float) -> dict[str, float]:
    """Return the measures of the episode that an environment has played, given the sum of all agents' rewards.

    In a game they begin with "return", that of an agent.
    """
    measures, config = measure_episode(env.metrics()), env.config
    if config.game is None:
        return measures
    return {"return": float(rewards) / env.get_state().get("num_agents", config.num_agents), **measures}


def estimate_measures(episodes: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """Return the mean and the interval of each measure over K >= 1 episodes; NaN if one value is NaN.

    If the episodes have a "gap", its mean is that of the values that are not NaN.
    """
    estimates = {}
    for name in (name for name in episodes[0] if name != "gap"):
        values = np.array([episode[name] for episode in episodes], dtype=np.float64)
        interval = wilson if name in RATES else bootstrap
        estimates[name] = UNDEFINED if np.isnan(values).any() else interval(values)
    if "gap" in episodes[0]:
        estimates["gap"] = estimate_gap([episode["gap"] for episode in episodes])
    return estimates
