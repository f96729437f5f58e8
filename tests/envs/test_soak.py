"""Minutes of mixed calls, disturbed by signals, threads, forks and copies: none is half played and goes on.

Beside each env stands a twin of one thread, which nothing disturbs and which gets the calls that were played. In the
end, and after every call, the two are in the same state. The AEC face gets no second thread: a turn is of the agent
that is selected, which another thread would change.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import os
import pickle
import signal
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from apart import compile_kernels, play_apart
from faces import Face, GridWorlds, Parallel, Turns, Vector
from helpers import frozen
from multigrid.config import Collisions, OnTarget

pytestmark = [pytest.mark.heavy, pytest.mark.long]

SECONDS = 600
CALLS = 200
FACES = ("GridWorldEnv", "MultiGridEnv", "AEC", "vector", "threads", "GridWorldVectorEnv")
Call = tuple[str, Any]


class InterruptedCallError(Exception):
    """What a handler of signals raises."""


class Ended(BaseException):
    """The same, and no `except Exception` catches it."""


ERRORS = (InterruptedCallError, Ended, KeyboardInterrupt, SystemExit)


class Fire:
    """Signals at random moments, whose handler raises, but in the call under test alone."""

    left = raised = 0
    error: type[BaseException] = InterruptedCallError

    @classmethod
    def handler(cls, _number: int, frame: Any) -> None:
        """Raise, if the interrupted code is that of the call."""
        while frame is not None and frame.f_code is not cls.call.__func__.__code__:  # type: ignore[attr-defined]
            frame = frame.f_back
        if frame is not None and cls.left > 0:
            cls.left, cls.raised = cls.left - 1, cls.raised + 1
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
        cls.left, cls.error = int(random.choice([1, 1, 2, 5])), ERRORS[int(random.integers(4))]
        with contextlib.suppress(*ERRORS):
            signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6), float(random.choice([0.0, 3e-4, 1e-3])))
            cls.call(function, box)
        cls.left = 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        return box


def attempt(function: Callable[[], Any]) -> Any:
    """What a call returns, or raises."""
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - the caller looks at it
        return error


def some_face(name: str, random: np.random.Generator) -> Face:
    """A face under any rules."""
    rules = {"on_target": get_args(OnTarget), "collisions": get_args(Collisions)}
    settings: dict[str, Any] = {rule: str(random.choice(choices)) for rule, choices in rules.items()}
    settings |= {"max_cycles": [None, 6, 30][int(random.integers(3))], "observe": ("agent", "target", "view")}
    mode = list(AutoresetMode)[int(random.integers(3))]
    return {
        "GridWorldEnv": lambda: Face(name),
        "GridWorldVectorEnv": lambda: GridWorlds(name, mode),
        "MultiGridEnv": lambda: Parallel(name, render_size=32, render_trails=2, **settings),
        "AEC": lambda: Turns(name, render_size=32, **settings),
        "vector": lambda: Vector(name, mode, **settings),
        "threads": lambda: Vector(name, mode, num_threads=3, **settings),
    }[name]()


class Round:
    """An env and its twin, and some hundreds of calls."""

    def __init__(self, name: str, number: int, tally: Counter[str], other: ThreadPoolExecutor) -> None:
        self.random = np.random.default_rng([31, number])
        self.face, self.tally, self.other = some_face(name, self.random), tally, other
        self.env, self.twin = (self.face.make("rgb_array") for _ in range(2))
        self.seconds: dict[str, float] = {}
        self.saved: list[Any] = []
        self.log: list[str] = []
        self.both(("reset", {"seed": number}))
        self.keep()

    def perform(self, env: Any, call: Call) -> Any:
        """Make a call; return what it returned, or the refusal, in a form that compares."""
        name, argument = call
        core, returned = env.unwrapped, None
        try:
            if name == "step":
                random = np.random.default_rng(argument)
                if isinstance(self.face, Turns):
                    last = env.last()
                    env.step(None if last[2] or last[3] else int(random.integers(4)))
                    returned = last
                elif hasattr(env, "possible_agents"):
                    # Those of agents that have left are ignored; who is there when it is its turn, nobody knows yet.
                    returned = env.step({agent: int(random.integers(4)) for agent in env.possible_agents})
                else:
                    returned = env.step(self.face.joint(env, lambda: int(random.integers(4))))
            elif name == "bad step":
                returned = core.step(np.full(core.num_envs, 9)) if isinstance(self.face, Vector) else core.step(9)
            elif name == "reset":
                returned = env.reset(**argument)
            elif name == "copy":
                returned = (copy.deepcopy(env) if argument else pickle.loads(pickle.dumps(env))).unwrapped.get_state()
            elif name in ("max_cycles", "np_random"):
                setattr(core, name, copy.deepcopy(argument))
            else:
                returned = getattr(core, name)(*argument)
        except (ValueError, TypeError, ResetNeeded) as error:
            return ["refused", type(error).__name__]
        return frozen(returned)

    def picture(self, env: Any) -> Any:
        """All that an env shows of itself."""
        # A state that is set again where it is leaves all but the trails as it was.
        frame = frozen(env.render()) if type(self.face) is Parallel else None
        return [self.face.snapshot(env), frame]

    def some_call(self) -> Call:
        """Any call, steps most often."""
        random, seed, face = self.random, int(self.random.integers(2**31)), self.face
        calls: list[Call] = [("step", seed)] * 8 + [("reset", {})] * 2 + [("reset", {"seed": seed % 1000})]
        calls += [("set_state", [self.saved[int(random.integers(len(self.saved)))]]), ("get_state", [])]
        calls += [("metrics", []), ("render", []), ("copy", seed % 2)]
        if not isinstance(face, Turns):
            calls += [("bad step", []), ("close", [])]
        if isinstance(face, Vector):
            worlds = random.random(3) < 0.5
            worlds[int(random.integers(3))] = True
            calls.append(("reset", {"options": {"reset_mask": np.repeat(worlds, self.env.num_envs // 3)}}))
        elif not isinstance(face, Turns):
            bits = (np.random.PCG64, np.random.PCG64, np.random.MT19937)[seed % 3]
            calls.append(("np_random", np.random.Generator(bits(seed))))
        if type(face) is Parallel:
            calls.append(("max_cycles", (None, 5, 30)[seed % 3]))
        return calls[int(random.integers(len(calls)))]

    def keep(self) -> None:
        """Keep a state to go back to."""
        self.saved = [*self.saved[-3:], self.twin.unwrapped.get_state()]

    def both(self, call: Call) -> None:
        """Make a call that nothing disturbs."""
        began = time.perf_counter()
        ours = self.perform(self.env, call)
        took = time.perf_counter() - began
        self.seconds[call[0]] = 0.8 * self.seconds.get(call[0], took) + 0.2 * took
        assert ours == self.perform(self.twin, call), f"{call[0]} returned something else than in the twin"

    def under_fire(self, call: Call) -> None:
        """Make a call while signals come; it must have been played in full, or not at all."""
        delay = float(self.random.random()) * 1.2 * self.seconds.get(call[0], 1e-4)
        before, raised = self.picture(self.twin), Fire.raised
        box = Fire.disturb(lambda: self.perform(self.env, call), delay, self.random)
        self.tally["signals"] += Fire.raised - raised
        if box:
            assert box[0] == self.perform(self.twin, call), f"{call[0]} under fire returned something else"
            return
        self.tally["interrupted"] += 1
        try:
            now = self.picture(self.env)
        except RuntimeError as error:
            assert "call reset()" in str(error)
            self.tally["refused"] += 1
            self.both(("reset", {"seed": 5}))
            return
        if now != before:
            self.perform(self.twin, call)
            assert now == self.picture(self.twin), f"{call[0]} was interrupted, and is half played"

    def two_at_once(self, first: Call, second: Call) -> None:
        """Make two calls from two threads: each is refused in words, or played before or after the other."""
        calls = (first, second)
        there = self.other.submit(attempt, lambda: self.perform(self.env, second))
        results = attempt(lambda: self.perform(self.env, first)), there.result(timeout=60)
        played = []
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, BaseException):
                assert isinstance(result, RuntimeError), f"{call[0]} on two threads raised {result!r}"
                assert "of the same environment was under way" in str(result)
            else:
                played.append((call, result))
        self.tally["on two threads"] += 1
        now = self.picture(self.env)
        for order in (played, played[::-1]):
            twin = copy.deepcopy(self.twin)
            if all(result == self.perform(twin, call) for call, result in order) and now == self.picture(twin):
                self.twin = twin
                return
        raise AssertionError(f"two threads called {first[0]} and {second[0]}: no order of {played} ends here")

    def fork(self) -> None:
        """A forked child plays on as the twin does."""
        seeds = self.random.integers(0, 2**31, 4).tolist()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, str(attempt(lambda: self.digest(self.env, seeds)))[:2000].encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            theirs = pipe.read().decode()
        os.waitpid(child, 0)
        assert theirs == self.digest(copy.deepcopy(self.twin), seeds), "a forked child plays another game"
        self.tally["forks"] += 1

    def digest(self, env: Any, seeds: list[int]) -> str:
        """What some steps return, as a digest."""
        returned = [self.perform(env, ("step", seed)) for seed in seeds]
        return str(zlib.crc32(repr([returned, self.picture(env)]).encode()))

    def play(self) -> None:
        """Make the calls."""
        for _ in range(CALLS):
            call, way = self.some_call(), self.random.random()
            self.log.append(f"{call[0]}, {way:.2f}")
            if way < 0.5:
                self.under_fire(call)
            elif way < 0.62 and not isinstance(self.face, Turns):
                self.two_at_once(call, ("step", int(self.random.integers(2**31))))
            elif 0.62 <= way < 0.63:
                self.fork()
            elif 0.63 <= way < 0.66:
                self.env = copy.deepcopy(self.env) if way < 0.645 else pickle.loads(pickle.dumps(self.env))
            else:
                self.both(call)
            if self.random.random() < 0.1:
                self.keep()
        assert self.picture(self.env) == self.picture(self.twin), "the end is another one"
        self.env.close()


def soak(seconds: float) -> None:
    """Play rounds of all faces in turn, in a process apart."""
    faulthandler.dump_traceback_later(seconds + 240, exit=True)
    sys.unraisablehook = lambda _what: None  # where nobody catches what a handler raises, Python goes on
    sys.setswitchinterval(1e-5)
    # Before signals come: the compiler is Numba's.
    compile_kernels()
    signal.signal(signal.SIGALRM, Fire.handler)
    tally: Counter[str] = Counter()
    deadline, number, other = time.monotonic() + seconds, 0, ThreadPoolExecutor(1)
    while time.monotonic() < deadline or number < len(FACES):
        name = FACES[number % len(FACES)]
        os.write(1, f"case {number} ({name})\n".encode())
        game = Round(name, number, tally, other)
        try:
            game.play()
        except BaseException:
            sys.stderr.write(f"{name}, round {number}, {game.face.settings}; the calls: {game.log[-6:]}\n")
            raise
        number += 1
    sys.stdout.write(f"{dict(tally)}\n")
    assert min(tally[name] for name in ("signals", "interrupted", "forks", "on two threads")) > 0, tally


@pytest.mark.skipif(not (hasattr(os, "fork") and hasattr(signal, "setitimer")), reason="no fork or no setitimer here")
@pytest.mark.parametrize("kernels", ["compiled", "interpreted"])
def test_calls_are_played_in_full_or_not_at_all(kernels: str) -> None:
    """Whatever disturbs a call, the env is as before it, as after it, or asks for a reset, and plays on as its twin."""
    environment = {} if kernels == "compiled" else {"NUMBA_DISABLE_JIT": "1"}
    play_apart("test_soak:soak", SECONDS, timeout=SECONDS + 300, **environment)
