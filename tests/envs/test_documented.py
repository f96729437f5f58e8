"""Both editions of the documented GridWorld: recorded episodes, the documented code in lockstep, and fixed facts."""

import hashlib
import json
import re
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import env_checker

from editions import EDITIONS, ROW_COLUMN, X_Y, by_edition
from helpers import frozen, run_python
from multigrid import GridWorldEnv

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = [
    pytest.param(edition, case, id=f"{edition.env_id}, size {case['size']}, seed {case['seed']}")
    for edition in EDITIONS
    for case in json.loads((FOLDER / edition.golden).read_text())["cases"]
]
IDS = ["multigrid/GridWorld-v0", "gymnasium_env/GridWorld-v0", "gym_examples/GridWorld-v0"]
ALL_IDS = [*((env_id, X_Y) for env_id in IDS), (ROW_COLUMN.env_id, ROW_COLUMN)]


@pytest.fixture
def pygame(monkeypatch):
    """Give pygame without any window, before the test and after it, and windows without a pause."""
    import pygame

    monkeypatch.setitem(GridWorldEnv.metadata, "render_fps", 10_000)
    pygame.display.quit()
    yield pygame
    pygame.display.quit()


def plain(returned):
    """What `reset` or `step` returned, with lists in place of arrays, so that it compares with ==."""
    observation, *rest = returned
    return ({name: array.tolist() for name, array in observation.items()}, *rest)


def play(env, documented, steps, seed):
    """Play from a seed, reset at each end, and compare everything that comes back with that of the documented code."""
    assert plain(env.reset(seed=seed)) == plain(documented.reset(seed=seed))
    for action in np.random.default_rng(seed or 0).integers(4, size=steps).tolist():
        came = plain(env.step(action))
        assert came == plain(documented.step(action))
        if came[2]:
            assert plain(env.reset()) == plain(documented.reset())
    assert frozen(env.unwrapped.np_random.bit_generator.state) == frozen(documented.np_random.bit_generator.state)


@pytest.mark.parametrize(("edition", "case"), GOLDEN)
def test_recorded_episodes_and_frames(edition, case):
    """Every row and every frame that the documented code was recorded with comes out again."""
    env = edition.env(render_mode="rgb_array", size=case["size"])
    frames, seed = dict(case["frames"]), case["seed"]  # the first reset is seeded, the others go on with the stream
    for index, (what, *expected) in enumerate(case["rows"]):
        if what == "reset":
            (observation, info), rest, seed = env.reset(seed=seed), [], None
        else:
            observation, *rest, info = env.step(what)
        assert [observation["agent"].tolist(), observation["target"].tolist(), *rest, info["distance"]] == expected
        if index in frames:
            assert hashlib.sha256(np.ascontiguousarray(env.render()).tobytes()).hexdigest() == frames.pop(index)
    assert not frames


@by_edition
@pytest.mark.parametrize(("size", "seed"), [(2, 5), (3, 0), (6, 2**40 + 1), (100, 6)])
def test_whole_episodes_are_the_documented_ones(edition, size, seed):
    """Observations, rewards, flags and infos of many episodes in a row are those of the documented code."""
    play(edition.env(size=size), edition.documented(size), 400, seed)


@by_edition
@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "SFC64", "Philox"])
def test_a_stream_that_somebody_sets_is_drawn_from(edition, kind):
    """A generator of any kind in `np_random` decides later resets just as in the documented code."""
    env, documented = edition.env(size=3), edition.documented(3)
    for one in (env, documented):
        one.np_random = np.random.Generator(getattr(np.random, kind)(6))
    play(env, documented, 200, None)


@by_edition
def test_spaces_and_defaults(edition):
    """Spaces, int64 and not wider than the grid, metadata, the default mode and size are the documented ones."""
    for size, env in ((11, edition.env(size=11)), (5, edition.env())):
        corner = Box(0, size - 1, (2,), np.int64)
        assert (env.action_space, env.observation_space) == (Discrete(4), Dict(agent=corner, target=corner))
        assert (env.render_mode, env.size, env.window_size, env.render()) == (None, size, 512, None)
    assert edition.env.metadata == {"render_modes": ["human", "rgb_array"], "render_fps": 4}


@by_edition
def test_types_of_what_comes_back(edition):
    """Rewards are ints, flags Python bools, distances floats, cells int64 arrays, at every reset and step."""
    env, rewards = edition.env(size=2), set()
    observation, info = env.reset(seed=0)
    for action in [edition.action(*X_Y.steps[action]) for action in [0, 0, 3, 1, 2, 0, 3] * 3]:
        assert list(observation) == ["agent", "target"]
        assert [(type(cell), cell.dtype, cell.shape) for cell in observation.values()] == [(np.ndarray, int, (2,))] * 2
        assert {name: type(value) for name, value in info.items()} == {"distance": float}
        observation, reward, terminated, truncated, info = env.step(action)
        assert (type(observation), type(reward), type(terminated), type(truncated)) == (dict, int, bool, bool)
        rewards.add(reward)
    assert rewards == {0, 1}


@pytest.mark.parametrize(("env_id", "edition"), ALL_IDS)
def test_the_ids(env_id, edition):
    """Each id makes its edition, without a warning of a newer one, and has the documented arguments and limit."""
    env = gymnasium.make(env_id, size=4)
    assert type(env.unwrapped) is edition.env
    assert env.spec.max_episode_steps == (300 if env_id.startswith("gym_examples") else None)
    play(env, edition.documented(4), 200, 12)


@pytest.mark.parametrize("suffix", ["", "-v0"])
def test_an_id_of_somebody_else_stays(suffix):
    """`import multigrid` raises nothing, warns of nothing and replaces nothing where one of its names is registered."""
    code = f"""
import gymnasium, pettingzoo
ids = [f"{{space}}/GridWorld{suffix}" for space in ("multigrid", "gymnasium_env", "gym_examples")]
ids += ["multigrid/GridWorld-v1"] * ("{suffix}" == "-v0") + ["multigrid/MultiGrid{suffix}"]
for env_id in ids:
    gymnasium.register(env_id, entry_point="user:Env")
registries = [gymnasium.registry]
if hasattr(pettingzoo, "register"):
    registries += [pettingzoo.aec_registry, pettingzoo.parallel_registry]
    for kind in ("aec", "parallel"):
        pettingzoo.register(kind, ids[-1], "user:Env")
import multigrid
print({{registry[env_id].entry_point for registry in registries for env_id in ids if env_id in registry}})
"""
    done = run_python("-c", code)
    assert (done.stdout, done.stderr) == ("{'user:Env'}\n", "")


def test_an_id_without_a_version():
    """Gymnasium takes ``multigrid/GridWorld`` for the edition that the package's other ids have."""
    with pytest.warns(UserWarning, match="Using the latest versioned environment `multigrid/GridWorld-v0`"):
        assert type(gymnasium.make("multigrid/GridWorld").unwrapped) is GridWorldEnv


@pytest.mark.parametrize("env_id", [*IDS, ROW_COLUMN.env_id, None])
def test_gymnasium_check_env(env_id, pygame):
    """Gymnasium's own check passes without a warning, every render mode included, also on an env made by its class."""
    env = gymnasium.make(env_id).unwrapped if env_id else GridWorldEnv(size=3)
    env_checker.check_env(env, skip_render_check=env_id is None)


@pytest.mark.heavy
@by_edition
def test_stable_baselines3_check_env(edition):
    """Stable-Baselines3's own check passes without a warning."""
    from stable_baselines3.common.env_checker import check_env

    check_env(edition.env(size=3), warn=True)


def test_bad_sizes():
    """A size that is no integer of at least 2 is refused, saying what came and what was expected."""
    for size in (0, 1, -3, 2.5, 5.0, True, "5", (5, 5), None):
        came, error = (f"{size}", ValueError) if type(size) is int else (f"{size!r} of type", TypeError)
        with pytest.raises(
            error, match=rf"size is {re.escape(came)}.*; expected an integer of at least 2, for the tar"
        ):
            GridWorldEnv(size=size)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridWorldEnv(7), "render_mode is 7; expected None or 'human' or 'rgb_array'; or size=7"),
        (lambda: GridWorldEnv(siz=3), r"'siz' \(did you mean size\?\); expected render_mode, size"),
        (lambda: ROW_COLUMN.env(num_agents=3), r"^RowColumnGridWorldEnv\(\) has one agent and no option num_agents"),
        (lambda: ROW_COLUMN.vector(num_agents=3), r"^RowColumnGridWorldVectorEnv\(\) has one agent and no option num"),
        (
            lambda: gymnasium.make(IDS[0], size=3, walls="..", num_agents=4),
            r"one agent and no option walls, num_agents",
        ),
        (lambda: gymnasium.make(IDS[2], num_agents=4), r"call multigrid\.parallel_env"),
        (lambda: gymnasium.make_vec(IDS[0], 2, num_agents=4), r"no option num_agents; call multigrid\.vector_env"),
        (lambda: gymnasium.make_vec(IDS[1], 2, num_agents=4), r"no option num_agents; call multigrid\.parallel_env"),
    ],
)
def test_dead_ends(make, message):
    """A size without its name, and options of several agents, are refused with the call that was meant."""
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_gymnasium_makes_no_environment_of_several_agents(make):
    """The id that PettingZoo has is unknown to Gymnasium, and an option of several agents says what to call."""
    with pytest.raises(gymnasium.error.NameNotFound, match="`MultiGrid` doesn't exist in namespace multigrid"):
        make("multigrid/MultiGrid-v0", num_agents=4)


@by_edition
def test_the_human_window(edition, pygame):
    """A window opens with the first frame, shows every frame, closes (twice is fine), and opens again."""
    env, documented = edition.env(render_mode="human", size=3), edition.documented(3)
    env.close()
    assert not pygame.display.get_init()
    for _ in range(2):
        env.reset(seed=1), documented.reset(seed=1)
        for action in (None, 0, 1):
            if action is not None:
                env.step(action), documented.step(action)
            seen = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
            np.testing.assert_array_equal(seen, documented.render())
            if action == 0:
                env.close(), env.close()
                assert (pygame.display.get_init(), env.render()) == (False, None)
    env.close()


def test_the_human_window_keeps_its_pace_and_lets_events_through(monkeypatch):
    """Four frames a second, as documented, and each one lets the window system have its say."""
    import pygame

    pumped = []
    monkeypatch.setattr(pygame.event, "pump", lambda: pumped.append(True))
    env = GridWorldEnv(render_mode="human")
    env.reset(seed=0)
    start = time.monotonic()
    for action in (0, 1):
        env.step(action)
    assert time.monotonic() - start > 0.4
    assert len(pumped) == 3
    env.close()
