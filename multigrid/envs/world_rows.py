"""The actions, observations and infos of many worlds, with a row for each agent of each world."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from multigrid.core.metrics import episode_metrics
from multigrid.envs.many_worlds import ManyWorlds

__all__ = ["WorldRows"]

_Bools = NDArray[np.bool_]


class WorldRows(ManyWorlds):
    """The actions, observations and infos of many worlds: row = world * N + agent."""

    _info_names: tuple[str, ...] = ("distance", "outcome", "arrived", "alive")
    _reports_metrics = True
    _BOUND: ClassVar = frozenset(
        (
            *("_actions", "_rewards", "_terminated", "_truncated", "_distances", "_outcomes", "_arrived"),
            *("_observed", "_buffers"),
        )
    )
    """The attributes that `_bind_arrays` sets, which are not pickled."""

    copy: bool
    _keys: tuple[str, ...]
    _agents_leave: bool
    _observed: dict[str, NDArray[Any]]
    """The worlds' own array of each of `GridConfig.observation_keys`, (num_envs, ...); or a single one, named ""."""
    _buffers: dict[str, NDArray[Any]]
    """The returned observations if `copy` is False, else empty."""
    _every_row: _Bools

    def _bind_arrays(self) -> None:
        """Bind views, with a row for each agent, of the arrays that every call reads and writes."""
        arrays, rows = self._world.arrays, self.num_envs
        self._actions = arrays.actions.reshape(rows)
        self._rewards, self._distances = arrays.rewards.reshape(rows), arrays.distances.reshape(rows)
        self._terminated, self._truncated = arrays.terminated.reshape(rows), arrays.truncated.reshape(rows)
        self._outcomes, self._arrived = arrays.outcomes.reshape(rows), arrays.arrived.reshape(rows)
        by_part = zip(self._keys or ("",), self._world.observation_arrays, strict=True)
        self._observed = {part: array.reshape(rows, *array.shape[2:]) for part, array in by_part}
        self._buffers = {} if self.copy else {part: np.empty_like(array) for part, array in self._observed.items()}

    def _write_actions(self, actions: Any) -> None:
        array = np.asarray(actions)
        if array.shape != self._actions.shape or array.dtype.kind not in "iu":
            expected = f"expected integers of shape ({self.num_envs},), an action for each row"
            if array.shape != self._actions.shape:
                raise ValueError(f"actions have the shape {array.shape}; {expected}")
            raise TypeError(f"actions are of {array.dtype}; {expected}")
        if array.dtype == np.uint64:
            # Values beyond int64 must stay out of range rather than wrap.
            array = np.minimum(array, np.uint64(np.iinfo(np.int64).max))
        self._actions[:] = array

    def _observations(self, rows: NDArray[np.int64] | None = None) -> Any:
        """Return the observations of all rows, in new arrays or with `copy` False in the buffers; or of some rows."""
        if rows is not None:
            observations = {part: array[rows] for part, array in self._observed.items()}
        elif self.copy:
            observations = {part: array.copy() for part, array in self._observed.items()}
        else:
            observations = dict(self._buffers)
            for part, array in self._observed.items():
                np.copyto(observations[part], array)
        if self._agents_leave:
            # The rows of agents that have left are zeros.
            departed = self._world.find_departed().reshape(self.num_envs)
            for array in observations.values():
                array[departed if rows is None else departed[rows]] = 0
        return observations if self._keys else observations[""]

    def _infos(self, which: _Bools | None) -> dict[str, Any]:
        """Return the infos of the rows of a mask, with zeros elsewhere; None is all rows."""
        infos: dict[str, Any] = {}
        for name in self._info_names:
            array = self._info(name)
            infos[name] = array.copy() if which is None else np.where(which, array, array.dtype.type(0))
            infos[f"_{name}"] = (self._every_row if which is None else which).copy()
        return infos

    def _info(self, name: str) -> NDArray[Any]:
        if name == "distance":
            return self._distances
        if name == "outcome":
            return self._outcomes
        if name == "arrived":
            return self._arrived
        if not self._agents_leave:
            return self._every_row
        return ~self._world.find_departed().reshape(self.num_envs)

    def _final_infos(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """Return the final observations and infos of worlds that have just ended, in Gymnasium's SAME_STEP format."""
        num_agents = self.config.num_agents
        rows = (worlds[:, None] * num_agents + np.arange(num_agents)).ravel()
        which = np.zeros(self.num_envs, dtype=bool)
        which[rows] = True
        observations = self._observations(rows)
        final_obs = np.full(self.num_envs, None, dtype=object)
        keys = self._keys
        if keys:
            final_obs[rows] = [dict(zip(keys, row, strict=True)) for row in zip(*observations.values(), strict=True)]
        else:
            final_obs[rows] = list(observations)
        final_info = self._infos(which)
        if self._reports_metrics:
            final_info |= self._metrics(worlds)
        masks = {f"_{name}": which.copy() for name in ("final_obs", "final_info")}
        return {"final_obs": final_obs, "final_info": final_info, **masks}

    def _metrics(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """Return the metrics of worlds that have ended, with a row for each agent and zeros elsewhere."""
        shape = (self.num_worlds, self.config.num_agents)
        which = np.zeros(shape, dtype=bool)
        which[worlds] = True
        infos: dict[str, Any] = {}
        for name, values in episode_metrics(self.config, self._world.arrays, worlds).items():
            array = np.zeros(shape, dtype=values.dtype)
            array[worlds] = values if values.ndim > 1 else values[:, None]
            infos[name], infos[f"_{name}"] = array.reshape(self.num_envs), which.reshape(self.num_envs).copy()
        return infos
