"""The pictures of the site on dark pages and on phones."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from multigrid._palette import _ratio, parse_colour

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = runpy.run_path(str(DOCS / "_extensions" / "figures.py"))
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.svg"))}
DRAWN = [path for path, svg in SOURCES.items() if "<circle" in svg and "<text" in svg]
CHARTS = [path for path, svg in SOURCES.items() if "Matplotlib" in svg and path.parent.name != "front"]
FLOOR = parse_colour("#272b33")


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_a_drawing_is_legible_on_a_dark_page(path: Path) -> None:
    """No ground is white, discs contrast with the floor, and so do numbers with their discs."""
    dark = FIGURES["darken"](SOURCES[path])
    assert not re.search(r'<rect [^>]*fill="#fff(fff)?"', dark)
    discs = re.findall(r'<circle[^>]* fill="(#\w{6})"[^>]*/>\s*<text[^>]* fill="(#\w{6})"', dark)
    assert discs
    for hue, ink in discs:
        assert _ratio(parse_colour(hue), FLOOR) >= 3 or hue == FIGURES["_FLOOR"]
        assert _ratio(parse_colour(ink.lower()), parse_colour(hue)) >= 4


def test_charts_have_a_dark_ground_and_light_letters() -> None:
    """Charts have the colours of dark pages, also where matplotlib writes no colour."""
    assert len(CHARTS) > 5
    for path in CHARTS:
        dark = FIGURES["darken"](SOURCES[path])
        assert "#ffffff" not in dark
        assert "#000000" not in dark
        assert re.search(r'<svg fill="#cfd0d0" ', dark)


def test_a_comparison_is_split_into_its_panels() -> None:
    """Each panel has its caption and its animations; a picture that is no comparison has none."""
    text = SOURCES[DOCS / "front" / "policies.svg"]
    panels = FIGURES["split"](text)
    assert [panel.caption.partition(":")[0] for panel in panels] == ["shortest paths", "pretrained policy", "planner"]
    for panel in panels:
        assert len(re.findall(r"<g\b", panel.svg)) == panel.svg.count("</g>") > 0
        assert f'viewBox="0 0 {panel.width} ' in panel.svg
        used = {name for names in re.findall(r"animation-name:([\w,]+)", panel.svg) for name in names.split(",")}
        assert used == set(re.findall(r"@keyframes (k\d+)", panel.svg)) != set()
    assert sum(panel.svg.count("<circle") for panel in panels) == text.count("<circle")
    assert FIGURES["split"](SOURCES[DOCS / "environments" / "multi_grid.svg"]) == []


def test_the_first_picture_stacks_on_a_phone(site: Path, chromium: Browser) -> None:
    """The panels of the first page are side by side on a desk, and as wide as the text on a phone, in both themes."""
    for theme in ("light", "dark"):
        for width, fewest in ((390, 340), (1400, 250)):
            page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.goto((site / "index.html").as_uri())
            shown = page.locator(f".panels img.only-{theme}")
            boxes = [box for box in (one.bounding_box() for one in shown.all()) if box]
            assert len(boxes) == 3
            assert all(box["width"] >= fewest for box in boxes)
            assert len({box["x"] for box in boxes}) == (1 if width == 390 else 3)
            assert page.locator(".panels img:visible").count() == 3
            page.close()
