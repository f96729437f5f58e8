"""The bridge from SuperSuit to Stable-Baselines3: the same play with and without processes, seeds, ends, refusals."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from multigrid import Action, GridConfig, MultiGridEnv
from multigrid.integrations.supersuit import SuperSuitVecEnv, to_sb3

ROOT = Path(__file__).parents[2]
# Neither square nor even: three agents on 4 x 3 cells, whose episodes are short.
WORLD = GridConfig(size=(4, 3), num_agents=3, max_cycles=40)
COPIES = 3
STEPS = 150

# Newer Pythons warn of what SuperSuit does: it forks, and NumPy's threads are there already.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture
def make() -> Iterator[Callable[..., SuperSuitVecEnv]]:
    """`to_sb3`, with what it made closed at the end of the test."""
    made: list[SuperSuitVecEnv] = []

    def make_one(*arguments: Any, **keywords: Any) -> SuperSuitVecEnv:
        made.append(to_sb3(*arguments, **keywords))
        return made[-1]

    yield make_one
    for vec_env in made:
        vec_env.close()


def listed(value: Any) -> Any:
    """The same content without arrays, so that == compares it, types included."""
    if isinstance(value, dict):
        return {key: listed(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [listed(one) for one in value]
    return (str(value.dtype), value.tolist()) if isinstance(value, np.ndarray) else (type(value).__name__, value)


def rows_of(observations: Any) -> list[Any]:
    """The observation of each row."""
    if isinstance(observations, dict):
        number = len(next(iter(observations.values())))
        return [{part: rows[row] for part, rows in observations.items()} for row in range(number)]
    return list(observations)


def played(vec_env: SuperSuitVecEnv, steps: int = STEPS) -> list[Any]:
    """Everything that some steps of random play tell, after a reset."""
    random = np.random.default_rng(4)
    told = [listed(vec_env.reset()), listed(vec_env.reset_infos)]
    told += [listed(vec_env.step(random.integers(0, 4, vec_env.num_envs))) for _ in range(steps)]
    return told


def first_layouts(vec_env: SuperSuitVecEnv) -> list[Any]:
    """Where the agents and targets of each copy lie after a reset."""
    rows = [listed((row["agent"], row["target"])) for row in rows_of(vec_env.reset())]
    return [rows[first : first + 3] for first in range(0, len(rows), 3)]


def weights(model: PPO) -> list[Any]:
    """Every number that was learned."""
    return [tensor.tolist() for tensor in model.policy.state_dict().values()]


@pytest.mark.parametrize("settings", [{}, {"flatten": True}, {"on_target": "restart"}], ids=str)
@pytest.mark.parametrize("num_cpus", [0, 2])
def test_copy_k_plays_the_episodes_of_seed_plus_k(
    settings: dict[str, Any], num_cpus: int, make: Callable[..., SuperSuitVecEnv]
) -> None:
    """Row copy * num_agents + agent tells what a ParallelEnv seeded seed + copy tells, episode after episode."""
    config = GridConfig(size=(4, 3), num_agents=3, max_cycles=40, **settings)
    vec_env = make(config, COPIES, num_cpus=num_cpus, seed=20)
    envs = [MultiGridEnv(config) for _ in range(COPIES)]
    rows = rows_of(vec_env.reset())
    expected: list[Any] = []
    for k, env in enumerate(envs):
        observations, infos = env.reset(seed=20 + k)
        expected += [[observations[agent], infos[agent]] for agent in env.agents]
    assert listed([list(row) for row in zip(rows, vec_env.reset_infos, strict=True)]) == listed(expected)
    random = np.random.default_rng(4)
    episodes = np.zeros(COPIES)
    for _ in range(STEPS):
        actions = random.integers(0, 4, (COPIES, 3))
        observations, rewards, dones, infos = vec_env.step(actions.ravel())
        expected = []
        for k, env in enumerate(envs):
            seen, gained, terminated, truncated, told = env.step(dict(zip(env.agents, actions[k], strict=True)))
            names, ended = list(seen), not env.agents
            episodes[k] += ended
            final = seen
            if ended:
                seen, told = env.reset()  # SuperSuit tells the new episode's distance and outcome then
            for agent in names:
                out_of_time = truncated[agent] and not terminated[agent]
                at_end = {"terminal_observation": final[agent], "TimeLimit.truncated": out_of_time}
                info = told[agent] | (at_end if ended else {})
                expected.append([seen[agent], np.float32(gained[agent]), np.bool_(ended), info])
        assert rewards.dtype == np.float32
        assert dones.dtype == bool
        got = [list(row) for row in zip(rows_of(observations), rewards, dones, infos, strict=True)]
        assert listed(got) == listed(expected)
    assert (episodes >= 3).all()


def test_processes_change_nothing(make: Callable[..., SuperSuitVecEnv]) -> None:
    """With 0, 1, 2 or more processes than copies, a seed gives the same play to the bit, infos and later resets too."""
    told = []
    for num_cpus in (0, 1, 2, 9):
        vec_env = make(WORLD, 5, num_cpus=num_cpus, seed=3)
        told.append(played(vec_env, 60) + played(vec_env, 20))
    assert all(one == told[0] for one in told[1:])


@pytest.mark.parametrize("num_cpus", [0, 2])
def test_seeds_decide(num_cpus: int, make: Callable[..., SuperSuitVecEnv]) -> None:
    """A seed repeats the play of its vec env and, given again, begins it anew; another seed plays otherwise."""
    one, other = make(WORLD, COPIES, num_cpus=num_cpus, seed=3), make(WORLD, COPIES, num_cpus=num_cpus, seed=4)
    first = played(one, 30)
    assert played(one, 30) != first
    one.seed(3)
    assert played(one, 30) == first
    assert played(other, 30) != first


@pytest.mark.parametrize("num_cpus", [0, 2])
def test_without_a_seed_everything_differs(num_cpus: int, make: Callable[..., SuperSuitVecEnv]) -> None:
    """Without a seed, no two copies and no two vec envs begin alike."""
    config = GridConfig(size=(40, 30), num_agents=3)
    layouts = [layout for _ in range(2) for layout in first_layouts(make(config, 4, num_cpus=num_cpus))]
    assert all(layouts[i] != layouts[j] for i in range(8) for j in range(i))


def test_rows_are_fresh(make: Callable[..., SuperSuitVecEnv]) -> None:
    """What a step returned never changes later, with processes and their shared memory too."""
    for num_cpus in (0, 2):
        vec_env = make(WORLD, COPIES, num_cpus=num_cpus, seed=0)
        held = [vec_env.reset(), *(vec_env.step(np.full(9, action)) for action in Action if action < 4)]
        before = listed(held)
        played(vec_env, 20)
        assert listed(held) == before


def learned(num_cpus: int, seed: int = 7, **settings: Any) -> list[Any]:
    """The weights after a short training."""
    config = GridConfig(size=(4, 3), num_agents=3, max_cycles=40, **settings)
    vec_env = to_sb3(config, 4, num_cpus=num_cpus)
    policy = "MlpPolicy" if config.flatten else "MultiInputPolicy"
    model = PPO(policy, vec_env, seed=seed, n_steps=32, batch_size=96, n_epochs=2, device="cpu")
    try:
        model.learn(800)
    finally:
        vec_env.close()
    return weights(model)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread: networks this small only wait for more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("flatten", [False, True])
def test_ppo_is_repeatable(flatten: bool, one_thread: None) -> None:
    """The same seed gives equal weights, with processes or without; another seed gives others."""
    first = learned(0, flatten=flatten)
    assert learned(0, flatten=flatten) == first
    assert learned(2, flatten=flatten) == first
    assert learned(0, seed=8, flatten=flatten) != first


@pytest.mark.parametrize("num_cpus", [0, 2])
@pytest.mark.parametrize(
    ("moves", "truncated"),
    [(["toward"], False), (["away", "away"], True), (["away", "toward"], False)],
    ids=["arrived", "out of time", "arrived in the last step"],
)
def test_a_time_limit_is_told_from_an_end(
    moves: list[str], truncated: bool, num_cpus: int, make: Callable[..., SuperSuitVecEnv]
) -> None:
    """TimeLimit.truncated stands in the infos of ended rows alone, True where time ran out before all had arrived."""
    vec_env = make(GridConfig(size=(2, 1), num_agents=1, max_cycles=2), 2, num_cpus=num_cpus, seed=0)
    seen: Any = vec_env.reset()
    sides = set()
    for _ in range(8):
        target_right = seen["target"][:, 0] > seen["agent"][:, 0]
        sides.update(target_right.tolist())
        for step, move in enumerate(moves, start=1):
            actions = np.where(target_right == (move == "toward"), Action.RIGHT, Action.LEFT)
            seen, rewards, dones, infos = vec_env.step(actions)
            at_end = step == len(moves)
            assert dones.tolist() == [at_end] * 2
            assert [info.get("TimeLimit.truncated") for info in infos] == [truncated if at_end else None] * 2
            assert rewards.tolist() == [float(move == "toward")] * 2
    assert sides == {False, True}


def test_parked_agents_wait_for_the_others(make: Callable[..., SuperSuitVecEnv]) -> None:
    """Rows of a world end together, each agent is paid once, and the rows of other worlds go on."""
    vec_env = make(WORLD, COPIES, seed=0)
    vec_env.reset()
    random = np.random.default_rng(0)
    paid = np.zeros((COPIES, 3))
    alone = 0
    for _ in range(STEPS):
        _, rewards, dones, infos = vec_env.step(random.integers(0, 4, 9))
        paid += rewards.reshape(COPIES, 3)
        ended = dones.reshape(COPIES, 3)
        assert (ended.all(axis=1) == ended.any(axis=1)).all()
        alone += ended.any() and not ended.all()
        for k in np.flatnonzero(ended[:, 0]):
            assert (paid[k] == 1).all() == (not infos[3 * k]["TimeLimit.truncated"])
            assert (paid[k] <= 1).all()
            paid[k] = 0
    assert alone > 0


def test_observations_keep_their_spaces(make: Callable[..., SuperSuitVecEnv]) -> None:
    """The spaces are those of one agent; Dict observations stay Dicts of batches, flat ones a single batch."""
    for num_cpus in (0, 2):
        plain, flat = make(WORLD, 2, num_cpus=num_cpus), make(GridConfig(flatten=True), 2, num_cpus=num_cpus)
        seen: Any = plain.reset()
        assert {part: (rows.shape, rows.dtype) for part, rows in seen.items()} == {
            "agent": ((6, 2), np.int64),
            "target": ((6, 2), np.int64),
            "others": ((6, 2, 2), np.int64),
        }
        assert plain.observation_space == MultiGridEnv(WORLD).observation_space("agent_0")
        assert all(plain.observation_space.contains(row) for row in rows_of(seen))
        seen = flat.reset()
        assert (seen.shape, seen.dtype) == ((4, 6), np.float32)
        assert flat.observation_space == MultiGridEnv(GridConfig(flatten=True)).observation_space("agent_0")
        assert (plain.action_space, plain.num_envs, flat.num_envs) == (Discrete(4), 6, 4)


def test_agents_that_leave_are_refused() -> None:
    """The error says why SuperSuit cannot play on_target="leave", and names the alternatives."""
    with pytest.raises(ValueError, match=r"on_target is 'leave', but SuperSuit cannot .*'park'.*'stay' or 'restart'"):
        to_sb3(GridConfig(on_target="leave"), 2)


@pytest.mark.parametrize(("copies", "num_cpus"), [(0, 0), (-1, 0), (2, -1)])
def test_impossible_numbers_are_refused(copies: int, num_cpus: int) -> None:
    """Fewer than one copy, or fewer than zero processes, is an error that shows both numbers and starts nothing."""
    with pytest.raises(ValueError, match=f"copies is {copies} and num_cpus {num_cpus}; expected"):
        to_sb3(WORLD, copies, num_cpus=num_cpus)
    assert multiprocessing.active_children() == []


def test_what_can_be_asked_of_the_copies(make: Callable[..., SuperSuitVecEnv]) -> None:
    """Attributes that all rows share are told for each row asked for; no copy is wrapped."""
    vec_env = make(WORLD, 2, render_mode="rgb_array")
    assert vec_env.get_attr("config") == [WORLD] * 6
    assert vec_env.get_attr("render_mode", [0, 4]) == ["rgb_array"] * 2
    assert vec_env.get_attr("config", 5) == [WORLD]
    assert vec_env.env_is_wrapped(TimeLimit) == [False] * 6
    assert vec_env.env_is_wrapped(TimeLimit, [1, 2]) == [False] * 2
    assert not vec_env.has_attr("no_such_thing")


def test_what_cannot_be_reached_says_so(make: Callable[..., SuperSuitVecEnv]) -> None:
    """Reading what is not shared, setting anything and calling anything are errors that name it."""
    vec_env = make(WORLD, 2)
    with pytest.raises(AttributeError, match=r"'state' cannot be read.*\['config', 'render_mode'\]"):
        vec_env.get_attr("state")
    with pytest.raises(NotImplementedError, match="'max_cycles' cannot be set"):
        vec_env.set_attr("max_cycles", 5)
    with pytest.raises(NotImplementedError, match=r"state\(\) cannot be called"):
        vec_env.env_method("state")


@pytest.mark.parametrize("num_cpus", [0, 2])
def test_the_first_copy_is_drawn(num_cpus: int, make: Callable[..., SuperSuitVecEnv]) -> None:
    """get_images() gives the frame of copy 0, as a ParallelEnv of its seed draws it."""
    vec_env = make(WORLD, 2, num_cpus=num_cpus, seed=6, render_mode="rgb_array")
    env = MultiGridEnv(WORLD, render_mode="rgb_array")
    vec_env.reset()
    env.reset(seed=6)
    for _ in range(3):
        (frame,) = vec_env.get_images()
        np.testing.assert_array_equal(frame, env.render())
        vec_env.step(np.full(6, Action.LEFT))
        env.step(dict.fromkeys(env.agents, Action.LEFT))


def test_vec_wrappers_of_stable_baselines3_fit(make: Callable[..., SuperSuitVecEnv]) -> None:
    """VecMonitor, which learners put around it, counts the steps and rewards of each row's episodes."""
    monitor = VecMonitor(make(GridConfig(size=(2, 1), num_agents=1, max_cycles=2), 2, seed=0))
    monitor.reset()
    lengths = set()
    for action in [0, 0, 2, 2] * 5:
        *_, infos = monitor.step(np.full(2, action))
        lengths |= {(info["episode"]["l"], info["episode"]["r"]) for info in infos if "episode" in info}
    assert lengths <= {(1, 1.0), (2, 0.0), (2, 1.0)}
    assert len(lengths) > 1


@pytest.mark.parametrize("num_cpus", [0, 2])
def test_closing_leaves_nobody_behind(num_cpus: int) -> None:
    """close() ends all workers, without an error, and may be called again."""
    vec_env = to_sb3(WORLD, COPIES, num_cpus=num_cpus, seed=0)
    vec_env.reset()
    workers = multiprocessing.active_children()
    assert len(workers) == num_cpus
    vec_env.close()
    assert [worker.exitcode for worker in workers] == [0] * num_cpus
    assert multiprocessing.active_children() == []
    vec_env.close()


def test_workers_that_died_do_not_hinder_closing() -> None:
    """After Ctrl-C in a terminal, which reaches the workers too, close() has nothing to wait for."""
    vec_env = to_sb3(WORLD, COPIES, num_cpus=2, seed=0)
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()
    vec_env.close()
    assert multiprocessing.active_children() == []


FORGETFUL = """
import multigrid, sys
from multigrid.integrations.supersuit import to_sb3
if __name__ == "__main__":
    vec_env = to_sb3(multigrid.GridConfig(), 2, num_cpus=2, seed=0)
    vec_env.reset()
    if "fail" in sys.argv:
        raise SystemExit(3)
"""


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["fail"], 3)])
def test_python_ends_though_nobody_closed(arguments: list[str], code: int) -> None:
    """A program that forgets close(), or fails before it, ends at once and quietly, and its workers with it."""
    result = subprocess.run(
        [sys.executable, "-c", FORGETFUL, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")
