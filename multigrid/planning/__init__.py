r"""Planners: joint actions for all agents, computed by search over the cells of a map.

>>> problem = Problem("...\n...", starts=[[0, 0], [2, 0]], targets=[[2, 1], [0, 1]])
>>> solve(problem, "cbs").sum_of_costs
6
"""

from multigrid.planning._controllers import ControllerMethod, controller, expert
from multigrid.planning._executor import Executor
from multigrid.planning._problem import Problem
from multigrid.planning._solver import Bounds, Method, Plan, bounds, solve

__all__ = [
    "Bounds", "ControllerMethod", "Executor", "Method", "Plan", "Problem", "bounds", "controller", "expert", "solve",
]  # fmt: skip
