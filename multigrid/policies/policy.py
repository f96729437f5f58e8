"""The type of policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from multigrid.envs.parallel import MultiGridEnv

__all__ = ["Policy"]

Policy: TypeAlias = Callable[[MultiGridEnv, dict[str, Any]], dict[str, int]]
"""From an environment and its last observations to an action for each agent in ``env.agents``."""
