"""Searches in a window, against all paths that there are."""

import itertools

import numpy as np
import pytest

from multigrid.core.rules import ON_TARGET_RULES
from multigrid.planning._graph import NOWHERE, build_graph, distance_tables
from multigrid.planning._kernels import make_generator
from multigrid.planning._path_search import (
    NO_PATH,
    WindowStates,
    enter,
    find_path_in_window,
    make_timetable,
    price,
    remove,
)
from multigrid.planning._pibt import make_team

LENGTH = 4
WALLS = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]], bool)


def draw_paths(generator, graph, num_agents):
    """Draw paths of agents that neither meet nor swap, by drawing steps until they are so."""
    cells = generator.permutation(len(graph.cells))[:num_agents]
    paths = [cells]
    while len(paths) <= LENGTH:
        after = np.array([generator.choice(row[row >= 0]) for row in graph.neighbours[paths[-1]]])
        moves = set(zip(paths[-1].tolist(), after.tolist(), strict=True))
        if len(set(after.tolist())) == num_agents and not any(a != b and (b, a) in moves for a, b in moves):
            paths.append(after)
    return np.array(paths)


def find_least(graph, paths, goal, away, rule):
    """Return the least cost of agent 0 among all its paths that are in conflict with none of the others."""
    least = None
    for tail in itertools.product(range(len(graph.cells)), repeat=LENGTH):
        path = [paths[0, 0], *tail]
        visits = [t for t, cell in enumerate(path) if cell == goal and (t > 0 or rule == "park")]
        arrival = visits[0] if visits else None
        steps = range(arrival if rule == "leave" and visits else LENGTH)
        if any(path[t + 1] not in graph.neighbours[path[t]] for t in steps):
            continue
        if rule == "park" and visits and any(cell != goal for cell in path[arrival:]):
            continue
        if any(
            path[t + 1] == other[t + 1] or (path[t], path[t + 1]) == (other[t + 1], other[t])
            for t in steps
            for other in paths.T[1:]
        ):
            continue
        if rule == "stay":
            cost = sum(path[t] != goal or path[t + 1] != goal for t in range(LENGTH)) + away[path[-1]]
        else:
            cost = arrival if visits else LENGTH + away[path[-1]]
        least = cost if least is None else min(least, cost)
    return least


@pytest.mark.parametrize("rule", ["restart", "stay", "leave", "park"])
def test_the_path_is_the_best_of_all(rule):
    """The cost is the least of any path that neither meets nor swaps; below it, there is none; who is absent has 0."""
    graph, generator = build_graph(WALLS), np.random.default_rng(4)
    for _ in range(6):
        paths = draw_paths(generator, graph, 4)
        goals = generator.integers(len(graph.cells), size=4).astype(np.int32)
        tables = distance_tables(graph.neighbours, goals)
        team = make_team(graph.neighbours, tables, goals, "stay")
        window = make_timetable(team, ON_TARGET_RULES.index(rule), LENGTH, make_generator(0), is_window=True)
        states = WindowStates(np.empty_like(window.state_cells), np.empty_like(window.state_cells))
        window.paths[:] = paths.T
        for agent in (1, 2, 3):
            enter(window, agent)
        least = find_least(graph, paths, goals[0], tables[0], rule)
        cost = find_path_in_window(window, states, 0, 100)
        assert (NO_PATH if least is None else least) == cost
        if least is None:
            assert (window.paths == paths.T).all()
            continue
        assert find_path_in_window(window, states, 0, cost - 1) == NO_PATH
        assert find_path_in_window(window, states, 0, cost) == cost
        assert price(window, 0) == cost
        enter(window, 0)
        remove(window, 0)
        window.paths[0] = NOWHERE
        assert price(window, 0) == 0
        assert (window.agents != 0).all()
