"""The rules explorer in a real browser: what it shows is what the environment does."""

from __future__ import annotations

import functools
import itertools
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from multigrid import Action, MultiGridEnv, Outcome, parallel_env
from multigrid._palette import colours, legible
from multigrid.maps import parse_map
from multigrid.rendering.replay import FLOORS

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
TOOLS = runpy.run_path(str(DOCS / "rules" / "make_table.py"))
WALLS = {name: parse_map(one.text).walls for name, one in TOOLS["MAPS"].items()}
RULES = ("symmetric", "priority", "block_both", "soft", "none")
ACTIONS = tuple(action.name.lower() for action in Action)

Cell = tuple[int, int]


class Situation(NamedTuple):
    """What a reader may set."""

    map: str
    rule: str
    cells: tuple[Cell, ...]
    actions: tuple[str, ...]

    @property
    def address(self) -> str:
        """Its link."""
        agents = (f"{x}.{y}.{action}" for (x, y), action in zip(self.cells, self.actions, strict=True))
        return "#explore=" + ",".join([self.map, self.rule, *agents])


class Result(NamedTuple):
    """What becomes of an agent."""

    outcome: str
    cell: Cell


def free_cells(name: str) -> list[Cell]:
    """The cells of a map that are no walls."""
    return [(x, y) for x, y in np.argwhere(~WALLS[name]).tolist()]


@functools.cache
def environment(name: str, num_agents: int, rule: str) -> MultiGridEnv[Any]:
    """An environment in which an episode ends only if all agents stand on their targets."""
    return parallel_env(
        walls=WALLS[name], num_agents=num_agents, collisions=rule, on_target="stay", allow_stay=True, max_cycles=None
    )


def play(situation: Situation, rule: str) -> list[Result]:
    """Play the step in the environment, with targets in other cells."""
    n = len(situation.cells)
    env = environment(situation.map, n, rule)
    targets = [cell for cell in free_cells(situation.map) if cell not in situation.cells][:n]
    env.reset(seed=0, options={"agents": situation.cells, "targets": targets})
    actions = (ACTIONS.index(action) for action in situation.actions)
    *_, infos = env.step(dict(zip(env.possible_agents, actions, strict=True)))
    outcomes = (Outcome(info["outcome"]).name.lower() for info in infos.values())
    return [Result(outcome, (x, y)) for outcome, (x, y, *_) in zip(outcomes, env.state().tolist(), strict=True)]


def random_situations(count: int, seed: int) -> Iterator[Situation]:
    """Situations of all maps and numbers of agents; the agents are close together, so that they often conflict."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        name = str(random.choice(list(WALLS)))
        cells = free_cells(name)
        n = int(random.choice([1, 2, 3], p=[0.1, 0.2, 0.7]))
        x, y = cells[random.integers(len(cells))]
        near = sorted(cells, key=lambda cell: abs(cell[0] - x) + abs(cell[1] - y))[: n + int(random.integers(4))]
        chosen = tuple(near[index] for index in random.permutation(len(near))[:n])
        yield Situation(name, str(random.choice(RULES)), chosen, tuple(random.choice(ACTIONS, size=n).tolist()))


@pytest.fixture
def opened(chromium: Browser, site: Path) -> Iterator[Callable[..., Page]]:
    """Open the page at a link; in the end see that nothing was logged, and nothing loaded but files of the site."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_at(address: str = "", **options: Any) -> Page:
        contexts.append(chromium.new_context(**{"viewport": {"width": 1400, "height": 900}} | options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "rules.html").as_uri() + address)
        page.wait_for_selector("#rules-explorer[data-shown]")
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert complaints == []
    assert requests
    assert [url for url in requests if not url.startswith((site.as_uri(), "data:", "blob:"))] == []


SHOWN = """() => ({
  address: location.hash,
  situation: document.querySelector("#rules-explorer").dataset.shown,
  agents: [...document.querySelectorAll("#rules-explorer .agent:not([hidden]) .result")].map(line => line.innerText),
  cards: Object.fromEntries([...document.querySelectorAll("#rules-explorer .comparison button")].map(card =>
    [card.dataset.rule, [...card.querySelectorAll(".outcomes > span")].map(line => line.lastChild.data)])),
  checked: [...document.querySelectorAll("#rules-explorer input:checked")].map(input => input.value),
})"""
FOLLOW = """address => new Promise(done => {
  addEventListener("hashchange", () => done(), {once: true});
  location.hash = address;
})"""


def read_result(line: str) -> Result:
    """An agent's line, such as "moved: goes to [1, 2]. The agent ..."."""
    outcome, verb, x, y, meaning = re.fullmatch(r"(\w+): (goes to|remains in) \[(\d), (\d)\]\. (.+)", line).groups()  # type: ignore[union-attr]
    assert (verb == "goes to") == (outcome == "moved")
    assert meaning in (DOCS.parent / "multigrid" / "actions.py").read_text(encoding="utf-8")
    return Result(outcome, (int(x), int(y)))


def check(page: Page, situation: Situation) -> list[Result]:
    """Compare all that the page says of a situation with the environment; return the outcomes."""
    shown = page.evaluate(SHOWN)
    assert shown["situation"] == situation.address
    results = [read_result(line) for line in shown["agents"]]
    assert results == play(situation, situation.rule), situation
    for rule in RULES:
        assert shown["cards"][rule] == [result.outcome for result in play(situation, rule)], (situation, rule)
    return results


def test_five_hundred_random_situations_are_answered_as_by_the_environment(opened: Callable[..., Page]) -> None:
    """The outcomes and cells of every agent, and the outcomes under the other rules, are those of a played step."""
    situations = list(random_situations(500, seed=19))
    page = opened()
    seen = set()
    for situation, before in zip(situations, [None, *situations], strict=False):
        if before is None or situation.address != before.address:
            page.evaluate(FOLLOW, situation.address)
        seen |= {(situation.rule, result.outcome) for result in check(page, situation)}
    refusals = {"edge", "wall", "occupied", "contested", "swap"}
    assert seen >= {(rule, outcome) for rule in RULES[:-1] for outcome in refusals | {"moved", "stayed"}}
    assert {outcome for rule, outcome in seen if rule == "none"} == {"moved", "stayed", "edge", "wall"}


def test_the_maps_are_shown(opened: Callable[..., Page]) -> None:
    """Each map has its free cells and walls, and is neither a square nor the same when turned."""
    page = opened()
    for name, walls in WALLS.items():
        page.get_by_role("radio", name=name).check(force=True)
        width, height = walls.shape
        assert width != height
        assert name == "open" or not any((walls == other).all() for other in (walls[::-1], walls[:, ::-1]))
        labels = [cell.get_attribute("aria-label") for cell in page.locator("#rules-explorer [role=row] button").all()]
        shown = [(cell, rest == "wall") for cell, _, rest in (one.partition(": ") for one in labels)]
        assert shown == [(f"[{x}, {y}]", bool(walls[x, y])) for y in range(height) for x in range(width)]
        assert page.locator("#rules-explorer .board .wall").count() == walls.sum()


def cell_button(page: Page, cell: Cell) -> Locator:
    """A cell of the map."""
    return page.locator(f'#rules-explorer [data-cell="{cell[0]},{cell[1]}"]')


def test_clicks_and_taps_place_agents_and_choose_moves(opened: Callable[..., Page]) -> None:
    """Every situation is reached with a pointer, by mouse and by touch, and the address follows."""
    for touch in (False, True):
        page = opened(has_touch=touch, viewport={"width": 390 if touch else 1400, "height": 900})
        for situation in random_situations(6, seed=4 + touch):
            press = Locator.tap if touch else Locator.click
            press(page.locator(f'#rules-explorer label:has(input[value="{situation.map}"])'))
            press(page.locator(f'#rules-explorer .agents label:has(input[value="{len(situation.cells)}"])'))
            press(page.locator(f'#rules-explorer .rule label:has(input[value="{situation.rule}"])'))
            spare = [cell for cell in free_cells(situation.map) if cell not in situation.cells]
            # First out of one another's way, for an agent cannot be put on another.
            for cells in (spare, situation.cells):
                for agent, cell in enumerate(cells[: len(situation.cells)]):
                    press(page.get_by_role("button", name=f"agent {agent}", exact=True))
                    if str(agent) not in (cell_button(page, cell).get_attribute("aria-label") or "").partition(":")[2]:
                        press(cell_button(page, cell))
            for agent, action in enumerate(situation.actions):
                press(page.locator(f'#rules-explorer .move-{agent} label:has-text("{action}")'))
            check(page, situation)
            assert page.evaluate("location.hash") == situation.address


def test_a_cell_chosen_again_changes_the_move(opened: Callable[..., Page]) -> None:
    """Pressing an agent selects it, pressing it again goes through all five moves in their order."""
    page = opened("#explore=door,soft,0.1.stay,1.1.right")
    # The last press is on a wall, and changes nothing.
    presses = [*((1, 1, action) for action in ("right", *ACTIONS[1:], ACTIONS[0])), (2, 0, "right")]
    for x, y, action in presses:
        cell_button(page, (x, y)).click()
        check(page, Situation("door", "soft", ((0, 1), (1, 1)), ("stay", action)))
    assert page.get_by_role("status").inner_text() == "[2, 0] is a wall."


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus, which must be plain to see."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            break
    else:
        pytest.fail(f"Tab does not lead to {selector}")
    outline = """() => {
      const at = document.activeElement;
      const shown = at.type === "radio" ? at.nextElementSibling : at;
      return [getComputedStyle(shown).outlineStyle, parseFloat(getComputedStyle(shown).outlineWidth)];
    }"""
    style, width = page.evaluate(outline)
    assert style != "none"
    assert width >= 2


def test_everything_is_done_with_the_keyboard(opened: Callable[..., Page]) -> None:
    """Tab, arrow keys, Enter and digits choose map, agents, rule, cells and moves; the focus is visible."""
    page = opened("#explore=corridor,symmetric,1.0.right,2.0.left")
    press = page.keyboard.press
    page.locator("#rules-explorer .examples a").first.focus()
    tab_to(page, "[name=explorer-map]")
    press("ArrowRight")
    tab_to(page, "[name=explorer-agents]")
    press("ArrowRight")
    tab_to(page, "[name=explorer-rule]")
    press("ArrowRight")
    check(page, Situation("door", "priority", ((1, 0), (0, 0), (0, 1)), ("right", "left", "right")))
    tab_to(page, "[role=gridcell] button")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Home", "2", "Enter", "Enter", "Enter", "Enter"):
        press(key)
    check(page, Situation("door", "priority", ((1, 0), (0, 0), (0, 2)), ("right", "left", "down")))
    for key in ("ArrowUp", "ArrowRight", "0", "Enter", "End", "ArrowLeft", "ArrowLeft", "1", " "):
        press(key)
    check(page, Situation("door", "priority", ((1, 1), (2, 1), (0, 2)), ("right", "left", "down")))
    tab_to(page, ".play")
    press("Enter")
    assert page.get_by_role("button", name="Back").count() == 1
    tab_to(page, "[name=explorer-move-0]")
    press("ArrowLeft")
    check(page, Situation("door", "priority", ((1, 1), (2, 1), (0, 2)), ("stay", "left", "down")))
    tab_to(page, "[data-rule=none]")
    press("Enter")
    check(page, Situation("door", "none", ((1, 1), (2, 1), (0, 2)), ("stay", "left", "down")))


def disc_cells(page: Page, selector: str = ".board .disc:not(.ghost)") -> list[Cell]:
    """The cells in which the numbered discs stand on the screen, in the order of the numbers."""
    places = page.evaluate(
        """selector => {
          const board = document.querySelector("#rules-explorer .board").getBoundingClientRect();
          const columns = document.querySelector("#rules-explorer [role=row]").children.length;
          return [...document.querySelectorAll("#rules-explorer " + selector)].map(disc => {
            const box = disc.querySelector("circle").getBoundingClientRect();
            const side = board.width / columns;
            const at = [box.x + box.width / 2 - board.x, box.y + box.height / 2 - board.y];
            return [disc.textContent, ...at.map(length => Math.floor(length / side))];
          }).sort();
        }""",
        selector,
    )
    return [(x, y) for _, x, y in places]


MOVING = "document.getAnimations().filter(one => one.effect.target.closest('.board')).length"


def press(page: Page, name: str) -> None:
    """Click on a button."""
    page.get_by_role("button", name=name).click()


def test_the_step_is_played_and_goes_on(opened: Callable[..., Page]) -> None:
    """Play brings agents to where the environment moves them, without sliding if motion is reduced; a step follows."""
    row = Situation("open", "priority", ((0, 1), (2, 1), (1, 1)), ("right", "right", "right"))
    page = opened(row.address, reduced_motion="no-preference")
    press(page, "Play the step")
    assert page.evaluate(MOVING) == 3
    page = opened(row.address, reduced_motion="reduce")
    for _ in range(3):
        assert disc_cells(page) == list(row.cells)
        results = check(page, row)
        press(page, "Play the step")
        assert page.evaluate(MOVING) == 0
        assert disc_cells(page) == [result.cell for result in results]
        press(page, "Go on from here")
        row = row._replace(cells=tuple(result.cell for result in results))
    press(page, "Play the step")
    press(page, "Back")
    assert disc_cells(page) == list(row.cells)


def test_agents_that_share_a_cell_are_seen_apart(opened: Callable[..., Page]) -> None:
    """Under none three discs stand in one cell without covering one another, and no step begins there."""
    shared = Situation("door", "none", ((1, 1), (3, 1), (2, 1)), ("right", "left", "down"))
    page = opened(shared.address, reduced_motion="reduce")
    assert {result.cell for result in check(page, shared)} == {(2, 1)}
    press(page, "Play the step")
    assert disc_cells(page) == [(2, 1)] * 3
    boxes = [circle.bounding_box() or {} for circle in page.locator("#rules-explorer .board .disc circle").all()]
    for one, other in itertools.combinations(boxes, 2):
        # Circles of one size are as far apart as their corners.
        assert np.hypot(one["x"] - other["x"], one["y"] - other["y"]) > max(one["width"], other["width"])
    assert page.get_by_role("button", name="Go on from here").is_disabled()


def test_examples_differ_between_the_rules(opened: Callable[..., Page]) -> None:
    """Each example is a link to a situation whose outcomes depend on the rule; together they separate all rules."""
    page = opened()
    links = page.locator("#rules-explorer .examples a").all()
    assert len(links) == len(TOOLS["EXAMPLES"]) >= 6
    told_apart = set()
    for link, example in zip(links, TOOLS["EXAMPLES"], strict=True):
        cells, actions = zip(*(((x, y), action) for x, y, action in example.agents), strict=True)
        rule = next((rule for rule in RULES if f"Under {rule}" in example.text), "symmetric")
        situation = Situation(example.map, rule, cells, actions)
        link.click()
        # The page follows a link after the click.
        page.wait_for_function(f"address => ({SHOWN})().situation === address", arg=situation.address)
        check(page, situation)
        assert page.locator("#rules-explorer .about").inner_text() == example.text
        page.locator("#rules-explorer .comparison [data-rule=none]").click()
        assert page.locator("#rules-explorer .about").inner_text() == example.text
        ends = {rule: tuple(result.cell for result in play(situation, rule)) for rule in RULES}
        assert len(set(ends.values())) > 1
        told_apart |= {pair for pair in itertools.combinations(RULES, 2) if ends[pair[0]] != ends[pair[1]]}
    assert told_apart == set(itertools.combinations(RULES, 2))


def test_a_link_opens_its_situation(opened: Callable[..., Page]) -> None:
    """The address of a situation shows it in a new page, in sight, and each change of it can be shared at once."""
    situation = Situation("corridor", "block_both", ((4, 0), (1, 1), (3, 0)), ("left", "down", "stay"))
    page = opened(situation.address)
    check(page, situation)
    assert 0 <= page.evaluate("document.querySelector('#rules-explorer').getBoundingClientRect().top") < 100
    page.locator("#rules-explorer .comparison [data-rule=soft]").click()
    changed = situation._replace(rule="soft")
    check(opened(page.evaluate("location.hash")), changed)
    page.evaluate(FOLLOW, situation.address)
    check(page, situation)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("#explore=", "there is no map"),
        ("#explore=cellar,soft,0.0.stay", "no map “cellar”"),
        ("#explore=toString,soft,0.0.stay", "no map “toString”"),
        ("#explore=open,hard,0.0.stay", "no collision rule “hard”"),
        ("#explore=open", "no collision rule “”"),
        ("#explore=open,soft", "it has 0 agents"),
        ("#explore=open,soft,0.0.up,1.0.up,2.0.up,3.0.up", "it has 4 agents"),
        ("#explore=open,soft,0.0", "“0.0” is no agent"),
        ("#explore=open,soft,-1.0.up", "“-1.0.up” is no agent"),
        ("#explore=open,soft,0.0.jump", "no move “jump”"),
        ("#explore=open,soft,1.0.up,4.0.up", "agent 1 cannot stand in [4, 0]"),
        ("#explore=door,soft,2.0.up", "agent 0 cannot stand in [2, 0]"),
        ("#explore=open,soft,1.0.up,2.0.up,1.0.down", "agents 0 and 2 begin in the same cell"),
        ("#explore=open,soft,0.0.up%E0", "it is cut off"),
        ("#explore=<img src=x onerror=alert(1)>,soft,0.0.up", "there is no map"),
    ],
)
def test_a_bad_link_is_ignored_with_a_message(opened: Callable[..., Page], address: str, why: str) -> None:
    """A link without a situation leaves the page as it is and says why; the message goes with the next choice."""
    page = opened("#explore=door,soft,0.1.right,1.1.left")
    page.evaluate(FOLLOW, address)
    message = page.get_by_role("alert")
    assert message.inner_text().startswith("The link does not lead to a situation: ")
    assert why in message.inner_text()
    check(page, Situation("door", "soft", ((0, 1), (1, 1)), ("right", "left")))
    page.locator("#rules-explorer .comparison [data-rule=none]").click()
    assert not message.is_visible()
    # A page that begins with it shows the first example, and does not throw.
    page = opened(address)
    assert why in page.get_by_role("alert").inner_text()
    check(page, Situation("corridor", "symmetric", ((1, 0), (2, 0)), ("right", "left")))


def test_other_anchors_are_left_alone(opened: Callable[..., Page]) -> None:
    """An anchor of the page is no situation: no message, and it stays in the address until something is chosen."""
    page = opened("#rules-collide")
    assert not page.get_by_role("alert").is_visible()
    assert page.evaluate("location.hash") == "#rules-collide"
    top = "document.querySelector('#rules-collide').getBoundingClientRect().top"
    page.wait_for_function(f"0 <= {top} && {top} < 200")


RIGHTMOST = """() => Math.max(
  ...[...document.querySelectorAll("#rules-explorer *")].map(one => one.getBoundingClientRect().right))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_is_accessible_and_fits(opened: Callable[..., Page], scheme: str, width: int) -> None:
    """Axe has no serious finding before and after the step, nothing is wider than the screen, and agents stand out."""
    settings = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "reduced_motion": "reduce"}
    page = opened("#explore=door,none,1.1.right,3.1.left,3.0.up", **settings)
    for _ in range(2):
        found = Axe().run(page, options={"preload": False}).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Furo lets a part that is too wide scroll by itself.
        assert page.evaluate(RIGHTMOST) <= width
        page.get_by_role("button", name="Play the step").or_(page.get_by_role("button", name="Back")).click()
    fill = "selector => getComputedStyle(document.querySelector('#rules-explorer .board ' + selector)).fill"
    assert page.evaluate(fill, ".floor") == f"rgb{FLOORS[scheme]}"
    for agent, colour in enumerate(colours(3)):
        hue = f"rgb{legible(colour, FLOORS[scheme])}"
        assert page.evaluate(fill, f".disc:not(.held, .ghost).agent-{agent} circle") == hue
    # The theme that the reader sets on the page wins over that of the system.
    page.evaluate("theme => document.body.dataset.theme = theme", {"dark": "light", "light": "dark"}[scheme])
    assert page.evaluate(fill, ".floor") == f"rgb{FLOORS['dark' if scheme == 'light' else 'light']}"


def test_a_browser_without_decompression_says_so(opened: Callable[..., Page]) -> None:
    """Where the answers cannot be unpacked, there is a sentence instead of the explorer, and no error."""
    page = opened()
    page.add_init_script("delete window.DecompressionStream")
    page.reload()
    assert page.locator("#rules-explorer").inner_text().startswith("This browser is too old for the explorer")


# Sphinx writes apostrophes as printers do.
APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


def test_the_prose_is_that_of_the_rules(opened: Callable[..., Page]) -> None:
    """The page has every word of the docstring of rules.py, its lists as lists, and what each outcome means."""
    from multigrid.core import rules

    page = opened()
    prose = page.locator(".rules-prose")
    plain = re.sub(r"[*\s]|^- ", "", rules.__doc__ or "", flags=re.MULTILINE)
    assert re.sub(r"\s", "", prose.inner_text()).replace(APOSTROPHE, "'") == plain
    names = [name.inner_text() for name in prose.locator("li em:first-child").all()]
    assert names == [*RULES, "park", "leave", "stay", "restart"]
    rows = [row.locator("p").all_inner_texts() for row in page.locator("table.outcomes tbody tr").all()]
    shown = "\n".join(f'    {name} = {number}\n    """{meaning}"""' for number, name, meaning in rows)
    assert len(rows) == len(Outcome)
    assert shown.replace(APOSTROPHE, "'") in (DOCS.parent / "multigrid" / "actions.py").read_text(encoding="utf-8")
