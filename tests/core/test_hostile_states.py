"""Whatever is handed to set_state: it is refused and nothing has changed, or it is a state that a game can be in."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import judged
from apart import play_apart
from helpers import frozen
from judged import FIELDS, SAID
from multigrid import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv

pytestmark = pytest.mark.heavy

CASES, LONG_CASES, BATCH = 500, 100_000, 1_000
NUMBERS = [0, 1, -1, 2, 3, 7, 127, 128, 255, 2**31 - 1, 2**31, 2**53, 2**53 + 2, 2**63 - 1, -(2**63), 0.5, -0.0]
REALS = [*NUMBERS, 1e308, float("nan"), float("inf"), -float("inf"), 1 / 3]
WORDS = [0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 2, 2**64 - 1]
LARGE = [0, 1, 2, -1, 2**64, 2**127, 2**128 - 1, 2**128, 10**60, 1.0, None, "1", [1], np.uint64(3), np.array([1, 2])]
DTYPES = ["f8", "f4", "i8", ">i8", "i4", "u1", "u8", "?", "O", "c16", "U4", "M8[s]", "S3"]
KINDS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]
Change = Callable[[dict[str, Any], np.random.Generator], Any]


class OwnError(Exception):
    """What only a hostile object raises."""


class Raises:
    """No array can be made of it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Refuse."""
        raise OwnError


class Changes:
    """Another array each time that it is asked for: first the good one, then one of large numbers."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.asked = array, 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Give the good one once."""
        self.asked += 1
        return self.array if self.asked == 1 else np.full_like(self.array, 99)


class Odd(dict):  # type: ignore[type-arg]
    """A dict whose look-ups raise."""

    def __getitem__(self, name: Any) -> Any:
        raise OwnError

    def get(self, name: Any, default: Any = None) -> Any:
        """Refuse."""
        raise OwnError


def cast(value: Any, dtype: Any) -> Any:
    """The value as the dtype would hold it, wrapped around where it does not fit."""
    with np.errstate(all="ignore"):
        return np.array(value).astype(dtype)[()]


def pick(random: np.random.Generator, items: Any) -> Any:
    """One of some items, as it is."""
    items = list(items)
    return items[int(random.integers(len(items)))]


def arrays_of(state: dict[str, Any]) -> list[str]:
    """The names of a state's arrays; those of a single env have a dimension less, and some have none."""
    return [name for name, value in state.items() if isinstance(value, np.ndarray | np.generic)]


def extreme(state: dict[str, Any], random: np.random.Generator) -> Any:
    """Some numbers at the limits, in one place or everywhere."""
    for _ in range(int(random.integers(1, 4))):
        name = pick(random, arrays_of(state))
        array = state[name]
        numbers = REALS if array.dtype.kind == "f" else WORDS if array.dtype.kind == "u" else NUMBERS
        value = cast(pick(random, numbers), array.dtype)
        if array.ndim == 0 or random.random() < 0.2:
            state[name] = np.full_like(array, value)
        else:
            array[tuple(int(random.integers(length)) for length in array.shape)] = value
    return state


def plausible(state: dict[str, Any], random: np.random.Generator) -> Any:
    """Values that each could be right: cells of others, flags turned over, counts that are off by a little."""
    for _ in range(int(random.integers(1, 4))):
        name = pick(random, (*FIELDS, *SAID))
        array = np.atleast_1d(state[name])
        place = tuple(int(random.integers(length)) for length in array.shape[: 2 if array.ndim > 2 else 1])
        if name in ("location", "target"):
            other = np.atleast_1d(state[pick(random, ("location", "target"))])
            array[place] = pick(random, other.reshape(-1, 2))
        elif array.dtype == bool:
            array[place] = ~array[place]
        elif name == "rewards":
            array[place] = pick(random, [0.0, 1.0, 0.5, 1 / 3, 2 / 3, 0.25])
        elif name == "arrival_step":
            array[place] = random.integers(-1, np.max(state["steps"]) + 2)
        elif name in ("status", "outcomes", "map_index"):
            array[place] = random.integers(0, {"status": 3, "outcomes": 8, "map_index": 3}[name])
        else:
            array[place] += pick(random, [-1, 1, 2])
        state[name] = array.reshape(np.shape(state[name]))
    return state


def typed(state: dict[str, Any], random: np.random.Generator) -> Any:
    """A field of another dtype."""
    name = pick(random, arrays_of(state))
    with np.errstate(all="ignore"):
        try:
            state[name] = np.asarray(state[name]).astype(pick(random, DTYPES))
        except (TypeError, ValueError):
            state[name] = None
    return state


def shaped(state: dict[str, Any], random: np.random.Generator) -> Any:
    """A field of another shape; or of the same, laid out in memory in another way."""
    name = pick(random, arrays_of(state))
    array = state[name]
    changes = [
        array[None],
        array[..., None],
        array.reshape(-1),
        array.T,
        np.asarray(array).copy(order="F"),
        array.reshape(-1)[:0],
        array.reshape(-1)[:1].reshape(()) if array.size else array,
        np.broadcast_to(array.reshape(-1)[0], array.shape),
        np.repeat(np.atleast_1d(array), 2, axis=0),
        np.atleast_1d(array)[1:],
        np.atleast_1d(array)[::-1][::-1],
    ]
    state[name] = pick(random, changes)
    return state


def missing(state: dict[str, Any], random: np.random.Generator) -> Any:
    """A field that is not there, or under another name, or one too many."""
    name = pick(random, state)
    value = state.pop(name)
    return state | pick(
        random, [{}, {name.upper(): value}, {name: None}, {name: value, "more": 1, 5: 6}, {(name,): value}]
    )


def mixed(state: dict[str, Any], random: np.random.Generator) -> Any:
    """Fields of one world in another."""
    for _ in range(int(random.integers(1, 3))):
        name = pick(random, arrays_of(state))
        if np.ndim(state[name]):
            state[name] = state[name][random.permutation(len(state[name]))]
    return state


def objects(state: dict[str, Any], random: np.random.Generator) -> Any:
    """Things that are no arrays, or behave like none."""
    name = pick(random, arrays_of(state))
    array = state[name]
    changes = [
        array.tolist(),
        Raises(),
        Changes(array),
        np.ma.masked_array(array, mask=random.random() < 0.5),
        np.asarray(array).view(np.recarray),
        iter(np.atleast_1d(array)),
        memoryview(np.atleast_1d(array)),
        array.tobytes(),
        {0: array},
        object(),
        np.array([array, None], dtype=object),
        [array, [1]],
        "zero",
        type(array),
        lambda: array,
    ]
    state[name] = pick(random, changes)
    return state


def wholes(state: dict[str, Any], random: np.random.Generator) -> Any:
    """Something else altogether."""
    changes = [None, 5, [], {}, "state", Odd(state), list(state.items()), [state], (state, state), np.zeros(3), object]
    return pick(random, changes)


def streams(state: dict[str, Any], random: np.random.Generator) -> Any:
    """Streams that no generator of NumPy's comes to, and some that one does."""
    if "streams" in state:
        for _ in range(int(random.integers(1, 3))):
            rows, words = state["streams"].shape
            word = int(random.integers(words))
            state["streams"][int(random.integers(rows)), word] = np.uint64(pick(random, WORDS))
        return state
    if random.random() < 0.4:
        # Another kind than is under way, as somebody who has set another generator has it.
        state["np_random"] = getattr(np.random, pick(random, KINDS))(int(random.integers(99))).state
    stream = copy.deepcopy(state["np_random"])
    inner = stream["state"]
    for _ in range(int(random.integers(0, 3))):
        choice = int(random.integers(6))
        if choice == 0:
            stream["bit_generator"] = pick(
                random, ["BitGenerator", "Generator", "MT19937", "__class__", "", 5, None, [1]]
            )
        elif choice == 1:
            stream["has_uint32"] = pick(random, [-1, 0, 1, 2, 2**31, 2**40, 1.0, True, None, "1", np.array([1])])
        elif choice == 2:
            stream["uinteger"] = pick(random, [-1, 0, 2**32 - 1, 2**32, 2**64, 0.5, None, np.uint32(3)])
        elif choice == 3 and isinstance(inner, dict) and inner:
            name = pick(random, inner)
            inner[name] = pick(random, [*LARGE, 10**9, -(10**9), 625, 624, np.zeros(3), np.zeros(624, dtype="u4")])
        elif choice == 4:
            name = pick(random, stream)
            stream[name] = pick(random, [None, {}, [], 5, np.zeros(4), np.zeros(2, dtype="u8"), "x", {"state": 1}])
        else:
            stream["buffer_pos"] = pick(random, [-1, 0, 4, 5, 10**9, -(10**9), 2**31, 2**63, None, 1.5])
    state["np_random"] = stream
    return state


def untouched(state: dict[str, Any], random: np.random.Generator) -> Any:
    """The state itself, which must be taken."""
    return state


CHANGES: list[Change] = [
    *(extreme, plausible, plausible, plausible, typed, shaped, missing, mixed),
    *(objects, wholes, streams, streams, untouched),
]


def held(env: Any, random: np.random.Generator) -> Any:
    """Sometimes a generator of the user's own is under way; return it, or None."""
    if isinstance(env, MultiGridVectorEnv):
        return env.np_random[0] if random.random() < 0.3 else None
    if random.random() < 0.4:
        bits = getattr(np.random, pick(random, KINDS))(int(random.integers(99)))
        env.np_random = np.random.Generator(bits)
        return env.np_random
    return None


def shown(env: Any) -> Any:
    """All that an env shows of itself."""
    return [frozen(env.get_state()), getattr(env, "agents", None), env.np_random_seed]


def alike(kept: Any, came: Any) -> bool:
    """Whether two states of a generator have the same numbers."""
    if isinstance(kept, dict):
        return all(alike(kept[name], came[name]) for name in kept)
    return bool(np.array_equal(kept, came))


def play_case(number: int) -> None:
    """Hand a changed state to an env, and see what comes of it."""
    random = np.random.default_rng([11, number])
    env = judged.some_env(number, random, threads=2 if number % 4 == 0 else 1)
    own = held(env, random)
    donor = env if random.random() < 0.4 else judged.some_env(number, random)
    if random.random() < 0.1:
        donor = judged.some_env(int(random.integers(10**6)), random)
    state, change = donor.get_state(), pick(random, CHANGES)
    many = isinstance(env, MultiGridVectorEnv)
    worlds: Any = None
    if many and random.random() < 0.5:
        # Of some worlds only; a list of as many states as there are worlds in it.
        worlds = random.permutation(env.num_worlds)[: int(random.integers(1, env.num_worlds + 1))]
        if donor is env:
            state = env.get_state(worlds)
    given = change(state, random)
    must_be_taken = change is untouched and donor is env
    before, twin = shown(env), copy.deepcopy(env)
    own_before = frozen(own.bit_generator.state) if own is not None else None
    try:
        env.set_state(given) if worlds is None else env.set_state(given, worlds)
    except (TypeError, ValueError, OwnError) as error:
        assert not must_be_taken, f"a state of its own is refused: {error}"
        assert not isinstance(error, OwnError) or isinstance(given, Odd) or change is objects, "who raised this?"
        assert shown(env) == before, f"{change.__name__}: refused ({error}), and changed all the same"
        if own is not None:
            assert frozen(own.bit_generator.state) == own_before, "refused, and the user's generator has moved"
            assert own in (env.np_random if many else [env.np_random]), "refused, and the user's generator is gone"
        for one in (env, twin):
            one.reset()
        assert shown(env) == shown(twin), "after a refusal the next episode is another one"
        judged.play(env, 3, random)
        return
    taken = env.get_state() if worlds is None else env.get_state(worlds)
    if isinstance(given, dict) and change is not objects:
        for name in taken:
            kept, came = (value[name] for value in (taken, given))
            same = alike(kept, came) if name == "np_random" else np.array_equal(kept, np.asarray(came))
            assert same, f"{change.__name__}: {name} was {came}, and is {kept}"
    for one in judged.one_by_one(env):
        broken = judged.breaches(env.config, one) + ["too many steps"] * (int(one["steps"]) > 2**53)
        assert not broken, f"{change.__name__}: taken, but {broken}\n{one}"
    judged.play(env, 30, random)


def test_a_hostile_state_is_refused_or_played_by_the_rules(batch: tuple[int, int]) -> None:
    """A changed state is refused, and nothing has changed, or taken, given back as it came, and played by the rules."""
    play_apart("apart:play_batch", "test_hostile_states:play_case", *batch, timeout=600)


def test_the_judge_knows_an_impossible_state() -> None:
    """The judge of states can refuse: a target on a wall, an arrival without an agent there, a reward for nothing."""
    env = MultiGridEnv(judged.GridConfig(walls="..#\n...", num_agents=2))
    env.reset(seed=0)
    (state,) = judged.one_by_one(env)
    assert judged.breaches(env.config, state) == []
    spoilt: list[tuple[str, Any]] = [
        ("target", np.array([[2, 0], [0, 0]])),
        ("arrival_step", np.array([0, -1])),
        ("rewards", np.array([1.0, 0.0])),
        ("episode_over", np.bool_(True)),
        ("steps", np.int64(2**60)),
        ("status", np.array([1, 0], dtype=np.int8)),
        ("distances", np.array([0.0, 0.0])),
    ]
    for name, value in spoilt:
        assert judged.breaches(env.config, {**state, name: value}), name
