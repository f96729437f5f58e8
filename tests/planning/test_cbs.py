"""CBS finds the optimal sum of costs; an exhaustive search over joint states says what that is."""

import heapq
import itertools

import numpy as np
import pytest

from helpers import AROUND, run_python
from multigrid.planning import cbs
from multigrid.planning.cbs import search
from multigrid.planning.cbs_clusters import IMPOSSIBLE
from multigrid.planning.cbs_cover import cover
from multigrid.planning.cbs_paths import list_conflicts
from multigrid.planning.cbs_spaces import FORBID_CELL, REQUIRE_CELL
from multigrid.planning.cbs_world import World
from multigrid.planning.graph import build_graph
from multigrid.planning.search import Budget, Instance

RULES = ("stay", "leave", "park")


def options(walls, cell, target, on_target):
    """List what an agent can do in a step as (cell after, has stopped after); a cell of () is gone."""
    if not cell or cell == (*target, "stopped"):
        return [() if on_target == "leave" else cell]
    moves = []
    for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        x, y = cell[0] + dx, cell[1] + dy
        if 0 <= x < len(walls) and 0 <= y < len(walls[0]) and not walls[x][y]:
            if (x, y) == target:
                moves.append((x, y, "stopped"))
            if (x, y) != target or on_target == "stay":
                moves.append((x, y))
    return moves


def clash(before, after):
    """Tell whether two agents are in one cell, or swap."""
    places, old = ([cell[:2] for cell in cells] for cells in (after, before))
    for i, j in itertools.combinations(range(len(after)), 2):
        if places[i] and places[i] == places[j]:
            return True
        if old[i] and old[j] and (places[i], places[j]) == (old[j], old[i]):
            return True
    return False


def least_cost(walls, starts, targets, on_target, horizon=None):
    """Search all joint states for the optimal sum of costs; None if there is no plan."""
    queue, seen = [(0, 0, tuple(starts))], set()
    while queue:
        cost, step, state = heapq.heappop(queue)
        if (state, horizon and step) in seen:
            continue
        seen.add((state, horizon and step))
        running = sum(len(cell) == 2 for cell in state)
        if running == 0:
            return cost
        if step == horizon:
            continue
        moves = [options(walls, cell, target, on_target) for cell, target in zip(state, targets, strict=True)]
        for after in itertools.product(*moves):
            if not clash(state, after):
                heapq.heappush(queue, (cost + running, step + 1, after))
    return None


def judge(walls, starts, targets, on_target, cells):
    """Return the sum of costs of a plan, after a look at each of its moves."""
    costs = [0] * len(starts)
    assert list(cells[0]) == list(starts)
    last = len(cells) - 1
    for k, target in enumerate(targets):
        way = list(cells[:, k])
        here = [step for step in range(1, last + 1) if way[step] == target]
        if on_target == "stay":
            assert way[last] == target
            costs[k] = 1 + max((step for step in range(1, last) if way[step] != target), default=0)
        else:
            costs[k] = here[0]
            rest = set(way[here[0] + 1 :])
            assert rest <= ({()} if on_target == "leave" else {target})
    for before, after in itertools.pairwise(cells):
        assert not clash(before, after)
        for cell, then in zip(before, after, strict=True):
            if cell and then:
                assert abs(cell[0] - then[0]) + abs(cell[1] - then[1]) <= 1
                assert not walls[then[0]][then[1]]
    return sum(costs)


def solve(walls, starts, targets, on_target="stay", *, horizon=None, max_expansions=3000, seed=0):
    """Search, and return what was found, and the plan's cells."""
    graph = build_graph(np.array(walls, bool))
    ends = [graph.index[tuple(np.array(cells).T)] for cells in (starts, targets)]
    budget = Budget(None, max_expansions).start()
    found = search(Instance(graph, *ends, on_target, horizon), budget, seed)
    if found.paths is None:
        return found, None
    cells = np.empty(found.paths.shape, object)
    for place, cell in np.ndenumerate(found.paths):
        cells[place] = () if cell < 0 else tuple(int(value) for value in graph.cells[cell])
    return found, cells


def draw_problem(rng, shape, num_agents, on_target, density=0.25):
    """Draw walls, starts and targets; a start may be its target under stay."""
    walls = rng.random(shape) < density
    free = [tuple(int(value) for value in cell) for cell in np.argwhere(~walls)]
    if len(free) < num_agents + 1:
        return draw_problem(rng, shape, num_agents, on_target, density)
    starts, targets = ([free[k] for k in rng.permutation(len(free))[:num_agents]] for _ in range(2))
    if on_target != "stay" and any(start == target for start, target in zip(starts, targets, strict=True)):
        return draw_problem(rng, shape, num_agents, on_target, density)
    return walls.tolist(), starts, targets


def expect_optimum(problem, on_target, horizon=None):
    """Compare the result of a search with that of the exhaustive one."""
    found, cells = solve(*problem, on_target, horizon=horizon)
    optimum = least_cost(*problem, on_target, horizon)
    if optimum is None:
        assert found.status == "unsolvable"
        assert cells is None
        return
    assert (found.status, found.lower_bound) == ("optimal", optimum)
    assert judge(*problem, on_target, cells) == optimum
    assert horizon is None or len(cells) - 1 <= horizon


@pytest.mark.parametrize("on_target", RULES)
@pytest.mark.parametrize("number", range(4))
def test_two_agents_in_small_worlds(on_target, number):
    """The optimum is that of the exhaustive search, and so are the problems without a plan."""
    rng = np.random.default_rng([number, len(on_target)])
    for _ in range(10):
        expect_optimum(draw_problem(rng, (3, 4), 2, on_target), on_target)


@pytest.mark.parametrize("on_target", RULES)
def test_three_agents_in_small_worlds(on_target):
    """Three agents in each other's way have the optimum of the exhaustive search."""
    rng = np.random.default_rng(7)
    for _ in range(3):
        expect_optimum(draw_problem(rng, (2, 4), 3, on_target, density=0.1), on_target)


@pytest.mark.parametrize("on_target", RULES)
def test_horizon_bounds_the_makespan(on_target):
    """No plan is longer than the horizon, and without one that is short enough the problem is unsolvable."""
    rng = np.random.default_rng(3)
    for horizon in (2, 3, 4, 5, 6, 7):
        expect_optimum(draw_problem(rng, (2, 4), 2, on_target, density=0.1), on_target, horizon)


BAY = [[False, True], [False, True], [False, False], [False, True], [False, True]]
"""A corridor of five cells, with a bay beside the third."""


@pytest.mark.parametrize("horizon", [None, 12, 7, 6])
def test_horizon_is_kept_where_the_optimum_is_longer(horizon):
    """Two agents pass each other in a bay, if the horizon leaves the time for it."""
    expect_optimum((BAY, [(0, 0), (4, 0)], [(4, 0), (0, 0)]), "stay", horizon)


@pytest.mark.parametrize("on_target", RULES)
def test_tree_and_joint_search_agree(monkeypatch, on_target):
    """The tree alone, and joint states alone, have the same optimum in crowded worlds."""
    rng = np.random.default_rng(11)
    num_proven = 0
    for k in range(5):
        problem = draw_problem(rng, (3, 3) if k % 2 else (2, 4), 3, on_target, density=0.1)
        monkeypatch.setattr(cbs, "_MAX_STATES", 10**9)
        monkeypatch.setattr(cbs, "_STATES_PER_NODE", 10**9)
        full, _ = solve(*problem, on_target, max_expansions=500)
        monkeypatch.setattr(cbs, "_MAX_STATES", 0)
        found, cells = solve(*problem, on_target, max_expansions=40)
        if full.status == "unknown":
            continue
        assert found.lower_bound <= full.lower_bound
        if found.status == "optimal":
            num_proven += 1
            assert found.lower_bound == judge(*problem, on_target, cells) == full.lower_bound
    assert num_proven >= 2


CROWD = [[False] * 5 for _ in range(6)]
CROWD_STARTS = [(0, 0), (5, 4), (0, 4), (5, 0), (2, 2), (3, 1), (1, 3)]
CROWD_TARGETS = [(5, 4), (0, 0), (5, 0), (0, 4), (3, 2), (2, 1), (4, 3)]


@pytest.mark.parametrize("on_target", RULES)
def test_bounds_are_never_above_the_optimum(on_target):
    """A search that ends early has a lower bound that is at most the optimum, and that does not fall."""
    problem = (CROWD, CROWD_STARTS, CROWD_TARGETS, on_target)
    full, cells = solve(*problem)
    assert full.lower_bound == judge(*problem, cells)
    bounds = []
    for count in (0, 1, 2, 4, 8, 16):
        found, cells = solve(*problem, max_expansions=count)
        assert found.expansions <= count
        assert (cells is None) == (found.status == "unknown")
        assert cells is None or judge(*problem, cells) >= full.lower_bound
        bounds.append(found.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] <= full.lower_bound


def test_joint_search_that_ends_early_has_a_bound():
    """The bound that the joint search has reached when its expansions are used up is at most the optimum."""
    problem = ([[False] * 2 for _ in range(4)], [(0, 0), (3, 0), (0, 1), (3, 1)], [(3, 0), (0, 0), (3, 1), (0, 1)])
    full, _ = solve(*problem)
    for count in (30, 60, 100, 200):
        found, _ = solve(*problem, max_expansions=count)
        assert found.lower_bound <= full.lower_bound
        assert found.expansions <= count


def test_result_is_deterministic_under_an_expansion_limit():
    """The same seed and limit give the same paths, and another seed the same sum."""
    first, again, other = (solve(CROWD, CROWD_STARTS, CROWD_TARGETS, seed=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.paths, again.paths)
    assert first.expansions == again.expansions
    assert other.lower_bound == first.lower_bound


def test_start_on_the_target_costs_one():
    """An agent that begins on its target and stays there costs 1; one that has to make way costs more."""
    walls = [[False], [False], [False]]
    found, _ = solve(walls, [(1, 0)], [(1, 0)])
    assert (found.lower_bound, found.paths.shape) == (1, (2, 1))
    expect_optimum((BAY, [(0, 0), (2, 0)], [(4, 0), (2, 0)]), "stay")


def test_unreachable_target_is_unsolvable():
    """A target behind walls has no plan, and nothing is searched."""
    found, _ = solve([[False], [True], [False]], [(0, 0)], [(2, 0)])
    assert (found.status, found.expansions) == ("unsolvable", 0)


CODE = """
import numpy as np
from multigrid.planning.cbs import search
from multigrid.planning.graph import build_graph
from multigrid.planning.search import Budget, Instance
graph = build_graph(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], bool))
starts, goals = np.array([0, 5, 9], np.int32), np.array([9, 1, 0], np.int32)
for on_target in ("stay", "leave", "park"):
    found = search(Instance(graph, starts, goals, on_target, 12), Budget(None, 400).start(), seed=5)
    print(found.paths.tolist(), found[1:])
"""


def test_interpreted_and_compiled_agree():
    """Kernels that Python runs find the same paths."""
    results = [
        run_python("-W", "error", "-c", CODE, env={**AROUND, "NUMBA_DISABLE_JIT": flag}).stdout for flag in ("0", "1")
    ]
    assert results[0] == results[1] != ""


def walk(graph, path, goal, length, on_target):
    """List all paths of an agent with at most this cost, as tuples of cells that end with its stop."""
    ways = []
    for cell in graph.neighbours[path[-1]]:
        if cell < 0 or len(path) > length:
            continue
        if cell == goal and (path[-1] != goal or len(path) == 1):
            ways.append((*path, int(cell)))
        if cell != goal or on_target == "stay":
            ways += walk(graph, (*path, int(cell)), goal, length, on_target)
    return ways


def at(path, step, on_target):
    """Return where an agent is."""
    return path[step] if step < len(path) else -1 if on_target == "leave" else path[-1]


def fulfils(path, constraint, on_target):
    """Tell whether a path is allowed."""
    step, cell, kind = constraint
    here = at(path, step, on_target)
    return here == cell if kind == REQUIRE_CELL else here != cell


SMALL = build_graph(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], bool))


@pytest.mark.parametrize("on_target", RULES)
def test_paths_under_constraints(on_target):
    """The smallest cost of an agent under constraints, and the cells at each step, are those of all paths listed."""
    rng = np.random.default_rng(5)
    world = World(Instance(SMALL, np.array([0], np.int32), np.array([4], np.int32), on_target, 7))
    ways = walk(SMALL, (0,), 4, 7, on_target)
    for _ in range(150):
        constraints = {
            (int(rng.integers(1, 7)), int(rng.integers(8)), int(rng.choice([FORBID_CELL, FORBID_CELL, REQUIRE_CELL])))
            for _ in range(rng.integers(4))
        }
        low = int(rng.integers(1, 7))
        allowed = [
            way
            for way in ways
            if len(way) - 1 >= low and all(fulfils(way, constraint, on_target) for constraint in constraints)
        ]
        space = world.space(0, low, 7, frozenset(constraints))
        if not allowed:
            assert space is None
            continue
        best = min(len(way) for way in allowed)
        assert space.cost == best - 1
        for step in range(best):
            cells = {way[step] for way in allowed if len(way) == best}
            assert set(world.layer(space, step).tolist()) == cells


@pytest.mark.parametrize("on_target", RULES)
@pytest.mark.parametrize("ends", [(0, 7, 6, 1), (2, 5, 4, 0), (3, 4, 5, 3), (0, 1, 1, 2)])
def test_joint_costs_of_pairs(on_target, ends):
    """The costs that two agents can have at once are those of all pairs of paths without a conflict."""
    starts, goals = np.array(ends[:2], np.int32), np.array(ends[2:], np.int32)
    world = World(Instance(SMALL, starts, goals, on_target, 7))
    one, other = (world.space(k, 1, 7, frozenset()) for k in (0, 1))
    sums = set()
    ways = [walk(SMALL, (ends[k],), ends[2 + k], 6, on_target) for k in (0, 1)]
    for path, second in itertools.product(*ways):
        costs = len(path) - 1 - one.cost, len(second) - 1 - other.cost
        if costs not in sums and max(costs) <= 1:
            cells = [(at(path, step, on_target), at(second, step, on_target)) for step in range(8)]
            if not any(u == v >= 0 for u, v in cells) and not any(
                after == before[::-1] and -1 not in after for before, after in itertools.pairwise(cells)
            ):
                sums.add(costs)
    stairs = world.stairs(one, other)
    if (0, 0) in sums:
        assert stairs is None
    else:
        surplus = [min([b for a, b in sums if a <= limit], default=2) for limit in (0, 1)]
        if len(stairs) == 3:
            assert stairs.tolist() == [*surplus, 0]
        else:
            assert surplus == [2, 2]
            assert stairs[0] >= 2


@pytest.mark.parametrize("on_target", RULES)
def test_clusters_of_three(on_target):
    """Three agents are planned together with their smallest costs, or cannot be, as all their paths together tell."""
    rng = np.random.default_rng(8)
    none = np.empty((0, 1), np.int32)
    outcomes = set()
    for _ in range(60):
        starts, goals = (rng.permutation(8)[:3].astype(np.int32) for _ in range(2))
        if on_target != "stay" and (starts == goals).any():
            continue
        world = World(Instance(SMALL, starts, goals, on_target, 9))
        spaces = [world.space(k, int(rng.integers(1, 5)), 9, frozenset()) for k in range(3)]
        if None in spaces:
            continue
        ways = []
        for k, space in enumerate(spaces):
            paths = walk(SMALL, (int(starts[k]),), goals[k], space.cost, on_target)
            ways.append([world.pad(np.array(path, np.int32), k, 9) for path in paths if len(path) == space.cost + 1])
        is_possible = any(not len(list_conflicts(np.stack(paths), 8)) for paths in itertools.product(*ways))
        paths = world.choose_paths(spaces, none, seed=0, max_tries=0)
        weight = world.plan_cluster(spaces, none, paths, [0, 1, 2])
        assert weight == (0 if is_possible else IMPOSSIBLE)
        outcomes.add(weight)
        if is_possible:
            assert not len(list_conflicts(paths, 8))
            for k in range(3):
                assert world.pad(paths[k], k, 9).tolist() in [way.tolist() for way in ways[k]]
    assert outcomes == {0, IMPOSSIBLE}


def test_cover_is_the_least_sum():
    """The sum of surpluses is the smallest with which all pairs have enough, and never above with few nodes."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        num_pairs = int(rng.integers(1, 5))
        stairs = [np.append(np.sort(rng.integers(0, 4, 3))[::-1], 0) for _ in range(num_pairs)]
        pairs = [rng.permutation(4)[:2] for _ in range(num_pairs)]
        rows = np.array([[*pair, 4 * p, 4] for p, pair in enumerate(pairs)], np.int32)
        least = min(
            sum(surplus)
            for surplus in itertools.product(range(4), repeat=4)
            if all(surplus[v] >= stairs[p][surplus[u]] for p, (u, v) in enumerate(pairs))
        )
        flat = np.concatenate(stairs).astype(np.int32)
        assert cover(4, rows, flat, 10_000) == least
        assert all(cover(4, rows, flat, nodes) <= least for nodes in (0, 1, 3))


def test_conflicts_of_paths():
    """Every agent in a conflict is listed with a conflict that it has, at the step where it is."""
    paths = np.array([[0, 1, 2, 2], [1, 0, 0, -1], [4, 3, 2, 2], [5, 5, 0, 1]], np.int32)
    rows = {tuple(row) for row in list_conflicts(paths, 6).tolist()}
    assert rows == {(0, 1, 0, 1), (0, 2, 2, 0), (0, 2, 3, 0), (1, 3, 2, 0)}
