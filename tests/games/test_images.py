"""Observations that are images: what they show, the same on every face, and how they compose."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import env_checker
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo.test import api_test, parallel_api_test

import multigrid
from faces import LAYOUT, WALLS
from multigrid import Delays, Game, GridConfig, games, parallel_env
from multigrid.core.worlds import Worlds
from multigrid.maps import RandomWalls
from multigrid.rendering._general import GeneralStyle
from multigrid.rendering._scene import scene_in
from single_envs import play_native

IMAGES = ("rgb", "rgb_view")
AHEAD = np.array([[0, -1], [0, 1], [-1, 0], [1, 0]])
WALL, BLACK, GREY, DOOR = [70, 70, 78], [0, 0, 0], [140, 140, 140], 0x8D6E63


class Painted(Game):
    """Path finding with a door in pictures, and a key that nobody but the first agent sees."""

    class State(NamedTuple):
        key: Annotated[NDArray[np.int64], "E 2"]
        door: Annotated[NDArray[np.int64], "E 2"]

    def begin(w, s, e):
        s.key[e, 0], s.key[e, 1] = games.draw_free_cell(w, e)
        s.door[e, 0], s.door[e, 1] = games.draw_free_cell(w, e)

    def paint(w, s, e, i, x, y):
        if x == s.door[e, 0] and y == s.door[e, 1]:
            return DOOR
        if i == 0 and x == s.key[e, 0] and y == s.key[e, 1]:
            return 0x00FF00
        return -1


def some_env(**settings: Any) -> Any:
    """Return an env with both images, on a map that is neither square nor symmetric."""
    return parallel_env(**{"walls": WALLS, "num_agents": 3, "observe": IMAGES, "max_cycles": 30, **settings})


def play(env: Any, steps: int, seed: int = 4) -> Iterator[dict[str, Any]]:
    """Yield the observations of a reset and of some random steps, through as many episodes as they take."""
    rng = np.random.default_rng(seed)
    yield env.reset(seed=seed)[0]
    for _ in range(steps):
        actions = {agent: int(rng.integers(env.config.num_actions)) for agent in env.agents}
        yield env.step(actions)[0] if env.agents else env.reset()[0]


def cell(image: Any, at: Any, side: int) -> Any:
    """Return the pixels of a cell, [x, y], of an image."""
    x, y = (int(one) * side for one in at)
    return image[y : y + side, x : x + side]


def has(pixels: Any, colour: list[int]) -> bool:
    """Return whether a pixel has almost a colour."""
    return bool((np.abs(pixels.astype(int) - colour) < 13).all(axis=-1).any())


@pytest.mark.parametrize(
    ("side", "rules"),
    [
        *((side, {"on_target": "restart", "delays": 0.3}) for side in (1, 3, 8, 12)),
        *((6, {"on_target": on_target}) for on_target in ("leave", "stay")),
    ],
)
def test_an_image_is_the_frame_but_for_what_is_the_observers_own(side: int, rules: Any) -> None:
    """Each pixel is that of a frame without numbers, within rounding, outside the observer's cell and its target's."""
    env = some_env(rgb_tile=side, collisions="none", **rules)
    style, rng, num_different = GeneralStyle(env.config, 7 * side, 4 * side, 0, None), np.random.default_rng(2), 0
    observations, _ = env.reset(seed=1, options=LAYOUT)
    actions = {"agent_0": 0, "agent_1": 2, "agent_2": 3}  # two arrive, if they are not delayed
    for _ in range(12):
        frame = style.frame(scene_in(env.config, env._worlds.arrays, 0)).astype(int)
        for agent in env.agents:
            image = observations[agent]["rgb"]
            assert image.shape == frame.shape
            assert image.dtype == np.uint8
            alike = np.abs(image - frame).max(axis=2) <= 2
            for at in np.split(env.state()[env.possible_agents.index(agent)], 2):
                num_different += not cell(alike, at, side).all()
                cell(alike, at, side)[...] = True
            assert alike.all()
        observations, *_ = env.step(actions)
        actions = {agent: int(rng.integers(4)) for agent in env.agents}
    assert num_different > 10


@pytest.mark.parametrize("side", [1, 8, 16])
def test_agents_know_themselves_and_their_targets(side: int) -> None:
    """An agent's own disc is ringed in black and its target framed in grey, in its image alone; both are one later."""
    env = some_env(rgb_tile=side, on_target="stay", num_agents=2, walls=None, size=(6, 5))
    layout = {"agents": [[1, 2], [4, 3]], "targets": [[1, 1], [3, 2]]}
    observations, _ = env.reset(options=layout)
    images = [one["rgb"] for one in observations.values()]
    for index, (own, target) in enumerate(zip(*layout.values(), strict=True)):
        for seen_by, image in enumerate(images):
            assert has(cell(image, own, side), BLACK) is (seen_by == index)
            assert has(cell(image, target, side), GREY) is (seen_by == index)
    observations, *_ = env.step({"agent_0": 3, "agent_1": 3})
    image = observations["agent_0"]["rgb"]
    assert has(cell(image, [1, 1], side), BLACK)
    assert not has(observations["agent_1"]["rgb"][: 2 * side], BLACK)


SETTINGS: dict[str, dict[str, Any]] = {
    "leave": {"on_target": "leave", "view_radius": 1},
    "drawn": {
        "walls": RandomWalls(side=(3, 7), density=(0.1, 0.4)),
        "num_agents": (2, 4),
        "delays": Delays(0.2, duration=(1, 3)),
    },
    "game": {"game": Painted, "walls": RandomWalls(side=(3, 7), density=0.2), "view_radius": 3},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_image_of_the_view_is_a_window_of_the_whole_one(name: str) -> None:
    """It is cut out around the agent, with walls outside, and the target as if it were in the nearest cell in view."""
    env, num_outside = some_env(rgb_tile=6, **SETTINGS[name]), 0
    for observations in play(env, 60):
        state, r = env.get_state(), env.config.view_radius
        for agent, seen in observations.items():
            index = env.possible_agents.index(agent)
            at, target = (state[key][index].tolist() for key in ("location", "target"))
            whole = np.full((seen["rgb"].shape[0] + 12 * r, seen["rgb"].shape[1] + 12 * r, 3), WALL, np.uint8)
            whole[6 * r : whole.shape[0] - 6 * r, 6 * r : whole.shape[1] - 6 * r] = seen["rgb"]
            window = whole[6 * at[1] : 6 * (at[1] + 2 * r + 1), 6 * at[0] : 6 * (at[0] + 2 * r + 1)].copy()
            offset = [goal - own for goal, own in zip(target, at, strict=True)]
            if max(map(abs, offset)) > r and state["status"][index] != 2:
                near = [min(max(one, -r), r) + r for one in offset]
                cell(window, near, 6)[...] = cell(seen["rgb_view"], near, 6)
                num_outside += has(cell(seen["rgb_view"], near, 6), GREY)
            np.testing.assert_array_equal(seen["rgb_view"], window)
    assert num_outside > 20


def test_drawn_maps_are_surrounded_by_walls() -> None:
    """Where a drawn map is smaller than the largest, the rest of the image is wall, as in the part "walls"."""
    env = some_env(rgb_tile=2, observe=("rgb", "walls"), walls=RandomWalls(side=(3, 7), density=(0.1, 0.4)))
    for observations in [env.reset(seed=seed)[0] for seed in range(9)]:
        seen = observations["agent_1"]
        is_wall = (seen["rgb"][::2, ::2] == WALL).all(axis=2)
        np.testing.assert_array_equal(is_wall, seen["walls"].T == 1)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_every_world_of_a_vector_env_draws_what_a_single_one_draws(mode: AutoresetMode) -> None:
    """Worlds of a vector env show the images of single envs to the bit, also at the ends of episodes."""
    config = GridConfig(walls=WALLS, num_agents=3, observe=IMAGES, rgb_tile=3, on_target="leave", max_cycles=9)
    assert play_native(config, mode, seed=5, steps=30, count=3)["ends"] > 5


def test_one_name_is_the_whole_observation_on_each_face() -> None:
    """With `observe="rgb"` an observation is the image: of a ParallelEnv, of an AEC env, and of the rows of many."""
    settings: dict[str, Any] = {"size": (5, 3), "num_agents": 2, "observe": "rgb"}
    env, turns, envs = parallel_env(**settings), multigrid.env(**settings), multigrid.vector_env(3, **settings)
    image = env.reset(seed=8)[0]["agent_1"]
    assert (str(env.observation_space("agent_1")), image.shape) == ("Box(0, 255, (24, 40, 3), uint8)", (24, 40, 3))
    turns.reset(seed=8)
    np.testing.assert_array_equal(turns.observe("agent_1"), image)
    np.testing.assert_array_equal(envs.reset(seed=7)[0][3], image)
    assert not env.vector_state
    assert all(space.shape[-3:] == (24, 40, 3) for space in (envs.observation_space, envs.single_observation_space))


@pytest.mark.parametrize("settings", [{"observe": "rgb"}, {"observe": "rgb_view", "on_target": "leave"}], ids=str)
def test_pettingzoos_own_tests(settings: Any) -> None:
    """PettingZoo's tests of both APIs take images."""
    settings = {"size": (5, 3), "num_agents": 2, "max_cycles": 12, **settings}
    parallel_api_test(parallel_env(**settings), num_cycles=40)
    api_test(multigrid.env(**settings), num_cycles=40)


def test_images_are_no_part_of_a_state() -> None:
    """A state has no image; one that is restored, and a pickle, show theirs, and what was returned never changes."""
    env, plain = some_env(rgb_tile=2), some_env(observe="agent")
    seen = list(play(env, 9))
    kept = pickle.dumps(seen)
    assert len(list(play(plain, 9))) == 10
    np.testing.assert_equal(env.get_state(), plain.get_state())
    other = some_env(rgb_tile=2)
    other.set_state(env.get_state())
    actions = dict.fromkeys(env.agents, 1)
    for one in (other, pickle.loads(pickle.dumps(env))):
        np.testing.assert_equal(one._last_results()[0], seen[-1])
    np.testing.assert_equal(other.step(actions)[0], env.step(actions)[0])
    assert pickle.dumps(seen) == kept


def test_a_game_paints_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `paint` returns fills a cell, below discs and squares, and may differ between agents; -1 leaves it."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: another test compiles the game
    env = parallel_env(game=Painted, size=(5, 4), num_agents=2, observe="rgb", rgb_tile=4)
    observations, _ = env.reset(seed=1, options={"agents": [[0, 0], [4, 3]], "targets": [[4, 0], [0, 3]]})
    state = env.get_state()
    assert 3.5 not in np.abs(np.array([state["key"], state["door"]]) - [2, 1.5]).sum(axis=1)  # in a corner
    for agent, image in observations.items():
        assert (cell(image, state["door"], 4) == [DOOR >> 16, DOOR >> 8 & 255, DOOR & 255]).all()
        assert (cell(image, state["key"], 4) == [0, 255, 0]).all() == (agent == "agent_0")
    whole = Worlds(env.config)
    whole.restore(np.array([0]), [state])
    np.testing.assert_array_equal(whole.observation_arrays[0][0, 1], observations["agent_1"])


def test_images_of_the_originals_show_foods_shelves_and_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Foods are darker for higher levels; shelves, wanted shelves and goals have colours, half as bright ahead."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")
    env = games.parallel_env("Foraging-8x8-3p-3f-v3", observe="rgb", rgb_tile=4)
    image = env.reset(seed=3)[0]["agent_0"]
    state, greens = env.get_state(), {}
    for row, column, level in state["food"].tolist():
        (greens[level],) = {tuple(pixel) for pixel in cell(image, (column, row), 4).reshape(-1, 3).tolist()}
    assert len(greens) == 3
    assert greens[min(greens)] > greens[max(greens)]
    env = games.parallel_env("rware-tiny-4ag-v2", observe="rgb", rgb_tile=4)
    image, state, seen = env.reset(seed=6)[0]["agent_0"], env.get_state(), set()
    ahead = {
        (x + dx, y + dy) for (x, y), (dx, dy) in zip(state["location"].tolist(), AHEAD[state["direction"]], strict=True)
    }
    for (x, y), shelf in np.ndenumerate(state["shelf_in"]):
        if [x, y] not in state["location"].tolist() and shelf:
            colour = [0xFF, 0xCC, 0x80] if state["is_wanted"][shelf] else [0xB0, 0xBE, 0xC5]
            colour = [one >> 1 for one in colour] if (x, y) in ahead else colour
            assert (cell(image, (x, y), 4) == colour).all()
            seen.add(colour[0])
    assert (image == [0x90, 0xA4, 0xAE]).all(axis=2).sum() == 2 * 16
    assert seen == {0xFF, 0xB0, 0xFF >> 1, 0xB0 >> 1}


def test_gymnasium_makes_games_with_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registered game shows its only agent images, in the env that `gym.make` returns and in many worlds."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")
    multigrid.register("PaintedForOne-v0", Painted, num_agents=1)
    env = gymnasium.make("multigrid/PaintedForOne-v0", size=(6, 5), observe="rgb")
    assert str(env.observation_space) == "Box(0, 255, (40, 48, 3), uint8)"
    env_checker.check_env(env.unwrapped, skip_render_check=True)
    envs = gymnasium.make_vec("multigrid/PaintedForOne-v0", num_envs=2, size=(6, 5), observe="rgb")
    np.testing.assert_array_equal(envs.reset(seed=2)[0][1], env.reset(seed=3)[0])


def test_what_is_wrong_with_paint_is_said() -> None:
    """A function `paint` with other arguments, or that returns no integer, is refused by its name."""

    class Short(Painted):
        def paint(w, s, e, x, y):
            return -1

    class Half(Painted):
        def paint(w, s, e, i, x, y):
            return 0.5

    with pytest.raises(ValueError, match=r"Short.paint has the arguments .*; expected def paint\(w, s, e, i, x, y\)"):
        parallel_env(game=Short, observe="rgb")
    with pytest.raises(TypeError, match=r"Half.paint returns a number; expected an integer"):
        parallel_env(game=Half, observe="rgb")


@pytest.mark.parametrize("observe", ["rgb", ("agent", "rgb_view")])
def test_images_are_not_flattened(observe: Any) -> None:
    """`flatten=True` is refused with the part, and with what gives a Box."""
    name = observe if observe == "rgb" else "rgb_view"
    with pytest.raises(
        ValueError, match=rf"observe has '{name}', an image.*; use flatten=False: with observe='{name}'"
    ):
        GridConfig(observe=observe, flatten=True)
