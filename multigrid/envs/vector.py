"""Many worlds at once, as a Gymnasium VectorEnv: one row for each agent of each world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, Literal, overload

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from multigrid._checks import check_bool, check_int, shorten
from multigrid.config import GridConfig, resolve_config
from multigrid.core.metrics import episode_metrics, make_lists
from multigrid.core.observe import global_states
from multigrid.core.rules import ALL_VALID, NOT_BEGUN
from multigrid.core.worlds import Worlds
from multigrid.envs import _reset_arguments, spaces
from multigrid.envs._annotations import ObservationType, State, States
from multigrid.envs._env_base import AFTER_CALL, CUT_OFF, HasShaping, one_at_a_time
from multigrid.envs._levels import check_levels, join_rows, read_level
from multigrid.envs._world_rows import WorldRows
from multigrid.maps._levels import Level
from multigrid.rendering._frame import Painter
from multigrid.rendering._scene import Scene, scene_in

_Bools = NDArray[np.bool_]


class MultiGridVectorEnv(HasShaping, gymnasium.vector.VectorEnv[ObservationType, Any, NDArray[Any]]):
    """Many worlds, stepped by one call. Row k * N + i is agent i of world k; ``num_envs`` is the number of rows.

    After ``reset(seed=s)``, world k plays the episodes of a `multigrid.MultiGridEnv` with the seed s + k. A world is
    reset once the episodes of all its rows have ended:

    - NEXT_STEP: in the next step. That step ignores the world's actions, and returns the new episode's first
      observations, rewards of 0 and False flags.
    - SAME_STEP: in the same step. As in Gymnasium, ``infos["final_obs"]``, an object array (num_envs,), has the world's
      final observations, and None in other rows; ``infos["_final_obs"]``, bool (num_envs,), marks its rows;
      ``infos["final_info"]`` has its infos.
    - DISABLED: only by ``reset(options={"reset_mask": np.repeat(envs.episode_over, num_agents)})``. Stepping an ended
      world raises `ResetNeeded`.

    Under ``on_target="leave"``, the row of an agent that has left is zeros, with reward 0 and ``alive`` False; its
    actions are ignored, and it is truncated when its world's episode ends. Gymnasium's ``RecordEpisodeStatistics``
    counts this as a second episode, and its ``RecordVideo`` shows each world once per agent; use the
    wrappers of the same names in `multigrid.wrappers`.

    Infos are arrays with masks, as in Gymnasium: ``distance``, ``outcome``, ``arrived``, ``alive`` and, when an episode
    ends, its metrics.

    Args:
        config: the world; `vector_env` creates it from keywords.
        num_worlds: the number of worlds.
        autoreset_mode: a `gymnasium.vector.AutoresetMode`, or its value: "NextStep", "SameStep" or "Disabled".
        render_mode: None or "rgb_array".
        copy: whether observations are new arrays, as all other results are. With False, they are read-only views of the
            env's own arrays, which every call changes, `set_state` too; under ``on_target="leave"`` they are always
            new.
        num_threads: the largest number of threads; results do not depend on it. Below 4,096 rows, or if the cores are
            busy, one is used.
        metrics: whether infos have the metrics of ended episodes. Without them, steps take up to a sixth less time.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> envs = MultiGridVectorEnv(GridConfig(size=(5, 3), num_agents=2), num_worlds=3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["agent"].shape, infos["distance"].tolist()
    ((6, 2), [3.0, 1.0, 2.0, 6.0, 4.0, 2.0])
    >>> observations, rewards, terminations, truncations, infos = envs.step([0, 1, 2, 3, 0, 1])
    >>> rewards.reshape(envs.num_worlds, 2).shape  # by world and agent
    (3, 2)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}
    _info_names: tuple[str, ...] = ("distance", "outcome", "arrived", "alive")

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
        config = resolve_config(config)
        self.num_worlds = check_int("num_worlds", num_worlds, 1)
        self.autoreset_mode = _reset_arguments.check_autoreset_mode(autoreset_mode)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {shorten(render_mode)}; expected None or 'rgb_array'")
        self.render_mode = render_mode
        self.copy = check_bool("copy", copy)
        self.num_threads = check_int("num_threads", num_threads, 1)
        self._reports_metrics = check_bool("metrics", metrics)
        autoreset, num_threads = self.autoreset_mode is AutoresetMode.NEXT_STEP, min(self.num_threads, self.num_worlds)
        self._worlds = Worlds(config, self.num_worlds, autoreset=autoreset, num_threads=num_threads)
        self.metadata = {**deepcopy(type(self).metadata), "autoreset_mode": self.autoreset_mode}
        self.num_envs = self.num_worlds * config.num_agents
        self.single_observation_space = spaces.observation_space(config)
        self.single_action_space = spaces.action_space(config)
        self.observation_space = spaces.rows_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._refuses_over = self.autoreset_mode is AutoresetMode.DISABLED  # an enum's attribute takes long to read
        self._all_started, self._has_game = False, config.game is not None
        self._painter: Painter | None = None
        self._bind_arrays()

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        # The worlds are copied at once, for the caller copies or pickles the returned dict later.
        return vars(self) | {"_worlds": copy(self._worlds), "_rows": None, "_painter": None, "_call": None}

    def _bind_arrays(self) -> None:
        mode, metrics = self.autoreset_mode, self._reports_metrics
        names = self._info_names if self.config.has_targets else ("outcome", "alive")
        names = (*names, *self._worlds.own_infos, *["level"] * self.config.draws_maps)
        self._rows: WorldRows = WorldRows(self._worlds, names, mode, copies=self.copy, metrics=metrics)

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never."""
        return self._worlds.max_cycles

    @property
    @one_at_a_time
    def episode_over(self) -> NDArray[np.bool_]:
        """Which episodes are over, bool (num_worlds,): the next step resets those, or in DISABLED mode raises."""
        return self._worlds.arrays.episode_over.astype(bool)

    @property
    @one_at_a_time
    def acting(self) -> NDArray[np.bool_]:
        """Which agents' actions count, bool (num_worlds, N): False for those that have left or are parked."""
        return self._worlds.find_acting()

    @property
    @one_at_a_time
    def map_index(self) -> NDArray[np.int64]:
        """The index in `GridConfig.is_wall` of the map of each world, int64 (num_worlds,); 0 before the first reset."""
        return self._worlds.arrays.map_index.copy()  # type: ignore[no-any-return]

    @property
    @one_at_a_time
    def map_walls(self) -> NDArray[np.bool_]:
        """The map of each world: bool (num_worlds, W, H), True at ``[x, y]`` for a wall."""
        return self._worlds.read_walls()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r}, num_worlds={self.num_worlds})"

    @property  # type: ignore[misc]
    @one_at_a_time
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The worlds' streams, the same Generators until a seeded reset; drawing from one changes its later episodes.

        After they have been read, steps and resets are slower, for they copy the Generators' states.
        """
        return tuple(self._worlds.get_generator(e) for e in range(self.num_worlds))

    @property
    @one_at_a_time
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the worlds' streams. `set_state` keeps them; before the first reset it makes them -1."""
        self._worlds.ensure_seeds()
        return tuple(self._worlds.seeds.tolist())

    def _check_whole(self, worlds: NDArray[np.int64], name: str) -> None:
        """Raise RuntimeError if a call begins some worlds anew while others are half done."""
        if self._worlds.is_changing and len(worlds) < self.num_worlds:
            raise self._refusal(name, CUT_OFF)

    def _check_begun(self, worlds: Any = slice(None)) -> None:
        if (self._worlds.arrays.steps[worlds] == NOT_BEGUN).any():
            raise ResetNeeded("there are worlds without an episode; call reset() first")

    @one_at_a_time
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObservationType, dict[str, Any]]:
        """Begin an episode in every world, or in those of a mask.

        Args:
            seed: an int s seeds world k with s + k; a list has a seed or None for each world; None continues the
                random streams.
            options: ``"agents"``, ``"targets"`` and ``"map"`` as for `MultiGridEnv.reset`, either for all worlds or
                with an entry for each; ``"level"``, one level for all worlds, or one for each that is reset;
                ``"reset_mask"``, bool (num_envs,), the rows to reset, all or none of a world.

        Returns:
            Observations of all rows, and the infos of those that were reset.

        Raises:
            TypeError, ValueError: a bad seed, mask or layout; the worlds are unchanged.
        """
        worlds = _reset_arguments.check_reset_mask(options, self.num_worlds, self.config.num_agents)
        maps, layouts = _reset_arguments.check_options(options, self.config, worlds, self.num_worlds)
        levels = check_levels((options or {}).get("level"), self._worlds, len(worlds), "options['level']")
        own = _reset_arguments.read_own(options, self._worlds, len(worlds))
        seeds = _reset_arguments.check_seeds(seed, self.num_worlds)
        self._check_whole(worlds, "reset")
        self._worlds.reset(worlds, None if seeds is None else seeds[worlds], maps, layouts, join_rows(levels, own))
        return self._rows.observations(), self._rows.infos(self._rows.mask(worlds))

    def step(self, actions: Any) -> tuple[ObservationType, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """Play one step of every world.

        Args:
            actions: integers (num_envs,). Those of agents that have left are ignored, and in NEXT_STEP mode those of
                worlds that this step resets.

        Returns:
            Observations, rewards float64, terminations, truncations, infos; all arrays are (num_envs, ...).

        Raises:
            TypeError, ValueError: a bad action, whose row the message names; no world is stepped then.
            ResetNeeded: a world was never reset, or in DISABLED mode not since its end.
        """
        # What `one_at_a_time` does, without the cost of another call.
        rows, worlds = self._rows, self._worlds
        if self._call is None:
            self._call = "step"
        else:
            raise self._refusal("step", self._call)
        try:
            if not self._all_started:
                self._check_begun()
                worlds.compile_ends(begins=self._refuses_over, measures=self._reports_metrics)
                self._all_started = True
            if self._refuses_over:
                _reset_arguments.check_none_over(worlds.arrays.episode_over)
            # The state of a game has the last actions.
            before = rows.actions.copy() if self._has_game else ()
            rows.write_actions(actions)
            worlds.is_changing = rows.resets_at_once
            bad_row = worlds.step()
            if bad_row != ALL_VALID:
                worlds.is_changing = False
                rows.actions[: len(before)] = before
                rows.refuse_action(bad_row)
            results = rows.finish_step()
            worlds.is_changing = False
            return results
        finally:
            self._call = AFTER_CALL[worlds.is_changing]

    @overload
    def get_state(self, /, worlds: Any = None, *, single: Literal[False] = False) -> States: ...
    @overload
    def get_state(self, /, worlds: Any = None, *, single: Literal[True]) -> list[State]: ...
    @one_at_a_time
    def get_state(self, worlds: Any = None, *, single: bool = False) -> Any:
        """Return copies of the whole states of some worlds, or of all.

        Args:
            worlds: integers (K,), or None for all.
            single: whether to return a list of K states of `MultiGridEnv.get_state`, not a dict of arrays (K, ...).

        Raises:
            ResetNeeded, TypeError, ValueError: a world had no reset yet, or there are no such worlds.

        >>> envs = MultiGridVectorEnv(GridConfig(), num_worlds=4)
        >>> _ = envs.reset(seed=0)
        >>> envs.set_state(envs.get_state([2], single=True) * 4)
        """
        indices = _reset_arguments.check_worlds(worlds, self.num_worlds)
        self._check_begun(indices)
        return [self._worlds.snapshot(e) for e in indices.tolist()] if single else self._worlds.snapshot_many(indices)

    @one_at_a_time
    def set_state(self, states: Mapping[str, Any] | Sequence[Mapping[str, Any]], worlds: Any = None) -> None:
        """Restore states that `get_state` returned, of this env or another with the same configuration.

        Args:
            states: a dict of arrays (K, ...); or K states of single worlds, also those of `MultiGridEnv.get_state`.
            worlds: integers (K,), no two alike, or None for all.

        Raises:
            TypeError, ValueError: no such states or worlds; all worlds are unchanged.
        """
        indices = _reset_arguments.check_worlds(worlds, self.num_worlds, once=True)
        states = _reset_arguments.check_states(states, indices)
        self._check_whole(indices, "set_state")
        self._worlds.restore(indices, states)

    @one_at_a_time
    def get_levels(self, worlds: Any = None) -> list[Level]:
        """Return the levels that the episodes of some worlds, integers (K,), or of all, began with.

        Raises:
            ResetNeeded, TypeError, ValueError: a world without an episode, no such worlds, or maps that are not drawn.
        """
        indices = _reset_arguments.check_worlds(worlds, self.num_worlds)
        self._check_begun(indices)
        return [read_level(self._worlds, e) for e in indices.tolist()]

    @one_at_a_time
    def set_next_levels(self, worlds: Any, levels: Any, ids: Any = None) -> None:
        """Let the next episode of some worlds begin with levels, in place of drawn ones.

        Args:
            worlds: integers (K,), or None for all.
            levels: a level for each of them, or one for all, as `get_levels` returns them.
            ids: numbers from 0 on, (K,), for ``infos["level"]`` in every row of the world; by default 0 to K - 1. In
                other episodes it is -1; where ``infos["_level"]`` is False, the number has no meaning.

        Raises:
            TypeError, ValueError: a bad argument, a level of another size or number of agents, one with agents
                in walls, or maps that are not drawn; nothing is changed.

        >>> import multigrid
        >>> envs = multigrid.vector_env(2, walls=multigrid.maps.RandomWalls(size=(5, 4)), num_agents=2)
        >>> _ = envs.reset(seed=0)
        >>> first, second = envs.get_levels()
        >>> envs.set_next_levels([1], first)
        >>> _, infos = envs.reset()
        >>> infos["level"], envs.get_levels([1]) == [first]
        (array([-1, -1,  0,  0]), True)
        """
        indices = _reset_arguments.check_worlds(worlds, self.num_worlds, once=True)
        if levels is None:
            raise TypeError("levels are None; expected a level for each world, or one for all")
        checked = check_levels(levels, self._worlds, len(indices), "levels")
        if ids is not None and not (isinstance(ids, Sequence | np.ndarray) and len(ids) == len(indices)):
            raise ValueError(f"ids is {shorten(ids)}; expected {len(indices)} integers, one for each world")
        numbers = range(len(indices)) if ids is None else [check_int("ids", one, 0) for one in ids]
        self._worlds.set_rows(indices, checked | {"next_ids": np.array(numbers, np.int64)})

    @one_at_a_time
    def state(self) -> NDArray[Any]:
        """Return the global state of each world, as `MultiGridEnv.state`.

        It is int64 (num_worlds, N, 4), or in a game with arrays of its own float64 (num_worlds, D).
        """
        self._check_begun()
        return global_states(self._worlds.arrays, self._worlds.own_state)

    @one_at_a_time
    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return the frame of its world for each row, uint8 (height, width, 3), in "rgb_array" mode; else None."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; pass render_mode='rgb_array'")
            return None
        self._check_begun()
        self._painter = self._painter or Painter(self.config)
        scenes = map(self._get_scene, range(self.num_worlds))
        return tuple(frame for frame in map(self._painter.frame, scenes) for _ in range(self.config.num_agents))

    def _get_scene(self, world: int) -> Scene:
        return scene_in(self.config, self._worlds.arrays, world)

    @one_at_a_time
    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the `multigrid.core.metrics` of all episodes: by agent (num_worlds, N), others (num_worlds,).

        They are arrays, or with `as_lists` lists, as JSON needs them.
        """
        self._check_begun()
        metrics = episode_metrics(self._worlds.measure(np.arange(self.num_worlds)), self._worlds.metrics)
        return make_lists(metrics) if as_lists else metrics

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute for each row, as Gymnasium's SyncVectorEnv does."""
        return self.call(name)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of this env, called if it can be, for each row; streams and seeds by world."""
        value = getattr(self, name)
        value = value(*args, **kwargs) if callable(value) else value
        if name in ("np_random", "np_random_seed"):
            return tuple(one for one in value for _ in range(self.config.num_agents))
        return value if name == "render" else (value,) * self.num_envs

    def close_extras(self, **_kwargs: Any) -> None:
        """Stop the threads, if there are any."""
        if hasattr(self, "_worlds"):  # Gymnasium 1.1 also closes an env whose constructor has raised
            self._worlds.close()
