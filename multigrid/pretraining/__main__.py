"""Train the network of `multigrid.policies.pretrained` from nothing, or go on with a training.

    pip install "multigrid-marl[train]"
    python -m multigrid.pretraining --folder FOLDER

FOLDER keeps the state of the training, so that the same command goes on after an interruption, with the same result.
FOLDER/progress.csv has the loss of each round and, every tenth, the share of held-out episodes that are solved;
FOLDER/pretrained.npz has the weights.
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


def main(
    settings: Annotated[Settings, tyro.conf.arg(name="")], folder: Path = Path("pretraining"), episodes: int = 40
) -> None:
    """Train, and write the weights.

    Args:
        settings: of the training.
        folder: keeps the state of the training.
        episodes: held-out episodes in each world.
    """
    torch.set_num_threads(1)  # the layers are small: more threads wait for one another
    began, earlier = time.perf_counter(), _seconds_so_far(folder / "progress.csv")

    def report(number: int, loss: float, weights: Weights) -> None:
        is_measured = number % 10 == 9 or number == settings.rounds - 1
        shares = measure(weights, episodes) if is_measured else {}
        row = [number, round(earlier + time.perf_counter() - began, 1), round(loss, 4), *shares.values()]
        with (folder / "progress.csv").open("a", newline="") as file:
            csv.writer(file).writerow(row)
        print(f"round {number + 1} of {settings.rounds}: loss {loss:.3f}", *(f"{k} {v:.2f}" for k, v in shares.items()))

    save_weights(imitate(settings, folder, report), folder / "pretrained.npz")
    print(f"weights in {folder / 'pretrained.npz'}")


def _seconds_so_far(file: Path) -> float:
    if not file.exists():
        return 0.0
    with file.open(newline="") as lines:
        rows = list(csv.reader(lines))
    return float(rows[-1][1]) if rows else 0.0


if __name__ == "__main__":
    tyro.cli(main)
