"""The pictures and figures of README: as the command makes them, and as the other pages say."""

import json
import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "docs" / "front"
FILES = "README.md docs/speed.md docs/using.md docs/index.md docs/how_to/command_line.md pyproject.toml"
README, SPEED, USING, INDEX, COMMAND, PROJECT = ((ROOT / name).read_text(encoding="utf-8") for name in FILES.split())


def test_the_pictures_are_current(tmp_path):
    """All pictures are what `python docs/make_front.py` writes; in the film of policies, shortest paths alone fail."""
    command = runpy.run_path(str(ROOT / "docs" / "make_front.py"))
    command["write_drawn"](tmp_path)
    command["write_policies"](tmp_path / "policies.svg")
    (tmp_path / "games.svg").write_text(command["join_films"](), encoding="utf-8")
    for path in tmp_path.iterdir():
        assert (FRONT / path.name).read_bytes() == path.read_bytes(), f"{path.name} is old: run docs/make_front.py"
    title = (FRONT / "policies.svg").read_text(encoding="utf-8").partition("<title>")[2].partition("</title>")[0]
    assert ["solved" in part for part in title.split(" and ")] == [False, True, True]


def test_readme_has_the_figures_of_the_pages():
    """Each ratio in README stands in a row of the table of docs/speed.md."""
    ratios = re.findall(r"^\| .+ \| [\d.,]+ us \| (\S+)x \|$", SPEED, re.MULTILINE)
    times = re.findall(r"\*\*([\d,.]+) times\*\*", README)
    assert len(times) == 3
    assert set(times) <= set(ratios)


def test_the_text_has_what_the_default_training_reaches():
    """README and the page of `multigrid train` have the figures of train.json, the evaluation.json by training seed."""
    by_seed = json.loads((FRONT / "train.json").read_text(encoding="utf-8"))
    steps, after = round(by_seed["0"]["during"][-1]["steps"], -5), by_seed["0"]["after"]
    assert {one["before"]["success_rate"] for one in by_seed.values()} == {0.0}
    # The same with each training seed, as the texts say.
    (success,) = {f"{100 * one['after']['success_rate']:g} %" for one in by_seed.values()}
    readme, page = (" ".join(text.split()) for text in (README, COMMAND))
    assert f"- **{success}** of held-out episodes are solved by eight" in readme
    assert "the same share with each of three training seeds" in readme
    assert "before training, 0 %." in readme
    assert "training seeds 1 and 2 give the same rate" in page
    words = f"After {steps:,} steps of training, {success} of {after['episodes']} held-out episodes succeed"
    assert f"{words}, in {after['mean_steps']:.1f} steps on average" in page


def test_the_versions_are_those_of_the_project():
    """docs/using.md and the site's first page name the versions and systems of pyproject.toml."""
    oldest, *_, newest = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    assert f"Python {oldest} to {newest}, with" in USING
    assert f"Python {oldest} to {newest}." in INDEX
    assert re.findall(r'"Operating System :: (.+)"', PROJECT) == ["POSIX :: Linux"]
    for page in (USING, INDEX):
        assert "Tested on Linux on x86-64; not on macOS or Windows." in " ".join(page.split())
    for name in ("Gymnasium", "PettingZoo", "NumPy", "Numba"):
        (floor,) = re.findall(rf'^  "{name.lower()}>=([\d.]+)', PROJECT, re.MULTILINE)
        assert f"{name} {floor}" in USING


def test_readme_is_short():
    """README has at most 130 lines."""
    assert len(README.splitlines()) <= 130
