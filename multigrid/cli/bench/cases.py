"""The cases of `multigrid bench`: the documented code, this package, and copying the arrays that it returns."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray

from multigrid.cli.bench.documented import DocumentedGridWorld
from multigrid.cli.bench.rounds import play_round
from multigrid.config import GridConfig, Part
from multigrid.envs.grid_world import GridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.wrappers import VectorReward

__all__ = [
    "CROWDS",
    "REWARDED",
    "SET_MANY",
    "SET_ONE",
    "Case",
    "Play",
    "crowd_cases",
    "group_name",
    "local_cases",
    "parallel_play",
    "restart_config",
    "vector_play",
]

Play: TypeAlias = Callable[[float], tuple[float, int]]
"""A function that plays for about a given time, in seconds; it returns the time taken and the agent-steps played."""

CROWDS = ((8, 16), (64, 32), (256, 64))
"""Pairs of a number of agents and the side of their square grid."""

REWARDED = "vector env, 8 x 1,024, own reward"
SET_ONE, SET_MANY = "ParallelEnv, N = 8: set_state", "vector env, 8 x 1,024: set_state"

_WORLDS = 1024
_DOCUMENTED = "documented GridWorld"
_MOST_STEPS = 64
"""The largest number of steps whose actions are sampled before the measurement, and then repeated."""


@dataclasses.dataclass
class Case:
    """A case to time.

    Attributes:
        name: its name, unique in a run.
        group: the heading of its table.
        play: the function that plays a round.
        against: the name of the case that its time is compared with.
        goal: how many times faster than `against` it should be.
        costs: microseconds per agent-step, one figure for each round.
    """

    name: str
    group: str
    play: Play
    against: str
    goal: float | None = None
    costs: list[float] = dataclasses.field(default_factory=list)

    def measure(self, seconds: float) -> None:
        """Play a round and append its cost."""
        elapsed, agent_steps = self.play(seconds)
        self.costs.append(1e6 * elapsed / agent_steps)

    @property
    def microseconds(self) -> float:
        """The median cost."""
        return statistics.median(self.costs)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        low, middle, high = statistics.quantiles(self.costs, n=4)
        return (high - low) / (2 * middle)


def group_name(agents: int, size: int) -> str:
    """Return the heading of the cases with that many agents on a grid of that side."""
    return f"{agents} agents on {size} x {size}"


def restart_config(agents: int, size: int, *parts: Part) -> GridConfig:
    """Return a configuration whose episodes never end: an agent that arrives gets a new target."""
    return GridConfig(size=size, num_agents=agents, observe=parts, on_target="restart", max_cycles=None)


def local_cases() -> Iterator[Case]:
    """Yield all cases; a baseline precedes the cases that are compared with it."""
    yield from _one_agent()
    yield from _frames()
    yield from _many_worlds_of_one_agent()
    yield from crowd_cases()
    yield from _rewarded()
    yield from _states()
    for agents in (16, 1024):
        # The goal is a million steps a second; the documented code plays 0.13 million.
        yield _parallel_case(agents, 256, "a large map, 256 x 256", ("agent", "target"), 7.7)
    yield from _stable_baselines()


def crowd_cases() -> Iterator[Case]:
    """Yield the cases of many agents that `benchmarks` compares with other environments."""
    for agents, size in CROWDS:
        yield _parallel_case(agents, size, group_name(agents, size), ("agent", "target"))
        yield _parallel_case(agents, size, group_name(agents, size), ("view",))
    agents, size = CROWDS[0]
    group, name = group_name(agents, size), f"vector env, {agents} x {_WORLDS:,}"
    kinds: tuple[tuple[str, tuple[Part, ...]], ...] = (("", ("agent", "target")), (", view", ("view",)))
    for suffix, parts in kinds:
        # With a limit of steps, so that autoresets, which sample new layouts, are timed, too.
        config = dataclasses.replace(restart_config(agents, size, *parts), max_cycles=300)
        one, two = (MultiGridVectorEnv(config, _WORLDS, num_threads=threads) for threads in (1, 2))
        yield Case(name + suffix, group, vector_play(one), _DOCUMENTED)
        yield Case(f"{name}{suffix}, 2 threads", group, vector_play(two), _DOCUMENTED)
        copying = _copy_play(MultiGridVectorEnv(config, _WORLDS))
        yield Case(f"copying what it returns{suffix}", group, copying, _DOCUMENTED)


def _rewarded() -> Iterator[Case]:
    agents, size = CROWDS[0]
    config = dataclasses.replace(restart_config(agents, size, "agent", "target"), max_cycles=300)
    envs = VectorReward(MultiGridVectorEnv(config, _WORLDS), _nearness)
    yield Case(REWARDED, group_name(agents, size), vector_play(envs), _DOCUMENTED)


def _states() -> Iterator[Case]:
    """Yield the cases of bringing one world, and many, to states of other moments, as search does."""
    agents, size = CROWDS[0]
    config = dataclasses.replace(restart_config(agents, size, "agent", "target"), max_cycles=300)
    for name, env in ((SET_ONE, MultiGridEnv(config)), (SET_MANY, MultiGridVectorEnv(config, _WORLDS))):
        yield Case(name, group_name(agents, size), _state_play(env), _DOCUMENTED)


def _state_play(env: Any) -> Play:
    """Return a play that sets states in turn; one world counts as its agents, as in a step."""
    states = []
    for seed in range(8):
        env.reset(seed=seed)
        states.append(env.get_state())
    turn = itertools.cycle(states)
    rows = env.num_envs if isinstance(env, MultiGridVectorEnv) else env.config.num_agents
    return _call_play(lambda: env.set_state(next(turn)), rows)


def _nearness(_observations: Any, rewards: Any, _terminations: Any, _truncations: Any, infos: Any) -> Any:
    return rewards - 0.1 * infos["distance"]


def _one_agent() -> Iterator[Case]:
    group, through_make = "one agent on 5 x 5", f"{_DOCUMENTED}, gym.make"
    spec = EnvSpec("multigrid/Documented-v0", entry_point="multigrid.cli.bench.documented:DocumentedGridWorld")
    # Gymnasium's checker would warn, at every step, of the arrays that the documented code shares.
    documented = gymnasium.make(spec, disable_env_checker=True)
    ours = gymnasium.make("multigrid/GridWorld-v0", disable_env_checker=True)
    yield Case(_DOCUMENTED, group, _single_play(DocumentedGridWorld()), _DOCUMENTED)
    yield Case("GridWorldEnv", group, _single_play(GridWorldEnv()), _DOCUMENTED, 6.0)
    yield _parallel_case(1, 5, group, ("agent", "target"), 1.0)
    group = f"{group}, through gym.make"
    yield Case(through_make, group, _single_play(documented), through_make)
    yield Case("GridWorldEnv, gym.make", group, _single_play(ours), through_make, 4.0)


def _frames() -> Iterator[Case]:
    group, documented = "a step and its frame, 5 x 5", "512x512 frame, documented"
    yield Case(documented, group, _frame_play(DocumentedGridWorld()), documented)
    yield Case("512x512 frame", group, _frame_play(GridWorldEnv(render_mode="rgb_array")), documented, 3.0)


def _many_worlds_of_one_agent() -> Iterator[Case]:
    group, documented = f"one agent on 5 x 5, {_WORLDS:,} worlds", "SyncVectorEnv, documented"
    threaded = GridWorldVectorEnv(_WORLDS, num_threads=2)
    ours = gymnasium.make_vec("multigrid/GridWorld-v0", num_envs=_WORLDS)
    yield Case(documented, group, vector_play(SyncVectorEnv([DocumentedGridWorld] * _WORLDS)), documented)
    yield Case("GridWorld, gym.make_vec", group, vector_play(ours), documented, 500.0)
    yield Case("GridWorld, gym.make_vec, 2 threads", group, vector_play(threaded), documented)
    yield Case("copying what gym.make_vec's returns", group, _copy_play(ours), documented)


def _parallel_case(agents: int, size: int, group: str, parts: tuple[Part, ...], goal: float | None = None) -> Case:
    play = parallel_play(MultiGridEnv(restart_config(agents, size, *parts)))
    return Case(f"ParallelEnv, N = {agents}{', view' if 'view' in parts else ''}", group, play, _DOCUMENTED, goal)


def _stable_baselines() -> Iterator[Case]:
    """Yield a case for each installed adapter to Stable-Baselines3."""
    (agents, size), copies = CROWDS[0], 16
    group, supersuit = f"{agents} agents x {copies}, for Stable-Baselines3", "SB3 VecEnv, SuperSuit"
    config = dataclasses.replace(restart_config(agents, size, "agent", "target"), max_cycles=300)
    makers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        supersuit: ("supersuit", lambda module: module.to_sb3(config, copies, seed=0)),
        "SB3 VecEnv, native": (
            "sb3",
            lambda module: module.to_sb3(MultiGridVectorEnv(config, copies, autoreset_mode="SameStep")),
        ),
    }
    for name, (module, make) in makers.items():
        try:
            env = make(importlib.import_module(f"multigrid.integrations.{module}"))
        except ModuleNotFoundError:
            continue
        env.reset()
        yield Case(name, group, _step_play(env, config.num_actions), supersuit)


def _call_play(step: Callable[[], Any], agent_steps: int) -> Play:
    """Return a play that calls a function, where each call plays `agent_steps` agent-steps."""

    def play(seconds: float) -> tuple[float, int]:
        elapsed, calls = play_round(step, seconds)
        return elapsed, calls * agent_steps

    return play


def _single_play(env: gymnasium.Env[Any, Any]) -> Play:
    """Return a play of a Gymnasium env, reset when an episode ends."""
    actions = np.random.default_rng(0).integers(0, 4, 1000).tolist()
    env.reset(seed=0)

    def step() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return _call_play(step, len(actions))


def _frame_play(env: gymnasium.Env[Any, Any]) -> Play:
    """Return a play of a Gymnasium env that renders after each step."""
    actions = itertools.cycle(np.random.default_rng(0).integers(0, 4, 1000).tolist())
    env.reset(seed=0)

    def step() -> None:
        if env.step(next(actions))[2]:
            env.reset()
        env.render()

    return _call_play(step, 1)


def parallel_play(env: MultiGridEnv) -> Play:
    """Return a play of a ParallelEnv whose episodes never end."""
    env.reset(seed=0)
    agents = env.config.num_agents
    # Play several steps per call: with few agents, reading the clock after each step would add to the time.
    rows = _sample_actions(agents, env.config.num_actions).tolist()[: max(1, 256 // agents)]
    actions = [dict(zip(env.possible_agents, row, strict=True)) for row in rows]

    def step() -> None:
        for joint_action in actions:
            env.step(joint_action)

    return _call_play(step, agents * len(actions))


def vector_play(env: Any) -> Play:
    """Return a play of a vector env."""
    _stagger_episodes(env)
    return _step_play(env, int(env.single_action_space.n))


def _step_play(env: Any, num_actions: int) -> Play:
    actions = itertools.cycle(_sample_actions(env.num_envs, num_actions))
    return _call_play(lambda: env.step(next(actions)), env.num_envs)


def _stagger_episodes(env: Any) -> None:
    """Reset the worlds some steps apart, so that a limit of steps does not end all of their episodes in one step."""
    env.reset(seed=0)
    if not isinstance(env, MultiGridVectorEnv | VectorReward) or env.config.max_cycles is None:
        return
    group, still = np.arange(env.num_envs) // env.config.num_agents % 60, np.zeros(env.num_envs, dtype=np.int64)
    for k in range(60):
        env.reset(options={"reset_mask": group == k})
        for _ in range(env.config.max_cycles // 60):
            env.step(still)


def _copy_play(env: Any) -> Play:
    """Return a play that copies every array that a step of a vector env returns: the least that the step can cost."""
    env.reset(seed=0)
    arrays = list(_find_arrays(env.step(np.zeros(env.num_envs, dtype=np.int64))))

    def step() -> None:
        for array in arrays:
            array.copy()

    return _call_play(step, env.num_envs)


def _find_arrays(returned: Any) -> Iterator[NDArray[Any]]:
    if isinstance(returned, np.ndarray):
        yield returned
    elif isinstance(returned, dict | tuple):
        values = returned.values() if isinstance(returned, dict) else returned
        yield from itertools.chain.from_iterable(map(_find_arrays, values))


def _sample_actions(rows: int, num_actions: int) -> NDArray[np.int64]:
    """Sample actions for some steps, int64 (steps, rows); fewer steps for more rows."""
    steps = min(_MOST_STEPS, max(8, 2**20 // rows))
    return np.random.default_rng(0).integers(0, num_actions, (steps, rows))
