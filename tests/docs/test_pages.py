"""The pages of docs/environments: what the code says today, and true."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
import runpy
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, scenarios
from multigrid.parts import PARTS

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "environments"
PAGES = ("grid_world.md", "multi_grid.md", "multi_grid_vector.md")


def made() -> dict[str, str]:
    """What the command would write, by file."""
    pages: dict[str, str] = runpy.run_path(str(DOCS / "make_pages.py"))["pages"]()
    return pages


def test_pages_are_current() -> None:
    """The files are what `python docs/make_pages.py` writes, to the byte, and there are no others."""
    pages = made()
    for name, text in pages.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name} is old: run python docs/make_pages.py"
    assert {path.name for path in FOLDER.iterdir()} == {*pages, "grid_world.png"}
    assert set(PAGES) <= set(pages)


def test_the_picture_is_the_documented_frame() -> None:
    """GridWorld's page shows what the environment draws."""
    env = multigrid.GridWorldEnv(render_mode="rgb_array")
    env.reset(seed=0)
    assert np.array_equal(imageio.imread(FOLDER / "grid_world.png"), env.render())


def test_nothing_is_left_out() -> None:
    """Every option, every argument, every outcome and every part has a row, with its default where it has one."""
    text = (FOLDER / "multi_grid.md").read_text()
    for field in dataclasses.fields(GridConfig):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{field.name}` | "))
        assert f"| `{field.default!r}` |".replace("'", '"') in row
        assert row.split(" | ")[-1].strip(" |")
    for name in inspect.signature(multigrid.MultiGridEnv).parameters:
        assert name == "config" or f"| `{name}` | " in text
    for outcome in multigrid.Outcome:
        assert f"| {int(outcome)} | {outcome.name.lower()}: " in text
    every = multigrid.parallel_env(observe=tuple(PARTS))
    for part in every.observation_space("agent_0").spaces:
        assert re.search(rf"^\| `{part}` \| \w+ `\(.*\)` \| ", text, flags=re.MULTILINE)
    vector = (FOLDER / "multi_grid_vector.md").read_text()
    for name in inspect.signature(multigrid.MultiGridVectorEnv).parameters:
        assert name == "config" or f"| `{name}` | " in vector


def test_the_suite_says_how_good_its_plans_are() -> None:
    """Each scenario has a row with its bound, and is called optimal only if its sum of costs is the bound."""
    text = (FOLDER / "suite.md").read_text()
    rows = re.findall(r"^\| (\S+) \| (\d+) \| (\d+) \| (optimal|feasible, gap (0\.\d{3})) \|$", text, re.MULTILINE)
    assert [name for name, *_ in rows] == scenarios.names()
    for name, cost, bound, said, gap in rows:
        assert int(bound) == scenarios.lower_bound(name) <= int(cost)
        assert (said == "optimal") == (cost == bound)
        assert not gap or float(gap) == pytest.approx(int(cost) / int(bound) - 1, abs=6e-4)


@pytest.mark.parametrize("page", PAGES)
def test_examples_and_links_work(page: str) -> None:
    """An example gives what the page says, and a link leads to a file, or to a heading, that is there."""
    text = (FOLDER / page).read_text()
    (example,) = re.findall(r"^```pycon\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(example, {}, page, None, None)
    assert len(test.examples) > 2
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    for link in re.findall(r"\]\((.*?)\)", text):
        name, _, heading = link.partition("#")
        assert (FOLDER / name).is_file()
        assert not heading or f"\n## {heading.capitalize()}\n" in (FOLDER / name).read_text()
