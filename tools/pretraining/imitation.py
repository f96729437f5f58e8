"""Imitation in rounds: one process produces labels while another learns from those of earlier rounds.

The labels of round r come from the network after round r - 2, so that both processes work all the time, and equal seeds
give equal weights. After each round everything is on disk: the same command goes on where it was, with the same result.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.worker_pool import worker_pool
from multigrid._files import replace_file
from multigrid.cli._options import LARGEST_SEED, Range
from multigrid.policies._network import Weights
from multigrid.policies._surroundings import Windows
from tools.pretraining.labels import Labels, join, write_labels
from tools.pretraining.network import Network
from tools.pretraining.symmetry import SYMMETRIES, transform

_LAG = 2
_STATE = "state.pt"
_LOSS = (
    "the process that produces labels ended before they were done, and they are lost; is there enough memory? The same "
    "command goes on after the last round"
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a training depends on."""

    rounds: Annotated[int, Range(1, 10**6)] = 220
    """The number of rounds."""
    seed: Annotated[int, Range(0, LARGEST_SEED)] = 0
    """Of worlds, labels, weights and minibatches."""
    labels: Annotated[int, Range(1, 10**9)] = 180_000
    """New labels a round."""
    samples: Annotated[int, Range(1, 10**9)] = 600_000
    """Labels learned from in a round, of the last `memory` rounds."""
    memory: Annotated[int, Range(1, 10**6)] = 8
    """The number of rounds whose labels are kept."""
    batch_size: Annotated[int, Range(1, 10**9)] = 2048
    """Labels in a minibatch."""
    rate: Annotated[float, Range(1e-12, 1)] = 2e-3
    """The learning rate of the first round, from which it falls to 0 in a straight line."""
    hidden: Annotated[tuple[int, int, int], Range(1, 10**5)] = (448, 128, 64)
    """The units of the hidden layers."""


def imitate(settings: Settings, folder: Path, report: Callable[[int, float, Weights], None]) -> Weights:
    """Train a network, or go on, and return its weights.

    Args:
        settings: equal in all calls for a folder.
        folder: keeps the state of the training and, until its end, labels.
        report: is called after each round, before it is saved, with its number, counted from 1, the mean loss, and the
            weights. The next call repeats a round that was not saved.

    Raises:
        ValueError: the folder has a training with other settings.
        OSError: a file cannot be written, or (ChildProcessError) the process that produces labels was killed.
    """
    check_settings(settings, folder)
    network, optimizer, first = _load(settings, folder)
    known: dict[int, Labels] = {}
    with worker_pool(1, _LOSS) as pool:
        waiting: dict[int, Future[None]] = {}

        def order(number: int) -> None:
            file = folder / f"labels-{number}.npz"
            if number < settings.rounds and number not in waiting and not file.exists():
                earlier = folder / f"weights-{number - _LAG}.npz"
                waiting[number] = pool.submit(write_labels, file, earlier, settings.seed, number, settings.labels)

        for number in range(first, settings.rounds):
            order(number)
            order(number + 1)
            if number in waiting:
                waiting.pop(number).result()
            for earlier in range(max(0, number - settings.memory + 1), number + 1):
                if earlier not in known:
                    with np.load(folder / f"labels-{earlier}.npz") as arrays:
                        known[earlier] = Labels(**arrays)
            loss = _learn(network, optimizer, settings, join(list(known.values())), number)
            report(number + 1, loss, network.weights())
            _save(network, optimizer, folder, number)
            # Only now: until the round is saved, the same command repeats it with the same labels.
            known.pop(number - settings.memory + 1, None)
            for earlier in range(max(0, number - settings.memory), number - settings.memory + 2):
                (folder / f"labels-{earlier}.npz").unlink(missing_ok=True)
    for file in (*folder.glob("labels-*.npz"), *folder.glob(".labels-*.npz")):  # also of a writer that was killed
        file.unlink(missing_ok=True)
    return network.weights()


def check_settings(settings: Settings, folder: Path) -> None:
    """Write the settings of a training into its folder, which is made if there is none; or compare those there.

    Raises:
        ValueError: the folder has other settings; the message names those that differ.
        OSError: the file cannot be written.
    """
    own, file = json.loads(json.dumps(dataclasses.asdict(settings))), folder / "settings.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as temporary:
            temporary.write_text(json.dumps(own, indent=2) + "\n")
    known = json.loads(file.read_text())
    if differing := [name for name in own if own[name] != known.get(name)]:
        there, here = (", and ".join(f"{k}={part.get(k)}" for k in differing) for part in (known, own))
        raise ValueError(f"{folder} has a training with {there}; got {here}; expected equal settings or another folder")


def count_rounds(folder: Path) -> int:
    """Return the number of rounds of the training in a folder that are saved."""
    return 0 if (state := _read_state(folder)) is None else state["round"] + 1


def _learn(network: Network, optimizer: torch.optim.Optimizer, settings: Settings, known: Labels, number: int) -> float:
    """Learn from some of the labels, and return the mean loss."""
    generator = np.random.default_rng([settings.seed, number, 1])
    optimizer.param_groups[0]["lr"] = settings.rate * (1 - number / settings.rounds)
    order = generator.permutation(len(known.actions))[: settings.samples]
    losses = []
    for start in range(0, len(order), settings.batch_size):
        chosen = order[start : start + settings.batch_size]
        batch = transform(known.take(chosen), SYMMETRIES[generator.integers(len(SYMMETRIES))])
        optimizer.zero_grad()
        scores = network(Windows(batch.grounds, batch.agents, batch.ways))
        loss = cross_entropy(scores, torch.from_numpy(batch.actions.astype(np.int64)))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses))


def _load(settings: Settings, folder: Path) -> tuple[Network, torch.optim.Optimizer, int]:
    """Return the network, its optimizer and the number of the next round."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = Network(settings.hidden)
    optimizer = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=1e-4, fused=True)
    state = _read_state(folder)
    if state is None:
        return network, optimizer, 0
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return network, optimizer, state["round"] + 1


def _read_state(folder: Path) -> dict[str, Any] | None:
    """Return what `_save` has written; None before the first round is saved."""
    file = folder / _STATE
    state: dict[str, Any] | None = torch.load(file, weights_only=True) if file.exists() else None
    return state


def _save(network: Network, optimizer: torch.optim.Optimizer, folder: Path, number: int) -> None:
    with replace_file(folder / f"weights-{number}.npz") as temporary, temporary.open("wb") as out:
        np.savez(out, **network.weights()._asdict())
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "round": number}
    with replace_file(folder / _STATE) as temporary:
        torch.save(state, temporary)
    (folder / f"weights-{number - _LAG - 1}.npz").unlink(missing_ok=True)
