"""Recordings as pages and pictures: what is in the files, who may ask for them, and what is refused."""

import base64
import dataclasses
import html.parser
import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from helpers import names
from multigrid import GridConfig, games, parallel_env, scenarios
from multigrid._palette import colours, contrast, hexadecimal, legible
from multigrid.cli import main
from multigrid.rendering.replay import FLOORS, pack, replay_page
from multigrid.rendering.svg import animated_svg, compare_svg, still_svg
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios._replay_page import Replay, show_episode
from multigrid.scenarios.tracing import trace_episode
from worldgen import walk

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><script>alert(1)</script>\"'&lt; {{data}} \u2028 猫 \ud800 \x00 \\u003c"
# Agent 0 goes round the wall and leaves in step 4. Agents 1 and 2 ask for one cell in step 2, where agent 1 arrives and
# leaves in step 3. Agent 2 runs into the edge in steps 1 and 3, and moves left in step 4.
ROOM = "a#A..\n.b.Bc\n....C"
MOVES = [(1, 0, 0), (0, 0, 2), (0, 0, 0), (3, 0, 2)]


def recorder(**settings) -> RecordEpisode:
    """An environment that has played the moves."""
    env = RecordEpisode(parallel_env(walls=ROOM, num_agents=3, on_target="leave", max_cycles=9, **settings))
    env.reset()
    for row in MOVES:
        env.step({agent: row[int(agent[-1])] for agent in env.agents})
    return env


recorded = pytest.fixture(lambda: recorder().scenario("room"), scope="module", name="recorded")


@pytest.fixture(scope="module")
def episode(recorded):
    """The episode of the moves."""
    return trace_episode(recorded)


def data_of(page: str) -> dict:
    """What the script of a page reads of an episode."""
    return json.loads(re.search(r'<script type="application/json" id="episode">(.*?)</script>', page)[1])


def unpacked(text: str, length: int) -> list[list[int]]:
    """Read what `pack` wrote, by the sentences of its docstring."""
    numbers, number, weight = [], 0, 1
    for byte in base64.b64decode(text):
        number, weight = number + byte % 128 * weight, weight * 128
        if byte < 128:
            numbers.append(number)
            number, weight = 0, 1
    differences, numbers = [], iter(numbers)
    for number in numbers:
        if number == 0:
            differences += [0] * (1 + next(numbers))
        else:
            differences.append(number // 2 if number % 2 == 0 else -(number + 1) // 2)
    return np.cumsum(np.reshape(differences, (-1, length)), axis=1).tolist()


@pytest.mark.parametrize("largest", [1, 3, 70, 10_000, 2**40])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 200)])
def test_packing_loses_nothing(shape, largest):
    """What is packed can be read again, be it large, negative, or zero over the ends of rows."""
    random = np.random.default_rng(largest)
    rows = random.integers(-largest, largest, shape) * (random.random(shape) < 0.3)
    assert unpacked(pack(rows), shape[1]) == rows.tolist()
    assert unpacked(pack(0 * rows), shape[1]) == (0 * rows).tolist()
    # A change takes a byte, and no change next to nothing.
    assert len(base64.b64decode(pack(np.arange(1000).reshape(1, 1000)))) == 2 + 999
    assert len(base64.b64decode(pack(np.full((500, 1001), 1)))) == 500 * 4


def test_pages_of_games_with_their_own_steps_claim_no_rule_of_path_finding(monkeypatch):
    """They name no rule of collisions, and no direction of a refused move, for an action need not have one."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile the game
    env = RecordEpisode(games.parallel_env("MiniGrid-Empty-5x5-v0", num_agents=2, order="index"))
    env.reset(seed=0)
    for action in (0, 2, 2):
        env.step(dict.fromkeys(env.agents, action))
    data = data_of(show_episode(env).html)
    assert set(data["blocked"]) & set(unpacked(data["outcomes"], 4)[0])
    assert unpacked(data["refused"], 4) == [[0] * 4] * 2
    assert data["rules"]["collisions"] is None
    assert data["palettes"]["dark"]["colours"][0] == "#ff0000", "the red of agent 0 in Minigrid"


def test_every_source_gives_the_same_page(recorded, episode, tmp_path, monkeypatch):
    """A path, a scenario, an episode and a recording environment show the same; a name is one of the suite."""
    scenarios.save(recorded, tmp_path / "room.json")
    page = show_episode(recorded).html
    assert show_episode(tmp_path / "room.json").html == page
    assert show_episode(str(tmp_path / "room.json")).html == page
    assert show_episode(episode).html == page
    assert show_episode(recorder()).html == page.replace('"room"', '"episode"').replace(">room<", ">episode<")
    assert show_episode("maze-9x7-2").episode.name == "maze-9x7-2"
    monkeypatch.chdir(tmp_path)
    scenarios.save(recorded, "maze-9x7-2")
    assert show_episode("maze-9x7-2").episode.name == "room"


def test_what_cannot_be_shown(recorded):
    """An error says what came and what was expected."""
    for sources, error, message in (
        ([parallel_env()], TypeError, "source is of type MultiGridEnv; expected the path of a scenario file"),
        ([Scenario("bare", GridConfig(walls=ROOM))], ValueError, "scenario 'bare' has no actions; only a recorded"),
        ([RecordEpisode(parallel_env())], ValueError, "no episode has been recorded"),
        (["maze"], FileNotFoundError, r"no file 'maze', nor a scenario of this name in .*maze-9x7"),
        ([recorded, 3], TypeError, "other is of type int; expected the path"),
    ):
        with pytest.raises(error, match=message):
            show_episode(*sources)


class Parts(html.parser.HTMLParser):
    """The elements of a page with their attributes, and the texts in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements, self.texts = [], {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, text):
        """Note a text, by the element that began last."""
        tag = self.elements[-1][0] if self.elements else ""
        self.texts[tag] = self.texts.get(tag, "") + text


def test_a_page_needs_nothing_else(episode):
    """A page is ASCII, asks for no other file, and forbids itself to; agents and targets are in it, by cells."""
    page = replay_page(episode)
    assert page.isascii()
    for tag, attributes in Parts(page).elements:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,", tag
    assert not any(loads in page for loads in ("url(", "@import"))
    assert "default-src 'none'" in page
    data = data_of(page)
    assert (data["width"], data["height"]) == (5, 3)
    for key, cells in (("cells", episode.agents), ("targets", episode.targets)):
        numbers = [[x + 5 * y for x, y in row] for row in cells.transpose(1, 0, 2).tolist()]
        assert unpacked(data[key], episode.num_steps + 1) == numbers
    # Agents 1 and 2 ask for one cell in step 2; agent 2 runs into the edge in steps 1 and 3.
    blockers = np.zeros((3, 3, 5), int)
    blockers[1, 0, 2], blockers[2, 0, 2] = 3, 2
    assert unpacked(data["blockers"], 5) == blockers.reshape(9, 5).tolist()
    # Actions from 1, where a move was refused: agent 1 right in step 2, agent 2 right, left and right.
    assert unpacked(data["refused"], 5) == [[0] * 5, [0, 0, 1, 0, 0], [0, 1, 3, 1, 0]]
    assert data["moves"] == [[1, 0], [0, 1], [-1, 0], [0, -1]]
    assert data["verdict"] == {"text": "stopped at step 4: 2 of 3 agents arrived", "step": 4, "solved": False}


def test_a_name_is_only_a_name(episode):
    """Whatever a recording is called, the page and the picture have the elements that they should have."""
    hostile = dataclasses.replace(episode, name=HOSTILE)
    plain, odd = Parts(replay_page(episode)), Parts(replay_page(hostile))
    assert [tag for tag, _ in odd.elements] == [tag for tag, _ in plain.elements]
    assert "alert(1)" in odd.texts["title"]
    root = ET.fromstring(animated_svg(hostile))  # noqa: S314 (of our own making)
    assert root.find(f"{SVG}title").text == re.sub("[\ud800\x00]", "\ufffd", HOSTILE)
    frame = Parts(Replay(hostile)._repr_html_())
    assert [tag for tag, _ in frame.elements] == ["iframe"]
    assert frame.elements[0][1]["srcdoc"] == Replay(hostile).html


def test_pages_and_pictures_are_small():
    """The least predictable thousand steps of 500 agents take less than 3 MB, a picture of eight less than 30 KB."""
    assert len(replay_page(walk(500, 1000, (130, 90)))) < 3_000_000
    svg = animated_svg(trace_episode(scenarios.get("maze-17x13-8")))
    assert len(svg) < 30_000
    # Readers who want no motion get none; no script is needed.
    assert "prefers-reduced-motion" in svg
    assert "<script" not in svg


def discs(svg: str) -> list[tuple[str, int, int]]:
    """The colours and cells of the agents in a picture with cells of 20 pixels."""
    places = []
    for group in ET.fromstring(svg).iter(f"{SVG}g"):  # noqa: S314 (of our own making)
        circle = group.find(f"{SVG}circle")
        if circle is not None:
            x, y = re.fullmatch(r"translate\((\d+) (\d+)\)", group.get("transform")).groups()
            places.append((circle.get("fill"), int(x) / 20, int(y) / 20))
    return places


def test_a_still_shows_a_state(episode):
    """A still has the agents that are there, in their colours and cells, and fills the targets of the arrived."""
    # Of the first three, agent 1's orange is too pale on white.
    hues, states = ["#0072b2", "#c68900", "#009e73"], {0: [(0, 0, 0), (1, 1, 1), (2, 4, 1)], 4: [(2, 3, 1)]}
    for step, there in (states | {2: [(0, 1, 1), (1, 2, 1), (2, 4, 1)]}).items():
        assert discs(still_svg(episode, step, cell=20)) == [(hues[agent], x, y) for agent, x, y in there]
    settled = trace_episode(scenarios.get("maze-9x7-2"))
    last = still_svg(settled, settled.num_steps)
    assert last.count('fill-opacity="1"') == 2
    assert 'fill-opacity="1"' not in still_svg(settled, 0)
    # In cells of 16 pixels each target has the number of its agent, in the middle of its square.
    squares = re.findall(r'<text x="10" [^>]*translate\((\d+) (\d+)\)[^>]*>(\d)<', still_svg(episode, 0, cell=20))
    assert [(int(x) / 20, int(y) / 20, int(agent)) for x, y, agent in squares] == [
        (x, y, agent) for agent, (x, y) in enumerate(episode.targets[0].tolist())
    ]
    assert "<text" not in still_svg(episode, 0, cell=15)


def test_agents_contrast_with_the_floor():
    """The light page, the dark one and a picture have colours that are legible on their floors, and fitting inks."""
    walked = walk(64, 3, (21, 9))
    page, svg = replay_page(walked), still_svg(walked, 0, cell=20)
    palettes, floors = data_of(page)["palettes"], map(hexadecimal, FLOORS.values())
    assert "--floor: light-dark({}, {})".format(*floors) in page
    for scheme, floor in FLOORS.items():
        shown = [legible(colour, floor) for colour in colours(64)]
        assert palettes[scheme]["colours"] == list(map(hexadecimal, shown))
        assert palettes[scheme]["inks"] == [hexadecimal(contrast(colour)) for colour in shown]
    strokes = re.findall(r'<rect x=[^>]* stroke="(#\w{6})"', svg)
    assert [disc[0] for disc in discs(svg)] == strokes == palettes["light"]["colours"]


def test_captions_fit_above_their_pictures(episode):
    """Captions of a comparison are centred on the picture below, of one size, and at most about as wide as it."""
    captions = ["shortest paths: 88 % arrived in 64 steps", "", "trained: all arrived in 17 steps" * 3]
    tree = ET.fromstring(compare_svg(dict.fromkeys(captions, episode)))  # noqa: S314 (of our own making)
    pictures = [part for part in tree.findall(f"{SVG}g") if "translate" in part.get("transform", "")]
    texts = tree.findall(f"{SVG}text")
    assert [text.text or "" for text in texts] == captions
    for caption, text, picture in zip(captions, texts, pictures, strict=True):
        left = float(re.match(r"translate\((\d+)", picture.get("transform"))[1])
        width = float(picture.find(f"{SVG}rect").get("width"))
        assert float(text.get("x")) == pytest.approx(left + width / 2)
        # In system-ui, letters are about half as wide as the font's size.
        assert 0.5 * float(text.get("font-size")) * len(caption) < width
    assert len({text.get("font-size") for text in texts}) == 1
    assert 'font-size="15"' in compare_svg({"": episode})


def test_a_picture_of_a_deadlock_says_so():
    """Four steps after the last change a picture ends, also beside another; a line names the step of the change."""
    env = RecordEpisode(parallel_env(size=(4, 3), num_agents=2, max_cycles=40))
    env.reset(options={"agents": [[0, 1], [1, 1]], "targets": [[3, 1], [0, 2]]})
    while env.agents:
        env.step({"agent_0": 0, "agent_1": 2})
    stuck = trace_episode(env.scenario("stuck"))
    svg = animated_svg(stuck, seconds_per_step=0.5, pause=2, cell=20)
    assert "animation:4s" in svg
    assert "animation:4s" in compare_svg({"stuck": stuck}, seconds_per_step=1, pause=0)
    assert svg.count("deadlock from step 0: 0 of 2 agents arrived") == 2
    assert '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="82"' in svg
    assert "deadlock" not in still_svg(trace_episode(scenarios.get("maze-9x7-2")), 0)


def test_large_pictures_warn(episode, tmp_path, monkeypatch, capsys):
    """An animation of more than a megabyte is written, and what plays better is named."""
    monkeypatch.setattr("multigrid.rendering.svg._LARGE", 1000)
    with pytest.warns(UserWarning, match=r"large.svg has 0.0 MB, which .*; the page.*multigrid replay"):
        show_episode("maze-9x7-2").save_svg(tmp_path / "large.svg")
    show_episode("maze-9x7-2").save_svg(tmp_path / "still.svg", step=1)
    assert main(["replay", "maze-9x7-2", "--svg", "--output", str(tmp_path / "page.html")]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"multigrid replay: {tmp_path / 'page.svg'} has")
    assert said.count("\n") == 1


def test_an_episode_without_steps_is_shown():
    """An episode that has only begun has a still picture, with a pause or without, and a page without moves."""
    begun = RecordEpisode(parallel_env(walls=ROOM, num_agents=3))
    begun.reset()
    shown = show_episode(begun)
    for still in (animated_svg(shown.episode, pause=pause) for pause in (0, 1)):
        assert ("@keyframes" in still, still.count("<circle")) == (False, 3)
    assert '"steps":0' in shown.html


def test_a_page_has_rewards_that_json_has_not(episode):
    """Rewards that are not finite are texts, which JavaScript reads as numbers."""
    rewards = np.array([[0, -np.inf, 0.5], [np.nan, np.inf, 0.5]])[[0, 1, 0, 0, 0]]
    page = replay_page(dataclasses.replace(episode, rewards=rewards))
    assert data_of(page)["rewards"]["values"] == ["-Infinity", 0, 0.5, "Infinity", "NaN"]


def test_a_still_picture_is_saved(episode, tmp_path):
    """`Replay.save_svg` with a step writes the state after that step; an argument out of range is named."""
    show_episode(episode).save_svg(tmp_path / "third.svg", step=3, cell=20)
    assert (tmp_path / "third.svg").read_text() == still_svg(episode, 3, cell=20)
    for draw, options, said in (
        *((still_svg, {"step": step}, f"step is {step}; expected 0 to 4") for step in (5, -1, 1.0)),
        (still_svg, {"step": 0, "cell": 0}, "cell is 0; expected at least 1"),
        (animated_svg, {"seconds_per_step": 0}, "seconds_per_step is 0; expected a number"),
        (animated_svg, {"pause": float("nan")}, "pause is nan; expected a number"),
    ):
        with pytest.raises(ValueError, match=said):
            draw(episode, **options)
    with pytest.raises(TypeError, match="pause"):
        show_episode(episode).save_svg(tmp_path / "none.svg", step=3, pause=1.0)
    assert names(tmp_path) == ["third.svg"]


def begun(walls: str, **settings) -> Scenario:
    """A recording of one step in a world of letters."""
    env = RecordEpisode(parallel_env(walls=walls, max_cycles=9, **settings))
    env.reset()
    env.step(dict.fromkeys(env.agents, 0))
    return env.scenario(walls.partition("\n")[0])


LAYOUTS = {
    "a..A#\nb...B": "the grids have 4 x 2 and 5 x 2 cells",
    "a..A\nb.#B": r"cell \[2, 1\] is a wall in only one of them",
    "a..A\n....": "there are 2 and 1 agents",
    "a..A\n.b.B": r"agent_1 starts at \[0, 1\] and \[1, 1\]",
    "a.A.\nb..B": r"agent_0 goes to \[3, 0\] and \[2, 0\]",
}


def test_episodes_side_by_side_have_one_layout():
    """The first thing in which two layouts differ is named, and what to do instead; the rules may differ."""
    room = begun("a..A\nb..B")
    for walls, said in LAYOUTS.items():
        with pytest.raises(ValueError, match=f"of one layout: {said}; expected equal .* by itself: `multigrid rep"):
            show_episode(room, begun(walls))
    assert show_episode(room, begun("a..A\nb..B", collisions="soft", on_target="leave")).other is not None
    # Nor may there be other lists of targets, nor none.
    lists = ["a...\nb...\na: 3,0 1,0\nb: 3,1", "a...\nb...\na: 3,0 2,0\nb: 3,1", "a..A\nb..B"]
    first, *others = (begun(walls, on_target="restart") for walls in lists)
    for other in others:
        with pytest.raises(ValueError, match="not of one layout: the lists of targets differ"):
            show_episode(first, other)


def test_names_tell_two_recordings_apart(recorded, tmp_path):
    """Files are called by their names without suffix, by more of their paths if these are equal, else by numbers."""
    with pytest.raises(ValueError, match=r"both episodes are called '.*'; expected two names"):
        Replay(trace_episode(recorded), trace_episode(recorded))
    paths = [tmp_path / "pibt" / "room.v1.json", tmp_path / "learned" / "room.v1.json", tmp_path / "again.json"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        scenarios.save(recorded, path)

    def named(*sources):
        shown = show_episode(*sources)
        return shown.episode.name, shown.other.name

    assert named(str(paths[0]), paths[2]) == ("room.v1", "again")
    assert named(paths[0], paths[1]) == ("pibt/room.v1", "learned/room.v1")
    scenarios.save(recorded, tmp_path / "room.v1.json")
    above = tmp_path / "learned" / ".." / "room.v1.json"
    assert named(paths[0], above) == ("pibt/room.v1", f"{tmp_path.name}/room.v1")
    assert named(paths[2], paths[2]) == ("again (1)", "again (2)")
    assert named(recorded, paths[2]) == ("room", "again")
    assert named(recorded, recorded) == ("room (1)", "room (2)")
    shown = show_episode(recorded, paths[2])
    assert repr(shown) == "<Replay of 'room' and 'again', 4 and 4 steps>"
    assert (show_episode(paths[2]).episode.name, show_episode(recorded).other) == ("room", None)


def test_the_command_writes_two_recordings_on_one_page(recorded, tmp_path, monkeypatch, capsys):
    """The page stands beside the first recording under both names, or where --output says; so does the picture."""
    monkeypatch.chdir(tmp_path)
    assert main(["replay", "maze-9x7-2"]) == 0
    for name, scenario in (("runs/one", recorded), ("other", recorder(collisions="soft").scenario("other"))):
        Path(name).parent.mkdir(exist_ok=True)
        scenarios.save(scenario, f"{name}.json")
    assert main(["replay", "runs/one.json"]) == 0
    alone = Path("runs/one.html").read_bytes()
    assert main(["replay", "runs/one.json", "other.json", "--svg"]) == 0
    assert names(tmp_path / "runs") == ["one-and-other.html", "one-and-other.svg", "one.html", "one.json"]
    assert Path("runs/one.html").read_bytes() == alone
    shown = show_episode("runs/one.json", "other.json")
    assert Path("runs/one-and-other.html").read_bytes() == shown.html.encode()
    expected = compare_svg({"one": shown.episode, "other": shown.other})
    assert Path("runs/one-and-other.svg").read_text() == expected
    assert main(["replay", "runs/one.json", "--output", "seen.html", "other.json"]) == 0
    assert Path("seen.html").read_bytes() == shown.html.encode()
    assert main(["replay", "maze-9x7-2", "--output", "alone.html", "--svg"]) == 0
    assert Path("alone.svg").read_text() == animated_svg(trace_episode(scenarios.get("maze-9x7-2")))
    Path("others").mkdir()
    scenarios.save(recorded, "others/one.json")
    assert main(["replay", "runs/one.json", "others/one.json"]) == 0
    written = ["maze-9x7-2.html", "runs/one.html", "runs/one-and-other.html", "runs/one-and-other.svg", "seen.html"]
    written += ["alone.html", "alone.svg", "runs/runs-one-and-others-one.html"]
    assert capsys.readouterr().out.split() == written
    with pytest.raises(ValueError, match="step is 3, but there are two episodes, which have no still picture"):
        shown.save_svg("still.svg", step=3)
    assert not Path("still.svg").exists()


@pytest.mark.heavy
def test_a_browser_plays_the_page(recorded, episode, tmp_path):
    """Chromium draws the first step, plays to the last, and complains of nothing; tests/player has all controls."""
    from playwright.sync_api import sync_playwright

    path = tmp_path / "page.html"
    path.write_text(show_episode(recorded).html)
    complaints, drawn = [], "() => multigrid.lastDrawing(0)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.clock.install(time=0)
        page.goto(path.as_uri())
        page.clock.run_for(100)
        first = page.evaluate(drawn)
        page.get_by_role("button", name="Play", exact=True).click()
        page.clock.run_for(60_000)
        last = page.evaluate(drawn)
        browser.close()
    assert [first["time"], last["time"], complaints] == [0, len(MOVES), []]
    assert first["agents"] == [[0, 0], [1, 1], [4, 1]]
    assert [agent is None for agent in last["agents"]] == [True, True, False]
