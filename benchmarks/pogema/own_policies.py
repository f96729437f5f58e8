"""Play instances with a policy of one's own."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, get_type_hints

from typing_extensions import Unpack

from benchmarks.pogema.instances import Instance
from benchmarks.pogema.playing import SEARCHES, PolicySetup, Runner, Trial, blind
from benchmarks.pogema.published import Row
from benchmarks.pogema.rows import RowFile, check_runs, key_of
from multigrid._checks import shorten, unexpected_keywords
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.parts import Part
from multigrid.policies import Policy


class ObservationOptions(TypedDict, total=False):
    """The fields of `multigrid.GridConfig` that say what agents observe, as keywords."""

    observe: Sequence[Part] | None
    view_radius: int
    flatten: bool


def play(
    instances: Iterable[Instance],
    policy: Policy,
    algorithm: str,
    *,
    file: str | PathLike[str] | None = None,
    **observations: Unpack[ObservationOptions],
) -> list[Row]:
    """Play instances with a policy, and return the row of each, which `scores` and `summarize` take.

    Each instance is one episode. Before the first one, the policy plays one more step, which is not timed: in it, the
    policy can load or compile what it needs.

    Args:
        instances: of one kind or both, as `read_instances` returns them.
        policy: a function of a `MultiGridEnv` and its last observations that returns an action for each agent in
            ``env.agents``; 4 is stay. See `multigrid.policies`.
        algorithm: its name in the rows.
        file: a CSV file to which each row is appended after its episode. An instance for which it has a row of this
            algorithm is not played again, so that an interrupted call can be continued. With the name FOLDER/rows.csv,
            ``python -m benchmarks.pogema --join FOLDER`` takes its rows.
        **observations: `observe`, `view_radius` and `flatten` as for `multigrid.GridConfig`; `observe` is ("agent",
            "target") by default.

    Returns:
        A dict for each instance, in their order, with the keys `benchmarks.pogema.COLUMNS`.

    Raises:
        TypeError: an argument is of another type.
        ValueError: `algorithm` is empty or the name of a planner; two instances are the same; `file` holds something
            else, or rows under other rules; or an option is out of range. Invalid actions of the policy cause the
            errors of `MultiGridEnv.step`.
        DataError: an instance is not valid.
        OSError: the file cannot be written, or another process writes to it.

    >>> import numpy as np
    >>> def policy(env, observations):
    ...     return {agent: 0 if seen["agent"][0] < seen["target"][0] else 4 for agent, seen in observations.items()}
    >>> instance = Instance("mapf", "puzzles", "hall", 0, np.zeros((3, 2), bool), np.array([[0, 0]]), ([[2, 0]],), 9)
    >>> [row["makespan"] for row in play([instance], policy, "mine")]
    [2.0]

    See the page "The POGEMA benchmark" (docs/benchmark/benchmark.md in the source).
    """
    wanted = _check_instances(instances)
    if not callable(policy):
        raise TypeError(f"policy is of type {type(policy).__name__}; expected a function of an env and observations")
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm is {shorten(algorithm)}; expected the policy's name in the rows")
    if not algorithm or not algorithm.isprintable() or algorithm in SEARCHES:
        raise ValueError(f"algorithm is {shorten(algorithm)}; expected a name in one line, not that of a planner")
    names = get_type_hints(ObservationOptions)
    if set(observations) - set(names):
        raise unexpected_keywords("play", observations, tuple(names))

    def fit(config: GridConfig) -> GridConfig:
        return dataclasses.replace(blind(config), **observations)

    fit(GridConfig())  # before anything is written
    runner = Runner(lambda _: PolicySetup(lambda _: policy, fit))
    with contextlib.nullcontext() if file is None else RowFile(Path(file)) as rows_file:
        earlier = [] if rows_file is None else rows_file.rows
        check_runs(earlier, {}, RULES_VERSION)
        known: dict[tuple[Any, ...], Row] = {key_of(row): row for row in earlier}
        rows = []
        for instance in wanted:
            trial = Trial(algorithm, instance)
            row = known.get(trial.key) or runner(trial)
            if trial.key not in known and rows_file is not None:
                rows_file.append(row)
            rows.append(row)
    return rows


def _check_instances(instances: Any) -> list[Instance]:
    if not isinstance(instances, Iterable):
        raise TypeError(f"instances are of type {type(instances).__name__}; expected a list of instances")
    wanted = list(instances)
    keys = set()
    for index, instance in enumerate(wanted):
        if not isinstance(instance, Instance):
            raise TypeError(f"instance {index} is {shorten(instance)}; expected what `read_instances` returns")
        if instance.key in keys:
            raise ValueError(f"instance {index} is {instance.name}, which was there before; give each once")
        keys.add(instance.key)
    return wanted
