"""The window of human mode: several envs in one, resized, clicked away, closed and opened again."""

import time
import warnings

import numpy as np
import pygame
import pytest

from helpers import AROUND, run_python
from multigrid import GridWorldEnv, MultiGridEnv, parallel_env

pytestmark = pytest.mark.heavy

WALLED = """
    .a..#.B
    ##...A.
    .....#.
    ..b....
"""
BARS = (48, 48, 54)
# What the window system says when somebody closes the window.
QUIT = pygame.event.Event(pygame.QUIT)


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    """Begin and end without a window, on a screen that nobody sees, in no hurry but for the tests about speed."""
    for env in (MultiGridEnv, GridWorldEnv):
        monkeypatch.setitem(env.metadata, "render_fps", 10_000)
    pygame.display.quit()
    yield
    pygame.display.quit()


def human(**settings):
    """An env with a window, and one of the same world that draws arrays; both begun."""
    made = [parallel_env(walls=WALLED, render_mode=mode, **settings) for mode in ("human", "rgb_array")]
    for one in made:
        one.reset()
    return made


def tiny(**settings):
    """Another env with a window, of a square world, begun."""
    made = parallel_env(size=3, num_agents=2, render_mode="human", **settings)
    made.reset(seed=0)
    return made


def step(*envs, action=3):
    """Play a step; up, nobody gets anywhere at the rim of the grid, nor right against a wall."""
    for env in envs:
        env.step(dict.fromkeys(env.agents, action))


def shown():
    """What is in the window, rows first."""
    return pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)


def test_every_frame_is_shown_at_its_size():
    """The window has the size of a frame and shows each of them, trails and all."""
    window, arrays = human(render_size=300, render_trails=2)
    for _ in range(3):
        np.testing.assert_array_equal(shown(), arrays.render())
        assert shown().shape == (172, 300, 3)
        assert pygame.display.get_surface().get_flags() & pygame.RESIZABLE
        step(window, arrays, action=0)
    # Keys that were pressed are left to a program that plays by hand; the mouse's ways do not pile up.
    pygame.event.clear()
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_LEFT))
    pygame.event.post(pygame.event.Event(pygame.MOUSEMOTION, pos=(1, 1), rel=(1, 1), buttons=(0, 0, 0)))
    step(window)
    assert [event.key for event in pygame.event.get(pygame.KEYDOWN)] == [pygame.K_LEFT]
    assert pygame.event.get(pygame.MOUSEMOTION) == []
    window.close()


def test_a_window_of_another_shape_shows_the_whole_picture_between_bars():
    """After a resize the picture is as large as fits, in the middle, its shape kept; back at its size, it is exact."""
    window, arrays = human()
    for size in ((300, 1), (1, 300), (1, 1)):
        pygame.display.set_mode(size, pygame.RESIZABLE)
        step(window, arrays)
    for size, (left, top), (width, height) in (((512, 600), (0, 153), (512, 294)), ((1400, 400), (352, 0), (696, 400))):
        pygame.display.set_mode(size, pygame.RESIZABLE)
        step(window, arrays)
        picture, expected = shown(), arrays.render()
        assert picture.shape == (size[1], size[0], 3)
        outside = np.ones(picture.shape[:2], bool)
        outside[top : top + height, left : left + width] = False
        assert (picture[outside] == BARS).all()
        for x, y in ((0, 1), (1, 0), (2, 3), (3, 2), (4, 0), (5, 1), (6, 0)):
            down, right = (y + 0.5) / 4, (x + 0.25) / 7
            there = expected[int(down * expected.shape[0]), int(right * expected.shape[1])]
            assert picture[top + int(down * height), left + int(right * width)].tolist() == there.tolist()
    pygame.display.set_mode((512, 294), pygame.RESIZABLE)
    step(window, arrays)
    np.testing.assert_array_equal(shown(), arrays.render())
    window.close()


@pytest.mark.parametrize("made", [GridWorldEnv, parallel_env])
def test_a_window_that_is_clicked_away_stops_nothing(made, monkeypatch):
    """One warning; then the game goes on as without a window, not waiting for it, until close() brings it back."""
    window, plain = made(render_mode="human"), made()

    def step_of(one):
        return one.step(2 if made is GridWorldEnv else dict.fromkeys(one.agents, 2))

    for one in (window, plain):
        one.reset(seed=3)
        step_of(one)
        one.reset()  # what a first call compiles is not timed below
    pygame.event.post(QUIT)
    with pytest.warns(UserWarning, match="the window was closed; the game goes on without it") as warned:
        np.testing.assert_equal(step_of(window), step_of(plain))
    assert len(warned) == 1
    monkeypatch.setitem(window.metadata, "render_fps", 1)
    start = time.monotonic()
    for _ in range(5):
        np.testing.assert_equal(step_of(window), step_of(plain))
        assert window.render() is None
    np.testing.assert_equal(window.reset(), plain.reset())
    assert time.monotonic() - start < 2
    assert not pygame.display.get_init()
    monkeypatch.setitem(window.metadata, "render_fps", 10_000)
    window.close()
    np.testing.assert_equal(step_of(window), step_of(plain))
    assert pygame.display.get_init()
    window.close()
    assert not pygame.display.get_init()


def test_clicking_away_ends_the_show_for_everyone_in_the_window():
    """There is one window: who clicks it away is asked by no other env to do so again, but a new env opens one."""
    first, second = human()[0], human()[0]
    pygame.event.post(QUIT)
    with pytest.warns(UserWarning, match="the window was closed"):
        step(second)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(first, second)
        assert not pygame.display.get_init()
        third = human()[0]
        assert pygame.display.get_init()
        step(first)
        third.close()
    assert not pygame.display.get_init()


def test_closing_one_env_leaves_the_window_to_the_others():
    """Envs take turns in pygame's one window, which keeps its size, and shuts when the last of them has closed."""
    first, arrays = human()
    second = tiny()
    assert shown().shape == (294, 512, 3)
    assert {tuple(shown()[150, x].tolist()) for x in (50, 460)} == {BARS}
    second.close()
    second.close()
    assert pygame.display.get_init()
    step(first, arrays)
    np.testing.assert_array_equal(shown(), arrays.render())
    second.reset()
    first.close()
    assert pygame.display.get_init()
    second.close()
    assert not pygame.display.get_init()
    second.reset()
    assert shown().shape == (512, 512, 3)
    second.close()
    # What an env leaves behind that is dropped is taken over by the next one, at that one's size.
    dropped = human()[0]
    del dropped
    window = tiny(render_size=90)
    assert shown().shape == (90, 90, 3)
    window.close()
    assert not pygame.display.get_init()


def test_a_window_that_somebody_else_shut_opens_again(monkeypatch):
    """pygame.display.quit() and pygame.quit(), by whomever, cost an env its window; its clock begins anew."""
    window, arrays = human()
    ends = pygame.display.quit, pygame.quit, lambda: monkeypatch.setattr(pygame.time, "get_ticks", lambda: -1)
    for end in ends:
        clock = window._window.clock
        end()
        step(window, arrays)
        np.testing.assert_array_equal(shown(), arrays.render())
        # An older clock would wait for as long as pygame had run.
        assert window._window.clock is not clock
    window.close()


def test_frames_keep_their_pace(monkeypatch):
    """No more frames a second are shown than `render_fps` says."""
    monkeypatch.setitem(MultiGridEnv.metadata, "render_fps", 20)
    window, _ = human()
    start = time.monotonic()
    for _ in range(6):
        step(window)
    assert 0.28 < time.monotonic() - start < 2
    window.close()


@pytest.mark.parametrize("driver", [None, "offscreen"])
def test_without_a_display_a_window_says_so(driver, tmp_path):
    """One warning names "rgb_array", and nothing waits; a driver that the user has chosen is nobody else's concern."""
    code = """
import time
import multigrid
for make in multigrid.GridWorldEnv, lambda mode: multigrid.parallel_env(render_mode=mode):
    env = make("human")
    env.reset(seed=0)
    begin = time.monotonic()
    for _ in range(3):
        env.step(0 if isinstance(env, multigrid.GridWorldEnv) else dict.fromkeys(env.agents, 0))
    print(time.monotonic() - begin > 0.5)
    env.close()
"""
    around = {name: value for name, value in AROUND.items() if "DISPLAY" not in name and name != "SDL_VIDEODRIVER"}
    chosen = {} if driver is None else {"SDL_VIDEODRIVER": driver}
    done = run_python("-W", "always", "-c", code, env={**around, "XDG_RUNTIME_DIR": str(tmp_path), **chosen})
    assert done.stdout.split() == 2 * [str(driver is not None)]
    said = 'there is no display, so render_mode="human" shows nothing; render_mode="rgb_array" returns frames'
    assert (done.stderr.count(said), done.stderr.count("Warn")) == ((2, 2) if driver is None else (0, 0))
