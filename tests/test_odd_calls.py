"""Odd arguments for everything that is public: taken, or refused with an error that says so, and nothing broken."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import importlib.util
import inspect
import io
import itertools
import os
import pkgutil
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest

import judged
import multigrid.integrations.sb3
import multigrid.wrappers
from apart import limit_memory, play_apart, play_cases
from helpers import MOVED, frozen
from multigrid import planning

pytestmark = pytest.mark.heavy

CASES, LONG_CASES, BATCH = 2_000, 20_000, 2_000

PUBLIC_PLANNERS = ("controllers", "expert", "problem")
EXCLUDED = {
    "multigrid.core": "compiled functions take addresses and check nothing; who calls them has checked",
    "multigrid.runtime": "as multigrid.core",
    "multigrid.cli": "commands open windows, train and measure for minutes; their tests give them odd flags",
    **dict.fromkeys(MOVED, "says what takes its place"),
    "multigrid.datasets": "writes to the folder of Minari; its tests give it odd arguments",
    "multigrid.policies.named": "a helper of commands, for names that are checked already",
    "multigrid.rendering": "draws what the faces have checked; a part of it opens windows",
    "multigrid.__main__": "runs the command",
    "multigrid.actions.Action": "an IntEnum, which is Python's",
    "multigrid.actions.Outcome": "an IntEnum, which is Python's",
    "multigrid.envs.grid_world.Actions": "an IntEnum, which is Python's",
    "multigrid.actions.check_action": "a helper, to which only the action comes from a user",
    "multigrid.integrations.supersuit": "starts as many processes as it is asked for",
    "multigrid.integrations.supersuit_sb3": "made by to_sb3 alone, of SuperSuit's vector env",
    "multigrid.integrations.rllib": "needs Ray",
    "multigrid.integrations.sb3_buffers": "buffers of Stable-Baselines3, which its learners make",
    **{f"multigrid.planning.{name}": "searches for as long as it is asked to" for name in ("bounds", "solver")},
    **{
        f"multigrid.planning.{path.stem}": "serves the public planners, which have checked"
        for path in Path(planning.__file__).parent.glob("[!_]*")
        if path.stem not in PUBLIC_PLANNERS
    },
    "multigrid.scenarios.stored_config.one_line": "a helper, to which only errors come",
    "multigrid.registration": "registers ids again, which Gymnasium warns of",
    "multigrid.envs.documented_members": "takes what GridWorldEnv passes",
    "multigrid.envs.one_world": "what two faces share; it is called through them",
    "multigrid.envs.agent_dicts": "a base of MultiGridEnv, through which it is called",
    "multigrid.envs.many_worlds": "a base of the vector env, through which it is called",
    "multigrid.envs.world_rows": "a base of the vector env, through which it is called",
    "multigrid.envs.result_arrays": "a helper of the vector env, which gives it arrays of its own",
    "multigrid.envs.exclusive": "a decorator, for methods of envs",
    "multigrid.envs.reset_arguments": "a helper of two faces; it is called through them",
    "multigrid.envs.annotations": "types for type checkers",
    "multigrid.envs.options": "a decorator, for functions that create envs",
    "multigrid.config.GridOptions": "a type for type checkers",
    "multigrid.integrations.extras": "helpers, for names of extras",
    "multigrid.scenarios.tracing": "a helper of replay, for scenarios that are checked already",
    "multigrid.scenarios.recording.Step": "a named tuple, which holds what it is given",
    "multigrid.policies.intervals": "a helper of evaluate, for numbers that an env has returned",
    "multigrid.policies.evaluation.measure_episode": "takes what the env has returned",
    "multigrid.policies.evaluation.Difference": "a named tuple, which holds what it is given",
    "multigrid.policies.evaluation.Evaluation": "holds what `evaluate` has measured; tests of its own",
    "multigrid.policies.evaluation.estimate_measures": "takes what `measure_episode` has returned",
    "multigrid.integrations.training": "a helper of trainings, for the probabilities of a network",
    "multigrid.maps.target_lists": "a helper, to which only the cells come from a user",
    "multigrid.benchmark.clone": "a helper of the reader, which gives it paths of its own",
    "multigrid.benchmark.instances.Instance": "a dataclass, which holds what the reader has checked",
    "multigrid.benchmark.engines": "a helper of the command, for tasks that the reader has made",
    "multigrid.benchmark.playing": "plays tasks that the reader has made",
    "multigrid.benchmark.checks": "a helper, to which only the rows come from a user",
    "multigrid.benchmark.locks": "a helper, for an open file",
    "multigrid.benchmark.own_policies.ObservationOptions": "a type for type checkers",
    **{
        f"multigrid.benchmark.{name}": "a helper, for rows that are checked already"
        for name in ("rows.RowFile", "rows.check_runs", "rows.key_of", "scores.instance_of")
    },
    "multigrid.policies.weights": "a helper of the learned policy, for files of its own",
    "multigrid.policies.learned.Pretrained": "holds a network; what a user gives comes through `pretrained`",
    "multigrid.policies.gaps": "a helper of evaluate, for what an env has returned",
    "multigrid.maps.distances": "a helper of policies, for maps that are checked already",
    "multigrid.maps.flat": "a helper, for maps that are checked already",
    "multigrid.maps.pools": "a helper of the configuration",
    "multigrid.parts": "helpers of the configuration, for names that are checked already",
    "multigrid._checks": "a helper, to which only the argument's value comes from a user",
    "multigrid._memory": "a helper, to which only the argument's value comes from a user",
    "multigrid.maps.layouts": "a helper, to which only the cells come from a user",
    "multigrid.maps.components": "a helper, for maps that are checked already",
    "multigrid.envs.spaces": "a helper, for a configuration that is checked already",
    "multigrid._files": "a helper, for a path that is checked already",
    "multigrid.config.resolve_config": "a helper of the factories",
    "multigrid.integrations.tyro.add_field_rule": "takes a registry of tyro",
    "multigrid.wrappers.observations.GoalObservation.observation": "takes what the env has returned",
    "multigrid.wrappers.observations.PixelObservation.observation": "takes what the env has returned",
    "multigrid.wrappers.relative_position.RelativePosition.observation": "takes what the env has returned",
    "multigrid.wrappers.clip_reward.ClipReward.reward": "takes what the env has returned",
    "multigrid.wrappers.potential_reward.minus_distance": "takes what the env has returned",
    "multigrid.wrappers.vector_records.RecordVideo": "Gymnasium's, which writes files with MoviePy",
}
"""What is left out, with the reason: modules with all that is in them, and single names."""

ALLOWED = (TypeError, ValueError, gymnasium.error.Error)


class OwnError(Exception):
    """What only a hostile argument raises."""


class Refuses:
    """An object that raises whatever is asked of it."""

    def _refuse(self, *_given: Any, **_named: Any) -> Any:
        raise OwnError

    __array__ = __len__ = __iter__ = __getitem__ = __index__ = __int__ = __float__ = __bool__ = __eq__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __contains__ = __call__ = __fspath__ = __hash__ = _refuse


def itself() -> list[Any]:
    """A list that has itself in it."""
    endless: list[Any] = []
    endless.append(endless)
    return endless


def deep() -> list[Any]:
    """A list in a list, and so on."""
    return functools.reduce(lambda inner, _: [inner], range(5000), [])


VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, 7, -1, -2, -(2**70), 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30),
    *(0.5, -0.0, 1.0, 1e300, 1e-300, 1j, float("nan"), float("inf"), -float("inf"), ..., int, object, len),
    *("", "x", "agent_0", "0", "\0", "\udc80", "a.B\n.#.", "../x", "x" * 10**5, b"", b"x", Path("no/such/file")),
    *(Path(), range(3), slice(1), frozenset(), [], [0], [0, 1], [[0, 0]], [[0, 1], [2]], [None], ["x"], [{}]),
    *((), (1, 2), (0, -1), {}, {"a": 1}, {0: 0}, {"agent_0": 9}, {1}),
    *map(np.array, ([], 1, [1, 2], [[0, 1]], [[[0]]], [0.5], [np.nan], ["a"], [True], [None])),
    *(np.array([[True, False], [False, False]]), np.full((3, 2), 2**62), np.zeros(2, dtype=[("a", "i8")])),
    *(np.zeros(shape, dtype=bool) for shape in ((0, 3), (3, 0), (2, 3, 2))),
    *(np.uint64(2**64 - 1), np.int8(-1), np.float32("nan"), np.bool_(True), np.datetime64("NaT")),
    np.ma.masked_array([1, 2], mask=[1, 0]),
]
ODD: list[Callable[[], Any]] = [
    *(functools.partial(copy.copy, value) for value in VALUES),
    lambda: np.random.default_rng(0),
    lambda: np.random.RandomState(0),
    lambda: iter([1, 2]),
    lambda: (value for value in (0, 1)),
    lambda: io.StringIO("x"),
    *(itself, deep, Refuses, object, multigrid.GridWorldEnv, multigrid.GridConfig),
]


def recorded() -> Any:
    """An episode as a scenario."""
    env = multigrid.scenarios.RecordEpisode(small())
    env.reset(seed=1)
    env.step(dict.fromkeys(env.agents, 1))
    return env


def small(**settings: Any) -> Any:
    """Two agents in a small world, whose game has begun."""
    env = multigrid.parallel_env(**{"size": (4, 3), "num_agents": 2, "render_mode": "ansi", **settings})
    env.reset(seed=3)
    return env


def alone() -> Any:
    """The documented env, whose game has begun."""
    env = multigrid.GridWorldEnv("rgb_array")
    env.reset(seed=3)
    return env


def many(**settings: Any) -> Any:
    """Three worlds of two agents, whose games have begun."""
    envs = multigrid.vector_env(3, **{"size": (4, 3), "num_agents": 2, "render_mode": "rgb_array", **settings})
    envs.reset(seed=3)
    return envs


STANDARD: Any = {"flatten": True, "observe": ("agent", "action_mask")}


def wrapped(name: str) -> Any:
    """An env in one of our wrappers, whose game has begun."""
    if name == "VectorReward":
        return started(multigrid.wrappers.VectorReward(many(), lambda *step: step[1]))
    if name == "RecordEpisodeStatistics":
        return started(multigrid.wrappers.RecordEpisodeStatistics(many(on_target="leave")))
    if name == "StandardVector":
        return started(multigrid.wrappers.StandardVector(many(**STANDARD)))
    if name == "StandardParallel":
        return started(multigrid.wrappers.StandardParallel(multigrid.parallel_env(**STANDARD)))
    parallel = name.endswith("Parallel")
    inner = small() if parallel else gymnasium.make("multigrid/GridWorld-v0", render_mode="rgb_array")
    needed: dict[str, list[Any]] = {"ClipReward": [0, 1], "DiscreteActions": [[0, 1]], "ReacherWeightedReward": [1, 1]}
    given = [0.9] if name.startswith("Potential") else needed.get(name, [])
    env = getattr(multigrid.wrappers, name)(inner, *given)
    env.reset(seed=3)
    return env


INSTANCE = multigrid.benchmark.Instance(
    "mapf", "puzzles", "hall", 0, np.zeros((3, 2), bool), np.array([[0, 0]]), (np.array([[2, 1]]),), 9
)


def benchmark_rows() -> list[dict[str, Any]]:
    """Two rows of a benchmark, one of which is odd."""
    row: dict[str, Any] = {"kind": "mapf", "set": "puzzles", "map": "m", "seed": 0, "agents": 2, "algorithm": "A"}
    row |= {"csr": 1.0, "isr": 1.0, "sum_of_costs": 3.0, "makespan": 2.0, "throughput": 0.5, "lower_bound": 3.0}
    row |= {"set": str(ODD_ROWS.choice(tuple(multigrid.benchmark.SETS))), "seconds": 1.0, "steps": 3.0, "time_limit": 1}
    return [row, {**row, "algorithm": "B", str(ODD_ROWS.choice(list(row))): ODD[int(ODD_ROWS.integers(len(ODD)))]()}]


ODD_ROWS = np.random.default_rng(8)


def good_values() -> dict[str, list[Callable[[], Any]]]:
    """What a parameter of a name takes, so that the odd ones beside it are looked at too."""
    walls = np.array([[False, True, False], [False, False, False]])
    state = {"np_random": np.random.PCG64(0).state}
    return {
        "config": [multigrid.GridConfig, lambda: judged.some_config(3)],
        "num_worlds": [lambda: 2],
        "num_agents": [lambda: 2],
        "num_envs": [lambda: 2],
        "action": [lambda: 1],
        "actions": [lambda: {"agent_0": 1, "agent_1": 0}, lambda: np.zeros(6, dtype=int)],
        "seed": [lambda: 4, lambda: np.random.default_rng(4)],
        "options": [dict, lambda: {"agents": [[0, 0], [1, 1]], "targets": [[2, 2], [0, 1]]}],
        "state": [lambda: small().get_state(), lambda: alone().get_state(), lambda: state],
        "states": [lambda: many().get_state()],
        "worlds": [lambda: [0, 2]],
        "walls": [lambda: walls],
        "regions": [lambda: multigrid.GridConfig(walls=walls, num_agents=1).components[0]],
        "goal": [lambda: (0, 0)],
        "agents": [lambda: [[0, 0], [1, 1]]],
        "targets": [lambda: [[1, 2], [0, 2]]],
        "width": [lambda: 7],
        "height": [lambda: 5],
        "density": [lambda: 0.2],
        "room_size": [lambda: 2],
        "text": [lambda: "a.B\n.#.\nb.A"],
        "path": [lambda: "written.map", lambda: Path("written.scen")],
        "rows": [lambda: [multigrid.maps.ScenarioRow(0, "m", 3, 2, (0, 0), (2, 1), 3.0)], benchmark_rows],
        "instances": [lambda: [INSTANCE]],
        "algorithm": [lambda: "mine"],
        "generator": [lambda: np.random.default_rng(2)],
        "env": [small, alone],
        "vector_env": [many],
        "source": [recorded, lambda: recorded().scenario("recorded")],
        "other": [recorded],
        "scenario": [lambda: recorded().scenario("recorded")],
        "name": [lambda: "size", lambda: multigrid.scenarios.names()[0]],
        "agent": [lambda: "agent_1"],
        "env_fns": [lambda: [small]],
        "cells": [lambda: [[0, 0], [1, 1]]],
        "num_actions": [lambda: 4],
        "least": [lambda: 0],
        "value": [lambda: 3],
        "observation": [lambda: alone().reset(seed=1)[0]],
        "info": [lambda: {"distance": 1.0}],
        "render_mode": [lambda: None],
        "max_cycles": [lambda: 9],
        "problem": [small],
        "policy": [lambda: multigrid.policies.random_policy(np.random.default_rng(5))],
        "seeds": [lambda: [4, 7]],
    }


def makers() -> dict[str, Callable[[], Any]]:
    """An instance of each public class, whose methods are called; others are made of good values by their names."""
    from multigrid.envs.grid_world_vector import GridWorldVectorEnv

    known: dict[str, Callable[[], Any]] = {
        "GridWorldEnv": alone,
        "MultiGridEnv": small,
        "MultiGridAECEnv": lambda: started(multigrid.env(num_agents=2)),
        "MultiGridVectorEnv": many,
        "GridWorldVectorEnv": lambda: started(GridWorldVectorEnv(3, render_mode="rgb_array")),
        "MultiGridVecEnv": lambda: multigrid.integrations.sb3.to_sb3(many(flatten=True, autoreset_mode="SameStep")),
        "ParsedMap": lambda: multigrid.maps.parse_map("a.A"),
        "ScenarioRow": lambda: good_values()["rows"][0]()[0],
        "RecordEpisode": recorded,
        "Scenario": lambda: recorded().scenario("recorded"),
        "Replay": lambda: multigrid.show_episode(recorded()),
        "GridConfig": multigrid.GridConfig,
        "WorldsWrapper": functools.partial(wrapped, "VectorReward"),
    }
    known |= {name: functools.partial(wrapped, name) for name in multigrid.wrappers.__all__}
    return known


def started(envs: Any) -> Any:
    """An env after its first reset."""
    envs.reset(seed=3)
    return envs


class Target(NamedTuple):
    """Something to call: its name, and of which class an instance is needed; or the setter of a property."""

    name: str
    called: Any
    owner: type | None
    setter: str = ""


def is_excluded(name: str) -> bool:
    """Whether a module or a name is left out."""
    return any(name == one or name.startswith(f"{one}.") for one in EXCLUDED)


def public_modules() -> Iterator[Any]:
    """All modules of ours that are not left out; those whose library is missing here are."""
    yield multigrid
    for found in pkgutil.walk_packages(multigrid.__path__, "multigrid.", onerror=lambda _name: None):
        if not is_excluded(found.name):
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                assert not str(error.name).startswith("multigrid"), error


def targets() -> list[Target]:
    """All functions, constructors, methods and settable properties that are public, each once."""
    found: dict[str, Target] = {}
    for module in public_modules():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            home = getattr(value, "__module__", "") or ""
            label = f"{home}.{name}"
            if not home.startswith("multigrid") or is_excluded(label):
                continue
            if inspect.isclass(value):
                if not issubclass(value, BaseException):
                    found.setdefault(label, Target(label, value, None))
                    found |= {target.name: target for target in members(label, value)}
            elif callable(value) and not hasattr(value, "__origin__"):
                found.setdefault(label, Target(label, value, None))
    return sorted(found.values(), key=lambda target: target.name)


def members(label: str, owner: type) -> Iterator[Target]:
    """The public methods and settable properties of a class that are of our own making."""
    for name, value in inspect.getmembers(owner):
        if name.startswith("_"):
            continue
        if inspect.isfunction(value) and value.__module__.startswith("multigrid"):
            if not is_excluded(f"{label}.{name}"):
                yield Target(f"{label}.{name}", value, owner)
        elif isinstance(value, property) and value.fset and value.fset.__module__.startswith("multigrid"):
            yield Target(f"{label}.{name} =", value.fset, owner, name)


def instance_of(owner: type) -> Any:
    """An instance: of the table, or made of good values."""
    maker = makers().get(owner.__name__)
    if maker is not None:
        return maker()
    good, given = good_values(), {}
    for name, parameter in inspect.signature(owner).parameters.items():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            assert name in good, f"{owner.__name__} needs {name!r}: put a good one into good_values, or one into makers"
            given[name] = good[name][0]()
    return owner(**given)


def documented(target: Target) -> tuple[type[BaseException], ...]:
    """The errors that a docstring names under *Raises*, and warnings where it speaks of one."""
    text = "\n".join(
        filter(None, (inspect.getdoc(target.called), inspect.getdoc(target.owner) if target.owner else ""))
    )
    raises = "\n".join(re.findall(r"Raises:\n((?:[ ]+.*\n?|\n)*)", text))
    named = set(re.findall(r"\b[A-Z]\w*(?:Error|Needed|Exception)\b", raises))
    known = {**vars(__import__("builtins")), **vars(gymnasium.error)}
    errors = [known[name] for name in named if name in known]
    if re.search(r"\bwarn", text):
        errors.append(Warning)
    if re.search(r"\bpath|\bPathLike", str(inspect.signature(target.called)), re.IGNORECASE) or "map" in text:
        errors.append(OSError)
    return (*ALLOWED, *errors)


def arguments(target: Target, random: np.random.Generator) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of which at least one is odd, positional ones and keywords."""
    signature = inspect.signature(target.called)
    parameters = list(signature.parameters.values())[1 if target.owner else 0 :]
    good, given, named = good_values(), [], {}
    odd = int(random.integers(len(parameters))) if parameters else -1
    for index, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            fields = [*inspect.signature(multigrid.GridConfig).parameters, "no_such_setting"]
            for field in random.choice(fields, size=int(random.integers(3)), replace=False).tolist():
                named.setdefault(field, ODD[int(random.integers(len(ODD)))]())
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        is_odd = index == odd or random.random() < 0.15
        if not is_odd and parameter.default is not parameter.empty and random.random() < 0.7:
            if parameter.kind is not parameter.KEYWORD_ONLY and not named:
                given.append(parameter.default)
            continue
        makers_ = ODD if is_odd or parameter.name not in good else good[parameter.name]
        value = makers_[int(random.integers(len(makers_)))]()
        if parameter.kind is parameter.KEYWORD_ONLY or named or len(given) < index:
            named[parameter.name] = value
        else:
            given.append(value)
    return given, named


def shown(env: Any) -> Any:
    """All that an env shows of itself; None of what has no state."""
    if not hasattr(env, "set_state"):
        return None
    inner = env.unwrapped
    return frozen([inner.get_state(), getattr(inner, "agents", None), getattr(inner, "max_cycles", None)])


def shorten(value: Any) -> str:
    """A value for a message; some cannot be written at all."""
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001 - a hostile one
        return type(value).__name__


@functools.cache
def all_targets() -> list[Target]:
    """The targets, listed once."""
    return targets()


def play_case(number: int) -> None:
    """Call one thing oddly."""
    found = all_targets()
    target = found[number % len(found)]
    random = np.random.default_rng([29, number])
    subject = instance_of(target.owner) if target.owner else None
    given, named = arguments(target, random)
    text = f"{target.name}({', '.join([*map(shorten, given), *(f'{k}={shorten(v)}' for k, v in named.items())])})"
    os.write(1, f"case {number}: {text}\n".encode(errors="replace"))
    before = shown(subject)
    allowed = (*documented(target), OwnError)
    if any(inspect.isclass(one) and issubclass(one, gymnasium.Wrapper) for one in (target.called, target.owner)):
        allowed = (*allowed, RecursionError)  # Gymnasium copies in depth what its wrappers are made with
    if target.name.endswith("VecEnv.set_options"):
        allowed = (*allowed, RecursionError)  # as Stable-Baselines3's own, it copies them in depth
    if any(isinstance(one, int) and one >= 2**31 for one in itertools.chain(given, named.values())):
        allowed = (*allowed, MemoryError)  # a world that no memory holds
    try:
        if target.setter:
            setattr(subject, target.setter, *given, *named.values())
        elif subject is not None:
            result = getattr(subject, target.called.__name__)(*given, **named)
        else:
            result = target.called(*given, **named)
        if inspect.isgenerator(locals().get("result")):
            list(itertools.islice(result, 3))
    except BaseException as error:
        if not isinstance(error, allowed):
            raise AssertionError(  # noqa: TRY004 - it is the test that fails
                f"{text} raises {type(error).__name__}: {str(error)[:300]}"
            ) from error
        assert shown(subject) == before, f"{text} is refused ({error}), and the env has changed"
    if before is not None and isinstance(subject.unwrapped, multigrid.MultiGridEnv | multigrid.GridWorldEnv):
        judged.play(subject.unwrapped, 2, random)
    elif before is not None and isinstance(subject, multigrid.MultiGridVectorEnv):
        judged.play(subject, 2, random)


def play_batch(first: int, last: int) -> None:
    """Some of the cases, in a process apart, in a folder of its own, for some of them write files."""
    limit_memory(8)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            play_cases(play_case, range(first, last), seconds=30)
        finally:
            os.chdir("/")


def test_odd_calls_are_refused_in_words(batch: tuple[int, int]) -> None:
    """An odd argument is taken, or refused with an error that the function documents, and the game is as it was."""
    play_apart("test_odd_calls:play_batch", *batch, timeout=900)


@pytest.mark.parametrize(
    "call",
    [
        lambda: multigrid.GridWorldEnv(size=deep()),
        lambda: multigrid.maps.save_scenario("never.scen", [deep()]),
        lambda: small().set_state({**small().get_state(), "np_random": {"bit_generator": "PCG64", "state": deep()}}),
        lambda: wrapped("DiscreteActions").action(deep()),
        lambda: multigrid.integrations.sb3.to_sb3(many(autoreset_mode="SameStep")).set_attr("x" * 10**6, 1, [0]),
    ],
    ids=["size", "row", "np_random", "action", "attribute"],
)
def test_any_value_is_quoted_in_part(call: Callable[[], Any]) -> None:
    """What is refused stands in the error in a few hundred letters, even a list of 5,000 levels, which has no repr."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert len(str(caught.value)) < 1000


def test_what_is_public_is_called() -> None:
    """The list of what is called has the package's own names, methods and setters, and no name that is left out."""
    names = [target.name for target in targets()]
    assert len(names) == len(set(names))
    for name in (
        *("GridConfig", "GridWorldEnv", "MultiGridEnv", "MultiGridVectorEnv", "env", "parallel_env", "vector_env"),
        *("MultiGridEnv.step", "MultiGridVectorEnv.set_state", "MultiGridEnv.max_cycles =", "GridWorldEnv.np_random ="),
    ):
        assert any(one.endswith(f".{name}") for one in names), name
    for name in EXCLUDED:
        assert is_there(name), f"{name} is left out, but is not there"
        assert not any(one == name or one.startswith(f"{name}.") for one in names)


def is_there(name: str) -> bool:
    """Whether a module, or what a module has, is there; modules that nothing is wanted of are not imported."""
    module, rest = name, list[str]()
    while True:
        with contextlib.suppress(ModuleNotFoundError):
            if importlib.util.find_spec(module) is not None:
                break
        module, _, attribute = module.rpartition(".")
        rest.insert(0, attribute)
    return not rest or functools.reduce(getattr, rest, importlib.import_module(module)) is not None
