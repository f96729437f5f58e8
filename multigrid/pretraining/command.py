"""The command ``python -m multigrid.pretraining``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import torch
import tyro

from multigrid.cli._options import Range, check_numbers, parse
from multigrid.planning.network import Weights
from multigrid.policies.weights import save_weights
from multigrid.pretraining.held_out import measure
from multigrid.pretraining.imitation import Settings, count_rounds, imitate
from multigrid.pretraining.progress import Progress
from multigrid.pretraining.reinforcement import MEANS, ReinforcementSettings, Report, count_reinforced, reinforce

__all__ = ["TrainingOptions", "main", "train"]

_PROGRAM = "python -m multigrid.pretraining"
_ROUNDS_PER_MEASUREMENT = 10
_REINFORCEMENT = "reinforcement"


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """Train the network of `multigrid.policies.pretrained` from nothing, or go on with a training.

    With the default settings this takes about 60 minutes on two cores. Meanwhile the folder takes about 0.7 GB of disk,
    and 40 MB at the end.

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
    reinforce: Annotated[int, Range(0, 10**6)] = 0
    """The number of rounds of reinforcement learning after the imitation; its state and its progress.csv are in the
    subfolder reinforcement. The weights that come with the package have none."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code: 0, 2 after an error, 130 after Ctrl-C."""
    options = parse(TrainingOptions, arguments, _PROGRAM)
    try:
        train(options)
    except KeyboardInterrupt:
        reinforced = count_reinforced(options.folder / _REINFORCEMENT)
        done = f"{reinforced} of the reinforcement" if reinforced else str(count_rounds(options.folder))
        sys.stderr.write(f"Interrupted; the same command goes on after round {done}\n")
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
    report = _make_reporter(Progress(folder / "progress.csv", first), settings.rounds, options.episodes)
    weights = imitate(settings, folder, lambda number, loss, weights: report(number, {"loss": loss}, weights))
    is_over = first == settings.rounds
    if options.reinforce:
        more = ReinforcementSettings(rounds=options.reinforce, seed=settings.seed)
        inner = folder / _REINFORCEMENT
        done = count_reinforced(inner)
        progress = Progress(inner / "progress.csv", done, MEANS)
        weights = reinforce(weights, more, inner, _make_reporter(progress, more.rounds, options.episodes))
        is_over = is_over and done == more.rounds
    file = folder / "pretrained.npz"
    save_weights(weights, file)
    print(f"no round is left; wrote the weights to {file} again" if is_over else f"weights in {file}")


def _make_reporter(progress: Progress, rounds: int, episodes: int) -> Report:
    """Return a function that adds a row after each round, and prints it."""

    def report(number: int, means: Mapping[str, float], weights: Weights) -> None:
        is_measured = number % _ROUNDS_PER_MEASUREMENT == 0 or number == rounds
        figures = measure(weights, episodes) if is_measured else {}
        progress.add(number, means, figures)
        said = [f"{name} {value:.3f}" for name, value in means.items()]
        print(f"round {number} of {rounds}: {', '.join(said)}", *(f"{k} {v:.2f}" for k, v in figures.items()))

    return report
