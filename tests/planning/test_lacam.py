"""LaCAM*: its anytime behaviour, and the search of configurations alone, without the improvement of paths."""

import numpy as np
import pytest
from judging import judge, problem_with_optimum, random_problem

from multigrid.core.rules import LEAVE, STAY
from multigrid.planning import Problem, solve
from multigrid.planning._expansion import (
    GOAL,
    NO_BOUND,
    NONE,
    TOP,
    add_start,
    expand,
    make_nodes,
    make_room,
    trace_back,
)
from multigrid.planning._graph import build_graph, distance_tables
from multigrid.planning._kernels import make_generator
from multigrid.planning._lacam import Improver, search
from multigrid.planning._path_search import NO_PATH, enter, find_path, make_timetable
from multigrid.planning._pibt import make_team
from multigrid.planning._search import Budget, SearchProblem, count_costs


def exhaust(problem, seed=0):
    """Search all configurations of a problem, and return the smallest cost that LaCAM* finds, or None."""
    graph = build_graph(problem.walls)
    starts, goals = (graph.index[tuple(cells.T)] for cells in (problem.starts, problem.targets))
    team = make_team(graph.neighbours, distance_tables(graph.neighbours, goals), goals, problem.on_target, seed)
    team.now[:] = starts
    nodes = make_nodes(len(starts))
    add_start(nodes, team)
    while nodes.state[TOP] != NONE:
        nodes = make_room(nodes, 1001)
        expand(nodes, team, NO_BOUND, 1000)
    if nodes.state[GOAL] == NONE:
        return None
    paths = trace_back(nodes)
    costs = count_costs(paths, goals, problem.on_target)
    assert costs.sum() >= nodes.cost[nodes.state[GOAL]]
    return int(nodes.cost[nodes.state[GOAL]])


@pytest.mark.parametrize("rule", ["park", "leave"])
def test_all_configurations_give_the_optimum(rule):
    """Under "park" and "leave" the search alone, which ends by itself, finds the smallest sum of costs."""
    for seed in range(6):
        problem, best = problem_with_optimum(seed, 2, rule)
        assert exhaust(problem) == best


def test_all_configurations_give_a_bound():
    """Under "stay" the search alone finds no more than the smallest sum of costs, and a plan where there is one."""
    for seed in range(6):
        problem, best = problem_with_optimum(seed, 2, "stay")
        found = exhaust(problem)
        assert (found is None) == (best is None)
        assert best is None or found <= best
    # An agent that leaves its target for another one pays for the steps before that only by the sum of costs.
    passage = Problem("......\n###.##", starts=[[0, 0], [3, 0]], targets=[[5, 0], [3, 0]])
    assert exhaust(passage) < solve(passage, "cbs", time_limit=None).sum_of_costs


def test_an_interruption_returns_the_best_plan(monkeypatch):
    """Ctrl-C during the improvement returns the plan so far; before there is one, it raises KeyboardInterrupt."""
    problem = random_problem(3, 12, 9, 20)
    first = solve(problem, "lacam", time_limit=None, max_expansions=60)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Improver, "run", interrupt)
    plan = solve(problem, "lacam", time_limit=None)
    judge(problem, plan)
    assert plan.status == "feasible"
    assert plan.sum_of_costs >= first.sum_of_costs
    monkeypatch.setattr("multigrid.planning._lacam.expand", interrupt)
    with pytest.raises(KeyboardInterrupt):
        solve(problem, "lacam", time_limit=None)


@pytest.mark.parametrize("rule", ["stay", "park", "leave"])
def test_the_improvement_keeps_to_the_rules(rule):
    """However often groups are searched again, costs never rise, and the plan that is written has them."""
    problem = random_problem(8, 9, 7, 5 if rule == "park" else 12, on_target=rule)
    graph = build_graph(problem.walls)
    starts, goals = (graph.index[tuple(cells.T)] for cells in (problem.starts, problem.targets))
    budget = Budget(time_limit=None, max_expansions=3000)
    found = search(SearchProblem(graph, starts, goals, rule, None), budget.start(), seed=1)
    team = make_team(graph.neighbours, distance_tables(graph.neighbours, goals), goals, rule)
    improver = Improver(team, rule, horizon=None, seed=2)
    # The plan after a long detour: everybody waits at first.
    late = np.concatenate([np.repeat(found.paths[:1], 7, axis=0), found.paths])
    assert improver.load(late)
    sums = [count_costs(late, goals, rule).sum()]
    for _ in range(40):
        improver.run(10)
        assert improver.costs().tolist() == count_costs(improver.paths(), goals, rule).tolist()
        sums.append(improver.costs().sum())
    assert sums == sorted(sums, reverse=True)
    assert found.lower_bound <= sums[-1] < sums[0] - 7


def test_the_speed_of_the_machine_changes_nothing(monkeypatch):
    """However often the search reads the clock, the same number of expansions gives the same plan."""
    for seed in range(3):
        problem = random_problem(seed, 8, 6, 12)
        plans = []
        for seconds in (-1.0, np.inf):  # one expansion between two looks, or twice as many each time
            monkeypatch.setattr("multigrid.planning._search._SHORTEST_CHUNK", seconds)
            plan = solve(problem, "lacam", time_limit=None, max_expansions=700, seed=seed)
            plans.append((plan.status, plan.lower_bound, plan.actions.tobytes()))
        assert plans[0] == plans[1]


def test_who_has_left_blocks_no_path():
    """Under *leave*, the target of an agent is free for others one step after its arrival; under *stay* it is not."""
    graph = build_graph(np.zeros((4, 1), bool))
    goals = np.array([2, 3], np.int32)
    for rule, arrival in ((LEAVE, 3), (STAY, NO_PATH)):
        team = make_team(graph.neighbours, distance_tables(graph.neighbours, goals), goals, "stay")
        table = make_timetable(team, rule, 6, make_generator(0))
        table.paths[:, :2], table.costs[0] = [[1, 2], [0, 0]], 1
        enter(table, 0)
        assert find_path(table, 1, 6) == arrival
