"""The cases of `python -m benchmarks`: the documented code, this package, and what limits its speed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import itertools
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray

from benchmarks.documented import DocumentedGridWorld
from benchmarks.peer_scripts.play_pogema import play_round
from benchmarks.speed.floors import GridWorldFloor, ParallelFloor
from examples.games.key_and_door import KeyAndDoor
from examples.games.tag import Tag
from multigrid.config import GridConfig, Part
from multigrid.envs.grid_world import GridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.maps import RandomWalls, random_map
from multigrid.wrappers import VectorReward

Play: TypeAlias = Callable[[float], tuple[float, int]]
"""A function that plays for about a given time, in seconds; it returns the time taken and the agent-steps played."""

CROWDS = ((8, 16), (64, 32), (256, 64))
"""Pairs of a number of agents and the side of their square grid."""
WORLDS = 1024
DOCUMENTED = "documented GridWorld"
GRID_WORLDS = "GridWorld, gym.make_vec"
EIGHT, EIGHT_VIEW = "vector env, 1,024 x 8", "vector env, 1,024 x 8, view"
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
COPYING, FLOOR = ": copying", ": CPython's floor"
"""What the names of lower bounds end with."""
QUIET, BUSY = (8192, 16_384), (256, 1024, 8192)
"""The numbers of worlds for which two threads are compared with one, on idle and on busy cores."""


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
    against: str = DOCUMENTED
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


@dataclasses.dataclass
class Curve:
    """The costs of one kind of environment at growing numbers of agents or worlds, the `axis`."""

    name: str
    axis: str
    cases: dict[int, Case]

    @property
    def microseconds(self) -> list[float]:
        """The median costs."""
        return [case.microseconds for case in self.cases.values()]

    @property
    def rise(self) -> float:
        """The ratio of the highest cost after the lowest to the lowest; a cost that falls with the count is no rise."""
        costs = self.microseconds
        lowest = costs.index(min(costs))
        return max(costs[lowest:]) / costs[lowest]


def play_calls(step: Callable[[], Any], agent_steps: int) -> Play:
    """Return a play that calls a function, where each call plays `agent_steps` agent-steps."""

    def play(seconds: float) -> tuple[float, int]:
        elapsed, calls = play_round(step, seconds)
        return elapsed, calls * agent_steps

    return play


def play_steps(step: Callable[[Any], Any], actions: Sequence[Any], agents: int) -> Play:
    """Return a play that steps one world again and again, many times in a call: reading the clock takes time, too."""
    actions = actions[: max(1, 256 // agents)]

    def step_all() -> None:
        for action in actions:
            step(action)

    return play_calls(step_all, agents * len(actions))


def play_single(env: gymnasium.Env[Any, Any], *, render: bool = False) -> Play:
    """Return a play of a Gymnasium env, which is reset when an episode ends, and may be rendered after each step."""
    actions = np.random.default_rng(0).integers(0, 4, 1000).tolist()
    at_once = 1 if render else len(actions)
    turns = itertools.cycle([actions[k : k + at_once] for k in range(0, len(actions), at_once)])
    env.reset(seed=0)

    def step() -> None:
        for action in next(turns):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
            if render:
                env.render()

    return play_calls(step, at_once)


def play_parallel(env: MultiGridEnv) -> Play:
    """Return a play of a ParallelEnv whose episodes never end."""
    env.reset(seed=0)
    return play_steps(env.step, joint_actions(env), env.config.num_agents)


def joint_actions(env: MultiGridEnv) -> list[dict[str, int]]:
    """Sample actions of all agents, by name, for some steps."""
    rows = sample_actions(env.config.num_agents, env.config.num_actions).tolist()
    return [dict(zip(env.possible_agents, row, strict=True)) for row in rows]


def play_states(env: MultiGridEnv | MultiGridVectorEnv) -> Play:
    """Return a play that sets states in turn; one world counts as its agents, as in a step."""
    states: list[Any] = []
    for seed in range(8):
        env.reset(seed=seed)
        states.append(env.get_state())
    turn = itertools.cycle(states)
    rows = env.num_envs if isinstance(env, MultiGridVectorEnv) else env.config.num_agents
    return play_calls(lambda: env.set_state(next(turn)), rows)


def play_vector(env: Any) -> Play:
    """Return a play of a vector env, of any library."""
    env.reset(seed=0)
    if isinstance(env.unwrapped, MultiGridVectorEnv):
        spread_ends(env.unwrapped)
    actions = itertools.cycle(sample_actions(env.num_envs, int(env.single_action_space.n)))
    return play_calls(lambda: env.step(next(actions)), env.num_envs)


def spread_ends(env: MultiGridVectorEnv) -> None:
    """Set how many steps each world has played, so that a limit ends equally many episodes in every step.

    Without it all worlds would end in one step, whose metrics and resets cost more than all others.
    """
    limit, at_once = env.config.max_cycles, 10_000
    for first in range(0, env.num_worlds if limit else 0, at_once):
        worlds = np.arange(first, min(first + at_once, env.num_worlds))
        states = env.get_state(worlds)
        states["steps"] = worlds * limit // env.num_worlds
        env.set_state(states, worlds)


def sample_actions(rows: int, num_actions: int) -> NDArray[np.int64]:
    """Sample actions for some steps, int64 (steps, rows); fewer steps for more rows."""
    return np.random.default_rng(0).integers(0, num_actions, (min(64, max(8, 2**20 // rows)), rows))


# For large arrays NumPy's `copyto` and `copy` call the C library's memcpy, whose instruction "rep movsb" takes three
# times as long for some pairs of addresses on some processors. `positive` has a loop of its own, with plain loads and
# stores.
copy_words = np.positive


def record_steps(env: MultiGridVectorEnv) -> list[list[NDArray[Any]]]:
    """Play steps of worlds that end one after the other; return, for each step, the arrays that it returned.

    Arrays of the same name are represented by that of the first step that returned it: with those of all steps, copies
    would wait for memory, while a step has just written what it copies.
    """
    env.reset(seed=0)
    spread_ends(env)
    limit = env.config.max_cycles
    # With fewer worlds than steps in an episode, no world ends in some of the steps.
    steps = 20 if limit is None or env.num_worlds >= limit else limit
    actions = itertools.cycle(sample_actions(env.num_envs, env.config.num_actions))
    known: dict[str, NDArray[Any]] = {}
    recorded = []
    for _ in range(steps):
        arrays = dict(find_arrays(env.step(next(actions))))
        known = arrays | known
        recorded.append([known[name] for name in arrays])
    return recorded


def find_arrays(returned: Any, name: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays in what a step returned, with a name for each.

    >>> [name for name, _ in find_arrays(({"agent": np.zeros(2)}, np.zeros(1), {"distance": np.zeros(1)}))]
    ['/0/agent', '/1', '/2/distance']
    """
    if isinstance(returned, np.ndarray):
        yield name, returned
    elif isinstance(returned, dict | tuple):
        for key, value in returned.items() if isinstance(returned, dict) else enumerate(returned):
            yield from find_arrays(value, f"{name}/{key}")


def play_copies(steps: Sequence[Sequence[NDArray[Any]]], rows: int) -> Play:
    """Return a play that copies the arrays of one step after the other into arrays that exist: the least that it costs.

    To allocate new arrays takes a hundred times as long as the copies where the system maps their memory anew for each
    step, so that is left out.

    Args:
        steps: the arrays of each step.
        rows: the number of agent-steps of a step.
    """
    copies: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
    for array in itertools.chain.from_iterable(steps):
        content = array.reshape(-1).view(np.uint8)
        words = content.view(np.uint64) if content.size % 8 == 0 else content
        copies.setdefault(id(array), (words, np.empty_like(words)))
    turn = itertools.cycle([[copies[id(array)] for array in arrays] for arrays in steps])
    copy = copy_words

    def step() -> None:
        for words, copied in next(turn):
            copy(words, copied)

    return play_calls(step, rows)


def restart_config(agents: int, size: int, *parts: Part) -> GridConfig:
    """Return a configuration whose episodes never end; agents observe `agent` and `target` by default."""
    return GridConfig(
        size=size, num_agents=agents, observe=parts or ("agent", "target"), on_target="restart", max_cycles=None
    )


def limited_config(agents: int, size: int, *parts: Part) -> GridConfig:
    """Return a configuration with a limit of steps, so that metrics and autoresets, which sample layouts, are timed."""
    return dataclasses.replace(restart_config(agents, size, *parts), max_cycles=300)


def local_cases() -> Iterator[Case]:
    """Yield all cases; a baseline precedes the cases that are compared with it."""
    yield from _one_agent()
    yield from crowd_cases()
    yield from _floors()
    for worlds, (agents, size) in ((64, CROWDS[1]), (16_384, CROWDS[0])):
        make = functools.partial(MultiGridVectorEnv[Any], limited_config(agents, size), worlds)
        group = f"{worlds:,} worlds of {_group(agents, size)}"
        yield from _with_copying(f"vector env, {worlds:,} x {agents}", group, DOCUMENTED, make)
    yield from _variants()
    for agents in (16, 1024):
        # The goal is a million steps a second; the documented code plays 0.13 million.
        yield _parallel_case(agents, 256, "a large map, 256 x 256", (), 7.7)
    yield from _stable_baselines()


def _one_agent() -> Iterator[Case]:
    group, through_make = "one agent on 5 x 5", f"{DOCUMENTED}, gym.make"
    yield Case(DOCUMENTED, group, play_single(DocumentedGridWorld()))
    yield Case("GridWorldEnv", group, play_single(GridWorldEnv()), goal=6.0)
    yield _parallel_case(1, 5, group, (), 1.0)
    group = f"{group}, through gym.make"
    spec = EnvSpec("multigrid/Documented-v0", entry_point="benchmarks.documented:DocumentedGridWorld")
    # Gymnasium's checker would warn, at every step, of the arrays that the documented code shares.
    documented = gymnasium.make(spec, disable_env_checker=True)
    ours = gymnasium.make("multigrid/GridWorld-v0", disable_env_checker=True)
    yield Case(through_make, group, play_single(documented), through_make)
    yield Case("GridWorldEnv, gym.make", group, play_single(ours), through_make, 4.0)
    group, documented_frame = "a step and its frame, 5 x 5", "512x512 frame, documented"
    yield Case(documented_frame, group, play_single(DocumentedGridWorld(), render=True), documented_frame)
    frame = play_single(GridWorldEnv(render_mode="rgb_array"), render=True)
    yield Case("512x512 frame", group, frame, documented_frame, 3.0)
    group, many = f"one agent on 5 x 5, {WORLDS:,} worlds", "SyncVectorEnv, documented"
    yield Case(many, group, play_vector(SyncVectorEnv([DocumentedGridWorld] * WORLDS)), many)
    make = functools.partial(gymnasium.make_vec, "multigrid/GridWorld-v0", num_envs=WORLDS)
    yield from _with_copying(GRID_WORLDS, group, many, make, 500.0)
    yield Case(f"{GRID_WORLDS}, 2 threads", group, play_vector(GridWorldVectorEnv(WORLDS, num_threads=2)), many)


def crowd_cases() -> Iterator[Case]:
    """Yield the cases of many agents that `benchmarks.peers` compares with other environments."""
    for agents, size in CROWDS:
        yield _parallel_case(agents, size, _group(agents, size), ())
        yield _parallel_case(agents, size, _group(agents, size), ("view",))
    (agents, size), kinds = CROWDS[0], {EIGHT: (), EIGHT_VIEW: ("view",)}
    for name, parts in kinds.items():
        make = functools.partial(MultiGridVectorEnv[Any], limited_config(agents, size, *parts), WORLDS)  # type: ignore[arg-type]
        yield from _with_copying(name, _group(agents, size), DOCUMENTED, make)
        yield Case(f"{name}, 2 threads", _group(agents, size), play_vector(make(num_threads=2)))


def _with_copying(
    name: str, group: str, against: str, make: Callable[..., Any], goal: float | None = None
) -> Iterator[Case]:
    """Yield the case of a vector env, and that of copying what it returns."""
    yield Case(name, group, play_vector(make()), against, goal)
    env = make()
    steps = record_steps(env)
    row_bytes = sum(array.nbytes for arrays in steps for array in arrays) / len(steps) / env.num_envs
    yield Case(name + COPYING, group, play_copies(steps, env.num_envs), against, row_bytes=row_bytes)


def _floors() -> Iterator[Case]:
    """Yield the cases of creating what a step of one world returns, without playing."""
    group, name = "one agent on 5 x 5", "GridWorldEnv.step"
    env, actions = GridWorldEnv(), np.random.default_rng(0).integers(0, 4, 1000).tolist()
    env.reset(seed=0)
    yield Case(name, group, play_steps(env.step, actions, 1))
    yield Case(name + FLOOR, group, play_steps(GridWorldFloor(GridWorldEnv()).step, actions, 1))
    for agents, size in CROWDS[:2]:
        parallel = MultiGridEnv(restart_config(agents, size))
        play = play_steps(ParallelFloor(parallel).step, joint_actions(parallel), agents)
        yield Case(f"ParallelEnv, N = {agents}{FLOOR}", _group(agents, size), play)


def _variants() -> Iterator[Case]:
    """Yield vector envs with a reward, a game, drawn maps, delays, and states of other moments, as search sets them."""
    agents, size = CROWDS[0]
    group, config = _group(agents, size), limited_config(agents, size)
    envs = VectorReward(
        MultiGridVectorEnv(config, WORLDS), lambda _, rewards, *ends: rewards - 0.1 * ends[-1]["distance"]
    )
    yield Case(REWARDED, group, play_vector(envs))
    for name, game in GAMES.items():
        parts: Any = ("agent", *game.parts)
        own = GridConfig(size=size, num_agents=agents, observe=parts, max_cycles=300, game=game)
        yield Case(name, group, play_vector(MultiGridVectorEnv(own, WORLDS)))
    walls, made = random_map(size, size, density=0.2, seed=0), set[str]()
    for name, (changes, steps, _) in VARIED.items():
        still = GridConfig(
            walls=walls, num_agents=agents, observe=("agent", "target"), on_target="restart", max_cycles=steps
        )
        for case, changed in {one_map(steps): still, name: dataclasses.replace(still, **changes)}.items():
            if case not in made:
                yield Case(case, group, play_vector(MultiGridVectorEnv(changed, WORLDS)))
        made.add(one_map(steps))
    yield Case(SET_ONE, group, play_states(MultiGridEnv(config)))
    yield Case(SET_MANY, group, play_states(MultiGridVectorEnv(config, WORLDS)))


def one_map(steps: int) -> str:
    """Return the name of the case of one map with random walls in all worlds, in episodes of so many steps."""
    return f"one map, episodes of {steps}"


def _parallel_case(agents: int, size: int, group: str, parts: tuple[Part, ...], goal: float | None = None) -> Case:
    play = play_parallel(MultiGridEnv(restart_config(agents, size, *parts)))
    return Case(f"ParallelEnv, N = {agents}{', view' if 'view' in parts else ''}", group, play, goal=goal)


def _group(agents: int, size: int) -> str:
    return f"{agents} agents on {size} x {size}"


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
        actions = itertools.cycle(sample_actions(env.num_envs, config.num_actions))
        play = play_calls(functools.partial(_step_next, env, actions), env.num_envs)
        yield Case(name, group, play, supersuit)


def _step_next(env: Any, actions: Iterator[Any]) -> None:
    env.step(next(actions))


def thread_cases(*, busy: bool) -> list[Case]:
    """Return the cases of one and of two threads; `busy` ones are to be measured inside `busy_cores`."""
    (agents, size), cases = CROWDS[0], []
    where, goal, counts = (", busy cores", 0.9, BUSY) if busy else ("", 1.7, QUIET)
    for worlds in counts:
        group = f"{worlds:,} worlds of {agents} agents{where}"
        one, two = (f"{count}, {worlds:,} worlds{where}" for count in ("1 thread", "2 threads"))
        plays = [play_vector(MultiGridVectorEnv(limited_config(agents, size), worlds, num_threads=n)) for n in (1, 2)]
        cases += [Case(one, group, plays[0], one), Case(two, group, plays[1], one, goal)]
    return cases


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def busy_cores() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep every core busy, each with a process that computes without end, or until this process has ended."""
    spin = "import os, sys, threading\nthreading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()\n"
    spin += "print(flush=True)\nwhile True: pass"
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", spin], **pipes))  # noqa: S603 - our own
            for _ in range(count_cores())
        ]
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        yield started


def curves(agents: Sequence[int], worlds: Sequence[int]) -> Iterator[Curve]:
    """Yield the scaling curves; all envs exist at the same time, so that their rounds can alternate."""

    def curve(name: str, axis: str, counts: Sequence[int], play: Callable[[int], Play]) -> Curve:
        return Curve(name, axis, {n: Case(f"{name}, {n:,} {axis}", "", play(n)) for n in counts})

    yield curve("ParallelEnv", "agents", agents, lambda n: play_parallel(MultiGridEnv(_tenth(n))))
    yield curve("vector env, one world", "agents", agents, lambda n: _play_worlds(1, _tenth(n)))
    yield curve("vector env, one world, view", "agents", agents, lambda n: _play_worlds(1, _tenth(n, "view")))
    yield curve("one agent each", "worlds", worlds, lambda n: _play_worlds(n, _tenth(1)))
    yield curve("8 agents each, view", "worlds", worlds, lambda n: _play_worlds(n, _tenth(8, "view")))


def _tenth(agents: int, *parts: Part) -> GridConfig:
    """Return a square grid of which the agents take about a tenth."""
    return restart_config(agents, max(5, math.ceil(math.sqrt(10 * agents))), *parts)


def _play_worlds(worlds: int, config: GridConfig) -> Play:
    return play_vector(MultiGridVectorEnv(config, worlds))
