"""`python -m tools.pretraining`: its progress, and how it ends, by itself, by Ctrl-C or by an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from few_labels import produce_few
from helpers import names, read_rows
from multigrid.policies._learned import load_weights
from tools.pretraining import command, imitation
from tools.pretraining.held_out import FIGURES, WORLDS, measure
from tools.pretraining.network import Network

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
    assert printed[4:] == [f"weights in {tmp_path / 'pretrained.npz'}"]
    weights = [f"weights-{number}.npz" for number in (1, 2, 3)]
    assert names(tmp_path) == ["pretrained.npz", "progress.csv", "settings.json", "state.pt", *weights]
    with np.load(tmp_path / "weights-3.npz") as last:
        for name, part in load_weights(tmp_path / "pretrained.npz")._asdict().items():
            np.testing.assert_array_equal(part, last[name].astype(np.float16))


@pytest.mark.usefixtures("quick")
def test_after_an_interruption_no_row_is_missing_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while the third round is saved: the next run repeats it."""
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
    assert run(tmp_path) == 0
    rows = read_rows(file)
    assert [row["round"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[:2] == first[:2]
    assert [row["loss"] for row in rows] == ["0.5000", "1.5000", "2.5000", "3.5000"]
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--rounds 0", "--rounds is 0; expected 1 to 1,000,000"),
        ("--episodes 0", "--episodes is 0; expected 1 to 1,000,000"),
        ("--rounds 5", r".* has a training with rounds=4; got rounds=5; expected equal settings or another folder"),
        ("--folder {file}", r".*({file}|File exists|Not a directory).*"),
    ],
)
def test_an_error_is_one_line(flags: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be trained is refused in one line, with exit code 2, and nothing changes."""
    folder, file = tmp_path / "out", tmp_path / "file"
    file.write_text("a file")
    folder.mkdir()
    imitation.check_settings(imitation.Settings(4, 0, 200, 300, 2, 64, 2e-3, (8, 8, 8)), folder)
    before = sorted(tmp_path.rglob("*"))
    assert run(folder, *flags.format(file=file).split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch("python -m tools.pretraining: " + complaint.format(file=re.escape(str(file))), line)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_figures_are_those_of_held_out_worlds() -> None:
    """There is a figure for each world, alone and with a shield: a share, or arrivals a step."""
    figures = measure(Network((8, 8, 8)).weights(), episodes=1)
    assert tuple(figures) == FIGURES
    assert len(FIGURES) == 2 * len(WORLDS)
    assert {"random-24", "mazes-24-lifelong-shield", "small-4"} < set(FIGURES)
    assert all(figures[name] in {0, 1} for name in FIGURES if "lifelong" not in name)
    assert figures["random-48-lifelong-shield"] > 0
