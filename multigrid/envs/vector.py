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
from multigrid.actions import check_action
from multigrid.config import GridConfig, resolve_config
from multigrid.core.metrics import episode_metrics, make_lists
from multigrid.core.observe import global_states
from multigrid.core.placement import RANDOM
from multigrid.core.rules import ALL_VALID, NOT_BEGUN
from multigrid.core.worlds import Worlds
from multigrid.envs import spaces
from multigrid.envs.annotations import ObservationType, State, States
from multigrid.envs.exclusive import Face, one_at_a_time, overlapping_call_error
from multigrid.envs.reset_arguments import (
    NO_SEED,
    check_autoreset_mode,
    check_options_of_worlds,
    check_reset_mask,
    check_worlds,
    start_streams,
)
from multigrid.envs.world_rows import WorldRows
from multigrid.rendering.frame import Painter
from multigrid.rendering.scene import scene_in

_Bools = NDArray[np.bool_]


class MultiGridVectorEnv(Face, gymnasium.vector.VectorEnv[ObservationType, Any, NDArray[Any]]):
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
            is used again once no Python object refers to it. A raw pointer, such as ``array.ctypes.data``, does not
            keep an array alive.
        num_threads: the most threads that step the worlds; results do not depend on it. Below 4,096 rows, or when cores
            are busy, one thread is used.
        metrics: whether the infos have the metrics of episodes that end; without them, steps take up to a sixth less
            time. The method `metrics` returns those of all episodes at any time.

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
        self._resets_at_once = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._agents_leave = config.on_target == "leave"
        self._looks_for_ends = self._reports_metrics or self._agents_leave or self._resets_at_once
        # Whether a step in SAME_STEP mode was interrupted before its worlds were reset.
        self._is_unfinished = False
        # Whether all worlds are known to have had a reset.
        self._all_started = False
        no_seeds = np.full(self.num_worlds, NO_SEED)
        self._record_seed(no_seeds, no_seeds)
        self._painter: Painter | None = None
        self._rows = WorldRows(self._world, self._info_names, copies=self.copy)

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        # The worlds are copied at once, for the caller copies or pickles the returned dict later.
        return vars(self) | {"_world": copy(self._world), "_rows": None, "_painter": None, "_call": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._rows = WorldRows(self._world, self._info_names, copies=self.copy)

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never."""
        return self._world.max_cycles

    @property
    @one_at_a_time
    def episode_over(self) -> NDArray[np.bool_]:
        """Which episodes are over, bool (num_worlds,): the next step resets those, or in DISABLED mode raises."""
        over: NDArray[np.bool_] = self._world.arrays.episode_over.astype(bool)
        return over

    @property
    @one_at_a_time
    def acting(self) -> NDArray[np.bool_]:
        """Which agents' actions count, bool (num_worlds, N): False for those that have left or are parked."""
        return self._world.find_acting()

    @property
    @one_at_a_time
    def map_index(self) -> NDArray[np.int64]:
        """The index in `GridConfig.is_wall` of the map of each world, int64 (num_worlds,); 0 before the first reset."""
        index: NDArray[np.int64] = self._world.arrays.map_index.copy()
        return index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r}, num_worlds={self.num_worlds})"

    def _give_seeds(self) -> None:
        """Give random seeds to the worlds without a stream."""
        seeds, streams = self._recorded_seed(), self._world.arrays.streams
        worlds = np.flatnonzero(seeds == NO_SEED)
        new, seeds, _ = start_streams(None, worlds, seeds, streams)
        if new is not None:
            streams[worlds] = new
            self._record_seed(seeds, seeds)

    @property  # type: ignore[misc]
    @one_at_a_time
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The worlds' random streams as Generators; drawing from one changes its world's later episodes.

        Each is the same object until a seeded reset of its world creates another. Reading this makes later steps and
        resets slower, for they copy the generators' states.
        """
        self._give_seeds()
        return tuple(self._world.get_generator(e) for e in range(self.num_worlds))

    @property
    @one_at_a_time
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the worlds' streams; -1 where a state was set before the first reset."""
        self._give_seeds()
        return tuple(self._recorded_seed().tolist())

    def _finish_interrupted_call(self) -> None:
        self._world.finish_commit()
        if self._is_unfinished and not self._world.is_inconsistent:
            self._world.reset_ended()
            self._is_unfinished = False

    def _check_have_reset(self, worlds: NDArray[np.int64]) -> None:
        if (self._world.arrays.steps[worlds] == NOT_BEGUN).any():
            raise ResetNeeded("there are worlds without an episode; call reset() first")
        self._world.check_consistent()

    def _check_started(self) -> None:
        if not self._all_started:
            self._finish_interrupted_call()
            self._check_have_reset(np.arange(self.num_worlds))
            self._all_started = True
        if self.autoreset_mode is AutoresetMode.DISABLED and self._world.arrays.episode_over.any():
            over = np.flatnonzero(self._world.arrays.episode_over)
            raise ResetNeeded(
                f"the episodes of {len(over)} worlds are over, the first is world {over[0]}; "
                "reset them with options={'reset_mask': ...}, or use another autoreset_mode"
            )

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
        before = self._recorded_seed()
        streams, seeds, is_new = start_streams(seed, worlds, before, self._world.arrays.streams)
        self._record_seed(seeds, before)
        if maps is None and layouts.cells is None and streams is None and len(worlds) == self.num_worlds:
            self._world.reset()
        else:
            chosen = np.full(len(worlds), RANDOM) if maps is None else maps
            self._world.begin(worlds, chosen, streams, layouts, seeded=worlds[is_new].tolist())
        return self._rows.observations(), self._rows.infos(self._rows.mask(worlds))

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
            if self._is_unfinished:
                self._finish_interrupted_call()
            if not self._all_started or self.autoreset_mode is AutoresetMode.DISABLED:
                self._check_started()
            world, rows = self._world, self._rows
            rows.write_actions(actions)
            self._is_unfinished = self._resets_at_once
            row = world.step()
            if row != ALL_VALID:
                self._is_unfinished = False
                e, agent = divmod(row, self.config.num_agents)
                check_action(
                    rows.actions[row],
                    self.config.num_actions,
                    f"row {row} ({self.config.agents[agent]} of world {e})",
                )
            over = world.arrays.episode_over
            # Up to 50,000 worlds, searching bytes is faster than `any`.
            ended = self._looks_for_ends and 1 in over.tobytes()
            rewards, terminated, truncated = rows.copy_rewards(), rows.copy_terminated(), rows.copy_truncated()
            if ended and self._agents_leave:
                # Rows of agents that left earlier are truncated with their world, so that learners cut there.
                truncated |= (world.find_departed() & over[:, None]).ravel()
            infos: dict[str, Any] = {}
            if ended and self._resets_at_once:
                infos = rows.final_results(np.flatnonzero(over), with_metrics=self._reports_metrics)
                world.reset_ended()
            elif ended and self._reports_metrics:
                infos = rows.metrics(np.flatnonzero(over))
            infos |= rows.infos()
            self._is_unfinished = False
            return rows.observations(), rewards, terminated, truncated, infos
        finally:
            self._call = None

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
        indices = check_worlds(worlds, self.num_worlds)
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
        indices = check_worlds(worlds, self.num_worlds)
        if len(np.unique(indices)) < len(indices):
            raise ValueError(f"worlds are {indices.tolist()}; name each once")
        if isinstance(states, list | tuple):
            if len(states) != len(indices):
                raise ValueError(f"there are {len(states)} states; expected one for each of {len(indices)} worlds")
            states = list(states)
        before = self._recorded_seed()
        seeds = before.copy()
        seeds[indices] = np.maximum(seeds[indices], -1)
        self._record_seed(seeds, before)
        self._world.restore(indices, states)

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

    @one_at_a_time
    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the `multigrid.core.metrics` of all episodes: by agent (num_worlds, N), others (num_worlds,).

        Args:
            as_lists: return lists in place of arrays, as JSON needs them.
        """
        worlds = np.arange(self.num_worlds)
        self._check_have_reset(worlds)
        metrics = episode_metrics(self._world.measure(worlds))
        return make_lists(metrics) if as_lists else metrics

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute for each row, as Gymnasium's SyncVectorEnv does.

        Raises:
            AttributeError: there is none of this name.
        """
        return self.call(name)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of this env, called if it can be, for each row; streams and seeds by world.

        Raises:
            AttributeError: there is none of this name.
        """
        value = getattr(self, name)
        if callable(value):
            value = value(*args, **kwargs)
        if name in ("np_random", "np_random_seed"):
            return tuple(one for one in value for _ in range(self.config.num_agents))
        return value if name == "render" else (value,) * self.num_envs

    def close_extras(self, **_kwargs: Any) -> None:
        """Stop the threads, if there are any."""
        if hasattr(self, "_world"):  # Gymnasium 1.1 also closes an env whose constructor has raised
            self._world.close()
