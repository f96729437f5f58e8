"""Delays: agents that are held up at random, whatever they do."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_keywords, check_name, is_real, shorten
from multigrid.parts import LONGEST_DELAY

DelayEvents = Literal["bernoulli", "poisson"]
DelayDurations = Literal["uniform", "gaussian"]

# Probabilities are rounded to multiples of 2**-40, so that the mathematical functions of all machines give the same.
_SCALE = 2.0**40
_LARGEST_NUMBER = 1e300


@check_keywords
@dataclasses.dataclass(frozen=True)
class Delays:
    """How often agents are held up, and for how long.

    The models are those of the League of Robot Runners' Start-Kit 3.1 (`DelayGenerator`). A delay of d steps begins in
    the step in which it is sampled: the agent keeps its cell in that step and the d - 1 that follow. Delays are sampled
    from a random stream of their own, so that the same seed gives the same delays whatever the agents do.

    Raises:
        TypeError: a field of the wrong type.
        ValueError: a field out of range, or an unknown name.

    >>> import multigrid
    >>> env = multigrid.parallel_env(num_agents=2, delays=Delays(1.0, duration=(2, 4)))
    >>> observations, infos = env.reset(seed=0)
    >>> *_, infos = env.step({"agent_0": 0, "agent_1": 3})
    >>> multigrid.Outcome(infos["agent_0"]["outcome"])
    <Outcome.DELAYED: 8>

    See the page "Path finding" (docs/path_finding.md in the source).
    """

    probability: float
    """The probability that a delay of an agent without one begins in a step, 0 to 1."""
    duration: tuple[int, int] = (1, 1)
    """``(least, most)`` steps of a delay, 1 to 65,535."""
    events: DelayEvents = "bernoulli"
    """*bernoulli*: each agent independently. *poisson*: the number of agents is Poisson-distributed with the mean
    `probability` times the number of all agents, and at most that of the agents that are not delayed, of which it is a
    random choice."""
    durations: DelayDurations = "uniform"
    """*uniform*: all durations are equally likely. *gaussian*: normally distributed with the mean
    ``least + mean_ratio * (most - least)`` and the standard deviation ``std_ratio * (most - least)``, rounded to the
    nearest integer, and at least `least` and at most `most`."""
    mean_ratio: float = 0.5
    """The mean of *gaussian* durations, from 0 (the fewest steps) to 1 (the most)."""
    std_ratio: float = 0.25
    """The standard deviation of *gaussian* durations, from 0, as a share of the range."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "probability", _check_number("probability", self.probability, 1.0))
        given: Any = self.duration
        pair = tuple(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else (given,)
        if len(pair) != 2:
            raise ValueError(f"duration is {shorten(given)}; expected the fewest and the most steps of a delay")
        least, most = (check_int("duration", steps, 1) for steps in pair)
        if not least <= most <= LONGEST_DELAY:
            expected = f"expected the fewest and the most steps of a delay, up to {LONGEST_DELAY}"
            raise ValueError(f"duration is {shorten(given)}; {expected}")
        set_field(self, "duration", (least, most))
        set_field(self, "events", check_name("events", self.events, get_args(DelayEvents)))
        set_field(self, "durations", check_name("durations", self.durations, get_args(DelayDurations)))
        set_field(self, "mean_ratio", _check_number("mean_ratio", self.mean_ratio, 1.0))
        set_field(self, "std_ratio", _check_number("std_ratio", self.std_ratio, math.inf))


def resolve_delays(delays: Any, game: Any = None) -> Delays | None:
    """Return the delays of a configuration: itself, its fields in a mapping, a probability, or it with a duration.

    Raises as `Delays`, with the value in front of the message; TypeError for another type; ValueError for a game that
    does not say what a delayed agent does.

    >>> resolve_delays([0.1, 1, 4]) == resolve_delays({"probability": 0.1, "duration": (1, 4)})
    True
    """
    if delays is not None and game is not None and not (game.moves or game.idle):
        raise ValueError(
            f"delays is {shorten(delays)}, but the game {game.__name__} has no moves and does not name the action of a "
            'delayed agent; leave out delays, or write idle = "NAME" into its class'
        )
    if delays is None or isinstance(delays, Delays):
        return delays
    try:
        if isinstance(delays, Mapping):
            return Delays(**delays)
        if isinstance(delays, Sequence) and not isinstance(delays, str) and len(delays) == 3:
            return Delays(delays[0], cast("tuple[int, int]", tuple(delays[1:])))
        if is_real(delays):
            return Delays(delays)
    except (TypeError, ValueError) as error:
        raise type(error)(f"delays is {shorten(delays)}: {error}") from error
    raise TypeError(
        f"delays is {shorten(delays)} of type {type(delays).__name__}; expected multigrid.Delays, None, a "
        "probability, or a probability with the fewest and the most steps of a delay"
    )


def tabulate_counts(delays: Delays, num_agents: int) -> NDArray[np.float64]:
    """Return the probability of at most k delays that begin in one step: float64 (num_agents + 1,)."""
    p, mean = delays.probability, delays.probability * num_agents
    if delays.events == "poisson":
        logs = [_log_power(mean, k) - mean - math.lgamma(k + 1) for k in range(num_agents + 1)]
    else:
        factorials = [math.lgamma(k + 1) for k in range(num_agents + 1)]
        logs = [
            factorials[-1] - factorials[k] - factorials[-1 - k] + _log_power(p, k) + _log_power(1 - p, num_agents - k)
            for k in range(num_agents + 1)
        ]
    return _accumulate(np.cumsum(np.exp(logs)))


def tabulate_durations(delays: Delays) -> NDArray[np.float64]:
    """Return the probability of at most least + k steps: float64 (most - least + 1,)."""
    least, most = delays.duration
    steps = np.arange(most - least + 1)
    if delays.durations == "uniform":
        return _accumulate((steps + 1) / len(steps))
    mean, deviation = delays.mean_ratio * (most - least), delays.std_ratio * (most - least)
    above = steps + 0.5 - mean
    if deviation == 0:
        return _accumulate((above > 0).astype(float))
    return _accumulate(np.array([0.5 * math.erfc(-one / deviation / math.sqrt(2)) for one in above.tolist()]))


def _accumulate(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    rounded = np.minimum(np.round(shares * _SCALE) / _SCALE, 1.0)
    rounded[-1] = 1.0
    return rounded


def _log_power(base: float, exponent: int) -> float:
    if exponent == 0:
        return 0.0
    return exponent * math.log(base) if base > 0 else -math.inf


def _check_number(name: str, value: Any, most: float) -> float:
    if not is_real(value):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; expected a number")
    if not 0 <= value <= min(most, _LARGEST_NUMBER):
        raise ValueError(f"{name} is {shorten(value)}; expected a number from 0{'' if math.isinf(most) else ' to 1'}")
    return float(value)
