"""Episodes of the benchmark's instances, played here and recorded."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.pogema import Instance
from multigrid import planning
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy
from multigrid.policies._baselines import BUILT_IN

Name: TypeAlias = Literal[
    "random", "shortest-path", "pibt", "lacam", "pretrained", "pretrained-messages", "pretrained-shield"
]
"""The names of the policies: random actions; shortest paths, on which agents block one another; plans; learned ones."""

POLICIES: tuple[Name, ...] = get_args(Name)

_EXPANSIONS = 500


@dataclasses.dataclass(frozen=True)
class Episode:
    """A whole episode of N agents and T steps.

    Attributes:
        walls: bool (W, H).
        cells: int64 (T + 1, N, 2), the agents' cells [x, y] at the beginning and after each step.
        targets: int64 (T + 1, N, 2), their targets.
        actions: int64 (T, N).
        rewards: float64 (T, N).
        metrics: the environment's metrics before the first step and after each one.
        limit: the largest number of steps.
    """

    walls: NDArray[np.bool_]
    cells: NDArray[np.int64]
    targets: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    metrics: list[dict[str, Any]]
    limit: int


def play(instance: Instance, name: Name) -> Episode:
    """Play an episode of an instance, as the scenario that it is; its random numbers follow from the arguments."""
    # No policy needs observations, of which those of many agents take long.
    env = MultiGridEnv(dataclasses.replace(instance.scenario().config, observe=("agent",)))
    env.reset(seed=0)
    return record(env, _make_policy(env, name, np.random.default_rng(zlib.crc32(instance.name.encode()))))


def record(env: MultiGridEnv, policy: Policy) -> Episode:
    """Play an environment, which was reset, to the end of its episode; the policy gets no observations."""
    assert env.max_cycles is not None
    states, actions, rewards, metrics = [env.state()], [], [], [env.metrics()]
    while env.agents:
        chosen = policy(env, {})
        _, reward, *_ = env.step(chosen)
        actions.append([chosen[agent] for agent in env.possible_agents])
        rewards.append([reward[agent] for agent in env.possible_agents])
        states.append(env.state())
        metrics.append(env.metrics())
    cells, targets = np.split(np.array(states), 2, axis=2)
    return Episode(
        env.config.is_wall[0], cells, targets, np.array(actions), np.array(rewards, float), metrics, env.max_cycles
    )


def _make_policy(env: MultiGridEnv, name: Name, generator: np.random.Generator) -> Policy:
    return _follow_plan(env) if name == "lacam" else BUILT_IN[name](generator)


def _follow_plan(env: MultiGridEnv) -> Policy:
    """Return a policy that plays LaCAM*'s plan of the episode; PIBT's if few expansions give none."""
    plan = planning.solve(env, "lacam", time_limit=None, max_expansions=_EXPANSIONS)
    if plan.actions is None:
        return planning.controller("pibt")
    rows = iter(plan.actions.tolist())
    return lambda env, _: dict(zip(env.agents, next(rows), strict=True))
