"""Plans of every method, under every rule, judged by a judge of its own, by the environment and by the optimum."""

import dataclasses
import math

import numpy as np
import pytest
from judging import judge, problem_with_optimum, random_problem, smallest_sum_of_costs
from pettingzoo.utils import BaseParallelWrapper

import multigrid
from multigrid import GridConfig, MultiGridEnv
from multigrid.planning import Problem, bounds, solve
from multigrid.scenarios import Scenario

METHODS = ("pibt", "lacam", "cbs")
RULES = ("stay", "park", "leave")
# A corridor with one bay: two agents have to exchange their ends.
BAY = Problem(".....\n##.##", starts=[[0, 0], [4, 0]], targets=[[4, 0], [0, 0]])
# Without the bay they cannot.
CORRIDOR = Problem(".....\n#####", starts=[[0, 0], [4, 0]], targets=[[4, 0], [0, 0]])


def play(env, plan):
    """Play a plan in an environment that was reset, to the end of the episode, and return the metrics."""
    for step, actions in enumerate(plan.actions):
        assert env.agents
        present = [env.possible_agents.index(agent) for agent in env.agents]
        _, _, _, _, infos = env.step({agent: actions[index] for agent, index in zip(env.agents, present, strict=True)})
        assert {info["outcome"] for info in infos.values()} <= {
            multigrid.Outcome.MOVED, multigrid.Outcome.STAYED, multigrid.Outcome.PARKED,
        }, step  # fmt: skip
        left = ~(plan.cells[step + 1] >= 0).all(axis=1)
        locations = env.get_state()["location"]
        assert (locations[~left] == plan.cells[step + 1][~left]).all()
    return env.metrics()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_plans_are_plans(method, rule):
    """A plan keeps all rules; the environment, which plays it, has the plan's metrics."""
    solved = 0
    for seed in range(6):
        collisions = ("symmetric", "soft")[seed % 2]
        problem = random_problem(seed, 6, 5, 5, on_target=rule, collisions=collisions, max_cycles=40)
        plan = solve(problem, method, time_limit=None, max_expansions=300, seed=seed)
        judge(problem, plan)
        if plan.actions is not None:
            solved += 1
            env = multigrid.parallel_env(problem.config)
            env.reset(options={"agents": problem.starts, "targets": problem.targets})
            metrics = play(env, plan)
            assert (metrics["csr"], metrics["sum_of_costs"], metrics["makespan"]) == (
                1, plan.sum_of_costs, plan.makespan,
            )  # fmt: skip
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
    best = smallest_sum_of_costs(BAY)
    for method in ("lacam", "cbs"):
        plan = solve(BAY, method, time_limit=None, max_expansions=3000)
        judge(BAY, plan)
        assert plan.sum_of_costs == best
    plan = solve(BAY, "pibt")
    judge(BAY, plan)
    assert plan.status == "feasible"
    assert smallest_sum_of_costs(CORRIDOR) is None
    plan = solve(CORRIDOR, "lacam", time_limit=None)
    assert (plan.status, plan.actions, np.isnan(plan.gap)) == ("unsolvable", None, True)
    assert solve(CORRIDOR, "pibt").status == "unknown"


@pytest.mark.parametrize("method", METHODS)
def test_a_horizon(method):
    """A plan with a larger makespan than max_cycles is never returned, and one that has it is."""
    free = solve(BAY, "cbs", time_limit=None)
    short = Problem(BAY.walls, BAY.starts, BAY.targets, max_cycles=free.makespan)
    plan = solve(short, method, time_limit=None, max_expansions=2000)
    judge(short, plan)
    too_short = Problem(BAY.walls, BAY.starts, BAY.targets, max_cycles=3)
    assert solve(too_short, method, time_limit=None, max_expansions=2000).actions is None
    late = Problem(BAY.walls, BAY.starts, BAY.targets, max_cycles=5)
    assert solve(late, method, time_limit=None, max_expansions=500).actions is None
    assert smallest_sum_of_costs(late) is None


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
    if method == "cbs":
        assert plan.sum_of_costs == smallest_sum_of_costs(way)


@pytest.mark.parametrize("rule", RULES)
def test_agents_pass_through_one_another(rule):
    """Under collisions="none", every agent takes its shortest path, and that is optimal."""
    problem = Problem(CORRIDOR.walls, CORRIDOR.starts, CORRIDOR.targets, collisions="none", on_target=rule)
    plan = solve(problem)
    judge(problem, plan)
    assert (plan.status, plan.sum_of_costs, plan.makespan) == ("optimal", 8, 4)
    short = Problem(CORRIDOR.walls, CORRIDOR.starts, CORRIDOR.targets, collisions="none", max_cycles=3)
    assert solve(short).status == "unsolvable"
    without = Problem(CORRIDOR.walls, CORRIDOR.starts, CORRIDOR.targets, collisions="none", allow_stay=False)
    assert solve(without).sum_of_costs == 8


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_from_the_middle_of_an_episode(method, rule):
    """An environment is planned for from its present state: those that have parked or left, and the cycles left."""
    env = multigrid.parallel_env(
        walls="......\n.####.\n......", num_agents=3, on_target=rule, allow_stay=True, max_cycles=30
    )
    env.reset(options={"agents": [[0, 0], [3, 0], [5, 2]], "targets": [[1, 0], [4, 2], [0, 0]]})
    env.step({"agent_0": 0, "agent_1": 4, "agent_2": 2})
    assert Problem.of(env).max_cycles == 29
    plan = solve(env, method, max_expansions=500)
    assert plan.actions is not None
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
    problems = [Problem.of(source) for source in (env, config, Scenario("it", config))]
    for problem in problems:
        assert problem.starts.tolist() == [[0, 0], [1, 1]]
        assert problem.targets.tolist() == [[2, 2], [0, 2]]
        assert (problem.on_target, problem.max_cycles, problem.allow_stay) == ("leave", 50, True)
        assert Problem.of(problem) is problem
        assert problem.config == GridConfig(
            walls=problem.walls, num_agents=2, on_target="leave", allow_stay=True, max_cycles=50
        )
    assert not problems[0].starts.flags.writeable


def test_deterministic_and_never_worse():
    """The same seed and number of expansions give the same plan, and more of them never a worse one."""
    problem = random_problem(3, 12, 9, 20)
    last = np.inf
    for most in (30, 100, 300, 1000):
        plan, again = (solve(problem, "lacam", time_limit=None, max_expansions=most, seed=5) for _ in range(2))
        judge(problem, plan)
        assert plan.expansions <= most
        assert (plan.actions.tobytes(), plan.lower_bound) == (again.actions.tobytes(), again.lower_bound)
        assert plan.sum_of_costs <= last
        last = plan.sum_of_costs
    assert last < solve(problem, "lacam", time_limit=None, max_expansions=30, seed=5).sum_of_costs


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
    walls = ".#.\n.#.\n.#."
    with pytest.raises(ValueError, match=message):
        Problem(walls, starts, targets)


def test_bad_problems():
    """What cannot be planned for is refused, with what to do."""
    good = {"walls": "...", "starts": [[0, 0]], "targets": [[2, 0]]}
    with pytest.raises(ValueError, match="on_target is 'restart'"):
        Problem(**good, on_target="restart")
    with pytest.raises(ValueError, match="starts on its own target"):
        Problem("...", [[0, 0]], [[0, 0]], on_target="park")
    with pytest.raises(ValueError, match="collisions is 'polite'; expected one of"):
        Problem(**good, collisions="polite")
    for collisions in ("priority", "block_both"):
        with pytest.raises(ValueError, match=f"collisions is '{collisions}', which no method supports"):
            solve(Problem(**good, collisions=collisions))
    with pytest.raises(ValueError, match=r"arrived is .*; expected bools"):
        Problem(**good, on_target="park", arrived=[True, False])
    with pytest.raises(ValueError, match="walls has 2 maps; expected one"):
        Problem(np.zeros((2, 3, 3), bool), [[0, 0]], [[2, 0]])
    for arrived, words in (([[True], [True, False]], "expected bools"), ([True], "arrived has all agents")):
        with pytest.raises(ValueError, match=words):
            Problem(**good, on_target="park", arrived=arrived)
    for other in (multigrid.vector_env(1, walls="a.A"), multigrid.GridWorldEnv()):
        with pytest.raises(TypeError, match="the problem is of type"):
            solve(other)
    with pytest.raises(TypeError, match="starts is of float64"):
        Problem("...", [[0.5, 0]], [[2, 0]])
    for odd in ({"walls": None}, {"starts": None}, {"starts": 3}, {"starts": [["a", "b"]]}, {"targets": [[0.5, 1]]}):
        with pytest.raises(TypeError, match="expected"):
            Problem(**{**good, **odd})
    with pytest.raises(TypeError, match="the problem is of type int"):
        solve(7)
    with pytest.raises(ValueError, match="the configuration has no layout"):
        solve(GridConfig(size=4))
    with pytest.raises(Exception, match="call reset"):
        solve(multigrid.parallel_env(on_target="leave"))
    apart = Problem("....\n....", [[0, 0], [0, 1]], [[1, 0], [3, 1]], allow_stay=False)
    with pytest.raises(ValueError, match=r"agent_0 waits in step 2 .* allow_stay"):
        solve(apart)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "dijkstra"}, "method is 'dijkstra'; expected one of"),
        ({"time_limit": -1}, "time_limit is -1; expected a number of seconds"),
        ({"time_limit": np.nan}, "time_limit is nan; expected a number of seconds"),
        ({"time_limit": 10**400}, "time_limit is .*; expected a number of seconds"),
        ({"max_expansions": -1}, "max_expansions is -1"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments(arguments, message):
    """Arguments of solve that are not as described are refused."""
    with pytest.raises(ValueError, match=message):
        solve(BAY, **arguments)


@pytest.mark.parametrize("time_limit", ["5", True, [1], 1j])
def test_a_time_limit_is_a_number(time_limit):
    """Text and other objects in its place are refused with a TypeError."""
    for function in (solve, bounds):
        with pytest.raises(TypeError, match=r"time_limit is .* of type .*; expected a number of seconds"):
            function(BAY, time_limit=time_limit)


@pytest.mark.parametrize("method", METHODS)
def test_seeds_of_any_size(method):
    """A seed with more than 64 bits breaks ties, too."""
    judge(BAY, solve(BAY, method, seed=2**70, max_expansions=500))


def test_a_proven_optimum_is_called_optimal():
    """A plan whose sum of costs is the lower bound is optimal, whatever method has found it."""
    plan = solve(Problem("....", starts=[[0, 0]], targets=[[3, 0]]), "pibt")
    assert (plan.status, plan.gap, plan.sum_of_costs) == ("optimal", 0, 3)
    assert repr(plan).startswith("Plan('optimal', sum_of_costs=3, makespan=3, lower_bound=3")


def test_conflict_based_search_never_loses_a_plan():
    """With more expansions, the plan so far stays, also when the search goes on with other groups of agents."""
    problem = random_problem(140, 7, 6, 9, on_target="leave")
    costs = [solve(problem, "cbs", None, 1, most).sum_of_costs or np.inf for most in range(10, 18)]
    assert min(costs) < np.inf
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_lowered_during_the_episode(method):
    """Below the steps so far, `max_cycles` leaves one step, which the environment still plays."""
    env = MultiGridEnv(GridConfig(walls="a..A\nb...\n...B", on_target="leave", allow_stay=True))
    env.reset()
    env.step({"agent_0": 0, "agent_1": 4})
    env.max_cycles = 1
    assert Problem.of(env).max_cycles == 1
    assert solve(env, method).actions is None


def test_a_plan_that_the_game_refuses(monkeypatch):
    """If a search gives paths with a conflict, or wrong arrivals, that is an internal error, and no plan."""
    from multigrid.planning import _lacam

    graph_search = _lacam.search

    def swap(instance, *rest):
        found = graph_search(instance, *rest)
        graph, starts, goals = instance[:3]
        row = [starts]
        while (row[-1] != goals).any():
            here = graph.cells[row[-1]]
            step = np.sign(graph.cells[goals] - here)
            row.append(graph.index[tuple((here + step).T)])
        return found._replace(paths=np.stack(row))

    monkeypatch.setattr(_lacam, "search", swap)
    with pytest.raises(RuntimeError, match="internal error: the game refuses a move in step"):
        solve(BAY, "lacam", max_expansions=100)

    def stand_still(instance, *rest):
        return graph_search(instance, *rest)._replace(paths=np.stack([instance.starts] * 3))

    monkeypatch.setattr(_lacam, "search", stand_still)
    with pytest.raises(RuntimeError, match="internal error: the plan has arrivals in"):
        solve(BAY, "lacam", max_expansions=100)


def test_a_wrapped_environment_is_solved():
    """A wrapper's problem is that of the environment inside, in its present state."""
    env = MultiGridEnv(GridConfig(walls="a..A\n.#..\nB..b", allow_stay=True))
    wrapped = BaseParallelWrapper(env)
    wrapped.reset(seed=1)
    wrapped.step({"agent_0": 0, "agent_1": 4})
    inside, outside = Problem.of(env), Problem.of(wrapped)
    assert outside.starts.tolist() == inside.starts.tolist() == [[1, 0], [3, 2]]
    assert solve(wrapped, "cbs").sum_of_costs == solve(env, "cbs").sum_of_costs == 5


def test_agents_in_one_cell_are_planned_for():
    """Without collisions, agents that have come to one cell each take their shortest path from there."""
    env = MultiGridEnv(GridConfig(walls="a.bA\n#..B", collisions="none", on_target="stay", allow_stay=True))
    env.reset()
    env.step({"agent_0": 0, "agent_1": 2})
    assert Problem.of(env).starts.tolist() == [[1, 0], [1, 0]]
    assert solve(env, "cbs").sum_of_costs == 2 + 3
    with pytest.raises(ValueError, match="agent"):
        Problem("...", starts=[[0, 0], [0, 0]], targets=[[1, 0], [2, 0]], collisions="none")


@pytest.mark.parametrize("starts", [[[0, 0], [0.5, 0]], [[0, 0], [9, 0]]])
def test_cells_of_agents_that_have_parked_are_checked(starts):
    """They are integers inside the grid."""
    with pytest.raises((TypeError, ValueError), match=r"agent"):
        Problem("...", starts, [[1, 0], [2, 0]], on_target="park", arrived=np.array([False, True]))


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_lies_between_the_bounds(rule):
    """The smallest sum of costs is never outside the bounds; on small worlds they meet, at infinity without a plan."""
    optima = set()
    for seed in range(6):
        problem, optimum = problem_with_optimum(seed, 2, rule)
        expected = math.inf if optimum is None else optimum
        lower, upper = bounds(problem, time_limit=None, max_expansions=3)
        assert upper == math.inf or lower <= expected <= upper
        assert lower == math.inf or lower <= expected
        assert bounds(problem, time_limit=None) == (expected, expected)
        optima.add(expected)
    assert len(optima) > 2


def test_bounds_where_agents_cannot_stay():
    """Without the stay action a bound from below holds, and none from above is given."""
    problem, optimum = problem_with_optimum(1, 2, "stay")
    assert bounds(dataclasses.replace(problem, allow_stay=False), time_limit=None) == (optimum, math.inf)


def test_bounds_refuse_what_solve_refuses():
    """What `solve` refuses is refused, with its errors."""
    layout = {"starts": [[0, 0]], "targets": [[2, 0]]}
    with pytest.raises(ValueError, match="collisions is 'priority', which no method supports"):
        bounds(Problem("...", **layout, collisions="priority"))
    with pytest.raises(ValueError, match="time_limit is -1"):
        bounds(Problem("...", **layout), time_limit=-1)
    with pytest.raises(TypeError, match="the problem is of type str"):
        bounds("a.A")
