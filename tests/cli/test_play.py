"""The game for one player, without a window: what keys do, what is shown, and what is recorded."""

import re

import numpy as np
import pygame
import pytest

from multigrid import Game, GridConfig, Outcome, games, parallel_env
from multigrid.actions import Action
from multigrid.cli import main
from multigrid.cli import play as play_module
from multigrid.cli._play_screen import Screen, figures, headline, keys
from multigrid.cli._play_session import Session, moves_by_sight
from multigrid.cli.play import KeyboardController, open_window
from multigrid.maps import RandomWalls
from multigrid.policies import write_pool
from multigrid.scenarios import RecordEpisode, load, replay, save

# Agent a goes right and down to its target, b is next to its own; the map is higher than wide.
PAIR = "a..\n.#B\n..b\n..A"


def pair(**settings):
    """A world of two agents and one wall."""
    return GridConfig(walls=PAIR, **settings)


def cells(session):
    """Where the agents are."""
    return session.scene().agents.tolist()


def press(player, *keys, mod=0):
    """Press keys and release them."""
    for key in keys:
        for kind in (pygame.KEYDOWN, pygame.KEYUP):
            player.handle(pygame.event.Event(kind, key=key, mod=mod))


def player_of(config, save=str, **settings):
    """Who plays a world at the keyboard."""
    return KeyboardController(Session(config, **settings), save)


def pixels_of(session, size, *, running=False):
    """What the screen shows of a game in a window of a size, on a ground of magenta: (width, height, 3)."""
    surface = pygame.Surface(size)
    surface.fill((255, 0, 255))
    Screen().draw(surface, session, running=running)
    return pygame.surfarray.array3d(surface)


def test_the_idle_stay():
    """Idle agents stay where they are, for which the world gets the action to stay; nothing else of it changes."""
    session = Session(pair(collisions="soft", max_cycles=9), others="idle")
    session.play(Action.RIGHT)
    assert cells(session) == [[1, 0], [2, 2]]
    assert (session.config.allow_stay, session.config.collisions, session.config.max_cycles) == (True, "soft", 9)
    assert not Session(pair(), others="random").config.allow_stay
    assert not Session(GridConfig(walls="a.A"), others="idle").config.allow_stay


def test_the_idle_of_a_game_play_its_idle_action(monkeypatch):
    """In a game with actions of its own alone, they play the one that it names, and without one they are refused."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile the games
    session = Session(games.config("Overcooked-cramped_room-v0"), others="idle")
    session.play(2)
    assert session.state["direction"].tolist() == [2, 0]

    class Restless(Game):
        moves = False
        actions = ("ring", "jump")

        def step(w, s, e):  # noqa: N805 - functions of games have no `self`
            w.rewards[e] = 0

    with pytest.raises(
        ValueError, match="others is 'idle', but Restless names no action as its `idle`; expected 'random'"
    ):
        Session(GridConfig(game=Restless, num_agents=2), others="idle")
    assert [key for key, _ in keys(Session(GridConfig(game=Restless, num_agents=1), others="random"))[:3]] == [
        "1",
        "2",
        "Space",
    ]


def test_the_others_follow_the_shortest_path():
    """The agent that nobody steers goes to its target by itself, and then is parked."""
    session = Session(pair(), others="shortest-path")
    session.play(Action.RIGHT)
    assert (cells(session), session.totals.tolist()) == ([[1, 0], [2, 1]], [0, 1])
    session.choose(1)
    session.play(Action.DOWN)
    assert session.steered == 1
    assert (session.state["outcomes"][1], session.state["rewards"][1]) == (Outcome.PARKED, 0)
    assert session.totals.tolist() == [0, 1]


@pytest.mark.parametrize(
    "settings", [{"size": (6, 4)}, {"delays": 0.3}, {"walls": RandomWalls(size=(9, 7))}, {"on_target": "restart"}]
)
def test_layouts_are_those_of_the_environment(settings):
    """The layouts of a seed are those that an environment draws one after the other, also on drawn maps."""
    config = GridConfig(num_agents=3, **settings)
    session, env = Session(config, seed=7), parallel_env(config)
    for seed in (7, None, None):
        env.reset(seed=seed)
        assert np.hstack([session.scene().agents, session.scene().targets]).tolist() == env.state().tolist()
        begun = session.state
        session.play(Action.RIGHT)
        session.restart()
        assert session.state.keys() == begun.keys()
        assert all(np.array_equal(session.state[name], value) for name, value in begun.items())
        session.next_layout()


@pytest.mark.parametrize("on_target", ["park", "leave", "restart"])
def test_recordings_are_what_was_played(on_target):
    """A recording is what was played since the last restart, from the reset on, and plays again to the bit."""
    session = Session(GridConfig(size=(4, 3), num_agents=3, on_target=on_target), seed=5, others="shortest-path")
    kept = [0, 1, 3, 2]
    session.play(Action.UP)
    session.restart()
    for action in kept:
        session.play(Action(action))
    recording = session.recording()
    assert recording.actions[:, 0].tolist() == kept
    env = recording.env()
    assert len(list(replay(recording, env))) == 5
    assert env.get_state()["location"].tolist() == cells(session)
    assert recording.name == "seed 5"


def test_the_others_may_be_those_of_a_pool(tmp_path, monkeypatch):
    """In each layout the others have the next policy of a pool; on the command line, the world is that of the pool."""
    config = GridConfig(size=(5, 4), num_agents=2, observe=("offset", "view"), flatten=True)
    width = parallel_env(config).observation_space("agent_0").shape[0]
    layers = {name: [(np.zeros((width, 4)), 90.0 * np.eye(4)[action])] for name, action in (("up", 1), ("left", 2))}
    write_pool(tmp_path, layers, config)
    session, played = Session(GridConfig(size=(5, 4), num_agents=2), seed=3, others=str(tmp_path)), []
    for follow in (session.restart, session.next_layout, session.next_layout):
        session.play(Action.RIGHT)
        played.append(session.recording().actions[:, 1].tolist())
        follow()
    assert played == [[1], [1], [2]]
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile the game
    asked = []
    monkeypatch.setattr(play_module, "show", lambda player, *_: asked.append(player.session.config))
    assert main(["play", "--others", str(tmp_path), "--max-cycles", "7"]) == 0
    assert (asked[0].size, asked[0].observe, asked[0].max_cycles) == ((5, 4), ("offset", "view"), 7)
    foraging = games.config("Foraging-6x5-2p-1f-v3")
    with pytest.raises(ValueError, match="the pool is of path finding, and a game is given; leave the game out"):
        Session(foraging, others=str(tmp_path))
    write_pool(tmp_path, {"load": [(np.zeros((9, 6)), np.zeros(6))]}, foraging)
    with pytest.raises(ValueError, match="trained in Foraging, and the world is of path finding; expected one game"):
        Session(config, others=str(tmp_path))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--others", "idel"], r"--others is 'idel' \(did you mean idle\?\); expected idle, random, shortest-path, "),
        (["--others", "lacam"], "--others is 'lacam'; expected idle, .* or the folder of a training run or of a pool"),
        (["--others", "pibt", "--game", "Foraging-6x5-2p-1f-v3"], "--others is 'pibt'; expected idle, random, or the"),
        (["--others", "."], "--others is '.'; expected idle, .* or the folder of a training run or of a pool"),
    ],
)
def test_what_the_others_cannot_be(flags, said, capsys):
    """A name that is none of the policies, or a folder without one, is an error that names what is expected."""
    assert main(["play", *flags]) == 2
    assert re.search(said, " ".join(capsys.readouterr().err.split()))


OTHERS = [
    ("random", "park"),
    *((name, "restart") for name in ("random", "pibt", "pretrained-messages")),
    *(pytest.param(name, "restart", marks=pytest.mark.long) for name in ("pretrained", "pretrained-shield")),
]


@pytest.mark.parametrize(("others", "on_target"), OTHERS)
def test_a_restart_is_the_same_game(others, on_target):
    """The same keys after a restart lead to the same states, the others' chance, memory and new targets alike."""
    session = Session(GridConfig(size=(4, 3), num_agents=6, on_target=on_target), seed=5, others=others)
    # For long, the player is in the way: the others wait, and become restless.
    keys = [Action(key) for key in (0, 1, 2, 3, 0, 0, 1, 2, *[2] * 16)]

    def state():
        return cells(session), session.scene().targets.tolist(), session.totals.tolist(), session.steps

    def play(keys):
        return [state() for key in keys if session.play(key)], session.recording().actions.tolist()

    states, played = play(keys)
    assert len({tuple(row[1:]) for row in played}) > 4
    session.restart()
    assert play(keys) == (states, played)
    if others in ("pibt", "pretrained-shield"):
        with pytest.raises(ValueError, match="collisions is 'priority'"):
            Session(pair(collisions="priority"), others=others)


def test_an_agent_that_leaves_hands_over():
    """Who steers an agent that leaves goes on with the next one; Tab passes over those that have left."""
    session = Session(pair(on_target="leave"), others="idle")
    session.choose(1)
    session.play(moves_by_sight()["up"])
    assert session.present.tolist() == [True, False]
    assert (session.steered, session.note) == (0, "Agent 1 has arrived and left; agent 0 is yours now")
    session.choose(-1)
    assert session.steered == 0


def test_tab_goes_round():
    """Tab takes the next agent, Shift+Tab the one before, round and round."""
    player, chosen = player_of(GridConfig(num_agents=3)), []
    for mod in (0, 0, 0, pygame.KMOD_LSHIFT, pygame.KMOD_RSHIFT):
        press(player, pygame.K_TAB, mod=mod)
        chosen.append(player.session.steered)
    assert chosen == [1, 2, 0, 2, 1]


def test_time_waits_for_the_first_key_where_nobody_can_stay():
    """Running time repeats the last action where there is none to stay; the last key of a tick counts."""
    player = player_of(GridConfig(walls="a....\n.....\n....A"))
    press(player, pygame.K_SPACE)
    player.tick()
    assert player.session.steps == 0
    press(player, pygame.K_s, pygame.K_RIGHT)
    for _ in range(3):
        player.tick()
    assert cells(player.session) == [[3, 0]]
    press(player, pygame.K_p)
    player.tick()
    assert player.session.steps == 3


def test_a_held_key_saves_once():
    """A key that is held moves again and again, but saves, pauses and restarts only once."""
    saved = []
    player = player_of(GridConfig(walls="a....A"), lambda: saved.append(1) or "saved", others="idle")
    for key in (pygame.K_f, pygame.K_f, pygame.K_RIGHT, pygame.K_RIGHT):
        player.handle(pygame.event.Event(pygame.KEYDOWN, key=key, mod=0))
    assert (saved, player.session.steps) == ([1], 2)


@pytest.mark.parametrize("interruption", [pygame.K_r, pygame.K_SPACE, pygame.K_TAB])
def test_what_was_asked_for_is_forgotten(interruption):
    """A key that time has not come to yet is not played after a restart, a pause, or for another agent."""
    player = player_of(pair(allow_stay=True), others="idle", seed=1)
    press(player, pygame.K_RIGHT, pygame.K_SPACE, pygame.K_RIGHT, interruption)
    before = cells(player.session)
    player.running = True
    player.tick()
    assert cells(player.session) == before


@pytest.mark.parametrize("size", [(20, 2), (40, 3), (12, 5), (2, 20)])
def test_a_new_window_has_room_for_the_keys(size, monkeypatch):
    """However flat a world is, its window opens with the help below it."""
    session, drawn = Session(GridConfig(size=size), seed=2), []
    for text in ("save", ""):
        # Where the help is drawn, it matters what it says.
        monkeypatch.setattr("multigrid.cli._play_screen.keys", lambda _, text=text: [("F", text)])
        drawn.append(pixels_of(session, Screen.first_size(session)))
    assert not np.array_equal(*drawn)


def test_the_panel_shows_the_figures():
    """Beside the picture stand agent, step, last and total reward, distance and the outcome of the last move."""
    session = Session(pair(max_cycles=3), others="idle")
    up, left = ["1 of 2", "1 / 3", "moved", "1", "1", "0"], ["0 of 2", "2 / 3", "edge", "0", "0", "5"]
    for way, shown in (("up", up), ("left", left)):
        session.choose(1)
        session.play(moves_by_sight()[way])
        assert [value for _, value in figures(session)] == shown
    session.play(moves_by_sight()["left"])
    kind, first, second, _ = headline(session, running=False)
    assert (kind, first) == ("out of time", "Out of time after 3 steps: 1 of 2 arrived")
    assert second == "4 steps until arrival, of all agents together"
    assert not session.play(Action.RIGHT)
    assert session.steps == 3


def test_the_end_is_announced():
    """When the last agent has arrived, the end is announced, in words, or with what became of a recording."""
    player = player_of(GridConfig(walls="a..A\n...."), lambda: "Not saved: disk full")
    press(player, *[pygame.K_RIGHT] * 4)
    kind, first, second, keys = headline(player.session, running=False)
    assert (kind, first, second) == ("arrived", "Solved in 3 steps", "The disc is on the square")
    assert "N: another layout" in keys
    press(player, pygame.K_f)
    assert headline(player.session, running=False)[1:3] == (first, "Not saved: disk full")
    player.session.restart()
    assert headline(player.session, running=False)[0] == "going on"


def test_agents_that_take_no_part_are_not_waited_for():
    """Where their number is drawn, an episode is solved, and its texts count, by the agents that it has."""
    config = GridConfig(size=(5, 3), num_agents=(1, 4), collisions="none", allow_stay=True, max_cycles=12)
    session = Session(config, seed=1)
    assert dict(figures(session))["agent"] == "0 of 2"
    while not session.over:
        (dx, dy), *_ = session.state["target"] - session.state["location"]
        session.play(moves_by_sight()["right" if dx > 0 else "left" if dx else "down" if dy > 0 else "up"])
    kind, first, *_ = headline(session, running=False)
    assert (kind, first) == ("arrived", f"Solved in {session.steps} steps: both agents arrived")


@pytest.mark.parametrize(
    ("settings", "goal"),
    [
        ({"num_agents": 1}, "Goal: bring the disc to the square"),
        ({"num_agents": 3}, "Goal: every agent on the square with its number"),
        ({"on_target": "stay"}, "Goal: every agent on the square with its number, all at the same time"),
        ({"on_target": "restart"}, "Goal: reach targets as often as you can; each time there is a new one"),
    ],
)
def test_the_goal_is_said_before_any_move(settings, goal):
    """A new game says its goal, and no outcome of a move that nobody has made."""
    session = Session(GridConfig(size=(6, 4), **settings), seed=1)
    assert headline(session, running=False)[:3] == ("going on", "Your move", goal)
    assert ("last move", "none yet") in figures(session)


def test_large_worlds_open_in_large_windows():
    """Cells of 64 agents have 24 pixels, in which numbers can be read, where the desktop has the room."""
    width, height = Screen.first_size(Session(GridConfig(size=(41, 31), num_agents=64), seed=0))
    assert width == 41 * 24
    assert 31 * 24 + 100 < height < 31 * 24 + 250
    with open_window((5000, 4000)) as display:
        shown, desktop = display.get_surface().get_size(), display.get_desktop_sizes()[0]
        assert all(side <= max(most, 640) for side, most in zip(shown, desktop, strict=True))


def test_keys_held_while_the_program_was_busy_move_once():
    """Repeats that wait together with the release are left out; those of a key still held and new presses are not."""
    player, places = player_of(GridConfig(walls=".........\na.......A")), []
    down, up = (pygame.event.Event(kind, key=pygame.K_RIGHT, mod=0) for kind in (pygame.KEYDOWN, pygame.KEYUP))
    for batch in ([down], [down, down, up], [down, up, down, up], [down, down, up], [down], [down], [up]):
        player.handle_all(batch)
        places.append(cells(player.session)[0][0])
    assert places == [1, 1, 3, 4, 5, 6, 6]


def test_a_won_game_is_framed_in_green():
    """A solved world has a green frame, at most a tenth of a cell wide, and one that goes on has none."""
    session, greens = Session(GridConfig(walls="a.A\n#..")), []
    for _ in range(3):
        greens.append(int((pixels_of(session, (600, 700))[:, :300] == (20, 119, 74)).all(axis=2).sum()))
        session.play(Action.RIGHT)
    assert greens[:2] == [0, 0]
    assert greens[2] > 2000
    session = Session(GridConfig(walls="a.A" + "." * 27 + "\n" + "." * 30))
    for _ in range(2):
        session.play(Action.RIGHT)
    green = np.flatnonzero((pixels_of(session, (900, 500))[450] == (20, 119, 74)).all(axis=1))
    # The upper edge of the frame is the first run of green pixels, in cells of 30.
    assert 2 <= np.flatnonzero(np.diff(green) > 1)[0] + 1 <= 3


def test_the_picture_is_marked_at_the_chosen_agent_only():
    """The corners of the chosen agent's cell, and of its target's, are dark; those of other cells are not."""
    session, dark = Session(GridConfig(walls="a..B\n....\nA..b\n....\n....", allow_stay=True)), []
    for session.steered in (0, 1):
        pixels = pixels_of(session, (410, 650))
        picture = np.flatnonzero((pixels[:, 5] != (236, 238, 242)).any(axis=1))
        side = (picture[-1] - picture[0] + 1) / 4
        top = np.flatnonzero((pixels[picture[0] + 5] != (236, 238, 242)).any(axis=1))[0]
        # A little inside the upper left corner of the cells of a, B, A, b, and of a free one.
        corners = [(0.05, 0.05), (3.05, 0.05), (0.05, 2.05), (3.05, 2.05), (1.05, 3.05)]
        places = [(picture[0] + round(x * side), top + round(y * side)) for x, y in corners]
        dark.append([bool((pixels[place] < 60).all()) for place in places])
    assert dark == [[True, False, True, False, False], [False, True, False, True, False]]


@pytest.mark.parametrize("size", [(1, 1), (40, 30), (160, 140), (300, 280), (2000, 200), (200, 1500)])
def test_every_size_is_drawn(size):
    """However small or narrow a window becomes, it is drawn to its last corner."""
    pixels = pixels_of(Session(GridConfig(size=(12, 7), num_agents=4), seed=2), size, running=True)
    assert not (pixels == (255, 0, 255)).all(axis=2).any()


@pytest.mark.parametrize("size", [(900, 852), (700, 1100)])
def test_the_picture_is_as_large_as_fits(size):
    """In a larger window the picture is a larger square in the middle, beside the ground's colour."""
    pixels = pixels_of(Session(GridConfig(num_agents=1), seed=3), size)
    white = np.flatnonzero((pixels[:, :400] == 255).all(axis=2).any(axis=1))
    assert white[0] + white[-1] == pytest.approx(size[0] - 1, abs=4)
    assert white[-1] - white[0] > 600
    assert tuple(pixels[10, 100]) != (255, 255, 255)


def test_a_closed_window_ends_the_game_and_leaves_the_recording(home, monkeypatch):
    """The window can be resized; closing it ends the game, and --record has the episode so far."""
    drawn, draw = [], Screen.draw

    def draw_and_close(self, surface, session, *, running):
        drawn.append(surface.get_flags() & pygame.RESIZABLE)
        draw(self, surface, session, running=running)
        kinds = [(pygame.KEYDOWN, {"key": pygame.K_LEFT, "mod": 0}), (pygame.QUIT, {})]
        pygame.event.post(pygame.event.Event(*kinds[len(drawn) - 1]))

    monkeypatch.setattr(Screen, "draw", draw_and_close)
    assert main(["play", "--seed", "3", "--num-agents", "1", "--record", "played.json"]) == 0
    assert len(drawn) == 2
    assert all(drawn)
    assert load("played.json").actions.tolist() == [[2]]
    assert [path.name for path in home.iterdir()] == ["played.json"]


@pytest.fixture
def headless(monkeypatch):
    """Play without a display: each game is closed as soon as the given keys are pressed."""
    keys = []

    def shown(player, screen, ticks_per_second):
        press(player, *keys)
        screen.draw(pygame.display.get_surface(), player.session, running=player.running)

    monkeypatch.setattr(play_module, "show", shown)
    return keys


def test_scenarios_are_played_from_their_start(headless, tmp_path):
    """A scenario gives its own layout and rules; what it has recorded is not played."""
    recorder = RecordEpisode(parallel_env(pair(collisions="soft")))
    recorder.reset()
    recorder.step({"agent_0": 0, "agent_1": 3})
    save(recorder.scenario("pair"), tmp_path / "pair.json")
    headless += [pygame.K_DOWN]
    assert main(["play", "--scenario", "pair.json", "--record", "out.json"]) == 0
    played = load("out.json")
    assert (played.name, played.config) == ("pair", pair(collisions="soft"))
    assert played.actions[:, 0].tolist() == [1]


def test_recordings_are_there_as_a_whole_or_not_at_all(headless, tmp_path, monkeypatch):
    """F without --record takes a new name each time; a write that fails leaves what was there, and is reported."""
    headless += [pygame.K_d, pygame.K_f, pygame.K_d, pygame.K_f]
    assert main(["play", "--seed", "3"]) == 0
    assert sorted(len(load(path).actions) for path in tmp_path.iterdir()) == [1, 2]
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def failing(self, content):
        raise OSError("no room")

    pygame.quit()  # The fonts of the game that came before are loaded anew.
    monkeypatch.setattr("pathlib.Path.write_bytes", failing)
    assert main(["play", "--seed", "3"]) == 0
    assert main(["play", "--seed", "3", "--record", next(iter(kept)).name]) == 2
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == kept
