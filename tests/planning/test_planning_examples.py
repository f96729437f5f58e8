"""The examples in docstrings of what searches are run."""

import doctest
import importlib

import pytest

from test_doctests import SEARCHING

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("name", sorted(SEARCHING))
def test_examples(name):
    """Every example of a module prints what it says."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
