"""The planners' kernels: interpreted ones plan the same, and their files are in the key of the cache."""

import ast
import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from judging import random_problem

import multigrid
from episode_digest import STRICT
from helpers import AROUND, run_python
from multigrid import parallel_env
from multigrid.core.arrays import LEFT, TRAVELLING
from multigrid.maps._cells import distances_to, label_components
from multigrid.planning import _kernels, controller, solve
from multigrid.planning._expansion import NONE, NUM_NODES, find_slot, make_nodes, make_room
from multigrid.planning._graph import FAR, NOWHERE, Tables, build_graph, distance_tables
from multigrid.planning._kernels import draw_below, make_generator

PACKAGE = Path(multigrid.__file__).parent


def digest():
    """What each method plans under each rule, and the actions of controllers."""
    everything = hashlib.sha256()
    for method, most in (("pibt", 50), ("lacam", 120), ("cbs", 10)):
        for seed, rule in enumerate(("stay", "park", "leave")):
            problem = random_problem(seed, 6, 5, 4, on_target=rule)
            plan = solve(problem, method, time_limit=None, max_expansions=most, seed=seed)
            cells = b"" if plan.cells is None else plan.cells.tobytes() + plan.actions.tobytes()
            everything.update(repr((plan.status, plan.lower_bound, plan.expansions)).encode() + cells)
    for method in ("pibt", "windowed"):
        env = parallel_env(walls="..#\n...\n.#.\n...", num_agents=3, on_target="restart", allow_stay=True)
        policy = controller(method)
        env.reset(seed=1)
        for _ in range(5):
            actions = policy(env, {})
            everything.update(repr(list(actions.values())).encode())
            env.step(actions)
    return everything.hexdigest()


def test_interpreted_kernels_plan_the_same():
    """With NUMBA_DISABLE_JIT=1 and every warning an error, the plans are the same."""
    code = "import test_kernels; print(test_kernels.digest())"
    here = Path(__file__).parent
    paths = ":".join([AROUND["PYTHONPATH"], str(here), str(here.parent)])
    done = run_python(*STRICT, "-c", code, env={**AROUND, "PYTHONPATH": paths, "NUMBA_DISABLE_JIT": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, digest() + "\n", "")


def test_every_file_that_kernels_are_made_from_is_in_the_key():
    """The files with kernels, and all modules of ours that they import, are those whose digest names the cache."""
    sources = [path for room in ("planning", "policies") for path in (PACKAGE / room).glob("*.py")]
    made_from, waiting = set(), [path for path in sources if "@kernel" in path.read_text()]
    assert len(waiting) >= 5
    while waiting:
        path = waiting.pop()
        made_from.add(path)
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        modules = {node.module for node in imports if node.module.startswith("multigrid")}
        files = {Path(importlib.util.find_spec(module).origin) for module in modules}
        waiting += files - made_from
    assert made_from <= set(_kernels.list_sources())


def test_graphs_and_distances():
    """Cells, neighbours and distances are the map's."""
    walls = np.random.default_rng(4).random((7, 5)) < 0.3
    graph = build_graph(walls)
    assert graph.cells.tolist() == np.argwhere(~walls).tolist()
    moves, padded = [[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], np.pad(graph.index, (0, 1), constant_values=-1)
    for cell, (x, y) in enumerate(graph.cells.tolist()):
        assert graph.index[x, y] == cell
        for action, (dx, dy) in enumerate(moves):
            assert graph.neighbours[cell, action] == padded[x + dx, y + dy]
    components = label_components(walls)
    goals = np.arange(len(graph.cells), dtype=np.int32)
    for goal, table in zip(goals, distance_tables(graph.neighbours, goals), strict=True):
        expected = np.minimum(distances_to(components, graph.cells[goal]), FAR)[tuple(graph.cells.T)]
        assert table.tolist() == expected.tolist()


def test_nodes_are_found_again():
    """Configurations have one slot each, also after the table has grown, and unknown ones get a free one."""
    generator = np.random.default_rng(2)
    nodes = make_nodes(num_agents=3, room=4)
    known = {}
    for _ in range(300):
        cells = generator.integers(-1, 7, 3).astype(np.int32)
        nodes = make_room(nodes, 1)
        slot = find_slot(nodes, cells)
        assert nodes.table[slot] == known.get(tuple(cells), NONE)
        if tuple(cells) not in known:
            node = known[tuple(cells)] = int(nodes.state[NUM_NODES])
            nodes.cells[node], nodes.table[slot] = cells, node
            nodes.state[NUM_NODES] += 1
    assert len(known) > 200


@pytest.mark.parametrize("number", [1, 2, 5, 1000])
def test_random_numbers(number):
    """Numbers below a bound are all drawn, about equally often, and the same ones for the same seed."""
    generator, again = make_generator(7), make_generator(7)
    drawn = [int(draw_below(generator, number)) for _ in range(20 * number)]
    assert drawn == [int(draw_below(again, number)) for _ in range(20 * number)]
    counts = np.bincount(drawn, minlength=number)
    assert (len(counts), counts.max() <= 60, (counts > 0).mean() > 0.99) == (number, True, True)


def test_absent_agents_have_no_tables():
    """A map that is first located for an agent that is absent, with a wall as its target, gets no wrong distances."""
    walls = np.zeros((2, 5, 3), bool)
    walls[0, 4, 1] = walls[1, 0, 0] = True
    tables = Tables(walls, at_least=4)
    last, away = np.array([[[4, 2], [0, 0]]]), np.array([[TRAVELLING, LEFT]])
    for m in (1, 0):
        states = {"map_index": np.array([m]), "location": np.array([[[1, 1], [0, 0]]]), "target": last, "status": away}
        cells, goals, rows = tables.locate(states)
        assert cells[0, 1] == NOWHERE
        expected = distance_tables(tables.neighbours[m], goals[0, :1])[0]
        assert (tables.distances[rows[0, 0]] == expected).all()
