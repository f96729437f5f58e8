"""Frames: the documented one to the bit, the general one pixel by pixel at chosen cells, and maps as text."""

import copy
import itertools
import pickle
import sys
from importlib import metadata

import numpy as np
import pygame
import pytest
from gymnasium.error import DependencyNotInstalled

from benchmarks.documented import DocumentedGridWorld
from multigrid import GridConfig, GridWorldEnv, env, parallel_env
from multigrid._palette import colours, contrast, legible, mix, tint
from multigrid.maps._text import parse_map
from multigrid.rendering._episode import scene_of
from multigrid.rendering._frame import Painter, check_render_options
from multigrid.rendering._scene import Scene
from multigrid.rendering._text import draw_text, text_width
from multigrid.rendering.replay import FLOORS
from multigrid.scenarios.tracing import EpisodeTrace

WHITE, WALL = (255, 255, 255), (70, 70, 78)
# Two agents and their targets on a map that looks different from every side.
WALLED = """
    .a..#.B
    ##...A.
    .....#.
    ..b....
"""


def documented(pixels, cells, agent, target):
    """Return the frame of the documented code, of any size."""
    game = DocumentedGridWorld(cells)
    game.window_size, game._agent_location, game._target_location = pixels, np.array(agent), np.array(target)
    return game.render()


def scene_with(config, agents, targets, **more):
    """A scene of everyone present on the first map, unless more is said."""
    more = {"present": np.ones(len(agents), bool), "settled": np.zeros(len(agents), bool), **more}
    return Scene(config.components[0] == 0, np.array(agents), np.array(targets), **more)


def at(frame, config, x, y, *beside):
    """The colour of the middle of a cell, or of what lies so far right of it, and so far down, in cells."""
    right, down = (*beside, 0.0, 0.0)[:2]
    side = max(frame.shape) / max(config.width, config.height)
    return tuple(frame[int((y + 0.5 + down) * side), int((x + 0.5 + right) * side)].tolist())


def close(colour, other):
    """Whether two colours are the same but for rounding."""
    return np.abs(np.subtract(colour, other)).max() <= 1


def cell_of(frame, config, x, y):
    """The pixels of a cell without those next to its borders."""
    side = max(frame.shape) / max(config.width, config.height)
    return frame[int(y * side) + 2 : int((y + 1) * side) - 1, int(x * side) + 2 : int((x + 1) * side) - 1]


def drawing(**settings):
    """An env of the walled map that draws arrays, after its reset."""
    one = parallel_env(**{"walls": WALLED, "render_mode": "rgb_array", **settings})
    one.reset()
    return one


def walked(**look):
    """An env whose two agents have walked two steps: [2, 0] and [3, 2] is where they end."""
    one = drawing(on_target="leave", view_radius=1, **look)
    one.step({"agent_0": 0, "agent_1": 0})
    one.step({"agent_0": 2, "agent_1": 3})
    assert one.state().tolist() == [[1, 0, 5, 1], [3, 2, 6, 0]]
    return one


def arriving(**settings):
    """A frame from before, and an env whose first agent has arrived at [5, 1], and the second come to [1, 3]."""
    one = drawing(**settings)
    one.reset(options={"agents": [[4, 1], [2, 3]], "targets": [[5, 1], [3, 0]]})
    before = one.render()
    one.step({"agent_0": 0, "agent_1": 2})
    return before, one


@pytest.mark.parametrize("cells", [*range(1, 41), 101, 170, 256, 300, 511, 512, 513, 700])
def test_the_documented_frame_of_every_size(cells):
    """Up to cells smaller than a pixel it is that frame; on small grids wherever the agent and the target stand."""
    config, last = GridConfig(size=max(cells, 2), num_agents=1), cells - 1
    if cells == 1:
        # A configuration that nobody can make, for the drawing code knows a grid of a single cell.
        config.__dict__.update(size=1, width=1, height=1)
    painter, random = Painter(config), np.random.default_rng(cells)
    pairs = [([0, last], [last, 0]), ([last, last], [last, last]), *random.integers(0, cells, (2, 2, 2))]
    if cells < 12:
        order = random.permutation(cells * cells).tolist()
        pairs = [(divmod(agent, cells), divmod(target, cells)) for agent, target in enumerate(order)]
    else:
        pairs.append(([1, 2], [1, 3]))
    for agent, target in pairs:
        frame = painter.frame(scene_with(config, [agent], [target]))
        np.testing.assert_array_equal(frame, documented(512, cells, agent, target), f"{agent}, {target}")


def test_which_worlds_have_the_documented_frame():
    """One agent on a square grid without walls, on every face; not with walls, trails, a view, or more on one side."""
    agent, target = [4, 1], [2, 0]
    settings, wall = {"num_agents": 1, "render_mode": "rgb_array"}, np.zeros((6, 6), bool)
    same = [make(size=6, **settings) for make in (parallel_env, env)] + [GridWorldEnv(size=6, render_mode="rgb_array")]
    same.append(parallel_env(walls=wall.copy(), **settings))
    sizes = [16, 100, 333, 1024]
    same += [parallel_env(size=6, render_size=pixels, **settings) for pixels in sizes]
    wall[0, 5] = True
    looks = {"render_trails": 1}, {"render_view": 0}, {"walls": wall, "size": None}, {"size": (6, 5)}
    other = [parallel_env(**{"size": 6, **settings, **look}) for look in looks]
    # 333 becomes 334.
    for one, pixels in zip([*same, *other], [*[512] * 4, 16, 100, 334, 1024, *[512] * 4], strict=True):
        one.reset(options={"agents": [agent], "targets": [target]})
        assert np.array_equal(one.render(), documented(pixels, 6, agent, target)) == (one in same)
    # An agent alone is drawn on its target in the end, whatever becomes of it there.
    for on_target in ("park", "leave", "stay"):
        one = drawing(size=3, walls=None, num_agents=1, on_target=on_target)
        one.reset(options={"agents": [[0, 2]], "targets": [[1, 2]]})
        one.step({"agent_0": 0})
        assert np.array_equal(one.render(), documented(512, 3, [1, 2], [1, 2]))


def test_what_stands_where():
    """Walls are dark, agents have their colours, targets a tint of them, free cells are white; edges are smooth."""
    one = drawing()
    frame, config, (first, second) = one.render(), one.config, colours(2)
    pale, walls = tint(first, 0.55), parse_map(WALLED).walls
    stands = {(1, 0): first, (2, 3): second, (5, 1): pale, (6, 0): tint(second, 0.55)}
    for x, y in itertools.product(range(7), range(4)):
        assert at(frame, config, x, y, -0.22) == (WALL if walls[x, y] else stands.get((x, y), WHITE)), (x, y)
    # A wall takes its whole cell, a square has round corners, a disc leaves more of them.
    assert at(frame, config, 0, 1, 0.45, 0.45) == WALL
    assert [at(frame, config, 5, 1, *beside) for beside in ((-0.38,), (0.4, 0.4))] == [pale, WHITE]
    assert [at(frame, config, 1, 0, *beside) for beside in ((0.0, -0.3), (0.3, -0.3))] == [first, WHITE]
    # Above and below the number of the target, there are colours between its own and white, and no other hue.
    cell = cell_of(frame, config, 5, 1)
    seen = np.unique(np.concatenate([cell[: len(cell) // 4], cell[-len(cell) // 4 :]]).reshape(-1, 3), axis=0)
    assert len(seen) > 10
    assert np.ptp((255 - seen) / (255 - np.array(pale)), axis=1).max() < 0.05


@pytest.mark.parametrize("num_agents", [2, 10, 12])
def test_numbers_where_there_is_room(num_agents):
    """Agents carry numbers, all different, and targets the same ones; in small cells, and alone, nobody has one."""
    config, hues = GridConfig(size=(13, 9), num_agents=num_agents), colours(num_agents)
    cells = [[index, index % 3] for index in range(num_agents)]
    scene = scene_with(config, cells, [[x, y + 5] for x, y in cells])
    for size in (1040, 512, 117):
        frame = Painter(config, size=size).frame(scene)
        numbers = set()
        for hue, (x, y) in zip(hues, cells, strict=True):
            agent, target = (cell_of(frame, config, x, down).astype(int) for down in (y, y + 5))
            quarter, third = slice(len(agent) // 4, -len(agent) // 4), slice(len(target) // 3, -(len(target) // 3))
            ink = (agent[quarter, quarter] == contrast(hue)).all(axis=2)
            assert ink.any() == (size > 117)
            numbers.add(ink[ink.any(axis=1)].tobytes())
            on_target, on_agent = (target[third, third] != tint(hue, 0.55), agent[third, third] != hue)
            assert size == 512 or on_target.any() == (size > 117)
            assert size != 1040 or (on_target.any(axis=2) == on_agent.any(axis=2)).all()
        assert len(numbers) == (num_agents if size > 117 else 1)
    alone = Painter(GridConfig(size=(13, 9), num_agents=1)).frame(scene_with(config, [[3, 1]], [[5, 4]]))
    assert at(alone, config, 3, 1) == hues[0]
    assert (cell_of(alone, config, 3, 1) != 0).any(axis=2).all()
    assert len(np.unique(cell_of(alone, config, 5, 4)[12:-12, 12:-12].reshape(-1, 3), axis=0)) == 1


def test_small_text_is_evenly_spaced():
    """Equal letters stand at equal distances, to a quarter of a pixel."""
    for size in (11, 13, 16, 19):
        ink = pygame.surfarray.array_alpha(draw_text("l" * 24, size, (0, 0, 0))).sum(axis=1).astype(float)
        pitch = text_width("l" * 240, size) / 240
        # The middle of the ink around each letter.
        letters = np.split(np.arange(len(ink)), np.rint(pitch * np.arange(1, 24)).astype(int))
        middles = [np.average(columns, weights=ink[columns]) for columns in letters]
        assert np.ptp(np.array(middles) - pitch * np.arange(24)) < 1, size
        assert text_width("agent 0", size) == draw_text("agent 0", size, (0, 0, 0)).get_width()


def test_text_is_drawn_after_pygame_was_begun_again():
    """Fonts do not outlive pygame.quit(), after which one of before crashes the process."""
    inks = []
    for text in ("before", "before it"):
        inks.append(pygame.surfarray.array_alpha(draw_text(text, 17, (0, 0, 0))).sum())
        pygame.quit()
        pygame.init()
    assert inks[1] > inks[0] > 0
    assert text_width("after", 17) > 0


def test_numbers_stand_in_the_middle():
    """As much of a number is left of the middle of its disc as right of it, give or take a pixel, and so above."""
    config, cells = GridConfig(size=(4, 3), num_agents=3), [[0, 0], [2, 1], [3, 2]]
    frame = Painter(config).frame(scene_with(config, cells, [[1, 0], [1, 1], [1, 2]]))
    for hue, (x, y) in zip(colours(3), cells, strict=True):
        number = frame[y * 128 + 40 : y * 128 + 88, x * 128 + 40 : x * 128 + 88] == contrast(hue)
        inked = np.argwhere(number.all(axis=2))
        assert abs((inked.min(axis=0) + inked.max(axis=0)) / 2 - 23.5).max() <= 1.5
        assert np.ptp(inked[:, 0]) > 20


def test_lines_fade_as_cells_get_small():
    """Grid lines are grey between large cells, paler between small ones, and gone between tiny ones; the rim stays."""
    greys = []
    for cells in (8, 32, 64, 128):
        config, side = GridConfig(size=(cells, cells // 2), num_agents=2), 512 // cells
        frame = Painter(config).frame(scene_with(config, [[0, 0], [1, 1]], [[0, 1], [1, 0]]))
        greys.append(frame[203, side].tolist())
        assert frame[[203, 128, 203], [2 * side, 350, side + 1]].tolist() == [greys[-1], greys[-1], [255, 255, 255]]
        assert (frame[[200, 200, 0, 255], [0, 511, 200, 200]] == [120, 120, 128]).all()
    assert [196, 196, 202] == greys[0] < greys[1] < greys[2] < greys[3] == [255, 255, 255]


@pytest.mark.parametrize("size", [(160, 40), (600, 300)])
def test_small_cells_still_show_everyone(size):
    """Where a cell has few pixels, or less than one, agents and targets are still to be seen in their colours."""
    config = GridConfig(size=size, num_agents=2)
    agents, targets = [[7, 5], [130, 33]], [[50, 20], [100, 8]]
    frame = Painter(config).frame(scene_with(config, agents, targets))
    for cells, share in ((agents, 0), (targets, 0.55)):
        for (x, y), colour in zip(np.array(cells) * 512 / size[0], colours(2), strict=True):
            ends = int(y + 512 / size[0]) + 2, int(x + 512 / size[0]) + 2
            around = frame[max(0, int(y) - 1) : ends[0], int(x) - 1 : ends[1]].astype(int)
            assert np.abs(around - tint(colour, share)).max(axis=2).min() < 60
    assert (frame[1:-1, 1:-1] != 255).any(axis=2).sum() < 80


def test_who_has_arrived_looks_settled():
    """An agent that is parked on its target stands in a full square of its colour, within a ring, number and all."""
    before, one = arriving()
    frame, config, (first, second) = one.render(), one.config, colours(2)
    assert at(before, config, 5, 1, 0.3, 0.3) == tint(first, 0.55)
    for right, down in ((0.3, 0.3), (-0.3, 0.3), (0.39, 0.0), (-0.24, 0.0)):
        assert at(frame, config, 5, 1, right, down) == first
    assert at(frame, config, 5, 1, -0.3) == contrast(first)
    # The other one has not arrived.
    assert [at(frame, config, 1, 3, *beside) for beside in ((0.3, 0.3), (-0.24,))] == [WHITE, second]
    small = GridConfig(size=(64, 40), num_agents=2)
    frame = Painter(small).frame(scene_with(small, [[9, 5], [3, 3]], [[9, 5], [4, 4]], settled=np.array([True, False])))
    assert (frame[41:47, 73:79] == first).all()
    assert not (frame[25:31, 25:31] == second).all()


def test_who_is_delayed_is_pale():
    """The disc of an agent that was delayed in the last step is as pale as a target, and otherwise of its colour."""
    first, second = colours(2)
    for delays, share in ((1.0, 0.55), (None, 0)):
        one = drawing(delays=delays)
        one.step({"agent_0": 1, "agent_1": 1})
        frame = one.render()
        (x, y), (x_of_other, y_of_other) = one.state()[:, :2].tolist()
        assert at(frame, one.config, x, y, -0.24) == tint(first, share)
        assert at(frame, one.config, x_of_other, y_of_other, -0.24) == tint(second, share)


@pytest.mark.parametrize("look", [{}, {"render_trails": 3}, {"render_view": 0}])
def test_who_has_left_is_gone(look):
    """An agent that has left is not drawn, nor its target, trail or view."""
    _, one = arriving(on_target="leave", **look)
    frame = one.render()
    assert all((cell_of(frame, one.config, x, 1) == 255).all() for x in (4, 5))
    assert at(frame, one.config, 4, 0) == WALL
    assert at(frame, one.config, 1, 3, -0.24) == colours(2)[1]


def test_trails():
    """The way over the last cells is drawn in the agent's colour, paler with age, below agents and above targets."""
    config, (first, second) = GridConfig(size=(8, 3), num_agents=2), colours(2)
    ways = [[[x, 1], [7, y]] for x, y in ((0, 0), (1, 0), (2, 1), (3, 1))]
    scene = scene_with(config, [[4, 1], [7, 2]], [[2, 1], [0, 0]], trail=np.array(ways))
    frame = Painter(config, trails=3).frame(scene)
    shares = []
    for x in (1, 2, 3):
        share = np.subtract(WHITE, at(frame, config, x, 1, 0.3)) / np.subtract(WHITE, first)
        assert np.ptp(share) < 0.02
        shares.append(float(share.mean()))
        assert at(frame, config, x, 1, 0.3, 0.2) == (tint(first, 0.55) if x == 2 else WHITE)
    opacities = np.array([1 / 3, 2 / 3, 1]) * 230 / 255
    np.testing.assert_allclose(shares, 1 - (1 - opacities) * [1, 0.55, 1], atol=0.01)
    assert at(frame, config, 0, 1, 0.3) == WHITE  # longer ago
    assert at(frame, config, 4, 1, -0.24) == first
    # A step in which the other one waited is counted, and draws nothing.
    assert close(at(frame, config, 7, 1, 0.0, 0.3), mix(WHITE, second, 230 / 255))
    assert close(at(frame, config, 7, 1, 0.0, -0.3), mix(WHITE, second, 77 / 255))
    assert at(frame, config, 7, 0, 0.0, -0.3) == WHITE
    assert at(frame, config, 7, 2, -0.24) == second


def test_trails_follow_the_steps_of_an_env():
    """What was walked is drawn whether or not there was a frame in between; a reset, or another state, forgets it."""
    one = walked(render_trails=2)
    config, frame, (first, second) = one.config, one.render(), colours(2)
    latest = mix(WHITE, second, 230 / 255)
    assert close(at(frame, config, 2, 0), mix(WHITE, first, 230 / 255))
    assert close(at(frame, config, 3, 3), latest)
    assert close(at(frame, config, 2, 3, 0.3), mix(WHITE, second, 115 / 255))
    for again in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(again.render(), frame)
    one.set_state(one.get_state())
    assert at(one.render(), config, 2, 0) == WHITE
    one.step({"agent_0": 0, "agent_1": 0})
    assert close(at(one.render(), config, 3, 2, 0.42), latest)
    one.reset()
    assert at(one.render(), config, 3, 2) == WHITE


def test_the_view_of_an_agent():
    """Within its window everything is as ever, framed in its colour, up to the rim; what lies outside is veiled."""
    one, plain = walked(render_view=1), walked()
    config, frame, expected = one.config, one.render(), plain.render()
    for x, y in itertools.product(range(7), range(4)):
        here, there = cell_of(frame, config, x, y), cell_of(expected, config, x, y)
        if abs(x - 3) <= 1 and abs(y - 2) <= 1:
            np.testing.assert_array_equal(here[5:-5, 5:-5], there[5:-5, 5:-5])
        else:
            assert np.abs(here - (255 - (255 - there.astype(int)) * (90 / 255))).max() <= 1
    assert at(frame, config, 2, 2, -0.48) == at(frame, config, 4, 3, 0.0, 0.48) == colours(2)[1]
    frame = drawing(render_view=0, view_radius=9).render()
    assert {tuple(frame[place].tolist()) for place in ((0, 250), (292, 250), (60, 0), (60, 511))} == {colours(2)[0]}
    np.testing.assert_array_equal(frame[6:-6, 6:-6], drawing().render()[6:-6, 6:-6])


def test_each_map_of_a_pool_is_drawn():
    """The walls of a frame are those of the episode's map, however often and in whatever order maps come."""
    pool = np.random.default_rng(5).random((12, 5, 3)) < 0.3
    pool[:, 0, :2] = False
    one = drawing(walls=pool, num_agents=1)
    for index in [*range(12), 0, 11, 3]:
        one.reset(options={"map": index, "agents": [[0, 0]], "targets": [[0, 1]]})
        frame = one.render()
        for x, y in itertools.product(range(1, 5), range(3)):
            assert (at(frame, one.config, x, y) == WALL) == pool[index, x, y]


# In the last four the shorter side comes to half a pixel, or the longer one is odd.
SIZES = [((7, 4), 100, 58), ((3, 8), 1024, 384), ((1, 90), 16, 2), ((6, 6), 64, 64)]
SIZES += [((24, 15), 100, 62), ((14, 7), 457, 230), ((7, 14), 467, 234), ((28, 7), 450, 112)]


@pytest.mark.parametrize(("size", "pixels", "shorter"), SIZES)
def test_render_size_is_the_longer_side(size, pixels, shorter):
    """A frame has as many pixels as were asked for along its longer side, or one more, and is drawn to its end."""
    walls = np.zeros(size, bool)
    walls[-1, -1] = True
    frame = drawing(walls=walls, num_agents=2, render_size=pixels).render()
    longer = pixels + pixels % 2
    expected = (shorter, longer) if size[0] > size[1] else (longer, shorter)
    assert (frame.shape, Painter(GridConfig(size=size), pixels).size) == ((*expected, 3), expected[::-1])
    assert (frame[-2:, -2:] == WALL).all() or shorter == 2


@pytest.mark.parametrize("pixels", [512, 301, 64])
def test_both_sides_of_every_frame_are_even(pixels):
    """Whatever the grid, the number of agents and the size asked for, browsers play a film of the frames."""
    for size in itertools.product(range(1, 22), repeat=2):
        for num_agents in (1, 2) if max(size) > 1 else ():
            config = GridConfig(size=size, num_agents=num_agents)
            painter = Painter(config, check_render_options(config, pixels, 0, None).size)
            sides = {max(painter.size), pixels + pixels % 2}
            assert (len(sides), painter.size[0] % 2, painter.size[1] % 2) == (1, 0, 0), (size, num_agents)


def test_the_pixel_of_an_even_side_is_spread_over_the_cells():
    """Cells differ by at most a pixel, also in the last row, where the frame is higher than the cells are wide."""
    walls = np.zeros((21, 9), bool)
    walls[1, ::2] = True
    frame = drawing(walls=walls, num_agents=2, render_size=90).render()
    assert frame.shape == (40, 90, 3), "of 38.6 pixels, which round to 39"
    ends = np.flatnonzero(np.diff((frame[:, 6] == WALL).all(axis=1)))
    assert set(np.diff([-1, *ends, 39])) == {4, 5}


def test_bad_looks():
    """What cannot be drawn is refused when the env is made, saying what came and what was expected."""
    for name, value, message in (
        ("render_size", 15, "15; expected an integer of at least 16"),
        ("render_size", 512.0, "512.0 of type float; expected an integer"),
        ("render_trails", -1, "-1; expected an integer of at least 0"),
        ("render_trails", True, "True of type bool; expected an integer"),
        ("render_view", 2, "2; expected the index of an agent, below 2, or None"),
        ("render_view", -1, "-1; expected an integer of at least 0 or None for nobody"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"{name} is {message}"):
            parallel_env(num_agents=2, **{name: value})


@pytest.mark.parametrize("look", [{}, {"trails": 4, "view_of": 2}])
def test_frames_are_fresh_and_independent(look):
    """A frame that was returned never changes, and writing into it changes no later one; a surface has its pixels."""
    config = GridConfig(size=(7, 4), num_agents=3, view_radius=1)
    drawn, targets = np.random.default_rng(0), [[0, 0], [3, 1], [6, 3]]
    scenes = []
    for _ in range(6):
        agents, flags = drawn.permutation(28)[:3, None] // [4, 1] % [7, 4], drawn.random((2, 3)) < [[0.3], [0.8]]
        trail = drawn.integers(0, 4, (5, 3, 2))
        scenes.append(scene_with(config, agents, targets, settled=flags[0], present=flags[1], trail=trail))
    painter = Painter(config, **look)
    expected = [Painter(config, **look).frame(scene) for scene in scenes]
    frames = [painter.frame(scene) for scene in scenes]
    np.testing.assert_equal(frames, expected)
    for index in (5, 0, 3, 3):
        frames[index][:] = 7
        frame = painter.frame(scenes[index])
        assert (frame.flags.c_contiguous, frame.flags.writeable, frame.dtype) == (True, True, np.uint8)
        np.testing.assert_array_equal(frame, expected[index])
        shown = pygame.surfarray.array3d(painter.surface(scenes[index]))
        np.testing.assert_array_equal(shown.transpose(1, 0, 2), frame)
    np.testing.assert_array_equal(frames[1], expected[1])


@pytest.mark.parametrize("on_target", ["park", "leave", "restart"])
def test_an_episode_is_drawn_as_it_was_seen(on_target):
    """`scene_of` gives the frames that the env gave while the episode was played, trails, arrivals and all."""
    look = {"render_size": 140, "render_trails": 3, "render_view": 1}
    one = drawing(on_target=on_target, max_cycles=30, **look)
    trace, frames, random = EpisodeTrace(one), [], np.random.default_rng(2)
    one.reset(options={"agents": [[4, 1], [2, 3]], "targets": [[5, 1], [3, 0]]})
    while not frames or one.agents:
        if frames:
            one.step({agent: 0 if len(frames) == 1 else int(random.integers(4)) for agent in one.agents})
        trace.note()
        frames.append(one.render())
    episode = trace.episode("drawn")
    painter = Painter(episode.config, 140, 3, 1)
    assert episode.num_steps > 3
    for step, frame in enumerate(frames):
        np.testing.assert_array_equal(painter.frame(scene_of(episode, step)), frame, f"step {step}")
    for step in (-1, episode.num_steps + 1):
        with pytest.raises(ValueError, match=f"step is {step}; expected 0 to {episode.num_steps}"):
            scene_of(episode, step)


def test_ansi_is_the_map_as_text():
    """An agent is a small letter, its target the capital; who has left is gone; the documented env has no such mode."""
    one, turns = (made(walls=WALLED, render_mode="ansi", on_target="leave") for made in (parallel_env, env))
    for made in (one, turns):
        made.reset(options={"agents": [[4, 1], [2, 3]], "targets": [[5, 1], [3, 0]]})
        assert made.render() == "...B#..\n##..aA.\n.....#.\n..b...."
    for actions, row in (({"agent_0": 0, "agent_1": 2}, ".b....."), ({"agent_1": 0}, "..b....")):
        one.step(actions)
        state = one.get_state()
        assert one.render() == f"...B#..\n##.....\n.....#.\n{row}"
        np.testing.assert_equal(one.get_state(), state)
    with pytest.raises(ValueError, match="render_mode is 'ansi'; expected None or one of 'human', 'rgb_array'"):
        GridWorldEnv(render_mode="ansi")


# Machado, Oliveira and Fernandes (2009), no cone of a kind at all; in linear RGB.
SIGHTS = {
    "ordinary": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
TO_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]]
TO_LMS.append([0.0883024619, 0.2817188376, 0.6299787005])
TO_LAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]]
TO_LAB.append([0.0259040371, 0.7827717662, -0.8086757660])


def linear(colour):
    """The light of a colour, 0 to 1."""
    share = np.asarray(colour) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def ratio(one, other):
    """The contrast of two colours, as WCAG 2 defines it."""
    darker, lighter = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def perceived(palette, sight):
    """Where colours lie in Oklab (Ottosson 2020) to such eyes: equal steps look about equally large."""
    light = np.clip(linear(palette) @ np.transpose(SIGHTS[sight]), 0, 1)
    return np.cbrt(light @ np.transpose(TO_LMS)) @ np.transpose(TO_LAB)


@pytest.mark.parametrize("sight", SIGHTS)
def test_everyone_distinguishes_twelve_agents(sight):
    """No two of twelve colours are closer than Okabe and Ito's closest two, nor is any to a wall or to white."""
    assert colours(3) == [(0, 114, 178), (230, 159, 0), (0, 158, 115)]
    pairs = itertools.combinations(perceived([*colours(12), WALL, WHITE], sight), 2)
    assert min(float(np.linalg.norm(one - other)) for one, other in pairs) > 0.075


def test_a_thousand_agents_have_a_thousand_colours():
    """No colour comes twice or is too pale, and each has the ink that contrasts more, as WCAG 2 asks for."""
    thousand = colours(1000)
    assert len(set(thousand)) == 1000
    assert [colours(count) for count in (1, 12, 13)] == [thousand[:1], thousand[:12], thousand[:13]]
    assert np.linalg.norm(np.diff(perceived(thousand, "ordinary"), axis=0), axis=1).min() > 0.05
    for colour in thousand:
        ratios = {ink: ratio(colour, ink) for ink in ((0, 0, 0), WHITE)}
        assert ratios[contrast(colour)] >= max(4.5, max(ratios.values()) - 0.02)
        assert ratios[WHITE] > 1.05 / 0.85


@pytest.mark.parametrize("floor", FLOORS.values(), ids=FLOORS)
def test_colours_contrast_with_a_floor(floor):
    """Made legible, 64 agents contrast by 3:1 with the floor and by 4.5 with their inks; who does already stays."""
    assert (ratio((0, 0, 0), WHITE), ratio((119, 119, 119), WHITE)) == pytest.approx((21, 4.48), abs=0.01)
    shown = [legible(colour, floor) for colour in colours(64)]
    assert len(set(shown)) == 64
    for colour, before in zip(shown, colours(64), strict=True):
        assert ratio(colour, floor) >= 3
        assert ratio(colour, contrast(colour)) >= 4.5
        assert (colour == before) == (ratio(before, floor) >= 3)


@pytest.mark.parametrize(("listed", "options"), [([], ""), (["pygame-ce"], "--force-reinstall --no-deps ")])
def test_the_hint_for_a_missing_pygame_works(listed, options, monkeypatch):
    """Where pip still lists pygame-ce, whose files went with pygame's, the command brings them back."""
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"numpy": ["numpy"], "pygame": listed})
    monkeypatch.setitem(sys.modules, "pygame", None)
    world = drawing()
    with pytest.raises(DependencyNotInstalled, match=f"rendering needs pygame: pip install {options}pygame-ce$"):
        world.render()
