"""Ctrl-C at any moment: a search returns what it has, and loops over many problems end."""

import sys
from pathlib import Path

import pytest
from judging import judge, random_problem

from multigrid import GridConfig, MultiGridEnv, planning
from multigrid.planning import _cbs, _lacam, _solver, bounds, solve
from multigrid.planning._search import Found, Interrupted

PACKAGE = Path(planning.__file__).parent
SEARCHES = {"lacam": (_lacam, PACKAGE / "_lacam.py"), "cbs": (_cbs, PACKAGE / "_cbs.py")}


def interrupt_search(monkeypatch, module, file, after):
    """Raise KeyboardInterrupt in a search after so many lines of a file; return the list of these lines, in order."""
    search, lines = module.search, []

    def note(frame, event, _):
        if frame.f_code.co_filename != str(file):
            return None
        if event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == after:
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
    monkeypatch.setattr("multigrid.planning._search._SHORTEST_CHUNK", -1.0)
    monkeypatch.setattr(module, "search", watch)
    return lines


@pytest.mark.parametrize(("method", "expected"), [("lacam", {"feasible"}), ("cbs", {"unknown", "feasible"})])
def test_an_interrupted_search_returns_what_it_has(monkeypatch, method, expected):
    """After Ctrl-C in any line, plans are valid, bounds are at most the optimum, and neither is worse later."""
    problem = random_problem(127, 5, 4, 4)
    optimum = solve(problem, "cbs", None).sum_of_costs

    def plan_until(after):
        with monkeypatch.context() as patch:
            lines = interrupt_search(patch, *SEARCHES[method], after)
            try:
                return solve(problem, method, None, max_expansions=40), lines
            except KeyboardInterrupt:
                return None, lines

    _, lines = plan_until(0)
    visits = {line: [count for count, one in enumerate(lines, 1) if one == line] for line in lines}
    last, statuses = None, set()
    for after in sorted({count for counts in visits.values() for count in (counts[0], counts[-1])}):
        plan, _ = plan_until(after)
        assert (plan is None) <= (last is None)
        if plan is not None:
            judge(problem, plan)
            statuses.add(plan.status)
            assert plan.lower_bound <= optimum
            assert last is None or plan.lower_bound >= last.lower_bound
            assert last is None or last.actions is None or plan.sum_of_costs <= last.sum_of_costs
        last = plan
    assert statuses - {"optimal"} == expected


def test_loops_over_problems_end(monkeypatch):
    """Ctrl-C during `bounds`, a controller's step and the loading of kernels raises KeyboardInterrupt."""
    problem = random_problem(3, 6, 5, 6)
    env = MultiGridEnv(GridConfig(walls="a..A\n.#..\nB..b", on_target="leave", allow_stay=True))
    env.reset()
    load_kernels = _solver._load_kernels.__wrapped__

    def interrupt(travellers, method, *_, **__):
        if method == "cbs":
            return Found(None, 1, "unknown", 0)
        raise Interrupted(Found(None, 1, "unknown", 0))

    monkeypatch.setattr(_solver, "_search", interrupt)
    monkeypatch.setattr(_solver, "_load_kernels", lambda _: None)
    monkeypatch.setattr(_solver, "COMPILED", True)
    assert solve(problem, "lacam").status == "unknown"
    for ask in (lambda: bounds(problem), lambda: planning.controller("lacam")(env, {}), lambda: load_kernels("lacam")):
        with pytest.raises(KeyboardInterrupt):
            ask()
