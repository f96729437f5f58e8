"""`multigrid train --resume`: however a run was stopped, it ends with the weights of one that was not."""

import errno
import io
import json
import os
import pickle
import shutil
import signal
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from stable_baselines3 import PPO

from helpers import names, read_rows, run_python
from multigrid.cli import _exit_on_signals
from multigrid.cli import _train_runs as checkpoints
from multigrid.cli import _train_sb3 as train_module
from trainings import KILL, load_model, stop_in_update, train

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("no_pictures")]

# Rollouts of 24 steps of 3 worlds of 2 agents: 144 steps, ten times over; a checkpoint after every second one.
FLAGS = "--size 4 3 --max-cycles 15 --steps 1440 --copies 3 --rollout 24 --batch-size 24 --epochs 2 --hidden 8 "
FLAGS += "--episodes 3 --evaluations 4 --seed 11 --checkpoint-every 200"
STOPS = {"SIGTERM": SystemExit(143), "error": RuntimeError("no more"), "Ctrl-C": KeyboardInterrupt()}
CASES = [(1, "error"), (5, "SIGTERM"), (6, "Ctrl-C"), (10, "SIGTERM"), (10, "Ctrl-C")]


def results(folder):
    """The weights and the optimizer of a run to the bit, and its curve without times."""
    model = load_model(folder)
    states = {**model.policy.state_dict()}
    for index, state in model.policy.optimizer.state_dict()["state"].items():
        states |= {f"{index}.{name}": value for name, value in state.items()}
    rows = [row | {"seconds": ""} for row in read_rows(folder / "metrics.csv")]
    evaluation = json.loads((folder / "evaluation.json").read_text())
    return {name: value.numpy().tobytes() for name, value in states.items()}, rows, evaluation


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multigrid.cli._train_sb3.write_films", lambda *_, **__: None)
        assert train(f"{FLAGS} --folder {folder}") == 0
    return folder


@pytest.mark.parametrize(("number", "name"), CASES)
def test_a_stopped_run_ends_as_one_that_was_not(number, name, whole, capsys):
    """Weights, optimizer, metrics and evaluations are equal to the bit, also without a checkpoint to continue from."""
    stop_in_update(number, STOPS[name], f"{FLAGS} --folder run")
    assert "multigrid train --resume run" in capsys.readouterr().err
    # A checkpoint is due after 2, 3, 5, 6, 7 and 9 rollouts, and saved before the next one is played.
    saved = [rollouts * 144 for rollouts in (2, 3, 5, 6, 7, 9) if rollouts < number][-checkpoints.KEPT :]
    assert [path.name for path in sorted(Path("run").glob("checkpoints/*"))] == [f"{steps:012}" for steps in saved]
    assert train("--resume run") == 0
    assert results(Path("run")) == results(whole)
    assert names(Path("run/checkpoints")) == ["000000001008", "000000001296", "000000001440"]


@pytest.mark.parametrize(
    "world",
    [
        "--on-target leave --num-agents 3",
        "--on-target restart --flatten --observe agent target view action_mask",
        "--on-target stay --observe agent target others walls --allow-stay --collisions soft",
        "--num-agents 1 --num-threads 2",
        "--recurrent --on-target leave --num-agents 3",
        "--recurrent --flatten --hidden 8 4",
    ],
)
def test_any_world_is_resumed(world):
    """Twice stopped, a run in any kind of world ends as one that was not."""
    assert train(f"{FLAGS} {world} --checkpoint-every 1 --folder whole") == 0
    stop_in_update(4, STOPS["SIGTERM"], f"{FLAGS} {world} --checkpoint-every 1 --folder run")
    stop_in_update(3, STOPS["SIGTERM"], "--resume run")
    assert train("--resume run") == 0
    assert results(Path("run")) == results(Path("whole"))


# SIGHUP has the handler of SIGTERM, as test_an_ignored_signal_stays_ignored shows.
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(
    ("name", "within"), [("SIGKILL", "train"), ("SIGKILL", "write_state"), ("SIGTERM", "write_state")]
)
def test_a_killed_process_loses_only_what_came_after_the_checkpoint(name, within, whole, home):
    """Killed in an update, or with a checkpoint half saved, a process leaves whole ones, from which the run goes on."""
    done = run_python("-c", KILL, name, within, *f"{FLAGS} --folder run".split(), cwd=home)
    number = getattr(signal, name)
    assert done.returncode == (-number if name == "SIGKILL" else 128 + number), done.stderr
    saved = [path.name for path in sorted(home.glob("run/checkpoints/[0-9]*"))]
    assert saved == (["000000000288"] if within == "train" else ["000000000288", "000000000432"])
    assert train("--resume run") == 0
    assert results(home / "run") == results(whole)


def test_a_full_disk_stops_the_run_before_more_is_lost(whole, monkeypatch, capsys):
    """The checkpoint that finds no room is named, the one before it stays whole, and the run goes on from it."""
    write_state = train_module.write_state

    def write(folder, vec_env, training):
        write_state(folder, vec_env, training)
        if training.model.num_timesteps > 600:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(train_module, "write_state", write)
        assert train(f"{FLAGS} --folder run") == 2
    printed = capsys.readouterr().err
    assert f"run{os.sep}checkpoints{os.sep}000000000720 cannot be written" in printed
    assert os.strerror(errno.ENOSPC) in printed
    assert names(Path("run/checkpoints")) == ["000000000288", "000000000432"]
    assert train("--resume run") == 0
    assert results(Path("run")) == results(whole)


def test_a_finished_run_says_so(whole, capsys):
    """Nothing is trained or written, its files are named, and the exit code is 0."""
    before = {path: path.is_file() and path.read_bytes() for path in whole.rglob("*")}
    # Schedulers repeat whole commands, with --resume in place of --folder.
    assert train(f"{FLAGS} --resume {whole}") == 0
    printed = capsys.readouterr().err
    assert "is finished: it has had its 1,440 steps" in printed
    assert "model.zip" in printed
    assert {path: path.is_file() and path.read_bytes() for path in whole.rglob("*")} == before


def test_a_finished_run_takes_more_steps(whole):
    """With a larger --steps the run goes on; what was measured stays, and a later --resume knows the new number."""
    shutil.copytree(whole, "run")
    assert train("--resume run --steps 2000") == 0
    (weights, rows, evaluation), (old_weights, old_rows, old_evaluation) = results(Path("run")), results(whole)
    assert weights != old_weights
    assert rows[:10] == old_rows
    assert [int(row["steps"]) for row in rows] == [144 * number for number in range(1, 15)]
    assert evaluation["during"][:4] == old_evaluation["during"]
    assert json.loads(Path("run/config.json").read_text())["steps"] == 2000
    assert train("--resume run") == 0
    assert results(Path("run")) == (weights, rows, evaluation)


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--resume {whole} --gamma 0.5", r"trained with gamma 0.95, not 0.5; leave that flag out"),
        ("--resume {whole} --num-agents 3", "trained with grid .*num_agents=None.*num_agents=3"),
        ("--resume {whole} --steps 500", "--steps is 500, but .* is a run of 1440; expected no fewer"),
        ("--resume {whole} --folder other", "--folder is other, but --resume continues in .*; leave out one of them"),
        ("--resume nowhere", "nowhere.config.json is not what `multigrid train` writes"),
    ],
)
def test_what_cannot_be_resumed_is_refused_in_one_line(flags, complaint, whole, home, refused):
    """A flag that differs from the run's, or a folder that is no run, gives one line, and nothing is written."""
    refused(f"train {flags.format(whole=whole)}", complaint)
    assert list(home.iterdir()) == []


class Trap:
    """Creates a file when it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("trapped"),)


@pytest.fixture
def stopped(whole):
    """The last checkpoint of a run that was stopped before its end, in a copy in the folder "run"."""
    shutil.copytree(whole, "run")
    shutil.rmtree("run/checkpoints/000000001440")
    return Path("run/checkpoints/000000001296")


def test_a_bad_checkpoint_is_refused_and_no_code_in_it_is_run(stopped, whole, capsys):
    """Pickles and cut files are refused by name; without that checkpoint the run goes on from the one before."""
    kept = {path.name: path.read_bytes() for path in stopped.iterdir()}

    def hide_in_archive():
        with zipfile.ZipFile(io.BytesIO(kept["tensors.pth"])) as old:
            content = {name: old.read(name) for name in old.namelist()}
        with zipfile.ZipFile(stopped / "tensors.pth", "w") as new:
            for name, data in content.items():
                new.writestr(name, pickle.dumps(Trap()) if name.endswith("data.pkl") else data)

    tricks = (
        lambda: (stopped / "tensors.pth").write_bytes(pickle.dumps(Trap())),
        hide_in_archive,
        lambda: (stopped / "arrays.npz").write_bytes(pickle.dumps(Trap())),
        lambda: np.savez(stopped / "arrays.npz", lengths=np.array([Trap()], dtype=object)),
        *(lambda name=name: (stopped / name).write_bytes(kept[name][:-100]) for name in kept),
    )
    for trick in tricks:
        for name, content in kept.items():
            (stopped / name).write_bytes(content)
        trick()
        assert train("--resume run") == 2
        assert f"{stopped} cannot be restored: " in capsys.readouterr().err
        assert not Path("trapped").exists()
    shutil.rmtree(stopped)
    assert train("--resume run") == 0
    assert results(Path("run")) == results(whole)


def test_a_run_without_a_model_is_refused(whole, refused):
    """The folder of a run that has not ended has no model to play."""
    Path("run/checkpoints/000000001440").mkdir(parents=True)
    shutil.copy(whole / "config.json", "run")
    for command in ("evaluate run random", "rollout --policy run"):
        refused(command, "policy is run, which has no model.zip in it; .* that has ended")


@pytest.mark.parametrize(
    ("name", "value"),
    {"steps": "1440", "seed": True, "gamma": [0.9], "log": "mine"}.items(),
)
def test_a_description_of_anything_else_is_refused(name, value, whole, refused):
    """A value of another type or an unknown name in config.json is refused in one line that says which."""
    Path("run").mkdir()
    content = {**json.loads((whole / "config.json").read_text()), name: value}
    Path("run/config.json").write_text(json.dumps(content))
    refused("train --resume run", rf"config\.json .*{name}|log is 'mine'")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")
def test_an_ignored_signal_stays_ignored():
    """Under nohup a closed terminal does not end a training; without it SIGHUP raises SystemExit."""

    def close_terminal():
        with _exit_on_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.1)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        close_terminal()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with pytest.raises(SystemExit, match="129"):
            close_terminal()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has neither such pipes nor such devices")
def test_what_has_no_end_is_not_read(stopped, capsys):
    """A pipe or a device in the place of a file of the run is refused at once, by its name."""
    arrays, config = stopped / "arrays.npz", Path("run/config.json")
    for file, make in ((arrays, os.mkfifo), (arrays, lambda path: path.symlink_to("/dev/zero")), (config, os.mkfifo)):
        file.unlink()
        make(file)
        assert train("--resume run") == 2
        assert f"{file} is not a regular file; expected one" in capsys.readouterr().err


def test_what_a_killed_process_left_is_removed(stopped):
    """--resume removes the hidden files and folders of writers that were killed, and no other hidden file."""
    Path("run/.mine.gif").touch()
    Path("run/.evaluation.0123456789abcdef.gif").touch()
    shutil.copytree(stopped, "run/checkpoints/.000000001440.0123456789abcdef.part")
    assert train("--resume run") == 0
    assert [path.name for path in Path("run").rglob(".*")] == [".mine.gif"]


def test_a_figure_that_cannot_be_written_costs_nothing_else(whole, monkeypatch, capsys):
    """The run says what it does, ends with its weights and its last checkpoint, and names what is missing; code 2."""

    def fail(*_):
        raise OverflowError("too large")

    monkeypatch.setattr("multigrid.cli._train_sb3.write_figure", fail)
    assert train(f"{FLAGS} --folder run") == 2
    printed = capsys.readouterr().err
    assert "run has all files but evaluation.json or curve.png (too large)" in printed
    assert results(Path("run")) == results(whole)
    assert names(Path("run/checkpoints"))[-1] == "000000001440"
    said = ("evaluating after 0", "saving a checkpoint after 288", "evaluating after 432", "evaluating after 1,440")
    begun = [line for line in printed.splitlines() if line.startswith(("evaluating", "saving"))]
    assert [*begun[:3], *begun[-2:]] == [f"{words} steps" for words in (*said, "saving a checkpoint after 1,440")]


def test_shaped_rewards_fade(monkeypatch):
    """Their weight decreases from 1 to the game's option, in a resumed run, too, and evaluations have the option."""
    weights, evaluated, plain, play = [], [], PPO.train, checkpoints.play_held_out

    def update(model):
        weights.append(model.get_env().vector_env.shaping)
        plain(model)

    def play_held_out(config, *arguments):
        evaluated.append(config.options["shaping"])
        return play(config, *arguments)

    flags = f"{FLAGS.removeprefix('--size 4 3')} --game Overcooked-cramped_room-v0 --observe features"
    stop_in_update(4, STOPS["SIGTERM"], f"{flags} --option shaping=0.5 --fade-shaping 0.4 --folder run")
    monkeypatch.setattr(PPO, "train", update)
    monkeypatch.setattr(checkpoints, "play_held_out", play_held_out)
    assert train("--resume run --game Overcooked-cramped_room-v0") == 0
    np.testing.assert_allclose(weights, [0.625, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert set(evaluated) == {0.5}
