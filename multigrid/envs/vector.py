"""Many worlds at once, as a Gymnasium VectorEnv: one row for each agent of each world."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, Literal, overload

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from typing_extensions import Unpack

from multigrid._checks import check_bool, check_int, shorten
from multigrid.actions import check_action
from multigrid.config import GridConfig, GridOptions, resolve_config
from multigrid.core.observe import global_states
from multigrid.core.placement import RANDOM
from multigrid.core.rules import ALL_VALID
from multigrid.core.worlds import Worlds
from multigrid.envs import spaces
from multigrid.envs.annotations import ObservationType, State, States
from multigrid.envs.exclusive import one_at_a_time, overlapping_call_error
from multigrid.envs.options import resolve_options, show_fields
from multigrid.envs.reset_arguments import (
    NO_SEED,
    check_autoreset_mode,
    check_options_of_worlds,
    check_reset_mask,
    check_seeds,
)
from multigrid.envs.world_rows import WorldRows
from multigrid.rendering.frame import Painter
from multigrid.rendering.scene import scene_in

__all__ = ["MultiGridVectorEnv", "vector_env"]

_Bools = NDArray[np.bool_]


# Here np_random and np_random_seed are tuples.
class MultiGridVectorEnv(WorldRows, gymnasium.vector.VectorEnv[ObservationType, Any, NDArray[Any]]):  # type: ignore[misc]
    """Any number of worlds, stepped by one call: row = world * N + agent, ``num_envs`` = worlds * N.

    World i, seeded s + i, plays the episodes that a `multigrid.MultiGridEnv` seeded s + i plays, one after the other,
    bit for bit. A world resets as a whole, when its last row has ended:

    - NEXT_STEP: on the step after, which ignores the world's actions and returns the first observations, rewards of 0
      and False flags;
    - SAME_STEP: within the same step. ``infos["final_obs"]`` is then an object array (num_envs,), as in Gymnasium: the
      final observation of each row of a world that ended, a dict or float32 vector, and None in other rows, of which
      ``infos["_final_obs"]``, bool (num_envs,), is False. ``infos["final_info"]`` has the final infos;
    - DISABLED: not at all; ``reset(options={"reset_mask": ...})`` does it.

    Under ``on_target="leave"`` the row of an agent that has left is zeros, with a reward of 0 and ``alive`` False, and
    its action is ignored; when its world ends it is truncated, so that learners cut there. Gymnasium's
    ``RecordEpisodeStatistics`` counts that as a second episode, and its ``RecordVideo`` shows a world as often as it
    has agents; those of `multigrid.wrappers` do not.

    Infos are arrays with a row for each agent, and masks of the rows that have them, as in Gymnasium's vector envs:
    ``distance``, ``outcome``, ``arrived``, ``alive``, and when an episode ends the metrics of `multigrid.core.metrics`
    unless `metrics` is False.

    Args:
        config: the world; `vector_env` creates it from keywords.
        num_worlds: the number of worlds.
        autoreset_mode: a `gymnasium.vector.AutoresetMode`, or its value: "NextStep", "SameStep" or "Disabled".
        render_mode: None or "rgb_array".
        copy: whether each call returns observations in arrays that no earlier result uses. With False they are views of
            the worlds' own arrays, which cannot be written to and which each call changes, `set_state` too, except
            under ``on_target="leave"``. All other results are always in such arrays: the memory of an earlier result
            is used again once no Python object refers to it. A raw pointer such as ``array.ctypes.data`` does not keep
            the array alive.
        num_threads: the number of threads that step the worlds; results do not depend on it. At most one for
            each world is used. Below 4,096 rows, or when cores are busy, one thread is used.
        metrics: whether the infos have the metrics of episodes that end, which makes steps take up to a fifth longer;
            the method `metrics` returns those of all episodes at any time.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> envs = MultiGridVectorEnv(GridConfig(size=(5, 3), num_agents=2), num_worlds=3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["agent"].shape, infos["distance"].tolist()
    ((6, 2), [3.0, 1.0, 2.0, 6.0, 4.0, 2.0])
    >>> _ = envs.action_space.seed(0)
    >>> for _ in range(100):
    ...     actions = envs.action_space.sample()  # an action for each row
    ...     observations, rewards, terminations, truncations, infos = envs.step(actions)
    >>> rewards.reshape(envs.num_worlds, 2).shape  # by world and agent
    (3, 2)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(
        self,
        config: GridConfig | None = None,
        num_worlds: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        copy: bool = True,
        num_threads: int = 1,
        metrics: bool = True,
    ) -> None:
        self._call = None
        config = resolve_config(config)
        self.num_worlds = check_int("num_worlds", num_worlds, 1)
        self.autoreset_mode = check_autoreset_mode(autoreset_mode)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {shorten(render_mode)}; expected None or 'rgb_array'")
        self.render_mode = render_mode
        self.copy = check_bool("copy", copy)
        self.num_threads = check_int("num_threads", num_threads, 1)
        self._reports_metrics = check_bool("metrics", metrics)
        self._world = Worlds(
            config,
            self.num_worlds,
            autoreset=self.autoreset_mode is AutoresetMode.NEXT_STEP,
            num_threads=min(self.num_threads, self.num_worlds),
        )
        self.metadata = {**deepcopy(type(self).metadata), "autoreset_mode": self.autoreset_mode}
        self.num_envs = self.num_worlds * config.num_agents
        self.single_observation_space = spaces.observation_space(config)
        self.single_action_space = spaces.action_space(config)
        self.observation_space = spaces.rows_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._keys, self._agents_leave = config.observation_keys, config.on_target == "leave"
        self._resets_at_once = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._must_check_ends = self.autoreset_mode is AutoresetMode.DISABLED
        self._is_unfinished = False
        self._seeds = np.full(self.num_worlds, NO_SEED)
        self._started = np.zeros(self.num_worlds, dtype=bool)
        self._all_started = False
        self._checks_ends = self._reports_metrics or self._agents_leave or self._resets_at_once
        self._every_row = np.ones(self.num_envs, dtype=bool)
        self._painter: Painter | None = None
        self._bind_arrays()

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        # The worlds are copied at once, for the caller copies or pickles the returned dict later.
        now = {"_world": copy(self._world), "_seeds": self._seeds.copy(), "_started": self._started.copy()}
        now |= {"_painter": None, "_call": None}
        return {name: value for name, value in vars(self).items() if name not in self._BOUND} | now

    def __copy__(self) -> Any:
        # Two environments that share arrays would move each other's agents.
        return deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind_arrays()

    @one_at_a_time
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObservationType, dict[str, Any]]:
        """Begin an episode in every world, or in those of a mask.

        Args:
            seed: s seeds world i with s + i; a list has a seed, or None, for each world; None continues the streams.
            options: ``"reset_mask"``, bool (num_envs,), equal over a world's rows: which worlds to reset. ``"agents"``
                and ``"targets"``, (N, 2) for all worlds or (num_worlds, N, 2), set the layouts by hand; ``"map"``, an
                int or (num_worlds,), the maps of a pool. Other keys are ignored. Under "restart" the targets may be
                lists as for `MultiGridEnv.reset`, for all worlds or in a list of num_worlds such lists.

        Returns:
            Observations of all rows, and the infos of those that were reset.

        Raises:
            TypeError, ValueError: a bad seed, mask or layout; the worlds are unchanged.
        """
        worlds = check_reset_mask(options, self.num_worlds, self.config.num_agents)
        maps, layouts = check_options_of_worlds(options, self.config, self.num_worlds, worlds)
        streams, seeds, known = self._new_streams(worlds, check_seeds(seed, self.num_worlds)[worlds])
        on_commit = functools.partial(self._record_reset, worlds, seeds)
        if maps is None and layouts.cells is None and streams is None and len(worlds) == self.num_worlds:
            self._world.reset(on_commit=on_commit)
        else:
            self._world.begin(
                worlds,
                np.full(len(worlds), RANDOM) if maps is None else maps,
                streams,
                layouts,
                seeded=worlds[known].tolist(),
                on_commit=on_commit,
            )
        which = np.zeros((self.num_worlds, self.config.num_agents), dtype=bool)
        which[worlds] = True
        return self._observations(), self._infos(which.reshape(self.num_envs))

    def step(self, actions: Any) -> tuple[ObservationType, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """Play one step of every world.

        Args:
            actions: integers (num_envs,). Those of agents that have left are ignored, and in NEXT_STEP mode those of
                worlds that this step resets.

        Returns:
            Observations, rewards float64, terminations, truncations and infos, (num_envs, ...) each.

        Raises:
            TypeError, ValueError: a bad action, whose row the message names; no world is stepped then.
            ResetNeeded: a world had no reset yet, or in DISABLED mode none since its end.
        """
        # As `one_at_a_time` does, without the cost of another call.
        under_way = self._call
        if under_way is None:
            self._call = "step"
        else:
            raise overlapping_call_error("step", under_way)
        try:
            return self._step(actions)
        finally:
            self._call = None

    def _step(self, actions: Any) -> tuple[ObservationType, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        if self._is_unfinished:
            self._finish_interrupted_call()
        if self._must_check_ends or not self._all_started:
            self._check_started()
        self._write_actions(actions)
        self._is_unfinished = self._resets_at_once
        row = self._world.step()
        if row != ALL_VALID:
            self._is_unfinished = False
            num_actions, agent = self.config.num_actions, self.config.agents[row % self.config.num_agents]
            whose = f"row {row} ({agent} of world {row // self.config.num_agents})"
            check_action(self._actions[row], num_actions, whose)
        over = self._world.arrays.episode_over
        # Up to 50,000 worlds, searching bytes is faster than `any`.
        ended = self._checks_ends and 1 in over.tobytes()
        rewards, terminated, truncated = self._copy_rewards(), self._copy_terminated(), self._copy_truncated()
        if ended and self._agents_leave:
            # Rows of agents that left earlier are truncated with their world, so that learners cut there.
            truncated |= (self._world.find_departed() & over[:, None]).reshape(self.num_envs)
        if ended and self._resets_at_once:
            infos = self._final_infos(np.flatnonzero(over))
            self._world.reset_ended()
            infos |= self._infos(None)
        else:
            infos = self._infos(None)
            if ended and self._reports_metrics:
                infos |= self._metrics(np.flatnonzero(over))
        self._is_unfinished = False
        return self._observations(), rewards, terminated, truncated, infos

    @overload
    def get_state(self, /, worlds: Any = None, *, single: Literal[False] = False) -> States: ...
    @overload
    def get_state(self, /, worlds: Any = None, *, single: Literal[True]) -> list[State]: ...
    @one_at_a_time
    def get_state(self, worlds: Any = None, *, single: bool = False) -> Any:
        """Return copies of the whole states of some worlds, or of all.

        Args:
            worlds: integers (K,), or None for all.
            single: whether to return a state for each world, as `MultiGridEnv.get_state` does.

        Returns:
            A dict of arrays (K, ...); or a list of K states of single worlds.

        Raises:
            ResetNeeded: a world had no reset yet.
            TypeError, ValueError: no such worlds.

        >>> envs = MultiGridVectorEnv(GridConfig(), num_worlds=4)
        >>> _ = envs.reset(seed=0)
        >>> envs.set_state(envs.get_state([2], single=True) * 4)
        """
        indices = self._check_worlds(worlds)
        self._check_have_reset(indices)
        if single:
            return [self._world.snapshot(e) for e in indices.tolist()]
        return self._world.snapshot_many(indices)

    @one_at_a_time
    def set_state(self, states: Mapping[str, Any] | Sequence[Mapping[str, Any]], worlds: Any = None) -> None:
        """Restore states that `get_state` returned, of this env or another with the same configuration.

        Args:
            states: a dict of arrays (K, ...); or K states of single worlds, also those of `MultiGridEnv.get_state`.
            worlds: integers (K,), no two alike, or None for all.

        Raises:
            TypeError, ValueError: no such states or worlds; all worlds are unchanged.
        """
        indices = self._check_worlds(worlds)
        if len(np.unique(indices)) < len(indices):
            raise ValueError(f"worlds are {indices.tolist()}; name each once")
        if isinstance(states, list | tuple):
            if len(states) != len(indices):
                raise ValueError(f"there are {len(states)} states; expected one for each of {len(indices)} worlds")
            states = list(states)
        seeds = np.where(self._seeds[indices] == NO_SEED, -1, self._seeds[indices])
        self._world.restore(indices, states, functools.partial(self._record_reset, indices, seeds))

    @one_at_a_time
    def state(self) -> NDArray[np.int64]:
        """Return the global state of each world, as `MultiGridEnv.state`: int64 (num_worlds, N, 4)."""
        self._check_have_reset(np.arange(self.num_worlds))
        return global_states(self._world.arrays)

    @one_at_a_time
    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return the frame of its world for each row, uint8 (height, width, 3), in "rgb_array" mode; else None."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; pass render_mode='rgb_array'")
            return None
        self._check_have_reset(np.arange(self.num_worlds))
        if self._painter is None:
            self._painter = Painter(self.config)
        scenes = (scene_in(self.config, self._world.arrays, e) for e in range(self.num_worlds))
        frames = map(self._painter.frame, scenes)
        return tuple(frame for frame in frames for _ in range(self.config.num_agents))


@show_fields
def vector_env(
    num_worlds: int,
    config: GridConfig | None = None,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    copy: bool = True,
    num_threads: int = 1,
    metrics: bool = True,
    **options: Unpack[GridOptions],
) -> MultiGridVectorEnv[ObservationType]:
    """Return a `MultiGridVectorEnv` of a `GridConfig`, or of its fields as keywords.

    Raises:
        TypeError: both a config and keywords, or a keyword that is no field of `GridConfig`.
        ValueError: as `GridConfig` and `MultiGridVectorEnv`.

    >>> vector_env(100, num_agents=8, size=16).num_envs
    800

    See the page "MultiGrid, many worlds" (docs/environments/multi_grid_vector.md in the source).
    """
    return MultiGridVectorEnv(
        resolve_options(vector_env, config, options),
        num_worlds,
        autoreset_mode=autoreset_mode,
        render_mode=render_mode,
        copy=copy,
        num_threads=num_threads,
        metrics=metrics,
    )
