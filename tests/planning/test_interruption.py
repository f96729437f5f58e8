"""Ctrl-C at any moment: a search returns what it has, and loops over many problems end."""

import sys
from pathlib import Path

import pytest
from judging import judge, random_problem

from multigrid import GridConfig, MultiGridEnv, planning
from multigrid.planning import bounds, cbs, lacam, solve, solver
from multigrid.planning.search import Found, Interrupted

PACKAGE = str(Path(planning.__file__).parent)
SEARCHES = {"lacam": lacam, "cbs": cbs}


def interrupt_searches(monkeypatch, module, after):
    """Raise KeyboardInterrupt once in a search, after so many lines of the planners; return a list with their count."""
    search, lines = module.search, [0]

    def note(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == after:
                raise KeyboardInterrupt
        return note

    def watch(*arguments):
        before = sys.gettrace()
        sys.settrace(note)
        try:
            return search(*arguments)
        finally:
            sys.settrace(before)

    # The clock divides the work into chunks; here each has one expansion.
    monkeypatch.setattr("multigrid.planning.search._SHORTEST_CHUNK", -1.0)
    monkeypatch.setattr(module, "search", watch)
    return lines


@pytest.mark.parametrize(("method", "seed", "num_agents"), [("lacam", 3, 6), ("cbs", 31, 7)])
def test_an_interrupted_search_returns_what_it_has(monkeypatch, method, seed, num_agents):
    """After Ctrl-C in any line, plans are valid, bounds are at most the optimum, and neither is worse later."""
    problem = random_problem(seed, 6, 5, num_agents)
    optimum = solve(problem, "cbs", None).sum_of_costs

    def plan_until(after):
        with monkeypatch.context() as patch:
            lines = interrupt_searches(patch, SEARCHES[method], after)
            try:
                return solve(problem, method, None, max_expansions=60), lines[0]
            except KeyboardInterrupt:
                return None, lines[0]

    _, num_lines = plan_until(0)
    last = None
    statuses = set()
    for after in [*range(1, num_lines, max(1, num_lines // 60)), num_lines]:
        plan, _ = plan_until(after)
        assert (plan is None) <= (last is None)
        if plan is not None:
            judge(problem, plan)
            statuses.add(plan.status)
            assert plan.lower_bound <= optimum
            assert last is None or plan.lower_bound >= last.lower_bound
            assert last is None or last.actions is None or plan.sum_of_costs <= last.sum_of_costs
        last = plan
    assert statuses >= ({"unknown"} if method == "cbs" else {"feasible"})
    assert "unsolvable" not in statuses


def test_loops_over_problems_end(monkeypatch):
    """Ctrl-C during `bounds`, a controller's step and the loading of kernels raises KeyboardInterrupt."""
    problem = random_problem(3, 6, 5, 6)
    env = MultiGridEnv(GridConfig(walls="a..A\n.#..\nB..b", on_target="leave", allow_stay=True))
    env.reset()

    def interrupt(travellers, *_, **__):
        raise Interrupted(Found(travellers.starts[None], 0, "feasible", 0))

    monkeypatch.setattr(solver, "_search", interrupt)
    monkeypatch.setattr(solver, "COMPILED", True)
    for ask in (
        lambda: bounds(problem),
        lambda: planning.controller("lacam")(env, {}),
        lambda: solver._load_kernels.__wrapped__("lacam"),
    ):
        with pytest.raises(KeyboardInterrupt):
            ask()
