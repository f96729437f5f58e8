"""The examples in docstrings are run: what help() shows is what happens."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import examples
import multigrid
import tools
from benchmarks import pogema, speed
from helpers import find_recipe_tests

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]
# What imports a library that excludes the tested set: the environment that has it, whose tests run these examples.
ELSEWHERE = {
    "multigrid.integrations.benchmarl": "benchmarl",
    "multigrid.integrations.rllib": "rllib",
    "multigrid.integrations.torchrl": "torchrl",
    "examples.agilerl_ippo": "agilerl",
    "examples.benchmarl_mappo": "benchmarl",
    "examples.d3rlpy_cql": "d3rlpy",
    "examples.imitation_bc": "imitation",
    "examples.momaland_wrappers": "momaland",
    "examples.pufferlib_ppo": "pufferlib",
    "examples.rllib_ppo": "rllib",
    "examples.skrl_ippo": "skrl",
    "examples.tianshou_dqn": "tianshou",
    "examples.torchrl_ppo": "torchrl",
    "examples.xuance_mappo": "xuance",
}
# What searches; tests/planning runs these examples, for the kernels of searches take a minute to compile.
SEARCHING = {
    *("multigrid.planning", "multigrid.planning._controllers", "multigrid.planning._solver"),
    *(
        "benchmarks.pogema.playing",
        "multigrid.evaluation._estimates",
        "tools.make_suite",
        "tools.pretraining.labels",
    ),
}
# __main__ would start a command.
FOUND = [
    *pkgutil.walk_packages(multigrid.__path__, "multigrid.", onerror=lambda _name: None),
    *pkgutil.walk_packages(examples.__path__, "examples."),
    *pkgutil.walk_packages(pogema.__path__, "benchmarks.pogema."),
    *pkgutil.walk_packages(speed.__path__, "benchmarks.speed."),
    *pkgutil.walk_packages(tools.__path__, "tools."),
]
MODULES = ["multigrid", "benchmarks.documented", "benchmarks.pogema"] + [
    module.name
    for module in FOUND
    if not module.name.endswith("__main__") and module.name not in {*ELSEWHERE, *SEARCHING}
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, monkeypatch):
    """Every example of a module prints what it says."""
    # doctest asks each name of a module for __wrapped__; the module supersuit, asked for a name, raises ImportError.
    unwrap = inspect.unwrap
    monkeypatch.setattr(inspect, "unwrap", lambda it, **stop: it if inspect.ismodule(it) else unwrap(it, **stop))
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("name", ELSEWHERE)
def test_examples_elsewhere(name):
    """A module that cannot be imported here has an environment, and tests there that import it and run its examples."""
    environment = ELSEWHERE[name]
    tests = [path.read_text() for path in find_recipe_tests(environment)]
    assert any(re.search(rf'examples_of\([^)]*"{name}"', test) for test in tests)
    assert (ROOT / ".ci" / "recipes" / f"{environment}.txt").read_text().startswith("# install: pip install -c ")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_there_are_examples():
    """Examples are found where everybody begins."""
    for name in ("multigrid", "multigrid.config", "multigrid.envs.grid_world", "multigrid.envs.parallel"):
        found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
        assert sum(len(one.examples) for one in found) > 0, name


def test_pages_that_docstrings_name_are_there():
    """A docstring names a page by its title and its file in the source, and nothing names a command that opened it."""
    titles = {}
    for path in (ROOT / "multigrid").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "multigrid docs" not in text, path
        named = re.findall(r'See the page "([^"]+)" \((\S+) in the source\)\.\n', text)
        titles |= {page: title for title, page in named}
        assert all((ROOT / page).is_file() for page in re.findall(r"\bdocs/[\w/]+\.md", text)), path
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in titles}
    assert {page: re.findall("^# (.+)$", text, re.MULTILINE)[0] for page, text in texts.items()} == titles
    assert len(titles) > 8
