"""The pictures of docs/collisions: read from their shapes alone, and judged by the reference.

`docs/draw_collisions.py` at commit 6c2e6592 drew them.
"""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from reference import STEPS, collide, requests, why_refused

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "collisions"
RULES = ("symmetric", "priority", "block_both", "soft", "none")
OUTCOMES = ("moved", "stayed", "edge", "wall", "occupied", "contested", "swap", "parked")


def every(element, tag, name=None):
    """All elements of a tag below another, or those of one class."""
    found = element.iter("{http://www.w3.org/2000/svg}" + tag)
    return [each for each in found if name is None or each.get("class") == name]


def numbers(element, *names):
    """The attributes of an element that are numbers."""
    return [float(element.attrib[name]) for name in names]


def read(name):
    """A committed picture."""
    return ET.parse(FOLDER / f"{name}.svg").getroot()  # noqa: S314 - our own file


class Panel:
    """A drawn grid, found by the class of its group."""

    def __init__(self, picture, name):
        """Read where its cells, its walls and its agents are; of each the circle, and the words beside its number."""
        (self.group,) = every(picture, "g", name)
        (frame,) = every(self.group, "rect", "frame")
        (self.cell,) = numbers(self.group, "data-cell")
        self.x, self.y, width, height = numbers(frame, "x", "y", "width", "height")
        self.walls = np.zeros((round(width / self.cell), round(height / self.cell)), dtype=bool)
        for wall in every(self.group, "rect", "wall"):
            x, y = numbers(wall, "x", "y")
            self.walls[self.cell_at(x + self.cell / 2, y + self.cell / 2)] = True
        self.circles, self.words, self.at, self.asked = {}, {}, {}, {}
        for group in every(self.group, "g", "agent" if name == "after" else "request"):
            (circle,) = every(group, "circle")
            number, *words = (text.text or "" for text in every(group, "text"))
            assert int(number) not in self.at
            self.circles[int(number)], self.words[int(number)] = circle, words
            self.at[int(number)] = self.cell_at(*numbers(circle, "cx", "cy"))
            for head in every(group, "polygon"):  # the tip of the arrow is in the cell that the agent asks for
                self.asked[int(number)] = self.cell_at(*map(float, head.attrib["points"].split()[0].split(",")))

    def cell_at(self, x, y):
        """The cell that a pixel is in."""
        column, row = int((x - self.x) // self.cell), int((y - self.y) // self.cell)
        assert 0 <= column < self.walls.shape[0]
        assert 0 <= row < self.walls.shape[1]
        return column, row


@pytest.mark.parametrize("rule", RULES)
def test_a_picture_shows_what_the_reference_says(rule):
    """From the drawn requests, the rule leads to the drawn outcome: cells, fillings, reasons, trails, the number."""
    picture = read(rule)
    before, after = Panel(picture, "before"), Panel(picture, "after")
    assert before.walls.tolist() == after.walls.tolist()
    at, asked = before.at, before.asked
    steps = {i: (asked[i][0] - x, asked[i][1] - y) for i, (x, y) in at.items()}
    actions = {i: next(action for action, step in STEPS.items() if step == steps[i]) for i in at}
    wish, refused = requests(before.walls, at, set(), actions)
    moved = set(collide(rule, at, wish))
    refused |= {i: why_refused(i, at, wish) for i in at if i not in moved and i not in refused}
    assert {i for i in at if refused.get(i, 0) == 0} == moved
    cells = {i: wish[i] if i in moved else at[i] for i in at}
    assert after.at == cells
    assert {i for i, circle in after.circles.items() if circle.get("stroke") is None} == moved
    assert after.words == {i: [] if i in moved else [OUTCOMES[refused[i]]] for i in at}
    trails = []
    for trail in every(after.group, "path", "trail"):
        x, y, to_x, to_y = map(float, re.findall(r"[\d.]+", trail.attrib["d"]))
        trails.append((after.cell_at(x, y), after.cell_at(to_x, to_y)))
    assert sorted(trails) == sorted((at[i], cells[i]) for i in moved)
    assert f"after one step: {len(moved)} of {len(at)} moved" in [text.text for text in every(picture, "text")]
