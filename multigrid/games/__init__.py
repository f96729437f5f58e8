"""What the functions of a game use, and the environments of games by their ids.

Importing it registers the ids of rware, lbforaging, minigrid and Overcooked with Gymnasium, such as
``multigrid/rware-tiny-2ag-v2``.
"""

from multigrid.core.arrays import LEFT, PARKED, TRAVELLING
from multigrid.core.draws import choose, draw_float, draw_free_cell, draw_integer, is_free, is_present, shuffle
from multigrid.core.hooks import end_episode
from multigrid.core.rules import STEPS as DIRECTIONS
from multigrid.games._registry import find_config as config
from multigrid.games._registry import make_aec as env
from multigrid.games._registry import make_parallel as parallel_env
from multigrid.games._registry import make_vector as vector_env
from multigrid.games._registry import register_originals
from multigrid.games.minigrid._envs import missions
from multigrid.rendering._scene import Badge, Mark
from multigrid.runtime.tables import KEPT, SCRATCH

__all__ = [
    "DIRECTIONS", "KEPT", "LEFT", "PARKED", "SCRATCH", "TRAVELLING", "Badge", "Mark", "choose", "config",
    "draw_float", "draw_free_cell", "draw_integer", "end_episode", "env", "is_free", "is_present", "missions",
    "parallel_env", "shuffle", "vector_env",
]  # fmt: skip

register_originals()
