"""`multigrid train`: what it leaves behind, and that its seed decides it."""

import base64
import importlib.metadata
import itertools
import json
import os
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from stable_baselines3 import PPO

import multigrid
from helpers import interrupt_multigrid, names, read_gif, read_rows, run_without
from multigrid import GridConfig, MultiGridEnv
from multigrid.cli import _train_sb3 as train_module
from multigrid.cli import main
from multigrid.cli._train_runs import play_held_out
from multigrid.core.rules import RULES_VERSION
from multigrid.integrations import sb3_buffers
from multigrid.integrations.sb3 import Actor

pytestmark = pytest.mark.heavy

WRITTEN = ["comparison.svg", "config.json", "curve.png", "episode.json", "evaluation.gif", "evaluation.json"]
WRITTEN += ["heat.png", "metrics.csv", "model.zip"]
OUTPUTS = ["checkpoints", *WRITTEN]
TINY = "--size 5 --max-cycles 20 --on-target leave --steps 2048 --copies 4 --rollout 64 --batch-size 128 --epochs 2 "
TINY += "--learning-rate 0.01 --hidden 16 --episodes 12 --evaluations 6"
# 64 steps of 4 copies of 2 agents, four times over.
ROLLOUT = 64 * 4 * 2


def read_json(path):
    """The content of a JSON file."""
    return json.loads(path.read_text())


def weights(folder):
    """All weights of a run's model, in one vector."""
    states = PPO.load(folder / "model.zip", device="cpu").policy.state_dict().values()
    return np.concatenate([value.numpy().ravel() for value in states])


def evaluate_again(model, config):
    """The figures of the twelve held-out episodes."""
    return play_held_out(config, range(12), Actor(model.policy, 12 * config.num_agents)).summary()


@pytest.fixture(scope="module")
def printed_and_folder(tmp_path_factory):
    """What a tiny training printed, without SuperSuit, and the run folder that it made without being given one."""
    parent = tmp_path_factory.mktemp("home")
    # The usual film of 960 pixels a side would take half of the time.
    smaller = "import multigrid.cli._train_sb3 as films; films._PIXELS = 240"
    done = run_without(("supersuit",), "train", *f"{TINY} --seed 5".split(), before=smaller, cwd=parent)
    assert done.returncode == 0, done.stderr
    (folder,) = (parent / "runs").iterdir()
    return done.stdout + done.stderr, folder


@pytest.fixture(scope="module")
def folder(printed_and_folder):
    """The run folder of that training."""
    return printed_and_folder[1]


def test_the_last_lines_say_where_and_how_well(printed_and_folder):
    """At the end stand success before and after, each file that is left, and commands; nothing else is left."""
    printed, folder = printed_and_folder
    assert names(folder) == OUTPUTS
    evaluation = read_json(folder / "evaluation.json")
    lines = printed.replace(os.sep, "/").splitlines()
    run = f"runs/{folder.name}"
    assert lines[-7:-5] == [f"files in {run}: {', '.join(OUTPUTS)}", "next:"]
    assert f"training 2 agents on grid-5x5-2 for 2,048 steps in {run}" in lines
    commands = [f"train --resume {run} --steps 4096", f"evaluate {run} pretrained pibt"]
    commands += [f"rollout --policy {run} --gif", f"replay {run}/episode.json", f"play --map {run}"]
    for line, command in zip(lines[-5:], commands, strict=True):
        assert line.strip().startswith(f"multigrid {command} ")
        assert len(line) <= 80
    rows = {line.split()[0]: line.split()[1:3] for line in lines if line.startswith(("success  ", "ISR  ", "steps  "))}
    for name, key, form in (("success", "success_rate", ".1%"), ("ISR", "isr", ".1%"), ("steps", "mean_steps", ".1f")):
        assert rows[name] == [f"{evaluation[when][key]:{form}}" for when in ("before", "after")]
    assert "Traceback" not in printed


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("world", ["--on-target restart", "--collisions priority"])
def test_the_printed_commands_work(world, capsys):
    """Whatever the rules, they run: a comparison, and a training of as many steps; under *restart* arrivals count."""
    assert main(["train", *f"{TINY} {world} --folder run".split()]) == 0
    printed = "".join(capsys.readouterr())
    assert ("arrivals" in printed, "all agents arrive" in printed) == ("restart" in world, "restart" not in world)
    commands = re.findall("^  multigrid .*", printed, re.MULTILINE)
    resume, compare, *_ = [line.split("  ")[1].split()[1:] for line in commands]
    assert resume == ["train", "--resume", "run", "--steps", "4096"]
    assert main(resume) == 0
    assert "training 2 agents on grid-5x5-2 for 2,048 more steps in run" in capsys.readouterr().err
    assert [int(row["steps"]) for row in read_rows(Path("run/metrics.csv"))][-1] == 4096
    assert compare[:3] == ["evaluate", "run", "pretrained"]
    assert (compare[3] == "pibt") == ("priority" not in world)
    assert main([*compare, "--episodes", "2"]) == 0


def test_the_gif_and_the_evaluations_are_spread_over_the_run(folder):
    """Evaluations are before, after a rollout each at most once, and at the end; the film's frames all differ."""
    content = read_json(folder / "evaluation.json")
    assert [one.pop("steps") for one in content["during"]] == [0, ROLLOUT, 2 * ROLLOUT, 3 * ROLLOUT, 4 * ROLLOUT]
    assert (content["during"][0], content["during"][-1]) == (content["before"], content["after"])
    assert len({tuple(one.values()) for one in content["during"]}) > 2, "each is of the policy of its own moment"
    _, pictures, durations = read_gif(folder / "evaluation.gif")
    assert len(pictures) >= 12
    assert all((pixels == 255).all(axis=2).mean() > 0.5 for pixels in pictures), "the grid is white"
    assert not any(np.array_equal(*frames) for frames in itertools.pairwise(pictures))
    assert (min(durations), max(durations) >= 750) == (250, True), "four frames a second, and the end is held"


@pytest.mark.usefixtures("no_pictures")
def test_evaluations_change_nothing_in_the_training():
    """With evaluations in between the weights are those of a training without."""
    for number in (2, 5):
        flags = f"{TINY} --steps 1024 --episodes 2 --evaluations {number} --folder run-{number}"
        assert main(["train", *flags.split()]) == 0
    np.testing.assert_array_equal(weights(Path("run-2")), weights(Path("run-5")))


def test_the_config_rebuilds_the_run(folder):
    """config.json holds every flag, makes the same GridConfig again, and names the versions, that of the rules too."""
    content = read_json(folder / "config.json")
    assert GridConfig(**content["grid"]) == GridConfig(size=5, max_cycles=20, on_target="leave")
    flags = {"steps": 2048, "copies": 4, "rollout": 64, "batch_size": 128, "epochs": 2, "hidden": [16], "episodes": 12}
    flags |= {"seed": 5, "num_threads": 1, "log": None}
    assert {name: content[name] for name in flags} == flags
    packages = ("gymnasium", "pettingzoo", "stable-baselines3", "torch", "numpy")
    versions = {package: importlib.metadata.version(package) for package in packages}
    assert content["versions"] == versions | {"multigrid-marl": multigrid.__version__}
    assert content["rules"] == RULES_VERSION


def test_the_model_plays_as_it_was_evaluated(folder):
    """The saved model, put to the held-out episodes again, gives the recorded figures; it holds no compiled code."""
    model = PPO.load(folder / "model.zip", device="cpu")
    config = GridConfig(**read_json(folder / "config.json")["grid"])
    env = MultiGridEnv(config)
    assert (model.observation_space, model.action_space) == (env.observation_space("agent_0"), Discrete(4))
    assert evaluate_again(model, config) == read_json(folder / "evaluation.json")["after"]
    action, _ = model.predict(env.reset(seed=0)[0]["agent_0"])
    assert model.action_space.contains(np.int64(action))
    with zipfile.ZipFile(folder / "model.zip") as archive:
        saved = json.loads(archive.read("data"))
    pickles = [value[":serialized:"] for value in saved.values() if isinstance(value, dict) and ":serialized:" in value]
    assert pickles
    assert not any(b"CodeType" in base64.b64decode(one) for one in pickles)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("flags", ["--num-threads 2", "--seed 6"])
def test_the_seed_decides_the_run(flags, folder):
    """With the same seed, metrics and weights are the same to the bit, whatever plays the worlds; else they differ."""
    other = Path("some/where/else")
    assert main(["train", *f"{TINY} --seed 5 {flags} --folder {other}".split()]) == 0
    runs = [[row | {"seconds": ""} for row in read_rows(run / "metrics.csv")] for run in (folder, other)]
    runs += [[read_json(run / "evaluation.json"), weights(run).tobytes()] for run in (folder, other)]
    assert any(row["episodes"] != "0" for row in runs[0])
    assert (runs[0] == runs[1]) == (runs[2][0] == runs[3][0]) == (runs[2][1] == runs[3][1]) == ("--seed" not in flags)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send to another process")
def test_ctrl_c_keeps_what_was_learned(home):
    """Ctrl-C ends the training; every output is there, and the exit code is 130."""
    # Short episodes, for the film of them is as large as a user's.
    flags = f"train {TINY} --max-cycles 6 --steps 100000000 --folder run"
    code, printed = interrupt_multigrid(*flags.split(), after="reward/step", cwd=home)
    assert code == 130, printed
    assert "Traceback" not in printed
    assert "success" in printed
    assert "multigrid train --resume run" in printed
    assert set(names(home / "run")) - {"checkpoints"} == set(WRITTEN)
    assert read_gif(home / "run" / "evaluation.gif")[1][0].shape[1] == 960
    assert 1 <= len(read_rows(home / "run" / "metrics.csv")) < 10_000
    after = read_json(home / "run" / "evaluation.json")["after"]
    model = PPO.load(home / "run" / "model.zip", device="cpu")
    assert evaluate_again(model, GridConfig(max_cycles=6, on_target="leave")) == after


def test_ctrl_c_before_the_first_rollout_is_over_leaves_all_outputs(monkeypatch):
    """Interrupted at once, a run still has metrics: the columns, without rows."""

    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_module.PPO, "learn", press)
    assert main(["train", *f"{TINY} --episodes 2 --folder run".split()]) == 130
    assert names(Path("run")) == WRITTEN
    columns = "steps,episodes,success_rate,mean_steps,reward_per_step,seconds"
    assert Path("run/metrics.csv").read_text().splitlines() == [columns]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("flags", ["", "--no-flatten"])
def test_agents_that_have_left_are_not_learned_from(flags, monkeypatch):
    """Each update goes through the observations of the agents that were present, each once, and through no other."""
    acted, learned, updates = [], [], []

    def as_bytes(observations):
        parts = observations.values() if isinstance(observations, dict) else [observations]
        return [b"".join(row.tobytes() for row in rows) for rows in zip(*map(np.asarray, parts), strict=True)]

    on_step, get = train_module.Training._on_step, sb3_buffers.Masked.get

    def record(training):
        rows = as_bytes(training.locals["obs_tensor"])
        acted.extend(row for row, info in zip(rows, training.locals["infos"], strict=True) if info.get("alive", True))
        return on_step(training)

    def yielded(buffer, batch_size=None):
        for batch in get(buffer, batch_size):
            learned.extend(as_bytes(batch.observations))
            yield batch
        updates.append((sorted(acted), sorted(learned)))
        acted.clear()
        learned.clear()

    monkeypatch.setattr(train_module.Training, "_on_step", record)
    monkeypatch.setattr(sb3_buffers.Masked, "get", yielded)
    world = f"--size 5 4 --num-agents 3 --on-target leave --max-cycles 20 {flags}"
    small = "--steps 480 --copies 4 --rollout 20 --batch-size 60 --epochs 1 --evaluations 2 --episodes 4"
    assert main(["train", *f"{world} {small} --folder run".split()]) == 0
    with pytest.raises(ValueError, match="alive is None; a callback must set it"):
        sb3_buffers.AliveRolloutBuffer(2, Discrete(3), Discrete(4)).add(*[None] * 6)
    assert len(updates) == 2
    for present, used in updates:
        assert 0 < len(present) < 240
        assert used == present
