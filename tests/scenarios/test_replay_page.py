"""The replay in a real browser: what it draws is what was recorded, and each control does what it says.

Chromium draws, headless; Playwright drives it.
"""

import dataclasses
import io
import re
import shutil
import time

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from multigrid import parallel_env
from multigrid.actions import Outcome
from multigrid.rendering._palette import colours
from multigrid.rendering.replay import replay_page
from multigrid.rendering.svg import animated_svg
from multigrid.scenarios import RecordEpisode
from multigrid.scenarios._replay_page import Replay, show_episode
from worldgen import walk

pytestmark = pytest.mark.heavy

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
WALLS = "..#....\n.#...#.\n.......\n...#..."
NUM_AGENTS = 4
FLOOR, WALL, DARK_WALL = (255, 255, 255), (70, 70, 78), (13, 14, 17)
ARRIVAL, BLOCKED = (20, 119, 74), (193, 18, 31)
DARK_FLOOR = (39, 43, 51)
# Agent 1's orange is darker on white, and agent 0's blue lighter on the dark floor, where they contrast by 3:1.
HUES = [(0, 114, 178), (198, 137, 0), *colours(NUM_AGENTS)[2:]]
DARK_HUES = [(15, 122, 183), *colours(NUM_AGENTS)[1:]]
BLOCKED_NAMES = {"edge", "wall", "occupied", "contested", "swap"}


class Recording:
    """A played episode, and what the environment itself returned of it: cells and infos of each step."""

    def __init__(self, on_target: str, seed: int, steps: int, moves: int | None = None) -> None:
        env = RecordEpisode(parallel_env(walls=WALLS, num_agents=NUM_AGENTS, on_target=on_target, max_cycles=steps))
        _, infos = env.reset(seed=seed)
        random = np.random.default_rng(seed if moves is None else moves)
        self.states, self.infos, self.rewards = [env.unwrapped.state()], [infos], [{}]
        while env.agents:
            _, rewards, _, _, infos = env.step({agent: int(random.integers(4)) for agent in env.agents})
            self.states.append(env.unwrapped.state())
            self.infos.append(infos)
            self.rewards.append(rewards)
        self.steps = len(self.states) - 1
        self.shown = show_episode(env.scenario("four in a yard"))

    def cells(self, step: int) -> list[list[int] | None]:
        """Where the agents are, None for one that has left."""
        return [None if row[0] < 0 else row[:2].tolist() for row in self.states[step]]

    def targets(self, step: int) -> list[list[int] | None]:
        """Where they are going."""
        return [None if row[0] < 0 else row[2:].tolist() for row in self.states[step]]

    def outcome(self, agent: int, step: int) -> str:
        """What became of a move, in a word."""
        return Outcome(self.infos[step][f"agent_{agent}"]["outcome"]).name.lower()


@pytest.fixture(scope="module")
def leaving() -> Recording:
    """An episode in which agents leave one by one, and are refused moves."""
    return Recording("leave", seed=5, steps=60)


@pytest.fixture(scope="module")
def parking() -> Recording:
    """An episode in which agents stay at their targets."""
    return Recording("park", seed=4, steps=48)


@pytest.fixture(scope="module")
def brief() -> Recording:
    """A shorter episode of the layout of `leaving`, in which agents move otherwise."""
    return Recording("leave", seed=5, steps=23, moves=8)


@pytest.fixture(scope="module")
def pair(leaving, brief) -> str:
    """The page of two episodes side by side."""
    named = [dataclasses.replace(one.shown.episode, name=name) for one, name in ((leaving, "long"), (brief, "<short>"))]
    return show_episode(*named).html


@pytest.fixture(scope="module")
def browser():
    """Chromium, with an empty profile."""
    found = shutil.which("chromium")
    assert found, "these tests need Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a text as a page; in the end see that it complained of nothing and asked for nothing but itself."""
    complaints, requests, contexts = [], [], []

    def open_text(text: str, name: str = "page.html", clock: bool = False, **options) -> Page:
        path = tmp_path / name
        path.write_text(text)
        options = {"viewport": {"width": 1100, "height": 800}, "color_scheme": "light"} | options
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        if clock:
            page.clock.install(time=0)
        page.goto(path.as_uri())
        if clock:
            page.clock.pause_at(60_000)
        return page

    yield open_text
    for context in contexts:
        context.close()
    assert complaints == []
    # Chromium calls the page of an iframe's srcdoc a request.
    assert {url for url in requests if url != "about:srcdoc"} == {path.as_uri() for path in tmp_path.iterdir()}


def drawn(page, half: int = 0) -> dict:
    """What the page says that it has drawn, once it has."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("half => multigrid.lastDrawing(half)", half)


def go_to(page, step: int) -> dict:
    """Move the slider to a step."""
    page.get_by_role("slider", name="Step").fill(str(step))
    return drawn(page)


def pixels(page, selector: str = "#grid") -> np.ndarray:
    """What an element looks like: uint8 (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB"))


def at(picture: np.ndarray, cell, x: float = 0.5, y: float = 0.5) -> tuple[int, ...]:
    """The colour at a place of a cell, 0 to 1 from its left and its top."""
    side = picture.shape[1] / 7
    return tuple(picture[int((cell[1] + y) * side), int((cell[0] + x) * side)].tolist())


def near(colour, other, by: int = 3) -> bool:
    """Whether two colours are the same but for rounding."""
    return max(abs(np.subtract(colour, other))) <= by


@pytest.mark.parametrize("kind", ["leaving", "parking"])
def test_what_is_drawn_is_what_was_recorded(kind, opened, request):
    """Discs and squares are in the recorded cells, without agents that left; the square of an arrived one is filled."""
    recording = request.getfixturevalue(kind)
    page = opened(recording.shown.html)
    assert recording.steps > 20
    filled = {True: 0, False: 0}
    for step in (0, 1, 2, 7, 13, 20, recording.steps // 2, recording.steps - 1, recording.steps):
        shown = go_to(page, step)
        assert (shown["time"], shown["agents"]) == (step, recording.cells(step))
        assert shown["targets"] == recording.targets(step)
        picture = pixels(page)
        taken = [cell for cell in recording.cells(step) if cell]
        for agent, cell in enumerate(recording.cells(step)):
            if cell:
                # Left of the number, within the disc.
                assert at(picture, cell, x=0.3) == HUES[agent], (step, agent)
                target = recording.targets(step)[agent]
                if target not in taken or cell == target:
                    assert (at(picture, target, x=0.22, y=0.22) == HUES[agent]) == (cell == target)
                    filled[cell == target] += 1
        for y, line in enumerate(WALLS.split("\n")):
            for x, letter in enumerate(line):
                if letter == "#":
                    assert at(picture, (x, y)) == WALL
                elif [x, y] not in taken + recording.targets(step):
                    assert at(picture, (x, y)) == FLOOR
    assert filled[False] >= 2
    assert (filled[True] >= 2) == (kind == "parking")


def test_playing_and_pausing(opened, leaving):
    """Play goes on at the chosen speed, agents between two cells are drawn between them, and pause stops it."""
    page = opened(leaving.shown.html, clock=True)
    page.get_by_role("combobox", name="Steps a second").select_option("4")
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(1100)
    shown = page.evaluate("multigrid.lastDrawing()")
    assert shown["playing"]
    assert 4.1 < shown["time"] < 4.6
    share = shown["time"] % 1
    for agent, (cell, after) in enumerate(zip(leaving.cells(4), leaving.cells(5), strict=True)):
        if cell and after:
            assert shown["agents"][agent] == pytest.approx((1 - share) * np.array(cell) + share * np.array(after))
    assert shown["agents"] != leaving.cells(4)
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(50)
    stopped = page.evaluate("multigrid.lastDrawing()")
    page.clock.run_for(2000)
    assert page.evaluate("multigrid.lastDrawing()") == stopped | {"playing": False}
    page.get_by_role("combobox", name="Steps a second").select_option("8")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(1100)
    assert 8.1 < page.evaluate("multigrid.lastDrawing().time") - stopped["time"] < 9
    page.clock.run_for(20_000)
    shown = page.evaluate("multigrid.lastDrawing()")
    assert (shown["time"], shown["playing"]) == (leaving.steps, False)
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(500)
    assert 2 < page.evaluate("multigrid.lastDrawing().time") < 5


def test_buttons_keys_and_scrubbing(opened, leaving):
    """Every way of going to a step ends there, and goes no further than the ends."""
    page = opened(leaving.shown.html, viewport={"width": 1100, "height": 420})
    clock = page.locator("#clock")
    for press, step in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", leaving.steps),
        ("ArrowRight", leaving.steps),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(press)
        assert (drawn(page)["time"], clock.inner_text()) == (step, f"step {step} / {leaving.steps}")
    # Keys that mean a step do not scroll the page as well.
    assert page.evaluate("document.documentElement.scrollHeight > innerHeight + 50")
    page.keyboard.press("End")
    drawn(page)
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("Home")
    # The slider has the focus, and does not take the step a second time.
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    assert drawn(page)["time"] == 1
    for button, step in (
        ("One step forward", 2),
        ("One step back", 1),
        ("Last step", leaving.steps),
        ("First step", 0),
    ):
        page.get_by_role("button", name=button).click()
        assert drawn(page)["time"] == step
    page.keyboard.press("Tab")
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("Space")
    assert drawn(page)["playing"]
    page.keyboard.press("Space")
    assert not drawn(page)["playing"]
    box = page.locator("#scrub").bounding_box()
    page.mouse.click(box["x"] + 6 + (box["width"] - 12) * 0.25, box["y"] + box["height"] / 2)
    assert drawn(page)["time"] == pytest.approx(leaving.steps / 4, abs=0.51)
    page.mouse.down()
    page.mouse.move(box["x"] + 6 + (box["width"] - 12) * 0.75, box["y"] + box["height"] / 2)
    page.mouse.up()
    assert drawn(page)["time"] == pytest.approx(leaving.steps * 0.75, abs=0.51)
    assert page.locator("#scrub").get_attribute("aria-valuetext").startswith(f"step {round(drawn(page)['time'])} of ")


def place(page, cell) -> dict[str, float]:
    """Where a cell's middle is on the canvas."""
    side = page.evaluate("multigrid.lastDrawing().side")
    return {"x": (cell[0] + 0.5) * side, "y": (cell[1] + 0.5) * side}


def rows(page, selector: str) -> dict[str, str]:
    """The terms of a list, and what stands beside them."""
    terms, texts = (page.locator(f"{selector} {tag}").all_inner_texts() for tag in ("dt", "dd"))
    return dict(zip(terms, texts, strict=True))


def test_following_an_agent(opened, leaving):
    """A click on an agent shows its cell, target, distance, rewards and moves; a second one, or Escape, lets it go."""
    page = opened(leaving.shown.html)
    step, agent = 9, 2
    go_to(page, step)
    cell, name = leaving.cells(step)[agent], f"agent_{agent}"
    assert cell
    page.locator("#grid").click(position=place(page, cell))
    assert drawn(page)["followed"] == agent
    assert page.get_by_role("combobox", name="Agent", exact=True).input_value() == str(agent)
    rewards = [leaving.rewards[past].get(name, 0) for past in range(step + 1)]
    target = leaving.targets(step)[agent]
    assert rows(page, "#figures") == {
        "cell": f"{cell[0]}, {cell[1]}",
        "target": f"{target[0]}, {target[1]}",
        "distance": f"{leaving.infos[step][name]['distance']:g}",
        "arrivals": "0",
        "reward so far": f"{sum(rewards):g}",
    }
    words = [leaving.outcome(agent, past) for past in range(1, step + 1)]
    assert BLOCKED_NAMES & set(words)
    counted = dict(text.rsplit(" ", 1) for text in page.locator("#counts li").all_inner_texts())
    assert counted == {word: str(words.count(word)) for word in set(words)}
    moves = [row.split("\t") for row in page.locator("#moves tr").all_inner_texts()]
    for back, row in enumerate(moves):
        x, y = leaving.cells(step - back)[agent]
        # By whom, and where to, are judged below.
        row[1:3] = row[1].split(" ")[0], row[2].split(" \u2192 ")[0]
        assert row == [str(step - back), words[-1 - back], f"{x}, {y}", f"{rewards[-1 - back]:g}"]
    refused = [text.split(" ")[0] for text in page.locator("#moves .refused").all_inner_texts()]
    assert refused == [row[1] for row in moves if row[1] in BLOCKED_NAMES]
    page.locator("#grid").click(position=place(page, cell))
    assert (drawn(page)["followed"], page.locator("#details").is_visible()) == (-1, False)
    page.get_by_role("combobox", name="Agent", exact=True).select_option("1")
    assert drawn(page)["followed"] == 1
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("Escape")
    assert drawn(page)["followed"] == -1


@pytest.fixture(scope="module")
def crossing() -> Replay:
    """An episode by hand: agents 0 and 1 want one cell, 2 stands behind 0; then 0 and 1 would swap; then all wait."""
    env = RecordEpisode(parallel_env(walls="ca.b...\n.......\nB.C.A..\n.......", allow_stay=True, max_cycles=40))
    env.reset()
    for row in [(0, 2, 0), (0, 4, 0), (0, 2, 4), *[(0, 2, 0)] * 37]:
        env.step({f"agent_{agent}": action for agent, action in enumerate(row)})
    return show_episode(env.scenario("crossing"))


def comes(page, condition: str) -> None:
    """Wait until a condition holds; the page's policy forbids Playwright's own way of waiting for one."""
    end = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.evaluate("() => new Promise(done => setTimeout(done, 50))")


def moves_of(page, agent: int, step: int) -> list[str]:
    """The latest row of the table of an agent's moves."""
    page.get_by_role("combobox", name="Agent", exact=True).select_option(str(agent))
    go_to(page, step)
    return page.locator("#moves tr").first.inner_text().split("\t")


def test_who_was_in_the_way_and_where_an_agent_wanted_to_go(opened, crossing):
    """A refused move names the agents because of which it was, and the cell that was asked for; it points there."""
    page = opened(crossing.html)
    assert moves_of(page, 0, 1) == ["1", "contested with 1", "1, 0 \u2192 2, 0", "0"]
    assert moves_of(page, 1, 1) == ["1", "contested with 0", "3, 0 \u2192 2, 0", "0"]
    assert moves_of(page, 2, 1) == ["1", "occupied by 0", "0, 0 \u2192 1, 0", "0"]
    assert moves_of(page, 0, 2) == ["2", "moved", "2, 0", "0"]
    assert moves_of(page, 1, 3) == ["3", "swap with 0", "3, 0 \u2192 2, 0", "0"]
    # The arrow head of agent 1 points to the left.
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Agent", exact=True).select_option("-1")
    drawn(page)
    picture = pixels(page)
    assert at(picture, (3, 0), x=-0.02) == BLOCKED
    assert at(picture, (3, 0), x=1.04) != BLOCKED
    page.mouse.move(*place_on_page(page, (3, 0)))
    drawn(page)
    assert page.locator("#hint").inner_text() == "agent_1: swap with 0"


def test_the_verdict_and_its_step(opened, crossing, leaving):
    """The page says how the episode ended, and a click goes to the step that is named."""
    page = opened(crossing.html)
    verdict = page.locator("#verdict")
    assert verdict.inner_text() == "deadlock from step 2: 0 of 3 agents arrived"
    verdict.click()
    assert drawn(page)["time"] == 2
    solved = opened(show_episode("maze-9x7-2").html, "solved.html")
    assert solved.locator("#verdict").inner_text() == "solved at step 7"


def test_next_and_previous_events(opened, leaving):
    """N and P go to arrivals and to moves that are refused for a new reason, of the followed agent or of all."""
    page, last = opened(leaving.shown.html), leaving.steps

    def happens(agent: int, step: int) -> bool:
        if f"agent_{agent}" not in leaving.infos[step]:
            return False
        arrived = leaving.cells(step)[agent] is None
        word = leaving.outcome(agent, step)
        return arrived or (word in BLOCKED_NAMES and (step == 1 or leaving.outcome(agent, step - 1) != word))

    for followed, agents in (("2", [2]), ("-1", range(NUM_AGENTS))):
        page.get_by_role("combobox", name="Agent", exact=True).select_option(followed)
        page.locator("h1").click()
        events = [step for step in range(1, last) if any(happens(agent, step) for agent in agents)]
        assert len(events) >= 4
        go_to(page, 0)
        for step in [*events, last, last]:
            page.keyboard.press("n")
            assert drawn(page)["time"] == step
        for step in [*reversed(events), 0, 0]:
            page.keyboard.press("P")
            assert drawn(page)["time"] == step
    page.get_by_role("button", name="Next event").click()
    assert drawn(page)["time"] == events[0]
    page.get_by_role("button", name="Previous event").click()
    assert drawn(page)["time"] == 0


def test_a_link_to_a_step(opened, leaving):
    """The address names the step and the agent that are shown, and such an address opens the page there."""
    page = opened(leaving.shown.html)
    go_to(page, 21)
    page.get_by_role("combobox", name="Agent", exact=True).select_option("3")
    comes(page, "location.hash === '#step=21&agent=3'")
    assert page.locator("#link").get_attribute("href") == "#step=21&agent=3"
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    shown = drawn(page)
    assert (shown["time"], shown["followed"]) == (21, 3)
    page.evaluate("location.hash = '#step=7'")
    assert (drawn(page)["time"], drawn(page)["followed"]) == (7, -1)
    for nonsense in ("#step=9999", "#step=-1", "#step=x", "#agent=1", "#step=1e1"):
        page.evaluate("hash => { location.hash = hash; }", nonsense)
        assert (drawn(page)["time"], drawn(page)["followed"]) == (7, -1)


def test_the_list_of_keys(opened, leaving):
    """A question mark, or the button, lists the keys; Escape closes the list, and nothing else happens meanwhile."""
    page = opened(leaving.shown.html)
    dialog = page.get_by_role("dialog", name="Keys")
    page.get_by_role("combobox", name="Agent", exact=True).select_option("1")
    page.locator("h1").click()
    for _ in range(2):
        page.keyboard.press("?")
        assert dialog.is_visible()
        page.keyboard.press("End")
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
    assert (drawn(page)["time"], drawn(page)["followed"]) == (0, 1)
    page.get_by_role("button", name="Keys").click()
    listed = set("".join(page.locator(".keys dt").all_inner_texts()).split())
    page.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()
    assert {"Space", "P", "N", "F", "Esc", "?"} <= set(re.findall(r"Space|Esc|Home|End|[A-Z?]", " ".join(listed)))


def test_wide_and_full_screens(opened):
    """At 1,920 pixels the page is as wide, with the panels in two columns; a button fills the screen with the world."""
    page = opened(show_episode("maze-17x13-8").html, viewport={"width": 1920, "height": 1080})
    drawn(page)
    boxes = page.locator("aside > section").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(boxes) > 1880
    assert len(set(boxes)) == 2
    assert page.locator(".player").bounding_box()["width"] > 1100
    before = drawn(page)["side"]
    page.get_by_role("button", name="Full screen").click()
    comes(page, "document.fullscreenElement !== null")
    assert drawn(page)["side"] > before * 1.1
    assert page.evaluate("document.querySelector('.player').scrollHeight <= innerHeight")
    page.keyboard.press("f")
    comes(page, "document.fullscreenElement === null")


def test_targets_carry_numbers(opened, leaving):
    """Within the square of a target stands a number, in the ink of the page, unless its agent is there or has left."""
    page = opened(leaving.shown.html)
    picture = pixels(page)
    side = picture.shape[1] / 7
    taken = leaving.cells(0)
    free = [target for target in leaving.targets(0) if target not in taken]
    assert len(free) >= 2
    seen = set()
    for x, y in free:
        middle = picture[
            round((y + 0.3) * side) : round((y + 0.7) * side), round((x + 0.3) * side) : round((x + 0.7) * side)
        ]
        ink = (middle < 100).all(axis=2)
        assert 0.02 < ink.mean() < 0.4
        seen.add(ink.tobytes())
    assert len(seen) == len(free)


def test_an_agent_that_has_left(opened, leaving):
    """Followed to the end, an agent that has left shows its arrival and its reward."""
    page = opened(leaving.shown.html)
    gone = next(agent for agent, cell in enumerate(leaving.cells(leaving.steps)) if cell is None)
    page.get_by_role("combobox", name="Agent", exact=True).select_option(str(gone))
    go_to(page, leaving.steps)
    shown = rows(page, "#figures")
    assert (shown["cell"], shown["arrivals"], shown["reward so far"]) == ("has left", "1", "1")
    arrival = next(step for step in range(leaving.steps + 1) if leaving.cells(step)[gone] is None)
    go_to(page, arrival)
    x, y = leaving.targets(0)[gone]
    moves = [row.split("\t") for row in page.locator("#moves tr").all_inner_texts()]
    assert moves[0] == [str(arrival), "moved", f"{x}, {y}", "1"]
    assert moves[1][3] == "0"


def test_hovering_shows_a_path(opened, parking):
    """Under the mouse an agent is named, and the way it has come is drawn in its hue."""
    page = opened(parking.shown.html)
    # With nothing ahead of the agent, its way is one line.
    step = parking.steps
    start, cell = parking.cells(0)[0], parking.cells(step)[0]
    go_to(page, step)
    before = pixels(page)
    page.mouse.move(*place_on_page(page, cell))
    drawn(page)
    assert parking.outcome(0, step) == "edge"
    assert page.locator("#hint").inner_text() == "agent_0: edge"
    picture = pixels(page)
    assert start not in parking.cells(step) + parking.targets(step)
    assert at(before, start) == FLOOR
    assert near(at(picture, start), HUES[0])
    assert page.get_by_role("combobox", name="Agent", exact=True).input_value() == "0"
    page.mouse.move(1, 1)
    drawn(page)
    assert not page.locator("#hint").is_visible()
    assert abs(pixels(page).astype(int) - before).max() <= 8


def place_on_page(page, cell) -> tuple[float, float]:
    """Where a cell's middle is in the window."""
    box, spot = page.locator("#grid").bounding_box(), place(page, cell)
    return box["x"] + spot["x"], box["y"] + spot["y"]


def test_the_figures(opened, leaving, parking):
    """The metrics of the episode are shown as the environment gave them, and the arrivals so far."""
    page = opened(leaving.shown.html)
    metrics = leaving.shown.episode.metrics
    assert rows(page, "#metrics") == {
        "CSR": f"{metrics['csr']:g}",
        "ISR": f"{metrics['isr']:g}",
        "sum of costs": f"{metrics['sum_of_costs']:g}",
        "makespan": f"{metrics['makespan']:g}",
    }
    go_to(page, leaving.steps)
    assert rows(page, "#now")["arrivals so far"] == str(leaving.cells(leaving.steps).count(None))
    page = opened(parking.shown.html, "other.html")
    go_to(page, parking.steps)
    there = sum(cell == target for cell, target in zip(parking.cells(-1), parking.targets(-1), strict=True))
    assert rows(page, "#now")["on their targets"] == f"{there} of {NUM_AGENTS}"


def test_light_and_dark(opened, leaving):
    """The page follows the system's scheme until the button says otherwise; agents have colours that suit it."""
    wall, cells = (2, 0), leaving.cells(0)
    page = opened(leaving.shown.html)
    button = page.get_by_role("button", name="Dark colours")
    for pressed, colour, hues in (("false", WALL, HUES), ("true", DARK_WALL, DARK_HUES), ("false", WALL, HUES)):
        drawn(page)
        assert button.get_attribute("aria-pressed") == pressed
        assert at(pixels(page), wall) == colour
        assert [at(pixels(page), cell, x=0.3) for cell in cells] == hues
        button.click()
    page = opened(leaving.shown.html, "dark.html", color_scheme="dark")
    assert at(pixels(page), wall) == DARK_WALL
    page.emulate_media(color_scheme="light")
    drawn(page)
    assert at(pixels(page), wall) == WALL


def test_less_motion(opened, leaving):
    """Whoever prefers reduced motion sees agents jump from cell to cell."""
    page = opened(leaving.shown.html, clock=True, reduced_motion="reduce")
    page.get_by_role("combobox", name="Steps a second").select_option("4")
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(1100)
    shown = page.evaluate("multigrid.lastDrawing()")
    assert 4.1 < shown["time"] < 4.6
    assert shown["agents"] == leaving.cells(4)
    assert page.get_by_role("slider", name="Step").input_value() == "4"
    page.get_by_role("button", name="Pause", exact=True).click()
    page.clock.run_for(100)
    assert page.evaluate("multigrid.lastDrawing().time") == 4


def test_on_a_phone(opened):
    """At 390 pixels nothing sticks out, on a dense screen the canvas has its pixels, and buttons fit a finger."""
    shown = show_episode("maze-17x13-8")
    page = opened(shown.html, viewport={"width": 390, "height": 844}, device_scale_factor=3, has_touch=True)
    page.get_by_role("combobox", name="Agent", exact=True).select_option("3")
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide, pixel_wide = page.evaluate("[multigrid.lastDrawing().side * 17, document.getElementById('grid').width]")
    assert wide > 300
    assert pixel_wide == pytest.approx(3 * wide)
    for button in page.get_by_role("button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 38
    cell = shown.episode.agents[0, 5].tolist()
    page.get_by_role("combobox", name="Agent", exact=True).select_option("-1")
    page.locator("#grid").tap(position=place(page, cell))
    assert drawn(page)["followed"] == 5


def test_beside_a_narrow_panel(opened, leaving):
    """At 900 pixels the buttons fill a line of their own, and the speed ends the next one."""
    page = opened(leaving.shown.html, viewport={"width": 900, "height": 700})
    drawn(page)
    line, buttons, ending = (page.locator(name).bounding_box() for name in (".controls", ".buttons", ".right"))
    assert buttons["width"] == line["width"]
    assert ending["x"] + ending["width"] == pytest.approx(line["x"] + line["width"], abs=1)
    assert ending["y"] >= buttons["y"] + buttons["height"]


def test_for_keyboards_and_readers(opened, leaving):
    """Tab reaches every control, which then shows an outline; the canvas is described."""
    page = opened(leaving.shown.html)
    reached = []
    for _ in range(18):
        page.keyboard.press("Tab")
        found = "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        name, outline = page.evaluate(found)
        reached.append(name)
        assert name in ("", "body") or outline == "solid", name
    assert {"theme", "scrub", "first", "back", "play", "forward", "last", "speed", "follow"} <= set(reached)
    assert {"verdict", "link", "keys", "previous-event", "next-event", "full"} <= set(reached)
    assert page.get_by_role("img", name="A grid of 7 by 4 cells with 4 agents").is_visible()


@pytest.mark.parametrize("episode", [walk(500, 1000, (60, 48)), walk(1, 140_000, (6, 4))], ids=["wide", "long"])
def test_large_recordings(episode, opened):
    """A thousand steps of 500 agents, and very many steps of one, are drawn as they were."""
    page, (num_agents, _) = opened(replay_page(episode)), episode.agents.shape[1:]
    for step in (0, 777, episode.num_steps - 1, episode.num_steps):
        shown = go_to(page, step)
        assert shown["time"] == step
        assert shown["agents"] == episode.agents[step].tolist()
        assert shown["targets"] == episode.targets[step].tolist()
    page.get_by_role("combobox", name="Agent", exact=True).select_option(str(num_agents - 1))
    drawn(page)
    assert rows(page, "#figures")["reward so far"] == f"{episode.rewards[1:, -1].sum():.3f}".rstrip("0").rstrip(".")


def test_in_a_notebook(opened, leaving):
    """What a notebook shows is the whole replay, in a frame that plays by itself."""
    page = opened(f"<!doctype html><title>notebook</title><body>{Replay(leaving.shown.episode)._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.get_by_role("slider", name="Step").fill("7")
    inner = page.frames[1]
    assert drawn(inner)["agents"] == leaving.cells(7)
    frame.get_by_role("button", name="One step forward").click()
    assert drawn(inner)["agents"] == leaving.cells(8)
    assert inner.evaluate("document.documentElement.scrollWidth <= innerWidth")


def visible(page) -> tuple[list[tuple[float, float, float]], dict[str, float]]:
    """The cell of each agent of a picture with cells of 30 pixels, and its opacity; that of targets, by colour."""
    return page.evaluate(
        """[[...document.querySelectorAll("circle")].map(disc => {
            const box = disc.getBoundingClientRect();
            const place = middle => Math.round((middle / 30 - 0.5) * 1000) / 1000;
            return [place((box.left + box.right) / 2), place((box.top + box.bottom) / 2),
                    Number(getComputedStyle(disc.parentNode).opacity)];
        }), Object.fromEntries([...document.querySelectorAll("rect[rx]")].map(square =>
            [square.getAttribute("fill"), Number(getComputedStyle(square.parentNode).opacity)]))]"""
    )


@pytest.mark.parametrize("kind", ["leaving", "parking"])
def test_the_animated_picture(kind, opened, request):
    """The picture shows what was recorded, between steps what lies between, in the pause the end; targets fade too."""
    recording = request.getfixturevalue(kind)
    svg = animated_svg(recording.shown.episode, seconds_per_step=0.5, pause=3, cell=30)
    page, hues = opened(svg, "picture.svg"), ["#{:02x}{:02x}{:02x}".format(*hue) for hue in HUES]
    last = recording.steps
    for moment in (0, 1, 2.5, 7, 12.25, last / 2, last - 0.5, last, last + 5.9):
        page.evaluate(
            "time => document.getAnimations().forEach(one => { one.pause(); one.currentTime = time; })", moment * 500
        )
        before, share = int(min(moment, last)), moment % 1 if moment < last else 0
        after = before + (share > 0)
        discs, squares = visible(page)
        assert squares == pytest.approx({hue: disc[2] for hue, disc in zip(hues, discs, strict=True)}, abs=0.01)
        for cell, following, (x, y, opacity) in zip(
            recording.cells(before), recording.cells(after), discs, strict=True
        ):
            if cell is None:
                assert opacity == 0
            elif following is None:
                assert opacity == pytest.approx(1 - share, abs=0.01)
            else:
                assert opacity == 1
                assert (x, y) == pytest.approx(np.array(cell) + share * np.subtract(following, cell), abs=0.01)
        picture = pixels(page, "svg")
        assert at(picture, (2, 0)) == WALL
        for agent, cell in enumerate(recording.cells(before)):
            target = recording.targets(before)[agent]
            if cell and share == 0:
                assert near(at(picture, cell, x=0.3), HUES[agent])
                if cell == target:
                    assert near(at(picture, cell, x=0.22, y=0.22), HUES[agent])


def test_a_picture_in_a_page(opened, tmp_path):
    """In an <img>, where scripts do not run, the picture moves; for whoever prefers reduced motion it does not."""
    svg = animated_svg(show_episode("empty-9x7-2").episode, seconds_per_step=0.2, pause=0.1)
    (tmp_path / "film.svg").write_text(svg)
    page = opened("<!doctype html><title>film</title><img src='film.svg'>")
    first = page.locator("img").screenshot()
    assert any(page.locator("img").screenshot() != first for _ in range(50))
    page = opened(svg, "film.svg", reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0


def test_two_episodes_in_step(opened, pair, leaving, brief):
    """Both halves show the step of the one slider, each its own episode; the shorter one stays at its last step."""
    assert brief.steps == 23 < leaving.steps - 20
    page = opened(pair)
    for step in (0, 1, 9, 22, 23, 24, 41, leaving.steps):
        go_to(page, step)
        assert page.locator("#clock").inner_text() == f"step {step} / {leaving.steps}"
        for half, (canvas, recording) in enumerate((("#grid", leaving), ("#other-grid", brief))):
            own, shown = min(step, recording.steps), drawn(page, half)
            assert (shown["time"], shown["agents"]) == (own, recording.cells(own))
            assert shown["targets"] == recording.targets(own)
            picture = pixels(page, canvas)
            for agent, cell in enumerate(recording.cells(own)):
                assert cell is None or at(picture, cell, x=0.3) == HUES[agent], (step, half, agent)
    page = opened(pair, "playing.html", clock=True)
    page.get_by_role("combobox", name="Steps a second").select_option("4")
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(3100)
    long, short = (page.evaluate("half => multigrid.lastDrawing(half)", half) for half in (0, 1))
    assert 12 < long["time"] == short["time"] < 13
    page.clock.run_for(5000)
    long, short = (page.evaluate("half => multigrid.lastDrawing(half)", half) for half in (0, 1))
    assert (long["playing"], short["time"], short["agents"]) == (True, 23, brief.cells(23))
    assert 31 < long["time"] < 33


def test_each_half_has_its_name_and_figures(opened, pair, leaving, brief):
    """Above each half stand its name and its verdict, a link to that step; the figures of both stand side by side."""
    page = opened(pair)
    assert (page.title(), page.locator("h1").inner_text()) == ("long and <short>", "long and <short>")
    assert (
        page.locator("#facts").inner_text().startswith(f"4 agents on 7 \u00d7 4 cells, {leaving.steps} and 23 steps;")
    )
    assert page.locator("#facts").inner_text().endswith("; collisions symmetric, on target leave")
    episodes = [leaving.shown.episode, brief.shown.episode]
    captions = [caption.split("\n") for caption in page.locator("figcaption").all_inner_texts()]
    assert captions == [["A", "long", episodes[0].verdict.text], ["B", "<short>", episodes[1].verdict.text]]
    page.locator("figcaption a").last.click()
    assert drawn(page)["time"] == episodes[1].verdict.step == 23
    assert page.get_by_role("img", name="B, <short>: A grid of 7 by 4 cells with 4 agents").is_visible()

    def table(name):
        terms, texts = (page.locator(f"{name} {tag}").all_inner_texts() for tag in ("dt", "dd"))
        return dict(zip(terms, zip(texts[::2], texts[1::2], strict=True), strict=True))

    figures = table("#metrics")
    assert figures[""] == ("A", "B")
    for label, name in (("CSR", "csr"), ("ISR", "isr"), ("sum of costs", "sum_of_costs"), ("makespan", "makespan")):
        assert figures[label] == tuple(f"{episode.metrics[name]:g}" for episode in episodes), label
    go_to(page, 40)
    arrivals = tuple(str(one.cells(step).count(None)) for one, step in ((leaving, 40), (brief, 23)))
    assert table("#now")["arrivals so far"] == arrivals
    assert arrivals[0] != arrivals[1]
    # Of one episode there is nothing of this.
    page = opened(leaving.shown.html, "one.html")
    for left_out in ("figcaption", "#other-grid", "#choices", ".timeline b"):
        assert not page.locator(left_out).first.is_visible()


def test_the_details_are_of_the_half_that_is_pointed_at(opened, pair, leaving, brief):
    """An agent is followed in both; its figures are of the half that was clicked, or that the mouse is over."""
    page, step, agent = opened(pair), 9, 2
    go_to(page, step)
    cells = [recording.cells(step)[agent] for recording in (leaving, brief)]
    outcomes = [recording.outcome(agent, step) for recording in (leaving, brief)]
    assert cells[0] != cells[1]
    assert outcomes[0] != outcomes[1]

    def shown():
        moves = page.locator("#moves tr").first.inner_text().split("\t")
        return rows(page, "#figures")["cell"], moves[1].split(" ")[0]

    expected = [(f"{x}, {y}", outcome) for (x, y), outcome in zip(cells, outcomes, strict=True)]
    other = page.locator("#other-grid")
    other.click(position=place(page, cells[1]))
    page.mouse.move(1, 1)
    assert (drawn(page, 0)["followed"], drawn(page, 1)["followed"]) == (agent, agent)
    assert shown() == expected[1]
    letters = page.get_by_role("group", name="Recording").get_by_role("button")
    assert [letter.get_attribute("aria-pressed") for letter in letters.all()] == ["false", "true"]
    # Around the agent is a ring in the page's ink, in both halves.
    for half, name in enumerate(("#grid", "#other-grid")):
        assert near(at(pixels(page, name), cells[half], y=0.03), (29, 31, 36), by=12), name
    free = next(
        [x, y] for x in range(7) for y in range(4) if all([x, y] not in one.cells(step) for one in (leaving, brief))
    )
    page.locator("#grid").hover(position=place(page, free))
    drawn(page)
    assert shown() == expected[0]
    page.mouse.move(1, 1)
    drawn(page)
    assert shown() == expected[1]
    comes(page, f"location.hash === '#step={step}&agent={agent}&in=B'")
    link = page.url
    letters.first.click()
    drawn(page)
    assert shown() == expected[0]
    comes(page, f"location.hash === '#step={step}&agent={agent}'")
    page.goto("about:blank")
    page.goto(link)
    assert drawn(page)["followed"] == agent
    assert shown() == expected[1]
    other.click(position=place(page, cells[1]))
    assert drawn(page)["followed"] == -1


@pytest.mark.parametrize("lanes", [1, 2])
def test_the_timeline(lanes, opened, pair, leaving, brief):
    """Each episode has a lane, with bars above steps of arrivals, below those of blocked moves, and none after its end.

    N goes to the next event of either.
    """
    page = opened(pair if lanes == 2 else leaving.shown.html)
    picture = pixels(page, "#marks")
    height, width, _ = picture.shape
    pitch = (width - 12) / leaving.steps
    events, counts = set(), {True: 0, False: 0}
    for lane, recording in enumerate((leaving, brief)[:lanes]):
        axis = (2 * lane + 1) * height // (2 * lanes)
        for step in range(1, leaving.steps):
            names = [f"agent_{agent}" for agent in range(NUM_AGENTS) if step < recording.steps]
            outcomes = {name: recording.outcome(int(name[-1]), step) for name in names if name in recording.infos[step]}
            arrived = bool(names) and recording.cells(step).count(None) > recording.cells(step - 1).count(None)
            blocked = bool(BLOCKED_NAMES & set(outcomes.values()))
            column = int(6 + step * pitch)
            if step != recording.steps:
                assert near(picture[axis - 4, column], ARRIVAL) == arrived, (lane, step)
                assert near(picture[axis + 3, column], BLOCKED) == blocked, (lane, step)
            counts[arrived] += 1
            before = {name: recording.infos[step - 1].get(name, {}).get("outcome") for name in outcomes}
            newly = any(
                word in BLOCKED_NAMES and (step == 1 or Outcome(before[name]).name.lower() != word)
                for name, word in outcomes.items()
            )
            if arrived or newly:
                events.add((step, lane))
    assert min(counts.values()) >= 2
    only = [{step for step, one in events if one == lane} for lane in range(lanes)]
    assert lanes == 1 or (only[0] - only[1] and only[1] - only[0])
    visited = []
    while not visited or visited[-1] < 22:
        page.keyboard.press("n")
        visited.append(drawn(page)["time"])
    assert visited[:-1] == sorted({step for step, _ in events if step < visited[-1]})


def test_where_the_halves_stand(opened, pair):
    """Two halves are side by side, on narrow screens one below the other, as flat worlds are; nothing sticks out."""

    def boxes(page):
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".player").evaluate("player => player.scrollWidth <= player.clientWidth")
        return [page.locator(name).bounding_box() for name in ("#grid", "#other-grid")]

    for width, scheme in ((1280, "light"), (820, "dark")):
        page = opened(pair, f"at-{width}.html", viewport={"width": width, "height": 800}, color_scheme=scheme)
        one, other = boxes(page)
        assert one["y"] == other["y"]
        assert one["x"] + one["width"] < other["x"]
        assert at(pixels(page, "#other-grid"), (2, 0)) == (WALL if scheme == "light" else DARK_WALL)
    page = opened(pair, "narrow.html", viewport={"width": 480, "height": 844})
    one, other = boxes(page)
    assert one["x"] == other["x"]
    assert one["y"] + one["height"] < other["y"]
    controls = page.locator(".controls").bounding_box()
    assert controls["y"] + controls["height"] < 844
    flat = dataclasses.replace(walk(2, 6, (40, 3)), name="flat")
    one, other = boxes(opened(show_episode(flat, flat).html, "flat.html", viewport={"width": 1280, "height": 800}))
    assert one["y"] + one["height"] < other["y"]
