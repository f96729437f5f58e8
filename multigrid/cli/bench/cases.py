"""What is measured here, in this process: the documented code, this package's faces, and copying what they return."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray

from multigrid.cli.bench.documented import DocumentedGridWorld
from multigrid.cli.peers.rounds import play_round
from multigrid.config import GridConfig, Part
from multigrid.envs.grid_world import GridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = [
    "CROWDS",
    "WORLDS",
    "Case",
    "group_of",
    "local_cases",
    "playing_at_once",
    "playing_together",
    "restarting",
]

CROWDS = ((8, 16), (64, 32), (256, 64))
"""Agents, and the side of their grid."""

WORLDS = 1024

_DOCUMENTED = "documented GridWorld"
_DRAWN = 64
"""How many steps' actions are drawn beforehand, to be played over and over; fewer if they are large."""


@dataclasses.dataclass
class Case:
    """Something to be timed.

    Attributes:
        name: what it is, said once in a run.
        group: the heading that it stands under.
        play: plays for about as many seconds as it is told; returns the seconds that it took and the steps of an agent.
        against: the name of what its time is compared with.
        goal: how many times faster than that it should be.
        peer: the key of the peer that it belongs to.
        costs: the microseconds that a step of one agent took, by round.
    """

    name: str
    group: str
    play: Callable[[float], tuple[float, int]]
    against: str | None = None
    goal: float | None = None
    peer: str | None = None
    costs: list[float] = dataclasses.field(default_factory=list)

    def measure(self, seconds: float) -> None:
        """Play a round."""
        took, agent_steps = self.play(seconds)
        self.costs.append(1e6 * took / agent_steps)

    @property
    def microseconds(self) -> float:
        """The median cost."""
        return statistics.median(self.costs)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        low, middle, high = statistics.quantiles(self.costs, n=4)
        return (high - low) / (2 * middle)


def group_of(agents: int, size: int) -> str:
    """Return the heading of everything that plays so many agents on such a map."""
    return f"{agents} agents on {size} x {size}"


def restarting(agents: int, size: int, *parts: Part) -> GridConfig:
    """Return a world in which play never ends, and every agent always has something to do."""
    return GridConfig(size=size, num_agents=agents, observe=parts, on_target="restart", max_cycles=None)


def _played(call: Callable[[], Any], agent_steps: int) -> Callable[[float], tuple[float, int]]:
    """Return what plays a round of a call that is worth so many steps of an agent."""

    def play(seconds: float) -> tuple[float, int]:
        took, calls = play_round(call, seconds)
        return took, calls * agent_steps

    return play


def local_cases() -> Iterator[Case]:
    """Make all of them, those that others are compared with first."""
    yield from _one_agent()
    yield from _frames()
    yield from _many_worlds_of_one_agent()
    for (agents, size), goal in zip(CROWDS, (6.0, 10.0, 10.0), strict=True):
        yield from _crowd(agents, size, goal)
    yield from _many_worlds_of_eight()
    yield from _large_maps()
    yield from _stable_baselines()


def _one_agent() -> Iterator[Case]:
    group, made = "one agent on 5 x 5", f"{_DOCUMENTED}, gym.make"
    spec = EnvSpec("multigrid/Documented-v0", entry_point="multigrid.cli.bench.documented:DocumentedGridWorld")
    # Gymnasium's checker would warn, at every step, of the arrays that the documented code shares.
    made_documented = gymnasium.make(spec, disable_env_checker=True)
    made_ours = gymnasium.make("multigrid/GridWorld-v0", disable_env_checker=True)
    yield Case(_DOCUMENTED, group, _single(DocumentedGridWorld()), _DOCUMENTED)
    yield Case("GridWorldEnv", group, _single(GridWorldEnv()), _DOCUMENTED, 6.0)
    yield _parallel_case(1, 5, group, _DOCUMENTED, 1.0, "agent", "target")
    group = f"{group}, through gym.make"
    yield Case(made, group, _single(made_documented), made)
    yield Case("GridWorldEnv, gym.make", group, _single(made_ours), made, 4.0)


def _single(env: gymnasium.Env[Any, Any]) -> Callable[[float], tuple[float, int]]:
    actions = np.random.default_rng(0).integers(0, 4, 1000).tolist()
    env.reset(seed=0)

    def play() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return _played(play, len(actions))


def _frames() -> Iterator[Case]:
    group, documented = "a step and its frame, 5 x 5", "512x512 frame, documented"
    yield Case(documented, group, _drawn(DocumentedGridWorld()), documented)
    yield Case("512x512 frame", group, _drawn(GridWorldEnv(render_mode="rgb_array")), documented, 3.0)


def _drawn(env: gymnasium.Env[Any, Any]) -> Callable[[float], tuple[float, int]]:
    chosen = itertools.cycle(np.random.default_rng(0).integers(0, 4, 1000).tolist())
    env.reset(seed=0)

    def play() -> None:
        if env.step(next(chosen))[2]:
            env.reset()
        env.render()

    return _played(play, 1)


def _many_worlds_of_one_agent() -> Iterator[Case]:
    group, documented = f"one agent on 5 x 5, {WORLDS:,} worlds", "SyncVectorEnv, documented"
    threaded = GridWorldVectorEnv(WORLDS, num_threads=2)
    made = gymnasium.make_vec("multigrid/GridWorld-v0", num_envs=WORLDS)
    yield Case(documented, group, playing_at_once(SyncVectorEnv([DocumentedGridWorld] * WORLDS)), documented)
    yield Case("GridWorld, gym.make_vec", group, playing_at_once(made), documented, 500.0)
    yield Case("GridWorld, gym.make_vec, 2 threads", group, playing_at_once(threaded), documented)
    yield Case("copying what gym.make_vec's returns", group, _copying(made), documented)


def _crowd(agents: int, size: int, goal: float) -> Iterator[Case]:
    group, pogema = group_of(agents, size), f"POGEMA priority, N = {agents}"
    yield _parallel_case(agents, size, group, pogema, goal, "agent", "target")
    yield _parallel_case(agents, size, group, pogema, 5.0, "view")


def _parallel_case(agents: int, size: int, group: str, against: str, goal: float, *parts: Part) -> Case:
    play = playing_together(MultiGridEnv(restarting(agents, size, *parts)))
    name = f"ParallelEnv, N = {agents}{', view' if 'view' in parts else ''}"
    return Case(name, group, play, against, goal)


def playing_together(env: MultiGridEnv) -> Callable[[float], tuple[float, int]]:
    """Return what plays rounds of a ParallelEnv, its results dropped."""
    env.reset(seed=0)
    agents = env.config.num_agents
    drawn = _actions(agents, env.config.num_actions).tolist()
    # Few agents take so little time that looking at the clock after every step would show.
    chosen = [dict(zip(env.possible_agents, row, strict=True)) for row in drawn[: max(1, 256 // agents)]]

    def play() -> None:
        for actions in chosen:
            env.step(actions)

    return _played(play, agents * len(chosen))


def _many_worlds_of_eight() -> Iterator[Case]:
    agents, size = CROWDS[0]
    group, pogema = group_of(agents, size), f"POGEMA priority, N = {agents}"
    name = f"vector env, {agents} x {WORLDS:,}"
    kinds: tuple[tuple[str, tuple[Part, ...], float | None], ...] = (
        ("", ("agent", "target"), None),
        (", view", ("view",), 50.0),
    )
    for suffix, parts, goal in kinds:
        # With the ordinary limit: the new layouts that autoresets draw are part of what is measured.
        config = dataclasses.replace(restarting(agents, size, *parts), max_cycles=300)
        one, two = (MultiGridVectorEnv(config, WORLDS, num_threads=threads) for threads in (1, 2))
        yield Case(name + suffix, group, playing_at_once(one), pogema, goal)
        yield Case(f"{name}{suffix}, 2 threads", group, playing_at_once(two), pogema)
        copying = _copying(MultiGridVectorEnv(config, WORLDS))
        yield Case(f"copying what it returns{suffix}", group, copying, pogema)


def _large_maps() -> Iterator[Case]:
    for agents in (16, 1024):
        # A million steps a second where the documented code makes 0.13 million.
        yield _parallel_case(agents, 256, "a large map, 256 x 256", _DOCUMENTED, 7.7, "agent", "target")


def _stable_baselines() -> Iterator[Case]:
    """The two ways to Stable-Baselines3, as far as they are installed."""
    (agents, size), copies = CROWDS[0], 16
    group, supersuit = f"{agents} agents x {copies}, for Stable-Baselines3", "SuperSuit"
    config = dataclasses.replace(restarting(agents, size, "agent", "target"), max_cycles=300)
    makers: dict[str, Callable[[Any], Any]] = {
        supersuit: lambda module: module.to_sb3(config, copies, seed=0),
        "native": lambda module: module.to_sb3(MultiGridVectorEnv(config, copies, autoreset_mode="SameStep")),
    }
    for name, module in ((supersuit, "supersuit"), ("native", "sb3")):
        try:
            env = makers[name](importlib.import_module(f"multigrid.integrations.{module}"))
        except ModuleNotFoundError:
            continue
        env.reset()
        chosen = itertools.cycle(_actions(env.num_envs, config.num_actions))
        step = functools.partial(_step_next, env, chosen)
        yield Case(f"SB3 VecEnv, {name}", group, _played(step, env.num_envs), f"SB3 VecEnv, {supersuit}")


def playing_at_once(env: Any) -> Callable[[float], tuple[float, int]]:
    """Return what plays rounds of a vector env, its results dropped."""
    _stagger(env)
    chosen = itertools.cycle(_actions(env.num_envs, int(env.single_action_space.n)))
    return _played(functools.partial(_step_next, env, chosen), env.num_envs)


def _step_next(env: Any, chosen: Iterator[Any]) -> None:
    env.step(next(chosen))


def _stagger(env: Any) -> None:
    """Reset the worlds some steps apart, so that limits do not end all of their episodes in one and the same step."""
    env.reset(seed=0)
    if not isinstance(env, MultiGridVectorEnv) or env.config.max_cycles is None:
        return
    group, still = np.arange(env.num_envs) // env.config.num_agents % 60, np.zeros(env.num_envs, dtype=np.int64)
    for k in range(60):
        env.reset(options={"reset_mask": group == k})
        for _ in range(env.config.max_cycles // 60):
            env.step(still)


def _copying(env: Any) -> Callable[[float], tuple[float, int]]:
    """Return what copies every array that a step of the env returns: less than that it cannot cost."""
    env.reset(seed=0)
    arrays = list(_arrays(env.step(np.zeros(env.num_envs, dtype=np.int64))))

    def play() -> None:
        for array in arrays:
            array.copy()

    return _played(play, env.num_envs)


def _arrays(returned: Any) -> Iterator[NDArray[Any]]:
    if isinstance(returned, np.ndarray):
        yield returned
    elif isinstance(returned, dict):
        yield from itertools.chain.from_iterable(map(_arrays, returned.values()))
    elif isinstance(returned, tuple):
        yield from itertools.chain.from_iterable(map(_arrays, returned))


def _actions(rows: int, num_actions: int) -> NDArray[np.int64]:
    steps = min(_DRAWN, max(8, 2**20 // rows))
    return np.random.default_rng(0).integers(0, num_actions, (steps, rows))
