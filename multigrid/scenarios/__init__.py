"""Save, record and replay path-finding problems; a suite of 36 problems comes with the package.

>>> import multigrid.scenarios
>>> scenario = multigrid.scenarios.get("rooms-17x13-8")
>>> observations, infos = scenario.env().reset()
"""

from multigrid.scenarios._recording import RecordEpisode, Step, replay
from multigrid.scenarios._scenario import ABSENT, SCHEMA_VERSION, Scenario, load, save
from multigrid.scenarios._suite import get, lower_bound, names
from multigrid.scenarios._worlds import find_world

__all__ = ["ABSENT", "SCHEMA_VERSION", "RecordEpisode", "Scenario", "Step"]
__all__ += ["find_world", "get", "load", "lower_bound", "names", "replay", "save"]
