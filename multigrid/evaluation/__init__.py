"""Evaluate policies over episodes, with 95 % confidence intervals, and compare them in pairs.

>>> from multigrid import GridConfig
>>> config = GridConfig(walls="a..A", max_cycles=9)
>>> evaluate(config, lambda env, observations: {"agent_0": 0}, seeds=range(4))["makespan"].mean
3.0
"""

from multigrid.evaluation._cross_play import CrossPlay, Estimates, Scores
from multigrid.evaluation._cross_play import cross_play as cross_play
from multigrid.evaluation._estimates import Estimate, LowerBounds
from multigrid.evaluation._match import Match
from multigrid.evaluation._match import match as match
from multigrid.evaluation._playing import evaluate as evaluate
from multigrid.evaluation._results import Difference, Evaluation

__all__ = ["CrossPlay", "Difference", "Estimate", "Estimates", "Evaluation", "LowerBounds", "Match", "Scores"]
