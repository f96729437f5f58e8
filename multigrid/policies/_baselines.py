"""Policies that need no training: random actions, and shortest paths; and by name, all that need no files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid import planning
from multigrid._checks import check_name, check_path_finding, shorten
from multigrid.actions import BLOCKED_BY_AGENT, DIRECTIONS
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps._cells import UNREACHABLE, WALL, distances_to
from multigrid.maps._generators import check_share
from multigrid.planning._memory import Memory, name_actions
from multigrid.policies._learned import MESSAGES, POLICY_STREAM, pretrained

Policy: TypeAlias = Callable[[MultiGridEnv, dict[str, Any]], dict[str, int]]
"""A function of an environment and its last observations that returns an action for each agent in ``env.agents``."""


def random_policy(generator: np.random.Generator) -> Policy:
    """Return a policy that samples the action of each agent uniformly.

    Args:
        generator: samples the actions.

    Raises:
        TypeError: `generator` is something else, such as a seed.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(num_agents=2)
    >>> observations, _ = env.reset(seed=0)
    >>> random_policy(np.random.default_rng(0))(env, observations)
    {'agent_0': 3, 'agent_1': 2}
    """
    _check_generator(generator)
    return functools.partial(_choose_at_random, generator)


def _choose_at_random(generator: np.random.Generator, env: MultiGridEnv, _observations: Any) -> dict[str, Any]:
    actions = generator.integers(env.config.num_actions, size=len(env.agents))
    if env.config.message_bits:
        bits = generator.integers(2, size=(len(env.agents), env.config.message_bits))
        return dict(zip(env.agents, np.column_stack([actions, bits]), strict=True))
    return dict(zip(env.agents, actions.tolist(), strict=True))


def shortest_path_policy(generator: np.random.Generator, sidestep: float = 0.5) -> Policy:
    r"""Return a policy under which every agent follows a shortest path around the walls, as if it were alone.

    An agent moves to the neighbouring cell that is nearest to its target; ties are broken at random. On its target it
    stays; without the stay action, it moves against a wall or the edge if there is one. An agent whose last move was
    blocked by another agent takes, with probability `sidestep`, a random action that neither a wall nor the edge blocks
    (with *stay*, if agents can). Without such actions, two agents could block each other forever.

    Args:
        generator: samples the actions.
        sidestep: the probability of a random action after a block, from 0 to 1.

    Raises:
        TypeError: `generator` is something else, such as a seed, or `sidestep` is not a number.
        ValueError: `sidestep` is below 0 or above 1.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(walls="a#A\n...")
    >>> observations, _ = env.reset()
    >>> shortest_path_policy(np.random.default_rng(0))(env, observations)
    {'agent_0': 1}
    """
    _check_generator(generator)
    sidestep = check_share("sidestep", sidestep)
    return functools.partial(_choose_nearest, generator, sidestep, Memory(_know_nothing, of_many=True))


def _know_nothing(_env: MultiGridEnv) -> dict[tuple[int, ...], NDArray[np.int64]]:
    return {}


def _choose_nearest(
    generator: np.random.Generator, sidestep: float, memory: Memory[Any], env: MultiGridEnv, _observations: Any
) -> dict[str, int]:
    check_path_finding(env.config, "shortest_path_policy")
    unwrapped: Any = env.unwrapped
    state = unwrapped.get_state()
    cache = memory.of(env)
    if len(cache) > 4 * env.config.num_agents + 64:
        cache.clear()
    cells, map_index = state["location"], int(state["map_index"])
    # Where maps are drawn, another map has another memory.
    drawn = np.where(state["walls"], WALL, WALL + 1) if env.config.draws_maps else None
    components: Any = env.config.components[map_index] if drawn is None else drawn
    ahead = cells[:, None] + DIRECTIONS[: env.config.num_actions]
    inside = np.clip(ahead, 0, np.array(components.shape) - 1)
    free = (inside == ahead).all(axis=2) & (components[inside[..., 0], inside[..., 1]] != WALL)
    reached = np.where(free[..., None], ahead, cells[:, None])
    distances = np.empty(free.shape, dtype=np.int64)
    for row, target in enumerate(state["target"].tolist()):
        key = (map_index, *target)
        if key not in cache:
            cache[key] = distances_to(components, target)
        distances[row] = cache[key][reached[row, :, 0], reached[row, :, 1]]
    if env.config.allow_stay:
        # An agent that can stay need not move against a wall to do so.
        distances[~free] = UNREACHABLE
    sidesteps = np.isin(state["outcomes"], BLOCKED_BY_AGENT) & (generator.random(len(cells)) < sidestep)
    nearest = distances == distances.min(axis=1, keepdims=True)
    options = np.where(sidesteps[:, None], free, nearest)
    actions = np.where(options, generator.random(options.shape), -1.0).argmax(axis=1).tolist()
    return name_actions(env, actions)


def _check_generator(generator: object) -> None:
    if not isinstance(generator, np.random.Generator):
        expected = "expected a numpy.random.Generator, such as np.random.default_rng(0)"
        raise TypeError(f"generator is {shorten(generator)} of type {type(generator).__name__}; {expected}")


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
