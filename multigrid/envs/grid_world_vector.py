"""Gymnasium's documented GridWorld as a vector environment."""

from __future__ import annotations

from gymnasium.vector import AutoresetMode, VectorEnv

from multigrid._checks import check_int
from multigrid.config import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = ["GridWorldVectorEnv"]


class GridWorldVectorEnv(MultiGridVectorEnv):
    """Many of Gymnasium's documented GridWorlds: the class of ``gym.make_vec("multigrid/GridWorld-v0", num_envs=...)``.

    It returns, bit for bit, what Gymnasium's ``SyncVectorEnv`` of `multigrid.GridWorldEnv` returns.

    Args:
        num_envs: the number of environments.
        size: cells a side, at least 2.
        max_episode_steps: the number of steps after which an episode is truncated; None for never.
        autoreset_mode: as for `MultiGridVectorEnv`, and so are `render_mode`, `copy` and `num_threads`.

    >>> envs = GridWorldVectorEnv(num_envs=2)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["agent"].tolist(), infos["distance"].tolist()
    ([[4, 3], [2, 2]], [4.0, 3.0])
    """

    _info_names = ("distance",)
    _reports_metrics = False
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
    ) -> None:
        config = GridConfig(
            size=check_int("size", size, 2), num_agents=1, on_target="stay", max_cycles=max_episode_steps
        )
        super().__init__(
            config,
            check_int("num_envs", num_envs, 1),
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
            copy=copy,
            num_threads=num_threads,
        )
