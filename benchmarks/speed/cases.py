"""The cases of `python -m benchmarks`: the documented code, this package, and what limits its speed."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv

from benchmarks.documented import DocumentedGridWorld
from benchmarks.speed.copying import copy_play, count_bytes, record_steps
from benchmarks.speed.floors import grid_world_floor, parallel_floor
from benchmarks.speed.plays import (
    Play,
    frame_play,
    parallel_play,
    single_play,
    state_play,
    step_only_play,
    step_play,
    vector_play,
)
from examples.games.key_and_door import KeyAndDoor
from examples.games.tag import Tag
from multigrid.config import GridConfig, Part
from multigrid.envs.grid_world import GridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.maps import RandomWalls, random_map
from multigrid.wrappers import VectorReward

__all__ = [
    "CROWDS",
    "GAMES",
    "GRID_WORLDS",
    "OTHER_SIZES",
    "REWARDED",
    "SET_MANY",
    "SET_ONE",
    "VARIED",
    "WORLDS",
    "Case",
    "copying_name",
    "crowd_cases",
    "floor_name",
    "group_name",
    "limited_config",
    "local_cases",
    "one_map_name",
    "restart_config",
    "spread",
    "vector_name",
]

CROWDS = ((8, 16), (64, 32), (256, 64))
"""Pairs of a number of agents and the side of their square grid."""

WORLDS = 1024
"""The number of worlds of most vector envs."""

GRID_WORLDS = "GridWorld, gym.make_vec"
REWARDED = "vector env, 1,024 x 8, own reward"
GAMES = {"vector env, 1,024 x 8, key and door": KeyAndDoor, "vector env, 1,024 x 8, tag": Tag}
VARIED: dict[str, tuple[dict[str, Any], int, float]] = {
    "random walls drawn, episodes of 50": ({"walls": RandomWalls(size=16, density=0.2)}, 50, 2.2),
    "random walls drawn, episodes of 300": ({"walls": RandomWalls(size=16, density=0.2)}, 300, 1.6),
    "delays of 1 step, p = 0.01": ({"delays": 0.01}, 300, 1.1),
    "delays of 1 to 4 steps, p = 0.05": ({"delays": (0.05, 1, 4)}, 300, 1.1),
}
"""What varies in 1,024 worlds of 8 agents, the steps of an episode, and the most times the cost of one map."""
SET_ONE, SET_MANY = "ParallelEnv, N = 8: set_state", "vector env, 1,024 x 8: set_state"
OTHER_SIZES = ((64, CROWDS[1]), (16_384, CROWDS[0]))
"""Numbers of worlds, and their crowds."""

_DOCUMENTED = "documented GridWorld"


@dataclasses.dataclass
class Case:
    """A case to time.

    Attributes:
        name: its name, unique in a run.
        group: the heading of its table.
        play: the function that plays a round.
        against: the name of the case that its time is compared with.
        goal: how many times faster than `against` it should be.
        row_bytes: for a case that copies, the bytes of an agent-step.
        costs: microseconds per agent-step, one figure for each round.
    """

    name: str
    group: str
    play: Play
    against: str
    goal: float | None = None
    row_bytes: float | None = None
    costs: list[float] = dataclasses.field(default_factory=list)

    def measure(self, seconds: float) -> None:
        """Play a round and append its cost."""
        elapsed, agent_steps = self.play(seconds)
        self.costs.append(1e6 * elapsed / agent_steps)

    @property
    def microseconds(self) -> float:
        """The median cost."""
        return statistics.median(self.costs)

    def ratios(self, other: Case) -> list[float]:
        """Return how many times the other's cost is this one's, in each round."""
        return [its / own for own, its in zip(self.costs, other.costs, strict=True)]


def spread(values: Sequence[float]) -> float:
    """Return half the distance between the quartiles, relative to the median; 0 for a single value.

    >>> spread([1.0, 2.0, 2.0, 2.0, 3.0])
    0.25
    """
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / (2 * middle)


def group_name(agents: int, size: int) -> str:
    """Return the heading of the cases with that many agents on a grid of that side."""
    return f"{agents} agents on {size} x {size}"


def vector_name(worlds: int, agents: int, suffix: str = "") -> str:
    """Return the name of a vector env.

    >>> vector_name(1024, 8, ", view")
    'vector env, 1,024 x 8, view'
    """
    return f"vector env, {worlds:,} x {agents}{suffix}"


def copying_name(name: str) -> str:
    """Return the name of the case that copies what a vector env returns."""
    return f"{name}: copying"


def floor_name(name: str) -> str:
    """Return the name of the case that creates what a step returns, without playing."""
    return f"{name}: CPython's floor"


def restart_config(agents: int, size: int, *parts: Part) -> GridConfig:
    """Return a configuration whose episodes never end: an agent that arrives gets a new target."""
    return GridConfig(size=size, num_agents=agents, observe=parts, on_target="restart", max_cycles=None)


def limited_config(agents: int, size: int, *parts: Part) -> GridConfig:
    """Return a configuration with a limit of steps, so that metrics and autoresets, which sample layouts, are timed."""
    return dataclasses.replace(restart_config(agents, size, *(parts or ("agent", "target"))), max_cycles=300)


def local_cases() -> Iterator[Case]:
    """Yield all cases; a baseline precedes the cases that are compared with it."""
    yield from _one_agent()
    yield from _frames()
    yield from _many_worlds_of_one_agent()
    yield from crowd_cases()
    yield from _floors()
    yield from _other_sizes()
    yield from _rewarded()
    yield from _games()
    yield from _varied()
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
    group = group_name(agents, size)
    kinds: tuple[tuple[str, tuple[Part, ...]], ...] = (("", ("agent", "target")), (", view", ("view",)))
    for suffix, parts in kinds:
        config, name = limited_config(agents, size, *parts), vector_name(WORLDS, agents, suffix)
        make: Callable[..., Any] = functools.partial(MultiGridVectorEnv[Any], config, WORLDS)
        yield from _vector_cases(name, group, _DOCUMENTED, make)
        yield Case(f"{name}, 2 threads", group, vector_play(make(num_threads=2)), _DOCUMENTED)


def _vector_cases(name: str, group: str, against: str, make: Callable[[], Any]) -> Iterator[Case]:
    """Yield the case of a vector env, and that of copying what it returns."""
    yield Case(name, group, vector_play(make()), against)
    env = make()
    steps = record_steps(env)
    play, row_bytes = copy_play(steps, env.num_envs), count_bytes(steps) / env.num_envs
    yield Case(copying_name(name), group, play, against, row_bytes=row_bytes)


def _floors() -> Iterator[Case]:
    """Yield the cases of creating what a step of one world returns, without playing."""
    name = "GridWorldEnv.step"
    yield Case(name, "one agent on 5 x 5", step_only_play(GridWorldEnv()), _DOCUMENTED)
    yield Case(floor_name(name), "one agent on 5 x 5", grid_world_floor(GridWorldEnv()), _DOCUMENTED)
    for agents, size in CROWDS[:2]:
        env = MultiGridEnv(restart_config(agents, size, "agent", "target"))
        name = floor_name(f"ParallelEnv, N = {agents}")
        yield Case(name, group_name(agents, size), parallel_floor(env), _DOCUMENTED)


def _other_sizes() -> Iterator[Case]:
    """Yield the cases of other numbers of worlds and agents for which the fastest C was measured."""
    for worlds, (agents, size) in OTHER_SIZES:
        name = vector_name(worlds, agents)
        group, config = f"{worlds:,} worlds of {group_name(agents, size)}", limited_config(agents, size)
        make: Callable[..., Any] = functools.partial(MultiGridVectorEnv[Any], config, worlds)
        yield from _vector_cases(name, group, _DOCUMENTED, make)


def _rewarded() -> Iterator[Case]:
    agents, size = CROWDS[0]
    envs = VectorReward(MultiGridVectorEnv(limited_config(agents, size), WORLDS), _nearness)
    yield Case(REWARDED, group_name(agents, size), vector_play(envs), _DOCUMENTED)


def _nearness(_observations: Any, rewards: Any, _terminations: Any, _truncations: Any, infos: Any) -> Any:
    return rewards - 0.1 * infos["distance"]


def _games() -> Iterator[Case]:
    """Yield the cases of games of examples/games, whose functions are compiled into the step."""
    agents, size = CROWDS[0]
    for name, game in GAMES.items():
        parts: Any = ("agent", *game.parts)
        config = GridConfig(size=size, num_agents=agents, observe=parts, max_cycles=300, game=game)
        yield Case(name, group_name(agents, size), vector_play(MultiGridVectorEnv(config, WORLDS)), _DOCUMENTED)


def one_map_name(steps: int) -> str:
    """Return the name of the case of one map with random walls in all worlds, in episodes of so many steps."""
    return f"one map, episodes of {steps}"


def _varied() -> Iterator[Case]:
    """Yield the cases of worlds that vary at every reset, and of delays, each after that of one map."""
    agents, size = CROWDS[0]
    walls = random_map(size, size, density=0.2, seed=0)
    made: set[int] = set()
    for name, (changes, steps, _) in VARIED.items():
        one = GridConfig(
            walls=walls, num_agents=agents, observe=("agent", "target"), on_target="restart", max_cycles=steps
        )
        changed = dataclasses.replace(one, **changes)
        for case, config in {one_map_name(steps): one, name: changed}.items():
            if case == name or steps not in made:
                yield Case(case, group_name(agents, size), vector_play(MultiGridVectorEnv(config, WORLDS)), _DOCUMENTED)
        made.add(steps)


def _states() -> Iterator[Case]:
    """Yield the cases of bringing one world, and many, to states of other moments, as search does."""
    agents, size = CROWDS[0]
    config = limited_config(agents, size)
    for name, env in ((SET_ONE, MultiGridEnv(config)), (SET_MANY, MultiGridVectorEnv(config, WORLDS))):
        yield Case(name, group_name(agents, size), state_play(env), _DOCUMENTED)


def _one_agent() -> Iterator[Case]:
    group, through_make = "one agent on 5 x 5", f"{_DOCUMENTED}, gym.make"
    spec = EnvSpec("multigrid/Documented-v0", entry_point="benchmarks.documented:DocumentedGridWorld")
    # Gymnasium's checker would warn, at every step, of the arrays that the documented code shares.
    documented = gymnasium.make(spec, disable_env_checker=True)
    ours = gymnasium.make("multigrid/GridWorld-v0", disable_env_checker=True)
    yield Case(_DOCUMENTED, group, single_play(DocumentedGridWorld()), _DOCUMENTED)
    yield Case("GridWorldEnv", group, single_play(GridWorldEnv()), _DOCUMENTED, 6.0)
    yield _parallel_case(1, 5, group, ("agent", "target"), 1.0)
    group = f"{group}, through gym.make"
    yield Case(through_make, group, single_play(documented), through_make)
    yield Case("GridWorldEnv, gym.make", group, single_play(ours), through_make, 4.0)


def _frames() -> Iterator[Case]:
    group, documented = "a step and its frame, 5 x 5", "512x512 frame, documented"
    yield Case(documented, group, frame_play(DocumentedGridWorld()), documented)
    yield Case("512x512 frame", group, frame_play(GridWorldEnv(render_mode="rgb_array")), documented, 3.0)


def _many_worlds_of_one_agent() -> Iterator[Case]:
    group, documented = f"one agent on 5 x 5, {WORLDS:,} worlds", "SyncVectorEnv, documented"
    yield Case(documented, group, vector_play(SyncVectorEnv([DocumentedGridWorld] * WORLDS)), documented)
    make = functools.partial(gymnasium.make_vec, "multigrid/GridWorld-v0", num_envs=WORLDS)
    for case in _vector_cases(GRID_WORLDS, group, documented, make):
        yield dataclasses.replace(case, goal=500.0) if case.name == GRID_WORLDS else case
    threaded = GridWorldVectorEnv(WORLDS, num_threads=2)
    yield Case(f"{GRID_WORLDS}, 2 threads", group, vector_play(threaded), documented)


def _parallel_case(agents: int, size: int, group: str, parts: tuple[Part, ...], goal: float | None = None) -> Case:
    play = parallel_play(MultiGridEnv(restart_config(agents, size, *parts)))
    return Case(f"ParallelEnv, N = {agents}{', view' if 'view' in parts else ''}", group, play, _DOCUMENTED, goal)


def _stable_baselines() -> Iterator[Case]:
    """Yield a case for each installed adapter to Stable-Baselines3."""
    (agents, size), copies = CROWDS[0], 16
    group, supersuit = f"{agents} agents x {copies}, for Stable-Baselines3", "SB3 VecEnv, SuperSuit"
    config = limited_config(agents, size)
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
        yield Case(name, group, step_play(env, config.num_actions), supersuit)
