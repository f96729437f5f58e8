"""The figures by which path finding is judged.

With t the steps played and a_i the step in which agent i arrived:

- *success*: whether the agent has arrived; under *stay*, whether it stands on its target.
- *arrival_step*: a_i; under *stay*, the first of the steps that it has stood there without a break.
- *csr*, cooperative success rate: 1 when all agents are successful, else 0.
- *isr*, individual success rate: the fraction of agents that are.
- *sum_of_costs* (flowtime): the sum of a_i, with t for an agent without success.
- *makespan*: the largest of these.
- *throughput*: arrivals of all agents divided by t.

Sources: Stern et al. (SoCS 2019) for the sum of costs and the makespan, in which waiting on a target is not charged to
an agent that does not leave it again; Skrynnik et al. (POGEMA, ICLR 2025) for the rates, the throughput, and for
counting an agent without success with all the steps. POGEMA divides the throughput by the limit of steps, which is the
same at the limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.config import GridConfig
from multigrid.core.arrays import Arrays

__all__ = ["world_metrics"]


def world_metrics(config: GridConfig, arrays: Arrays, e: int) -> dict[str, Any]:
    """Return the figures of world e's episode so far; after its last step, the final ones.

    Returns:
        "success": bool (N,); "arrival_step": float64 (N,); "csr", "isr", "sum_of_costs", "makespan", "throughput":
        floats. What is not defined, or not yet, is NaN: the throughput under all rules but *restart*, and before
        the first step; the arrival step of an agent without success; and under *restart* everything else but the
        success, which then is having arrived at least once.
    """
    steps = int(arrays.steps[e])
    if config.on_target == "restart":
        nothing = np.full(config.num_agents, np.nan)
        throughput = float(arrays.arrivals[e].sum()) / steps if steps else np.nan
        rest = dict.fromkeys(("csr", "isr", "sum_of_costs", "makespan"), np.nan)
        return {"success": arrays.arrivals[e] > 0, "arrival_step": nothing, **rest, "throughput": throughput}
    success = arrays.arrival_step[e] >= 0
    costs = np.where(success, arrays.arrival_step[e], steps)
    return {
        "success": success,
        "arrival_step": np.where(success, arrays.arrival_step[e], np.nan),
        "csr": float(success.all()),
        "isr": float(success.mean()),
        "sum_of_costs": float(costs.sum()),
        "makespan": float(costs.max()),
        "throughput": np.nan,
    }
