"""The observations, rewards, flags and infos of one world, by agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid.envs._annotations import Info

# Observations, rewards, terminations, truncations and infos by agent.
Results: TypeAlias = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]


def observations_by_agent(
    agents: list[str], keys: tuple[str, ...], parts: list[NDArray[Any]], rows: list[int] | None = None
) -> dict[str, Any]:
    """Return the observations of agents: copies of some rows, or of all, of the array (N, ...) of each key."""
    # Each part is copied once, and each agent gets a row of the copy.
    arrays = [part.copy() if rows is None else part[rows] for part in parts]
    if not keys:
        return dict(zip(agents, arrays[0]))
    # Python creates a dict with written-out keys four times as fast as one from pairs.
    if len(keys) == 2:
        one, two = keys
        return {agent: {one: a, two: b} for agent, a, b in zip(agents, *arrays)}
    if len(keys) == 3:
        one, two, three = keys
        return {agent: {one: a, two: b, three: c} for agent, a, b, c in zip(agents, *arrays)}
    return {agent: dict(zip(keys, row)) for agent, *row in zip(agents, *arrays)}


def pick_row(batch: Any, row: int) -> Any:
    """Return one row of a batch: of an array or a tuple of texts, or of each of these in nested dicts and tuples.

    >>> pick_row({"cell": ([1, 2], [3, 4])}, 1)
    {'cell': (2, 4)}
    """
    if isinstance(batch, dict):
        return {key: pick_row(one, row) for key, one in batch.items()}
    is_nested = isinstance(batch, tuple) and not any(isinstance(one, str) for one in batch)
    return tuple(pick_row(one, row) for one in batch) if is_nested else batch[row]


def infos_by_agent(
    agents: list[str], figures: tuple[NDArray[Any], ...], rows: list[int] | None, own: Mapping[str, NDArray[Any]]
) -> dict[str, Info]:
    """Return the infos of agents: some rows, or all, of the distances, the outcomes and the arrivals, (N,) each.

    In a game without targets, `figures` are the outcomes alone; `own` are those that a game adds, (N,) by name.
    """
    if own:
        infos: dict[str, Any] = infos_by_agent(agents, figures, rows, {})
        for name, array in own.items():
            for agent, value in zip(agents, to_list(array, rows)):
                infos[agent][name] = value
        return infos
    if len(figures) == 1:
        return {agent: {"outcome": outcome} for agent, outcome in zip(agents, to_list(figures[0], rows))}  # type: ignore[typeddict-item]
    distances, outcomes, arrived = figures
    columns = zip(agents, to_list(distances, rows), to_list(outcomes, rows), to_list(arrived, rows))
    return {agent: {"distance": a, "outcome": b, "arrived": c} for agent, a, b, c in columns}


def to_list(values: NDArray[Any], rows: list[int] | None) -> list[Any]:
    """Return the entries of some rows, or of all, as Python's own numbers."""
    listed: list[Any] = (values if rows is None else values[rows]).tolist()
    return listed


def of_agent(by_agent: Mapping[str, Any], agent: str) -> Any:
    """Return the value for an agent; raise KeyError, with the names of the agents, for another name."""
    try:
        return by_agent[agent]
    except (KeyError, TypeError) as error:
        raise KeyError(f"agent is {shorten(agent)}; expected one of {shorten(list(by_agent))}") from error
