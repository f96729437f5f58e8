"""The marks of a game in every picture: frames, films, windows, text, SVGs and the page of a replay."""

from __future__ import annotations

import dataclasses
import re
import shutil
from typing import Any

import numpy as np
import pygame
import pytest
from sample_games import SETTINGS, Hop, KeyAndDoor

import multigrid
from helpers import read_gif
from multigrid import games, show_episode
from multigrid.rendering._episode import scene_of
from multigrid.rendering._general import GeneralStyle
from multigrid.rendering._scene import Look
from multigrid.scenarios import RecordEpisode
from multigrid.scenarios.tracing import EpisodeTrace

# With these actions somebody takes the key.
ACTIONS = 2
KEY, DOOR, LUCK = "#ffd54f", "#8d6e63", "#112233"


class Marked(KeyAndDoor):
    """Path finding with a key and a door, which are marked; the key until somebody carries it."""

    def marks(scene):
        yield games.Mark(scene.door, DOOR.upper(), "D")
        if scene.carrier < 0:
            yield games.Mark(scene.key, KEY, "K")


class Lucky(Hop):
    """A game without targets, with a mark that has no letter."""

    def marks(scene):
        yield games.Mark((int(scene.luck * scene.width), 0), LUCK)


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python run the games: to compile them takes longer, and what is tested is above the kernels."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")


def make(game: Any = Marked, **settings: Any) -> Any:
    """Return an environment of a game, reset."""
    env = multigrid.parallel_env(game=game, **{**SETTINGS[game.__base__], **settings})
    env.reset(seed=1)
    return env


def play(game: Any = Marked, steps: int = 30, **settings: Any) -> tuple[Any, list[Any]]:
    """Return an episode of random actions, as pictures want it, and its states."""
    env, rng = make(game, **settings), np.random.default_rng(ACTIONS)
    trace, states = EpisodeTrace(env), [env.get_state()]
    trace.note()
    for _ in range(steps):
        if env.agents:
            actions = {agent: int(rng.integers(env.config.num_actions)) for agent in env.agents}
            env.step(actions)
            trace.note(actions)
            states.append(env.get_state())
    return trace.episode("marks"), states


def expect(state: Any) -> list[tuple[tuple[int, int], str, str]]:
    """Return the marks of a state of `Marked`."""
    door = (tuple(state["door"].tolist()), DOOR, "D")
    return [door, (tuple(state["key"].tolist()), KEY, "K")] if state["carrier"] < 0 else [door]


@pytest.mark.parametrize("observe", [("agent",), ("agent", "key"), ("agent", "has_key", "key")])
@pytest.mark.parametrize("flatten", [False, True])
def test_pictures_do_not_depend_on_what_is_observed(observe, flatten):
    """A frame is the same if agents observe none, some or all of the parts that a game adds."""
    everything, some = (make(render_mode="rgb_array", **one) for one in ({}, {"observe": observe, "flatten": flatten}))
    assert np.array_equal(everything.render(), some.render())


def test_marks_cannot_change_the_world():
    """What a game's `marks` writes into its scene is lost, and single numbers are scalars."""

    class Writes(Marked):
        def marks(scene):
            assert {scene.carrier: "nobody"}[-1] == "nobody"
            for array in (scene.key, scene.agents, scene.targets, scene.present, scene.walls):
                array[...] = 1
            return []

    env = multigrid.parallel_env(game=Writes, **SETTINGS[KeyAndDoor], render_mode="rgb_array")
    env.reset(seed=1)
    before = env.get_state()
    env.render()
    for name, array in env.get_state().items():
        assert np.array_equal(array, before[name])
    assert not env.config.is_wall.any()


@pytest.mark.parametrize(
    ("mark", "error", "message"),
    [
        (games.Mark((0, 0), "red"), ValueError, "the colour 'red'; expected '#rrggbb', such as '#ff0000' for red"),
        (games.Mark((0, 0), (255, 0, 0)), ValueError, r"the colour \(255, 0, 0\); expected '#rrggbb'"),
        (((0, 0), "#ff0000", "x"), TypeError, "expected games.Mark"),
        (
            games.Mark((5, 0)),
            ValueError,
            r"in the cell \(5, 0\), outside the grid; expected x from 0 to 4 and y from",
        ),
        (games.Mark((0, -1)), ValueError, r"in the cell \(0, -1\), outside the grid; .* y from 0 to 3, or no mark"),
        (games.Mark((0.5, 0)), ValueError, r"whose cell is \(0.5, 0\); expected two integers, x and y"),
        (games.Mark(3), ValueError, "whose cell is 3; expected two integers, x and y"),
        (games.Mark((0, 0), letter="key"), ValueError, "the letter 'key'; expected at most two letters"),
        (games.Mark((0, 0), letter="\x1b"), ValueError, "the letter '.x1b'; expected at most two letters"),
    ],
)
def test_errors_of_marks_say_what_to_write(mark, error, message):
    """A mark of another form is an error that names the game, what came and what was expected."""

    class Wrong(KeyAndDoor):
        def marks(scene):
            yield mark

    env = multigrid.parallel_env(game=Wrong, **SETTINGS[KeyAndDoor], render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(error, match=rf"Wrong\.marks yields .*{message}"):
        env.render()


def test_marks_that_are_returned_are_a_list():
    """A function that returns nothing, for it lacks a yield, is named in the error."""

    class Nothing(KeyAndDoor):
        def marks(scene):
            games.Mark(scene.door)

    env = multigrid.parallel_env(game=Nothing, **SETTINGS[KeyAndDoor], render_mode="ansi")
    env.reset(seed=1)
    with pytest.raises(TypeError, match=r"Nothing\.marks returns None; expected marks: yield games\.Mark"):
        env.render()


def test_marks_in_text():
    """A marked cell has its colour behind it, and its letter where no agent and no target is."""
    env = make(render_mode="ansi")
    shown = re.findall(r"\x1b\[48;2;(\d+);(\d+);(\d+);38;2;\d+;\d+;\d+m(.)\x1b\[0m|(.)|(\n)", env.render())
    cells = [one for one in shown if one[5] != "\n"]
    assert len(cells) == 20
    state = env.get_state()
    for (x, y), colour, letter in expect(state):
        red, green, blue, character, *_ = cells[x + 5 * y]
        assert f"#{int(red):02x}{int(green):02x}{int(blue):02x}" == colour
        free = not any([x, y] in state[name].tolist() for name in ("location", "target"))
        assert character == letter if free else character.isalpha()
    lucky = make(Lucky, render_mode="ansi", num_agents=1)
    assert re.findall(r"m(.)\x1b\[0m", lucky.render()) == ["."]


def test_few_marks_are_kept():
    """However many colours marks have, a renderer keeps some of them."""
    episode, _ = play(steps=0)
    style = GeneralStyle(episode.config, 60, 48, 0, None)
    for colour in range(600):
        style.frame(scene_of(episode, 0)._replace(look=Look(marks=(games.Mark((0, 1), f"#{colour:06x}"),))))
    assert 0 < len(style._marks) <= 256


def test_marks_in_the_window():
    """The window of a human player shows the marks."""
    env = make(render_mode="human")
    surface = pygame.display.get_surface()
    x, y = env.get_state()["door"].tolist()
    side = 512 // 5
    assert surface.get_at((x * side + 4, y * side + 4))[:3] == (0x8D, 0x6E, 0x63)
    env.close()


def test_an_episode_has_the_marks_of_each_step():
    """Marks are recorded after the reset and after each step, and a film or a page of a recording shows the same."""
    episode, states = play()
    assert [list(map(tuple, marks)) for marks in episode.marks] == [expect(state) for state in states]
    assert {len(marks) for marks in episode.marks} == {1, 2}
    env, rng = RecordEpisode(make()), np.random.default_rng(ACTIONS)
    env.reset(seed=1)
    for _ in range(30):
        env.step({agent: int(rng.integers(6)) for agent in env.agents})
    again = show_episode(env).episode
    assert again.marks == episode.marks
    assert again.until(3).marks == episode.marks[:4]


@pytest.mark.heavy
def test_marks_in_a_film(tmp_path):
    """Each frame of a GIF has the marks of its step, and the caption the rewards so far."""
    from multigrid.cli._films import write_gif

    episode, states = play()
    write_gif(tmp_path / "film.gif", [episode], 4, pixels=160)
    _, frames, _ = read_gif(tmp_path / "film.gif")
    assert len(frames) == len(states)
    for frame, state in zip(frames, states, strict=True):
        for (x, y), colour, _ in expect(state):
            wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
            assert np.abs(frame[y * 32 + 2, x * 32 + 2].astype(int) - wanted).max() < 12
    assert episode.verdict.text == f"ended at step 30: {episode.describe_rewards(30)}"
    assert episode.verdict.solved is None
    assert episode.describe_rewards(0) == "total reward 0"


def test_marks_in_an_svg():
    """A still SVG has the marks of its step; in an animation, a mark disappears with the step that removes it."""
    episode, states = play()
    end = next(step for step, state in enumerate(states) if state["carrier"] >= 0)
    for step in (0, end):
        svg = multigrid.rendering.svg.still_svg(episode, step)
        found = re.findall(r'<g opacity="(\d)"[^>]*><rect [^>]*fill="(#\w+)"/><text [^>]*>(\w)</text></g>', svg)
        assert found == [("1", DOOR, "D"), (str(int(step < end)), KEY, "K")]
    animated = multigrid.rendering.svg.animated_svg(episode)
    (name,) = re.findall(rf'<g opacity="1" class="j" style="animation-name:(k\d+)"><rect [^>]*{KEY}"', animated)
    (frames,) = re.findall(rf"@keyframes {name}{{(.*?)}}}}", animated)
    assert re.findall(r"opacity:(\d)", frames) == ["1", "0", "0"]


def test_a_game_without_targets_shows_none():
    """Where agents have no targets, pictures have none, nobody has arrived, and nothing is said of arrivals."""
    episode, _ = play(Lucky)
    svg = multigrid.rendering.svg.still_svg(episode, 0)
    assert svg.count("rx=") == 0
    assert not episode.settled.any()
    assert multigrid.rendering.replay._list_metrics(episode)[0][0] == "luck"
    assert len(multigrid.rendering.replay._list_metrics(episode)) == 1


@pytest.mark.heavy
def test_marks_in_a_browser(tmp_path):
    """The page draws the marks of each step in their colours, and the panel has what a game has."""
    from playwright.sync_api import sync_playwright

    episode, states = play()
    show_episode(episode).save(tmp_path / "marked.html")
    lucky = play(Lucky)[0]
    show_episode(dataclasses.replace(lucky, rewards=lucky.rewards + np.inf)).save(tmp_path / "lucky.html")
    pixel = """([x, y]) => {
        const canvas = document.getElementById("grid"), {side} = multigrid.lastDrawing();
        return [...canvas.getContext("2d").getImageData((x + .1) * side, (y + .1) * side, 1, 1).data].slice(0, 3);
    }"""
    found = shutil.which("chromium")
    assert found, "this test needs Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--headless", "--no-sandbox"])
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        for step in (0, len(states) - 1):
            page.goto(f"file://{tmp_path}/marked.html#step={step}")
            page.reload()
            page.wait_for_function(f"multigrid.lastDrawing()?.time === {step}")
            wanted = [[*cell, colour, letter] for cell, colour, letter in expect(states[step])]
            assert page.evaluate("multigrid.lastDrawing().marks") == wanted
            for x, y, colour, _ in wanted:
                assert page.evaluate(pixel, [x, y]) == [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert page.inner_text("#facts").startswith("Marked: 3 agents on 5 \u00d7 4 cells")
        assert "visits" in page.inner_text("#metrics")
        assert "rewards so far" in page.inner_text("#now")
        page.goto(f"file://{tmp_path}/lucky.html#step=3&agent=0")
        page.wait_for_function("multigrid.lastDrawing()?.time === 3")
        text = page.inner_text("body")
        assert page.inner_text("#figures").endswith("Infinity")
        assert "target" not in text.lower()
        assert "arriv" not in text.lower()
        assert not errors
        browser.close()


TEAMS = ("#aa0000", "#0000bb")


class Held(KeyAndDoor):
    """Agents of two teams look where they have gone, and hold the key, or in the first step nothing."""

    def colours(scene):
        return [TEAMS[i % 2] for i in range(len(scene.agents))]

    def marks(scene):
        yield games.Mark(scene.door, DOOR, "D")
        for i in range(len(scene.agents)):
            held = (KEY, "k") if scene.visits.sum() % 2 == 0 and i == 1 else ("", "")
            yield games.Badge(i, int(scene.agents[i, 0]) % 4 if i != 2 else None, *held)


def test_teams_have_their_colours_in_all_pictures():
    """What `colours` returns, one for each agent, is the colour of the disc in frames, SVGs and on the page."""
    env = make(Held, num_agents=3, render_mode="rgb_array", render_size=320)
    frame, cells = env.render(), env.get_state()["location"].tolist()
    for i, (x, y) in enumerate(cells):
        disc = frame[64 * y + 14 : 64 * y + 50, 64 * x + 14 : 64 * x + 50].reshape(-1, 3)
        assert (disc == [int(TEAMS[i % 2][k : k + 2], 16) for k in (1, 3, 5)]).all(axis=1).mean() > 0.3
    episode, _ = play(Held)
    svg = multigrid.rendering.svg.still_svg(episode, 3)
    assert re.findall(r'<circle [^>]*fill="(#\w+)"', svg) == [TEAMS[0], TEAMS[1], TEAMS[0]]
    assert multigrid.rendering.replay._data(episode)["palettes"]["light"]["colours"] == [*TEAMS, TEAMS[0]]


def test_badges_show_where_agents_look_and_what_they_hold():
    """A badge is an arrow at the edge of the agent's cell, and in a corner what the agent holds, in all pictures."""
    env = make(Held, num_agents=3, size=7, render_mode="rgb_array", render_size=448)
    state, held = env.get_state(), [int(KEY[k : k + 2], 16) for k in (1, 3, 5)]
    frame, plain = env.render(), make(Marked, num_agents=3, size=7, render_mode="rgb_array", render_size=448).render()
    for i, (x, y) in enumerate(state["location"].tolist()):
        dx, dy = games.DIRECTIONS[x % 4].tolist()
        at = 64 * y + 32 + 27 * dy, 64 * x + 32 + 27 * dx
        assert (frame[at] == 0).all() == (i != 2)
        assert (plain[at] != 0).any()
        assert (frame[64 * y + 42, 64 * x + 44] == held).all() == (i == 1)
    episode, states = play(Held)
    assert [look.badges[1].colour for look in episode.looks] == [
        KEY if state["visits"].sum() % 2 == 0 else "" for state in states
    ]
    svg = multigrid.rendering.svg.still_svg(episode, 0)
    assert svg.count("<polygon") == len({one for look in episode.looks for one in look.badges if one.agent != 2})
    shown = re.findall(
        r'<g opacity="(\d)" stroke-width="1">(<polygon[^>]*/>)?(<rect[^>]*/><text [^>]*>k</text>)?</g>', svg
    )
    assert sum(int(visible) for visible, *_ in shown) == 3
    assert [bool(held) for visible, _, held in shown if visible == "1"] == [False, True, False]
    data = multigrid.rendering.replay._data(episode)
    assert {row[0] for row in data["badges"] if row[1]} == {0, 1}
    assert {row[2:] for row in data["badges"] if row[2]} == {(KEY, "#000000", "k")}


@pytest.mark.parametrize(
    ("badge", "message"),
    [
        (games.Badge(3), "of agent 3; expected an index from 0 to 2"),
        (games.Badge(True), "of agent True; expected an index from 0 to 2"),
        (games.Badge(0, 4), "with the direction 4; expected an index from 0 to 3 of games.DIRECTIONS, or None"),
        (games.Badge(0, 0, "red"), "of the colour 'red'; expected '#rrggbb'"),
        (games.Badge(0, 0, letter="K"), "with the letter 'K' and no colour; expected a colour, too"),
        (games.Badge(0, 0, KEY, "key"), "with the letter 'key'; expected at most two letters"),
    ],
)
def test_errors_of_badges_say_what_to_write(badge, message):
    """A badge of another form is an error that names the game, what came and what was expected."""

    class Wrong(KeyAndDoor):
        def marks(scene):
            yield badge

    with pytest.raises(ValueError, match=rf"Wrong\.marks yields a badge {message}"):
        multigrid.parallel_env(game=Wrong, **SETTINGS[KeyAndDoor], render_mode="human").reset(seed=1)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (["#aa0000"], "returns 1 colours; expected 3, one for each agent"),
        (["#aa0000", "#0000bb", "green"], "returns the colour 'green'; expected '#rrggbb'"),
        (3, "'int' object is not iterable"),
    ],
)
def test_errors_of_colours_say_what_to_write(returned, message):
    """A game's `colours` returns one '#rrggbb' for each agent."""

    class Wrong(KeyAndDoor):
        def colours(scene):
            return returned

    env = make(Wrong, render_mode="ansi")
    with pytest.raises((ValueError, TypeError), match=rf"Wrong\.colours:? {message}"):
        env.render()


class Painted(KeyAndDoor):
    """A picture with three pixels for each cell: the carrier, where agent 0 sees the key, the agents."""

    def picture(scene):
        frame = np.full((scene.height, 3 * scene.width, 3), scene.carrier % 256, np.uint8)
        if "key" in scene.parts:
            x, y = scene.parts["key"][0]
            frame[y, 3 * x] = (255, scene.opens, len(scene.parts["key"]))
        for i, (x, y) in enumerate(scene.agents):
            frame[y, 3 * x + 1] = i
        return frame


def paint(state):
    """Return the picture of a state of `Painted`, 5 x 4 cells."""
    frame = np.full((4, 15, 3), int(state["carrier"]) % 256, np.uint8)
    x, y = state["key"]
    frame[y, 3 * x] = (255, 1, 3)
    for i, (x, y) in enumerate(state["location"]):
        frame[y, 3 * x + 1] = i
    return frame


@pytest.mark.heavy
@pytest.mark.parametrize("observe", [("agent", "key"), "key", ("has_key", "key", "action_mask")])
def test_a_game_draws_its_own_pictures(tmp_path, observe):
    """What `picture` returns is the frame, the window, and each frame of a film; it sees state and observations."""
    from multigrid.cli._films import film_frames

    env = make(Painted, render_mode="rgb_array", observe=observe)
    assert np.array_equal(env.render(), paint(env.get_state()))
    envs = multigrid.vector_env(2, game=Painted, render_mode="rgb_array", observe=observe, **SETTINGS[KeyAndDoor])
    envs.reset(seed=1)
    assert np.array_equal(envs.render()[3], paint(envs.get_state([1], single=True)[0]))
    episode, states = play(Painted, observe=observe)
    frames = list(film_frames(episode))
    assert len(frames) == len(states)
    assert {frame.shape[1] for frame in frames} == {16}
    assert {frame.shape[0] % 2 for frame in frames} == {0}
    large = list(film_frames(episode, pixels=150))
    for frame, state in zip(large, states, strict=True):
        assert np.array_equal(frame[5:40:10, 5::10], paint(state))
    window = make(Painted, render_mode="human", observe=observe)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
    assert np.array_equal(shown, paint(window.get_state()))
    window.close()
    flat = make(Painted, render_mode="rgb_array", observe=observe, flatten=True)
    assert flat.render().shape == (4, 15, 3)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "None"),
        (np.zeros((4, 5), np.uint8), r"an array of uint8 of shape \(4, 5\)"),
        (np.zeros((4, 5, 3)), r"an array of float64 of shape \(4, 5, 3\)"),
        (np.zeros((0, 5, 3), np.uint8), r"an array of uint8 of shape \(0, 5, 3\)"),
    ],
)
def test_errors_of_a_picture_say_what_to_return(returned, message):
    """A picture is uint8 (height, width, 3)."""

    class Wrong(KeyAndDoor):
        def picture(scene):
            return returned

    expected = r"expected an array of uint8 of shape \(height, width, 3\)"
    with pytest.raises(ValueError, match=rf"Wrong\.picture returns {message}; {expected}"):
        make(Wrong, render_mode="rgb_array").render()


def test_a_picture_fits_into_memory():
    """A picture that a frame has no memory for is refused."""

    class Huge(KeyAndDoor):
        def picture(scene):
            return np.broadcast_to(np.uint8(1), (10**6, 10**6, 3))

    with pytest.raises(
        ValueError, match=r"what Huge\.picture returns takes about 3000000000000 bytes; .* smaller picture"
    ):
        make(Huge, render_mode="rgb_array").render()
