"""Whether a plan of a sum of costs exists under "stay", by CP-SAT on a time-expanded graph, without our searches."""

import itertools

import numpy as np
from judging import distances_to
from ortools.sat.python import cp_model


def has_plan(problem, sum_of_costs, seconds=600.0):
    """Whether there is a plan with at most this sum of costs.

    The other agents cost at least as much as their shortest paths. What that leaves to an agent is its last step: then
    it is on its target, to stay.
    """
    model = cp_model.CpModel()
    cells = [tuple(cell) for cell in np.argwhere(~problem.walls).tolist()]
    near = {(x, y): [(x, y), (x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)] for x, y in cells}
    near = {cell: [other for other in others if other in near] for cell, others in near.items()}
    starts, targets = ([tuple(cell) for cell in ends.tolist()] for ends in (problem.starts, problem.targets))
    distances = [distances_to(target, near) for target in targets]
    least = [max(1, distance[start]) for start, distance in zip(starts, distances, strict=True)]
    if sum_of_costs < sum(least):
        return False
    lasts = [sum_of_costs - sum(least) + own for own in least]
    entered, used, late = {}, {}, []
    for start, target, distance, last in zip(starts, targets, distances, lasts, strict=True):
        moves = {}
        before = {start: 1}
        for step in range(last):
            after = {}
            for cell, here in before.items():
                others = [other for other in near[cell] if distance.get(other, last) < last - step]
                out = [model.new_bool_var("") for _ in others]
                model.add(sum(out) == here)
                for other, move in zip(others, out, strict=True):
                    after.setdefault(other, []).append(move)
                    if other != cell:
                        used.setdefault((step, min(cell, other), max(cell, other)), []).append(move)
                    moves[step, cell, other] = move
            before = {cell: sum(into) for cell, into in after.items()}
            for cell, into in after.items():
                entered.setdefault((step, cell), []).extend(into)
        for step in range(last, max(lasts)):
            entered.setdefault((step, target), []).append(1)
        # An agent is at rest in a step if it stays on its target from there on; each other step is paid for.
        rest = [model.new_bool_var("") for _ in range(last)]
        for one, then in itertools.pairwise(rest):
            model.add_implication(one, then)
        for step, is_at_rest in enumerate(rest):
            stays = moves.get((step, target, target))
            model.add(is_at_rest == 0) if stays is None or step == 0 else model.add_implication(is_at_rest, stays)
        late += [1 - is_at_rest for is_at_rest in rest]
    for moves in [*entered.values(), *used.values()]:
        model.add(sum(moves) <= 1)
    model.add(sum(late) <= sum_of_costs)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE), solver.status_name(status)
    return status != cp_model.INFEASIBLE
