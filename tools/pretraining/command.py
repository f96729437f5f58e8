"""The command ``python -m tools.pretraining``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import tyro

from multigrid.cli._options import Range, check_numbers, parse
from multigrid.planning._network import Weights
from multigrid.policies._weights import save_weights
from tools.pretraining.held_out import measure
from tools.pretraining.imitation import Settings, count_rounds, imitate
from tools.pretraining.progress import Progress

_PROGRAM = "python -m tools.pretraining"
_ROUNDS_PER_MEASUREMENT = 10


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
    """Train, or go on, and write the weights.

    Raises:
        ValueError: a setting is out of range, or the folder has a training with other settings.
        OSError: a file cannot be written, or a process of the training was killed.
    """
    settings, folder = options.settings, options.folder
    check_numbers(options)
    check_numbers(settings)
    torch.set_num_threads(1)  # the layers are small: more threads wait for one another
    first = count_rounds(folder)
    progress = Progress(folder / "progress.csv", first)

    def report(number: int, loss: float, weights: Weights) -> None:
        is_measured = number % _ROUNDS_PER_MEASUREMENT == 0 or number == settings.rounds
        figures = measure(weights, options.episodes, settings.sight) if is_measured else {}
        progress.add(number, loss, figures)
        values = (f"{name} {value:.2f}" for name, value in figures.items())
        print(f"round {number} of {settings.rounds}: loss {loss:.3f}", *values)

    weights = imitate(settings, folder, report)
    file = folder / "pretrained.npz"
    save_weights(weights, file)
    is_over = first == settings.rounds
    print(f"no round is left; wrote the weights to {file} again" if is_over else f"weights in {file}")
