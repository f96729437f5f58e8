"""Files of labels: one process writes them, and another one, which needs torch, reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multigrid._files import open_file, replace_file
from multigrid.planning._network import Weights
from tools.pretraining.labels import Labels, produce
from tools.pretraining.sight import Sight


def labels_file(folder: Path, number: int) -> Path:
    """Return the path of the labels of a round."""
    return folder / f"labels-{number}.npz"


def write_labels(file: Path, weights_file: Path, seed: int, number: int, count: int, *, sight: Sight) -> None:
    """Produce the labels of a round, and write them to a file.

    Args:
        file: is written.
        weights_file: has the weights of the network that plays; if there is no such file, agents make random moves.
        seed: as for `produce`.
        number: as for `produce`.
        count: as for `produce`.
        sight: as for `produce`.
    """
    weights = None
    if weights_file.exists():
        with open_file(weights_file) as opened, np.load(opened) as arrays:
            weights = Weights(**arrays)
    labels = produce(weights, seed, number, count, sight)
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez(out, **labels._asdict())


def read_labels(file: Path) -> Labels:
    """Return the labels in a file that `write_labels` has written."""
    with open_file(file) as opened, np.load(opened) as arrays:
        return Labels(**arrays)


def remove_labels(folder: Path) -> None:
    """Remove the labels of all rounds, and what is left of those whose writer was killed."""
    for pattern in ("labels-*.npz", ".labels-*.npz"):
        for file in folder.glob(pattern):
            file.unlink(missing_ok=True)
