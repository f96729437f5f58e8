"""Rows: the part of a world's episode that one agent plays, as arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.core.metrics import METRICS


class AgentRow(NamedTuple):
    """What one agent sees, does and gets in T steps of an episode, from its reset to the agent's own end."""

    seed: int
    """The seed of the world's reset."""
    world: int
    """The number of the world's episode in the dataset: the rows of one number were played together."""
    agent: int
    """The agent's index."""
    observations: Any
    """(T + 1, ...), or a dict of such arrays: before each step, and after the last one."""
    actions: NDArray[np.int64]
    """int64 (T,)."""
    rewards: NDArray[np.float64]
    """float64 (T,)."""
    terminations: NDArray[np.bool_]
    """bool (T,)."""
    truncations: NDArray[np.bool_]
    """bool (T,)."""
    states: NDArray[Any] | None
    """(T + 1, ...): the state of the whole world before each step, and after the last one; or None."""
    metrics: dict[str, Any]
    """The metrics of the world's whole episode, see `multigrid.core.metrics`; "success" and "arrival_step" are the
    agent's own."""

    @property
    def ids(self) -> dict[str, Any]:
        """The ids and the metrics, by name."""
        return {"seed": self.seed, "world": self.world, "agent": self.agent, **self.metrics}

    @property
    def num_bytes(self) -> int:
        """The size of the arrays."""
        return sum(array.nbytes for _, array in _flatten(self._asdict()))


def make_row(
    ids: tuple[int, int, int],
    observations: Mapping[str, Any],
    steps: Sequence[Any],
    states: NDArray[Any] | None,
    metrics: Mapping[str, Any],
) -> AgentRow:
    """Return the row of an agent that has played T steps.

    Args:
        ids: the seed, the number of the episode, and the agent's index.
        observations: (T + 1, ...) each, by part; a single array is named "".
        steps: the actions, rewards, terminations and truncations, (T,) each.
        states: those of the whole episode, (T + 1 or more, ...), or None.
        metrics: those of the world; the ones by agent are (N,).
    """
    seed, world, agent = ids
    # Copies: a view would keep all agents' arrays in memory.
    parts = {part: np.array(array) for part, array in observations.items()}
    actions, rewards, terminations, truncations = steps
    return AgentRow(
        seed,
        world,
        agent,
        parts.get("", parts),
        np.array(actions, np.int64),
        np.array(rewards, np.float64),
        np.array(terminations, np.bool_),
        np.array(truncations, np.bool_),
        None if states is None else states[: len(actions) + 1].copy(),
        _metrics_of(metrics, agent),
    )


def _metrics_of(metrics: Mapping[str, Any], agent: int) -> dict[str, Any]:
    """Return the metrics of a world as plain numbers: those by agent are this agent's."""
    values = {name: np.asarray(metrics[name]) for name in METRICS if name in metrics}
    return {name: (value[agent] if value.ndim else value).item() for name, value in values.items()}


def update_digest(digest: Any, ids: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Add a row to a running SHA-256: its ids and metrics, and its arrays with their names, types and shapes."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in ids.items()}
    digest.update(json.dumps(plain, sort_keys=True).encode())
    for name, array in sorted(_flatten(arrays)):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)


def _flatten(arrays: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in arrays.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}/")
        elif value is not None:
            yield prefix + name, np.asarray(value)
