"""The replay in a real browser: what it draws is what was recorded, and each control does what it says."""

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
from multigrid._palette import colours
from multigrid.actions import Outcome
from multigrid.maps import parse_map
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
CELLS = {is_wall: np.argwhere(parse_map(WALLS).walls == is_wall).tolist() for is_wall in (True, False)}
NUM_AGENTS = 4
FLOOR, WALL, DARK_WALL = (255, 255, 255), (70, 70, 78), (13, 14, 17)
ARRIVAL, BLOCKED = (20, 119, 74), (193, 18, 31)
# Agent 1's orange is darker on white, and agent 0's blue lighter on the dark floor, where they contrast by 3:1.
HUES = [(0, 114, 178), (198, 137, 0), *colours(NUM_AGENTS)[2:]]
DARK_HUES = [(15, 122, 183), *colours(NUM_AGENTS)[1:]]
BLOCKED_NAMES = {"edge", "wall", "occupied", "contested", "swap"}
FIGURES = [("CSR", "csr"), ("ISR", "isr"), ("sum of costs", "sum_of_costs"), ("makespan", "makespan")]


class Recording:
    """A played episode, and what the environment itself returned of it: cells and infos of each step."""

    def __init__(self, on_target: str, seed: int, steps: int, moves: int, delays: float | None = None) -> None:
        world = {"walls": WALLS, "num_agents": NUM_AGENTS, "on_target": on_target, "delays": delays}
        env = RecordEpisode(parallel_env(**world, max_cycles=steps))
        _, infos = env.reset(seed=seed)
        random = np.random.default_rng(moves)
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

    def outcome(self, agent: int, step: int) -> str | None:
        """What became of a move, in a word; None for an agent that had left."""
        info = self.infos[step].get(f"agent_{agent}")
        return info and Outcome(info["outcome"]).name.lower()

    def arrives(self, agent: int, step: int) -> bool:
        """Whether an agent leaves in a step."""
        return [self.cells(at)[agent] is None for at in (step - 1, step)] == [False, True]

    def events(self, agents: range | list[int]) -> list[int]:
        """The steps before the last in which one of some agents arrives, or is refused a move for a new reason."""
        found = set()
        for agent in agents:
            words = [self.outcome(agent, step) for step in range(self.steps + 1)]
            for step in range(1, self.steps):
                is_new = step == 1 or words[step - 1] != words[step]
                if self.arrives(agent, step) or (words[step] in BLOCKED_NAMES and is_new):
                    found.add(step)
        return sorted(found)


@pytest.fixture(params=["leaving", "parking"])
def recording(request) -> Recording:
    """Either of two recordings."""
    return request.getfixturevalue(request.param)


# Agents leave one by one, and are refused moves; others stay at their targets; the first layout again, in fewer steps.
leaving = pytest.fixture(lambda: Recording("leave", 5, 60, moves=5), scope="module", name="leaving")
parking = pytest.fixture(lambda: Recording("park", 4, 48, moves=4), scope="module", name="parking")
brief = pytest.fixture(lambda: Recording("leave", 5, 23, moves=8), scope="module", name="brief")


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

    def open_text(text: str, width: int = 1100, height: int = 800, clock: bool = False, **options) -> Page:
        path = tmp_path / f"{len(contexts)}.{'svg' if text.startswith('<svg') else 'html'}"
        path.write_text(text)
        options = {"viewport": {"width": width, "height": height}, "color_scheme": "light"} | options
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


def last(page, half: int = 0) -> dict:
    """What the page says that it has drawn last."""
    return page.evaluate("half => multigrid.lastDrawing(half)", half)


def drawn(page, half: int = 0) -> dict:
    """What the page says that it has drawn, once it has."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return last(page, half)


def go_to(page, step: int) -> dict:
    """Move the slider to a step."""
    page.get_by_role("slider", name="Step").fill(str(step))
    return drawn(page)


def follow(page, agent: int) -> dict:
    """Choose an agent in the list, or with -1 none."""
    page.get_by_role("combobox", name="Agent", exact=True).select_option(str(agent))
    return drawn(page)


def press(page, name: str) -> None:
    """Click on a button."""
    page.get_by_role("button", name=name, exact=True).click()


def play(page, speed: int, milliseconds: int) -> dict:
    """Play at so many steps a second, for a while of the page's own clock."""
    page.get_by_role("combobox", name="Steps a second").select_option(str(speed))
    page.keyboard.press("Escape")
    press(page, "Play")
    page.clock.run_for(milliseconds)
    return last(page)


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


def place(page, cell) -> dict[str, float]:
    """Where a cell's middle is on the canvas."""
    side = last(page)["side"]
    return {"x": (cell[0] + 0.5) * side, "y": (cell[1] + 0.5) * side}


def hover(page, cell) -> None:
    """Move the mouse over a cell."""
    page.locator("#grid").hover(position=place(page, cell))
    drawn(page)


def rows(page, selector: str) -> dict[str, str]:
    """The terms of a list, and what stands beside them; for two episodes, in pairs."""
    terms, texts = (page.locator(f"{selector} {tag}").all_inner_texts() for tag in ("dt", "dd"))
    pairs = texts if len(texts) == len(terms) else zip(texts[::2], texts[1::2], strict=True)
    return dict(zip(terms, pairs, strict=True))


def moves_of(page) -> list[list[str]]:
    """The rows of the table of an agent's moves."""
    return [row.split("\t") for row in page.locator("#moves tr").all_inner_texts()]


def comes(page, condition: str) -> None:
    """Wait until a condition holds; the page's policy forbids Playwright's own way of waiting for one."""
    end = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.evaluate("() => new Promise(done => setTimeout(done, 50))")


def test_what_is_drawn_is_what_was_recorded(recording, opened):
    """Discs and numbered squares are in the recorded cells, but for those that left; one with its agent is filled."""
    page, filled = opened(recording.shown.html), {True: 0, False: 0}
    for step in (0, 1, 7, 20, recording.steps // 2, recording.steps - 1, recording.steps):
        shown, cells, targets = go_to(page, step), recording.cells(step), recording.targets(step)
        assert (shown["time"], shown["agents"], shown["targets"]) == (step, cells, targets)
        picture = pixels(page)
        taken, numbers = [cell for cell in cells if cell], []
        for agent, (cell, target) in enumerate(zip(cells, targets, strict=True)):
            if cell:
                # Left of the number, within the disc.
                assert at(picture, cell, x=0.3) == HUES[agent], (step, agent)
                if target not in taken or cell == target:
                    assert (at(picture, target, x=0.22, y=0.22) == HUES[agent]) == (cell == target)
                    filled[cell == target] += 1
                if target not in taken:
                    left, top = (np.add(target, 0.3) * picture.shape[1] / 7).round().astype(int)
                    side = round(0.4 * picture.shape[1] / 7)
                    ink = (picture[top : top + side, left : left + side] < 100).all(axis=2)
                    assert 0.02 < ink.mean() < 0.4
                    numbers.append(ink.tobytes())
        assert len(set(numbers)) == len(numbers)
        for is_wall, colour in ((True, WALL), (False, FLOOR)):
            empty = [cell for cell in CELLS[is_wall] if cell not in taken + targets]
            assert {at(picture, cell) for cell in empty} == {colour}
    assert filled[False] >= 2
    assert (filled[True] >= 2) == (recording.steps == 48)  # those that are parked


def test_who_is_delayed_is_pale(opened, leaving):
    """Discs of delayed agents are pale on the page and in the animated picture; with delays, the legend says so."""
    recording = Recording("restart", 2, 12, moves=3, delays=0.4)
    page = opened(recording.shown.html)
    picture = opened(animated_svg(recording.shown.episode, seconds_per_step=0.5, pause=3, cell=60))
    pale = [tuple(0.4 * np.array(hue) + 0.6 * np.array(FLOOR)) for hue in HUES]
    seen = {True: 0, False: 0}
    for step in range(1, recording.steps):
        go_to(page, step)
        # While a step is played, the picture has agents as they look after it.
        picture.evaluate(GO_TO, (step - 0.99) * 500)
        drawings = (pixels(page), recording.cells(step)), (pixels(picture, "svg"), recording.cells(step - 1))
        for drawing, cells in drawings:
            for agent, cell in enumerate(cells):
                if cell not in recording.targets(step) + recording.targets(step - 1):
                    delayed = recording.outcome(agent, step) == "delayed"
                    assert near(at(drawing, cell, x=0.3), (pale if delayed else HUES)[agent]), (step, agent)
                    seen[delayed] += 1
    assert min(seen.values()) > 10
    for one, count in ((page, 1), (opened(leaving.shown.html), 0)):
        assert one.locator("li.delay:visible").count() == count


def test_playing_and_pausing(opened, leaving):
    """Play goes on at the chosen speed, agents glide, or jump if motion is to be reduced, and pause stops them."""
    for motion in ("reduce", "no-preference"):
        page = opened(leaving.shown.html, clock=True, reduced_motion=motion)
        shown = play(page, 4, 1100)
        assert shown["playing"]
        assert 4.1 < shown["time"] < 4.6
        share = shown["time"] % 1 if motion == "no-preference" else 0
        for agent, (cell, after) in enumerate(zip(leaving.cells(4), leaving.cells(5), strict=True)):
            if cell and after:
                assert shown["agents"][agent] == pytest.approx((1 - share) * np.array(cell) + share * np.array(after))
        assert (shown["agents"] == leaving.cells(4)) == (motion == "reduce")
        press(page, "Pause")
        page.clock.run_for(50)
        stopped = last(page)
        if motion == "reduce":
            assert (stopped["time"], page.get_by_role("slider", name="Step").input_value()) == (4, "4")
        page.clock.run_for(2000)
        assert last(page) == stopped | {"playing": False}
    assert 8.1 < play(page, 8, 1100)["time"] - stopped["time"] < 9
    page.clock.run_for(20_000)
    shown = last(page)
    assert (shown["time"], shown["playing"]) == (leaving.steps, False)
    assert 2 < play(page, 8, 500)["time"] < 5


def test_buttons_keys_and_scrubbing(opened, leaving):
    """Every way of going to a step ends there, and goes no further than the ends."""
    page, end = opened(leaving.shown.html, height=420), leaving.steps
    keys = ("Right", 1), ("Right", 2), ("Left", 1), ("End", end), ("Right", end), ("Home", 0), ("Left", 0)
    for key, step in keys:
        page.keyboard.press(f"Arrow{key}" if key in {"Left", "Right"} else key)
        assert (drawn(page)["time"], page.locator("#clock").inner_text()) == (step, f"step {step} / {end}")
        # Keys that mean a step do not scroll the page as well.
        assert page.evaluate("[scrollY, document.documentElement.scrollHeight > innerHeight + 50]") == [0, True]
    # The slider has the focus, and does not take the step a second time.
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    assert drawn(page)["time"] == 1
    names = ("One step forward", "One step back", "Last step", "First step")
    for name, step in zip(names, (2, 1, end, 0), strict=True):
        press(page, name)
        assert drawn(page)["time"] == step
    page.keyboard.press("Tab")
    page.locator("body").click(position={"x": 2, "y": 2})
    for playing in (True, False):
        page.keyboard.press("Space")
        assert drawn(page)["playing"] == playing
    box = page.locator("#scrub").bounding_box()
    for share, act in ((0.25, page.mouse.down), (0.75, page.mouse.up)):
        page.mouse.move(box["x"] + 6 + (box["width"] - 12) * share, box["y"] + box["height"] / 2)
        act()
        assert drawn(page)["time"] == pytest.approx(end * share, abs=0.51)
    assert page.locator("#scrub").get_attribute("aria-valuetext").startswith(f"step {round(drawn(page)['time'])} of ")


def test_following_an_agent(opened, leaving):
    """A click on an agent shows its cell, target, distance, rewards and moves; a second one, or Escape, lets it go."""
    page = opened(leaving.shown.html)
    assert rows(page, "#metrics") == {label: f"{leaving.shown.episode.metrics[name]:g}" for label, name in FIGURES}
    step, agent = 9, 2
    go_to(page, step)
    cell, name = leaving.cells(step)[agent], f"agent_{agent}"
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
    moves = moves_of(page)
    for back, row in enumerate(moves):
        x, y = leaving.cells(step - back)[agent]
        # By whom, and where to, are judged below.
        row[1:3] = row[1].split(" ")[0], row[2].split(" \u2192 ")[0]
        assert row == [str(step - back), words[-1 - back], f"{x}, {y}", f"{rewards[-1 - back]:g}"]
    refused = [text.split(" ")[0] for text in page.locator("#moves .refused").all_inner_texts()]
    assert refused == [row[1] for row in moves if row[1] in BLOCKED_NAMES]
    page.locator("#grid").click(position=place(page, cell))
    assert (drawn(page)["followed"], page.locator("#details").is_visible()) == (-1, False)
    assert follow(page, 1)["followed"] == 1
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("Escape")
    assert drawn(page)["followed"] == -1
    # Followed to the end, an agent that has left shows its arrival and its reward.
    gone = leaving.cells(leaving.steps).index(None)
    follow(page, gone)
    go_to(page, leaving.steps)
    shown = rows(page, "#figures")
    assert (shown["cell"], shown["arrivals"], shown["reward so far"]) == ("has left", "1", "1")
    assert rows(page, "#now")["arrivals so far"] == str(leaving.cells(leaving.steps).count(None))
    arrival = next(step for step in range(leaving.steps + 1) if leaving.cells(step)[gone] is None)
    go_to(page, arrival)
    x, y = leaving.targets(0)[gone]
    moves = moves_of(page)
    assert (moves[0], moves[1][3]) == ([str(arrival), "moved", f"{x}, {y}", "1"], "0")


def test_who_was_in_the_way_and_where_an_agent_wanted_to_go(opened):
    """A refused move names the agents because of which it was, and the cell that was asked for; it points there."""
    env = RecordEpisode(parallel_env(walls="ca.b...\n.......\nB.C.A..\n.......", allow_stay=True, max_cycles=40))
    env.reset()
    # Agents 0 and 1 want one cell, 2 stands behind 0; then 0 and 1 would swap; then all wait.
    for row in [(0, 2, 0), (0, 4, 0), (0, 2, 4), *[(0, 2, 0)] * 37]:
        env.step({f"agent_{agent}": action for agent, action in enumerate(row)})
    page = opened(show_episode(env.scenario("crossing")).html)
    page.get_by_text("deadlock from step 2: 0 of 3 agents arrived").click()
    assert drawn(page)["time"] == 2
    for agent, step, outcome, cells in (
        (0, 1, "contested with 1", "1, 0 \u2192 2, 0"),
        (1, 1, "contested with 0", "3, 0 \u2192 2, 0"),
        (2, 1, "occupied by 0", "0, 0 \u2192 1, 0"),
        (0, 2, "moved", "2, 0"),
        (1, 3, "swap with 0", "3, 0 \u2192 2, 0"),
    ):
        follow(page, agent)
        go_to(page, step)
        assert moves_of(page)[0] == [str(step), outcome, cells, "0"]
    # The arrow head of agent 1 points to the left.
    follow(page, -1)
    picture = pixels(page)
    assert at(picture, (3, 0), x=-0.02) == BLOCKED
    assert at(picture, (3, 0), x=1.04) != BLOCKED
    hover(page, (3, 0))
    assert page.locator("#hint").inner_text() == "agent_1: swap with 0"


def check_bars(page, *recordings) -> None:
    """See that each episode has a lane, with bars above steps of arrivals, below those of blocked moves."""
    picture, longest = pixels(page, "#marks"), recordings[0].steps
    height, width, _ = picture.shape
    for lane, recording in enumerate(recordings):
        axis = (2 * lane + 1) * height // (2 * len(recordings))
        for step in set(range(1, longest)) - {recording.steps}:
            agents = range(NUM_AGENTS if step < recording.steps else 0)
            arrived = any(recording.arrives(agent, step) for agent in agents)
            blocked = any(recording.outcome(agent, step) in BLOCKED_NAMES for agent in agents)
            column = int(6 + step * (width - 12) / longest)
            assert near(picture[axis - 4, column], ARRIVAL) == arrived, (lane, step)
            assert near(picture[axis + 3, column], BLOCKED) == blocked, (lane, step)


def test_next_and_previous_events(opened, leaving):
    """N and P go to arrivals and to moves that are refused for a new reason, of the followed agent or of all."""
    page, end, events = opened(leaving.shown.html), leaving.steps, []
    check_bars(page, leaving)
    for followed, agents in ((2, [2]), (-1, range(NUM_AGENTS))):
        follow(page, followed)
        page.locator("h1").click()
        events = leaving.events(agents)
        assert len(events) >= 4
        go_to(page, 0)
        for key, steps in (("n", [*events, end, end]), ("P", [*reversed(events), 0, 0])):
            for step in steps:
                page.keyboard.press(key)
                assert drawn(page)["time"] == step
    for name, step in (("Next event", events[0]), ("Previous event", 0)):
        press(page, name)
        assert drawn(page)["time"] == step


def test_keys_and_links(opened, leaving):
    """Keys are listed and reach every control, which shows an outline; an address opens the page where it says."""
    page = opened(leaving.shown.html)
    assert page.get_by_role("img", name="A grid of 7 by 4 cells with 4 agents").is_visible()
    reached = set()
    for _ in range(18):
        page.keyboard.press("Tab")
        focused = "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        name, outline = page.evaluate(focused)
        reached.add(name)
        assert name in ("", "body") or outline == "solid", name
    controls = "theme scrub first back play forward last speed follow verdict link keys previous-event next-event full"
    assert set(controls.split()) <= reached
    # While the list of keys is open, nothing else happens.
    dialog = page.get_by_role("dialog", name="Keys")
    follow(page, 1)
    page.locator("h1").click()
    for _ in range(2):
        page.keyboard.press("?")
        assert dialog.is_visible()
        page.keyboard.press("End")
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
    assert (drawn(page)["time"], drawn(page)["followed"]) == (0, 1)
    press(page, "Keys")
    listed = " ".join("".join(page.locator(".keys dt").all_inner_texts()).split())
    press(page, "Close")
    assert not dialog.is_visible()
    assert {"Space", "P", "N", "F", "Esc", "?"} <= set(re.findall(r"Space|Esc|Home|End|[A-Z?]", listed))
    go_to(page, 21)
    follow(page, 3)
    comes(page, "location.hash === '#step=21&agent=3'")
    assert page.locator("#link").get_attribute("href") == "#step=21&agent=3"
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    assert (drawn(page)["time"], drawn(page)["followed"]) == (21, 3)
    for address in ("#step=7", "#step=9999", "#step=-1", "#step=x", "#agent=1", "#step=1e1"):
        page.evaluate("hash => { location.hash = hash; }", address)
        assert (drawn(page)["time"], drawn(page)["followed"]) == (7, -1)


def test_wide_full_and_narrow_screens(opened):
    """A wide page has two columns of panels, a button fills the screen; in a narrow one the buttons have a line."""
    page = opened(show_episode("maze-17x13-8").html, 1920, 1080)
    assert page.locator("#verdict").inner_text().startswith("solved at step ")
    before = drawn(page)["side"]
    boxes = page.locator("aside > section").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(boxes) > 1880
    assert len(set(boxes)) == 2
    assert page.locator(".player").bounding_box()["width"] > 1100
    press(page, "Full screen")
    comes(page, "document.fullscreenElement !== null")
    assert drawn(page)["side"] > before * 1.1
    assert page.evaluate("document.querySelector('.player').scrollHeight <= innerHeight")
    page.keyboard.press("f")
    comes(page, "document.fullscreenElement === null")
    page.set_viewport_size({"width": 900, "height": 700})
    drawn(page)
    line, buttons, ending = (page.locator(name).bounding_box() for name in (".controls", ".buttons", ".right"))
    assert buttons["width"] == line["width"]
    assert ending["y"] >= buttons["y"] + buttons["height"]


def test_on_a_phone(opened):
    """At 390 pixels nothing sticks out, on a dense screen the canvas has its pixels, and buttons fit a finger."""
    shown = show_episode("maze-17x13-8")
    page = opened(shown.html, 390, 844, device_scale_factor=3, has_touch=True)
    follow(page, 3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide, pixel_wide = page.evaluate("[multigrid.lastDrawing().side * 17, document.getElementById('grid').width]")
    assert wide > 300
    assert pixel_wide == pytest.approx(3 * wide)
    boxes = [button.bounding_box() for button in page.get_by_role("button").all()]
    assert min(min(box["width"], box["height"]) for box in boxes) >= 38
    follow(page, -1)
    page.locator("#grid").tap(position=place(page, shown.episode.agents[0, 5].tolist()))
    assert drawn(page)["followed"] == 5


def test_hovering_shows_a_path(opened, parking):
    """Under the mouse an agent is named, and the way it has come is drawn in its hue."""
    # With nothing ahead of the agent, its way is one line.
    page, step = opened(parking.shown.html), parking.steps
    start, cell = parking.cells(0)[0], parking.cells(step)[0]
    go_to(page, step)
    there = sum(cell == target for cell, target in zip(parking.cells(-1), parking.targets(-1), strict=True))
    assert rows(page, "#now")["on their targets"] == f"{there} of {NUM_AGENTS}"
    before = pixels(page)
    hover(page, cell)
    assert parking.outcome(0, step) == "edge"
    assert page.locator("#hint").inner_text() == "agent_0: edge"
    assert start not in parking.cells(step) + parking.targets(step)
    assert at(before, start) == FLOOR
    assert near(at(pixels(page), start), HUES[0])
    assert page.get_by_role("combobox", name="Agent", exact=True).input_value() == "0"
    page.mouse.move(1, 1)
    drawn(page)
    assert not page.locator("#hint").is_visible()
    assert abs(pixels(page).astype(int) - before).max() <= 8


def test_light_and_dark(opened, leaving):
    """The page follows the system's scheme until the button says otherwise; agents have colours that suit it."""
    wall, cells = (2, 0), leaving.cells(0)
    page = opened(leaving.shown.html, color_scheme="dark")
    assert at(pixels(page), wall) == DARK_WALL
    page.emulate_media(color_scheme="light")
    button = page.get_by_role("button", name="Dark colours")
    for pressed, colour, hues in (("false", WALL, HUES), ("true", DARK_WALL, DARK_HUES), ("false", WALL, HUES)):
        drawn(page)
        picture = pixels(page)
        assert button.get_attribute("aria-pressed") == pressed
        assert at(picture, wall) == colour
        assert [at(picture, cell, x=0.3) for cell in cells] == hues
        button.click()


@pytest.mark.parametrize("episode", [walk(500, 1000, (60, 48)), walk(1, 140_000, (6, 4))], ids=["wide", "long"])
def test_large_recordings(episode, opened):
    """A thousand steps of 500 agents, and very many steps of one, are drawn as they were."""
    page, (num_agents, _) = opened(replay_page(episode)), episode.agents.shape[1:]
    for step in (0, 777, episode.num_steps - 1, episode.num_steps):
        shown = go_to(page, step)
        assert shown["time"] == step
        assert shown["agents"] == episode.agents[step].tolist()
        assert shown["targets"] == episode.targets[step].tolist()
    follow(page, num_agents - 1)
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


# The cell of each agent of a picture with cells of 30 pixels, and its opacity; that of targets, by colour.
VISIBLE = """[[...document.querySelectorAll("circle")].map(disc => {
    const box = disc.getBoundingClientRect();
    const place = middle => Math.round((middle / 30 - 0.5) * 1000) / 1000;
    return [place((box.left + box.right) / 2), place((box.top + box.bottom) / 2),
            Number(getComputedStyle(disc.parentNode).opacity)];
}), Object.fromEntries([...document.querySelectorAll("rect[rx]")].map(square =>
    [square.getAttribute("fill"), Number(getComputedStyle(square.parentNode).opacity)]))]"""
GO_TO = "time => document.getAnimations().forEach(one => { one.pause(); one.currentTime = time; })"


def test_the_animated_picture(recording, opened):
    """The picture shows what was recorded, and between steps what lies between; nothing moves for who prefers that."""
    page = opened(animated_svg(recording.shown.episode, seconds_per_step=0.5, pause=3, cell=30))
    hues, end = ["#{:02x}{:02x}{:02x}".format(*hue) for hue in HUES], recording.steps
    for moment in (0, 1, 2.5, 7, 12.25, end / 2, end - 0.5, end, end + 5.9):
        page.evaluate(GO_TO, moment * 500)
        before, share = int(min(moment, end)), moment % 1 if moment < end else 0
        cells, following = recording.cells(before), recording.cells(before + (share > 0))
        discs, squares = page.evaluate(VISIBLE)
        assert squares == pytest.approx({hue: disc[2] for hue, disc in zip(hues, discs, strict=True)}, abs=0.01)
        for cell, after, (*where, opacity) in zip(cells, following, discs, strict=True):
            assert opacity == pytest.approx(0 if cell is None else 1 - share if after is None else 1, abs=0.01)
            if cell and after:
                assert where == pytest.approx(np.array(cell) + share * np.subtract(after, cell), abs=0.01)
        picture = pixels(page, "svg")
        assert at(picture, (2, 0)) == WALL
        for agent, (cell, target) in enumerate(zip(cells, recording.targets(before), strict=True)):
            if cell and share == 0:
                assert near(at(picture, cell, x=0.3), HUES[agent])
                assert cell != target or near(at(picture, cell, x=0.22, y=0.22), HUES[agent])
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0


def test_two_episodes_in_step(opened, pair, leaving, brief):
    """Both halves show the step of the one slider, each its own episode; the shorter one stays at its last step."""
    assert brief.steps == 23 < leaving.steps - 20
    page = opened(pair, clock=True)
    for step in (0, 9, 22, 23, 24, leaving.steps):
        page.get_by_role("slider", name="Step").fill(str(step))
        page.clock.run_for(100)
        assert page.locator("#clock").inner_text() == f"step {step} / {leaving.steps}"
        for half, (canvas, recording) in enumerate((("#grid", leaving), ("#other-grid", brief))):
            own, shown = min(step, recording.steps), last(page, half)
            assert (shown["time"], shown["agents"]) == (own, recording.cells(own))
            assert shown["targets"] == recording.targets(own)
            picture = pixels(page, canvas)
            for agent, cell in enumerate(recording.cells(own)):
                assert cell is None or at(picture, cell, x=0.3) == HUES[agent], (step, half, agent)
    assert 12 < play(page, 4, 3100)["time"] == last(page, 1)["time"] < 13
    page.clock.run_for(5000)
    long, short = last(page, 0), last(page, 1)
    assert (long["playing"], short["time"], short["agents"]) == (True, 23, brief.cells(23))
    assert 31 < long["time"] < 33


def test_each_half_has_its_name_and_figures(opened, pair, leaving, brief):
    """Above each half stand its name and its verdict, a link to that step; figures and bars of both stand together."""
    page = opened(pair)
    assert (page.title(), page.locator("h1").inner_text()) == ("long and <short>", "long and <short>")
    facts = page.locator("#facts").inner_text()
    assert facts.startswith(f"4 agents on 7 \u00d7 4 cells, {leaving.steps} and 23 steps;")
    assert facts.endswith("; collisions symmetric, on target leave")
    both = leaving.shown.episode, brief.shown.episode
    captions = [caption.split("\n") for caption in page.locator("figcaption").all_inner_texts()]
    assert captions == [["A", "long", both[0].verdict.text], ["B", "<short>", both[1].verdict.text]]
    assert page.get_by_role("img", name="B, <short>: A grid of 7 by 4 cells with 4 agents").is_visible()
    figures = rows(page, "#metrics")
    assert figures.pop("") == ("A", "B")
    assert figures == {label: tuple(f"{one.metrics[name]:g}" for one in both) for label, name in FIGURES}
    check_bars(page, leaving, brief)
    # N goes to the next event of either.
    events = [set(recording.events(range(NUM_AGENTS))) for recording in (leaving, brief)]
    assert min(len(events[0] - events[1]), len(events[1] - events[0])) > 0
    for step in sorted(step for step in set.union(*events) if step < 23):
        page.keyboard.press("n")
        assert drawn(page)["time"] == step
    page.locator("figcaption a").last.click()
    assert drawn(page)["time"] == both[1].verdict.step == 23
    go_to(page, 40)
    arrivals = tuple(str(one.cells(step).count(None)) for one, step in ((leaving, 40), (brief, 23)))
    assert rows(page, "#now")["arrivals so far"] == arrivals
    assert arrivals[0] != arrivals[1]
    # Of one episode there is nothing of this.
    page = opened(leaving.shown.html)
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

    def check_shown(half: int) -> None:
        drawn(page)
        (x, y), shown = (cells[half], rows(page, "#figures")["cell"])
        assert (shown, moves_of(page)[0][1].split(" ")[0]) == (f"{x}, {y}", outcomes[half])

    other = page.locator("#other-grid")
    other.click(position=place(page, cells[1]))
    page.mouse.move(1, 1)
    assert (drawn(page, 0)["followed"], drawn(page, 1)["followed"]) == (agent, agent)
    check_shown(1)
    letters = page.get_by_role("group", name="Recording").get_by_role("button")
    assert [letter.get_attribute("aria-pressed") for letter in letters.all()] == ["false", "true"]
    # Around the agent is a ring in the page's ink, in both halves.
    for half, name in enumerate(("#grid", "#other-grid")):
        assert near(at(pixels(page, name), cells[half], y=0.03), (29, 31, 36), by=12), name
    taken = leaving.cells(step) + brief.cells(step)
    hover(page, next(cell for cell in CELLS[False] if cell not in taken))
    check_shown(0)
    page.mouse.move(1, 1)
    check_shown(1)
    comes(page, f"location.hash === '#step={step}&agent={agent}&in=B'")
    link = page.url
    letters.first.click()
    check_shown(0)
    comes(page, f"location.hash === '#step={step}&agent={agent}'")
    page.goto("about:blank")
    page.goto(link)
    check_shown(1)
    other.click(position=place(page, cells[1]))
    assert drawn(page)["followed"] == -1


def test_where_the_halves_stand(opened, pair):
    """Two halves are side by side, on narrow screens one below the other, as flat worlds are; nothing sticks out."""
    flat = dataclasses.replace(walk(2, 6, (40, 3)), name="flat")
    square_page, flat_page = (opened(html, color_scheme="dark") for html in (pair, show_episode(flat, flat).html))
    for page, width, beside in (
        (square_page, 1280, 1),
        (square_page, 820, 1),
        (square_page, 480, 0),
        (flat_page, 1280, 0),
    ):
        page.set_viewport_size({"width": width, "height": 844})
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".player").evaluate("player => player.scrollWidth <= player.clientWidth")
        one, other = (page.locator(name).bounding_box() for name in ("#grid", "#other-grid"))
        if beside:
            assert one["y"] == other["y"]
            assert one["x"] + one["width"] < other["x"]
            assert at(pixels(page, "#other-grid"), (2, 0)) == DARK_WALL
        else:
            assert one["x"] == other["x"]
            assert one["y"] + one["height"] < other["y"]
            controls = page.locator(".controls").bounding_box()
            assert controls["y"] + controls["height"] < 844
