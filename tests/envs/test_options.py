"""The keywords of `parallel_env`, `env` and `vector_env`, and the types that environments take and return."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, GridOptions
from multigrid.config import Part
from multigrid.envs._annotations import Info, MaskedObservation, Observation, State, States
from worldgen import PARTS

FACTORIES: dict[str, Callable[..., Any]] = {
    "parallel_env": multigrid.parallel_env,
    "env": multigrid.env,
    "vector_env": lambda *given, **named: multigrid.vector_env(3, *given, **named),
}
FIELDS = dataclasses.fields(GridConfig)


@pytest.mark.parametrize("name", FACTORIES)
def test_the_signature_shows_every_field(name: str) -> None:
    """The last parameters are the fields of `GridConfig` in order, by keyword; help() has them and the rules' names."""
    function = getattr(multigrid, name)
    shown = list(inspect.signature(function).parameters.values())[-len(FIELDS) :]
    assert [(one.name, one.default) for one in shown] == [(field.name, field.default) for field in FIELDS]
    assert {one.kind for one in shown} == {inspect.Parameter.KEYWORD_ONLY}
    text = pydoc.plain(pydoc.render_doc(function))
    for field in FIELDS:
        assert re.search(rf"\b{field.name}: .*= {re.escape(repr(field.default))}[,)\n]", text), field.name
    assert "'block_both'" in text
    assert inspect.signature(multigrid.env).parameters == inspect.signature(multigrid.parallel_env).parameters


def test_options_are_the_fields() -> None:
    """`GridOptions` has the fields of `GridConfig`, in order, of types that are at least as wide."""
    wider = {
        "Size": "Size | None",
        "Count": "int | Sequence[int] | None",
        "Walls": "Walls | None",
        "Parts": "Sequence[Part] | Part | None",
        "Delays": "Delays | Mapping[str, Any] | Sequence[float] | float | None",
    }
    wider |= {"Game": "type[Game] | None", "Options": "Mapping[str, Any] | None"}
    wider |= {"Collisions": "Collisions", "OnTarget": "OnTarget", "Reward": "Reward"}
    wider = {f"_fields.{name}Field": hint for name, hint in wider.items()}
    annotations = {name: hint.__forward_arg__ for name, hint in GridOptions.__annotations__.items()}
    assert list(annotations.items()) == [(field.name, wider.get(str(field.type), field.type)) for field in FIELDS]
    assert GridOptions.__required_keys__ == frozenset()


@pytest.mark.parametrize("name", FACTORIES)
def test_options_are_passed_on(name: str) -> None:
    """Every option reaches the configuration, lists as well as tuples."""
    options: dict[str, Any] = {"size": [7, 4], "num_agents": 3, "collisions": "soft", "on_target": "leave"}
    options |= {"reward": "shared", "observe": ["view", "agent"], "view_radius": 1, "rgb_tile": 4, "flatten": True}
    options |= {"allow_stay": True, "max_cycles": 9}
    options |= {"delays": multigrid.Delays(0.1, (1, 4))}
    options |= {"least_agents": 2, "message_bits": 3}
    assert set(options) | {"walls", "game", "options"} == {field.name for field in FIELDS}
    for given in (options, {"walls": "a.A\n..."}):
        assert FACTORIES[name](**given).unwrapped.config == GridConfig(**given)


WRONG: list[tuple[str, str | None]] = [
    *(("num_agent", "num_agents"), ("Size", "size"), ("view_radios", "view_radius"), ("flat", "flatten")),
    *(("n_agents", "num_agents"), ("agents", "num_agents"), ("grid_size", "size"), ("obs_type", "observe")),
    *(("max_steps", "max_cycles"), ("max_episode_steps", "max_cycles"), ("obs_radius", "view_radius")),
    *(("collision_system", "collisions"), ("map", "walls"), ("shared_reward", "reward")),
    *(("width", "size=(width, height)"), ("height", "size=(width, height)"), ("colour", None)),
    *(("view_size", "view_radius=3"), ("agent_view_size", "view_radius=3"), ("obs_range", "view_radius=3")),
    *(("seed", "reset(seed=...)"), ("agents_xy", "reset(options={'agents': ..., 'targets': ...})")),
    *(("desc", "walls"), ("density", "walls=multigrid.maps.random_map(width, height, density)")),
]


@pytest.mark.parametrize("create", [*FACTORIES.values(), GridConfig], ids=[*FACTORIES, "GridConfig"])
def test_a_wrong_keyword_names_the_right_one(create: Callable[..., Any]) -> None:
    """A keyword that does not exist is an error that names the one that was meant, if one is like it, and all."""
    every = ".*".join(field.name for field in FIELDS)
    for wrong, right in WRONG:
        meant = re.escape(f" (did you mean {right}?)") if right else ""
        with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'{meant}; expected .*{every}"):
            create(**{wrong: 7})


def test_wrong_keywords_beside_the_fields() -> None:
    """Keywords that only one function has are suggested by that function alone, and several are all named."""
    with pytest.raises(TypeError, match=r"'rendermode' \(did you mean render_mode\?\)"):
        multigrid.parallel_env(rendermode="ansi")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'num_envs' \(did you mean num_worlds\?\)"):
        multigrid.vector_env(3, num_envs=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"arguments 'n_agents' \(did you mean num_agents\?\), 'colour'; expected"):
        multigrid.parallel_env(n_agents=3, size=4, colour=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'num_worlds'"):
        multigrid.vector_env(size=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", FACTORIES)
def test_a_config_and_keywords_exclude_one_another(name: str) -> None:
    """Beside a config no field may be given, not even its default."""
    with pytest.raises(TypeError, match=r"both a config and \['reward'\] were given"):
        FACTORIES[name](GridConfig(), reward="individual")


def test_reprs_say_the_configuration() -> None:
    """An env's repr is the call that creates one like it, in one line."""
    config = GridConfig(walls="a.A\n...")
    assert repr(multigrid.parallel_env(config)) == f"MultiGridEnv({config!r})"
    assert repr(multigrid.parallel_env(config, render_mode="ansi")) == f"MultiGridEnv({config!r}, render_mode='ansi')"
    assert repr(multigrid.vector_env(3, config)) == f"MultiGridVectorEnv({config!r}, num_worlds=3)"
    assert "\n" not in repr(config)


# What is returned.


def dtypes(annotated: type) -> dict[str, Any]:
    """The dtypes that a TypedDict states for its arrays and NumPy scalars, and the types of its other values."""
    hints = get_type_hints(annotated)
    # NDArray[np.int64] is `ndarray[shape, dtype[int64]]`, and from NumPy 2.5 on an alias with `int64` as its argument.
    inner = {name: (get_args(hint) or (hint,))[-1] for name, hint in hints.items() if name != "np_random"}
    return hints | {name: (get_args(hint) or (hint,))[-1] for name, hint in inner.items()}


def kinds(values: dict[str, Any]) -> dict[str, Any]:
    """The dtype of each array and NumPy scalar of a dict, and the type of each other value."""
    return {name: value.dtype.type if hasattr(value, "dtype") else type(value) for name, value in values.items()}


def test_observations_and_infos_are_as_annotated() -> None:
    """`Observation` has every part, with the dtype that the environments return, and `Info` the keys of each info."""
    options: Any = {"observe": get_args(Part), "num_agents": 2}
    env = multigrid.parallel_env(**options)
    observations, infos = env.reset(seed=1)
    later = env.step(dict.fromkeys(env.agents, 1))[4]
    assert kinds(dict(observations["agent_1"])) == dtypes(Observation)
    assert kinds(dict(infos["agent_1"])) == kinds(dict(later["agent_1"])) == get_type_hints(Info)
    assert kinds(dict(multigrid.vector_env(3, **options).reset(seed=1)[0])) == dtypes(Observation)
    options["observe"] = tuple(PARTS)
    masked: Any = multigrid.parallel_env(**options, flatten=True).reset(seed=1)[0]["agent_1"]
    assert kinds(masked) == {"observation": np.float32, "action_mask": np.int8}
    assert list(masked) == list(get_type_hints(MaskedObservation))
    flat: Any = multigrid.parallel_env(flatten=True).reset(seed=1)[0]["agent_0"]
    assert flat.dtype == np.float32


def test_states_are_as_annotated() -> None:
    """`State` and `States` have the fields that `get_state` returns, with their dtypes: lists, delays and messages."""
    delays = {"delay_streams", "delay_left", "delayed_steps", "messages"}
    assert State.__optional_keys__ == States.__optional_keys__ == {"target_lists", "num_agents", "walls", *delays}
    listed = "ab..\n....\na: 0,1\nb: 2,0 3,1"
    for walls, lacks in (("ab..\nA..B", {"target_lists", *delays}), (listed, delays), (listed, set())):
        more: Any = {} if lacks else {"delays": 0.1, "message_bits": 2}
        env = multigrid.parallel_env(walls=walls, on_target="restart", **more)
        envs = multigrid.vector_env(3, env.config)
        env.reset(seed=1)
        envs.reset(seed=1)
        single, many = (
            {name: kind for name, kind in dtypes(one).items() if name not in {"num_agents", "walls", *lacks}}
            for one in (State, States)
        )
        for state in (env.get_state(), envs.get_state([2], single=True)[0]):
            assert kinds(dict(state)) == {**single, "np_random": dict}
        assert kinds(dict(envs.get_state())) == many
