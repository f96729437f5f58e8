"""What every face of the game promises, stated once and asked of each: see faces.py for the faces.

What is special to one face stands in its own file: test_documented.py, test_parallel.py, test_vector.py.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from crash_cases import STRICT
from faces import FACES, PARALLEL, REST, SINGLES, VECTORS, Face, Vector, each_of, refused
from helpers import AROUND, arrays_in, crossed, frozen, parts_in, run_python, spoil

every, single, our_own = each_of(FACES), each_of(SINGLES), each_of([*SINGLES, *VECTORS])
COPIES: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy}
COPIES |= {one.__name__: lambda env, one=one: one.loads(one.dumps(env)) for one in (pickle, cloudpickle)}


# Faces, and where their streams are: inside, or held by somebody.
STREAMS = [(face, stream) for face in FACES for stream in ("", "held")]
STATES = [pytest.param(*case, marks=[pytest.mark.long] * (case[0] in REST)) for case in STREAMS]
# Every day each of those is copied in one way.
COPIED = [
    pytest.param(*case, copied, marks=[pytest.mark.long] * (case[0] in REST or (number + number // 4) % 4 != way))
    for number, case in enumerate(STREAMS)
    for way, copied in enumerate(COPIES)
]


def name_of(value: Any) -> str:
    """The name of a face, or the text itself."""
    return value.name if isinstance(value, Face) else value


def use_stream(face: Face, env: Any, stream: str) -> None:
    """Have somebody hold the streams of an env, or not."""
    if stream:
        _ = [held.random() for held in face.streams(env)]


def episodes(face: Face, env: Any, seed: int | None, steps: int = 60) -> Any:
    """Return all that a reset and the play after it show."""
    return frozen([face.reset(env, seed=seed), *face.play(env, steps), face.snapshot(env)])


@every
def test_a_seed_is_an_episode(face: Face) -> None:
    """The same seed gives the same episodes, later unseeded resets included, to an env that has played, too."""
    first = episodes(face, face.make(), seed=3)
    used = face.started(seed=8)
    assert episodes(face, used, seed=3) == first
    assert episodes(face, face.make(), seed=4) != first


@every
def test_without_a_seed_envs_differ(face: Face) -> None:
    """Without a seed every env has episodes of its own, also one that was copied before its first reset."""
    fresh = face.make()
    envs = [pickle.loads(pickle.dumps(fresh)) for _ in range(8)] + [face.make() for _ in range(8)]
    assert len({str(face.cells(env, face.reset(env))) for env in envs}) > 8


@every
def test_seeds_may_be_integers_of_any_kind_and_size(face: Face) -> None:
    """Every face takes what Gymnasium takes as a seed, NumPy's integers too, and no bit of it is dropped."""
    for one, other in ((np.int64(7), np.uint8(7)), (2**64, 2**64), (10**30, 10**30)):
        first = episodes(face, face.make(), seed=one, steps=9)
        assert episodes(face, face.started(), seed=other, steps=9) == first
        assert episodes(face, face.make(), seed=int(one) % 2**64 + 1, steps=9) != first


@every
def test_bad_seeds_are_refused(face: Face) -> None:
    """A seed that is no integer from 0 is an error, with a layout by hand too, and changes nothing."""
    env = face.started()
    for options in (None, face.layout):
        for seed in (-1, 1.5, "a", math.nan, True):
            with refused(face, env, ValueError if seed == -1 else TypeError, "seed.*expected"):
                face.reset(env, seed=seed, options=options)
        if not isinstance(face, Vector):
            with refused(face, env, TypeError, "seed is .*; expected an integer of at least 0, or None"):
                face.reset(env, seed=[5], options=options)


@every
def test_streams_stay_the_same_objects_until_a_seed(face: Face) -> None:
    """A generator that was handed out stays the env's own through resets, steps and states, until a seeded reset."""
    env, other = face.started(), face.started()
    streams = face.streams(env)
    state = env.get_state()
    face.play(env)
    env.set_state(state)
    assert episodes(face, env, None) == episodes(face, other, None), "the other's streams are inside"
    assert all(one is mine for one, mine in zip(face.streams(env), streams, strict=True))
    for one, mine in zip(face.streams(env), face.streams(other), strict=True):
        assert one.integers(9, dtype=np.uint32) == mine.integers(9, dtype=np.uint32)
        assert one.random() == mine.random()
    assert episodes(face, env, None) == episodes(face, other, None)
    kept = [stream.bit_generator.state for stream in streams]
    face.reset(env, seed=4)
    assert not any(one is mine for one, mine in zip(face.streams(env), streams, strict=True))
    assert [stream.bit_generator.state for stream in streams] == kept


@pytest.mark.parametrize(("face", "stream", "copied"), COPIED, ids=name_of)
def test_copies_play_on_alike_and_apart(face: Face, stream: str, copied: str) -> None:
    """A copy made in mid-episode plays on as its original does, and neither feels what the other does."""
    original, untouched = face.started(), face.started()
    for env in (original, untouched):
        use_stream(face, env, stream)
        if face in PARALLEL:
            env.max_cycles = 30  # set in mid-episode, it is part of what is copied
    twin, other = COPIES[copied](original), COPIES[copied](original)
    assert face.snapshot(twin) == face.snapshot(original)
    face.play(other, 10)
    expected = frozen(face.play(untouched, 40))
    assert frozen(face.play(twin, 40)) == expected
    assert frozen(face.play(original, 40)) == expected
    assert face.snapshot(twin) == face.snapshot(original) == face.snapshot(untouched)
    streams = [[one.bit_generator.state for one in face.streams(env)] for env in (twin, original, untouched)]
    assert frozen(streams[0]) == frozen(streams[1]) == frozen(streams[2])


@pytest.mark.parametrize(("face", "stream"), STATES, ids=name_of)
def test_play_goes_on_from_a_state(face: Face, stream: str) -> None:
    """A state, pickled or not, brings back everything, in this env and in others; the env keeps no hold of it."""
    env, fresh, used = face.started(), face.make(), face.started(seed=1)
    for one in (env, used):
        use_stream(face, one, stream)
    state = env.get_state()
    kept, first = copy.deepcopy(state), frozen(face.play(env, 40))
    for other in (env, fresh, used, face.make()):
        given = pickle.loads(pickle.dumps(state)) if other is fresh else state
        other.set_state(given)
        assert frozen(other.get_state()) == frozen(given) == frozen(kept)
        assert other is not fresh or np.all(np.array(other.unwrapped.np_random_seed) == -1), "its seed is not known"
        for array in arrays_in(given) if other is fresh else ():
            array[...] = 1
        assert frozen(face.play(other, 40)) == first
        assert frozen(state) == frozen(kept)


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return how a good state gets one field changed."""
    return lambda state: {**state, name: change(state[name].copy())}


BAD_STATES: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda state: None, TypeError, "the state is of type NoneType; expected what get_state"),
    (lambda state: "state", TypeError, "the state is of type str; expected what get_state"),
    (lambda state: {}, ValueError, "in the state is missing"),
    *(
        (lambda state, bad=bad: {**state, "version": bad}, ValueError, "version in the state is")
        for bad in (1, True, None, np.array([2, 2]), np.array([2, 1, 2]), np.array([2.0] * 3))
    ),
    (changed("location", lambda array: array.astype(float)), ValueError, "location in the state is float64 of shape"),
    (changed("location", lambda array: array[..., None]), ValueError, "location in the state is int64 of shape"),
    (changed("location", lambda array: [[1], [2, 3]]), ValueError, "location in the state is ragged"),
    (changed("location", lambda array: array + 99), ValueError, "location in the state lies outside the . x . grid"),
    (changed("target", lambda array: array - 99), ValueError, "target in the state lies outside the . x . grid"),
    (changed("map_index", lambda array: array + 1), ValueError, "map_index in the state is .*there are 1 maps"),
    (changed("status", lambda array: array * 0 + np.int8(7)), ValueError, "status in the state"),
    (changed("steps", lambda array: array * 0 + (2**63 - 1)), ValueError, "steps in the state"),
    (changed("steps", lambda array: array + 1.5), ValueError, "steps in the state is float64"),
    (changed("arrivals", lambda array: array + 2**62), ValueError, "arrivals in the state"),
]
BAD_STREAMS: list[Any] = [
    *(None, "x", {"state": 3}, {"uinteger": 1 << 40}),
    *({"bit_generator": name} for name in ("PCG65", "seed", "choice", "MT19937")),
    *({"state": {"state": state, "inc": inc}} for state, inc in ((-1, 1), (1 << 130, 1), (1, 2))),
    *({"has_uint32": value} for value in (1 << 70, -1, 2, 2**40, "1", None)),
]


def bad_states(face: Face, state: dict[str, Any]) -> Iterator[tuple[Any, Any, str]]:
    """Yield what is wrong in each of its fields, with the error; test_invariants.py has more."""
    for change, error, match in BAD_STATES:
        yield change(state), error, match
    for name in state:
        rest = {key: value for key, value in state.items() if key != name}
        yield rest, ValueError, f"{name} in the state is (missing|None)"
    for bad in BAD_STREAMS if "np_random" in state else ():
        stream = {**state["np_random"], **bad} if isinstance(bad, dict) else bad
        yield {**state, "np_random": stream}, ValueError, "np_random in the state is"
    for word, value in ((3, 8), (4, 2), (4, 2**63), (5, 2**32), (5, 2**64 - 1)) if "streams" in state else ():
        streams = state["streams"].copy()
        streams[1, 4], streams[1, word] = 1, value
        no_pcg64 = r"streams in the state is no state of a PCG64 generator \(world 1 of 3\)"
        yield {**state, "streams": streams}, ValueError, no_pcg64


@every
def test_a_generator_that_somebody_holds_follows_the_env(face: Face) -> None:
    """After every reset, a generator that np_random returned before is in the state of the env's stream."""
    env = face.started()
    held = face.streams(env)
    for _ in range(3):
        before = frozen([one.bit_generator.state for one in held])
        face.reset(env)
        after = frozen([one.bit_generator.state for one in held])
        assert before != after == frozen([one.bit_generator.state for one in face.streams(env)])


@every
@pytest.mark.parametrize(("stream", "steps"), crossed(["", "held"], [3, 0]))
def test_bad_states_are_refused(face: Face, stream: str, steps: int) -> None:
    """What get_state never returned is refused with what is wrong; env, stream and NumPy's own are as they were."""
    env, twin, other, fresh = face.started(), face.started(), face.make(), face.make()
    face.reset(other, seed=1, options=face.layout)
    for _ in range(steps):
        face.step(other, face.joint(other, lambda: 1))
    for one in (env, twin):
        use_stream(face, one, stream)
    around = np.random.get_state()  # noqa: NPY002 (the point is that nothing touches it)
    before = face.snapshot(env)
    for state, error, match in bad_states(face, other.get_state()):
        for one in (env, fresh):
            with pytest.raises(error, match=match):
                one.set_state(state)
        assert face.snapshot(env) == before, match
    with pytest.raises(ResetNeeded):
        fresh.get_state()
    assert frozen(np.random.get_state()) == frozen(around)  # noqa: NPY002
    assert frozen(face.play(env)) == frozen(face.play(twin))


@each_of([face for face in FACES if face.is_fresh])
def test_all_that_is_returned_is_fresh(face: Face) -> None:
    """No dict, list or array that was returned is another one or changes later, and writing to them harms nobody."""
    env, twin = face.make(), face.make()
    returned = [face.reset(env, seed=1)]
    for seed in range(4):
        returned += [*face.play(env, 12, seed=seed), face.reset(env), env.get_state(), env.metrics()]
        returned += [env.state()] if hasattr(env, "state") else []
    before = copy.deepcopy(returned)
    parts = parts_in(returned)
    assert len({id(part) for part in parts}) == len(parts)
    bounds = (np.lib.array_utils if hasattr(np.lib, "array_utils") else np).byte_bounds  # NumPy 2, and 1
    spans = sorted(bounds(array) for array in parts if isinstance(array, np.ndarray) and array.size)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    inner = arrays_in(list(vars(env).values())) + list(env._worlds.arrays)
    assert not any(np.may_share_memory(array, own) for array in arrays_in(returned)[-99:] for own in inner)
    face.play(env, 12)
    assert frozen(returned) == frozen(before)
    face.reset(twin, seed=4)
    spoil([returned, face.reset(env, seed=4)])
    for seed in range(30):
        returned = face.play(env, 1, seed=seed)
        assert frozen(returned) == frozen(face.play(twin, 1, seed=seed))
        returned += [env.get_state(), *([env.state()] if hasattr(env, "state") else [])]
        spoil(returned)
        assert face.snapshot(env) == face.snapshot(twin)


@every
def test_what_was_given_is_neither_kept_nor_changed(face: Face) -> None:
    """The env keeps no hold of a layout or of actions that it was given, and writes into neither."""
    env, twin = face.make(), face.make()
    given = {name: np.array(cells) for name, cells in face.layout.items()} | {"unknown": [1]}
    kept = copy.deepcopy(given)
    face.reset(env, seed=4, options=given)
    face.reset(twin, seed=4, options=copy.deepcopy(face.layout))
    assert frozen(given) == frozen(kept)
    given["agents"][:] = given["targets"][:] = 3
    actions = face.joint(env, lambda: np.array([1]) if not isinstance(face.joint(env, int), np.ndarray) else 1)
    kept = copy.deepcopy(actions)
    face.step(env, actions)
    assert frozen(actions) == frozen(kept)
    for array in arrays_in(actions):
        array[...] = 3
    face.step(twin, face.joint(twin, lambda: 1))
    assert face.snapshot(env) == face.snapshot(twin)
    assert frozen(face.play(env)) == frozen(face.play(twin))


@every
def test_a_layout_by_hand(face: Face) -> None:
    """reset(options=...) puts agents and targets where it says, draws nothing, and ignores keys that are far off."""
    layout = np.concatenate([face.layout["agents"], face.layout["targets"]], axis=1).tolist()
    far_off = {"colour": "blue", "mode": 3, "goals": [], 7: 8}
    for numbers in (list, np.int8, np.asfortranarray, lambda cells: np.repeat(list(map(tuple, cells)), 2, axis=0)[::2]):
        env, other = face.make(), face.make()
        options = {name: numbers(cells) for name, cells in face.layout.items()} | far_off
        returned = face.reset(env, seed=4, options=options)
        assert all(cells == layout for cells in face.cells(env, returned))
        assert frozen(face.reset(env)) == frozen(face.reset(other, seed=4))


def options_of(face: Face) -> Iterator[tuple[Any, Any, str]]:
    """Bad options with their errors."""
    last = face.num_agents - 1
    width, height = (7, 4) if last else (3, 3)
    for options in ("agents", [1], 5, frozenset({"agents"})):
        yield options, TypeError, f"options are of type {type(options).__name__}"
    for one, other in (("agents", "targets"), ("targets", "agents")):
        yield {one: face.layout[one]}, ValueError, f"options has '{one}' without '{other}'"
        yield face.layout | {other: None}, ValueError, f"options has '{one}' without '{other}'"
        for cell in ([width, 0], [0, height], [-1, 0], [0, -1]):
            outside = rf"agent_{last} .*{re.escape(str(cell))}, outside the . x . grid"
            yield face.layout | {one: [*face.layout[one][:-1], cell]}, ValueError, outside
        good = face.layout[one]
        for value, error in (
            ([*good[:-1], [2]] if last else [[0], [1, 2]], ValueError),
            ([*good, good[0]], ValueError),
            (good[0], ValueError),
            ([[[good]]], ValueError),
            (np.array(good, float), TypeError),
            ([[math.nan, 0]] * (last + 1), TypeError),
            (np.zeros((last + 1, 2), bool), TypeError),
            ([[10**30, 0]] * (last + 1), TypeError),
            ("abc", TypeError),
        ):
            words = "shape|ragged|lists" if error is ValueError else "is of (float64|bool|object|<U3)"
            yield face.layout | {one: value}, error, rf"options\['{one}'\].*({words})"
    own = [*face.layout["targets"][:-1], face.layout["agents"][-1]]
    if face.on_target in ("park", "leave"):
        yield face.layout | {"targets": own}, ValueError, f"agent_{last} starts on its own target"
    for index, error in ((-1, ValueError), (1, ValueError), (True, TypeError), (1.0, TypeError), ("0", TypeError)):
        yield {"map": index}, error, "map"
    if last:
        agents, targets = face.layout["agents"], face.layout["targets"]
        wall = r"\[4, 0\], which is a wall"
        for changes, match in (
            ({"agents": [*agents[:2], agents[0]]}, "agent_0 and agent_2 .* the same location"),
            ({"targets": [targets[0], *targets[:1], targets[2]]}, "agent_0 and agent_1 .* target"),
            ({"agents": [*agents[:2], [4, 0]]}, f"agent_2 .* {wall}"),
            ({"targets": [targets[0], [4, 0], targets[2]]}, f"agent_1 .*{wall}"),
        ):
            yield face.layout | changes, ValueError, match


@every
def test_bad_options_are_refused(face: Face) -> None:
    """A misspelt key, or a layout that cannot be, is refused before the seed is taken or anything else happens."""
    env = face.started()
    words = {"agent": "agents", "target": "targets", "Agents": "agents", "maps": "map", "reset_masks": "reset_mask"}
    cases = [({wrong: None}, ValueError, f"the key '{wrong}'; expected '{right}'") for wrong, right in words.items()]
    for options, error, match in (*cases, *options_of(face)):
        with refused(face, env, error, match):
            face.reset(env, seed=7, options=options)


BAD_ACTIONS = [
    *((action, ValueError, f"is {action}") for action in (9, -1, 10**30, -(10**30), 2**63)),
    *((np.array(action), ValueError, f"is {action}") for action in (-1, 7, 2**64 - 1)),
    (np.array([7]), ValueError, "is 7"),
    *((action, TypeError, f"is {action!r} of type float") for action in (1.0, 0.5, math.nan)),
    (np.float32(1), TypeError, "is .* of type float32"),
    (np.array([1.0]), TypeError, "is .* of type float64"),
    *((action, TypeError, "is .*True.* of type bool_?") for action in (True, np.True_, np.array([True]))),
    ("0", TypeError, "is '0' of type str"),
    (None, TypeError, "is None of type NoneType"),
    ([1], TypeError, r"is \[1\] of type list"),
    (np.array([0, 1]), ValueError, r"is an array of shape \(2,\)"),
    (np.array([], int), ValueError, r"is an array of shape \(0,\)"),
]


@single
def test_bad_actions_are_refused(face: Face) -> None:
    """A bad action is an error that says whose it is, what came and what was expected; nobody has moved."""
    env = face.started()
    for action, error, came in BAD_ACTIONS:
        name = f"action for {env.agents[0]}" if hasattr(env, "agents") else "action"
        with refused(face, env, error, f"{name} {came}; expected an integer from 0 to {face.num_actions - 1}"):
            env.step(face.with_action(env, action))


@single
def test_actions_may_be_integers_of_any_kind(face: Face) -> None:
    """Integers of Python and of NumPy, and arrays of one of them, are the same action."""
    expected = frozen(face.step(env := face.started(), face.with_action(env, 1)))
    for action in (np.int8(1), np.uint64(1), np.int64(1), np.array(1), np.array([1]), np.array([[1]], np.uint16)):
        env = face.started()
        assert frozen(env.step(face.with_action(env, action))) == expected


class Tensor:
    """A scalar as torch's, which NumPy reads, alone and in a list."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.value, dtype)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)


@every
def test_actions_may_be_tensors(face: Face) -> None:
    """Integers of other libraries, such as torch's scalars, are actions on every face; floats are on none."""
    env, other = face.started(), face.started()
    came = face.step(env, face.with_action(env, Tensor(1)))
    assert frozen(came) == frozen(face.step(other, face.with_action(other, 1)))
    with refused(face, env, TypeError, "float64"):
        face.step(env, face.with_action(env, Tensor(1.0)))


@our_own
def test_nothing_goes_before_a_reset(face: Face) -> None:
    """Without an episode there is nothing to step, to draw (but for the documented class) or to save."""
    env = face.make("rgb_array")
    for call in ("step", "render", "get_state", "metrics", "state"):
        if hasattr(env, call) and not (call == "render" and "GridWorldEnv" in face.name):
            with pytest.raises(ResetNeeded, match=re.escape("call reset() first")):
                getattr(env, call)(*[face.joint(env, int)] * (call == "step"))
    assert frozen(face.reset(env, seed=3)) == frozen(face.reset(face.make(), seed=3))


@every
def test_rendering_and_closing_never_change_the_game(face: Face) -> None:
    """An env that is drawn at every step, and closed twice, plays like one that is not."""
    shown, left_alone = face.make("rgb_array"), face.make()
    shown.close()
    for env in (shown, left_alone):
        face.reset(env, seed=3)
    size = len(pickle.dumps(shown))
    for seed in range(8):
        frames = shown.render()
        np.testing.assert_array_equal(shown.render(), frames)
        if seed == 0:
            assert len(pickle.dumps(shown)) == size, "a copy would carry pictures"
            np.testing.assert_array_equal(copy.deepcopy(shown).render(), frames)
        shown.close()
        shown.close()
        assert face.snapshot(shown) == face.snapshot(left_alone)
        assert frozen(face.play(shown, 1, seed=seed)) == frozen(face.play(left_alone, 1, seed=seed))


@each_of([face for face in FACES if face not in VECTORS])
def test_a_window_never_changes_the_game(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """In human mode, too, every step and the next episode is that of an env without a picture."""
    shown, left_alone = face.make("human"), face.make()
    monkeypatch.setitem(shown.unwrapped.metadata, "render_fps", 100_000)
    assert episodes(face, shown, seed=1, steps=20) == episodes(face, left_alone, seed=1, steps=20)
    assert shown.unwrapped.render() is None
    shown.close()


@every
def test_bad_render_modes_are_refused(face: Face) -> None:
    """A render mode that does not exist is refused with those that do."""
    for mode in ("ascii", "Human", "", 3):
        with pytest.raises(ValueError, match=f"render_mode is {mode!r}; expected None or .*'rgb_array'"):
            face.make(mode)


def digest(path: str) -> str:
    """SHA-256 of what every face plays, and of what the pickled envs in a file go on to play."""
    returned: list[Any] = [episodes(face, face.make(), seed=1) for face in FACES]
    for name, env in pickle.loads(Path(path).read_bytes()).items():
        (face,) = (one for one in FACES if one.name == name)
        returned.append([frozen(face.play(env)), [stream.random() for stream in face.streams(env)]])
        returned.append([frozen(face.play(env)), face.snapshot(env)])
    return hashlib.sha256(repr(returned).encode()).hexdigest()


def test_another_process_without_a_compiler_plays_the_same(tmp_path: Path) -> None:
    """A seed, or a pickled env, gives the same play in another process, with interpreted kernels, to the bit."""
    path = tmp_path / "envs"
    path.write_bytes(pickle.dumps({face.name: face.started() for face in FACES}))
    code = f"import sys; sys.path[:0] = {[str(Path(__file__).parents[k]) for k in range(2)]}; import test_contract; "
    code += f"print(test_contract.digest({str(path)!r}))"
    around = {name: value for name, value in AROUND.items() if not name.startswith("NUMBA_")}
    done = run_python(*STRICT, "-c", code, env={**around, "NUMBA_DISABLE_JIT": "1"})
    assert (done.stdout, done.stderr) == (digest(str(path)) + "\n", "")
