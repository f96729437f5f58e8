"""Generators of every kind, broken ones too: an env draws legal layouts from them, or refuses and can be reset."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import judged
from apart import play_apart
from helpers import frozen
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv

pytestmark = pytest.mark.heavy

CASES, LONG_CASES, BATCH = 600, 6_000, 600
KINDS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]


class OwnError(Exception):
    """What only a hostile generator raises."""


class Hostile(np.random.Generator):
    """Good draws, and after some of them one that is not."""

    def __init__(self, bits: np.random.BitGenerator, good: int, bad: Any) -> None:
        super().__init__(bits)
        self.good, self.bad = good, bad

    def integers(self, *given: Any, **named: Any) -> Any:
        """Draw, or return or do what is bad."""
        self.good -= 1
        if self.good != -1:
            return super().integers(*given, **named)
        return self.bad(self, *given) if callable(self.bad) else self.bad


def raises(_generator: Hostile, *_given: Any) -> Any:
    """Fail."""
    raise OwnError


def stops(_generator: Hostile, *_given: Any) -> Any:
    """Ctrl-C in the middle of a draw."""
    raise KeyboardInterrupt


def alarm(generator: Hostile, *given: Any) -> Any:
    """A signal in the middle of a draw, whose handler raises."""
    signal.raise_signal(signal.SIGALRM)
    return np.random.Generator.integers(generator, *given)


def too_large(_generator: Hostile, limit: Any) -> Any:
    """The first number that is no draw."""
    return limit


RETURNED = [-1, 10**12, -(10**12), 2**63 - 1, 2**64, 10**30, 0.0, 0.5, float("nan"), "0", b"0", None, [0], (0,), {}]
RETURNED += [np.array([0]), np.array([0, 1]), np.zeros((2, 2)), np.array(-1), np.float64(1), np.int64(-1), 1j, object()]
DONE = [raises, stops, alarm, too_large]


def on_alarm(_number: int, _frame: Any) -> None:
    """What a user's handler does."""
    raise OwnError


def shown(env: Any) -> Any:
    """All that an env shows of itself."""
    return [frozen(env.get_state()), getattr(env, "agents", None)]


def some_single(random: np.random.Generator, number: int) -> Any:
    """An env of one world; under every rule, *restart* above all, whose steps draw too."""
    if number % 4 == 0:
        return GridWorldEnv(size=int(random.integers(2, 6)))
    if number % 4 == 1:
        return MultiGridEnv(judged.some_config(number % 211))
    return MultiGridEnv(GridConfig(size=(4, 3), num_agents=3, on_target="restart", max_cycles=25))


def fresh(env: Any) -> Any:
    """Another env of the same kind."""
    return GridWorldEnv(size=env.size) if isinstance(env, GridWorldEnv) else MultiGridEnv(env.config)


def reset_or_step(env: Any, random: np.random.Generator) -> None:
    """Play on, in any way."""
    if isinstance(env, GridWorldEnv):
        env.step(int(random.integers(4)))
        if random.random() < 0.2:
            env.reset()
    elif env.agents:
        env.step({agent: int(random.integers(4)) for agent in env.agents})
    else:
        env.reset()


def calls_of(env: Any) -> Iterator[Any]:
    """What an env that must be reset refuses."""
    yield env.get_state
    yield env.metrics
    if isinstance(env, MultiGridEnv):
        yield env.state
        yield lambda: env.step(dict.fromkeys(env.possible_agents, 0))
    else:
        yield lambda: env.step(0)


def assert_as_before_or_refusing(env: Any, before: Any) -> None:
    """Nothing has happened, or all is refused, with a reason, until the next reset."""
    try:
        state = shown(env)
    except (RuntimeError, ResetNeeded):
        for call in calls_of(env):
            try:
                call()
            except (RuntimeError, ResetNeeded) as error:
                assert len(str(error)) > 10, "no word why"
            else:
                raise AssertionError(f"some calls are refused, but not {call}") from None
    else:
        assert state == before, f"half of a call was played: {state}, before {before}"


def assert_like_new(env: Any, seed: int, random: np.random.Generator) -> None:
    """After a reset with a seed, an env is like one that was just made."""
    other = fresh(env)
    ours, theirs = env.reset(seed=seed), other.reset(seed=seed)
    assert frozen(ours) == frozen(theirs)
    assert shown(env) == shown(other)
    judged.play(env, 12, random)


def play_subclass(number: int) -> None:
    """A generator whose draws go wrong somewhere in an episode."""
    random = np.random.default_rng([13, number])
    signal.signal(signal.SIGALRM, on_alarm)
    env = some_single(random, number)
    started = bool(number % 3)
    if started:
        env.reset(seed=number)
        judged.play(env, 3, random)
    bits = getattr(np.random, KINDS[number % 5])(number)
    bad = [*RETURNED, *DONE][number // 5 % (len(RETURNED) + len(DONE))]
    generator = Hostile(bits, int(random.integers(0, 20)), bad)
    env.np_random = generator
    for _ in range(60):
        before = shown(env) if started else None
        try:
            reset_or_step(env, random) if started else env.reset()
        except (ValueError, TypeError, OwnError, KeyboardInterrupt) as error:
            assert generator.good < 0, f"the draws were good, and yet: {error!r}"
            its_own = any(bad is one for one in (raises, stops, alarm))
            assert isinstance(error, OwnError | KeyboardInterrupt if its_own else ValueError), f"{bad}: {error!r}"
            assert_as_before_or_refusing(env, before)
            break
        started = True
        assert generator.good >= 0, f"{bad!r} was taken for a draw"
    assert_like_new(env, number, random)
    assert env.np_random is not generator, "the user's generator was seeded"


CORRUPTED: list[tuple[str, tuple[str, ...], Any]] = [
    *((kind, ("state", "inc"), value) for kind in ("PCG64", "PCG64DXSM") for value in (0, 2, 2**64, 2**128 - 2)),
    *(("MT19937", ("state", "pos"), value) for value in (-(10**9), -1, 625, 10**9, 2**31 - 1)),
    *(("Philox", ("buffer_pos",), value) for value in (-(10**9), -1, 5, 10**9)),
    *((kind, ("has_uint32",), value) for kind in KINDS if kind != "MT19937" for value in (-1, 2, 2**31 - 1)),
    *((kind, ("uinteger",), 2**32 - 1) for kind in KINDS if kind != "MT19937"),
]


def play_corrupted(number: int) -> None:
    """A generator that was brought, by NumPy's own setter, to a state that it never comes to by itself."""
    random = np.random.default_rng([17, number])
    kind, path, value = CORRUPTED[number % len(CORRUPTED)]
    bits = getattr(np.random, kind)(number)
    state = bits.state
    inner = state["state"] if len(path) > 1 else state
    inner[path[-1]] = value
    if path[-1] == "inc" and random.random() < 0.7:
        inner["state"] = 0
    try:
        bits.state = state
    except (TypeError, ValueError, OverflowError):
        return  # NumPy has refused it
    corrupted = frozen(bits.state)
    env = some_single(random, number // len(CORRUPTED))
    if number % 2:
        env.reset(seed=number)
    try:
        env.np_random = np.random.Generator(bits)
        for _ in range(30):
            # Before the first reset there is no episode.
            reset_or_step(env, random) if env._started else env.reset()
            (one,) = judged.one_by_one(env)
            broken = judged.breaches(env.config, {**one, "np_random": np.random.PCG64(0).state})
            assert not broken, broken
    except ValueError:
        pass
    else:
        # Maps that show where everyone is draw nothing.
        was_drawn_from = frozen(bits.state) != corrupted
        assert not (was_drawn_from and path[-1] in ("inc", "pos")), f"{kind} with {path[-1]} = {value} was drawn from"
    assert_like_new(env, number, random)


def play_calling_back(number: int) -> None:
    """A generator that calls the env that is drawing from it: that call is refused, and the draws go on."""
    random = np.random.default_rng([23, number])
    env = some_single(random, number)
    env.reset(seed=number)
    refused = []

    def calls_back(generator: Hostile, *given: Any) -> Any:
        calls = [env.reset, lambda: env.reset(seed=5), lambda: env.set_state(state), *calls_of(env)]
        try:
            calls[number % 3 if isinstance(env, GridWorldEnv) else -1 if number % 2 else number % 3]()
        except RuntimeError as error:
            refused.append(error)
        return np.random.Generator.integers(generator, *given)

    state = env.get_state()
    twin = fresh(env)
    twin.reset(seed=number)
    env.np_random = Hostile(np.random.PCG64(number), 0, calls_back)
    twin.np_random = np.random.default_rng(number)
    assert frozen(env.reset()) == frozen(twin.reset())
    assert len(refused) == 1, "a call in the middle of a reset was played"
    assert frozen(env.reset()) == frozen(twin.reset())


FAMILIES = [play_subclass, play_subclass, play_corrupted, play_calling_back]


def play_case(number: int) -> None:
    """One of the kinds of cases."""
    FAMILIES[number % len(FAMILIES)](number // len(FAMILIES))


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no SIGALRM here, whose handler raises in some cases")
def test_a_hostile_generator_is_refused_or_drawn_from_by_the_rules(batch: tuple[int, int]) -> None:
    """A bad draw is a ValueError, and a broken generator never breaks the env; a seed makes it like new."""
    play_apart("apart:play_batch", "test_hostile_generators:play_case", *batch, 20, timeout=600)
