"""Draw the pictures of README's section on path finding: `python docs/draw_collisions.py`.

One for each rule of `collisions`, all of the same requests, with the outcome that the environment gives; and one of the
conflicts by themselves. They go to docs/collisions, where tests/docs/test_drawings.py reads them again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from multigrid import Action, Outcome, parallel_env
from multigrid._files import replace_file
from multigrid.actions import DIRECTIONS

FOLDER = Path(__file__).parent / "collisions"

Cell = tuple[int, int]

RULES = ("symmetric", "priority", "block_both", "soft", "none")
RIGHT, DOWN, LEFT, UP = (1, 0), (0, 1), (-1, 0), (0, -1)  # as the eye sees them


class Request(NamedTuple):
    """An agent and the step that it asks for; its number is its place in the list."""

    conflict: str
    cell: Cell
    step: Cell


SIZE = (6, 5)
WALLS = {(5, 3), (5, 4)}
REQUESTS = (
    Request("cycle", (0, 0), RIGHT),
    Request("cycle", (1, 0), DOWN),
    Request("cycle", (1, 1), LEFT),
    Request("cycle", (0, 1), UP),
    Request("vertex", (3, 0), RIGHT),
    Request("vertex", (5, 0), LEFT),
    Request("following", (2, 2), RIGHT),
    # The head of the row comes before the middle: under priority one of the two followers is in time.
    Request("following", (4, 2), RIGHT),
    Request("following", (3, 2), RIGHT),
    Request("swapping", (0, 4), RIGHT),
    Request("swapping", (1, 4), LEFT),
    Request("blocked", (3, 4), RIGHT),
    Request("blocked", (4, 4), RIGHT),
)
# The cell that the name of each conflict is written in.
NAMES = {"cycle": (0, 1), "vertex": (4, 0), "following": (2, 2), "swapping": (0, 4), "blocked": (3, 4)}

CONFLICTS = {
    "vertex": (((0, 0), RIGHT), ((1, 1), UP)),
    "edge": (((0, 0), RIGHT), ((0, 0), RIGHT)),
    "swapping": (((0, 0), RIGHT), ((1, 0), LEFT)),
    "following": (((0, 1), UP), ((0, 0), RIGHT)),
    "cycle": (((0, 0), RIGHT), ((1, 0), DOWN), ((1, 1), LEFT), ((0, 1), UP)),
}
IN_WORDS = {
    "vertex": "two in one cell",
    "edge": "one edge, one way",
    "swapping": "one edge, both ways",
    "following": "into a cell just left",
    "cycle": "a ring of followers",
}

# Okabe and Ito's palette (2008), which colour-blind readers can tell apart; a number is white where that reads best.
COLOURS = {
    "cycle": ("#0072b2", "#ffffff"),
    "vertex": ("#e69f00", "#1f2328"),
    "following": ("#009e73", "#1f2328"),
    "swapping": ("#cc79a7", "#1f2328"),
    "blocked": ("#d55e00", "#1f2328"),
    "edge": ("#56b4e9", "#1f2328"),
}
INK, SOFT_INK, LINE, BORDER, WALL, PAPER = "#1f2328", "#57606a", "#d0d7de", "#6e7781", "#a3acb7", "#ffffff"
SANS = "Helvetica, Arial, 'Liberation Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"

WIDTH, MARGIN, CELL, RADIUS = 720, 20, 54, 15.5
SMALL, ASIDE = 12.4, 13.5  # two that share a cell: the radius of each, and its distance from the middle
LIFT = 4  # where words are written in the cells, the discs above them stand a little high


class Panel:
    """A grid in a picture: it knows where its cells are."""

    def __init__(self, name: str, size: Cell, x: float, y: float, lift: float = LIFT) -> None:
        """Draw the cells."""
        (columns, rows), width, height = size, size[0] * CELL, size[1] * CELL
        lines = [f"M{n(x + i * CELL)} {n(y)}v{height}" for i in range(1, columns)]
        lines += [f"M{n(x)} {n(y + i * CELL)}h{width}" for i in range(1, rows)]
        self.x, self.y, self.lift = x, y, lift
        border = f'rx="2" fill="none" stroke="{BORDER}" stroke-width="1.5"'
        self.frame = f'<rect class="frame" {xy(x, y)} {wh(width, height)} {border}/>'
        self.parts = [
            f'<g class="{name}" data-cell="{CELL}">',
            f'<path d="{"".join(lines)}" stroke="{LINE}" fill="none"/>',
        ]

    def centre(self, cell: Cell) -> tuple[float, float]:
        """Where a disc stands that has a cell for itself."""
        return self.x + (cell[0] + 0.5) * CELL, self.y + (cell[1] + 0.5) * CELL - self.lift

    def add(self, part: str) -> None:
        """Draw something over what is there."""
        self.parts.append(part)

    def add_walls(self) -> None:
        """Draw the walls."""
        for x, y in sorted(WALLS):
            corner = xy(self.x + x * CELL, self.y + y * CELL)
            self.add(f'<rect class="wall" {corner} {wh(CELL, CELL)} fill="{WALL}"/>')

    def add_word(self, x: float, row: int, word: str, more: str) -> None:
        """Write a word at the bottom of a cell."""
        self.add(write(x, self.y + (row + 0.92) * CELL, word, 11, f'text-anchor="middle" {more}'))

    def text(self) -> str:
        """The panel as SVG."""
        return "\n".join([*self.parts, self.frame, "</g>"])


def n(value: float) -> str:
    """A number with at most two decimals: the same text on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def xy(x: float, y: float) -> str:
    """Attributes of a place."""
    return f'x="{n(x)}" y="{n(y)}"'


def wh(width: float, height: float) -> str:
    """Attributes of a size."""
    return f'width="{n(width)}" height="{n(height)}"'


def write(x: float, y: float, text: str, size: float, more: str = "") -> str:
    """A line of text."""
    return f'<text {xy(x, y)} font-size="{n(size)}" {more}>{text}</text>'


def disc(number: int, colour: tuple[str, str], x: float, y: float, radius: float, *, filled: bool = True) -> str:
    """An agent: filled, or an outline if it was refused."""
    hue, ink = colour
    size = 1.05 * radius if number < 10 else 0.95 * radius
    shown = n(radius if filled else radius - 1.25)
    paint = f'fill="{hue}"' if filled else f'fill="{PAPER}" stroke="{hue}" stroke-width="2.5"'
    circle = f'<circle cx="{n(x)}" cy="{n(y)}" r="{shown}" {paint}/>'
    more = f'fill="{ink if filled else INK}" font-weight="bold" text-anchor="middle"'
    return circle + write(x, y + 0.36 * size, str(number), size, more)


def arrow(x: float, y: float, step: Cell, start: float) -> str:
    """An arrow from `start` pixels beside a place to the disc in the next cell, or to where it would be."""
    (dx, dy), end, width = step, CELL - start, 2
    neck, half = end - 3.6 * width, 2.1 * width
    line = f'd="M{n(x + dx * start)} {n(y + dy * start)}L{n(x + dx * neck)} {n(y + dy * neck)}"'
    points = [(end, 0), (neck, half), (neck, -half)]
    corners = " ".join(f"{n(x + dx * along - dy * side)},{n(y + dy * along + dx * side)}" for along, side in points)
    return f'<path {line} stroke="{INK}" stroke-width="{width}" fill="none"/><polygon points="{corners}" fill="{INK}"/>'


def draw_requests(panel: Panel, requests: tuple[Request, ...]) -> None:
    """Draw agents with arrows to the cells that they ask for."""
    edges = [(cell, (cell[0] + dx, cell[1] + dy)) for _, cell, (dx, dy) in requests]
    for number, (conflict, cell, step) in enumerate(requests):
        (x, y), (dx, dy), edge = panel.centre(cell), step, edges[number]
        radius, start, lane = RADIUS, RADIUS, 0.0
        if edges.count(edge) > 1:
            aside = ASIDE if number else -ASIDE
            x, y, radius, start = x - dy * aside, y + dx * aside, SMALL, SMALL
        elif edge[::-1] in edges:
            lane = 5.5
            start = (RADIUS**2 - lane**2) ** 0.5
        panel.add('<g class="request">')
        panel.add(arrow(x - dy * lane, y + dx * lane, step, start))
        panel.add(disc(number, COLOURS[conflict], x, y, radius) + "</g>")


def outcome_of(rule: str) -> tuple[list[Cell], list[Outcome]]:
    """Play the one step under a rule: the cell of each agent after it, and why it is there."""
    walls = np.zeros(SIZE, dtype=bool)
    walls[tuple(zip(*WALLS, strict=True))] = True
    env = parallel_env(
        walls=walls, num_agents=len(REQUESTS), collisions=rule, on_target="stay", allow_stay=True, max_cycles=None
    )
    starts = [request.cell for request in REQUESTS]
    env.reset(seed=0, options={"agents": starts, "targets": starts[1:] + starts[:1]})
    actions = {tuple(step): Action(number) for number, step in enumerate(DIRECTIONS.tolist())}
    requests = zip(env.possible_agents, REQUESTS, strict=True)
    *_, infos = env.step({agent: int(actions[request.step]) for agent, request in requests})
    cells = [(x, y) for x, y, *_ in env.state().tolist()]
    return cells, [Outcome(info["outcome"]) for info in infos.values()]


def draw_outcome(panel: Panel, cells: list[Cell], outcomes: list[Outcome]) -> None:
    """Draw who moved, with a trail from where it was, and who stayed, with the reason."""
    places = []
    for number, cell in enumerate(cells):
        x, y = panel.centre(cell)
        if cells.count(cell) > 1:
            places.append((x + (-ASIDE if cells.index(cell) == number else ASIDE), y, SMALL))
        else:
            places.append((x, y, RADIUS))
    hues = [COLOURS[request.conflict] for request in REQUESTS]
    for number, outcome in enumerate(outcomes):
        if outcome is Outcome.MOVED:
            (x, y), (to_x, to_y, _) = panel.centre(REQUESTS[number].cell), places[number]
            trail = f'd="M{n(x)} {n(y)}L{n(to_x)} {n(to_y)}" stroke="{hues[number][0]}"'
            panel.add(f'<path class="trail" {trail} stroke-width="5" stroke-linecap="round" opacity="0.45"/>')
    for number, outcome in enumerate(outcomes):
        x, y, radius = places[number]
        panel.add('<g class="agent">')
        panel.add(disc(number, hues[number], x, y, radius, filled=outcome is Outcome.MOVED))
        if outcome is not Outcome.MOVED:
            panel.add_word(x, cells[number][1], outcome.name.lower(), f'fill="{INK}"')
        panel.add("</g>")


def page(height: float, title: str, description: str, parts: list[str]) -> str:
    """A whole picture, on paper of its own: it reads the same on a light and on a dark page."""
    paper = f'<rect x="0.5" y="0.5" {wh(WIDTH - 1, height - 1)} rx="10" fill="{PAPER}" stroke="{LINE}"/>'
    box = f'viewBox="0 0 {WIDTH} {n(height)}" {wh(WIDTH, height)}'
    names = f"<title>{title}</title>\n<desc>{description}</desc>"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" font-family="{SANS}">'
    return "\n".join([opening, names, paper, *parts, "</svg>", ""])


def draw_rule(rule: str) -> str:
    """The picture of one rule."""
    cells, outcomes = outcome_of(rule)
    top, right = 78, WIDTH - MARGIN
    before, after = Panel("before", SIZE, MARGIN, top), Panel("after", SIZE, right - SIZE[0] * CELL, top)
    for panel in (before, after):
        panel.add_walls()
    draw_requests(before, REQUESTS)
    for name, (x, row) in NAMES.items():
        before.add_word(before.x + (x + 0.5) * CELL, row, name, f'fill="{SOFT_INK}" font-style="italic"')
    draw_outcome(after, cells, outcomes)

    moved = sum(outcome is Outcome.MOVED for outcome in outcomes)
    legend = (
        f'<g stroke="{BORDER}" stroke-width="2"><circle cx="{right - 182}" cy="31" r="5" fill="{BORDER}"/>'
        f'<circle cx="{right - 108}" cy="31" r="5" fill="none"/></g>'
    )
    parts = [
        write(MARGIN, 36, f'collisions="{rule}"', 18, f'fill="{INK}" font-weight="bold" font-family="{MONO}"'),
        legend,
        write(right - 172, 36, "moved", 13.5, f'fill="{SOFT_INK}"'),
        write(right - 98, 36, "stayed, and why", 13.5, f'fill="{SOFT_INK}"'),
        write(before.x, 68, "requests", 13.5, f'fill="{INK}"'),
        write(after.x, 68, f"after one step: {moved} of {len(cells)} moved", 13.5, f'fill="{INK}"'),
        before.text(),
        after.text(),
    ]
    text = ", ".join(f"{number} {outcome.name.lower()}" for number, outcome in enumerate(outcomes))
    return page(top + SIZE[1] * CELL + MARGIN, f"collisions={rule}", f"Agents, and what became of them: {text}.", parts)


def draw_conflicts() -> str:
    """The picture of the conflicts by themselves."""
    size, top, parts = (2, 2), 46, []
    pitch = (WIDTH - 2 * MARGIN - size[0] * CELL) / (len(CONFLICTS) - 1)
    for index, (name, requests) in enumerate(CONFLICTS.items()):
        panel = Panel(name, size, MARGIN + index * pitch, top, lift=0)
        draw_requests(panel, tuple(Request(name, cell, step) for cell, step in requests))
        words = write(panel.x, top + size[1] * CELL + 20, IN_WORDS[name], 12, f'fill="{SOFT_INK}"')
        parts += [write(panel.x, 35, name, 15, f'fill="{INK}" font-weight="bold"'), panel.text(), words]
    text = ", ".join(f"{name}: {words}" for name, words in IN_WORDS.items())
    return page(top + size[1] * CELL + 37, "Conflicts, as Stern et al. name them", f"Five small grids. {text}.", parts)


def drawings() -> dict[str, str]:
    """All pictures, by file name."""
    pictures = {f"{rule}.svg": draw_rule(rule) for rule in RULES}
    return {**pictures, "conflicts.svg": draw_conflicts()}


def main() -> None:
    """Write the pictures to docs/collisions."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawings().items():
        with replace_file(FOLDER / name) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
