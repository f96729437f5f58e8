"""docs/games/index.md: the games that there are, and its tables."""

import importlib
import re
from pathlib import Path

import pytest

from multigrid import games

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "games" / "index.md").read_text(encoding="utf-8")


def test_every_page_and_example_of_a_game_has_a_card():
    """The page leads to each page of a game, and names the file and the class of each example."""
    for path in (ROOT / "docs" / "games").glob("*.md"):
        assert path.name == "index.md" or f"]({path.name})\n" in PAGE
    named = re.findall(r"`([a-z_]+)\.py:(\w+)`", PAGE)
    for name, game in named:
        assert hasattr(importlib.import_module(f"examples.games.{name}"), game)
    files = {path.stem for path in (ROOT / "examples" / "games").glob("*.py")}
    assert {name for name, _ in named} == files - {"train", "__init__"}


def test_ids_of_the_page_exist():
    """An id on the page, of a game that has ids, makes an environment."""
    ids = {one for one in re.findall(r"`((?:MiniGrid|Overcooked|rware|Foraging)-\S+)`", PAGE) if "LAYOUT" not in one}
    assert len(ids) == 8
    for one in ids:
        games.config(one)


def test_the_tables_are_those_of_the_rows(monkeypatch):
    """The page has the tables that docs/make_curves.py makes of two files, in which nothing comes twice."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    curves = importlib.import_module("make_curves")
    rows, speeds = curves.read_rows("learners"), curves.read_rows("speeds")
    assert f"\n\n{curves.make_table(rows)}\n\n" in PAGE
    assert f"\n\n{curves.make_speeds(speeds)}\n\n" in PAGE
    for keys in (
        [(row["task"], row["algorithm"], row["seed"]) for row in rows],
        [(row["game"], row["played by"]) for row in speeds],
    ):
        assert len(set(keys)) == len(keys)
    assert max(int(row["seconds"]) for row in rows) <= 300
    assert {row["task"] for row in rows if row["algorithm"] == "ppo"} == set(curves.TASKS)
