"""`multigrid train`: what it leaves behind, what it refuses, and that it learns."""

from __future__ import annotations

import base64
import csv
import importlib.metadata
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from stable_baselines3 import PPO

import multigrid
from helpers import AROUND
from multigrid import GridConfig, MultiGridEnv
from multigrid.cli import main
from multigrid.cli._files import make_folder
from multigrid.cli.train import sb3 as train_module
from multigrid.cli.train.held_out import HeldOut
from multigrid.cli.train.options import SB3Options
from multigrid.cli.train.report import print_report
from multigrid.core.rules import RULES_VERSION
from multigrid.integrations.sb3 import MultiGridVecEnv
from multigrid.integrations.training import training_seed

pytestmark = pytest.mark.heavy

OUTPUTS = ["config.json", "curve.png", "evaluation.gif", "evaluation.json", "heat.png", "metrics.csv", "model.zip"]
TINY = "--steps 2048 --copies 4 --rollout 64 --batch-size 128 --epochs 2 --hidden 16 --episodes 12 --max-cycles 20"
IN_PROCESS = f"{TINY} --episodes 2 --folder run"
# 64 steps of 4 copies of 2 agents, four times over.
ROLLOUT = 64 * 4 * 2


def command(flags: str) -> list[str]:
    """The command line of a training."""
    return [sys.executable, "-m", "multigrid", "train", *flags.split()]


def run_train(flags: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Train in a process of its own, in the folder `home`."""
    return subprocess.run(
        command(flags), cwd=home, env=AROUND, capture_output=True, text=True, timeout=300, check=False
    )


def read_rows(folder: Path) -> list[dict[str, str]]:
    """The metrics of a run."""
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def read_json(path: Path) -> dict[str, Any]:
    """The content of a JSON file."""
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def weights(folder: Path) -> np.ndarray:
    """All weights of a run's model, in one vector."""
    states = PPO.load(folder / "model.zip", device="cpu").policy.state_dict().values()
    return np.concatenate([value.numpy().ravel() for value in states])


def evaluate_again(model: PPO, config: GridConfig) -> dict[str, float]:
    """The figures of the twelve held-out episodes."""
    held_out = train_module._evaluate(model, SB3Options(grid=config, episodes=12))
    return held_out.summary()


def pixels_of(image: Any, colour: Sequence[int]) -> int:
    """How many pixels of an image have a colour, but for the rounding of a palette."""
    distance = np.abs(np.asarray(image.convert("RGB"), dtype=int) - np.array(colour)).max(axis=2)
    return int((distance <= 4).sum())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a tiny training was run, without a word about where to put its outputs."""
    home = tmp_path_factory.mktemp("home")
    done = run_train(f"{TINY} --seed 5", home)
    assert done.returncode == 0, done.stderr
    (home / "said").write_text(done.stdout + done.stderr)
    return home


@pytest.fixture(scope="module")
def folder(home: Path) -> Path:
    """The run folder of that training."""
    (folder,) = (home / "runs").iterdir()
    return folder


def test_a_run_leaves_all_its_outputs_and_nothing_else(folder: Path) -> None:
    """The new folder holds the outputs under their names, and no temporary file."""
    assert sorted(path.name for path in folder.iterdir()) == OUTPUTS


def test_the_last_lines_say_where_and_how_well(home: Path, folder: Path) -> None:
    """At the end stand the success before and after, as in evaluation.json, and the folder."""
    told = read_json(folder / "evaluation.json")
    said = (home / "said").read_text()
    assert folder.relative_to(home).as_posix() in said.splitlines()[-1]
    for when in ("before", "after"):
        assert f"{told[when]['success_rate']:.1%}" in said
    assert "Traceback" not in said


def test_metrics_have_a_row_for_each_rollout(folder: Path) -> None:
    """The CSV counts steps of all agents up, a rollout a row, with figures in their ranges."""
    rows = read_rows(folder)
    assert [int(row["steps"]) for row in rows] == [ROLLOUT, 2 * ROLLOUT, 3 * ROLLOUT, 4 * ROLLOUT]
    for row in rows:
        # Episodes of at most 20 steps: some end in each rollout.
        assert int(row["episodes"]) >= 4 * (64 // 20)
        assert 0 <= float(row["success_rate"]) <= 1
        assert 1 <= float(row["mean_steps"]) <= 20
        assert 0 <= float(row["reward_per_step"]) <= 1
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


def test_the_curve_shows_training_and_evaluation(folder: Path) -> None:
    """The PNG has the line of the training and the points of the held-out episodes, on white."""
    with Image.open(folder / "curve.png") as image:
        assert image.format == "PNG"
        assert min(image.size) > 400
        assert pixels_of(image, (0x00, 0x72, 0xB2)) > 500
        assert pixels_of(image, (0xD5, 0x5E, 0x00)) > 500
        assert pixels_of(image, (255, 255, 255)) > image.width * image.height / 2


def test_the_heat_map_shows_where_agents_went(folder: Path) -> None:
    """Beside its scale the PNG has cells of the left map in shades of blue, of the right one in shades of orange."""
    with Image.open(folder / "heat.png") as image:
        assert image.format == "PNG"
        pixels = np.asarray(image.convert("RGB"), dtype=int)
    half = pixels.shape[1] // 2
    red, _, blue = np.moveaxis(pixels, 2, 0)
    assert (blue - red > 60)[:, :half].sum() > 20_000
    assert (red - blue > 60)[:, half:].sum() > 20_000
    assert not (red - blue > 60)[:, :half].any()


def test_evaluations_are_spread_over_the_run(folder: Path) -> None:
    """Of six evaluations the first is before and the last after; those between follow a rollout each, at most once."""
    told = read_json(folder / "evaluation.json")
    assert [one.pop("steps") for one in told["during"]] == [0, ROLLOUT, 2 * ROLLOUT, 3 * ROLLOUT, 4 * ROLLOUT]
    assert (told["during"][0], told["during"][-1]) == (told["before"], told["after"])
    assert len({tuple(one.values()) for one in told["during"]}) > 2, "each is of the policy of its own moment"


def test_evaluations_change_nothing_in_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With evaluations in between the weights are those of a training without."""
    monkeypatch.chdir(tmp_path)
    for number in (2, 5):
        assert main(["train", *f"{TINY} --episodes 2 --evaluations {number} --folder run-{number}".split()]) == 0
    np.testing.assert_array_equal(weights(tmp_path / "run-2"), weights(tmp_path / "run-5"))


def test_the_gif_shows_the_game(folder: Path) -> None:
    """The GIF has frames of agents that move on a white grid with grey lines, and rests where an episode ends."""
    with Image.open(folder / "evaluation.gif") as image:
        assert image.format == "GIF"
        assert image.size == (256, 256)
        frames, durations = [], []
        for index in range(image.n_frames):
            image.seek(index)
            durations.append(image.info["duration"])
            frames.append(image.convert("RGB"))
    assert len(frames) >= 12
    for frame in frames:
        assert pixels_of(frame, (255, 255, 255)) > 256 * 256 / 2
        assert pixels_of(frame, (225, 225, 228)) > 4 * 256, "a line of one pixel in 196, 196, 202, at half the size"
        pixels = np.asarray(frame, dtype=int).reshape(-1, 3)
        colours = np.unique(pixels[pixels.max(axis=1) - pixels.min(axis=1) > 60], axis=0)
        assert len(colours) >= 3, "two agents and their targets, of which one may be hidden"
    assert all(one.tobytes() != other.tobytes() for one, other in itertools.pairwise(frames))
    assert min(durations) == 250, "four frames a second can be followed"
    assert max(durations) >= 750, "the end of an episode is held for a moment"


def test_the_config_rebuilds_the_run(folder: Path) -> None:
    """config.json holds every flag, makes the same GridConfig again, and names the versions, that of the rules too."""
    told = read_json(folder / "config.json")
    assert GridConfig(**told["grid"]) == GridConfig(max_cycles=20)
    flags = {"steps": 2048, "copies": 4, "rollout": 64, "batch_size": 128, "epochs": 2, "hidden": [16], "episodes": 12}
    assert {name: told[name] for name in flags} == flags
    assert (told["seed"], told["vectorizer"], told["num_threads"], told["num_cpus"]) == (5, "native", 1, 0)
    assert told["engine"] == "sb3"
    packages = {"gymnasium", "pettingzoo", "stable-baselines3", "torch", "numpy"}
    versions = {package: importlib.metadata.version(package) for package in packages}
    assert told["versions"] == versions | {"multigrid-marl": multigrid.__version__}
    assert told["rules"] == RULES_VERSION


def test_the_model_plays_as_it_was_evaluated(folder: Path) -> None:
    """The saved model, loaded and put to the held-out episodes again, gives the recorded figures."""
    model = PPO.load(folder / "model.zip", device="cpu")
    config = GridConfig(**read_json(folder / "config.json")["grid"])
    env = MultiGridEnv(config)
    assert model.observation_space == env.observation_space("agent_0")
    assert model.action_space == env.action_space("agent_0")
    assert evaluate_again(model, config) == read_json(folder / "evaluation.json")["after"]
    observations, _ = env.reset(seed=0)
    action, _ = model.predict(observations["agent_0"])
    assert env.action_space("agent_0").contains(np.int64(action))


@pytest.mark.parametrize(
    "flags", ["--vectorizer supersuit", "--vectorizer supersuit --num-cpus 2", "--vectorizer native --num-threads 2"]
)
def test_the_same_seed_gives_the_same_run(flags: str, folder: Path, tmp_path: Path) -> None:
    """With the same seed, metrics and weights are the same to the bit, whatever plays the worlds."""
    done = run_train(f"{TINY} --seed 5 {flags} --folder again", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [[row | {"seconds": ""} for row in read_rows(one)] for one in (folder, tmp_path / "again")]
    assert rows[0] == rows[1]
    assert read_json(tmp_path / "again" / "evaluation.json") == read_json(folder / "evaluation.json")
    np.testing.assert_array_equal(weights(tmp_path / "again"), weights(folder))


def test_another_seed_gives_another_run(folder: Path, tmp_path: Path) -> None:
    """The seed reaches the training; and a second name for the outputs, in folders yet to be made, is taken."""
    done = run_train(f"{TINY} --seed 6 --folder some/where/else", tmp_path)
    assert done.returncode == 0, done.stderr
    other = tmp_path / "some" / "where" / "else"
    assert sorted(path.name for path in other.iterdir()) == OUTPUTS
    assert not np.array_equal(weights(other), weights(folder))
    assert read_rows(other)[0]["reward_per_step"] != read_rows(folder)[0]["reward_per_step"]


@pytest.mark.parametrize(
    "flags",
    [
        "--on-target restart --flatten",
        "--on-target leave",
        "--num-agents 1 --size 4 3 --observe target view walls action_mask agent",
    ],
)
def test_other_worlds_are_trained(flags: str, tmp_path: Path) -> None:
    """Where nobody ever terminates, arrivals are told instead; agents may leave, or be alone, and see everything."""
    done = run_train(f"{TINY} --steps 512 --folder run {flags}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == OUTPUTS
    said = done.stdout + done.stderr
    assert ("arrivals" in said, "all agents arrived" in said) == ("restart" in flags, "restart" not in flags)


def test_training_learns(tmp_path: Path) -> None:
    """After a short training nearly all held-out episodes succeed in 20 steps, of which few did before.

    The limit is tight on purpose: within the default 300 steps random play succeeds in 97 of 100 episodes, and
    success would show nothing.
    """
    done = run_train("--max-cycles 20 --steps 60000 --hidden 64 64 --episodes 100 --folder run", tmp_path)
    assert done.returncode == 0, done.stderr
    told = read_json(tmp_path / "run" / "evaluation.json")
    assert told["before"]["success_rate"] < 0.3
    assert told["after"]["success_rate"] > 0.85
    rows = read_rows(tmp_path / "run")
    assert float(rows[-1]["success_rate"]) > float(rows[0]["success_rate"]) + 0.4


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send to another process")
@pytest.mark.parametrize("vectorizer", ["native", "supersuit --num-cpus 2"])
def test_ctrl_c_keeps_what_was_learned(vectorizer: str, tmp_path: Path) -> None:
    """Ctrl-C, which reaches the workers too, ends the training; every output is there, and the exit code is 130."""
    flags = f"{TINY} --steps 100000000 --vectorizer {vectorizer} --folder run"
    # As in a terminal: the bar is drawn while it runs, and the signal goes to the whole group.
    process = subprocess.Popen(
        command(flags),
        cwd=tmp_path,
        env={**AROUND, "FORCE_COLOR": "1", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # What a shell starts in the background ignores Ctrl-C, and so does all that it starts: the tests may be such.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads hold a lock here
    )
    assert process.stdout is not None
    said, deadline = b"", time.monotonic() + 120
    while b"reward/step" not in said:
        assert time.monotonic() < deadline, said.decode()
        said += os.read(process.stdout.fileno(), 4096)
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    said += rest
    assert process.returncode == 130, said.decode()
    assert b"Traceback" not in said
    assert b"success" in said
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == OUTPUTS
    assert 1 <= len(read_rows(tmp_path / "run")) < 10_000
    model = PPO.load(tmp_path / "run" / "model.zip", device="cpu")
    after = read_json(tmp_path / "run" / "evaluation.json")["after"]
    assert evaluate_again(model, GridConfig(max_cycles=20)) == after


def test_an_existing_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that exists, even an empty one, is refused before anything is trained, and stays as it was."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "model.zip").write_text("a week of training")
    for name in ("empty", "full", "full/model.zip"):
        assert main(["train", "--folder", name]) == 2
        said = capsys.readouterr()
        assert said.err.count("\n") == 1
        assert f"{name} exists already" in said.err.replace(os.sep, "/")
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert found == ["empty", "full", "full/model.zip"]
    assert (tmp_path / "full" / "model.zip").read_text() == "a week of training"


def test_default_folders_never_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that begin in the same second get folders of their own, with a number after the time."""
    monkeypatch.chdir(tmp_path)
    folders = [make_folder(None) for _ in range(5)]
    assert len(set(folders)) == 5
    assert all(folder.is_dir() and folder.parent == Path("runs") for folder in folders)
    assert any(folder.name.endswith("-2") for folder in folders)


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (
            "--vectorizer supersuit --on-target leave",
            "on_target is 'leave', but SuperSuit cannot .*'park'.*'stay'.*'restart'",
        ),
        ("--num-cpus 2", "--num-cpus is 2, but only SuperSuit .* use --vectorizer supersuit, or --num-threads"),
        ("--vectorizer supersuit --num-threads 2", "--num-threads is 2, but SuperSuit .* use --vectorizer native"),
        ("--num-threads 0", "--num-threads is 0; expected at least 1"),
        ("--vectorizer supersuit --num-cpus -1", "--num-cpus is -1; expected at least 0"),
        ("--num-agents 99", r"num_agents is 99, but the grid \(5 x 5\) has room for 25"),
        ("--size 0", "size is 0; expected"),
        ("--max-cycles 0", "max_cycles is 0; expected"),
        ("--max-cycles None", "--max-cycles is None"),
        ("--steps 0", "--steps is 0; expected at least 1"),
        ("--episodes 0", "--episodes is 0; expected at least 1"),
        ("--copies 0", "--copies is 0; expected at least 1"),
        ("--evaluations 1", "--evaluations is 1; expected at least 2"),
        ("--seed -1", "--seed is -1; expected at least 0"),
        ("--seed 99999999999", "--seed is 99999999999; expected at most"),
        ("--gamma 2", "--gamma is 2.0; expected"),
        ("--learning-rate nan", "--learning-rate is nan; expected"),
        ("--hidden 0", "--hidden is 0; expected"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(
    flags: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A flag out of range gives one line that says what came and what was expected, exit code 2, and no folder."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", *flags.split()]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("multigrid train: ")
    with pytest.raises(ValueError, match=complaint):
        raise ValueError(said)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the system refuses the folder, its reason is told in one line."""
    (tmp_path / "file").write_text("")
    assert main(["train", "--folder", str(tmp_path / "file" / "run")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Not a directory" in said


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3", "matplotlib", "imageio"])
def test_a_missing_extra_names_the_install_command(missing: str, tmp_path: Path) -> None:
    """Without one of the libraries of the extra, one line says which and how to install it."""
    code = f"import sys; sys.modules[{missing!r}] = None; from multigrid.cli import main; sys.exit(main(['train']))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=AROUND, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"needs {missing}" in done.stderr
    assert 'pip install "multigrid-marl[train]"' in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["--engine rllib", "--engine=rllib"])
def test_the_engine_rllib_needs_its_own_extra_only(engine: str, tmp_path: Path) -> None:
    """Without Ray, one line says how to install it; what the other engine is built upon is not asked for before."""
    code = (
        "import sys; sys.modules['ray'] = sys.modules['stable_baselines3'] = None; "
        "from multigrid.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    flags = ["train", "--num-agents", "3", *engine.split(), "--num-env-runners", "8"]
    done = subprocess.run(
        [sys.executable, "-c", code, *flags], cwd=tmp_path, env=AROUND, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "multigrid train --engine rllib needs ray" in done.stderr
    assert 'pip install "multigrid-marl[rllib]"' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_other_engine_can_be_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for by name, Stable-Baselines3's engine takes the flags, where Ray is not installed either."""
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["train", "--engine", "sb3", "--copies", "0"]) == 2
    assert capsys.readouterr().err == "multigrid train: --copies is 0; expected at least 1\n"


def test_help_says_where_the_other_engine_has_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """`multigrid train --help` lists the engines, and the command that lists RLlib's flags."""
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--engine {sb3,rllib}" in said
    assert "multigrid train --engine rllib --help" in said


def test_an_engine_is_no_option_of_the_other_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called from Python, the training with Stable-Baselines3 refuses to pass for another one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"--engine is rllib, .* multigrid\.cli\.train\.rllib"):
        train_module.train(SB3Options(engine="rllib"), Console())
    assert list(tmp_path.iterdir()) == []


def test_supersuit_is_needed_by_its_own_vectorizer_only(tmp_path: Path) -> None:
    """Where SuperSuit is not installed, training works; asking for it is refused in one line, and leaves no folder."""
    code = "import sys; sys.modules['supersuit'] = None; from multigrid.cli import main; sys.exit(main(sys.argv[1:]))"
    for flags, expected in (("--vectorizer supersuit", 2), ("--vectorizer native", 0)):
        done = subprocess.run(
            [sys.executable, "-c", code, "train", *IN_PROCESS.split(), *flags.split()],
            cwd=tmp_path,
            env=AROUND,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expected, done.stderr
        assert (tmp_path / "run").exists() == (expected == 0)
        if expected:
            assert done.stderr.count("\n") == 1
            assert "--vectorizer is supersuit, which is not installed: pip install supersuit, or" in done.stderr


def test_no_command_gives_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`multigrid` alone lists the commands."""
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "train" in said
    assert "bench" in said


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that does not exist is named, with those that do."""
    assert main(["trian"]) == 2
    assert "'trian' is no command; expected one of train, play, rollout, replay, bench" in capsys.readouterr().err


def test_help_loads_nothing_heavy() -> None:
    """The command line imports a command, and the libraries that it needs, only when it is asked for."""
    code = (
        "import sys; from multigrid.cli import main; main([]); "
        "print({'torch', 'stable_baselines3', 'supersuit', 'matplotlib', 'tyro', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=AROUND, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_model_holds_no_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """model.zip can be loaded by another version of Python: nothing in it is compiled code."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", *IN_PROCESS.split()]) == 0
    with zipfile.ZipFile("run/model.zip") as archive:
        saved = json.loads(archive.read("data"))
    marked = [value for value in saved.values() if isinstance(value, dict) and ":serialized:" in value]
    pickles = [base64.b64decode(value[":serialized:"]) for value in marked]
    assert pickles
    assert not any(b"CodeType" in one for one in pickles)


@pytest.mark.parametrize("on_target", ["park", "leave", "stay"])
def test_metrics_count_the_episodes_of_the_rollout(
    on_target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episodes, success and steps in a row are those that the final infos of its rollout tell, world by world."""
    ends: list[tuple[float, float]] = []
    step_wait = MultiGridVecEnv.step_wait

    def recorded(vec_env: MultiGridVecEnv) -> Any:
        told = step_wait(vec_env)
        # Two rows a world; all that have arrived or run out of time make the makespan the last step.
        ends.extend((info["csr"], info["makespan"]) for info in told[3][::2] if "csr" in info)
        return told

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MultiGridVecEnv, "step_wait", recorded)
    flags = f"{IN_PROCESS} --size 3 --on-target {on_target} --seed 3"
    assert main(["train", *flags.split()]) == 0
    rows = read_rows(tmp_path / "run")
    first = 0
    for row in rows:
        episodes = ends[first : first + int(row["episodes"])]
        first += len(episodes)
        assert float(row["success_rate"]) == pytest.approx(np.mean([csr for csr, _ in episodes]), abs=6e-5)
        assert float(row["mean_steps"]) == pytest.approx(np.mean([steps for _, steps in episodes]), abs=6e-3)
    assert first == len(ends)
    assert {csr for csr, _ in ends} == {0.0, 1.0}


def test_runs_share_no_training_episodes() -> None:
    """The copies of runs with different seeds play different episodes, all of them above the held-out seeds."""
    copies = SB3Options().copies
    firsts = sorted(training_seed(seed, worlds=SB3Options().copies) for seed in range(300))
    assert firsts[0] >= 1_000_000
    assert firsts[-1] + copies < 2**32
    assert min(later - earlier for earlier, later in itertools.pairwise(firsts)) >= copies


def test_ctrl_c_before_the_first_rollout_is_over_leaves_all_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at once, a run still has metrics: the columns, without rows."""

    def press(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train_module.PPO, "learn", press)
    assert main(["train", *IN_PROCESS.split()]) == 130
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == OUTPUTS
    columns = "steps,episodes,success_rate,mean_steps,reward_per_step,seconds"
    assert (tmp_path / "run" / "metrics.csv").read_text().splitlines() == [columns]


def test_the_folder_is_not_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with the letters of rich's markup and of its emoji is named as it is."""
    held_out = HeldOut(np.array([True]), np.array([3.0]), np.array([1.0]))
    print_report(Console(), Path("[bold]a[/x] :cat:"), GridConfig(size=(4, 3)), [(0, held_out), (9, held_out)])
    assert capsys.readouterr().out.splitlines()[-1] == "outputs in [bold]a[/x] :cat:"
