"""A game that a script registers under ``__name__ == "__main__"`` reaches the processes that play it."""

import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import gymnasium
import pettingzoo
import pytest
from gymnasium.envs.registration import EnvSpec
from sample_games import KeyAndDoor

import multigrid
from helpers import AROUND, run_python
from multigrid import Game

SCRIPT = """
import functools
import multiprocessing
import sys

import cloudpickle
import gymnasium
import multigrid
import pettingzoo


def double(toll):
    return 2 * toll


if __name__ == "__main__":

    class Toll(multigrid.Game):
        options = {"toll": 0.25}

        def after_moves(w, s, e):
            for i in range(w.rewards.shape[1]):
                w.rewards[e, i] -= double(s.toll)


def play(pipe, pickled):
    env = cloudpickle.loads(pickled)()
    env.reset(seed=0)
    if isinstance(env, gymnasium.Env):
        pipe.send([env.step(0)[1], env.unwrapped.config.size])
    elif isinstance(env, pettingzoo.AECEnv):
        env.step(0), env.step(0)
        pipe.send([*env.rewards.values(), env.unwrapped.config.size])
    else:
        pipe.send([*env.step(dict.fromkeys(env.agents, 0))[1].values(), env.unwrapped.config.size])


if __name__ == "__main__":
    method = sys.argv[1]
    multigrid.register("Toll-v0", Toll, size=(6, 4), toll=0.5)
    envs = gymnasium.make_vec(
        "multigrid/Toll-v0", num_envs=2, vectorization_mode="async", vector_kwargs={"context": method}, toll=0.75
    )
    envs.reset(seed=0)
    print(envs.step([0, 0])[1].tolist())
    envs.close()
    makes = [gymnasium.spec("multigrid/Toll-v0").make]
    if hasattr(pettingzoo, "spec"):
        for kind in ("parallel", "aec"):
            spec = pettingzoo.spec(kind, "multigrid/Toll-v0")
            makes.append(functools.partial(pettingzoo.make, kind, spec, num_agents=2))
    context = multiprocessing.get_context(method)
    for make in makes:
        here, there = context.Pipe()
        process = context.Process(target=play, args=(there, cloudpickle.dumps(make)))
        process.start()
        there.close()
        print(here.recv())
        process.join()
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_game_of_a_script_reaches_its_workers(method: str, tmp_path: Path) -> None:
    """Workers that import nothing that registers the game play it with its options, whatever starts them."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    ended = run_python(str(script), method)
    assert ended.returncode == 0, ended.stderr
    expected = ["[-1.5, -1.5]", "[-1.0, (6, 4)]"]
    if hasattr(pettingzoo, "spec"):
        expected += ["[-1.0, -1.0, (6, 4)]"] * 2
    assert ended.stdout.splitlines() == expected


def test_a_pickled_spec_of_a_notebook_is_whole(tmp_path: Path) -> None:
    """A spec of a class that no module has makes its environment in a Python that knows nothing else of it."""
    script = SCRIPT.split("def play", maxsplit=1)[0] + (
        "multigrid.register('Toll-v0', Toll, size=(6, 4))\n"
        "sys.stdout.buffer.write(cloudpickle.dumps(gymnasium.make('multigrid/Toll-v0', toll=2.0).spec))\n"
    )
    written = subprocess.run([sys.executable, "-c", script], env=AROUND, capture_output=True, check=True)
    (tmp_path / "spec").write_bytes(written.stdout)
    read = (
        "import pathlib, pickle, sys, gymnasium\n"
        "env = gymnasium.make(pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()))\n"
        "env.reset(seed=0)\n"
        "print(env.step(0)[1], env.unwrapped.config.size)\n"
    )
    ended = run_python("-c", read, str(tmp_path / "spec"))
    assert ended.stdout == "-4.0 (6, 4)\n", ended.stderr


def test_a_spec_as_json_names_the_game() -> None:
    """A spec comes through JSON: a module's class is found anywhere, another one where it is registered."""
    multigrid.register("KeyAndDoor-v0", KeyAndDoor, size=4, penalty=0.5)
    env = gymnasium.make("multigrid/KeyAndDoor-v0", opens=False)
    spec = EnvSpec.from_json(env.spec.to_json())
    assert spec == env.spec
    assert pickle.loads(pickle.dumps(spec)) == cloudpickle.loads(cloudpickle.dumps(env.spec)) == spec

    class Local(Game):
        """A class that no module has."""

    assert gymnasium.make(spec).unwrapped.config == env.unwrapped.config
    multigrid.register("Local-v0", Local)
    local = EnvSpec.from_json(gymnasium.spec("multigrid/Local-v0").to_json())
    assert gymnasium.make(local).unwrapped.config.game is Local
    read = "import sys, gymnasium; gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(sys.argv[1]))"
    ended = run_python("-c", read, local.to_json())
    assert "ValueError: the game is 'test_workers:test_a_spec_as_json_names_the_game.<locals>.Local'" in ended.stderr
    assert "call multigrid.register with it first, or move it into a module" in ended.stderr
    ended = run_python("-c", read, spec.to_json(), cwd=Path(__file__).parent)
    assert ended.returncode == 0, ended.stderr


def test_gymnasium_collects_the_frames_of_a_game() -> None:
    """With "rgb_array_list", which Gymnasium derives from the metadata, `render` returns the frames so far."""
    multigrid.register("KeyAndDoor-v0", KeyAndDoor, size=(5, 4))
    env = gymnasium.make("multigrid/KeyAndDoor-v0", render_mode="rgb_array_list")
    env.reset(seed=0), env.step(0)
    assert len(env.render()) == 2
