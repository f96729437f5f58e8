"""The pictures and figures of README: as the command makes them, and as the other pages say."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "docs" / "front"


@pytest.fixture(scope="module")
def front():
    """What is defined in docs/make_front.py."""
    return runpy.run_path(str(ROOT / "docs" / "make_front.py"))


def test_what_needs_no_run_is_current(front, tmp_path):
    """Badges and bars are what `python docs/make_front.py` writes, from pyproject.toml and docs/speed.md."""
    front["write_drawn"](tmp_path)
    for path in tmp_path.iterdir():
        assert (FRONT / path.name).read_bytes() == path.read_bytes(), f"{path.name} is old: run docs/make_front.py"


def test_the_crowd_is_current(front, tmp_path):
    """The 64 agents between shelves stand where the plan of the suite puts them."""
    front["write_crowd"](tmp_path / "crowd.png")
    again, committed = (
        np.asarray(Image.open(folder / "crowd.png").convert("RGB"), np.int64) for folder in (tmp_path, FRONT)
    )
    # Another Pillow may choose other colours; a disc in another cell changes more.
    assert abs(again - committed).mean() < 0.05


def test_the_policies_are_current(front, tmp_path):
    """The animation of three policies shows what they do on its layout; of them, shortest paths alone fail."""
    front["write_policies"](tmp_path / "policies.svg")
    text = (tmp_path / "policies.svg").read_text(encoding="utf-8")
    assert (FRONT / "policies.svg").read_text(encoding="utf-8") == text, "policies.svg is old: run docs/make_front.py"
    title = text.partition("<title>")[2].partition("</title>")[0]
    assert ["solved" in part for part in title.split(" and ")] == [False, True, True]


def test_badges_say_their_words(front):
    """A badge has its two words as text and as its title."""
    assert front["badge"]("a<b", "c").count("a&lt;b") == 2


def test_readme_has_the_figures_of_the_pages():
    """Each row of README's table of speed has the figures of the row of docs/speed.md with the same numbers."""
    readme, speed = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/speed.md"))
    row = re.compile(r"^\| .+ \| ([\d.,]+ us) \| (\S+) \|$", re.MULTILINE)
    assert len(row.findall(readme)) == 7
    assert set(row.findall(readme)) <= set(row.findall(speed))
    for times in re.findall(r"\*\*([\d,.]+) times\*\*", readme):
        assert f"{times}x" in speed


def test_the_versions_are_those_of_the_project():
    """docs/using.md and the site's first page name the versions and systems of pyproject.toml."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    using, index = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("using.md", "index.md"))
    assert f"Python {pythons[0]} to {pythons[-1]}, with" in using
    assert f"Python {pythons[0]} to {pythons[-1]}." in index
    assert re.findall(r'"Operating System :: (.+)"', project) == ["POSIX :: Linux"]
    for page in (using, index):
        assert "Tested on Linux on x86-64; not on macOS or Windows." in " ".join(page.split())
    for name in ("Gymnasium", "PettingZoo", "NumPy", "Numba"):
        (oldest,) = re.findall(rf'^  "{name.lower()}>=([\d.]+)', project, re.MULTILINE)
        assert f"{name} {oldest}" in using


def test_readme_is_short():
    """README has at most 150 lines, and every picture in it is there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"|!\[[^]]*\]\(([^)]+)\)', text)
    assert len(pictures) >= 8
    for one, other in pictures:
        assert (ROOT / (one or other)).is_file()
