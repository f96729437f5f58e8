"""The loops that play episodes: of one environment, or of many worlds side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from multigrid._checks import check_bool, check_seed
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation._estimates import LowerBounds, gap_of, measure_played
from multigrid.evaluation._results import Evaluation, check_repeats
from multigrid.game import Game
from multigrid.games._registry import add_game
from multigrid.scenarios import Step

if TYPE_CHECKING:
    from multigrid.policies import Policy

VectorPolicy: TypeAlias = Callable[[Any, Any], NDArray[Any]]
"""A function of a vector env and its last observations that returns an action for each row, integers (num_envs,)."""


def play(env: Any, policy: Policy, seed: int) -> Iterator[tuple[dict[str, int] | None, Step]]:
    """Play an episode of a ParallelEnv, wrapped or not, to its end.

    Yields:
        The actions of all agents and the results of a step; first None and the results of the reset.
    """
    observations, infos = env.reset(seed=seed)
    yield None, Step(observations, {}, {}, {}, infos)
    while env.agents:
        actions = policy(env, observations)
        results = env.step(actions)
        observations = results[0]
        yield actions, Step(*results)


def play_episodes(
    vector_env: Any, policy: VectorPolicy, seeds: Sequence[int]
) -> Iterator[tuple[NDArray[Any] | None, Any, NDArray[np.int64]]]:
    """Play an episode for each seed in the worlds of a vector env, side by side.

    A world whose episode has ended begins the next one. An episode is the same in any world, if the policy depends on
    the state of that world alone. All worlds are stepped together: a world for which no seed is left goes on with
    seeds that were played already; the numbers of these episodes are at least ``len(seeds)``.

    Args:
        vector_env: in DISABLED mode, with a limit of steps.
        policy: chooses the actions.
        seeds: the seed of an episode is ``seeds[number]``.

    Yields:
        The actions of all rows; the results of a step, as a `Step` of arrays (num_envs, ...); and the number of the
        episode that each world has played, int64 (E,). First, and after each step that has ended episodes: None; the
        results of the reset; and the numbers of the episodes that begin.
    """
    worlds = vector_env.unwrapped
    numbers = np.arange(worlds.num_worlds)
    upcoming, left = worlds.num_worlds, len(seeds)
    observations, infos = vector_env.reset(seed=[seeds[number % len(seeds)] for number in numbers.tolist()])
    yield None, Step(observations, {}, {}, {}, infos), numbers
    while True:
        actions = np.array(policy(vector_env, observations))
        results = vector_env.step(actions)
        observations, over = results[0], worlds.episode_over
        yield actions, Step(*results), numbers
        if not over.any():
            continue
        left -= int((numbers[over] < len(seeds)).sum())
        if not left:
            return
        numbers = numbers.copy()
        numbers[over] = np.arange(upcoming, upcoming + over.sum())
        upcoming += int(over.sum())
        pairs = zip(numbers.tolist(), over, strict=True)
        again = [seeds[number % len(seeds)] if ended else None for number, ended in pairs]
        rows = over.repeat(worlds.config.num_agents)
        observations, infos = vector_env.reset(seed=again, options={"reset_mask": rows})
        yield None, Step(observations, {}, {}, {}, infos), numbers


@overload
def evaluate(
    config: GridConfig | ParallelEnv[str, Any, Any] | None,
    policy: Policy,
    seeds: Iterable[int],
    *,
    per_episode: Literal[False] = False,
    bounds: LowerBounds | None = None,
    game: type[Game] | str | None = None,
    episodes: int = 1,
) -> Evaluation: ...
@overload
def evaluate(
    config: GridConfig | ParallelEnv[str, Any, Any] | None,
    policy: Callable[[int], Policy],
    seeds: Iterable[int],
    *,
    per_episode: Literal[True],
    bounds: LowerBounds | None = None,
    game: type[Game] | str | None = None,
    episodes: Literal[1] = 1,
) -> Evaluation: ...


def evaluate(
    config: GridConfig | ParallelEnv[str, Any, Any] | None,
    policy: Any,
    seeds: Iterable[int],
    *,
    per_episode: bool = False,
    bounds: LowerBounds | None = None,
    game: type[Game] | str | None = None,
    episodes: int = 1,
) -> Evaluation:
    """Play one or more episodes for each seed; return the mean of each metric, with its 95 % confidence interval.

    The episodes are played one after the other; each begins with a reset to its seed, so equal seeds give equal layouts
    to all policies. Resets do not seed the policy: if it has a random generator, it continues its stream from episode
    to episode, and the result depends on the state of the generator at the call; equal states give equal results. With
    `per_episode` the policy is seeded, too, and each episode can be repeated by itself.

    Args:
        config: the world; or an environment with other observations, rewards or rules: a `MultiGridEnv` in wrappers of
            PettingZoo, or an instance of a subclass. Its `max_cycles` is a number, so that every episode ends. The
            metrics are those of the `MultiGridEnv` itself. None, only with `game`: the world of a registered game, or
            the default one for a class.
        policy: a function of the environment and its last observations that returns an action for each agent in
            ``env.agents``; see `multigrid.policies`. With `per_episode`, a function of an episode's seed that returns
            such a policy.
        seeds: K integers of at least 0, at least one.
        per_episode: whether to create the policy of each episode from the episode's seed, as ``multigrid evaluate`` and
            ``multigrid rollout`` do. A generator needs a stream of its own, such as that of ``default_rng([seed, 2])``:
            ``default_rng(seed)`` is the stream of the world.
        bounds: computes a lower bound of the sum of costs of each layout, for the metric "gap".
        game: the game to play in the world of a configuration without one: a class, or the id of a registered game.
        episodes: how often each seed is played, one after the other: 1, or an even number, for `Evaluation.worst`. Each
            begins alike, and the policy's random generator goes on. Intervals are over the means of the seeds.

    Returns:
        An `Estimate` for each of "success", "csr", "isr", "sum_of_costs", "makespan" and "throughput", as
        `multigrid.core.metrics` defines them, over K seeds. A metric that `on_target` leaves undefined is all NaN,
        and so are all of these in a game without targets.
        With a game also for each of its metrics, and for "return", the sum of an agent's rewards, averaged over agents.
        With `bounds` also for "gap", the sum of costs divided by the bound, minus 1: the mean over the episodes in
        which all agents arrived.

    Raises:
        TypeError: `config` is neither a GridConfig nor an environment with a MultiGridEnv inside, `policy` cannot be
            called, a seed is not an integer, `bounds` are not LowerBounds, or there is a game already.
        ValueError: there are no seeds, a seed is negative, or `max_cycles` is None; `episodes` is odd, or with
            `per_episode` not 1; with `bounds`, planners do not support the rules; or no game has this id. Invalid
            actions of the policy cause the errors of `MultiGridEnv.step`.

    >>> from multigrid.policies import random_policy, shortest_path_policy
    >>> config = GridConfig(size=(6, 4), num_agents=3)
    >>> table = evaluate(config, shortest_path_policy(np.random.default_rng(0)), seeds=range(20))
    >>> table["success"].mean, round(table["success"].low, 2), table["success"].high
    (1.0, 0.84, 1.0)
    >>> make = lambda seed: random_policy(np.random.default_rng([seed, 2]))
    >>> table, seventh = (evaluate(config, make, seeds, per_episode=True) for seeds in (range(20), [7]))
    >>> table.episodes[7]["makespan"] == seventh.episodes[0]["makespan"]
    True

    See the page "Evaluate and report" (docs/how_to/evaluate.md in the source).
    """
    if game is not None:
        config = add_game(config, game)
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
    check_repeats("episodes", episodes)
    if check_bool("per_episode", per_episode) and episodes > 1:
        raise ValueError(
            f"episodes is {episodes}, and per_episode creates the policy from the seed, which would play all episodes "
            "of a seed alike; expected episodes=1, or a policy whose random generator goes on"
        )
    episode_seeds = [check_seed(seed, "") for seed in seeds for _ in range(episodes)]
    if not episode_seeds:
        raise ValueError("seeds are empty; expected at least one integer")
    measured = [_measure(env, inner, policy(seed) if per_episode else policy, seed, bounds) for seed in episode_seeds]
    world = inner.config
    if inner.max_cycles != world.max_cycles:
        world = dataclasses.replace(world, max_cycles=inner.max_cycles)
    return Evaluation(world, episode_seeds, measured, episodes)


def _measure(
    env: ParallelEnv[str, Any, Any], inner: MultiGridEnv, policy: Any, seed: int, bounds: LowerBounds | None
) -> dict[str, float]:
    """Play one episode to its end and return its metrics."""
    steps = play(env, policy, seed)
    next(steps)
    bound = None if bounds is None else bounds.of(inner)
    measures = measure_played(inner, sum(sum(step.rewards.values()) for _, step in steps))
    return measures if bound is None else {**measures, "gap": gap_of(measures, bound)}
