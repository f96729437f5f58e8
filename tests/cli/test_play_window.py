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


def eventually(condition, what, process=None):
    """Return the first true value of a condition, which must come while we are patient and a process lives."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process is None or process.poll() is None, process.communicate()
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
        flags = f"-displayfd {number} -noreset -nolisten tcp -screen 0 1000x900x24 -fbdir".split()
        self.server = subprocess.Popen([server, *flags, str(folder)], pass_fds=[number], stderr=subprocess.DEVNULL)
        os.close(number)
        with os.fdopen(ready) as line:
            assert select.select([line], [], [], PATIENCE)[0], "Xvfb does not start"
            self.name = f":{line.readline().strip()}"
        self.screen = folder / "Xvfb_screen0"

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
    opened.server.terminate()
    opened.server.wait(PATIENCE)


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
        window = eventually(lambda: display.do("search", "--name", "^multigrid play$"), "the window", self.process)
        display.do("windowfocus", "--sync", window)

    def press(self, *keys):
        """Press and release keys, one after the other."""
        self.display.do("key", "--delay", "15", *keys)

    def recorded(self, fits, what):
        """Press F until there is a recording that fits, and return it."""

        def recording():
            self.press("f")
            scenario = load(self.file) if self.file.exists() else None
            return scenario if scenario is not None and fits(scenario) else None

        return eventually(recording, what)

    def recorded_steps(self, steps):
        """Press F, and return the recording that then has so many steps."""
        return self.recorded(lambda scenario: len(scenario.actions) == steps, f"a recording of {steps} steps")

    def end(self):
        """Wait for the process; return its exit code and what it complained about."""
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@pytest.fixture
def play(display, tmp_path):
    """Begin games, each ended with the test."""
    games = []
    yield lambda *flags: games.append(Game(display, tmp_path, *flags)) or games[-1]
    for game in games:
        if game.process.poll() is None:
            game.process.kill()
            game.process.communicate()


def shows(display, env):
    """Whether the display's upper left corner is the picture of a world, drawn without any window, to the pixel."""
    drawn = multigrid.MultiGridEnv(env.config, "rgb_array")
    drawn.set_state(env.get_state())
    picture = drawn.render()
    return np.array_equal(display.pixels()[: picture.shape[0], : picture.shape[1]], picture)


def test_the_window_shows_the_documented_picture_and_the_arrows_move_as_the_eye_sees(display, play):
    """One agent on a square empty grid is the documented picture to the bit, and the up arrow moves it up in there."""
    env = multigrid.parallel_env(num_agents=1)
    env.reset(seed=3)
    # Seed 3 begins at [4, 0], in the picture's upper right corner; its target is [0, 1].
    assert env.state().tolist() == [[4, 0, 0, 1]]
    game = play("--seed", "3", "--num-agents", "1")
    eventually(lambda: shows(display, env), "the first picture")
    for key, cell in (("Left", (3, 0)), ("Down", (3, 1)), ("Down", (3, 2)), ("Up", (3, 1)), ("d", (4, 1))):
        game.press(key)
        x, y = (round((at + 0.5) * 512 / 5) for at in cell)
        eventually(lambda x=x, y=y: tuple(display.pixels()[y, x]) == (0, 0, 255), f"the agent at {cell} after {key}")
    for action in (2, 1, 1, 3, 0):
        env.step({"agent_0": action})
    assert shows(display, env)
    game.press("Escape")
    assert game.end() == (0, "")


def test_keys_play_what_a_recording_tells(play):
    """Arrows and WASD steer, R begins the layout again, and F records what was played since."""
    game = play("--size", "6", "4", "--num-agents", "3", "--seed", "3", "--others", "idle")
    game.press("Up", "a", "s", "Right", "x")
    assert game.recorded_steps(5).actions[:, 0].tolist() == [3, 2, 1, 0, 4]
    game.press("w")
    recording = game.recorded_steps(6)
    assert recording.actions.tolist() == [[3, 4, 4], [2, 4, 4], [1, 4, 4], [0, 4, 4], [4, 4, 4], [3, 4, 4]]
    assert len(list(replay(recording))) == 7
    game.press("r", "Tab", "d")
    assert game.recorded_steps(1).actions.tolist() == [[4, 0, 4]]
    game.press("shift+Tab", "shift+Tab", "a")
    again = game.recorded_steps(2)
    assert again.actions.tolist() == [[4, 0, 4], [4, 4, 2]]
    assert again.config == recording.config
    game.press("n", "d")
    game.recorded(lambda scenario: scenario.config != again.config and len(scenario.actions) == 1, "another layout")
    game.press("q")
    assert game.end() == (0, "")


@pytest.mark.long
def test_time_runs_until_it_is_stopped(play):
    """Space lets time run, in which the agent stays while no key is pressed; P stops it."""
    game = play("--size", "9", "5", "--seed", "3", "--others", "idle", "--fps", "60")
    game.press("space")
    game.recorded(lambda scenario: len(scenario.actions) > 2, "steps without a key")
    game.press("p")
    counts = []

    def still(scenario):
        time.sleep(0.1)
        counts.append(len(scenario.actions))
        return counts[-3:] == 3 * counts[-1:] and len(counts) > 2

    assert set(game.recorded(still, "a standstill").actions.ravel().tolist()) == {4}
    game.press("Escape")
    assert game.end() == (0, "")


@pytest.mark.long
def test_without_a_display_it_says_so(tmp_path):
    """Where no window can be opened, one line says so, and the exit code is 1."""
    around = {name: value for name, value in AROUND.items() if "DISPLAY" not in name and name != "SDL_VIDEODRIVER"}
    done = run_python("-m", "multigrid", "play", env={**around, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 1
    assert re.search(r"^multigrid play: there is no display to open a window on\.", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
