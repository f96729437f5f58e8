"""N agents on one grid, as a PettingZoo AECEnv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pettingzoo.utils.conversions import parallel_to_aec

from multigrid.config import GridConfig
from multigrid.envs.parallel import parallel_env

if TYPE_CHECKING:
    from pettingzoo import AECEnv

__all__ = ["env"]


def env(config: GridConfig | None = None, *, render_mode: str | None = None, **settings: Any) -> AECEnv[str, Any, Any]:
    """Return `parallel_env` as an AECEnv, by PettingZoo's own conversion.

    Args:
        config: the world, or None to create it from the keywords.
        render_mode: as for `parallel_env`.
        settings: the other keywords of `parallel_env`.

    Raises:
        TypeError, ValueError: as `parallel_env`.

    >>> env(num_agents=2).possible_agents
    ['agent_0', 'agent_1']
    """
    return parallel_to_aec(parallel_env(config, render_mode=render_mode, **settings))
