"""The pages of docs/environments: what the code says today, and true."""

import base64
import dataclasses
import inspect
import re
import runpy
from pathlib import Path
from typing import get_args

import imageio.v3 as imageio
import numpy as np
import pytest

import multigrid
from benchmarks.documented import DocumentedGridWorld
from benchmarks.page_parts import fill
from multigrid import GridConfig, scenarios
from multigrid.config import Collisions, OnTarget, Part, Reward
from multigrid.parts import PARTS
from multigrid.rendering.svg import animated_svg
from multigrid.scenarios.tracing import trace_episode
from pages import find_blocks, run_block

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "environments"
DATA = re.compile(r"(?<=data:image/png;base64,)[^\"]+")
PAGES = ("grid_world.md", "multi_grid.md", "multi_grid_vector.md")


def read(name):
    """A committed file."""
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def command():
    """What make_pages.py defines or imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        yield runpy.run_path(str(DOCS / "make_pages.py"))


def test_pages_are_current(command):
    """The parts of pages, and films, are what `python docs/make_pages.py` writes, and there are no other files."""
    parts, films = command["page_parts"](), command["FILMS"]
    for name, by_name in parts.items():
        assert fill(read(name), by_name) == read(name), f"{name} is old: run python docs/make_pages.py"
    for name, scenario in films.items():
        film = animated_svg(trace_episode(scenarios.get(scenario)))
        assert read(name) == film, f"{name} is old: run python docs/make_pages.py"
    once = {f"{name}.svg" for name in ("grid_world", "multi_grid_vector", "robotic_warehouse", "foraging")}
    assert {path.name for path in FOLDER.iterdir()} == {*parts, *films, *once} > set(PAGES)


def test_the_film_has_the_documented_frames():
    """GridWorld's page shows, one after the other, the frames of an agent on its way, as the documented code draws."""
    shown = [imageio.imread(base64.b64decode(found)) for found in DATA.findall(read("grid_world.svg"))]
    env = DocumentedGridWorld(render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    expected = [env.render()]
    while len(expected) < len(shown):
        dx, dy = (observation["target"] - observation["agent"]).tolist()
        action = (0 if dx > 0 else 2) if abs(dx) >= abs(dy) else (1 if dy > 0 else 3)
        observation, _, terminated, _, _ = env.step(action)
        expected.append(env.render())
        if terminated:
            observation, _ = env.reset()
            expected.append(env.render())
    assert len(shown) > 9
    # The last episode has ended, and another one begun.
    assert np.array_equal(shown, expected[:-1])


def test_films_heed_the_setting_for_reduced_motion():
    """Each page has a film, is light with it, and the film stands still where the reader prefers that."""
    for name in (*PAGES, "suite.md"):
        texts = [read(film) for film in re.findall(r"^!\[.+\]\((\S+(?<!_curve)\.svg)\)$", read(name), re.MULTILINE)]
        assert len(texts) == (6 if name == "suite.md" else 1)
        assert all("prefers-reduced-motion" in text and text.count("@keyframes") > 9 for text in texts)
        assert sum(map(len, texts)) < 120_000


def test_nothing_is_left_out():
    """Every option, argument, outcome and part has a row, with its default and its names where it has them."""
    text = read("multi_grid.md")
    for field in dataclasses.fields(GridConfig):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{field.name}` | "))
        assert f"| `{field.default!r}` |".replace("'", '"') in row
        assert row.split(" | ")[-1].strip(" |")
    for env, page in ((multigrid.MultiGridEnv, text), (multigrid.MultiGridVectorEnv, read("multi_grid_vector.md"))):
        assert all(f"| `{name}` | " in page for name in inspect.signature(env).parameters if name != "config")
    assert all(f"| {int(outcome)} | `{outcome.name}`: " in text for outcome in multigrid.Outcome)
    for part in multigrid.parallel_env(observe=tuple(PARTS)).observation_space("agent_0").spaces:
        assert re.search(rf"^\| `{part}` \| \w+ `\(.*\)` \| ", text, flags=re.MULTILINE)
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| `", text, flags=re.MULTILINE))
    options = {"collisions": Collisions, "on_target": OnTarget, "reward": Reward, "observe": Part}
    for option, names in options.items():
        assert tuple(re.findall(r'`"(\w+)"`', rows[option])) == get_args(names)


def test_the_suite_says_how_good_its_plans_are():
    """Each scenario has a cell, with a percentage only if its sum of costs is above the bound, and then by so much."""
    lines = re.findall(r"^\| (\w+) \|(.*)\|$", read("suite.md"), re.MULTILINE)
    (_, worlds), *rows = [(kind, [cell.strip() for cell in row.split("|")]) for kind, row in lines]
    cells = {f"{kind}-{world}": cell for kind, row in rows for world, cell in zip(worlds, row, strict=True) if cell}
    assert sorted(cells) == sorted(scenarios.names())
    for name in scenarios.names():
        cost, gap = re.fullmatch(r"(\d+)(?: \+ (\d+\.\d) %)?", cells[name]).groups()
        bound = scenarios.lower_bound(name)
        assert bool(gap) == (int(cost) > bound)
        assert float(gap or 0) == pytest.approx(100 * (int(cost) / bound - 1), abs=0.06)


@pytest.mark.parametrize("page", [*PAGES, "suite.md"])
def test_programs_and_links_work(page, tmp_path, monkeypatch):
    """A program prints what the page says, and a link leads to a file, or to a heading, that is there."""
    text = read(page)
    (program,) = find_blocks(text, FOLDER / page)
    assert program.language == "python"
    assert len(re.findall(r"^print\(.*\)  # ", program.text, re.MULTILINE)) >= 1
    run_block(program, tmp_path, monkeypatch)
    for link in re.findall(r"\]\((.*?)\)", text):
        name, _, heading = link.partition("#")
        assert (f"\n## {heading.capitalize().replace('-', ' ')}\n" if heading else "") in read(name or page)
