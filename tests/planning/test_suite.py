"""The plans of the suite, judged by the environment and independently of it, and their proven bounds."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from judging import judge

from helpers import run_python
from multigrid import GridConfig, Outcome, scenarios
from multigrid.maps import ParsedMap, parse_map
from multigrid.maps._cells import distances_to
from multigrid.planning import Plan, Problem, solve
from multigrid.scenarios import ABSENT, replay
from tools import make_suite

NAMES = scenarios.names()
SUITE = Path(scenarios.__file__).parent / "suite"
# An absent agent's action is -1, which is the last row, too.
STEPS = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]])


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_of_the_suite_has_a_plan(name):
    """The recorded plan of each is played to the end without a refused move, and costs no less than the bound."""
    scenario, lower_bound = scenarios.get(name), scenarios.lower_bound(name)
    env = scenario.env()
    steps = list(replay(scenario, env))
    for step in steps:
        assert {info["outcome"] for info in step.infos.values()} <= {Outcome.MOVED, Outcome.STAYED}
    assert all(steps[-1].terminations.values())
    assert not any(steps[-1].truncations.values())
    metrics = env.metrics()
    assert metrics["csr"] == metrics["isr"] == 1.0
    assert metrics["makespan"] == len(steps) - 1 == len(scenario.actions)

    problem, actions = Problem.of(scenario), scenario.actions
    moved = np.concatenate([np.zeros((1, problem.num_agents, 2), np.int64), STEPS[actions].cumsum(axis=0)])
    cells = problem.starts + moved
    cells[1:][actions == ABSENT] = -1
    cost = int(metrics["sum_of_costs"])
    status = "optimal" if cost == lower_bound else "feasible"
    judge(problem, Plan(status, actions, cells, cost, len(actions), lower_bound, 0.0, 0, "recorded"))
    assert status == "optimal" or problem.num_agents > 8
    (regions,) = scenario.config.components
    ends = zip(problem.starts.tolist(), problem.targets.tolist(), strict=True)
    assert lower_bound >= sum(distances_to(regions, target)[tuple(start)] for start, target in ends)


def test_the_layouts_stay_what_they_are():
    """A name of the suite stands for one map with its starts and targets."""
    whole = hashlib.sha256()
    for name in NAMES:
        for array in scenarios.get(name).config.walls:
            whole.update(name.encode() + array.astype(np.int64).tobytes())
    assert whole.hexdigest() == "c8f709dc4b5185f04703a6c859f85c8b79d9cf83af52b71974cae61a4881f5f4"


@pytest.mark.parametrize("name", ["rooms-9x7-2", "random-11x9-4", "delivery-17x13-8"])
def test_a_scenario_is_made_again(name, tmp_path):
    """The committed command's functions give the committed bytes, and the committed bound."""
    scenario, lower_bound = make_suite.make_scenario(name)
    scenarios.save(scenario, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (SUITE / f"{name}.json").read_bytes()
    assert lower_bound == scenarios.lower_bound(name)


@pytest.mark.long
def test_the_suite_is_made_again(tmp_path):
    """The committed command writes the committed bytes, bounds and all."""
    done = run_python("-m", make_suite.__name__, str(tmp_path / "suite"), timeout=3600)
    assert done.returncode == 0, done.stderr
    again, committed = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in (tmp_path / "suite", SUITE)
    )
    assert again == committed
    assert len(again) == len(NAMES) + 1


def test_the_best_plan_is_taken_where_no_optimum_is_proven():
    """Without a proof it is the cheapest of LaCAM* with several seeds, the bound the largest; without any, an error."""
    starts, targets = [[0, 1], [2, 1], [1, 2], [4, 1], [0, 0]], [[4, 0], [0, 0], [4, 2], [3, 1], [1, 2]]
    layout = ParsedMap(parse_map(".#...\n.....\n.....").walls, np.array(starts), np.array(targets))
    config = GridConfig(walls=layout, on_target="stay", allow_stay=True)
    costs = [solve(config, "lacam", None, seed, max_expansions=12).sum_of_costs for seed in range(3)]
    assert costs == [20, 18, 21]
    for nodes, method, cost in ((2, "lacam", 18), (100, "cbs", 17)):
        plan, lower_bound = make_suite.find_plan(config, nodes, configurations=12)
        judge(Problem.of(config), plan)
        assert (plan.method, plan.sum_of_costs, lower_bound) == (method, cost, 17)
    # Where two would have to pass each other in a corridor, there is none.
    config = GridConfig(walls="ab.BA.", on_target="stay", allow_stay=True, max_cycles=20)
    with pytest.raises(ValueError, match="no plan was found, the layout has perhaps none: Plan"):
        make_suite.find_plan(config, nodes=9, configurations=9)
