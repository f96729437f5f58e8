"""`GridWorldEnv` is the documented GridWorld: recorded episodes, an oracle in lockstep, and what may never differ."""

import copy
import json
import pickle
import re
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import env_checker
from gymnasium.wrappers import FlattenObservation, TimeLimit

from helpers import run_python
from multigrid import GridWorldEnv
from oracle import Oracle, digest, plain

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "documented_gridworld.json").read_text())["cases"]
IDS = ["multigrid/GridWorld-v0", "gymnasium_env/GridWorld-v0", "gym_examples/GridWorld-v0"]


@pytest.fixture
def fast_windows(monkeypatch):
    """Let windows run as fast as they can, for the tests that are not about speed."""
    monkeypatch.setitem(GridWorldEnv.metadata, "render_fps", 10_000)


@pytest.fixture
def pygame(fast_windows):
    """Give pygame without any window, before the test and after it."""
    import pygame

    pygame.display.quit()
    yield pygame
    pygame.display.quit()


def play(env, oracle, steps, actions):
    """Play on, reset at each end, and compare everything that comes back."""
    for _ in range(steps):
        action = int(actions.integers(4))
        came = plain(env.step(action))
        assert came == oracle.step(action)
        if came[2]:
            assert plain(env.reset()) == oracle.reset()


def stream_of(generator):
    """The type and the full state of a generator, comparable with ==."""
    return str(generator.bit_generator.state)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"size {case['size']}, seed {case['seed']}")
def test_recorded_episodes_and_frames(case):
    """Every row and every frame that the documented code was recorded with comes out again."""
    env = GridWorldEnv(render_mode="rgb_array", size=case["size"])
    frames = dict(case["frames"])
    seed = case["seed"]  # the first reset is seeded, the others go on with the stream
    for index, (what, *expected) in enumerate(case["rows"]):
        if what == "reset":
            observation, info = env.reset(seed=seed)
            seed, rest = None, []
        else:
            observation, *rest, info = env.step(what)
        assert [observation["agent"].tolist(), observation["target"].tolist(), *rest, info["distance"]] == expected
        if index in frames:
            assert digest(env.render()) == frames.pop(index)
    assert not frames


@pytest.mark.parametrize(("size", "seed"), [(2, 5), (3, 0), (6, 2**40 + 1), (100, 6)])
def test_whole_episodes_equal_the_oracle(size, seed):
    """Observations, rewards, flags and infos of many episodes in a row are those of the documented code."""
    env, oracle = GridWorldEnv(size=size), Oracle(size)
    assert plain(env.reset(seed=seed)) == oracle.reset(seed=seed)
    play(env, oracle, 400, np.random.default_rng(seed))
    assert stream_of(env.np_random) == stream_of(oracle.np_random)


@pytest.mark.parametrize("size", [2, 5, 11])
def test_spaces(size):
    """The spaces are the documented ones, int64 and not wider than the grid; flattened, one Box."""
    env = GridWorldEnv(size=size)
    corner = Box(0, size - 1, (2,), np.int64)
    assert env.action_space == Discrete(4)
    assert env.observation_space == Dict(agent=corner, target=corner)
    flat = FlattenObservation(env)
    assert flat.observation_space == Box(0, size - 1, (4,), np.int64)
    assert flat.observation_space.dtype == np.int64
    observation, _ = flat.reset(seed=3)
    assert observation in flat.observation_space
    expected, _ = Oracle(size).reset(seed=3)
    assert observation.tolist() == [*expected["agent"], *expected["target"]]


def test_metadata_and_defaults():
    """The metadata, the default mode and the default size are the documented ones."""
    assert GridWorldEnv.metadata == {"render_modes": ["human", "rgb_array"], "render_fps": 4}
    env = GridWorldEnv()
    assert (env.render_mode, env.size, env.window_size) == (None, 5, 512)


def test_types_of_what_comes_back():
    """Rewards are ints, flags Python bools, distances floats, cells int64 arrays, at every reset and step."""
    env = GridWorldEnv(size=2)
    observation, info = env.reset(seed=0)
    rewards = set()
    for action in [0, 0, 3, 1, 2, 0, 3] * 3:
        assert type(observation) is dict
        assert list(observation) == ["agent", "target"]
        for cell in observation.values():
            assert type(cell) is np.ndarray
            assert cell.dtype == np.int64
            assert cell.shape == (2,)
        assert type(info) is dict
        assert list(info) == ["distance"]
        assert type(info["distance"]) is float
        observation, reward, terminated, truncated, info = env.step(action)
        assert (type(reward), type(terminated), type(truncated)) == (int, bool, bool)
        rewards.add(reward)
    assert rewards == {0, 1}


@pytest.mark.parametrize("env_id", IDS)
def test_the_three_ids(env_id):
    """Each id makes the documented env, takes its arguments, and has the documented limit or none."""
    env, oracle = gymnasium.make(env_id, size=4), Oracle(4)
    assert type(env.unwrapped) is GridWorldEnv
    assert env.spec.max_episode_steps == (300 if env_id.startswith("gym_examples") else None)
    assert plain(env.reset(seed=12)) == oracle.reset(seed=12)
    play(env, oracle, 200, np.random.default_rng(12))


@pytest.mark.parametrize("suffix", ["", "-v0"])
def test_an_id_of_somebody_else_stays(suffix):
    """`import multigrid` raises nothing, warns of nothing and replaces nothing where one of its names is registered."""
    code = f"""
import gymnasium, pettingzoo
ids = [f"{{space}}/GridWorld{suffix}" for space in ("multigrid", "gymnasium_env", "gym_examples")]
ids.append("multigrid/MultiGrid{suffix}")
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


@pytest.mark.parametrize("env_id", IDS)
def test_the_limit_truncates_and_is_timelimits(env_id):
    """At a limit TimeLimit says truncated, on its very step; without one the game never ends by itself."""
    env = gymnasium.make(env_id)
    # From [4, 3] to the left never meets the target at [2, 1].
    assert plain(env.reset(seed=0))[0] == {"agent": [4, 3], "target": [2, 1]}
    flags = [env.step(2)[2:4] for _ in range(301)]
    limited = env_id.startswith("gym_examples")
    assert flags[:299] == [(False, False)] * 299
    assert flags[299:] == [(False, limited)] * 2


def test_a_limit_can_be_chosen():
    """max_episode_steps of gymnasium.make means what TimeLimit means, on the last step with termination too."""
    env = gymnasium.make("multigrid/GridWorld-v0", max_episode_steps=4)
    assert isinstance(env, TimeLimit)
    env.reset(seed=0)  # [4, 3], target [2, 1]
    assert [env.step(action)[1:4] for action in (2, 2, 3, 3)] == [(0, False, False)] * 3 + [(1, True, True)]


@pytest.mark.parametrize("env_id", [*IDS, None])
def test_gymnasium_check_env(env_id, fast_windows):
    """Gymnasium's own check passes without a warning, every render mode included, also on an env made by its class."""
    env = gymnasium.make(env_id).unwrapped if env_id else GridWorldEnv(size=3)
    env_checker.check_env(env, skip_render_check=env_id is None)


@pytest.mark.heavy
def test_stable_baselines3_check_env():
    """Stable-Baselines3's own check passes without a warning."""
    from stable_baselines3.common.env_checker import check_env

    check_env(GridWorldEnv(size=3), warn=True)


def test_bad_sizes():
    """A size that is no integer of at least 2 is refused, saying what came and what was expected."""
    expected = "expected an integer of at least 2, for the target is never the agent's own cell"
    for size in (0, 1, -3):
        with pytest.raises(ValueError, match=f"size is {size}; {expected}"):
            GridWorldEnv(size=size)
    for size in (2.5, 5.0, True, "5", (5, 5), None):
        message = f"size is {size!r} of type {type(size).__name__}; expected an integer of at least 2"
        with pytest.raises(TypeError, match=re.escape(message)):
            GridWorldEnv(size=size)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridWorldEnv(7), "render_mode is 7; expected None or 'human' or 'rgb_array'; or size=7"),
        (lambda: GridWorldEnv(siz=3), r"'siz' \(did you mean size\?\); expected render_mode, size"),
        (
            lambda: gymnasium.make(IDS[0], size=3, walls="..", num_agents=4),
            r"one agent and no option walls, num_agents; call multigrid\.parallel_env\(walls=.*num_agents=",
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
    """The id that PettingZoo has says, where Gymnasium is asked for it, what to call."""
    with pytest.raises(
        gymnasium.error.UnregisteredEnv, match=r"call multigrid\.parallel_env\(\.\.\.\), or multigrid\.vec"
    ):
        make("multigrid/MultiGrid-v0", num_agents=4)


def test_render_without_a_mode():
    """Without a render mode there is no frame, before or after the reset."""
    env = GridWorldEnv()
    assert env.render() is None
    env.reset()
    assert env.render() is None


def test_the_human_window(pygame):
    """A window opens with the first frame, shows every frame, closes (twice is fine), and opens again."""
    env, oracle = GridWorldEnv(render_mode="human", size=3), Oracle(3)

    def seen():
        return pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)

    env.close()
    assert not pygame.display.get_init()
    for _ in range(2):
        env.reset(seed=1), oracle.reset(seed=1)
        np.testing.assert_array_equal(seen(), oracle.render())
        env.step(0), oracle.step(0)
        np.testing.assert_array_equal(seen(), oracle.render())
        assert env.render() is None
        env.close()
        env.close()
        assert not pygame.display.get_init()
    env.step(1), oracle.step(1)
    np.testing.assert_array_equal(seen(), oracle.render())
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


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deep", "pickle"])
def test_a_copy_with_an_open_window(copied, pygame):
    """An env with an open window can be copied; the copy opens one of its own when it has something to show."""
    env = GridWorldEnv(render_mode="human", size=3)
    env.reset(seed=3)
    other = copied(env)
    env.close()
    assert not pygame.display.get_init()
    assert plain(other.step(1)) == plain(copied(env).step(1))
    assert pygame.display.get_init()
    other.close()
