"""`python -m tools.pretraining`: its progress, and how it ends, by itself, by Ctrl-C or by an error."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from few_labels import produce_few
from helpers import AROUND, names, read_rows
from multigrid.policies._weights import load_weights
from tools.pretraining import command, imitation
from tools.pretraining.held_out import FIGURES, WORLDS, measure
from tools.pretraining.network import Network
from tools.pretraining.progress import COLUMNS, Progress

pytestmark = pytest.mark.heavy

SMALL = "--rounds 4 --labels 200 --samples 300 --memory 2 --batch-size 64 --hidden 8 8 8"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What `measure` returns; it takes no time, and labels take little."""
    produce_few(monkeypatch)
    figures = {name: 0.25 + number for number, name in enumerate(FIGURES)}
    monkeypatch.setattr(command, "measure", lambda *_: figures)
    return figures


@pytest.fixture
def quick(measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are produced, and nothing is learned from them."""
    monkeypatch.setattr(imitation, "_learn", lambda *arguments: 0.5 + arguments[-1])


def run(folder: Path, *flags: str) -> int:
    """Run the command in this process."""
    return command.main(["--folder", str(folder), *SMALL.split(), *flags])


def test_a_training_leaves_weights_and_progress(
    measured: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each round has a row, the last one figures; at the end labels are removed, and the weights are the state's."""
    assert run(tmp_path) == 0
    rows = read_rows(tmp_path / "progress.csv")
    assert [tuple(row) for row in rows] == [("round", "seconds", "loss", *FIGURES)] * 4
    assert [row["round"] for row in rows] == ["1", "2", "3", "4"]
    printed = capsys.readouterr().out.splitlines()
    for row, line in zip(rows, printed, strict=False):
        assert line.startswith(f"round {row['round']} of 4: loss {float(row['loss']):.3f}")
        has_figures = row["round"] == "4"
        assert [row[name] for name in FIGURES] == [str(measured[name]) if has_figures else "" for name in FIGURES]
        assert ("mazes-24-lifelong-shield" in line) == has_figures
    seconds = [float(row["seconds"]) for row in rows]
    assert 0 < seconds[0] <= seconds[1] <= seconds[2] <= seconds[3]
    assert printed[4:] == [f"weights in {tmp_path / 'pretrained.npz'}"]
    weights = [f"weights-{number}.npz" for number in (1, 2, 3)]
    assert names(tmp_path) == ["pretrained.npz", "progress.csv", "settings.json", "state.pt", *weights]
    with np.load(tmp_path / "weights-3.npz") as last:
        for name, part in load_weights(tmp_path / "pretrained.npz")._asdict().items():
            np.testing.assert_array_equal(part, last[name].astype(np.float16))


@pytest.mark.usefixtures("quick")
def test_after_the_end_only_the_weights_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command again writes the weights, says so, and removes labels that were left; nothing else changes."""
    assert run(tmp_path) == 0
    capsys.readouterr()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "pretrained.npz").unlink()
    for name in ("labels-3.npz", ".labels-3.0123456789abcdef.npz"):
        (tmp_path / name).write_bytes(b"left over")
    assert run(tmp_path) == 0
    assert capsys.readouterr().out == f"no round is left; wrote the weights to {tmp_path / 'pretrained.npz'} again\n"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("quick")
def test_after_an_interruption_no_row_is_missing_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while the third round is saved: the next run repeats it, and drops a line that was cut off."""
    save = imitation._save

    def interrupt(*arguments: Any) -> None:
        if arguments[-1] == 2:
            raise KeyboardInterrupt
        save(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(imitation, "_save", interrupt)
        assert run(tmp_path) == 130
    assert capsys.readouterr().err == "Interrupted; the same command goes on after round 2\n"
    file = tmp_path / "progress.csv"
    first = read_rows(file)
    assert [row["round"] for row in first] == ["1", "2", "3"]
    with file.open("a") as lines:
        lines.write("4,99")
    assert run(tmp_path) == 0
    rows = read_rows(file)
    assert [row["round"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[:2] == first[:2]
    assert [row["loss"] for row in rows] == ["0.5000", "1.5000", "2.5000", "3.5000"]
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)


def test_progress_of_any_part_of_a_file(tmp_path: Path) -> None:
    """Wherever a file was cut off, the rows that are whole are kept, and the next one follows on a line of its own."""
    figures = dict.fromkeys(FIGURES, 0.5)
    progress = Progress(tmp_path / "progress.csv", 0)
    for number in (1, 2, 3):
        progress.add(number, 0.125, figures if number == 2 else {})
    content = (tmp_path / "progress.csv").read_bytes()
    lines = content.splitlines(keepends=True)
    assert lines[0].decode().rstrip("\n").split(",") == ["round", "seconds", "loss", *FIGURES]
    for end in {*range(0, len(content), 9), len(content) - 1, len(content)}:
        file = tmp_path / "cut.csv"
        # A loss of power may also leave zeros.
        for rest in (b"", b"\0\0\n"):
            file.write_bytes(content[:end] + rest)
            Progress(file, 3).add(4, 0.25, {})
            found = file.read_bytes().splitlines(keepends=True)
            assert found[:-1] == [lines[0], *lines[1 : content[:end].count(b"\n")]]
            assert found[-1].startswith(b"4,")


def test_rows_of_rounds_that_are_repeated_are_dropped(tmp_path: Path) -> None:
    """Of a file with three rounds, of which one was saved, one row is kept; the seconds go on from it."""
    file = tmp_path / "progress.csv"
    rows = [[str(number), f"{100 * number}.5", "0.125", *[""] * len(FIGURES)] for number in (1, 2, 3)]
    file.write_text("".join(",".join(row) + "\n" for row in (COLUMNS, *rows)))
    Progress(file, 1).add(2, 0.25, {})
    first, second = read_rows(file)
    assert list(first.values()) == rows[0]
    assert (second["round"], second["loss"]) == ("2", "0.2500")
    assert 100.5 <= float(second["seconds"]) < 200


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--rounds 0", "--rounds is 0; expected 1 to 1,000,000"),
        ("--batch-size 0", "--batch-size is 0; expected 1 to 1,000,000,000"),
        ("--episodes 0", "--episodes is 0; expected 1 to 1,000,000"),
        ("--seed -1", "--seed is -1; expected 0 to 2,147,483,647"),
        ("--rounds 5", r".* has a training with rounds=4; got rounds=5; expected equal settings or another folder"),
        ("--folder {file}", r".*({file}|File exists|Not a directory).*"),
    ],
)
def test_an_error_is_one_line(flags: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be trained is refused in one line, with exit code 2, and nothing changes."""
    folder, file = tmp_path / "out", tmp_path / "file"
    file.write_text("a file")
    folder.mkdir()
    imitation.check_settings(imitation.Settings(4, 0, 200, 300, 2, 64, 2e-3, (8, 8, 8)), folder / "settings.json")
    before = sorted(tmp_path.rglob("*"))
    assert run(folder, *flags.format(file=file).split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch("python -m tools.pretraining: " + complaint.format(file=re.escape(str(file))), line)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("quick")
def test_a_worker_that_was_killed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the process that produces labels is killed, that is one line, with exit code 2."""
    monkeypatch.setattr(imitation, "write_labels", end_process)
    assert run(tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        "python -m tools.pretraining: the process .* labels ended before .* they are lost; .* goes on .*", line
    )


def end_process(*_: Any, **__: Any) -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    """After Ctrl-C in a terminal no process says more than one line, and the code is 130; the line names the round."""
    flags = "--rounds 900 --labels 200 --samples 300 --memory 2 --batch-size 64 --hidden 8 8 8"
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.pretraining", "--folder", str(tmp_path), *flags.split()],
        env={**AROUND, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads hold a lock here
    )
    assert process.stdout is not None
    deadline = time.monotonic() + 240
    printed = b""
    while b"round 2 of 900" not in printed:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, printed
        printed += os.read(process.stdout.fileno(), 4096)
    os.killpg(process.pid, signal.SIGINT)
    rest, error = process.communicate(timeout=120)
    lines = [line for line in error.decode().splitlines() if "compiling the planners" not in line]
    done = imitation.count_rounds(tmp_path)
    assert lines == [f"Interrupted; the same command goes on after round {done}"]
    assert process.returncode == 130
    # The last round that was printed may not have been saved.
    rounds = (printed + rest).decode().splitlines()
    assert done in {len(rounds), len(rounds) - 1}
    assert len(read_rows(tmp_path / "progress.csv")) in {len(rounds), len(rounds) + 1}


def test_the_figures_are_those_of_held_out_worlds() -> None:
    """There is a figure for each world, alone and with a shield: a share, or arrivals a step."""
    figures = measure(Network((8, 8, 8)).weights(), episodes=1)
    assert tuple(figures) == FIGURES
    assert len(FIGURES) == 2 * len(WORLDS)
    assert {"random-24", "mazes-24-lifelong-shield", "small-4"} < set(FIGURES)
    assert all(figures[name] in {0, 1} for name in FIGURES if "lifelong" not in name)
    assert figures["random-48-lifelong-shield"] > 0
