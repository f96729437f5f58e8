"""The metrics of path finding.

With t the steps played and a_i the step in which agent i arrived:

- *success*: whether the agent has arrived; under *stay*, whether it stands on its target.
- *arrival_step*: a_i; under *stay*, the first step of the current stay on the target.
- *csr*, cooperative success rate: 1 when all agents are successful, else 0.
- *isr*, individual success rate: the fraction of agents that are.
- *sum_of_costs* (flowtime): the sum of a_i, with t for an agent without success.
- *makespan*: the largest of these.
- *throughput*: arrivals of all agents divided by t.

Sources: Stern et al. (SoCS 2019) for the sum of costs and the makespan, in which waiting on a target is not charged to
an agent that does not leave it again; Skrynnik et al. (POGEMA, ICLR 2025) for the rates, the throughput, and for
counting an agent without success with all the steps. POGEMA divides the throughput by the limit of steps, which is the
same at the limit. For an agent that walks off its target in the last step, its sum of costs counts the earlier
arrival, although its rates count no success.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core.arrays import Arrays

__all__ = ["LABELS", "METRICS", "Label", "episode_metrics", "world_metrics"]

METRICS = ("success", "arrival_step", "csr", "isr", "sum_of_costs", "makespan", "throughput")
"""The names of the metrics; the first two are by agent."""


class Label(NamedTuple):
    """The text that describes a metric."""

    short: str
    meaning: str


LABELS = {
    "csr": Label("CSR", "cooperative success rate: 1 when all agents arrived, else 0"),
    "isr": Label("ISR", "individual success rate: the share of agents that arrived"),
    "sum_of_costs": Label("sum of costs", "steps until arrival, of all agents together"),
    "makespan": Label("makespan", "steps until the last arrival"),
    "throughput": Label("throughput", "arrivals a step"),
}
"""The labels of the metrics of a whole episode, in display order."""


def world_metrics(config: GridConfig, arrays: Arrays, e: int) -> dict[str, Any]:
    """Return the metrics of world e's episode so far; after its last step, the final ones.

    Returns:
        "success": bool (N,); "arrival_step": float64 (N,); "csr", "isr", "sum_of_costs", "makespan", "throughput":
        floats. Undefined metrics are NaN: the throughput before the first step, and under all rules but *restart*;
        the arrival step of an agent without success; and under *restart* all others but the success, which then is
        having arrived at least once.
    """
    metrics = episode_metrics(config, arrays, np.array([e]))
    return {name: value[0] if value.ndim > 1 else value.item() for name, value in metrics.items()}


def episode_metrics(config: GridConfig, arrays: Arrays, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the metrics of K worlds: those by agent as (K, N), the others as float64 (K,)."""
    steps = arrays.steps[worlds]
    undefined = np.full(len(worlds), np.nan)
    if config.on_target == "restart":
        arrivals = arrays.arrivals[worlds]
        throughput = np.divide(arrivals.sum(axis=1), steps, out=undefined.copy(), where=steps > 0)
        metrics = (arrivals > 0, np.full(arrivals.shape, np.nan), *(undefined.copy() for _ in range(4)), throughput)
    else:
        arrival_step = arrays.arrival_step[worlds]
        success = arrival_step >= 0
        costs = np.where(success, arrival_step, steps[:, None]).astype(np.float64)
        metrics = (
            success,
            np.where(success, arrival_step, np.nan),
            success.all(axis=1).astype(np.float64),
            success.mean(axis=1),
            costs.sum(axis=1),
            costs.max(axis=1),
            undefined,
        )
    return dict(zip(METRICS, metrics, strict=True))
