"""Cross-play: every policy plays with every partner, in the same episodes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_real, list_names, shorten
from multigrid._files import replace_file
from multigrid.config import GridConfig
from multigrid.evaluation._arena import Arena
from multigrid.evaluation._estimates import UNDEFINED, Estimate, bootstrap, resample
from multigrid.evaluation._matrix import draw_matrix, format_matrix, show_estimate
from multigrid.policies._team import check_agents, team

_FEWEST_POLICIES = 3
"""The smallest number of policies that has an interval over policies."""


def cross_play(
    config: GridConfig,
    policies: Mapping[str, Any],
    seeds: Iterable[int],
    partners: Mapping[str, Any] | None = None,
    seats: Sequence[str] | None = None,
    *,
    metric: str | None = None,
    per_episode: bool = False,
) -> CrossPlay:
    """Let each policy play with each partner, one episode for each seed and seat.

    The policy controls one agent, its seat, and the partner all others. All pairs start from the same layouts. If
    policy and partner have a method ``act(vector_env, observations)``, as those of `multigrid.policies.load` and
    `multigrid.policies.read_pool` do, many worlds are played side by side.

    Args:
        config: the world.
        policies: P policies by name; see `multigrid.evaluate`.
        seeds: K integers of at least 0.
        partners: Q policies by name; None for the policies themselves, so that cell (i, i) is self-play.
        seats: the agents that a policy plays, one after the other; None for each agent in turn.
        metric: a metric of the whole episode to compare, such as "isr", or "score" in Overcooked; None for the team's
            return, the sum of the rewards of all agents. In games that pay each agent the team's reward, that is the
            team's reward times the number of agents.
        per_episode: whether policies and partners are functions of an episode's seed that return the policy.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: there are no policies, partners, seeds or seats, `max_cycles` is None, there is no such agent or
            metric, or a policy returns too few actions; all before the first episode.

    >>> from multigrid.policies import random_policy, shortest_path_policy
    >>> config = GridConfig(size=(5, 4), num_agents=2, max_cycles=40)
    >>> made = {"shortest": shortest_path_policy, "random": random_policy}
    >>> policies = {name: make(np.random.default_rng(0)) for name, make in made.items()}
    >>> result = cross_play(config, policies, seeds=range(20))
    >>> result.returns[0, 0].mean, result.returns.mean.shape
    (2.0, (2, 2))

    See the page "Partners" (docs/how_to/partners.md in the source).
    """
    for name, given in {"policies": policies, "partners": policies if partners is None else partners}.items():
        if not isinstance(given, Mapping):
            raise TypeError(f"{name} are of type {type(given).__name__}; expected a dict of policies by name")
        if not given:
            raise ValueError(f"{name} are empty; expected at least one policy")
    arena = Arena(config, seeds, metric, per_episode=per_episode)
    agents = arena.config.agents
    if isinstance(seats, str) or not isinstance(seats, Sequence | None):
        raise TypeError(f"seats is {shorten(seats)}; expected a list of agents, such as ['agent_0'], or None")
    chosen = tuple(agents if seats is None else seats)
    check_agents("seats", chosen, agents)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"seats is {shorten(seats)}; expected at least one agent, and each once")
    others = policies if partners is None else partners
    arena.check(policies)
    arena.check({} if partners is None else partners)
    episodes = [
        [[_play_pair(arena, policy, partner, seat) for seat in chosen] for partner in others.values()]
        for policy in policies.values()
    ]
    names = tuple(map(str, policies)), tuple(map(str, others))
    best = _BestResponses(arena, dict(zip(names[1], others.values(), strict=True)))
    return CrossPlay(*names, chosen, arena.seeds, np.array(episodes), best, partners is None)


def _play_pair(arena: Arena, policy: Any, partner: Any, seat: str) -> NDArray[np.float64]:
    """Return the team's return, or the metric, of each episode, float64 (K,)."""
    members = {agent: policy if agent == seat else partner for agent in arena.config.agents}
    returns: NDArray[np.float64] = arena.play(join_members(arena, members)).sum(axis=1)
    return returns


def join_members(arena: Arena, members: Mapping[str, Any]) -> Any:
    """Return a team; with `per_episode` a function of the seed that does so, and makes each policy once."""
    if not arena.per_episode:
        return team(members)

    def make(seed: int) -> Any:
        made = {id(one): one(seed) for one in {id(one): one for one in members.values()}.values()}
        return team({agent: made[id(one)] for agent, one in members.items()})

    return make


class _BestResponses:
    """Plays best responses in the same episodes. A pickle of it has no policies, for many cannot be pickled."""

    def __init__(self, arena: Any, partners: dict[str, Any]) -> None:
        self._arena, self._partners = arena, partners

    def __reduce__(self) -> Any:
        return _BestResponses, (None, {})

    def __deepcopy__(self, _: Any) -> _BestResponses:
        return self

    def check(self, policies: Mapping[str, Any]) -> None:
        if self._arena is not None:
            self._arena.check(policies)
        elif policies:
            raise ValueError(
                "best has policies, and a result that was pickled has no partners any more to play with; expected "
                "returns, or a result that cross_play has just returned"
            )

    def play(self, policy: Any, partner: str, seat: str) -> float:
        return float(_play_pair(self._arena, policy, self._partners[partner], seat).mean())


class Estimates:
    """Means over episodes and their 95 % intervals, a matrix with a row for each policy; ``[i, j]`` is an `Estimate`.

    ``np.asarray`` of it is the matrix of means.

    Attributes:
        mean, low, high: float64 (P, Q); `low` and `high` are NaN where there is no interval.
    """

    def __init__(self, mean: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        self.mean, self.low, self.high = mean, low, high

    @property
    def shape(self) -> tuple[int, ...]:
        """(P, Q)."""
        return self.mean.shape

    def __getitem__(self, index: tuple[int, int]) -> Estimate:
        return Estimate(float(self.mean[index]), float(self.low[index]), float(self.high[index]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        del copy  # it always is one
        return np.array(self.mean, dtype=dtype)


class Scores:
    """Scores of P policies with Q partners in S seats, and their means with 95 % percentile bootstrap intervals.

    ``scores["seed 0"]`` has those of one policy alone.

    Attributes:
        policies: the names of the P policies.
        values: float64 (P, Q, S).
    """

    def __init__(self, policies: tuple[str, ...], values: NDArray[np.float64]) -> None:
        self.policies, self.values = policies, values

    def __getitem__(self, policy: str) -> Scores:
        if policy not in self.policies:
            raise KeyError(f"there is no policy {shorten(policy)}; expected one of {list_names(self.policies)}")
        return Scores((policy,), self.values[[self.policies.index(policy)]])

    @property
    def mean(self) -> Estimate:
        """The mean of all values, with an interval over them."""
        return bootstrap(self.values.ravel())

    @property
    def iqm(self) -> Estimate:
        """The interquartile mean: without the n // 4 lowest and the n // 4 highest of n values."""
        return resample(self.values.ravel(), interquartile_mean)

    def __str__(self) -> str:
        rows = [*((name, self[name]) for name in self.policies), ("all", self)]
        wide = max(len(name) for name, _ in rows)
        return "\n".join(
            f"{name:<{wide}}  mean {show_estimate(one.mean, 2)}  IQM {show_estimate(one.iqm, 2)}" for name, one in rows
        )


def interquartile_mean(values: NDArray[np.float64]) -> float:
    """Return the mean without the n // 4 lowest and the n // 4 highest of n values."""
    cut = len(values) // 4
    return float(np.sort(values)[cut : len(values) - cut].mean())


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CrossPlay:
    """What `cross_play` returns; ``print`` shows the matrix.

    Intervals over policies are NaN for fewer than three policies.
    """

    policies: tuple[str, ...]
    """The names of the P policies."""
    partners: tuple[str, ...]
    """The names of the Q partners."""
    seats: tuple[str, ...]
    """The agents that policies played."""
    seeds: tuple[int, ...]
    """The K seeds of the episodes."""
    episodes: NDArray[np.float64]
    """The team's return, or the metric, of each episode, float64 (P, Q, S, K) for S seats."""
    _best: _BestResponses
    _has_self_play: bool

    @functools.cached_property
    def returns(self) -> Estimates:
        """The mean over episodes of each policy with each partner, averaged over seats, with intervals over seeds."""
        by_seed = self.episodes.mean(axis=2)
        found = np.array([[bootstrap(cell) for cell in row] for row in by_seed])
        return Estimates(*np.moveaxis(found, 2, 0))

    @property
    def self_play(self) -> Estimate:
        """The mean of the diagonal: each policy with itself. The interval is over policies, not over episodes."""
        return self._over_policies(lambda matrix, _: float(np.diag(matrix).mean()))

    @property
    def cross_play(self) -> Estimate:
        """The mean of all other cells. The interval resamples policies, without pairs of a policy with itself."""
        return self._over_policies(_mean_off_diagonal)

    @property
    def gap(self) -> Estimate:
        """Self-play minus cross-play, with an interval over policies."""
        return self._over_policies(
            lambda matrix, apart: float(np.diag(matrix).mean()) - _mean_off_diagonal(matrix, apart)
        )

    def _over_policies(self, statistic: Callable[[NDArray[np.float64], NDArray[np.bool_]], float]) -> Estimate:
        if not self._has_self_play:
            raise ValueError("the policies played with partners; expected cross_play(...) without partners")
        matrix, count = self.episodes.mean(axis=(2, 3)), len(self.policies)

        def measure(chosen: NDArray[np.int64]) -> float:
            return statistic(matrix[np.ix_(chosen, chosen)], chosen[:, None] != chosen)

        found = resample(np.arange(count), measure)
        return found if count >= _FEWEST_POLICIES else UNDEFINED._replace(mean=found.mean)

    def normalised(self, bounds: Mapping[str, tuple[float, float]]) -> Scores:
        """Return (x - low) / (high - low) of all returns x.

        `bounds` has (low, high) by partner, the returns that count as 0 and 1. Without `partners`, self-play is among
        the returns.

        Raises:
            TypeError, ValueError: a partner has no bounds, or `low` is not below `high`.
        """
        low, high = np.array([self._find_bounds(bounds, name) for name in self.partners]).T
        return Scores(self.policies, (self._by_seat - low[:, None]) / (high - low)[:, None])

    def _find_bounds(self, bounds: Mapping[str, tuple[float, float]], partner: str) -> tuple[float, float]:
        expected = "expected {partner: (low, high)} for " + list_names(self.partners)
        if not isinstance(bounds, Mapping):
            raise TypeError(f"bounds are of type {type(bounds).__name__}; {expected}")
        pair: Any = bounds.get(partner)
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(map(is_real, pair)) or not pair[0] < pair[1]:
            raise ValueError(f"the bounds of {shorten(partner)} are {shorten(pair)}; {expected}, low below high")
        return pair[0], pair[1]

    def br_prox(self, best: Mapping[Any, Any]) -> Scores:
        """Return best-response proximity, min(1, x / b) of all returns x.

        Here b is the return of a best response to the same partner; where b is not above 0, the value is 1. Papers
        report the interquartile mean, `Scores.iqm`, over partners and seats, without self-play. If `cross_play` had no
        `partners`, self-play is included.

        Args:
            best: a dict from partners, or from ``(partner, seat)``, to the return of a best response, or to a policy
                that plays the same episodes. Policies draw on from their own streams.

        Raises:
            TypeError, ValueError: a partner is missing, a policy returns too few actions, or `best` has policies and
                this result was pickled.
        """
        if not isinstance(best, Mapping):
            raise TypeError(f"best is of type {type(best).__name__}; expected {{partner: return or policy}}")
        self._best.check({name: one for name, one in best.items() if callable(one)})
        found = np.array([[self._find_best(best, partner, seat) for seat in self.seats] for partner in self.partners])
        is_positive = found > 0
        shares = np.minimum(1, self._by_seat / np.where(is_positive, found, 1))
        return Scores(self.policies, np.where(is_positive, shares, 1.0))

    def _find_best(self, best: Mapping[Any, Any], partner: str, seat: str) -> float:
        one = best.get((partner, seat), best.get(partner))
        if callable(one):
            return self._best.play(one, partner, seat)
        if not is_real(one):
            expected = f"expected a return or a policy for {list_names(self.partners)}, or for (partner, seat)"
            raise ValueError(f"best has {shorten(one)} for {shorten(partner)}; {expected}")
        return float(one)

    @property
    def _by_seat(self) -> NDArray[np.float64]:
        return self.episodes.mean(axis=3)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        text = format_matrix(self.returns, self.policies, self.partners)
        if not self._has_self_play:
            return text
        lines = {"self-play": self.self_play, "cross-play": self.cross_play, "gap": self.gap}
        return "\n".join([text, "", *(f"{name:<11} {show_estimate(one)}" for name, one in lines.items())])

    def _repr_svg_(self) -> str:
        return draw_matrix(self.returns.mean, self.policies, self.partners)

    def draw(self, path: str | Path) -> None:
        """Write the matrix of means as an SVG file."""
        with replace_file(Path(path)) as temporary:
            temporary.write_text(self._repr_svg_(), encoding="utf-8")


def _mean_off_diagonal(matrix: NDArray[np.float64], apart: NDArray[np.bool_]) -> float:
    """Return the mean over pairs of different policies; NaN if there are none."""
    return float(matrix[apart].mean()) if apart.any() else float("nan")
