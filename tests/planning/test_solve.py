"""Plans of every method, under every rule, judged by a judge of its own, by the environment and by the optimum."""

import dataclasses
import math

import numpy as np
import pytest
from judging import judge, problem_with_optimum, random_problem, smallest_sum_of_costs
from pettingzoo.utils import BaseParallelWrapper

import multigrid
from multigrid import GridConfig, MultiGridEnv, Outcome
from multigrid.planning import Problem, _lacam, bounds, solve
from multigrid.scenarios import Scenario

METHODS = ("pibt", "lacam", "cbs")
RULES = ("stay", "park", "leave")
# A corridor with one bay: two agents have to exchange their ends. Without the bay they cannot.
BAY = Problem(".....\n##.##", starts=[[0, 0], [4, 0]], targets=[[4, 0], [0, 0]])
CORRIDOR = Problem(".....\n#####", starts=[[0, 0], [4, 0]], targets=[[4, 0], [0, 0]])


def play(env, plan):
    """Play a plan in an environment that was reset, to the end of the episode, and return the metrics."""
    for actions, cells in zip(plan.actions, plan.cells[1:], strict=True):
        *_, infos = env.step({agent: actions[env.possible_agents.index(agent)] for agent in env.agents})
        assert {info["outcome"] for info in infos.values()} <= {Outcome.MOVED, Outcome.STAYED, Outcome.PARKED}
        here = (cells >= 0).all(axis=1)
        assert (env.get_state()["location"][here] == cells[here]).all()
    return env.metrics()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_plans_are_plans(method, rule):
    """A plan keeps all rules, whatever its seed's size; the environment, which plays it, has the plan's metrics."""
    solved = 0
    for seed in range(6):
        collisions = ("symmetric", "soft")[seed % 2]
        problem = random_problem(seed, 6, 5, 5, on_target=rule, collisions=collisions, max_cycles=40)
        plan = solve(problem, method, time_limit=None, max_expansions=300, seed=seed + 2**70 * (seed > 3))
        judge(problem, plan)
        if plan.actions is not None:
            solved += 1
            env = multigrid.parallel_env(problem.config)
            env.reset(options={"agents": problem.starts, "targets": problem.targets})
            metrics = play(env, plan)
            assert [metrics[name] for name in ("csr", "sum_of_costs", "makespan")] == [
                1,
                plan.sum_of_costs,
                plan.makespan,
            ]
    assert solved >= 3


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_the_optimum(method, rule):
    """No bound is above the smallest sum of costs, what is called optimal has it, and unsolvable is what has none."""
    statuses = set()
    for seed in range(6):
        problem, best = problem_with_optimum(seed, 2 + seed % 2, rule)
        plan = solve(problem, method, time_limit=None, max_expansions=1500, seed=seed)
        judge(problem, plan)
        statuses.add(plan.status)
        if best is None:
            assert plan.status in ("unknown", "unsolvable")
        else:
            assert plan.lower_bound <= best
            assert plan.status != "unsolvable"
            assert plan.status != "optimal" or plan.sum_of_costs == best
    assert "optimal" in statuses


def test_a_corridor():
    """Agents swap their places at a bay, in the smallest number of steps; without one, that is found impossible."""
    for method, statuses in (("lacam", ["feasible", "optimal"]), ("cbs", ["optimal"]), ("pibt", ["feasible"])):
        plan = solve(BAY, method, time_limit=None, max_expansions=3000)
        judge(BAY, plan)
        assert plan.status in statuses
        assert method == "pibt" or plan.sum_of_costs == smallest_sum_of_costs(BAY)
    plan = solve(CORRIDOR, "lacam", time_limit=None)
    assert (plan.status, plan.actions, np.isnan(plan.gap)) == ("unsolvable", None, True)
    assert solve(CORRIDOR, "pibt").status == "unknown"


@pytest.mark.parametrize("method", METHODS)
def test_a_horizon(method):
    """A plan with a larger makespan than max_cycles is never returned, and one that has it is."""
    makespan = solve(BAY, "cbs", time_limit=None).makespan
    for horizon in (makespan, 3, 5):
        problem = dataclasses.replace(BAY, max_cycles=horizon)
        plan = solve(problem, method, time_limit=None, max_expansions=2000)
        judge(problem, plan)
        assert horizon == makespan or plan.actions is None
    assert smallest_sum_of_costs(problem) is None


@pytest.mark.parametrize("method", METHODS)
def test_starts_on_targets(method):
    """Under "stay" agents may start on their targets, where they pay for one step, or make way and come back."""
    problem = Problem("...\n...", starts=[[0, 0], [2, 1]], targets=[[0, 0], [2, 1]])
    plan = solve(problem, method)
    judge(problem, plan)
    assert (plan.status, plan.sum_of_costs, plan.makespan) == ("optimal", 2, 1)
    way = Problem("....\n#.##", starts=[[0, 0], [1, 0]], targets=[[3, 0], [1, 0]])
    plan = solve(way, method, max_expansions=1000)
    judge(way, plan)
    assert method != "cbs" or plan.sum_of_costs == smallest_sum_of_costs(way)


@pytest.mark.parametrize("rule", RULES)
def test_agents_pass_through_one_another(rule):
    """Under collisions="none", every agent takes its shortest path, and that is optimal."""
    problem = dataclasses.replace(CORRIDOR, collisions="none", on_target=rule)
    plan = solve(problem)
    judge(problem, plan)
    assert (plan.status, plan.sum_of_costs, plan.makespan) == ("optimal", 8, 4)
    assert solve(dataclasses.replace(problem, max_cycles=3)).status == "unsolvable"
    assert solve(dataclasses.replace(problem, allow_stay=False)).sum_of_costs == 8


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_from_the_middle_of_an_episode(method, rule):
    """An environment, also a wrapped one, is planned for from its present state, for the cycles that are left."""
    walls = "......\n.####.\n......"
    env = multigrid.parallel_env(walls=walls, num_agents=3, on_target=rule, allow_stay=True, max_cycles=30)
    env.reset(options={"agents": [[0, 0], [3, 0], [5, 2]], "targets": [[1, 0], [4, 2], [0, 0]]})
    env.step({"agent_0": 0, "agent_1": 4, "agent_2": 2})
    inside, outside = Problem.of(env), Problem.of(BaseParallelWrapper(env))
    assert inside.max_cycles == outside.max_cycles == 29
    assert inside.starts.tolist() == outside.starts.tolist() == [[1, 0], [3, 0], [4, 2]]
    # A limit below the steps so far leaves one step, which the environment still plays.
    env.max_cycles = 1
    assert Problem.of(env).max_cycles == 1
    assert solve(env, method).actions is None
    env.max_cycles = 30
    plan = solve(env, method, max_expansions=500)
    assert plan.actions.shape[1] == 3
    assert play(env, plan)["csr"] == 1
    assert not env.agents or rule != "leave"
    with pytest.raises(ValueError, match="the episode is over; call reset"):
        solve(env, method)


def test_a_parked_agent_in_the_way():
    """If an agent that has parked cuts another one off, there is no plan."""
    env = multigrid.parallel_env(walls="....\n####", num_agents=2, on_target="park", allow_stay=True)
    env.reset(options={"agents": [[1, 0], [0, 0]], "targets": [[2, 0], [3, 0]]})
    env.step({"agent_0": 0, "agent_1": 4})
    for method in METHODS:
        assert solve(env, method).status == "unsolvable"


def test_what_a_problem_can_be_made_of():
    """An environment, a scenario, a configuration with a layout and a problem give the same problem."""
    config = GridConfig(walls="a..\n.b.\nB.A", on_target="leave", allow_stay=True, max_cycles=50)
    env = multigrid.parallel_env(config)
    env.reset()
    for source in (env, config, Scenario("it", config)):
        problem = Problem.of(source)
        assert (problem.starts.tolist(), problem.targets.tolist()) == ([[0, 0], [1, 1]], [[2, 2], [0, 2]])
        assert Problem.of(problem) is problem
        assert problem.config == dataclasses.replace(config, walls=problem.walls, num_agents=2)
        assert not problem.starts.flags.writeable


def test_deterministic_and_never_worse():
    """The same seed and number of expansions give the same plan, and more of them never a worse one."""
    problem = random_problem(3, 12, 9, 20)
    costs = []
    for most in (30, 100, 300, 1000):
        plan, again = (solve(problem, "lacam", time_limit=None, max_expansions=most, seed=5) for _ in range(2))
        judge(problem, plan)
        assert plan.expansions <= most
        assert (plan.actions.tobytes(), plan.lower_bound) == (again.actions.tobytes(), again.lower_bound)
        costs.append(plan.sum_of_costs)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_no_time_is_no_plan():
    """Without time or expansions no plan is found, and the status is *unknown*."""
    problem = random_problem(3, 12, 9, 20)
    for budget in ({"time_limit": 0}, {"time_limit": None, "max_expansions": 0}):
        for method in METHODS:
            assert solve(problem, method, **budget).status == "unknown"


@pytest.mark.parametrize(
    ("starts", "targets", "message"),
    [
        ([[1, 0]], [[0, 0]], r"the location of agent_0 in agents is \[1, 0\], which is a wall"),
        ([[0, 0]], [[2, 0]], "agent_0 at .* cannot reach its target"),
        ([[0, 0], [0, 0]], [[0, 1], [0, 2]], "agent_0 and agent_1 in agents have the same location"),
        ([[0, 0], [0, 2]], [[0, 1], [0, 1]], "agent_0 and agent_1 in targets have the same target"),
        ([[0, 9]], [[0, 1]], "outside the 3 x 3 grid"),
        ([[0, 0]] * 8, [[0, 1]] * 8, "num_agents is 8, but the map"),
    ],
)
def test_bad_layouts(starts, targets, message):
    """A layout that the environment refuses is refused with its words."""
    with pytest.raises(ValueError, match=message):
        Problem(".#.\n.#.\n.#.", starts, targets)


GOOD = {"walls": "...", "starts": [[0, 0]], "targets": [[2, 0]]}
PARKED = {"starts": [[0, 0], [1, 0]], "targets": [[1, 0], [2, 0]], "on_target": "park", "arrived": [False, True]}


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"on_target": "restart"}, ValueError, "on_target is 'restart'"),
        ({"targets": [[0, 0]], "on_target": "park"}, ValueError, "starts on its own target"),
        ({"collisions": "polite"}, ValueError, "collisions is 'polite'; expected one of"),
        ({"on_target": "park", "arrived": [True, False]}, ValueError, r"arrived is .*; expected bools"),
        ({"on_target": "park", "arrived": [[True], [True, False]]}, ValueError, "expected bools"),
        ({"on_target": "park", "arrived": [True]}, ValueError, "arrived has all agents"),
        ({"walls": np.zeros((2, 3, 3), bool)}, ValueError, "walls has 2 maps; expected one"),
        ({"starts": [[0.5, 0]]}, TypeError, "starts is of float64"),
        ({"walls": None}, TypeError, "expected"),
        ({"starts": None}, TypeError, "expected"),
        ({"starts": 3}, TypeError, "expected"),
        ({"starts": [["a", "b"]]}, TypeError, "expected"),
        ({"targets": [[0.5, 1]]}, TypeError, "expected"),
        # The cells of agents that have parked are checked, too.
        ({**PARKED, "starts": [[0, 0], [0.5, 0]]}, TypeError, "starts is of float64"),
        ({**PARKED, "starts": [[0, 0], [9, 0]]}, ValueError, "agent"),
    ],
)
def test_bad_problems(fields, error, message):
    """Fields that are not as described are refused, with what was expected."""
    with pytest.raises(error, match=message):
        Problem(**{**GOOD, **fields})


APART = Problem("....\n....", [[0, 0], [0, 1]], [[1, 0], [3, 1]], allow_stay=False)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (7, TypeError, "the problem is of type int"),
        (multigrid.vector_env(1, walls="a.A"), TypeError, "the problem is of type"),
        (multigrid.GridWorldEnv(), TypeError, "the problem is of type"),
        (GridConfig(size=4), ValueError, "the configuration has no layout"),
        (multigrid.parallel_env(on_target="leave"), Exception, "call reset"),
        (Problem(**GOOD, collisions="priority"), ValueError, "collisions is 'priority', which no method supports"),
        (Problem(**GOOD, collisions="block_both"), ValueError, "collisions is 'block_both', which no method supports"),
        (APART, ValueError, r"agent_0 waits in step 2 .* allow_stay"),
    ],
)
def test_what_cannot_be_planned_for(source, error, message):
    """It is refused by name, also by `bounds`, which plans as if agents could stay."""
    for function in (solve,) if source is APART else (solve, bounds):
        with pytest.raises(error, match=message):
            function(source)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "dijkstra"}, ValueError, "method is 'dijkstra'; expected one of"),
        ({"time_limit": -1}, ValueError, "time_limit is -1; expected a number of seconds"),
        ({"time_limit": np.nan}, ValueError, "time_limit is nan; expected a number of seconds"),
        ({"time_limit": 10**400}, ValueError, "time_limit is .*; expected a number of seconds"),
        *(
            ({"time_limit": odd}, TypeError, "time_limit is .* of type .*; expected a number")
            for odd in ("5", True, [1], 1j)
        ),
        ({"max_expansions": -1}, ValueError, "max_expansions is -1"),
        ({"seed": -1}, ValueError, "seed"),
    ],
)
def test_bad_arguments(arguments, error, message):
    """Arguments of `solve` and `bounds` that are not as described are refused."""
    for function in (solve,) if "method" in arguments else (solve, bounds):
        with pytest.raises(error, match=message):
            function(BAY, **arguments)


def test_a_proven_optimum_is_called_optimal():
    """A plan whose sum of costs is the lower bound is optimal, whatever method has found it."""
    plan = solve(Problem("....", starts=[[0, 0]], targets=[[3, 0]]), "pibt")
    assert (plan.status, plan.gap, plan.sum_of_costs) == ("optimal", 0, 3)
    assert repr(plan).startswith("Plan('optimal', sum_of_costs=3, makespan=3, lower_bound=3")


def test_conflict_based_search_never_loses_a_plan():
    """With more expansions, the plan so far stays, also when the search goes on with other groups of agents."""
    problem = random_problem(222, 7, 6, 9, on_target="leave")
    costs = [solve(problem, "cbs", None, 1, most).sum_of_costs or np.inf for most in range(5, 13)]
    assert min(costs) < np.inf
    assert costs == sorted(costs, reverse=True)


def test_a_plan_that_the_game_refuses(monkeypatch):
    """If a search gives paths with a conflict, or wrong arrivals, that is an internal error, and no plan."""
    search = _lacam.search

    def swap(instance):
        return np.array([instance.graph.index[[x, 4 - x], 0] for x in range(5)])

    def stand_still(instance):
        return np.stack([instance.starts] * 3)

    for walk, message in ((swap, "the game refuses a move in step"), (stand_still, "the plan has arrivals in")):
        monkeypatch.setattr(_lacam, "search", lambda *given, walk=walk: search(*given)._replace(paths=walk(given[0])))
        with pytest.raises(RuntimeError, match=f"internal error: {message}"):
            solve(BAY, "lacam", max_expansions=100)


def test_agents_in_one_cell_are_planned_for():
    """Without collisions, agents that have come to one cell each take their shortest path from there."""
    env = MultiGridEnv(GridConfig(walls="a.bA\n#..B", collisions="none", on_target="stay", allow_stay=True))
    env.reset()
    env.step({"agent_0": 0, "agent_1": 2})
    assert Problem.of(env).starts.tolist() == [[1, 0], [1, 0]]
    assert solve(env, "cbs").sum_of_costs == 2 + 3
    with pytest.raises(ValueError, match="agent"):
        Problem("...", starts=[[0, 0], [0, 0]], targets=[[1, 0], [2, 0]], collisions="none")


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_lies_between_the_bounds(rule):
    """On small worlds the bounds meet, at infinity without a plan; where agents cannot stay, none is from above."""
    optima = set()
    for seed in range(6):
        problem, optimum = problem_with_optimum(seed, 2, rule)
        expected = math.inf if optimum is None else optimum
        lower, upper = bounds(problem, time_limit=None, max_expansions=3)
        assert upper == math.inf or lower <= expected <= upper
        assert lower == math.inf or lower <= expected
        assert bounds(problem, time_limit=None) == (expected, expected)
        assert bounds(dataclasses.replace(problem, allow_stay=False), time_limit=None) == (expected, math.inf)
        optima.add(expected)
    assert len(optima) > 2
