"""N agents on one grid, as a PettingZoo AECEnv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pettingzoo.utils.conversions import parallel_to_aec
from typing_extensions import Unpack

from multigrid.config import GridConfig, GridOptions
from multigrid.envs.annotations import ObservationType
from multigrid.envs.options import resolve_options, show_fields
from multigrid.envs.parallel import MultiGridEnv
from multigrid.rendering.frame import WINDOW_SIZE

if TYPE_CHECKING:
    from pettingzoo import AECEnv

__all__ = ["env"]


@show_fields
def env(
    config: GridConfig | None = None,
    *,
    render_mode: str | None = None,
    render_size: int = WINDOW_SIZE,
    render_trails: int = 0,
    render_view: int | None = None,
    **options: Unpack[GridOptions],
) -> AECEnv[str, ObservationType, Any]:
    """Return `parallel_env` as an AECEnv, by PettingZoo's own conversion.

    The keywords are those of `parallel_env`.

    Raises:
        TypeError, ValueError: as `parallel_env`.

    >>> env(num_agents=2).possible_agents
    ['agent_0', 'agent_1']
    """
    config = resolve_options(env, config, options)
    return parallel_to_aec(
        MultiGridEnv(config, render_mode, render_size=render_size, render_trails=render_trails, render_view=render_view)
    )
