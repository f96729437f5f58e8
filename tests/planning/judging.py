"""A judge of plans, independent of planners and of the rules' code, and small problems for all of them."""

import functools

import numpy as np

from multigrid.planning import Problem


def judge(problem, plan):
    """Check every cell of a plan, which is for a problem at the beginning of an episode, and its figures."""
    if plan.cells is None:
        assert (plan.actions, plan.sum_of_costs, plan.makespan) == (None, None, None)
        return
    steps = {(1, 0): 0, (0, 1): 1, (-1, 0): 2, (0, -1): 3, (0, 0): 4}
    cells = [[tuple(cell) for cell in row] for row in plan.cells.tolist()]
    targets = [tuple(target) for target in problem.targets.tolist()]
    assert cells[0] == [tuple(start) for start in problem.starts.tolist()]
    gone = (-1, -1)
    for before, after, actions in zip(cells[:-1], cells[1:], plan.actions.tolist(), strict=True):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            is_there = old == targets[i]
            if old == gone or (problem.on_target == "leave" and is_there):
                assert new == gone
                continue
            assert not problem.walls[new]
            assert steps[new[0] - old[0], new[1] - old[1]] == actions[i]
            assert not (problem.on_target == "park" and is_there and new != old)
            for j in range(i) if problem.collisions != "none" else []:
                assert new != after[j], "two in a cell"
                assert new == old or (new, old) != (before[j], after[j]), "two swap"
    costs = []
    for i, target in enumerate(targets):
        on = [row[i] == target for row in cells]
        if problem.on_target == "stay":
            assert on[-1]
            costs.append(max(1, max((t + 1 for t, there in enumerate(on) if not there), default=0)))
        else:
            costs.append(on.index(True))
    assert (plan.sum_of_costs, plan.makespan) == (sum(costs), max(costs))
    assert len(cells) - 1 == plan.makespan
    assert plan.makespan <= (problem.max_cycles or plan.makespan)
    assert plan.lower_bound <= plan.sum_of_costs
    assert plan.status in ("optimal", "feasible")
    assert (plan.status == "optimal") <= (plan.lower_bound == plan.sum_of_costs)


def random_problem(seed, width, height, num_agents, **rules):
    """A map with a fifth of walls, whose agents are in one component."""
    generator = np.random.default_rng(seed)
    while True:
        walls = generator.random((width, height)) < 0.2
        free = np.argwhere(~walls)
        if len(free) < num_agents:
            continue
        layout = [generator.permutation(free)[:num_agents] for _ in range(2)]
        try:
            return Problem(walls, *layout, **rules)
        except ValueError:
            pass


@functools.cache
def problem_with_optimum(seed, num_agents, rule):
    """A small problem, and its smallest sum of costs."""
    problem = random_problem(seed, 4, 3, num_agents, on_target=rule)
    return problem, smallest_sum_of_costs(problem)


def smallest_sum_of_costs(problem):
    """The smallest sum of costs, by a search of all joint states with what is paid so far; for two or three agents.

    Under "stay" an agent decides, once it is on its target, that it has arrived for good.
    """
    free = {tuple(cell) for cell in np.argwhere(~problem.walls).tolist()}
    targets = [tuple(target) for target in problem.targets.tolist()]
    start = tuple((tuple(cell), False) for cell in problem.starts.tolist())
    front, seen = {start: 0}, {start: 0}
    steps, best = 0, np.inf
    while front and (problem.max_cycles is None or steps <= problem.max_cycles):
        after = {}
        for state, paid in front.items():
            if paid >= best:
                continue
            for there in range(2 ** len(state)):
                # Who is on its target may have arrived for good; under the other rules it must.
                marks = tuple(
                    (cell, done or (bool(there >> i & 1) and cell == targets[i]))
                    for i, (cell, done) in enumerate(state)
                )
                is_late = any(not done and cell == target for (cell, done), target in zip(marks, targets, strict=True))
                if problem.on_target != "stay" and is_late:
                    continue
                num_done = sum(done for _, done in marks)
                now = paid + num_done * (problem.on_target == "stay" and steps == 0)
                if num_done == len(marks):
                    best = min(best, now)
                    continue
                for moved in moves(marks, free, problem.on_target):
                    cost = now + len(marks) - num_done
                    if cost < seen.get(moved, np.inf) and cost < after.get(moved, np.inf):
                        after[moved] = cost
        seen.update(after)
        front, steps = after, steps + 1
    return None if best == np.inf else best


def moves(marks, free, on_target):
    """All joint moves from a state in which everybody is marked as arrived or not."""
    options = []
    for (x, y), done in marks:
        near = [(x, y), (x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)]
        options.append([((x, y), True)] if done else [(cell, False) for cell in near if cell in free])
    present = [not (on_target == "leave" and done) for _, done in marks]

    def meet(row, i, cell):
        return any(
            present[j] and (other == cell or (other == marks[i][0] and cell == marks[j][0]))
            for j, (other, _) in enumerate(row)
        )

    found = [()]
    for i, own in enumerate(options):
        found = [(*row, move) for row in found for move in own if not (present[i] and meet(row, i, move[0]))]
    return found


def distances_to(target, near):
    """The number of moves to a cell from each that reaches it."""
    distances, queue = {target: 0}, [target]
    for cell in queue:
        for other in near[cell]:
            if other not in distances:
                distances[other] = distances[cell] + 1
                queue.append(other)
    return distances
