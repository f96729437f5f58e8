"""The examples in docstrings are run: what help() shows is what happens."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import multigrid

# __main__ would start a command.
MODULES = ["multigrid"] + [
    module.name
    for module in pkgutil.walk_packages(multigrid.__path__, "multigrid.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, monkeypatch):
    """Every example of a module prints what it says."""
    # doctest asks each name of a module for __wrapped__; the module supersuit, asked for a name, raises ImportError.
    unwrap = inspect.unwrap
    monkeypatch.setattr(inspect, "unwrap", lambda it, **stop: it if inspect.ismodule(it) else unwrap(it, **stop))
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    """Examples are found where everybody begins."""
    for name in ("multigrid", "multigrid.config", "multigrid.envs.grid_world", "multigrid.envs.parallel"):
        found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
        assert sum(len(one.examples) for one in found) > 0, name
