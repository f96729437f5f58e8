"""The actions, observations and infos of many worlds, with a row for each agent of each world."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from multigrid.actions import check_action, encode_messages
from multigrid.core.worlds import Worlds
from multigrid.envs._agent_dicts import pick_row
from multigrid.envs._result_arrays import ResultArrays
from multigrid.envs.spaces import find_form

_Bools = NDArray[np.bool_]


class WorldRows:
    """The arrays of many worlds, as a vector env takes and returns them: row = world * N + agent.

    `info_names` is a choice of "distance", "outcome", "arrived", "alive" and a game's own; with `metrics`, infos have
    the metrics of episodes that end, too. Without `copies`, observations are read-only views, unless agents leave.
    """

    def __init__(
        self, worlds: Worlds, info_names: tuple[str, ...], mode: AutoresetMode, *, copies: bool, metrics: bool
    ) -> None:
        config, arrays = worlds.config, worlds.arrays
        num_rows = worlds.num_worlds * config.num_agents
        self._worlds, self._info_names = worlds, info_names
        self._message_bits, self._form = config.message_bits, find_form(config)
        self._with_messages = num_rows, 1 + self._message_bits
        self._keys, self._agents_leave = config.observation_keys, config.agents_can_leave
        self.resets_at_once, self._reports_metrics = mode is AutoresetMode.SAME_STEP, metrics
        self._looks_for_ends = metrics or self.resets_at_once or self._agents_leave
        self.actions: NDArray[np.int64] = arrays.actions.reshape(num_rows)
        by_part = zip(self._keys or ("",), worlds.observation_arrays, strict=True)
        self._observed = {part: array.reshape(num_rows, *array.shape[2:]) for part, array in by_part}
        self._shown: dict[str, NDArray[Any]] = {}
        if not copies and not self._agents_leave:
            # Views of memoryviews: nobody can make such an array writeable again.
            views = {part: memoryview(array).toreadonly() for part, array in self._observed.items()}  # type: ignore[arg-type]
            self._shown = {part: np.asarray(view) for part, view in views.items()}
        self._results = ResultArrays(worlds.write_array)
        copier = self._results.copier
        self._copy_rewards = copier("reward", arrays.rewards.reshape(num_rows))
        self._copy_terminated = copier("terminated", arrays.terminated.reshape(num_rows))
        self._copy_truncated = copier("truncated", arrays.truncated.reshape(num_rows))
        self._copy_observed = {part: copier(f"observed {part}", array) for part, array in self._observed.items()}
        every_row = np.ones(num_rows, dtype=bool)
        by_name = {"distance": arrays.distances, "outcome": arrays.outcomes, "arrived": arrays.arrived}
        by_name |= worlds.own_infos
        self._copy_infos = {name: copier(name, array.reshape(num_rows)) for name, array in by_name.items()}
        find_alive = functools.partial(_find_alive, worlds)
        self._copy_infos["alive"] = find_alive if self._agents_leave else copier("alive", every_row)
        self._copy_infos["level"] = functools.partial(_find_levels, worlds)
        self._copy_masks = {name: copier(f"_{name}", every_row) for name in info_names}

    def write_actions(self, actions: Any) -> None:
        """Write the actions of all rows to the worlds, which check their range."""
        array = self._given = np.asarray(actions)
        fits = array.shape == self.actions.shape or (self._message_bits and array.shape == self._with_messages)
        if not fits or array.dtype.kind not in "iu":
            shape = self._with_messages if self._message_bits else self.actions.shape
            expected = f"expected integers of shape {shape}, an action for each row"
            if not fits:
                raise ValueError(f"actions have the shape {array.shape}; {expected}")
            raise TypeError(f"actions are of {array.dtype}; {expected}")
        if array.dtype == np.uint64:
            # Values beyond int64 must stay out of range rather than wrap.
            array = np.minimum(array, np.uint64(np.iinfo(np.int64).max))
        if self._message_bits:
            array = self._encode(array.reshape(len(array), -1).astype(np.int64))
        self._worlds.write_array(self.actions, array)

    def _encode(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of actions, (num_rows, 1 + bits) or (num_rows, 1); of one that is out of range, -1."""
        num_actions = self._worlds.config.num_actions
        is_bad = (actions[:, 0] < 0) | (actions[:, 0] >= num_actions) | ((actions[:, 1:] | 1) != 1).any(axis=1)
        return np.where(is_bad, -1, encode_messages(actions, num_actions))

    def refuse_action(self, row: int) -> None:
        """Raise the error for the action of a row that is out of range."""
        config = self._worlds.config
        e, agent = divmod(row, config.num_agents)
        whose = f"row {row} ({config.agents[agent]} of world {e})"
        check_action(self._given[row], config.num_actions, whose, self._message_bits)

    def finish_step(self) -> tuple[Any, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """Return observations, rewards, terminations, truncations and infos; in SAME_STEP mode, reset ended worlds."""
        over = self._worlds.arrays.episode_over
        # Up to 50,000 worlds, searching bytes is faster than `any`.
        has_ended = self._looks_for_ends and 1 in over.tobytes()
        rewards, terminated, truncated = self._copy_rewards(), self._copy_terminated(), self._copy_truncated()
        if not has_ended:
            return self.observations(), rewards, terminated, truncated, self.infos()
        ended, last = np.flatnonzero(over), {}
        if self._agents_leave:
            # Rows of agents that left earlier are truncated with their world, so that learners cut there.
            truncated |= (self._worlds.find_departed() & over[:, None]).ravel()
        if self.resets_at_once:
            last = self._final_results(ended)
            self._worlds.reset_ended()
        elif self._reports_metrics:
            last = self._metrics(ended)
        return self.observations(), rewards, terminated, truncated, self.infos() | last

    def observations(self, rows: NDArray[np.int64] | None = None) -> Any:
        """Return the observations of all rows, in new arrays or as `copies` says; or of some rows, in new arrays."""
        if rows is not None:
            observations = {part: array[rows] for part, array in self._observed.items()}
        elif self._shown:
            # Views of them, for a caller may set the shape of one.
            observations = {part: array[...] for part, array in self._shown.items()}
        else:
            observations = {part: copy() for part, copy in self._copy_observed.items()}
        if self._agents_leave:
            # The rows of agents that have left are zeros.
            departed = self._worlds.find_departed().ravel()
            for array in observations.values():
                array[departed if rows is None else departed[rows]] = 0
        if self._form is not None:
            return self._form(dict(zip(self._worlds.config.parts, observations.values(), strict=True)))
        return observations if self._keys else observations[""]

    def infos(self, which: _Bools | None = None) -> dict[str, Any]:
        """Return the infos of the rows of a mask, with zeros elsewhere; None is all rows."""
        infos: dict[str, Any] = {}
        others = None if which is None else ~which
        for name in self._info_names:
            infos[name] = values = self._copy_infos[name]()
            if which is None:
                infos[f"_{name}"] = self._copy_masks[name]()
            else:
                values[others] = 0
                infos[f"_{name}"] = which.copy()
        return infos

    def mask(self, worlds: NDArray[np.int64]) -> _Bools:
        """Return which rows are of some worlds: bool (num_rows,)."""
        which = np.zeros(self._worlds.arrays.actions.shape, dtype=bool)
        which[worlds] = True
        return which.reshape(self.actions.shape)

    def _final_results(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """Return the final observations and infos of worlds that have just ended, in Gymnasium's SAME_STEP format."""
        which = self.mask(worlds)
        rows = np.flatnonzero(which)
        observations, keys = self.observations(rows), self._keys
        final_obs = np.full(which.shape, None, dtype=object)
        if self._form is not None:
            final_obs[rows] = [pick_row(observations, row) for row in range(len(rows))]
        else:
            by_row = zip(*observations.values(), strict=True) if keys else observations
            final_obs[rows] = [dict(zip(keys, row, strict=True)) if keys else row for row in by_row]
        final_info = self.infos(which) | (self._metrics(worlds) if self._reports_metrics else {})
        masks = {f"_{name}": which.copy() for name in ("final_obs", "final_info")}
        return {"final_obs": final_obs, "final_info": final_info, **masks}

    def _metrics(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """Return the metrics of worlds that have ended, with a row for each agent and zeros elsewhere."""
        figures, names, zeros = self._worlds.measure(worlds), self._worlds.metrics, self._results.zeros
        shape, num_rows = self._worlds.arrays.actions.shape, len(self.actions)
        # A whole step takes 4 % less than with an array for each name.
        masks = zeros("masks of metrics", (len(names), *shape), bool)
        masks[:, worlds] = True
        success = zeros("success", shape, bool)
        success[worlds] = figures[0]
        others = zeros("other metrics", (len(names) - 1, *shape), float)
        others[:, worlds] = figures[1:]
        arrays = (success.reshape(num_rows), *others.reshape(-1, num_rows))
        infos: dict[str, Any] = dict(zip(names, arrays, strict=True))
        return infos | {f"_{name}": mask for name, mask in zip(names, masks.reshape(-1, num_rows), strict=True)}


# Not a method: an object that refers to itself is freed late.
def _find_alive(worlds: Worlds) -> _Bools:
    """Return which rows are of agents that had not left before the last step of their world."""
    return ~worlds.find_departed().ravel()


def _find_levels(worlds: Worlds) -> NDArray[np.int64]:
    """Return for each row the number of its world's level, -1 for a drawn one."""
    return worlds.arrays.level_ids.repeat(worlds.config.num_agents)
