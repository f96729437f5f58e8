"""The house: imports point one way, heavy ones wait until they are needed, and a direction is written once."""

import ast
import json
import os
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import multigrid
from helpers import run_python

PACKAGE = Path(multigrid.__file__).parent
MODULES = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sorted(PACKAGE.rglob("*.py"))}

# Nobody imports from a later row. The package itself and its registration stand above all, beside the commands.
LAYERS = [
    {
        "_checks",
        "_delays",
        "_files",
        "_memory",
        "_options",
        "_palette",
        "_phrases",
        "_tiles",
        "_version",
        "actions",
        "game",
        "parts",
    },
    {"maps"},
    {"_fields", "config"},
    {"runtime"},
    {"core"},
    {"rendering"},
    {"envs"},
    {"games"},
    {"planning"},
    {"wrappers", "integrations", "policies", "scenarios", "testing", "words"},
    {"evaluation"},
    {"datasets"},
    {"cli", "__init__", "__main__", "registration"},
]
# The documented code, which the tests take as the oracle and the bench times.
DOCUMENTED = Path(__file__).parents[1] / "benchmarks" / "documented.py"
GRID_WORDS = {"agent", "agents", "target", "targets", "wall", "walls", "grid"}
# What a layer may import beside what the package needs.
PLAY = (("cli", "play"), ("cli", "_play_screen"))
EXTRAS = {"datasets": {"minari", "h5py"}}
HEAVY = {
    *("numba", "llvmlite", "pygame", "supersuit", "stable_baselines3", "torch", "matplotlib", "imageio", "PIL", "rich"),
    *("tyro", "ray", "sb3_contrib", "torchrl", "tensordict", "tianshou", "agilerl", "skrl", "momaland", "yaml"),
    *("pufferlib", "xuance", "omegaconf", "hydra", "optuna", "tensorboard", "wandb", "benchmarl", "minari", "h5py"),
    *("imitation", "d3rlpy"),
}


def name_of(parts):
    """Name a module the way an import does: ("core", "rules") is multigrid.core.rules."""
    return ".".join(["multigrid", *(part for part in parts if part != "__init__")])


NAMES = {name_of(parts): parts for parts in MODULES}


def imports_of(path):
    """Every module that a file imports, wherever it does so, even where only a type checker reads it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            # `from multigrid.envs import spaces` names a module; a class has its module in front.
            modules = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from (module if module in NAMES else node.module for module in modules)


IMPORTS = {parts: set(imports_of(path)) for parts, path in MODULES.items()}


def layer_of(parts):
    """The row that a module stands in."""
    rows = [row for row, names in enumerate(LAYERS) if parts[0] in names]
    assert rows, f"{name_of(parts)} stands in no layer; say in LAYERS where it belongs"
    return rows[0]


def allowed(parts):
    """The libraries that a module may import, beside NumPy and Python's own; None where all are."""
    top = parts[0]
    if any(top in layer for layer in LAYERS[:3]):
        return set()
    if top in ("runtime", "core", "planning"):
        return {"numba", "llvmlite"}
    if top == "rendering":
        return {"pygame", "gymnasium"}
    if top in ("integrations", "cli"):
        return None
    return {"gymnasium", "pettingzoo", "typing_extensions", *EXTRAS.get(top, ())}


def test_imports_point_one_way():
    """A module imports from its own layer and those below, even where only types are meant."""
    wrong = [
        f"{name_of(parts)} imports {module}"
        for parts, modules in IMPORTS.items()
        for module in sorted(modules)
        if module.split(".")[0] == "multigrid" and (module not in NAMES or layer_of(NAMES[module]) > layer_of(parts))
    ]
    assert wrong == []


def test_imports_make_no_circle():
    """The modules can be put in an order in which each needs only those before it, even where only types are meant."""
    graph = {name_of(parts): modules & NAMES.keys() for parts, modules in IMPORTS.items()}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(MODULES)


def test_who_may_import_what():
    """Game and planners know NumPy and Numba; pygame belongs to rendering and play, learners to what trains them."""
    wrong = []
    for parts, modules in IMPORTS.items():
        others = {module.split(".")[0] for module in modules} - sys.stdlib_module_names - {"multigrid", "numpy"}
        known = allowed(parts)
        if known is None:
            known = others - {"numba", "llvmlite"} - ({"pygame"} if parts not in PLAY else set())
        wrong += [f"{name_of(parts)} imports {name}" for name in sorted(others - known)]
    assert wrong == []


def test_the_insides_of_numba_are_in_four_modules():
    """What another version of Numba may change is imported or named by four modules of runtime alone."""
    inside = {
        name_of(parts)
        for parts, modules in IMPORTS.items()
        if any(module.startswith(("numba.core", "numba.np", "llvmlite")) for module in modules)
        or re.search(r"\bnumba\.(core|np)\b", MODULES[parts].read_text("utf-8"))
    }
    names = ("dispatchers", "intrinsics", "kernel_cache", "table_types")
    assert inside == {f"multigrid.runtime.{name}" for name in names}


def names_in(tree):
    """Every name that a module gives to a variable, an attribute, an argument, a function or a class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_runtime_knows_no_grid():
    """What compiles and runs kernels has no name for what a game is about, and imports no module that has."""
    paths = {parts: path for parts, path in MODULES.items() if parts[0] == "runtime"}
    names = {name for path in paths.values() for name in names_in(ast.parse(path.read_text()))}
    names -= {"target_context"}  # an argument of Numba's, whose target is a processor
    assert {word for name in names for word in name.split("_")} & GRID_WORDS == set()
    used = {NAMES[module][0] for parts in paths for module in IMPORTS[parts] & NAMES.keys()}
    assert used == {"runtime", "parts"}


def test_the_oracle_shares_no_code_with_the_package():
    """The documented GridWorld, by which the package is judged, imports nothing of it."""
    assert not {module for module in imports_of(DOCUMENTED) if module.startswith("multigrid")}


def run(code):
    """Run a fresh Python, in surroundings that this process cannot have changed, and return what it printed as JSON."""
    code = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{code}"
    around = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    # Without Numba, the game says so: that it says nothing else is tested there too.
    done = run_python("-W", "ignore:Numba is not installed", "-c", code, env=around)
    # A game on a cold cache says in one line that it compiles.
    said = [line for line in done.stderr.splitlines() if not line.startswith("multigrid: compiling the rules")]
    assert (done.returncode, said) == (0, [])
    return json.loads(done.stdout)


def test_what_is_not_used_is_not_imported():
    """`import multigrid` brings no compiler, window or learner along, and its subpackages when they are first used."""
    code = """
import json, multigrid
before = [name for name in sys.modules if name.startswith("multigrid.")]
import multigrid.envs
libraries = [name.split(".")[0] for name in sys.modules]
names = [getattr(multigrid, name).__name__ for name in ("maps", "policies", "wrappers")]
print(json.dumps([before, libraries, [multigrid.scenarios.names()[0], *names]]))
"""
    before, libraries, names = run(code)
    assert before == ["multigrid._version", "multigrid.registration"]
    assert set(libraries) & HEAVY == set()
    assert names == ["delivery-17x13-8", "multigrid.maps", "multigrid.policies", "multigrid.wrappers"]


def test_importing_the_package_touches_nothing_global():
    """`import multigrid` leaves random streams, the environment, warnings, hooks and paths as its libraries do."""
    code = """
import gymnasium, pettingzoo, json, os, random, signal, warnings
import numpy as np

def around():
    return repr([
        random.getstate(), np.random.get_state(), dict(os.environ), os.getcwd(), sys.path, warnings.filters,
        np.geterr(), np.get_printoptions(), sys.excepthook, sys.getrecursionlimit(),
        signal.getsignal(signal.SIGINT),
    ])

before = around()
import multigrid
changed = before != around()
from multigrid import GridWorldEnv, MultiGridEnv, parallel_env
env = parallel_env()
env.reset(seed=3)
env.step(dict.fromkeys(env.agents, 0))
later = [random.getstate(), np.random.get_state()]
print(json.dumps([changed, repr(later) in before or before.startswith(repr(later)[:-1])]))
"""
    assert run(code) == [False, True]


def test_public_names():
    """Every public name is there, and any other is an AttributeError."""
    for name in set(multigrid.__all__) - {"FlatObservation"}:  # an alias, whose name is NumPy's
        assert getattr(multigrid, name).__name__.rpartition(".")[2] == name
    assert set(multigrid.__all__) <= set(dir(multigrid))
    with pytest.raises(AttributeError, match=r"^module 'multigrid' has no attribute 'gridworld'$"):
        multigrid.gridworld  # noqa: B018


def direction_tables(tree):
    """Every literal that looks like a table of steps: two or more steps [dx, dy], or four or more -1s, 0s and 1s."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            items = node.elts
        elif isinstance(node, ast.Dict):
            items = node.values
        else:
            continue
        values = [literal(item) for item in items]
        pairs = [sorted(map(repr, value)) for value in values if isinstance(value, list | tuple)]
        if sum(pair in (["0", "1"], ["-1", "0"]) for pair in pairs) > 1 or (
            len(values) > 3 and set(map(repr, values)) == {"-1", "0", "1"}
        ):
            yield node.lineno


def literal(node):
    """The value of an expression that is written out, else None."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def test_directions_are_written_once():
    """The table of directions stands in actions.py, and nowhere else does one like it."""
    tables = {name_of(parts): list(direction_tables(ast.parse(path.read_text()))) for parts, path in MODULES.items()}
    found = {name: lines for name, lines in tables.items() if lines}
    assert [(name, len(lines)) for name, lines in found.items()] == [("multigrid.actions", 1)], found
