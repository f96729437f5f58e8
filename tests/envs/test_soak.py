"""Minutes of mixed calls, disturbed by signals, threads, forks and copies: every call is played in full or not at all.

Beside each env stands a twin of one thread, which nothing disturbs and which gets the calls that were played. In the
end, and after every call, the two are in the same state. The AEC face gets no second thread: a turn is of the agent
that is selected, which another thread would change.
"""

from __future__ import annotations

import copy
import faulthandler
import hashlib
import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import judged
import multigrid
from apart import compile_kernels, play_apart
from helpers import frozen
from multigrid import GridWorldEnv, MultiGridEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.runtime.compiled import COMPILED

pytestmark = pytest.mark.heavy

SECONDS, LONG_SECONDS = 8, 600
CALLS = 200
NAMED = {name: (name,) for name in ("step", "reset", "set_state", "get_state", "metrics", "render", "close")}
NAMED |= {"bad step": ("step",), "copy": ("cop", "pickl", "state"), "pickle": ("pickl", "cop", "state")}
NAMED |= {"max_cycles": ("max_cycles",), "np_random": ("np_random",)}
FACES = ("GridWorldEnv", "MultiGridEnv", "AEC", "vector", "threads", "GridWorldVectorEnv")


class InterruptedCallError(Exception):
    """What a handler of signals raises."""


class Ended(BaseException):
    """The same, and no `except Exception` catches it."""


class RefusedCallError(Exception):
    """The env wants a reset."""


class Fire:
    """Signals at random moments, whose handler raises, but in the call under test alone."""

    left = 0
    raised = 0
    error: type[BaseException] = InterruptedCallError

    @classmethod
    def handler(cls, _number: int, frame: Any) -> None:
        """Raise, if the interrupted code is that of the call."""
        while frame is not None and frame.f_code is not cls.call.__func__.__code__:  # type: ignore[attr-defined]
            frame = frame.f_back
        if frame is not None and cls.left > 0:
            cls.left -= 1
            cls.raised += 1
            if cls.left == 0:
                signal.setitimer(signal.ITIMER_REAL, 0)
            raise cls.error

    @classmethod
    def call(cls, function: Callable[[], Any], box: list[Any]) -> None:
        """Call, and keep what is returned: a signal may come after that."""
        box.append(function())

    @classmethod
    def disturb(cls, function: Callable[[], Any], delay: float, random: np.random.Generator) -> list[Any]:
        """Call a function under fire; return what it returned, or nothing where it was interrupted."""
        box: list[Any] = []
        cls.left = int(random.choice([1, 1, 2, 5]))
        cls.error = (InterruptedCallError, Ended, KeyboardInterrupt, SystemExit)[int(random.integers(4))]
        try:
            signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6), float(random.choice([0.0, 3e-4, 1e-3])))
            cls.call(function, box)
        except (InterruptedCallError, Ended, KeyboardInterrupt, SystemExit):
            pass
        cls.left = 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        return box


class Other:
    """A second Python thread, which makes a call at the same time as the first."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[Any] = SimpleQueue()
        self._results: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            function = self._orders.get()
            self._results.put(attempt(function))

    def at_once(self, here: Callable[[], Any], there: Callable[[], Any]) -> tuple[Any, Any]:
        """Make two calls, one on each thread."""
        self._orders.put(there)
        mine = attempt(here)
        return mine, self._results.get(timeout=60)


def attempt(function: Callable[[], Any]) -> Any:
    """What a call returns; a RuntimeError itself, and whatever else it raises too."""
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - the caller looks at it
        return error


class Call(NamedTuple):
    """What is done to an env and, if it was played, to its twin."""

    name: str
    argument: Any = None


def perform(env: Any, call: Call) -> Any:
    """Make a call; what it returned, or the refusal, in a form that compares."""
    name, argument = call
    core = env.unwrapped
    returned: Any = None
    try:
        if name == "step":
            returned = aec_turn(env, argument) if is_aec(env) else env.step(actions_for(env, argument))
        elif name == "bad step":
            returned = core.step(np.full(core.num_envs, 9)) if is_vector(core) else core.step(9)
        elif name == "reset":
            returned = env.reset(**argument)
        elif name == "set_state":
            core.set_state(argument)
        elif name == "render":
            returned = core.render()
        elif name == "copy":
            other = copy.deepcopy(env)
            returned = other.unwrapped.get_state()
        elif name == "pickle":
            returned = pickle.loads(pickle.dumps(core)).get_state()
        elif name == "max_cycles":
            core.max_cycles = argument
        elif name == "np_random":
            core.np_random = copy.deepcopy(argument)
        elif name == "draw":
            held = core.np_random
            returned = (held[-1] if is_vector(core) else held).integers(7)
        else:
            returned = getattr(core, name)()
    except (ValueError, TypeError, ResetNeeded) as error:
        return ["refused", type(error).__name__]
    return frozen(returned)


def is_vector(env: Any) -> bool:
    """Whether it has many worlds."""
    return isinstance(env, MultiGridVectorEnv)


def is_aec(env: Any) -> bool:
    """Whether agents take turns in it."""
    return hasattr(env, "agent_selection") or hasattr(env, "agent_iter")


def actions_for(env: Any, seed: int) -> Any:
    """Actions from a seed."""
    random = np.random.default_rng(seed)
    if is_vector(env):
        return random.integers(0, env.config.num_actions, env.num_envs)
    if isinstance(env, GridWorldEnv):
        return int(random.integers(4))
    # Those of agents that have left are ignored; who is there when it is a call's turn, nobody knows yet.
    return {agent: int(random.integers(env.config.num_actions)) for agent in env.possible_agents}


def aec_turn(env: Any, seed: int) -> Any:
    """A turn of the selected agent."""
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated or truncated else seed % 4)
    return [observation, reward, terminated, truncated, info]


def picture(env: Any) -> Any:
    """All that an env shows of itself.

    Raises:
        RefusedCallError: it wants a reset first, as it may where Python itself plays the rules.
    """
    core = env.unwrapped
    try:
        rest = [getattr(core, name, None) for name in ("agents", "max_cycles", "np_random_seed")]
        # A state that is set again where it is leaves all but the trails as it was.
        rest.append(
            frozen(core.render()) if isinstance(core, MultiGridEnv) and core.render_mode == "rgb_array" else None
        )
        if is_aec(env):
            shown = [env.agents, env.agent_selection, env.rewards, env.terminations, env.truncations, env.infos]
            rest.append(frozen([*shown, env._cumulative_rewards, [env.observe(agent) for agent in env.agents]]))
        return [frozen(core.get_state()), *rest]
    except (RuntimeError, ResetNeeded) as error:
        raise RefusedCallError from error


class Round:
    """An env and its twin, and some dozens of calls."""

    def __init__(self, face: str, number: int, tally: Counter[str], other: Other) -> None:
        self.random = np.random.default_rng([31, number])
        self.face, self.tally, self.other = face, tally, other
        self.config = judged.some_config(int(self.random.integers(211)))
        self.seconds: dict[str, float] = {}
        self.interpreted = not COMPILED
        self.mode = judged.MODES[int(self.random.integers(3))]
        large = 400 if COMPILED and face == "threads" else 12
        self.worlds = int(self.random.choice([3, 5, large]))
        self.env, self.twin = self.make(self.threads()), self.make(1)
        self.saved: list[Any] = []
        self.log: list[str] = []
        self.both(Call("reset", {"seed": int(self.random.integers(2**31))}))
        self.keep()

    def threads(self) -> int:
        """How many threads the env has."""
        return int(self.random.integers(2, 5)) if self.face == "threads" else 1

    def make(self, threads: int) -> Any:
        """An env of this round's configuration."""
        if self.face == "GridWorldEnv":
            return GridWorldEnv("rgb_array", size=4)
        if self.face == "MultiGridEnv":
            return MultiGridEnv(self.config, "rgb_array", render_size=32, render_trails=2)
        if self.face == "AEC":
            return multigrid.env(self.config, render_mode="ansi")
        settings = {"autoreset_mode": self.mode, "num_threads": threads, "render_mode": "rgb_array"}
        if self.face == "GridWorldVectorEnv":
            return GridWorldVectorEnv(self.worlds, size=3, max_episode_steps=8, **settings)
        return MultiGridVectorEnv(self.config, self.worlds, **settings)

    def some_call(self) -> Call:
        """Any call, steps most often."""
        random, seed = self.random, int(self.random.integers(2**31))
        names = ["step"] * 8 + [
            "reset",
            "reset",
            "seeded reset",
            "set_state",
            "get_state",
            "metrics",
            "bad step",
            "close",
        ]
        if self.worlds < 20 or not is_vector(self.env):
            names += ["render", "copy", "pickle"]
        if self.face in ("MultiGridEnv", "GridWorldEnv"):
            names += ["np_random", "draw"] + ["max_cycles"] * (self.face == "MultiGridEnv")
        elif self.face == "AEC":
            names = [name for name in names if name not in ("bad step", "close")]
        name = names[int(random.integers(len(names)))]
        if name == "seeded reset":
            return Call("reset", {"seed": seed % 1000})
        if name == "reset" and is_vector(self.env) and random.random() < 0.5:
            worlds = random.random(self.worlds) < 0.5
            worlds[int(random.integers(self.worlds))] = True
            return Call("reset", {"options": {"reset_mask": np.repeat(worlds, self.env.num_envs // self.worlds)}})
        if name == "np_random":
            kind = ("PCG64", "PCG64", "MT19937")[int(random.integers(3))]
            return Call(name, np.random.Generator(getattr(np.random, kind)(seed)))
        arguments: dict[str, Any] = {
            "step": seed,
            "reset": {},
            "set_state": self.saved[int(random.integers(len(self.saved)))],
            "max_cycles": (None, 5, 30)[int(random.integers(3))],
        }
        return Call(name, arguments.get(name))

    def keep(self) -> None:
        """Keep a state to go back to."""
        core = self.twin.unwrapped
        self.saved = [*self.saved[-3:], core.get_state()]

    def both(self, call: Call) -> None:
        """Make a call that nothing disturbs."""
        began = time.perf_counter()
        ours = perform(self.env, call)
        took = time.perf_counter() - began
        self.seconds[call.name] = 0.8 * self.seconds.get(call.name, took) + 0.2 * took
        assert ours == perform(self.twin, call), f"{call.name} returned something else than in the twin"

    def under_fire(self, call: Call) -> None:
        """Make a call while signals come; it must have been played in full, or not at all."""
        delay = float(self.random.random()) * 1.2 * self.seconds.get(call.name, 1e-4)
        before, raised = picture(self.twin), Fire.raised
        box = Fire.disturb(lambda: perform(self.env, call), delay, self.random)
        self.tally["signals"] += Fire.raised - raised
        if box:
            theirs = perform(self.twin, call)
            assert box[0] == theirs, f"{call.name} under fire returned {str(box[0])[:900]}\nnot {str(theirs)[:900]}"
            return
        self.tally["interrupted"] += 1
        try:
            now = picture(self.env)
        except RefusedCallError:
            bits = self.twin.unwrapped.np_random.bit_generator if not is_vector(self.twin) else None
            foreign = bits is not None and type(bits) is not np.random.PCG64
            assert self.interpreted or foreign, f"{call.name} was interrupted, and the env refuses all calls"
            self.tally["refused"] += 1
            self.both(Call("reset", {"seed": 5}))
            return
        if now != before:
            perform(self.twin, call)
            assert now == picture(self.twin), f"{call.name} was interrupted, and is half played: {self.differs()}"
            self.tally["after"] += 1

    def differs(self) -> list[str]:
        """Which fields of the env and of its twin differ."""
        one, two = (env.unwrapped.get_state() for env in (self.env, self.twin))
        names = [name for name in one if frozen(one[name]) != frozen(two[name])]
        rest = [[getattr(env, name, None) for env in (self.env, self.twin)] for name in ("agents", "max_cycles")]
        return [*names, str(rest)]

    def two_at_once(self, first: Call, second: Call) -> None:
        """Make two calls from two threads: each is refused in words, or played before or after the other."""
        mine, theirs = self.other.at_once(lambda: perform(self.env, first), lambda: perform(self.env, second))
        played = []
        for call, result, under_way in ((first, mine, second), (second, theirs, first)):
            if isinstance(result, BaseException):
                assert isinstance(result, RuntimeError), f"{call.name} on two threads raised {result!r}"
                assert any(word in str(result) for word in NAMED[under_way.name]), f"{result} names no {under_way.name}"
                self.tally["refused to a second thread"] += 1
            else:
                played.append((call, result))
        self.tally["on two threads"] += 1
        now = picture(self.env)
        for order in (played, played[::-1]) if len(played) > 1 else (played,):
            twin = copy.deepcopy(self.twin) if len(played) > 1 else self.twin
            if all(result == perform(twin, call) for call, result in order) and now == picture(twin):
                self.twin = twin
                return
        names = [call.name for call, _ in played]
        raise AssertionError(f"two threads called {first.name} and {second.name}: no order of {names} ends here")

    def fork(self) -> None:
        """A forked child plays on as the twin does."""
        seeds = self.random.integers(0, 2**31, 4).tolist()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            returned = attempt(lambda: self.digest(self.env, seeds))
            os.write(writing, str(returned)[:2000].encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            theirs = pipe.read().decode()
        os.waitpid(child, 0)
        expected, here = (self.digest(copy.deepcopy(env), seeds) for env in (self.twin, self.env))
        assert theirs == expected, f"a forked child plays another game: {theirs}; this one the same: {here == expected}"
        self.tally["forks"] += 1

    def digest(self, env: Any, seeds: list[int]) -> str:
        """What some steps return, as a digest."""
        returned = [perform(env, Call("step", seed)) for seed in seeds]
        return hashlib.sha256(repr([returned, picture(env)]).encode()).hexdigest()

    def swap(self) -> None:
        """Go on with a copy; or in another env, of another number of threads, from the state of this one."""
        how = int(self.random.integers(3))
        if how == 0:
            self.env = copy.deepcopy(self.env)
        elif how == 1:
            self.env = pickle.loads(pickle.dumps(self.env))
        elif is_vector(self.env):
            state = self.env.get_state()
            self.env.close()
            self.env, self.twin = self.make(self.threads()), self.make(1)
            for env in (self.env, self.twin):
                env.set_state(state)
        self.tally["swaps"] += 1

    def play(self) -> None:
        """Make the calls."""
        for _ in range(CALLS):
            call, way = self.some_call(), self.random.random()
            self.log.append(f"{call.name}, {way:.2f}")
            self.tally["calls"] += 1
            # A draw is the user's own call, and no business of the env's.
            if call.name == "draw":
                self.both(call)
            elif way < 0.5:
                self.under_fire(call)
            elif way < 0.62 and self.face != "AEC":
                self.two_at_once(call, Call("step", int(self.random.integers(2**31))))
            elif 0.62 <= way < 0.63:
                self.fork()
            elif 0.63 <= way < 0.66:
                self.swap()
            else:
                self.both(call)
            if self.random.random() < 0.1:
                self.keep()
        assert picture(self.env) == picture(self.twin), f"the end is another one: {self.differs()}"
        self.env.close()


def soak(seconds: float, seed: int) -> None:
    """Play rounds of all faces in turn, in a process apart."""
    faulthandler.dump_traceback_later(seconds + 240, exit=True)
    sys.unraisablehook = lambda _what: None  # where nobody catches what a handler raises, Python goes on
    sys.setswitchinterval(1e-5)
    # Before signals come: the compiler is Numba's.
    compile_kernels()
    signal.signal(signal.SIGALRM, Fire.handler)
    tally: Counter[str] = Counter()
    deadline, number, other = time.monotonic() + seconds, seed, Other()
    while time.monotonic() < deadline:
        face = FACES[number % len(FACES)]
        os.write(1, f"case {number} ({face})\n".encode())
        game = Round(face, number, tally, other)
        try:
            game.play()
        except BaseException:
            sys.stderr.write(f"{face}, round {number}, {game.config}, {game.mode}; the calls: {game.log[-6:]}\n")
            raise
        tally["rounds"] += 1
        number += 1
    sys.stdout.write(f"{dict(tally)}\n")
    assert min(tally[name] for name in ("signals", "interrupted", "forks", "on two threads", "swaps")) > 0, tally


needs_posix = pytest.mark.skipif(
    not (hasattr(os, "fork") and hasattr(signal, "setitimer")), reason="there is no fork or no setitimer here"
)


@needs_posix
@pytest.mark.parametrize("kernels", ["compiled", "interpreted"])
def test_calls_are_played_in_full_or_not_at_all(kernels: str, request: pytest.FixtureRequest) -> None:
    """Whatever disturbs a call, the env is as before it or as after it, and ends where an undisturbed one does."""
    seconds = LONG_SECONDS if request.config.getoption("--long") else SECONDS
    environment = {} if kernels == "compiled" else {"NUMBA_DISABLE_JIT": "1"}
    seconds = seconds if kernels == "compiled" else seconds // 2
    play_apart("test_soak:soak", seconds, 0, timeout=seconds + 300, **environment)
