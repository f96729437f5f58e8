"""Overcooked: cooks fill pots, and serve the soups that were ordered."""

from multigrid.games.overcooked._game import Overcooked
from multigrid.games.overcooked._layouts import Dynamics
from multigrid.games.overcooked._names import LAYOUTS
from multigrid.games.overcooked._potential import potential
from multigrid.games.overcooked._rules import EVENTS
from multigrid.games.overcooked._v2 import OvercookedV2
from multigrid.games.overcooked._v2_layouts import LAYOUTS as V2_LAYOUTS

__all__ = ["EVENTS", "LAYOUTS", "V2_LAYOUTS", "Dynamics", "Overcooked", "OvercookedV2", "potential"]
