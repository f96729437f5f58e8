"""The smallest sum of costs under "stay", by CP-SAT on a time-expanded graph: no search of ours is part of it."""

import itertools

import numpy as np
from ortools.sat.python import cp_model


def smallest_sum_of_costs(problem, at_most, seconds=60.0):
    """The smallest sum of costs of the plans with at most so many steps, and None if there is none.

    Any plan whose sum of costs is at most C has at most C - L + l steps, where l is the longest of the agents' shortest
    ways, and L is their sum. So C is the optimum if and only if it is what this returns for as many steps.
    """
    model = cp_model.CpModel()
    cells = [tuple(cell) for cell in np.argwhere(~problem.walls).tolist()]
    near = {(x, y): [(x, y), (x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)] for x, y in cells}
    near = {cell: [other for other in others if other in near] for cell, others in near.items()}
    entered, used, late = {}, {}, []
    for start, target in zip(problem.starts.tolist(), problem.targets.tolist(), strict=True):
        moves = {}
        before = {tuple(start): 1}
        for step in range(at_most):
            after = {}
            for cell, here in before.items():
                out = [model.new_bool_var("") for _ in near[cell]]
                model.add(sum(out) == here)
                for other, move in zip(near[cell], out, strict=True):
                    after.setdefault(other, []).append(move)
                    if other != cell:
                        used.setdefault((step, min(cell, other), max(cell, other)), []).append(move)
                    moves[step, cell, other] = move
            before = {cell: sum(into) for cell, into in after.items()}
            for cell, into in after.items():
                entered.setdefault((step, cell), []).extend(into)
        goal = tuple(target)
        model.add(before.get(goal, 0) == 1)
        # An agent is at rest in a step if it stays on its target from there on; each other step is paid for.
        rest = [model.new_bool_var("") for _ in range(at_most)]
        for one, then in itertools.pairwise(rest):
            model.add_implication(one, then)
        for step, is_at_rest in enumerate(rest):
            stays = moves.get((step, goal, goal))
            model.add(is_at_rest == 0) if stays is None or step == 0 else model.add_implication(is_at_rest, stays)
        late += [1 - is_at_rest for is_at_rest in rest]
    for moves in [*entered.values(), *used.values()]:
        model.add(sum(moves) <= 1)
    model.minimize(sum(late))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
    return round(solver.objective_value) if status == cp_model.OPTIMAL else None
