"""Datasets of episodes in the form of Minari, for imitation and offline learning; they need the extra "datasets".

Each agent's part of a world's episode is one of Minari's episodes, here called a row: see `record`.
"""

from multigrid.datasets._recipe import Recipe, read_recipe
from multigrid.datasets._recording import record, record_episodes, regenerate, verify
from multigrid.evaluation._playing import VectorPolicy

__all__ = ["Recipe", "VectorPolicy", "read_recipe", "record", "record_episodes", "regenerate", "verify"]
