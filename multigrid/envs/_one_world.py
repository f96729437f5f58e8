"""The base of the environments of one world, `GridWorldEnv` and `MultiGridEnv`."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any, cast

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from multigrid._checks import check_seed, shorten
from multigrid.config import GridConfig
from multigrid.core.generators import is_compiled
from multigrid.core.metrics import make_lists, world_metrics
from multigrid.core.rules import NOT_BEGUN
from multigrid.core.worlds import Worlds
from multigrid.envs._annotations import State
from multigrid.envs._env_base import EnvBase, one_at_a_time
from multigrid.envs._levels import check_levels, join_rows, read_level
from multigrid.envs._reset_arguments import check_options, check_seeds, read_own
from multigrid.maps._levels import Level
from multigrid.rendering._frame import WINDOW_SIZE, Painter, check_render_options
from multigrid.rendering._scene import Scene, format_scene, scene_in
from multigrid.rendering._window import Window

# Writable, for Numba would compile the kernels again for a read-only array.
FIRST_WORLD = np.zeros(1, np.int64)


class OneWorld(EnvBase):
    """One world with its random stream, its state and its rendering."""

    metadata: dict[str, Any]
    _takes_any_generator = False

    def __init__(
        self, config: GridConfig, render_mode: str | None, options: tuple[int, int, int | None] = (WINDOW_SIZE, 0, None)
    ) -> None:
        # A copy, for wrappers of PettingZoo and Gymnasium's SyncVectorEnv write into the metadata of an env.
        self.metadata = copy.deepcopy(type(self).metadata)
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            expected = f"expected None or one of {', '.join(map(repr, modes))}"
            raise ValueError(f"render_mode is {shorten(render_mode)}; {expected}")
        self.render_mode = render_mode
        self._worlds = Worlds(config)
        self._render_options = check_render_options(config, *options)
        # The past locations that trails show, (N, 2) each.
        self._past_cells: deque[NDArray[np.int64]] = deque(maxlen=self._render_options.trails)
        self._painter: Painter | None = None
        self._window: Window | None = None
        self._bind_arrays()

    @property
    @one_at_a_time
    def acting(self) -> NDArray[np.bool_]:
        """Which agents' actions count, bool (N,): False for those that have left or are parked on their targets."""
        return self._worlds.find_acting()[0]  # type: ignore[no-any-return]

    @property
    @one_at_a_time
    def map_index(self) -> int:
        """The index in `GridConfig.is_wall` of the map that this episode is played on; 0 before the first reset."""
        return int(self._worlds.arrays.map_index[0])

    @property
    @one_at_a_time
    def map_walls(self) -> NDArray[np.bool_]:
        """The map that this episode is played on: bool (W, H), True at ``[x, y]`` for a wall."""
        walls: NDArray[np.bool_] = self._worlds.read_walls()[0]
        return walls

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        # What a step changes is copied at once, for the caller copies or pickles the returned dict later. A window and
        # a painter belong to this process and this object; a copy creates its own.
        now = {"_worlds": copy.copy(self._worlds), "_past_cells": self._past_cells.copy()}
        return {**vars(self), **now, "_window": None, "_painter": None, "_call": None, "_form": None}

    @property
    @one_at_a_time
    def np_random(self) -> np.random.Generator:
        """The generator that resets draw from; a seeded reset replaces it, and users may draw from it or replace it.

        It is a Generator over PCG64; that of a `GridWorldEnv` can be of any kind.
        """
        return self._worlds.get_generator(0)

    @np_random.setter
    @one_at_a_time
    def np_random(self, generator: np.random.Generator) -> None:
        if not isinstance(generator, np.random.Generator):
            raise TypeError(f"np_random is of type {type(generator).__name__}; expected a numpy.random.Generator")
        if not (self._takes_any_generator or is_compiled(generator)):
            what = f"{type(generator).__name__} over {type(generator.bit_generator).__name__}"
            raise ValueError(f"np_random is a {what}; expected a numpy.random.Generator over PCG64")
        self._worlds.set_generator(0, generator)

    @property
    @one_at_a_time
    def np_random_seed(self) -> int:
        """The seed of the stream; -1 if the generator was replaced, or an interrupted call may have seeded it.

        `set_state` keeps it; before the first reset it makes it -1.
        """
        self._worlds.ensure_seeds()
        return int(self._worlds.seeds[0])

    def _reset_world(self, seed: int | None, options: dict[str, Any] | None) -> None:
        if seed is None and options is None:
            self._worlds.reset_all()
            return
        maps, layouts = check_options(options, self.config, FIRST_WORLD)
        levels = check_levels((options or {}).get("level"), self._worlds, 1, "options['level']")
        rows = join_rows(levels, read_own(options, self._worlds, 1))
        self._worlds.reset(None, check_seeds(None if seed is None else check_seed(seed), 1), maps, layouts, rows)

    @property
    def _started(self) -> bool:
        return self._worlds.arrays.steps.item() != NOT_BEGUN

    def _check_started(self) -> None:
        if not self._started:
            raise ResetNeeded("there is no episode yet; call reset() first")

    @one_at_a_time
    def get_state(self) -> State:
        """Return a copy of the state of the episode and of the random stream; raise ResetNeeded without an episode."""
        self._check_started()
        return cast("State", self._worlds.snapshot(0))

    @one_at_a_time
    def set_state(self, state: State | dict[str, Any]) -> None:
        """Restore a state that `get_state` returned, of this env or another with the same configuration.

        Whether play can reach the state is not checked.

        Raises:
            TypeError, ValueError: this is no such state, or kernels could not play on from it; the env is unchanged.
        """
        self._restore(state)

    def _restore(self, state: State | dict[str, Any]) -> None:
        self._worlds.restore(FIRST_WORLD, [state])

    @one_at_a_time
    def get_level(self) -> Level:
        """Return what the episode began with: the map, and the cells and targets of its agents.

        Raises:
            ResetNeeded, ValueError: there is no episode, or the maps are not drawn.
        """
        self._check_started()
        return read_level(self._worlds, 0)

    @one_at_a_time
    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the metrics of the episode so far, as `multigrid.core.metrics.world_metrics` defines them.

        They are arrays, or with `as_lists` lists, as JSON needs them. Raises ResetNeeded without an episode.
        """
        self._check_started()
        metrics = world_metrics(self._worlds.measure(FIRST_WORLD), self._worlds.metrics)
        return make_lists(metrics) if as_lists else metrics

    def _update_window(self) -> None:
        """Show the frame of this state in human mode; called after each reset and step."""
        if self.render_mode == "human":
            self._window = self._window or Window(self.metadata["render_fps"])
            self._window.show(self._get_painter().surface(self._get_scene()))

    def _get_painter(self) -> Painter:
        self._painter = self._painter or Painter(self.config, *self._render_options)
        return self._painter

    def _get_scene(self) -> Scene:
        past = np.stack(self._past_cells) if self._past_cells else None
        return scene_in(self._worlds.config, self._worlds.arrays, 0, past)

    def _draw_frame(self) -> NDArray[np.uint8]:
        return self._get_painter().frame(self._get_scene())

    def _render_by_mode(self) -> NDArray[np.uint8] | str | None:
        """Return the frame or the text of this state, according to the render mode; None if it has neither."""
        if self.render_mode in {None, "human"}:
            return None
        self._check_started()
        return format_scene(self.config, self._get_scene()) if self.render_mode == "ansi" else self._draw_frame()

    def close(self) -> None:
        """Close the window, if there is one. The episode can be continued; closing twice is allowed."""
        if self._window is not None:
            self._window.close()
            self._window = None
