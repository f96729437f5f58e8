r"""Planners: joint actions for all agents, computed by search over the cells of a map.

>>> problem = Problem("...\n...", starts=[[0, 0], [2, 0]], targets=[[2, 1], [0, 1]])
>>> solve(problem, "cbs").sum_of_costs
6
"""

from multigrid.planning.bounds import Bounds, bounds
from multigrid.planning.controllers import ControllerMethod, controller
from multigrid.planning.expert import expert
from multigrid.planning.plan import Plan
from multigrid.planning.problem import Problem
from multigrid.planning.solver import Method, solve

__all__ = ["Bounds", "ControllerMethod", "Method", "Plan", "Problem", "bounds", "controller", "expert", "solve"]
