"""The command ``python -m tools.pretraining``."""

from __future__ import annotations

import csv
import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import tyro

from multigrid._files import replace_file
from multigrid.cli._options import Range, check_numbers, parse
from multigrid.policies._learned import save_weights
from multigrid.policies._network import Weights
from tools.pretraining.held_out import FIGURES, measure
from tools.pretraining.imitation import Settings, count_rounds, imitate

_PROGRAM = "python -m tools.pretraining"
_ROUNDS_PER_MEASUREMENT = 10
COLUMNS = ("round", "seconds", "loss", *FIGURES)
"""Of progress.csv."""


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """Train the network of `multigrid.policies.pretrained` from nothing, or go on with a training.

    With the default settings this takes about 70 minutes on two free cores. Meanwhile the folder takes about 0.7 GB of
    disk, and 40 MB at the end.

    The folder keeps the state of the training, so that the same command goes on after an interruption, with the same
    result. Its progress.csv has the loss of each round and, every tenth, the share of held-out episodes that are solved
    or, in lifelong worlds, the arrivals a step; its pretrained.npz has the weights at the end.
    """

    settings: Annotated[Settings, tyro.conf.arg(name="")] = dataclasses.field(default_factory=Settings)
    """The settings."""
    folder: Path = Path("pretraining")
    """Keeps the training; it is made if there is none."""
    episodes: Annotated[int, Range(1, 10**6)] = 40
    """Held-out episodes in each world."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code: 0, 2 after an error, 130 after Ctrl-C."""
    options = parse(TrainingOptions, arguments, _PROGRAM)
    try:
        train(options)
    except KeyboardInterrupt:
        sys.stderr.write(f"Interrupted; the same command goes on after round {count_rounds(options.folder)}\n")
        return 130
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{_PROGRAM}: {error}\n")
        return 2
    return 0


def train(options: TrainingOptions) -> None:
    """Train, or go on, and write the weights; errors are those of `imitate`."""
    settings, folder, file = options.settings, options.folder, options.folder / "progress.csv"
    check_numbers(options)
    check_numbers(settings)
    torch.set_num_threads(1)  # the layers are small: more threads wait for one another
    first = count_rounds(folder)
    rows = _read_progress(file, first)
    began = time.perf_counter() - (float(rows[-1][1]) if rows else 0.0)

    def report(number: int, loss: float, weights: Weights) -> None:
        is_measured = number % _ROUNDS_PER_MEASUREMENT == 0 or number == settings.rounds
        figures = measure(weights, options.episodes) if is_measured else {}
        seconds = f"{time.perf_counter() - began:.1f}"
        rows.append([str(number), seconds, f"{loss:.4f}", *(str(figures.get(name, "")) for name in FIGURES)])
        with replace_file(file) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([COLUMNS, *rows])
        values = (f"{name} {value:.2f}" for name, value in figures.items())
        print(f"round {number} of {settings.rounds}: loss {loss:.3f}", *values)

    weights = imitate(settings, folder, report)
    save_weights(weights, folder / "pretrained.npz")
    no_round = "no round was left; " if first == settings.rounds else ""
    print(f"{no_round}weights in {folder / 'pretrained.npz'}")


def _read_progress(file: Path, num_rounds: int) -> list[list[str]]:
    """Return the rows of the rounds that are saved; a later one is repeated."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines))[1 : num_rounds + 1]
