"""What every recipe promises: it learns, it refuses what it cannot judge, and its examples and pages are right."""

import doctest
import importlib

import pytest

from pages import blocks_of_recipe, run_block


def learning(main, before, after, **settings):
    """Return the test that a recipe's `main` brings the rate of arrivals from below one figure to above another."""

    def test_it_learns(capfd):
        """On held-out episodes, trained agents arrive far more often than untrained ones, and `main` says so."""
        rates = main(**settings)
        assert rates["before"] < before
        assert rates["after"] > after
        assert f"{rates['before']:.1%} before training, {rates['after']:.1%} after" in capfd.readouterr().out

    return test_it_learns


def refusing(main, on_target, known):
    """Return the test that `main` refuses a mode, and names those that it knows."""

    def test_other_modes_are_refused():
        """A mode in which arrivals are no ends, or which the library cannot play, is refused."""
        with pytest.raises(ValueError, match=f"on_target is '{on_target}'[;,] expected {known}"):
            main(on_target=on_target)

    return test_other_modes_are_refused


def examples_of(*names):
    """Return the test of the examples in modules that only this environment can import."""

    @pytest.mark.parametrize("name", names)
    def test_examples(name):
        """Every example of the module prints what it says."""
        assert doctest.testmod(importlib.import_module(name)).failed == 0

    return test_examples


def pages_of_recipe(name):
    """Return the test that the blocks of the pages that need this environment run, and print what is shown."""

    @pytest.mark.parametrize("block", blocks_of_recipe(name), ids=str)
    def test_pages(block, tmp_path, monkeypatch):
        """Each block of a page prints what the page shows."""
        run_block(block, tmp_path, monkeypatch)

    return test_pages
