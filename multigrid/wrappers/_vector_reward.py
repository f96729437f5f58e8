"""The base of the wrappers of vector envs, and the one that replaces their rewards by those of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import ArrayLike, NDArray

from multigrid._checks import shorten
from multigrid.config import GridConfig
from multigrid.envs._env_base import SHAPING, forward
from multigrid.envs.vector import MultiGridVectorEnv

_Bools = NDArray[np.bool_]

RewardFunction: TypeAlias = Callable[[Any, NDArray[np.float64], _Bools, _Bools, dict[str, Any]], ArrayLike]
"""A function that returns the rewards of all rows from observations, rewards, terminations, truncations and infos."""


class WorldsWrapper(VectorWrapper):
    """A wrapper of a vector env of multigrid; any other env is a TypeError."""

    shaping = forward("_worlds", "shaping", SHAPING)

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        given: Any = env
        if not isinstance(given, VectorEnv) or not isinstance(given.unwrapped, MultiGridVectorEnv):
            came = f"env is {shorten(given)}, of type {type(given).__name__}"
            raise TypeError(f"{came}; expected what multigrid.vector_env(...) returns")
        super().__init__(env)
        self._worlds: MultiGridVectorEnv = given.unwrapped

    @property
    def config(self) -> GridConfig:
        """The worlds' configuration."""
        return self._worlds.config

    def get_state(self, worlds: Any = None, *, single: bool = False) -> Any:
        """Return the env's states, as `multigrid.MultiGridVectorEnv.get_state`."""
        return self._worlds.get_state(worlds, single=True) if single else self._worlds.get_state(worlds)

    def set_state(self, states: Any, worlds: Any = None) -> None:
        """Set the env's states, as `multigrid.MultiGridVectorEnv.set_state`."""
        self._worlds.set_state(states, worlds)

    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the env's metrics, as `multigrid.MultiGridVectorEnv.metrics`."""
        return self._worlds.metrics(as_lists=as_lists)


class VectorReward(WorldsWrapper):
    """Replace the rewards of a vector env by a function of the arrays that its step returns.

    The function is called once a step, with ``(observations, rewards, terminations, truncations, infos)`` of all rows,
    and returns a reward for each row. In every autoreset mode these describe the step that was played: in SAME_STEP
    mode the rows of worlds that the step has reset are the final observations and infos, metrics included. The function
    may write into `rewards`, and into no other array.

    Rows that have played no step get a reward of 0, whatever the function returns: those of agents that have left, and
    in NEXT_STEP mode those of a step that only resets their world.

    Observations, terminations, truncations and infos are returned unchanged, metrics included. The wrapper stores
    nothing between steps, so states of the env are states of this wrapper; `unwrapped` has the env's other methods.
    Gymnasium's ``TransformReward`` gives its function the rewards alone, also in rows of worlds that were only reset.

    Args:
        env: what `multigrid.vector_env` returns, or ``gym.make_vec`` for ``multigrid/GridWorld-v0``; it may be wrapped.
        function: a `RewardFunction`; it returns finite numbers of shape (num_envs,).

    Raises:
        TypeError: `env` is not a vector env of multigrid, or `function` is not a function that takes five arguments.
        TypeError, ValueError: later, a bad action, as for the env; no world is stepped then.
        ValueError: the function returned something else than a finite number for each row. The step is played.

    >>> import multigrid
    >>> def step_cost(observations, rewards, terminations, truncations, infos):
    ...     return rewards - 0.25
    >>> envs = VectorReward(multigrid.vector_env(1, size=(4, 3), num_agents=2), step_cost)
    >>> layout = {"agents": [[0, 0], [3, 2]], "targets": [[1, 0], [0, 2]]}
    >>> observations, infos = envs.reset(options=layout)
    >>> envs.step([multigrid.Action.RIGHT, multigrid.Action.LEFT])[1]
    array([ 0.75, -0.25])

    See the page "Custom rewards" (docs/how_to/rewards.md in the source).
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], function: RewardFunction) -> None:
        super().__init__(env)
        _check_function(function)
        self.function = function
        self._resets_later = self._worlds.autoreset_mode is AutoresetMode.NEXT_STEP
        self._agents_leave = self._worlds.config.agents_can_leave

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """Play one step of every world, and return the function's rewards, float64 (num_envs,), for the env's."""
        resetting = self._worlds.episode_over if self._resets_later else None
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        played = _before_reset(observations, infos) if "final_info" in infos else (observations, infos)
        returned = self.function(played[0], rewards, terminations, truncations, played[1])
        own = self._check_rewards(returned)
        # Searching bytes is faster than `any` and `all`.
        if resetting is not None and 1 in resetting.tobytes():
            own.reshape(self._worlds.num_worlds, -1)[resetting] = 0.0
        if self._agents_leave:
            own[~played[1]["alive"]] = 0.0
        finite = np.isfinite(own)
        if 0 in finite.tobytes():
            row = int(np.argmin(finite))
            raise ValueError(f"the reward function returned {own[row]} for row {row}; expected finite numbers")
        return observations, own, terminations, truncations, infos

    def _check_rewards(self, returned: Any) -> NDArray[np.float64]:
        """Return what the function returned as a new array."""
        expected = f"expected numbers of shape ({self.num_envs},), a reward for each row"
        try:
            array = np.asarray(returned)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the reward function returned {shorten(returned)}; {expected}") from error
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iuf":
            by_type = "" if isinstance(returned, (np.ndarray, np.generic)) else f", of type {type(returned).__name__}"
            raise ValueError(f"the reward function returned {array.dtype} of shape {array.shape}{by_type}; {expected}")
        return array.astype(np.float64)


def _check_function(function: Any) -> None:
    """Raise a TypeError unless the argument is a function of the five arrays of a step, as far as can be known."""
    expected = "expected a function of observations, rewards, terminations, truncations and infos"
    if not callable(function):
        raise TypeError(f"function is of type {type(function).__name__}; {expected}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # Functions written in C may have none.
    try:
        signature.bind(*[None] * 5)
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"function {name} takes {signature}; {expected}, in this order") from error


def _before_reset(observations: Any, infos: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the observations and infos of a step before its resets: the final ones for the worlds that have ended."""
    final, ended = infos["final_info"], infos["_final_info"]
    about_reset = ("final_obs", "_final_obs", "final_info", "_final_info")
    played = {**final, **{name: value for name, value in infos.items() if name not in about_reset}}
    for name in final.keys() & infos.keys():
        if not name.startswith("_"):
            played[name] = np.where(ended, final[name], infos[name])
    rows = np.flatnonzero(ended)
    return _replace_rows(observations, rows, infos["final_obs"][rows].tolist()), played


def _replace_rows(batch: Any, rows: NDArray[np.int64], by: list[Any]) -> Any:
    """Return a copy of a batch, as `pick_row` takes it, with other rows in place of some."""
    if isinstance(batch, dict):
        return {key: _replace_rows(one, rows, [row[key] for row in by]) for key, one in batch.items()}
    is_tuple = isinstance(batch, tuple)
    if is_tuple and not any(isinstance(one, str) for one in batch):
        return tuple(_replace_rows(one, rows, [row[k] for row in by]) for k, one in enumerate(batch))
    copied = np.array(batch, object if is_tuple else None)
    copied[rows] = by
    return tuple(copied) if is_tuple else copied
