"""The GridWorld of Gymnasium's tutorial as a vector environment, in two editions."""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from multigrid._checks import check_int, shorten
from multigrid.actions import ROW_COLUMN_ACTIONS
from multigrid.config import GridConfig
from multigrid.envs._factories import one_agent_error
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.rendering._frame import WINDOW_SIZE
from multigrid.rendering._scene import Scene, swap_axes

__all__ = ["GridWorldVectorEnv", "RowColumnGridWorldVectorEnv"]


class GridWorldVectorEnv(MultiGridVectorEnv):
    """A vector env whose results equal those of Gymnasium's ``SyncVectorEnv``.

    ``gymnasium.make_vec("multigrid/GridWorld-v0", num_envs=...)`` returns it, with ``"multigrid/GridWorld-v1"`` a
    `RowColumnGridWorldVectorEnv`, which has the axes of `RowColumnGridWorldEnv`.

    Args:
        num_envs: the number of environments.
        size: the side of each grid in cells, at least 2.
        max_episode_steps: episodes are truncated after this many steps; None for never.
        autoreset_mode: as for `MultiGridVectorEnv`; so are `render_mode`, `copy` and `num_threads`.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range. For windows and for wrappers of the single
            environments, ``gym.make_vec(..., vectorization_mode="sync")`` makes a ``SyncVectorEnv``.

    >>> envs = GridWorldVectorEnv(num_envs=2)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["agent"].tolist(), infos["distance"].tolist()
    ([[4, 3], [2, 2]], [4.0, 3.0])
    """

    _info_names = ("distance",)
    __repr__ = VectorEnv.__repr__

    def __init__(
        self,
        num_envs: int = 1,
        *,
        size: int = 5,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        copy: bool = True,
        num_threads: int = 1,
        **others: NoReturn,
    ) -> None:
        if others:
            names = [name for name in inspect.signature(GridWorldVectorEnv).parameters if name != "others"]
            raise one_agent_error(type(self).__name__, "vector_env", others, names)
        if isinstance(render_mode, str) and render_mode == "human":
            advice = "for windows, call make_vec with vectorization_mode='sync'"
            raise ValueError(f"render_mode is 'human'; expected None or 'rgb_array'; {advice}")
        size, num_envs = check_int("size", size, 2), check_int("num_envs", num_envs, 1)
        config = GridConfig(size=size, num_agents=1, on_target="stay", max_cycles=max_episode_steps)
        super().__init__(
            config,
            num_envs,
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
            copy=copy,
            num_threads=num_threads,
            metrics=False,
        )

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, as ``SyncVectorEnv.get_attr`` does.

        Args:
            name: "size", "window_size", "render_mode", "observation_space", "action_space", "np_random",
                "np_random_seed", "_agent_location" or "_target_location".

        Raises:
            AttributeError: another name.
            ResetNeeded: there was no reset yet, so that there are no locations.
        """
        same: dict[str, Any] = {"size": self.config.width, "window_size": WINDOW_SIZE, "render_mode": self.render_mode}
        same |= {"observation_space": self.single_observation_space, "action_space": self.single_action_space}
        if name in same:
            return (same[name],) * self.num_envs
        if name in ("np_random", "np_random_seed"):
            return tuple(getattr(self, name))
        if name in ("_agent_location", "_target_location"):
            cells = self.state().reshape(self.num_envs, 2, 2)[:, int(name == "_target_location")]
            cells.setflags(write=False)
            return tuple(cells)
        advice = "call make_vec with vectorization_mode='sync' to have them all"
        raise AttributeError(f"{type(self).__name__} has no attribute {shorten(name)} of its environments; {advice}")


class RowColumnGridWorldVectorEnv(GridWorldVectorEnv):
    """`GridWorldVectorEnv` with the axes of `RowColumnGridWorldEnv`.

    >>> envs = RowColumnGridWorldVectorEnv(num_envs=2)
    >>> _ = envs.reset(seed=0)
    >>> envs.step([0, 1])[0]["agent"].tolist()
    [[4, 4], [1, 2]]
    """

    def step(self, actions: Any) -> Any:
        """Play one step of every world, as `GridWorldVectorEnv.step`."""
        actions = np.asarray(actions)
        if actions.dtype.kind in "iu":
            # Others stay as they are, for the error.
            turned = np.array(ROW_COLUMN_ACTIONS, actions.dtype)[actions % 4]
            actions = np.where((actions >= 0) & (actions < 4), turned, actions)
        return super().step(actions)

    def _get_scene(self, world: int) -> Scene:
        return swap_axes(super()._get_scene(world))
