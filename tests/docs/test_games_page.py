"""docs/games/index.md: the games that there are, and the speeds of their pages."""

import importlib
import re
from pathlib import Path

import pytest

from multigrid import games

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "games" / "index.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (.+?) \| (.*?\d) \|$", PAGE.partition("## Speed")[2], re.MULTILINE))


def read(name):
    """A page of docs."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


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


def test_the_table_of_learners_is_that_of_the_trainings(monkeypatch):
    """The page has the table that docs/make_curves.py makes of learners.csv, in which no training comes twice."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    curves = importlib.import_module("make_curves")
    rows = curves.read_learners()
    assert f"\n\n{curves.make_table(rows)}\n\n" in PAGE
    trainings = [(row["task"], row["algorithm"], row["seed"]) for row in rows]
    assert len(set(trainings)) == len(trainings)
    assert max(int(row["seconds"]) for row in rows) <= 300
    assert {row["task"] for row in rows if row["algorithm"] == "ppo"} == set(curves.TASKS)


def test_speeds_are_those_of_the_other_pages():
    """Rates of GridWorld and path finding are one over the times of Speed; the next two are those of their pages."""
    times = dict(re.findall(r"^\| (.+?) \| ([\d.]+) us \|", read("speed.md"), re.MULTILINE))
    for row, cases in {
        "GridWorld": (
            "documented GridWorld through `gym.make`",
            "`GridWorldEnv` through `gym.make`",
            '`gym.make_vec("multigrid/GridWorld-v0", num_envs=1024)`',
        ),
        "path finding, 8 agents": (
            "POGEMA, 8 agents on 16 x 16",
            "`parallel_env`, 8 agents, `agent` + `target`",
            "`vector_env`, 1,024 worlds of 8 agents, `agent` + `target`",
        ),
    }.items():
        rates = [f"{float(f'{1e6 / float(times[case]):.2g}'):,.0f}" for case in cases]
        assert ROWS[row] == " | ".join(rates)
    (original, _, many) = ROWS["`MiniGrid-DoorKey-8x8-v0`"].split(" | ")
    assert f"\n| DoorKey-8x8 | {original} | {many} |" in read("games/minigrid.md")
    (original, _, many) = ROWS["`Overcooked-cramped_room-v0`"].split(" | ")
    worlds = [rf"{int(rate.replace(',', '')) // 2:,}" for rate in (original, many)]
    assert re.search(rf"\n\| cramped_room \| [\d,]+ \| {worlds[0]} \| {worlds[1]} \|", read("games/overcooked.md"))
