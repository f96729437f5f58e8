"""The pictures of docs/collisions: read again from their shapes alone, and judged by the reference."""

from __future__ import annotations

import itertools
import re
import runpy
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from reference import STEPS, collide, requests, why_refused

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "collisions"
RULES = ("symmetric", "priority", "block_both", "soft", "none")
OUTCOMES = ("moved", "stayed", "edge", "wall", "occupied", "contested", "swap", "parked")

Cell = tuple[int, int]


class Disc(NamedTuple):
    """A drawn agent: its place and radius in pixels, whether it is filled, and the words beside its number."""

    x: float
    y: float
    radius: float
    filled: bool
    words: list[str]


class Panel:
    """A drawn grid, found by the class of its group."""

    def __init__(self, picture: ET.Element, name: str) -> None:
        """Read where its cells are, and its walls."""
        (self.group,) = every(picture, "g", name)
        (frame,) = every(self.group, "rect", "frame")
        self.cell = float(self.group.attrib["data-cell"])
        self.x, self.y, width, height = (float(frame.attrib[key]) for key in ("x", "y", "width", "height"))
        self.walls = np.zeros((round(width / self.cell), round(height / self.cell)), dtype=bool)
        for wall in every(self.group, "rect", "wall"):
            half = self.cell / 2
            self.walls[self.cell_at(float(wall.attrib["x"]) + half, float(wall.attrib["y"]) + half)] = True

    def cell_at(self, x: float, y: float) -> Cell:
        """The cell that a pixel is in."""
        column, row = int((x - self.x) // self.cell), int((y - self.y) // self.cell)
        assert 0 <= column < self.walls.shape[0]
        assert 0 <= row < self.walls.shape[1]
        return column, row

    def discs(self, name: str) -> dict[int, Disc]:
        """The agents, by the number that is written in each."""
        found = {}
        for group in every(self.group, "g", name):
            (circle,) = every(group, "circle")
            number, *words = (text.text or "" for text in every(group, "text"))
            x, y, radius = (float(circle.attrib[key]) for key in ("cx", "cy", "r"))
            assert int(number) not in found
            found[int(number)] = Disc(x, y, radius, circle.attrib.get("stroke") is None, words)
        return found

    def cells(self, name: str) -> dict[int, Cell]:
        """The cell of each agent."""
        return {number: self.cell_at(disc.x, disc.y) for number, disc in self.discs(name).items()}

    def asked(self) -> dict[int, Cell]:
        """The cell that the tip of each agent's arrow is in."""
        tips = {}
        for group in every(self.group, "g", "request"):
            (head,) = every(group, "polygon")
            x, y = head.attrib["points"].split()[0].split(",")
            tips[int(every(group, "text")[0].text or "")] = self.cell_at(float(x), float(y))
        return tips


def every(element: ET.Element, tag: str, name: str | None = None) -> list[ET.Element]:
    """All elements of a tag below another, or those of one class."""
    found = element.iter("{http://www.w3.org/2000/svg}" + tag)
    return [each for each in found if name is None or each.get("class") == name]


def read(name: str) -> ET.Element:
    """A committed picture."""
    return ET.parse(FOLDER / f"{name}.svg").getroot()  # noqa: S314 - our own file


def judged(rule: str, panel: Panel) -> tuple[dict[int, Cell], dict[int, str]]:
    """What the reference makes of the drawn requests: the cells after the step, and the outcomes by name."""
    at, asked = panel.cells("request"), panel.asked()
    steps = {i: (asked[i][0] - x, asked[i][1] - y) for i, (x, y) in at.items()}
    actions = {i: next(action for action, step in STEPS.items() if step == steps[i]) for i in at}
    wish, outcome = requests(panel.walls, at, set(), actions)
    granted = collide(rule, at, wish)
    for i in at:
        if i not in outcome:
            outcome[i] = 0 if i in granted else why_refused(i, at, wish)
    return {i: wish[i] if i in granted else at[i] for i in at}, {i: OUTCOMES[outcome[i]] for i in at}


def conflicts(at: dict[int, Cell], to: dict[int, Cell]) -> set[str]:
    """The conflicts of Stern et al. (SoCS 2019) that moves have, if all of them are made."""
    found = set()
    for i, j in itertools.permutations(at, 2):
        if to[i] == to[j]:
            found.add("vertex")
            if at[i] == at[j]:
                found.add("edge")
        if to[i] == at[j]:
            found.add("following")
            if to[j] == at[i]:
                found.add("swapping")
    for i in at:
        ring = [i]
        while len(ring) <= len(at):
            ahead = [j for j in at if at[j] == to[ring[-1]]]
            if ahead == [i] and len(ring) > 2:
                found.add("cycle")
            ring.append(ahead[0] if ahead else i)
    return found


def joined(panel: Panel, cell: Cell) -> list[int]:
    """The agents that a cell has to do with, and those that these have to do with, and so on."""
    at, asked = panel.cells("request"), panel.asked()
    cells, found = {cell}, []
    for _ in at:
        found = [i for i in at if cells & {at[i], asked[i]}]
        cells |= {cell for i in found for cell in (at[i], asked[i])}
    return found


def test_drawing_again_gives_the_committed_pictures() -> None:
    """The command gives the same files as those in the repository, to the byte, and no others."""
    drawn = runpy.run_path(str(DOCS / "draw_collisions.py"))["drawings"]()
    assert {name: text.encode() for name, text in drawn.items()} == {
        path.name: path.read_bytes() for path in FOLDER.iterdir()
    }


@pytest.mark.parametrize("rule", RULES)
def test_a_picture_shows_what_the_reference_says(rule: str) -> None:
    """From the drawn requests, the rule leads to the drawn outcome: cells, fillings, reasons, trails, the number."""
    picture = read(rule)
    before, after = Panel(picture, "before"), Panel(picture, "after")
    assert before.walls.tolist() == after.walls.tolist()
    cells, outcomes = judged(rule, before)
    assert after.cells("agent") == cells
    moved = {i for i, outcome in outcomes.items() if outcome == "moved"}
    discs = after.discs("agent")
    assert {i for i, disc in discs.items() if disc.filled} == moved
    assert {i: disc.words for i, disc in discs.items()} == {
        i: [] if i in moved else [outcome] for i, outcome in outcomes.items()
    }
    trails = []
    for trail in every(after.group, "path", "trail"):
        x, y, to_x, to_y = map(float, re.findall(r"[\d.]+", trail.attrib["d"]))
        trails.append((after.cell_at(x, y), after.cell_at(to_x, to_y)))
    at = before.cells("request")
    assert sorted(trails) == sorted((at[i], cells[i]) for i in moved)
    assert f"after one step: {len(moved)} of {len(at)} moved" in [text.text for text in every(picture, "text")]


def test_the_rules_are_drawn_on_the_same_requests() -> None:
    """All five pictures begin alike, on a grid that is not square and has a wall, and no two end alike."""
    ends = [Panel(read(rule), "after").cells("agent") for rule in RULES]
    assert len({tuple(sorted(end.items())) for end in ends}) == len(RULES)
    panels = [Panel(read(rule), "before") for rule in RULES]
    assert len({ET.tostring(panel.group) for panel in panels}) == 1
    assert panels[0].walls.shape[0] != panels[0].walls.shape[1]
    assert panels[0].walls.any()


def test_conflicts_are_what_they_are_called() -> None:
    """Every conflict of agents in cells of their own is there, by its name, and one that a wall blocks."""
    panel = Panel(read("symmetric"), "before")
    at, asked = panel.cells("request"), panel.asked()
    words = [text for text in every(panel.group, "text") if not (text.text or "").isdigit()]
    named = {
        word.text: joined(panel, panel.cell_at(float(word.attrib["x"]), float(word.attrib["y"]))) for word in words
    }
    assert sorted(i for members in named.values() for i in members) == sorted(at)
    blocked = named.pop("blocked")
    assert len(blocked) == 2
    assert [bool(panel.walls[asked[i]]) for i in blocked] == [False, True]
    found = {
        name: conflicts({i: at[i] for i in members}, {i: asked[i] for i in members}) for name, members in named.items()
    }
    assert found == {
        "vertex": {"vertex"},
        "swapping": {"swapping", "following"},
        "following": {"following"},
        "cycle": {"cycle", "following"},
    }


@pytest.mark.parametrize(
    ("name", "also"),
    [("vertex", ()), ("edge", ("vertex",)), ("swapping", ("following",)), ("following", ()), ("cycle", ("following",))],
)
def test_each_conflict_is_drawn_by_itself(name: str, also: tuple[str, ...]) -> None:
    """A panel shows the conflict of its name, and others only where it cannot be without them."""
    panel = Panel(read("conflicts"), name)
    assert conflicts(panel.cells("request"), panel.asked()) == {name, *also}


@pytest.mark.parametrize("name", [*RULES, "conflicts"])
def test_discs_do_not_overlap(name: str) -> None:
    """All discs are apart from one another and inside their grid, also where two agents share a cell."""
    picture = read(name)
    for grid in [each.attrib["class"] for each in every(picture, "g") if "data-cell" in each.attrib]:
        panel = Panel(picture, grid)
        discs = panel.discs("agent" if grid == "after" else "request").values()
        assert len(discs) > 1
        for one, other in itertools.combinations(discs, 2):
            assert np.hypot(one.x - other.x, one.y - other.y) > one.radius + other.radius
        for disc in discs:
            for dx, dy in ((1, 1), (-1, -1)):
                corner = panel.cell_at(disc.x + dx * disc.radius, disc.y + dy * disc.radius)
                assert corner == panel.cell_at(disc.x, disc.y)
