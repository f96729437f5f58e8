"""The actions, observations and infos of many worlds, with a row for each agent of each world."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from multigrid.core.metrics import METRICS
from multigrid.core.worlds import Worlds
from multigrid.envs.many_worlds import ManyWorlds
from multigrid.envs.result_arrays import ResultArrays

__all__ = ["WorldRows"]

_Bools = NDArray[np.bool_]


class WorldRows(ManyWorlds):
    """The actions, observations and infos of many worlds: row = world * N + agent."""

    _info_names: tuple[str, ...] = ("distance", "outcome", "arrived", "alive")
    _reports_metrics: bool
    _BOUND: ClassVar = frozenset(
        (
            *("_actions", "_rewards", "_terminated", "_truncated", "_observed", "_shown", "_results"),
            *("_copy_rewards", "_copy_terminated", "_copy_truncated", "_copy_observed", "_copy_infos", "_copy_masks"),
        )
    )
    """The attributes that `_bind_arrays` sets, which are not pickled."""

    copy: bool
    _keys: tuple[str, ...]
    _agents_leave: bool
    _observed: dict[str, NDArray[Any]]
    """The worlds' own array of each of `GridConfig.observation_keys`, (num_envs, ...); or a single one, named ""."""
    _shown: dict[str, NDArray[Any]]
    """Views of `_observed` that cannot be written to if `copy` is False, else empty."""
    _every_row: _Bools
    _results: ResultArrays

    def _bind_arrays(self) -> None:
        """Bind views, with a row for each agent, of the arrays that every call reads and writes."""
        arrays, rows = self._world.arrays, self.num_envs
        self._actions = arrays.actions.reshape(rows)
        self._rewards = arrays.rewards.reshape(rows)
        self._terminated, self._truncated = arrays.terminated.reshape(rows), arrays.truncated.reshape(rows)
        by_part = zip(self._keys or ("",), self._world.observation_arrays, strict=True)
        self._observed = {part: array.reshape(rows, *array.shape[2:]) for part, array in by_part}
        self._shown = {}
        if not self.copy:
            # Of a memoryview, for nobody can make such an array writeable again.
            views = {part: memoryview(array).toreadonly() for part, array in self._observed.items()}  # type: ignore[arg-type]
            self._shown = {part: np.asarray(view) for part, view in views.items()}
        self._bind_copiers()

    def _bind_copiers(self) -> None:
        """Bind functions that return copies of the arrays that each step returns."""
        arrays, self._results = self._world.arrays, ResultArrays(self._world.write_array)
        copier = self._results.copier
        self._copy_rewards = copier("reward", self._rewards)
        self._copy_terminated = copier("terminated", self._terminated)
        self._copy_truncated = copier("truncated", self._truncated)
        self._copy_observed = {part: copier(f"observed {part}", array) for part, array in self._observed.items()}
        by_name = {"distance": arrays.distances, "outcome": arrays.outcomes, "arrived": arrays.arrived}
        self._copy_infos = {name: copier(name, array.reshape(self.num_envs)) for name, array in by_name.items()}
        find_alive = functools.partial(_find_alive, self._world, self.num_envs)
        self._copy_infos["alive"] = find_alive if self._agents_leave else copier("alive", self._every_row)
        self._copy_masks = {name: copier(f"_{name}", self._every_row) for name in self._info_names}

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
        self._world.write_array(self._actions, array)

    def _observations(self, rows: NDArray[np.int64] | None = None) -> Any:
        """Return the observations of all rows, in new arrays or as `copy` says; or of some rows, in new arrays."""
        if rows is not None:
            observations = {part: array[rows] for part, array in self._observed.items()}
        elif self.copy or self._agents_leave:
            observations = {part: copy() for part, copy in self._copy_observed.items()}
        else:
            # Views of them, for a caller may set the shape of one.
            observations = {part: array[...] for part, array in self._shown.items()}
        if self._agents_leave:
            # The rows of agents that have left are zeros.
            departed = self._world.find_departed().reshape(self.num_envs)
            for array in observations.values():
                array[departed if rows is None else departed[rows]] = 0
        return observations if self._keys else observations[""]

    def _infos(self, which: _Bools | None) -> dict[str, Any]:
        """Return the infos of the rows of a mask, with zeros elsewhere; None is all rows."""
        infos: dict[str, Any] = {}
        others = None if which is None else ~which
        for name in self._info_names:
            infos[name] = self._copy_infos[name]()
            if others is not None:
                infos[name][others] = 0
            infos[f"_{name}"] = self._copy_masks[name]() if which is None else which.copy()
        return infos

    def _final_infos(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """Return the final observations and infos of worlds that have just ended, in Gymnasium's SAME_STEP format."""
        rows = self._list_rows(worlds)
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
        num_agents, rows = self.config.num_agents, self.num_envs
        figures = self._world.measure(worlds)
        # A whole step takes 4 % less than with an array for each name.
        masks = self._results.zeros("masks of metrics", (len(METRICS), self.num_worlds, num_agents), bool)
        masks[:, worlds] = True
        success = self._results.zeros("success", (self.num_worlds, num_agents), bool)
        success[worlds] = figures[0]
        others = self._results.zeros("other metrics", (len(METRICS) - 1, self.num_worlds, num_agents), float)
        others[:, worlds] = figures[1:]
        arrays = (success.reshape(rows), *others.reshape(-1, rows))
        infos: dict[str, Any] = dict(zip(METRICS, arrays, strict=True))
        return infos | {f"_{name}": mask for name, mask in zip(METRICS, masks.reshape(-1, rows), strict=True)}

    def _list_rows(self, worlds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of some worlds."""
        num_agents = self.config.num_agents
        rows: NDArray[np.int64] = (worlds[:, None] * num_agents + np.arange(num_agents)).ravel()
        return rows


# Not a method: an env that refers to itself is freed late.
def _find_alive(worlds: Worlds, num_envs: int) -> _Bools:
    """Return which rows are of agents that had not left before the last step of their world."""
    return ~worlds.find_departed().reshape(num_envs)
