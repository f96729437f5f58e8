"""POGEMA's play of an episode that was played here, and what differs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from benchmarks.pogema import Instance
from benchmarks.same_game.episodes import Episode, Name, play
from benchmarks.same_game.worlds import World
from benchmarks.speed.processes import JsonProcess
from multigrid.actions import DIRECTIONS

_LIMIT = 600.0
"""Seconds after which a process that does not answer is killed."""


class Pogema:
    """A process that plays episodes in POGEMA.

    Args:
        python: the interpreter of a Python environment with POGEMA.

    Attributes:
        version: POGEMA's version.

    Raises:
        OSError: the interpreter cannot be started.
        ProcessError: the process has ended; the message is its last line. So do the methods.
    """

    def __init__(self, python: Path) -> None:
        script = Path(__file__).parents[1] / "peer_scripts" / "replay_pogema.py"
        # -E, -s: no variables and packages of this Python reach the other.
        self._process = JsonProcess([str(python), "-E", "-s", "-u", str(script)], env=dict(os.environ))
        try:
            ready = self._process.read(_LIMIT)
        except BaseException:
            self._process.close()
            raise
        self.version: str = ready["version"]
        # POGEMA's steps are [row, column].
        self._actions = np.array([ready["moves"].index(step) for step in DIRECTIONS[:, ::-1].tolist()])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()

    def play(self, world: World, actions: NDArray[np.int64]) -> dict[str, Any]:
        """Play an episode and return what `benchmarks.peer_scripts.replay_pogema` answers.

        Args:
            world: what POGEMA plays.
            actions: integers (T, N), of `multigrid.Action`.
        """
        self._process.write(json.dumps({"world": world, "actions": self._actions[actions].tolist()}))
        answer: dict[str, Any] = self._process.read(_LIMIT)
        return answer


def compare(pogema: Pogema, world: World, instance: Instance, policy: Name) -> list[str]:
    """Play an episode of an instance here and in POGEMA, and return one line for each thing that differs."""
    episode = play(instance, policy)
    return list_differences(episode, pogema.play({**world, "num_agents": instance.num_agents}, episode.actions))


def pogema_sum_of_costs(episode: Episode) -> float:
    """Return the sum of costs as POGEMA counts it.

    An agent that walks off its target in the last step of an episode has no success, and costs all steps. POGEMA's
    costs are then the steps until its earlier arrival.
    """
    before, after = episode.metrics[-2:]
    walked_off = before["success"] & ~after["success"]
    saved = len(episode.actions) - before["arrival_step"][walked_off]
    return float(after["sum_of_costs"] - saved.sum())


def list_differences(episode: Episode, answer: dict[str, Any]) -> list[str]:
    """Return one line for each thing that differs between an episode here and POGEMA's play of it; none if equal."""
    return list(_find_differences(episode, answer))


def _find_differences(episode: Episode, answer: dict[str, Any]) -> Iterator[str]:
    if not np.array_equal(np.array(answer["walls"], bool).T, episode.walls):
        yield "the walls differ"
    targets = episode.targets[: len(answer["targets"])]
    for what, ours, theirs in (("at", episode.cells, answer["cells"]), ("going to", targets, answer["targets"])):
        yield from _compare_cells(what, ours, np.array(theirs)[:, :, ::-1])
    rewards = np.array(answer["rewards"])
    if rewards.shape == episode.rewards.shape and (rewards != episode.rewards).any():
        step = np.flatnonzero((rewards != episode.rewards).any(axis=1))[0]
        yield f"step {step + 1}: rewards {episode.rewards[step].tolist()} here, {rewards[step].tolist()} there"
    if not answer["over"]:
        yield f"the episode is over after step {len(episode.actions)} here and goes on there"
        return
    for name, value in _pogema_metrics(episode).items():
        if answer["metrics"].get(name) != value:
            yield f"{name} is {value} here and {answer['metrics'].get(name)} there"


def _compare_cells(what: str, ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> Iterator[str]:
    if len(ours) != len(theirs):
        yield f"{len(ours) - 1} steps here, {len(theirs) - 1} there"
    steps = min(len(ours), len(theirs))
    apart = np.argwhere((ours[:steps] != theirs[:steps]).any(axis=2))
    for step, agent in apart[:1]:
        cells = ours[step, agent].tolist(), theirs[step, agent].tolist()
        yield f"after step {step}: agent_{agent} is {what} {cells[0]} here, {cells[1]} there"


def _pogema_metrics(episode: Episode) -> dict[str, float]:
    """Return the metrics by POGEMA's names, as it counts them."""
    metrics, steps = episode.metrics[-1], len(episode.actions)
    if not np.isnan(metrics["throughput"]):
        return {"avg_throughput": float(episode.rewards.sum()) / episode.limit}
    return {
        "CSR": metrics["csr"],
        "ISR": metrics["isr"],
        "makespan": metrics["makespan"],
        "SoC": pogema_sum_of_costs(episode),
        "ep_length": steps,
    }
