"""The GridWorld of Gymnasium's tutorial, exactly, and its generalisation to N agents.

``multigrid/GridWorld-v0`` is that of Gymnasium 0.26 to 1.2.2, ``multigrid/GridWorld-v1`` that since 1.2.3.

>>> import multigrid
>>> env = multigrid.parallel_env(num_agents=2, size=5)
>>> observations, infos = env.reset(seed=0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from multigrid._version import __version__ as __version__
from multigrid.registration import register_all

if TYPE_CHECKING:
    from multigrid import datasets, evaluation, games, maps, planning, policies, scenarios, testing, wrappers
    from multigrid._delays import Delays
    from multigrid.actions import Action, Outcome
    from multigrid.config import GridConfig, GridOptions
    from multigrid.envs._annotations import FlatObservation, Info, MaskedObservation, Observation, State, States
    from multigrid.envs._factories import env, parallel_env, vector_env
    from multigrid.envs.grid_world import GridWorldEnv, RowColumnGridWorldEnv
    from multigrid.envs.parallel import MultiGridEnv
    from multigrid.envs.vector import MultiGridVectorEnv
    from multigrid.evaluation._cross_play import cross_play
    from multigrid.evaluation._match import match
    from multigrid.evaluation._playing import evaluate
    from multigrid.game import Game
    from multigrid.games._registry import register
    from multigrid.parts import PartSpec
    from multigrid.scenarios._replay_page import show_episode
    from multigrid.words import describe, parse_action

__all__ = [
    "Action", "Delays", "FlatObservation", "Game", "GridConfig", "GridOptions", "GridWorldEnv", "Info",
    "MaskedObservation", "MultiGridEnv", "MultiGridVectorEnv", "Observation", "Outcome", "PartSpec",
    "RowColumnGridWorldEnv", "State", "States", "cross_play", "datasets", "describe", "env", "evaluate", "evaluation",
    "games", "maps", "match", "parallel_env", "parse_action", "planning", "policies", "register", "scenarios",
    "show_episode", "testing", "vector_env", "wrappers",
]  # fmt: skip

# A module is imported when one of its names is first used: the environments import Numba.
_NAMES = {
    "_delays": "Delays",
    "actions": "Action Outcome",
    "config": "GridConfig GridOptions",
    "envs._annotations": "FlatObservation Info MaskedObservation Observation State States",
    "envs._factories": "env parallel_env vector_env",
    "envs.grid_world": "GridWorldEnv RowColumnGridWorldEnv",
    "envs.parallel": "MultiGridEnv",
    "envs.vector": "MultiGridVectorEnv",
    "evaluation._cross_play": "cross_play",
    "evaluation._match": "match",
    "evaluation._playing": "evaluate",
    "game": "Game",
    "games._registry": "register",
    "parts": "PartSpec",
    "scenarios._replay_page": "show_episode",
    "words": "describe parse_action",
}
_MODULES = {name: f"multigrid.{module}" for module, names in _NAMES.items() for name in names.split()}
_SUBPACKAGES = ("datasets", "evaluation", "games", "maps", "planning", "policies", "scenarios", "testing", "wrappers")


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"multigrid.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'multigrid' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_all()
