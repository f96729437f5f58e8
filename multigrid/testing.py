"""Checks of games and environments, for tests of your own; each failure is one sentence that names the function."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import io
import math
import os
import pickle
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from unittest import mock

import numpy as np
from gymnasium.spaces import Dict
from gymnasium.utils.env_checker import check_env as check_gymnasium_env
from gymnasium.vector.utils import iterate

from multigrid import words
from multigrid._checks import shorten
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT
from multigrid.core.games import make_table
from multigrid.envs.aec import MultiGridAECEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.game import HOOKS, Game, describe
from multigrid.games._one_agent import OneAgentEnv
from multigrid.games._registry import find_config, has_tuples, make_config
from multigrid.games._tuple_env import TupleEnv
from multigrid.parts import MASK
from multigrid.runtime.reached import walk
from multigrid.runtime.tables import KEPT

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

__all__ = ["check_env", "check_game"]

_SEEDS, _NUM_STEPS = range(3), 80
_RESULTS = ("observations", "rewards", "terminations", "truncations", "infos")
_BEGINNING = ("place", "begin")


def check_game(game: type[Game] | str, /, **config: Any) -> None:
    """Check that a game plays alike compiled and interpreted, and in environments of every kind.

    The `multigrid.parallel_env` of the game is checked by `check_env`. Then it plays the same random actions, from the
    same seeds, as one whose functions Python runs, with all that ``MULTIGRID_CHECK=1`` finds; as the AEC env; and as
    three worlds of the vector env. So does, with ``num_agents=1``, the environment that `gymnasium.make` creates, and,
    for an id of rware, lbforaging or Overcooked, the environment with tuples. States, observations, rewards, ends,
    infos and metrics must be equal to the last bit. PettingZoo's tests of AEC envs and Gymnasium's `check_env` must
    pass.

    It takes one to five seconds once the game is compiled, and finds what random play reaches: 80 steps from each of
    three seeds.

    Args:
        game: the class, or the id of a registered game.
        config: fields of `multigrid.GridConfig`, and options of the game. Without `observe`, agents observe all parts
            of the game, and its mask.

    Raises:
        AssertionError: a check has failed; the message is one sentence, which names the function of the game.
        RuntimeError: a function has raised an exception, or writes what it may only read.
        TypeError, ValueError: as `multigrid.parallel_env`.

    >>> check_game("Foraging-5x5-2p-1f-v3")  # says nothing, because all is well
    >>> check_game("Foraging-5x5-2p-1f-v3", delays=0.2, num_agents=(1, 3))
    """
    full = find_config(game, **config) if isinstance(game, str) else make_config(game, config)
    kind: Any = full.game
    name, described = kind.__name__, describe(kind)
    if full.given["observe"] is None and "observation_space" not in described.plain:
        mask = [MASK] if "legal" in described.functions and not full.message_bits else []
        parts: list[Any] = [*full.parts, *described.parts, *mask]
        full = dataclasses.replace(full, observe=tuple(dict.fromkeys(parts)))
    check_env(MultiGridEnv(full))
    with mock.patch.dict(os.environ, MULTIGRID_CHECK="1"):
        plain = MultiGridEnv[Any](full)
    advice = "compute with int64 and float64, and add floats in a loop"
    _compare(MultiGridEnv(full), plain, _SEEDS, ("compiled", "interpreted", advice))
    turns = MultiGridAECEnv(MultiGridEnv(full))
    _compare(MultiGridEnv(full), _Turns(turns), _SEEDS, ("in parallel_env", "in the AEC env", ""))
    _run_test_of_pettingzoo(name, "api_test", turns, 30)
    _run_test_of_pettingzoo(name, "seed_test", lambda: copy.deepcopy(turns), 30)
    _compare_worlds(full)
    if isinstance(game, str) and has_tuples(game):
        tuples = _Tuples(TupleEnv(game, **{**config, "observe": full.given["observe"]}))
        _compare(MultiGridEnv(full), tuples, _SEEDS, ("in parallel_env", "in the env with tuples", ""))
    elif full.num_agents == 1:
        single = OneAgentEnv(kind, **{field: value for field, value in full.given.items() if field != "game"})
        _compare(MultiGridEnv(full), _One(single), _SEEDS, ("in parallel_env", "in the env of gymnasium.make", ""))
        if not _keeps_arrays(single):
            with _named(f"{name}: Gymnasium's check_env fails"), _silent():
                check_gymnasium_env(single, skip_render_check=True)


def check_env(env: ParallelEnv[str, Any, Any], /) -> None:
    """Check a ParallelEnv: a `MultiGridEnv`, one in wrappers, or another that can be copied.

    A copy plays. Observations and states must be in their spaces, rewards finite, and some action allowed by a game's
    mask; what a call has returned must not change later. Seeds must set all of an episode, except what a game marks as
    `games.KEPT`. Pickles, and for a `MultiGridEnv` states, must go on as the original does, a frame can be drawn, and a
    game's `describe` must have words for all that agents observe.
    PettingZoo's `parallel_api_test` and `parallel_seed_test` must pass.

    It takes less than a second once the environment is compiled.

    Raises:
        AssertionError: a check has failed; the message is one sentence, which names the function of a game.

    >>> import multigrid
    >>> check_env(multigrid.parallel_env(num_agents=3, size=(4, 3)))
    """
    new: Any = copy.deepcopy(env)
    used, name, advice = copy.deepcopy(new), _name(env), "a seed must set all of an episode"
    for seed in _SEEDS:
        _check_play(used, seed)
        if not _keeps_arrays(env):
            _compare(copy.deepcopy(new), used, [seed], ("in a new environment", "in a used one", advice))
    for steps in (0, 1, 20):
        list(_play([used], steps, steps))
        with _named(f"{name}: it cannot be pickled; define the class at the top level of a module"):
            pickled = pickle.loads(pickle.dumps(used))  # noqa: S301 - of the line itself
        _compare(copy.deepcopy(used), pickled, [None], ("in an environment", "in its pickle", ""))
        if isinstance(env, MultiGridEnv):
            restored, advice = copy.deepcopy(new), "what changes must be an array of State"
            with _named(f"{_name(env, 'check')}: the state after step {steps} of seed {steps} is refused"):
                restored.set_state(used.get_state())
            _compare(copy.deepcopy(used), restored, [None], ("in an environment", "in one with its state", advice))
    if isinstance(env, MultiGridEnv):
        drawn = MultiGridEnv[Any](env.config, "rgb_array")
        drawn.reset(seed=0)
        with _named(f"{_name(env, 'marks')}: a frame cannot be drawn"):
            drawn.render()
    _run_test_of_pettingzoo(name, "parallel_api_test", copy.deepcopy(new), 100)
    _run_test_of_pettingzoo(name, "parallel_seed_test", lambda: copy.deepcopy(new), 50)


class _Turns:
    """An AEC env in the form of a ParallelEnv."""

    def __init__(self, env: Any) -> None:
        self.env, self.unwrapped = env, env.unwrapped

    @property
    def agents(self) -> list[str]:
        return list(self.env.agents)

    def reset(self, seed: int | None = None) -> tuple[Any, ...]:
        self.env.reset(seed=seed)
        return self._observe(), dict(self.env.infos)

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        env = self.env
        for _ in actions:
            env.step(actions[env.agent_selection])
        results = env.rewards, env.terminations, env.truncations, env.infos
        returned = self._observe(), *map(dict, results)
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        return returned

    def _observe(self) -> dict[str, Any]:
        return {agent: self.env.observe(agent) for agent in self.env.agents}


class _One:
    """A Gymnasium env of one agent in the form of a ParallelEnv."""

    def __init__(self, env: Any) -> None:
        self.unwrapped, self.agents = env, list[str]()

    def reset(self, seed: int | None = None) -> tuple[Any, ...]:
        self.agents = list(self.unwrapped.config.agents)
        return tuple({"agent_0": value} for value in self.unwrapped.reset(seed=seed))

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        returned = self.unwrapped.step(actions["agent_0"])
        self.agents = [] if returned[2] or returned[3] else self.agents
        return tuple({"agent_0": value} for value in returned)


class _Tuples(_One):
    """An env with tuples in the form of a ParallelEnv, without ends and infos, which it does not have by agent."""

    def reset(self, seed: int | None = None) -> tuple[Any, ...]:
        observations, _ = self.unwrapped.reset(seed=seed)
        statuses = zip(self.unwrapped.config.agents, self.unwrapped.get_state()["status"], strict=True)
        self.agents = [agent for agent, status in statuses if status != LEFT]
        return dict(zip(self.agents, observations, strict=False)), None

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        ordered = [actions.get(agent) for agent in self.unwrapped.config.agents]
        observations, rewards, *ends, _ = self.unwrapped.step(ordered)
        returned = [dict(zip(self.agents, values, strict=False)) for values in (observations, rewards)]
        self.agents = [] if any(ends) else self.agents
        return *returned, None, None, None


def _play(envs: Sequence[Any], seed: int | None, steps: int = _NUM_STEPS) -> Iterator[tuple[str, bool, list[Any]]]:
    """Yield what random play shows in each environment: when, whether an episode begins, and what was returned.

    None as the seed goes on with the episode. After its end, the next one begins.
    """
    spaces = {agent: copy.deepcopy(envs[0].action_space(agent)) for agent in envs[0].possible_agents}
    for number, space in enumerate(spaces.values()):
        space.seed(number)
    if seed is not None:
        yield f"the reset with seed {seed}", True, [env.reset(seed=seed) for env in envs]
    for step in range(1, steps + 1):
        when, agents = f"step {step} {'after that' if seed is None else f'of seed {seed}'}", envs[0].agents
        actions = {agent: spaces[agent].sample() for agent in agents}
        yield when, not agents, [env.step(actions) if agents else env.reset() for env in envs]


def _check_play(env: Any, seed: int) -> None:
    """Check all that an environment returns."""
    kept = []
    for when, begins, (returned,) in _play([env], seed):
        kept.append((when, returned, frozen(returned)))
        for agent, observation in returned[0].items():
            _check_observation(env, agent, observation, when)
        if _name(env, "describe").endswith(".describe"):
            for agent in env.agents:
                with _named(f"{_name(env, 'describe')}: what {agent} observes in {when} has no words"):
                    words.describe(env, agent)
        if hasattr(env, "state_space") and not _is_inside(env.state(), env.state_space):
            what = f"state() in {when} is {_show(env.state())}"
            _fail(f"{_name(env, 'state', begins=begins)}: {what}", f"expected a value of {shorten(env.state_space)}")
        for agent, reward in {} if begins else returned[1].items():
            if not math.isfinite(reward):
                _fail(f"{_name(env, 'rewards')}: rewards[{agent!r}] in {when} is {reward}", "expected a finite number")
    for when, returned, before in kept:
        if frozen(returned) != before:
            _fail(f"{_name(env, 'observations')}: what {when} returned has changed since", "return new arrays")


def _check_observation(env: Any, agent: str, observation: Any, when: str) -> None:
    space, path = env.observation_space(agent), ["observations", agent]
    if isinstance(observation, dict) and isinstance(space, Dict) and space.keys() == observation.keys():
        path += [key for key, one in space.items() if not _is_inside(observation[key], one)][:1]
        if MASK in observation and agent in env.agents and not np.any(observation[MASK]):
            function = _name(env, "observations", agent, MASK)
            if function.endswith(".legal"):
                _fail(f"{function}: the mask of {agent} in {when} allows no action", "expected one at least")
    for key in path[2:]:
        space, observation = space[key], observation[key]
    if not _is_inside(observation, space):
        what = f"{_show_path(path)} in {when} is {_show(observation)}"
        _fail(f"{_name(env, *path)}: {what}", f"expected a value of {shorten(space)}")


def _is_inside(value: Any, space: Any) -> bool:
    with _silent():
        return value in space


def _compare(one: Any, other: Any, seeds: Sequence[int | None], how: tuple[str, str, str]) -> None:
    """Play two environments alike, and fail where they show something else; see `_compare_shown` for `how`."""
    for seed in seeds:
        for when, begins, returned in _play([one, other], seed):
            _compare_shown(one, _collect(one, returned[0]), _collect(other, returned[1]), (when, begins), how)


def _compare_worlds(config: GridConfig) -> None:
    """Play the worlds of a vector env beside environments of one world."""
    envs, worlds = [MultiGridEnv[Any](config) for _ in _SEEDS], MultiGridVectorEnv[Any](config, len(_SEEDS))
    worlds.action_space.seed(0)
    for step in range(_NUM_STEPS + 1):
        actions = worlds.action_space.sample()
        observations, *rest, infos = worlds.step(actions) if step else worlds.reset(seed=0)
        columns: list[Any] = [list(iterate(worlds.observation_space, observations)), *rest]
        states, metrics = worlds.get_state(single=True), worlds.metrics()
        for k, env in enumerate(envs):
            rows, begins = {agent: k * len(config.agents) + i for i, agent in enumerate(config.agents)}, not env.agents
            if begins:
                returned: Any = env.reset(seed=None if step else k)
            else:
                returned = env.step({agent: actions[rows[agent]] for agent in env.agents})
            expected, shown = _collect(env, returned), dict[str, Any](state=states[k])
            for name, column in zip(_RESULTS[: 1 if begins else -1], columns, strict=False):
                shown[name] = {agent: column[rows[agent]] for agent in returned[0]}
            shown["infos"] = {
                agent: {name: infos[name][rows[agent]].item() for name in info} for agent, info in returned[-1].items()
            }
            shown["metrics"] = {name: value[k] for name, value in metrics.items()}
            when = f"step {step} of seed {k}" if step else f"the reset with seed {k}"
            how = ("in parallel_env", f"in world {k} of vector_env", "index the arrays of w and s by e")
            _compare_shown(env, _to_python(expected), _to_python(shown), (when, begins), how)


def _collect(env: Any, returned: tuple[Any, ...]) -> dict[str, Any]:
    """Return all that an environment shows after a call, by name; what follows from other things comes last."""
    inner, names = env.unwrapped, _RESULTS if len(returned) == len(_RESULTS) else ("observations", "infos")
    shown = {"state": inner.get_state()} if hasattr(inner, "get_state") else {}
    shown |= {name: value for name, value in zip(names, returned, strict=True) if value is not None}
    shown |= {"metrics": inner.metrics()} if hasattr(inner, "metrics") else {}
    return {**shown, "agents": list(env.agents)}


def _compare_shown(env: Any, one: Any, other: Any, when: tuple[str, bool], how: tuple[str, str, str]) -> None:
    """Fail where what two environments show differs, in what both have; `how` is where each is shown, and advice."""
    here, there, advice = how
    names = [name for name in one if name in other]
    found = _find_difference({name: one[name] for name in names}, {name: other[name] for name in names})
    if found is not None:
        path, value, its = found
        what = f"{_show_path(path)} in {when[0]} is {_show(value)} {here}, but {_show(its)} {there}"
        _fail(f"{_name(env, *path, begins=when[1])}: {what}", advice)


def _find_difference(one: Any, other: Any, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, Any] | None:
    """Return where two values differ, by keys and indices, and the values there; None if they are equal to the bit."""
    if frozen(one) == frozen(other):
        return None
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype == other.dtype:
        one, other = one.tolist(), other.tolist()
    keys: Any = ()
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        keys = one
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        keys = range(len(one))
    found = (_find_difference(one[key], other[key], (*path, key)) for key in keys)
    return next(filter(None, found), (path, one, other))


def _to_python(value: Any) -> Any:
    """Return a value with Python's own numbers, for in a vector env they have the dtypes of its arrays."""
    if isinstance(value, dict):
        return {key: _to_python(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_to_python, value))
    return value.item() if isinstance(value, np.generic) else value


def frozen(value: Any) -> Any:
    """Copy a value into a form that == compares to the bit: types, dtypes and shapes included, NaN equal to NaN."""
    if type(value) in {bool, int}:  # most values, in calls by the hundred thousand
        return type(value).__name__, value
    if isinstance(value, dict):
        return {key: frozen(one) for key, one in value.items()}
    if isinstance(value, list):
        return [frozen(one) for one in value]
    if isinstance(value, tuple):
        return tuple(frozen(one) for one in value)
    if isinstance(value, np.ndarray):
        kept = frozen(value.tolist()) if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, kept
    is_nan = isinstance(value, float | np.floating) and math.isnan(value)
    is_number = isinstance(value, bool | int | float | np.generic)
    return (type(value).__name__, "nan" if is_nan else value) if is_number else value


def _name(env: Any, kind: str = "", key: Any = "", part: Any = "", *_: Any, begins: bool = False) -> str:
    """Return the functions of a game that make what stands under a path; else the game, or the class of an env."""
    config: GridConfig | None = getattr(env.unwrapped, "config", None)
    if config is None or config.game is None:
        return type(env.unwrapped).__name__
    game = describe(config.game)
    functions = {**game.functions, **game.plain}
    names = {"metrics": [f"metric_{key}"], "check": ["check"], "marks": ["marks"], "describe": ["describe"]}.get(
        kind, []
    )
    if kind == "observations":
        made = [name for name in functions if name in {"observation_space", "make_observations"}][-1:]
        written = [f"write_{part}"] if part in game.parts else [f"write_{name}" for name in game.parts]
        names = made or (["legal"] if part == MASK else written)
    elif kind in {"state", *_RESULTS}:
        field = key if kind == "state" else kind
        playing = [name for name, hook in HOOKS.items() if name not in _BEGINNING and not hook.reads]
        names = [name for name in (_BEGINNING if begins else playing) if name in functions]
        names = [
            name for name in names if any(field in found.reader.__code__.co_names for found in walk([functions[name]]))
        ] or names
    return " or ".join(f"{game.name}.{name}" for name in names if name in functions) or game.name


def _keeps_arrays(env: Any) -> bool:
    """Whether episodes depend on earlier ones, by arrays that are marked `multigrid.games.KEPT`."""
    game = getattr(getattr(env.unwrapped, "config", None), "game", None)
    return game is not None and any(row.mark == KEPT for row in make_table(describe(game)).rows.values())


def _show_path(path: Sequence[Any]) -> str:
    return str(path[0]) + "".join(f"[{key!r}]" for key in path[1:])


def _show(value: Any) -> str:
    return shorten(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)


def _fail(what: str, advice: str) -> NoReturn:
    text = f"{what}; {advice}" if advice else what
    raise AssertionError(" ".join(text.split()))  # spaces have lines


def _run_test_of_pettingzoo(name: str, test: str, env: Any, num_cycles: int) -> None:
    with _named(f"{name}: PettingZoo's {test} fails"), _silent():
        getattr(importlib.import_module("pettingzoo.test"), test)(env, num_cycles=num_cycles)


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    """Let any exception be an AssertionError that begins with a text."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{what}: {' '.join(str(error).split()) or type(error).__name__}") from error


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
