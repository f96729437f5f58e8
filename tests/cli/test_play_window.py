"""The game as people play it: a process of its own, a window on a display, and keys that are really pressed."""

import os
import re
import select
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import multigrid
from helpers import AROUND, run_python
from multigrid.scenarios import load, replay

pytestmark = pytest.mark.heavy


# On a cold cache the rules are compiled first.
PATIENCE = 90


def eventually(condition, what):
    """Return the first true value of a condition, which must come within the time of our patience."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    pytest.fail(f"{what} did not come within {PATIENCE} s")


class Display:
    """A display of its own, with what can be seen and done on it."""

    def __init__(self, folder):
        server = shutil.which("Xvfb")
        assert server, "windows are tested on a display in memory: install Debian's xvfb and xdotool"
        ready, number = os.pipe()
        # Without -noreset it would turn the next client away while it tidies up after the last.
        command = [server, "-displayfd", str(number), "-noreset", "-nolisten", "tcp", "-fbdir", str(folder)]
        command += ["-screen", "0", "1000x900x24"]
        self.server = subprocess.Popen(command, pass_fds=[number], stderr=subprocess.DEVNULL)
        os.close(number)
        with os.fdopen(ready) as line:
            assert select.select([line], [], [], PATIENCE)[0], "Xvfb does not start"
            self.name = f":{line.readline().strip()}"
        self.screen = folder / "Xvfb_screen0"

    def end(self):
        """Shut the display."""
        self.server.terminate()
        self.server.wait(PATIENCE)

    def pixels(self):
        """What the whole display shows now: uint8 (height, width, 3), read from its memory, in the form XWD."""
        dump = self.screen.read_bytes()
        header = np.frombuffer(dump, dtype=">u4", count=25)
        size, width, height, line, colours = (int(header[at]) for at in (0, 4, 5, 12, 19))
        rows = np.frombuffer(dump, np.uint8, height * line, size + 12 * colours).reshape(height, line)
        return rows[:, : 4 * width].reshape(height, width, 4)[..., 2::-1]

    def do(self, *words):
        """Run a command of xdotool and return what it prints."""
        command, around = [shutil.which("xdotool"), *words], {**os.environ, "DISPLAY": self.name}
        done = subprocess.run(command, env=around, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        return done.stdout.strip()


@pytest.fixture(scope="module")
def display(tmp_path_factory):
    """A display that is ended with the tests."""
    opened = Display(tmp_path_factory.mktemp("display"))
    yield opened
    opened.end()


class Game:
    """A game in a process of its own, with its window in the display's upper left corner."""

    def __init__(self, display, folder, *flags):
        self.display, self.file = display, folder / "played.json"
        around = {name: value for name, value in AROUND.items() if name not in ("SDL_VIDEODRIVER", "WAYLAND_DISPLAY")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "multigrid", "play", "--record", str(self.file), *flags],
            # In C.UTF-8, SDL gives titles a type that xdotool does not know.
            env={**around, "LC_ALL": "C", "DISPLAY": display.name, "SDL_VIDEO_WINDOW_POS": "0,0"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.window = eventually(self._found, "the window")
        display.do("windowfocus", "--sync", self.window)

    def _found(self):
        assert self.process.poll() is None, self.process.communicate()
        return self.display.do("search", "--name", "^multigrid play$")

    def press(self, *keys):
        """Press and release keys, one after the other."""
        self.display.do("key", "--delay", "15", *keys)

    def recorded(self, steps):
        """Press F, and return the recording that then has so many steps."""
        self.press("f")

        def fits():
            scenario = load(self.file) if self.file.exists() else None
            return scenario if scenario is not None and len(scenario.actions) == steps else None

        return eventually(fits, f"a recording of {steps} steps")

    def end(self):
        """Wait for the process; return its exit code and what it complained about."""
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@pytest.fixture
def play(display, tmp_path):
    """Begin games, each ended with the test."""
    games = []

    def begin(*flags):
        games.append(Game(display, tmp_path, *flags))
        return games[-1]

    yield begin
    for game in games:
        if game.process.poll() is None:
            game.process.kill()
            game.process.communicate()


def picture_of(env):
    """What a picture of a world's present state looks like, drawn without any window."""
    shown = multigrid.MultiGridEnv(env.config, "rgb_array")
    shown.set_state(env.get_state())
    return shown.render()


def shows(display, picture):
    """Whether the display's upper left corner is this picture, to the pixel."""
    height, width, _ = picture.shape
    return np.array_equal(display.pixels()[:height, :width], picture)


ONE = ("--seed", "3", "--num-agents", "1")


def test_the_window_shows_the_documented_picture_and_the_arrows_move_as_the_eye_sees(display, play):
    """One agent on a square empty grid is the documented picture to the bit, and the up arrow moves it up in there."""
    env = multigrid.parallel_env(num_agents=1)
    env.reset(seed=3)
    # Seed 3 begins at [4, 0], in the picture's upper right corner; its target is [0, 1].
    assert env.state().tolist() == [[4, 0, 0, 1]]
    game = play(*ONE)
    eventually(lambda: shows(display, picture_of(env)), "the first picture")
    blue = (0, 0, 255)
    for key, cell in (("Left", (3, 0)), ("Down", (3, 1)), ("Down", (3, 2)), ("Up", (3, 1)), ("d", (4, 1))):
        game.press(key)
        x, y = (round((at + 0.5) * 512 / 5) for at in cell)
        eventually(lambda x=x, y=y: tuple(display.pixels()[y, x]) == blue, f"the agent at {cell} after {key}")
    for action in (2, 1, 1, 3, 0):
        env.step({"agent_0": action})
    assert shows(display, picture_of(env))
    game.press("Escape")
    assert game.end() == (0, "")


def test_keys_play_what_a_recording_tells(play):
    """Arrows and WASD steer, Backspace takes back, R begins the layout again, and F records what is left of it."""
    game = play("--size", "6", "4", "--num-agents", "3", "--seed", "3", "--others", "idle")
    game.press("Up", "a", "s", "Right", "x")
    assert game.recorded(5).actions[:, 0].tolist() == [3, 2, 1, 0, 4]
    game.press("BackSpace", "BackSpace", "w")
    recording = game.recorded(4)
    assert recording.actions.tolist() == [[3, 4, 4], [2, 4, 4], [1, 4, 4], [3, 4, 4]]
    assert len(list(replay(recording))) == 5
    game.press("r", "Tab", "d")
    assert game.recorded(1).actions.tolist() == [[4, 0, 4]]
    game.press("shift+Tab", "shift+Tab", "a")
    again = game.recorded(2)
    assert again.actions.tolist() == [[4, 0, 4], [4, 4, 2]]
    assert again.config == recording.config
    game.press("n", "d")
    eventually(lambda: game.recorded(1).config != again.config, "another layout")
    game.press("q")
    assert game.end() == (0, "")


def test_time_runs_until_it_is_stopped(play):
    """Space lets time run, in which the agent stays while no key is pressed; P stops it."""
    game = play("--size", "9", "5", "--seed", "3", "--others", "idle", "--fps", "60")
    game.press("space")

    def several():
        game.press("f")
        return game.file.exists() and len(load(game.file).actions) > 2

    eventually(several, "steps without a key")
    game.press("p")
    counts = []

    def still():
        several()
        time.sleep(0.1)
        counts.append(len(load(game.file).actions))
        return counts[-3:] == 3 * counts[-1:] and len(counts) > 2

    eventually(still, "a standstill")
    played = load(game.file).actions
    assert set(played.ravel().tolist()) == {4}
    game.press("Escape")
    assert game.end() == (0, "")


def test_without_a_display_it_says_so(tmp_path):
    """Where no window can be opened, one line says so, and the exit code is 1."""
    around = {name: value for name, value in AROUND.items() if "DISPLAY" not in name and name != "SDL_VIDEODRIVER"}
    done = run_python("-m", "multigrid", "play", env={**around, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 1
    assert re.search(r"^multigrid play: there is no display to open a window on\.", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
