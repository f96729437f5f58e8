"""Odd arguments for everything that is public: taken, or refused with an error that says so, and nothing broken."""

from __future__ import annotations

import dataclasses
import functools
import importlib
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
from crash_cases import limit_memory, play_cases, run_in_process
from helpers import frozen
from hostile import ODD, OwnError, deep
from multigrid.envs import grid_world_vector

pytestmark = pytest.mark.heavy

CASES, LONG_CASES, BATCH = 240, 20_000, 2_000  # each target once at least

MODULES = (
    *("multigrid", "multigrid.envs.grid_world_vector", "multigrid.integrations.sb3"),
    *("multigrid.evaluation", "multigrid.maps", "multigrid.planning", "multigrid.policies", "multigrid.scenarios"),
    "multigrid.wrappers",
)
"""Where users import from, but for what trains, writes data sets or opens windows: those tests have odd arguments."""
LEFT_OUT = {
    "Action Outcome": "an IntEnum, which is Python's",
    "Estimate Evaluation LowerBounds Step Plan Bounds": "holds checked values",
    "blind": "plays tasks that the reader has made",
    "bounds solve": "searches for as long as it is asked to",
    "call get_attr set_attr": "an AttributeError for a missing attribute, as in Gymnasium",
    "observation reward": "a wrapper's, which takes what the env has returned",
    "Pretrained": "holds a network; what a user gives comes through `pretrained`",
    "RecordVideo": "Gymnasium's, which writes files with MoviePy",
}
"""Names that are not called, with the reason."""
SKIPPED = {name for names in LEFT_OUT for name in names.split()}

SMALL: dict[str, Any] = {"size": (4, 3), "num_agents": 2}
STANDARD: dict[str, Any] = {"flatten": True, "observe": ("agent", "action_mask")}


def started(env: Any) -> Any:
    """An env after its first reset."""
    env.reset(seed=3)
    return env


def small() -> Any:
    """Two agents in a small world, whose game has begun."""
    return started(multigrid.parallel_env(**SMALL, render_mode="ansi"))


def alone() -> Any:
    """The documented env, whose game has begun."""
    return started(multigrid.GridWorldEnv("rgb_array"))


def many(**settings: Any) -> Any:
    """Three worlds of two agents, whose games have begun."""
    return started(multigrid.vector_env(3, **{**SMALL, "render_mode": "rgb_array", **settings}))


def recorded() -> Any:
    """A recorded episode."""
    env = started(multigrid.scenarios.RecordEpisode(small()))
    env.step(dict.fromkeys(env.agents, 1))
    return env


def wrapped(name: str) -> Any:
    """An env in one of our wrappers, whose game has begun."""
    given: dict[str, list[Any]] = {"ClipReward": [0, 1], "DiscreteActions": [[0, 1]], "ReacherWeightedReward": [1, 1]}
    given |= {"VectorReward": [lambda *step: step[1]], "PotentialReward": [0.9], "PotentialRewardParallel": [0.9]}
    if name.startswith("Standard"):
        inner = many(**STANDARD) if name == "StandardVector" else multigrid.parallel_env(**STANDARD)
    elif name in ("VectorReward", "RecordEpisodeStatistics"):
        inner = many(on_target="leave")
    else:
        inner = small() if name.endswith("Parallel") else gymnasium.make("multigrid/GridWorld-v0")
    return started(getattr(multigrid.wrappers, name)(inner, *given.get(name, [])))


def compared() -> multigrid.evaluation.CrossPlay:
    """Two policies, by the names of agents, that have played with each other."""
    return multigrid.cross_play(TINY, GOOD["policies"](), seeds=range(2))


WALLS = np.array([[False, True, False], [False, False, False]])
ROW = multigrid.maps.ScenarioRow(0, "m", 3, 2, (0, 0), (2, 1), 3.0)
LAYOUT = {"agents": [[0, 0], [1, 1]], "targets": [[2, 2], [0, 1]]}
TINY = multigrid.GridConfig(size=(4, 3), num_agents=2, max_cycles=3)
GOOD_BY_NAMES: dict[str, Callable[[], Any]] = {
    "num_worlds num_agents num_envs room_size value": lambda: 2,
    "num_actions seed": lambda: 4,
    "action": lambda: 1,
    "width max_cycles": lambda: 9,
    "height": lambda: 5,
    "least": lambda: 0,
    "density": lambda: 0.2,
    "goal": lambda: (0, 0),
    "worlds": lambda: [0, 2],
    "seeds": lambda: [4, 7],
    "cells agents": lambda: [[0, 0], [1, 1]],
    "targets": lambda: [[1, 2], [0, 2]],
    "agent": lambda: "agent_1",
    "render_mode": lambda: None,
    "text": lambda: "a.B\n.#.\nb.A",
    "path": lambda: Path("written.map"),
    "rows": lambda: [ROW],
    "walls": lambda: WALLS,
    "config": lambda: judged.some_config(3),
    "regions": lambda: multigrid.GridConfig(walls=WALLS, num_agents=1).components[0],
    "actions": lambda: np.zeros(6, dtype=int),
    "options": lambda: LAYOUT,
    "state": lambda: small().get_state(),
    "states": lambda: many().get_state(),
    "generator": lambda: np.random.default_rng(2),
    "env problem": small,
    "vector_env": many,
    "source other": recorded,
    "scenario": lambda: recorded().scenario("recorded"),
    "name": lambda: multigrid.scenarios.names()[0],
    "env_fns": lambda: [small],
    "make_actor": lambda: lambda num_agents: lambda observations, indices, generator: [0] * len(indices),
    "observation": lambda: alone().reset(seed=1)[0],
    "info": lambda: {"distance": 1.0},
    "policy even odd": lambda: multigrid.policies.random_policy(np.random.default_rng(5)),
    "policies partners members": lambda: {name: GOOD["policy"]() for name in ("agent_0", "agent_1")},
}
"""What a parameter of a name takes, so that the odd ones beside it are looked at too."""
GOOD = {name: make for names, make in GOOD_BY_NAMES.items() for name in names.split()}

MAKERS: dict[str, Callable[[], Any]] = {
    "MultiGridEnv": small,
    "MultiGridAECEnv": lambda: started(multigrid.env(num_agents=2)),
    "MultiGridVectorEnv": many,
    **{name: lambda name=name: started(getattr(multigrid, name)("rgb_array"))
       for name in ("GridWorldEnv", "RowColumnGridWorldEnv")},
    **{name: lambda name=name: started(getattr(grid_world_vector, name)(3, render_mode="rgb_array"))
       for name in ("GridWorldVectorEnv", "RowColumnGridWorldVectorEnv")},
    "MultiGridVecEnv": lambda: multigrid.integrations.sb3.to_sb3(many(flatten=True, autoreset_mode="SameStep")),
    "MapGenerator": lambda: multigrid.maps.RandomWalls(size=(5, 4)),
    **{name: lambda name=name: getattr(multigrid.maps, name)(size=(8, 7))
       for name in ("RandomWalls", "Mazes", "WallComponents", "Rooms", "Warehouses", "Caves")},
    "ParsedMap": lambda: multigrid.maps.parse_map("a.A"),
    "ScenarioRow": lambda: ROW,
    "RecordEpisode": recorded,
    "Scenario": GOOD["scenario"],
    "Replay": lambda: multigrid.show_episode(recorded()),
    "GridConfig": multigrid.GridConfig,
    "CrossPlay": compared,
    "Estimates": lambda: compared().returns,
    "Scores": lambda: compared().br_prox({"agent_0": 1.0, "agent_1": 1.0}),
    "Match": lambda: multigrid.match(TINY, GOOD["policy"](), GOOD["policy"](), seeds=range(2)),
    "Partners": lambda: multigrid.policies.Partners(many(), {"agent_1": GOOD["policy"]()}),
    "WorldsWrapper": lambda: wrapped("VectorReward"),
    **{name: functools.partial(wrapped, name) for name in multigrid.wrappers.__all__},
}  # fmt: skip
"""An instance of each public class, whose methods are called; others are made of good values by their names."""


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
            is_type = inspect.isclass(value)
            # A TypedDict is for type checkers, and so is an alias.
            is_odd = issubclass(value, BaseException | dict) if is_type else hasattr(value, "__origin__")
            if home.startswith("multigrid") and name not in SKIPPED and callable(value) and not is_odd:
                own = members(f"{home}.{name}", value) if is_type else ()
                found |= {one.name: one for one in (Target(f"{home}.{name}", value, None), *own)}
    return sorted(found.values(), key=lambda target: target.name)


def members(label: str, owner: type) -> Iterator[Target]:
    """The public methods and settable properties of a class that are of our own making."""
    for name, value in inspect.getmembers(owner):
        if name.startswith("_") or name in SKIPPED:
            continue
        if inspect.isfunction(value) and value.__module__.startswith("multigrid"):
            yield Target(f"{label}.{name}", value, owner)
        elif isinstance(value, property) and value.fset and value.fset.__module__.startswith("multigrid"):
            yield Target(f"{label}.{name} =", value.fset, owner, name)


def instance_of(owner: type) -> Any:
    """An instance: of the table, or made of good values."""
    if owner.__name__ in MAKERS:
        return MAKERS[owner.__name__]()
    parameters = inspect.signature(owner).parameters.values()
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    assert GOOD.keys() >= set(needed), f"{owner.__name__} needs {needed}: put good values into GOOD_BY_NAMES"
    return owner(**{name: GOOD[name]() for name in needed})


def allowed(target: Target, subject: Any, values: list[Any]) -> tuple[type[BaseException], ...]:
    """The errors that a call may raise: those that its docstring names under *Raises*, and what is not ours."""
    both = inspect.getdoc(target.called), inspect.getdoc(target.owner) if target.owner else ""
    text = "\n".join(filter(None, both))
    raises = "\n".join(re.findall(r"Raises:\n((?:[ ]+.*\n?|\n)*)", text))
    known = {**vars(__import__("builtins")), **vars(gymnasium.error)}
    named = set(re.findall(r"\b[A-Z]\w*(?:Error|Needed|Exception)\b", raises)) & known.keys()
    errors = [TypeError, ValueError, gymnasium.error.Error, OwnError, *(known[name] for name in named)]
    if re.search(r"\bwarn", text):
        errors.append(Warning)
    if re.search(r"\bpath|\bPathLike", str(inspect.signature(target.called)), re.IGNORECASE) or "map" in text:
        errors.append(OSError)
    is_wrapper = any(inspect.isclass(one) and issubclass(one, gymnasium.Wrapper) for one in target[1:3])
    if is_wrapper or target.name.endswith("VecEnv.set_options"):
        errors.append(RecursionError)  # Gymnasium and Stable-Baselines3 copy in depth what they are given
    if target.setter and dataclasses.is_dataclass(subject):
        errors.append(dataclasses.FrozenInstanceError)  # as its other fields
    if any(isinstance(one, int) and one >= 2**31 for one in values):
        errors.append(MemoryError)  # a world that no memory holds
    return tuple(errors)


def arguments(target: Target, random: np.random.Generator) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of which at least one is odd, positional ones and keywords."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    parameters = list(inspect.signature(target.called).parameters.values())[1 if target.owner else 0 :]
    odd = int(random.integers(len(parameters))) if parameters else -1
    for index, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            fields = [*inspect.signature(multigrid.GridConfig).parameters, "no_such_setting"]
            for field in random.choice(fields, size=int(random.integers(3)), replace=False).tolist():
                named.setdefault(field, ODD[int(random.integers(len(ODD)))]())
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            is_odd = index == odd or random.random() < 0.15
            if not is_odd and parameter.default is not parameter.empty and random.random() < 0.7:
                continue
            make = GOOD.get(parameter.name) if not is_odd else None
            value = (make or ODD[int(random.integers(len(ODD)))])()
            if parameter.kind is parameter.KEYWORD_ONLY or len(given) < index:
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
    target = targets()[number % len(targets())]
    subject = instance_of(target.owner) if target.owner else None
    given, named = arguments(target, np.random.default_rng([29, number]))
    text = f"{target.name}({', '.join([*map(shorten, given), *(f'{k}={shorten(v)}' for k, v in named.items())])})"
    os.write(1, f"case {number}: {text}\n".encode(errors="replace"))
    before, errors = shown(subject), allowed(target, subject, [*given, *named.values()])
    try:
        if target.setter:
            setattr(subject, target.setter, *given, *named.values())
        else:
            called = target.called if subject is None else getattr(subject, target.called.__name__)
            result = called(*given, **named)
            if inspect.isgenerator(result):
                list(itertools.islice(result, 3))
    except BaseException as error:
        if not isinstance(error, errors):
            raise AssertionError(  # noqa: TRY004 - it is the test that fails
                f"{text} raises {type(error).__name__}: {str(error)[:300]}"
            ) from error
        assert shown(subject) == before, f"{text} is refused ({error}), and the env has changed"
    if before is not None and hasattr(subject.unwrapped, "config"):
        started(subject)
        states = judged.split(subject.unwrapped.get_state())
        assert not [broken for state in states for broken in judged.breaches(subject.unwrapped.config, state)], text


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
    run_in_process("test_hostile_calls:play_batch", *batch, timeout=900)


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
    assert 100 < len(names) == len(set(names)) <= CASES
    for name in ("parallel_env", "MultiGridEnv", "MultiGridVectorEnv.set_state", "MultiGridEnv.max_cycles ="):
        assert any(one.endswith(f".{name}") for one in names), name
