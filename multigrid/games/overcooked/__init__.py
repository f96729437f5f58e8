"""Overcooked: cooks fill pots, and serve the soups that were ordered."""

from multigrid.games.overcooked._game import Overcooked
from multigrid.games.overcooked._layouts import Dynamics
from multigrid.games.overcooked._names import LAYOUTS
from multigrid.games.overcooked._rules import EVENTS

__all__ = ["EVENTS", "LAYOUTS", "Dynamics", "Overcooked"]
