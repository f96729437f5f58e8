"""What tells versions of a game apart: after an edit, kernels are compiled anew, and files are refused."""

import importlib.util
import sys
from pathlib import Path

import pytest

from multigrid.core.games import identify
from multigrid.game import describe

SOURCE = """
import numpy as np
from typing import Annotated, NamedTuple
from numpy.typing import NDArray
from multigrid import Game, games
import beside

PRICE, PRICES = 2, np.array([1, 2])

def helper(w, e):
    return w.steps[e] * PRICE + PRICES[0]

class Mine(Game):
    options = {"toll": 0.5}

    class State(NamedTuple):
        door: Annotated[NDArray[np.int64], "E 2"]

    def after_moves(w, s, e):
        # A comment.
        w.rewards[e, 0] = helper(w, e) + beside.BONUS - s.toll

class Child(Mine):
    pass
"""


def load(folder: Path, source: str, bonus: str = "BONUS = 3", game: str = "Mine") -> str:
    """Return the digest of a game that is loaded from a file, beside another one that it imports."""
    (folder / "beside.py").write_text(bonus)
    (folder / "own_game.py").write_text(source)
    sys.modules.pop("beside", None)
    spec = importlib.util.spec_from_file_location("own_game", folder / "own_game.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return identify(describe(getattr(module, game)))


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("# A comment.", "# Another\n        # comment.", True),
        ("PRICE, PRICES = 2,", "PRICE, PRICES = 3,", False),
        ("np.array([1, 2])", "np.array([1, 3])", False),
        ("w.steps[e] * PRICE", "w.steps[e] + PRICE", False),
        ("- s.toll", "+ s.toll", False),
        ("w.rewards[e, 0] =", "w.distances[e, 0] =", False),
        ("w.steps[e] * PRICE", "(w.steps[e] in {1, 2}) * PRICE", False),
        ('{"toll": 0.5}', '{"toll": 0.25}', True),
        ('{"toll": 0.5}', '{"toll": 1}', False),
        ('"E 2"', '"E 3"', False),
        ("    options", "    targets = False\n    options", False),
    ],
)
def test_what_an_edit_changes(tmp_path, monkeypatch, old, new, is_same):
    """A game is another one after an edit of its code, of a helper or of a constant, and not after one of a comment."""
    monkeypatch.syspath_prepend(tmp_path)
    before = load(tmp_path, SOURCE)
    assert old in SOURCE
    assert (load(tmp_path, SOURCE.replace(old, new)) == before) == is_same
    assert load(tmp_path, SOURCE) == before == load(tmp_path, SOURCE, game="Child")


def test_members_of_a_set_are_part_of_the_game(tmp_path, monkeypatch):
    """An edit of a set of constants in a function is seen."""
    monkeypatch.syspath_prepend(tmp_path)
    one, other = (SOURCE.replace("* PRICE", f"* (PRICE in {{1, {last}}})") for last in (2, 3))
    assert load(tmp_path, one) != load(tmp_path, other)


def test_a_module_of_constants_is_part_of_the_game(tmp_path, monkeypatch):
    """An edit of a module whose attributes a function reads is seen."""
    monkeypatch.syspath_prepend(tmp_path)
    assert load(tmp_path, SOURCE) != load(tmp_path, SOURCE, "BONUS = 4")
