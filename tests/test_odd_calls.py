"""Odd arguments for everything that is public: taken, or refused with an error that says so, and nothing broken."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import itertools
import os
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
from accidents import ODD, OwnError, deep
from apart import limit_memory, play_apart, play_cases
from benchmarks import pogema
from helpers import frozen

pytestmark = pytest.mark.heavy

CASES, LONG_CASES, BATCH = 400, 20_000, 2_000

MODULES = (
    *("multigrid", "multigrid.envs.grid_world_vector", "multigrid.integrations.sb3"),
    *("multigrid.evaluation", "multigrid.maps", "multigrid.planning", "multigrid.policies", "multigrid.scenarios"),
    *("multigrid.wrappers", "benchmarks.pogema"),
)
"""Where users import from, but for what trains, writes data sets or opens windows: those tests have odd arguments."""
OWN = ("multigrid", "benchmarks.")
"""What the modules of our own begin with."""
LEFT_OUT = {
    **dict.fromkeys(("Action", "Outcome"), "an IntEnum, which is Python's"),
    **dict.fromkeys(
        ("Estimate", "Evaluation", "Instance", "LowerBounds", "Step", "Plan", "Bounds"), "holds checked values"
    ),
    **dict.fromkeys(("PolicySetup", "Runner", "Trial", "blind", "play"), "plays tasks that the reader has made"),
    **dict.fromkeys(("bounds", "solve"), "searches for as long as it is asked to"),
    **dict.fromkeys(("call", "get_attr", "set_attr"), "an AttributeError for a missing attribute, as in Gymnasium"),
    **dict.fromkeys(("observation", "reward"), "a wrapper's, which takes what the env has returned"),
    "Pretrained": "holds a network; what a user gives comes through `pretrained`",
    "RecordVideo": "Gymnasium's, which writes files with MoviePy",
}
"""Names that are not called, with the reason."""

ALLOWED = (TypeError, ValueError, gymnasium.error.Error)


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


INSTANCE = pogema.Instance(
    "mapf", "puzzles", "hall", 0, np.zeros((3, 2), bool), np.array([[0, 0]]), (np.array([[2, 1]]),), 9
)


def benchmark_rows() -> list[dict[str, Any]]:
    """Two rows of a benchmark, one of which is odd."""
    row: dict[str, Any] = {"kind": "mapf", "set": "puzzles", "map": "m", "seed": 0, "agents": 2, "algorithm": "A"}
    row |= {"csr": 1.0, "isr": 1.0, "sum_of_costs": 3.0, "makespan": 2.0, "throughput": 0.5, "lower_bound": 3.0}
    row |= {"set": str(ODD_ROWS.choice(tuple(pogema.SETS))), "seconds": 1.0, "steps": 3.0, "time_limit": 1}
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
    from multigrid.envs.grid_world_vector import GridWorldVectorEnv, RowColumnGridWorldVectorEnv

    known: dict[str, Callable[[], Any]] = {
        "GridWorldEnv": alone,
        "RowColumnGridWorldEnv": lambda: started(multigrid.RowColumnGridWorldEnv("rgb_array")),
        "MultiGridEnv": small,
        "MultiGridAECEnv": lambda: started(multigrid.env(num_agents=2)),
        "MultiGridVectorEnv": many,
        "GridWorldVectorEnv": lambda: started(GridWorldVectorEnv(3, render_mode="rgb_array")),
        "RowColumnGridWorldVectorEnv": lambda: started(RowColumnGridWorldVectorEnv(3, render_mode="rgb_array")),
        "MultiGridVecEnv": lambda: multigrid.integrations.sb3.to_sb3(many(flatten=True, autoreset_mode="SameStep")),
        "MapGenerator": lambda: multigrid.maps.RandomWalls(size=(5, 4)),
        "RandomWalls": lambda: multigrid.maps.RandomWalls(size=(5, 4)),
        "Mazes": lambda: multigrid.maps.Mazes(size=(5, 4)),
        "WallComponents": lambda: multigrid.maps.WallComponents(size=(5, 4)),
        "Rooms": lambda: multigrid.maps.Rooms(size=(5, 4)),
        "Warehouses": lambda: multigrid.maps.Warehouses(size=(8, 5)),
        "Caves": lambda: multigrid.maps.Caves(size=(8, 7)),
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


@functools.cache
def targets() -> list[Target]:
    """All functions, constructors, methods and settable properties that are public, each once."""
    found: dict[str, Target] = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            home = getattr(value, "__module__", "") or ""
            label = f"{home}.{name}"
            if not home.startswith(OWN) or name in LEFT_OUT or not callable(value):
                continue
            if inspect.isclass(value):
                if not issubclass(value, BaseException | dict):  # a TypedDict is for type checkers
                    found.setdefault(label, Target(label, value, None))
                    found |= {target.name: target for target in members(label, value)}
            elif not hasattr(value, "__origin__"):
                found.setdefault(label, Target(label, value, None))
    return sorted(found.values(), key=lambda target: target.name)


def members(label: str, owner: type) -> Iterator[Target]:
    """The public methods and settable properties of a class that are of our own making."""
    for name, value in inspect.getmembers(owner):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        if inspect.isfunction(value) and value.__module__.startswith(OWN):
            yield Target(f"{label}.{name}", value, owner)
        elif isinstance(value, property) and value.fset and value.fset.__module__.startswith(OWN):
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
    both = inspect.getdoc(target.called), inspect.getdoc(target.owner) if target.owner else ""
    text = "\n".join(filter(None, both))
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


def play_case(number: int) -> None:
    """Call one thing oddly."""
    found = targets()
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
    if target.setter and dataclasses.is_dataclass(subject):
        allowed = (*allowed, dataclasses.FrozenInstanceError)  # as its other fields
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
    if before is not None and hasattr(subject.unwrapped, "config"):
        started(subject)
        many = judged.split(subject.unwrapped.get_state())
        assert not [broken for state in many for broken in judged.breaches(subject.unwrapped.config, state)], text


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
    """The list of what is called has the package's own names, methods and setters."""
    names = [target.name for target in targets()]
    assert len(names) == len(set(names)) > 100
    for name in (
        *("GridConfig", "GridWorldEnv", "MultiGridEnv", "MultiGridVectorEnv", "env", "parallel_env", "vector_env"),
        *("MultiGridEnv.step", "MultiGridVectorEnv.set_state", "MultiGridEnv.max_cycles =", "GridWorldEnv.np_random ="),
    ):
        assert any(one.endswith(f".{name}") for one in names), name
