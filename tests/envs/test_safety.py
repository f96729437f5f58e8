"""Nothing that comes from outside reaches a kernel unchecked: states, streams, generators, threads, interrupts."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from faces import WALLS, Face, Parallel, Turns, Vector
from helpers import crossed, frozen
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv, parallel_env, vector_env
from multigrid.core.kernels import Rules, bind_kernels
from multigrid.core.states import StateBuffer
from multigrid.runtime.compiled import COMPILED, find_plain
from multigrid.scenarios import Scenario

PLAYER = Parallel("")  # plays any ParallelEnv


def started(steps: int = 12, seed: int = 1, **settings: Any) -> MultiGridEnv:
    """Return an env in mid-episode."""
    env = parallel_env(**{"walls": WALLS, "num_agents": 3, **settings})
    env.reset(seed=seed)
    PLAYER.play(env, steps)
    return env


def test_an_odd_increment_is_asked_of_every_generator() -> None:
    """A PCG64 with an even increment may repeat one number for ever: states, scenarios and resets refuse it."""
    stuck = {"bit_generator": "PCG64", "state": {"state": 0, "inc": 0}, "has_uint32": 0, "uinteger": 0}
    env = started()
    before = frozen(env.get_state())
    with pytest.raises(ValueError, match=r"np_random in the state is .* inc is 0, which is even"):
        env.set_state(env.get_state() | {"np_random": stuck})
    assert frozen(env.get_state()) == before
    with pytest.raises(ValueError, match=r"stream is .* inc is 0, which is even"):
        Scenario("stuck", GridConfig(walls="a.A", on_target="restart"), stuck)
    generator = np.random.default_rng(0)
    generator.bit_generator.state = stuck
    env.np_random = generator
    with pytest.raises(ValueError, match="np_random is in a state that no PCG64 can reach: inc is 0"):
        env.reset()
    env.set_state(state := started(0, seed=3).get_state())
    assert frozen(env.get_state()) == frozen(state)
    env.reset(seed=3)
    assert frozen(PLAYER.play(env)) == frozen(PLAYER.play(started(0, seed=3)))


def test_bools_that_are_neither_0_nor_1_are_true() -> None:
    """A bool array may hold any byte; the env takes it as NumPy does, or refuses it."""
    env = started(8, max_cycles=9)
    env.step(dict.fromkeys(env.agents, 1))
    assert not env.agents
    state = env.get_state()
    state["truncated"] = (state["truncated"].astype(np.uint8) * 2).view(np.bool_)
    env.set_state(state)
    assert env.get_state()["truncated"].view(np.uint8).tolist() == [1, 1, 1]
    buffer = StateBuffer(env._worlds.arrays, 1)
    buffer.read_each([state])
    assert buffer.arrays.truncated.view(np.uint8).tolist() == [[1, 1, 1]]


class Odd(np.random.Generator):
    """A generator that draws some good numbers, and then one that a test wants, or raises it, or calls it."""

    def __init__(self, bits: np.random.BitGenerator, good: int, answer: Any) -> None:
        super().__init__(bits)
        self.good, self.answer = good, answer

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        """Draw, or answer."""
        self.good -= 1
        if self.good != -1:
            return super().integers(*args, **kwargs)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(self, *args, **kwargs) if callable(self.answer) else self.answer


ANSWERS: list[Any] = [
    *(-1, 10**12, 2**63 - 1, 2**64, -(10**30), 0.0, 1.5, np.nan, 1j, "1", b"0", None, True, [0], (0,), {}, ...),
    *(np.array([0]), np.array([0, -1]), np.array(-1), np.float64(1), np.int64(-1), np.array([0, 10**12])),
    *(KeyError("x"), KeyboardInterrupt()),
]


def assert_is_like_new(face: Face, env: Any) -> None:
    """After a reset with a seed, an env plays as one that was just made."""
    other = face.make()
    assert frozen(face.reset(env, seed=3)) == frozen(face.reset(other, seed=3))
    assert frozen(face.play(env)) == frozen(face.play(other))


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
def test_numbers_of_a_generator_are_checked(bits: Any) -> None:
    """`GridWorldEnv` asks a generator of another kind itself; after a number that is none, it is as it was."""
    face = Face("GridWorldEnv")
    for answer in ANSWERS:
        env, twin = face.started(), face.started()
        env.np_random = generator = Odd(bits(3), 0, answer)
        with pytest.raises(type(answer) if isinstance(answer, BaseException) else (TypeError, ValueError)):
            env.reset()
        env.step(0)
        twin.step(0)
        assert frozen(env.metrics()) == frozen(twin.metrics())
        with pytest.raises(ValueError, match="np_random is a Odd over"):
            env.get_state()
        assert env.np_random is generator
        assert_is_like_new(face, env)
        assert env.np_random is not generator, "the user's generator was seeded"


@pytest.mark.parametrize("options", [{"map": 7}, {"level": 3}, {"agents": [[0, 0]]}, 5])
def test_a_bad_option_draws_nothing(options: Any) -> None:
    """A reset of `GridWorldEnv` that is refused leaves also a generator of another kind as it was."""
    env, generator = GridWorldEnv(), np.random.Generator(np.random.Philox(3))
    env.np_random = generator
    with pytest.raises((TypeError, ValueError), match="options"):
        env.reset(options=options)
    assert generator.integers(2**60) == np.random.Generator(np.random.Philox(3)).integers(2**60)


def test_other_environments_draw_from_a_pcg64() -> None:
    """Only `GridWorldEnv` takes a generator of another kind, or a subclass; the others refuse it and go on."""
    env, twin = started(), started()
    for generator in (np.random.Generator(np.random.SFC64(1)), Odd(np.random.PCG64(1), 0, 0)):
        with pytest.raises(ValueError, match=r"expected a numpy\.random\.Generator over PCG64"):
            env.np_random = generator
    assert frozen(env.get_state()) == frozen(twin.get_state())


class InterruptError(Exception):
    """What the handler of a test's signal raises."""


@pytest.fixture
def interrupt() -> Iterator[Callable[[float], None]]:
    """A function that lets a signal handler raise, once, after some seconds; 0 takes that back."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("the system has no timers that send signals")
    armed = False

    def give_up(*_: Any) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise InterruptError

    def arm(seconds: float) -> None:
        nonlocal armed
        armed = seconds > 0
        signal.setitimer(signal.ITIMER_REAL, seconds)

    handler = signal.signal(signal.SIGALRM, give_up)
    # Python prints what is raised in a callback of the garbage collector, of which Hypothesis has one, and goes on.
    gc.disable()
    yield arm
    gc.enable()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handler)


SMALL: dict[str, Any] = {"walls": "..#.\n....\n....", "num_agents": 2, "on_target": "leave", "max_cycles": 6}
SMALL["observe"] = ("agent", "target", "others", "view")
NEXT_STEP, SAME_STEP = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP


def name_of(value: Any) -> str:
    """The name of a face, or whether somebody holds the stream."""
    return value.name if isinstance(value, Face) else "np_random held" * value


INTERRUPTED = [
    *(Face("GridWorldEnv"), Parallel("MultiGridEnv", **SMALL), Turns("AEC", **SMALL)),
    *(Vector(f"one thread, {mode.value}", mode, **SMALL) for mode in (NEXT_STEP, SAME_STEP)),
    *(Vector(f"threads, {mode.value}", mode, num_threads=3, **SMALL) for mode in (NEXT_STEP, SAME_STEP)),
]


def is_cut_off(env: Any) -> bool:
    """Whether an env asks for a reset, because an exception has cut off a call."""
    try:
        env.unwrapped.get_state()
    except RuntimeError as error:
        assert "call reset()" in str(error)
        return True
    return False


def assert_refuses_all(face: Face, env: Any) -> None:
    """All that an env has but `reset`, `set_state` and `close` raises RuntimeError, which asks for a reset."""
    core = env.unwrapped
    names = ["acting", "map_index", "map_walls", "np_random", "np_random_seed"]
    calls: list[Callable[[], Any]] = [core.get_state, core.metrics, env.render, lambda: pickle.dumps(env)]
    calls += [lambda: copy.copy(env), lambda: copy.deepcopy(env)]
    if isinstance(face, Turns):
        calls += [lambda: env.step(0), env.last, env.state, lambda: env.observe("agent_0")]
        calls += [functools.partial(getattr, env, name) for name in ("agents", "agent_selection", "rewards", "infos")]
    elif isinstance(face, Vector):
        some = {"reset_mask": np.arange(env.num_envs) < env.config.num_agents}
        calls += [lambda: env.step(np.zeros(env.num_envs, int)), lambda: env.reset(options=some), env.state]
        names.append("episode_over")
    elif isinstance(face, Parallel):
        calls += [lambda: env.step({"agent_0": 0, "agent_1": 0}), env.state]
        calls += [lambda: env.step({}), lambda: setattr(env, "max_cycles", 9)]
        names.append("agents")
    else:
        calls += [lambda: env.step(0), lambda: env.step(9), env._get_obs, env._get_info]
        calls += [lambda: setattr(env, "_agent_location", [0, 0])]
        names += ["_agent_location", "_target_location"]
    for call in [*calls, *(functools.partial(getattr, core, name) for name in names)]:
        with pytest.raises(RuntimeError, match=r"call reset\(\)"):
            call()
    env.close()


@pytest.mark.parametrize(("face", "held"), crossed(INTERRUPTED, [False, True]), ids=name_of)
def test_an_interrupted_call_has_happened_or_not(face: Face, held: bool, interrupt: Callable[[float], None]) -> None:
    """An exception at any moment leaves an env as before or after the call, or one that must begin anew."""

    def play(one: Any, action: int) -> None:
        if not isinstance(face, Turns):
            one.step(face.joint(one, lambda: action))
        elif one.agents:
            one.step(None if any(one.last(observe=False)[2:4]) else action)

    env, before, after = (face.make("rgb_array") for _ in range(3))
    for one in (env, before, after):
        one.reset(seed=0)
        if held:
            _ = [stream.random() for stream in face.streams(one)]
    # Before signals come, for compilation starts a thread, which Python itself does not do whole under signals.
    face.play(copy.deepcopy(env))
    saved = env.get_state()
    calls: list[Callable[[Any], Any]] = [
        lambda one: play(one, 1),
        lambda one: play(one, 2),
        lambda one: one.reset(),
        lambda one: one.reset(seed=5),
        lambda one: one.set_state(saved),
    ]
    random, found, refused = np.random.default_rng(0), [0, 0], 0
    for number in range(500 if COMPILED else 60):
        call = calls[random.choice(5, p=[0.4, 0.3, 0.1, 0.1, 0.1])]
        began = time.perf_counter()
        call(after)
        took = time.perf_counter() - began
        is_after = True
        try:
            interrupt(random.uniform(1e-6, 1e-6 + 1.5 * took))
            call(env)
            interrupt(0)
        except InterruptError:
            if is_cut_off(env):
                refused += 1
                assert_refuses_all(face, env)
                for one in (env, before, after):
                    if number % 3 == 0:
                        one.set_state(saved)
                    one.reset(seed=number)
            else:
                shown = face.snapshot(env)
                is_after = shown == face.snapshot(after)
                assert is_after or shown == face.snapshot(before)
                found[is_after] += 1
                if is_after:
                    call(before)
                else:
                    after = copy.deepcopy(before)
        else:
            call(before)
        interrupt(0)
        assert face.snapshot(env) == face.snapshot(after) == face.snapshot(before)
        streams = [[stream.bit_generator.state for stream in face.streams(one)] for one in (env, before, after)]
        assert streams[0] == streams[1] == streams[2]
    env.close()
    assert min(*found, refused) > 0 or not COMPILED, (found, refused)


@pytest.mark.parametrize("face", INTERRUPTED, ids=name_of)
def test_a_refused_action_is_no_interruption(face: Face) -> None:
    """After an action out of range, the env goes on as if it had not been called."""
    env, twin = face.started(), face.started()
    with pytest.raises(ValueError, match="9"):
        env.step(9 if isinstance(face, Turns) else face.with_action(env, 9))
    assert frozen(face.play(env)) == frozen(face.play(twin))


def test_debug_mode_resets_what_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With MULTIGRID_CHECK=1 a reset does not check the half changed worlds that it begins anew."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")
    env, twin = started(2), started(0, seed=3)

    def stop(*_: Any) -> None:
        env._worlds.arrays.location[...] = 99
        raise InterruptError

    with monkeypatch.context() as patched:
        patched.setattr(env._worlds, "_step", stop)
        with pytest.raises(InterruptError):
            env.step(dict.fromkeys(env.agents, 0))
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(dict.fromkeys(env.possible_agents, 0))
    env.reset(seed=3)
    assert frozen(PLAYER.play(env)) == frozen(PLAYER.play(twin))


def test_interrupted_steps_of_many_worlds(interrupt: Callable[[float], None]) -> None:
    """An exception at any moment of a step of 3,000 worlds leaves all before it or after it, or none to play."""
    for mode in (NEXT_STEP, SAME_STEP):
        envs, twin = (vector_env(3000 if COMPILED else 30, autoreset_mode=mode, **SMALL) for _ in range(2))
        random, told = np.random.default_rng(0), {"before": 0, "after": 0, "reset": 0}
        for number in range(60):
            actions = random.integers(0, 4, envs.num_envs)
            for one in (envs, twin):
                one.reset(seed=number)
            for one in (envs, twin):
                one.step(actions)
            before, began = frozen(twin.get_state()), time.perf_counter()
            twin.step(actions)
            took = time.perf_counter() - began
            try:
                interrupt(random.uniform(1e-6, 1.2 * took))
                envs.step(actions)
                interrupt(0)
            except InterruptError:
                if is_cut_off(envs):
                    told["reset"] += 1
                    continue
                now = frozen(envs.get_state())
                assert now in (before, frozen(twin.get_state()))
                told["before" if now == before else "after"] += 1
        assert sum(told.values()) > 20 or not COMPILED, told


def test_what_interrupts_a_seed_leaves_none_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted reset may have begun another stream: after a reset without a seed, the seed is unknown."""

    def stop(*_: Any) -> None:
        raise InterruptError

    for env, unknown in ((started(), -1), (vector_env(2), (-1, -1))):
        env.reset(seed=3)
        with monkeypatch.context() as patched:
            patched.setattr(env._worlds, "observe", stop)
            with pytest.raises(InterruptError):
                env.reset(seed=5)
        env.reset()
        assert env.np_random_seed == unknown
        env.reset(seed=6)
        assert np.min(env.np_random_seed) == 6


def test_an_interrupted_interpreted_kernel_leaves_no_trace(
    interrupt: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it has been reset with a seed, an env whose reset was interrupted in Python plays what a new one plays."""
    monkeypatch.setattr("multigrid.core.calls.BUILT_IN", Rules(bind_kernels(find_plain), are_compiled=False))
    env = started(0, num_agents=9)
    monkeypatch.undo()
    random, torn = np.random.default_rng(0), 0
    for number in range(500):
        # How many interruptions come in the middle of a reset depends on the machine's other work.
        if number >= 25 and torn > 2:
            break
        with pytest.raises(InterruptError):  # noqa: PT012 - the exception may come at any of them
            interrupt(random.uniform(1e-4, 2e-3))
            for _ in range(10_000):
                env.reset()
        interrupt(0)
        torn += is_cut_off(env)
        env.reset(seed=3)
        env.reset(seed=3)
        assert frozen(PLAYER.play(env)) == frozen(PLAYER.play(started(0, seed=3, num_agents=9)))
    assert torn > 2


ENVS = 2000 if COMPILED else 20


@pytest.mark.parametrize("make", [GridWorldEnv, started, lambda: vector_env(ENVS, num_agents=2)], ids=["one", "N", "E"])
def test_a_second_thread_is_refused(make: Callable[[], Any]) -> None:
    """Of two threads that call one env, each call is played alone or refused, and what is played is legal."""
    env = make()
    env.reset(seed=0)
    actions: Any = 1
    if not isinstance(env, GridWorldEnv):
        actions = np.ones(2 * ENVS, np.int64) if hasattr(env, "num_envs") else dict.fromkeys(env.possible_agents, 1)
    refused, wrong, interval = [], [], sys.getswitchinterval()

    def call(function: Callable[[], Any]) -> None:
        for _ in range(400):
            try:
                function()
            except RuntimeError as error:
                refused.append(str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
                wrong.append(error)

    calls = [lambda: env.step(actions), lambda: env.reset(seed=2), env.get_state, lambda: copy.copy(env)]
    threads = [threading.Thread(target=call, args=(function,)) for function in calls]
    try:
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
    assert all("of the same environment was under way" in one for one in refused)
    env.set_state(env.get_state())
    assert env._call is None


def test_the_call_under_way_is_named() -> None:
    """A generator that calls the env that draws from it gets an error, which names both calls; the draws go on."""
    face = Face("GridWorldEnv")
    started = face.started()
    calls = {"step": [face.joint(started, int)], "reset": [], "set_state": [started.get_state()], "get_state": []}
    for name, arguments in calls.items():
        env, twin = face.started(), face.started()
        call = functools.partial(getattr(env, name), *arguments)

        def call_back(generator: Odd, *given: Any, call: Any = call, name: str = name, **named: Any) -> Any:
            with pytest.raises(RuntimeError, match=rf"{name}\(\) was called while reset\(\) of the same environment"):
                call()
            return np.random.Generator.integers(generator, *given, **named)

        env.np_random, twin.np_random = Odd(np.random.PCG64(1), 0, call_back), np.random.default_rng(1)
        for _ in range(2):
            assert frozen(env.reset()) == frozen(twin.reset())
        assert env.np_random.good < 0


def test_a_copy_is_of_one_moment() -> None:
    """What a copy is made of is taken at once, generator and trails included, whatever is played before it is done."""
    settings: dict[str, Any] = {"on_target": "restart", "render_mode": "rgb_array", "render_trails": 2}
    env, twin = started(4, **settings), started(0, **settings)
    env.np_random = np.random.default_rng(3)
    now, frame, state = frozen(env.get_state()), env.render(), env.__getstate__()
    for step in range(100):
        env.step(dict.fromkeys(env.agents, step % 4))
        env.np_random.random()
    later = copy.copy(env)
    twin.__setstate__(pickle.loads(pickle.dumps(state)))
    assert frozen(twin.get_state()) == now
    assert frozen(later.get_state()) == frozen(env.get_state()) != now
    assert (twin.render() == frame).all()
    assert (env.render() != frame).any()


def test_copies_made_together_share_their_generator() -> None:
    """Two envs with one generator still have one when they are copied together, and it is another than before."""
    envs = [started(), started(5)]
    envs[0].np_random = envs[1].np_random = mine = np.random.default_rng(3)
    copies = copy.deepcopy(envs)
    assert copies[0].np_random is copies[1].np_random is not mine
    assert copies[0].np_random.bit_generator.state == mine.bit_generator.state


def test_a_refused_step_leaves_the_trails() -> None:
    """An action that is refused takes no cell from a trail that is full; a reset and a state end the trails."""
    env = started(2, render_mode="rgb_array", render_trails=2)
    for action in (1, 2, 3, 2):
        env.step(dict.fromkeys(env.agents, action))
    before = env.render()
    with pytest.raises(ValueError, match="agent_0"):
        env.step(dict.fromkeys(env.agents, 9))
    assert (env.render() == before).all()
    env.set_state(env.get_state())
    assert (env.render() != before).any()


@pytest.mark.parametrize("error", [InterruptError, KeyboardInterrupt])
def test_what_interrupts_the_window_leaves_the_step(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is complete before its frame is shown, so that Ctrl-C at the window costs nothing."""

    def stop() -> None:
        raise error

    for env, actions in ((started(), dict.fromkeys(["agent_0", "agent_1", "agent_2"], 1)), (GridWorldEnv(), 1)):
        env.reset(seed=1)
        twin = copy.deepcopy(env)
        twin.step(actions)
        monkeypatch.setattr(env, "_update_window", stop)
        env.render_mode = "human"
        with pytest.raises(error):
            env.step(actions)
        assert frozen(env.get_state()) == frozen(twin.get_state())


@pytest.mark.parametrize("make", [GridWorldEnv, started, lambda: vector_env(2)], ids=["one", "N", "E"])
def test_the_configuration_cannot_be_replaced(make: Callable[[], Any]) -> None:
    """The kernels' arrays have the shapes of the configuration that an env was made with, which stays."""
    env = make()
    with pytest.raises(AttributeError):
        env.config = dataclasses.replace(env.config, walls=None, size=(99, 99))


@pytest.mark.parametrize("num_worlds", [10**8, 10**12, 2**62])
def test_more_worlds_than_memory_holds_are_refused_at_once(num_worlds: int) -> None:
    """Worlds that no memory holds are refused by their number, before any of them is there."""
    with pytest.raises(ValueError, match=rf"num_worlds is {num_worlds}, which takes about \d+ bytes"):
        vector_env(num_worlds, size=(9, 5), num_agents=40)


@pytest.mark.parametrize("spoil", ["location", "moves", "occupant"])
def test_debug_mode_finds_what_a_kernel_must_not_see(spoil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With MULTIGRID_CHECK=1 a broken invariant is an AssertionError before the kernel; without, nobody looks."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")
    env = started(2, num_agents=2, on_target="restart")
    arrays = env._worlds.arrays
    {"location": arrays.target, "moves": arrays.moves, "occupant": arrays.occupant}[spoil].flat[0] += 9
    with pytest.raises(AssertionError, match=r"before step_and_observe|has changed|is not clean"):
        env.step(dict.fromkeys(env.agents, 0))
    monkeypatch.setenv("MULTIGRID_CHECK", "0")
    assert started(2)._worlds._constant_bytes is None
