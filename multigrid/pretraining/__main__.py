"""Train the network of `multigrid.policies.pretrained` from nothing, or go on with a training.

    pip install "multigrid-marl[train]"
    python -m multigrid.pretraining --folder FOLDER

FOLDER keeps the state of the training, so that the same command goes on after an interruption, with the same result.
FOLDER/progress.csv has the loss of each round and, every tenth, the share of held-out episodes that are solved;
FOLDER/pretrained.npz has the weights. With ``--reinforce ROUNDS``, reinforcement learning follows the imitation; its
state and its progress.csv are in FOLDER/reinforcement.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", "tyro", text=__doc__)

import torch
import tyro

from multigrid.planning.learned.network import Weights
from multigrid.policies.weights import save_weights
from multigrid.pretraining.held_out import measure
from multigrid.pretraining.imitation import Settings, imitate
from multigrid.pretraining.reinforcement import Reinforcement, Report
from multigrid.pretraining.reinforcement import reinforce as train_further


def main(
    settings: Annotated[Settings, tyro.conf.arg(name="")],
    folder: Path = Path("pretraining"),
    episodes: int = 40,
    reinforce: int = 0,
) -> None:
    """Train, and write the weights.

    Args:
        settings: of the training.
        folder: keeps the state of the training.
        episodes: held-out episodes in each world.
        reinforce: the number of rounds of reinforcement learning after the imitation.
    """
    torch.set_num_threads(1)  # the layers are small: more threads wait for one another
    report = _make_report(folder / "progress.csv", settings.rounds, episodes)
    weights = imitate(settings, folder, lambda number, loss, weights: report(number, {"loss": loss}, weights))
    if reinforce:
        more = Reinforcement(rounds=reinforce, seed=settings.seed)
        inner = folder / "reinforcement"
        weights = train_further(weights, more, inner, _make_report(inner / "progress.csv", reinforce, episodes))
    save_weights(weights, folder / "pretrained.npz")
    print(f"weights in {folder / 'pretrained.npz'}")


def _make_report(file: Path, rounds: int, episodes: int) -> Report:
    """Return a function that adds a line to a file after each round, and prints it."""
    began, earlier = time.perf_counter(), _seconds_so_far(file)

    def report(number: int, figures: dict[str, float], weights: Weights) -> None:
        is_measured = number % 10 == 9 or number == rounds - 1
        shares = measure(weights, episodes) if is_measured else {}
        seconds = round(earlier + time.perf_counter() - began, 1)
        row = [number, seconds, *(round(figure, 4) for figure in figures.values()), *shares.values()]
        with file.open("a", newline="") as out:
            csv.writer(out).writerow(row)
        texts = [f"{k} {v:.3f}" for k, v in figures.items()] + [f"{k} {v:.2f}" for k, v in shares.items()]
        print(f"round {number + 1} of {rounds}:", *texts)

    return report


def _seconds_so_far(file: Path) -> float:
    if not file.exists():
        return 0.0
    with file.open(newline="") as lines:
        rows = list(csv.reader(lines))
    return float(rows[-1][1]) if rows else 0.0


if __name__ == "__main__":
    tyro.cli(main)
