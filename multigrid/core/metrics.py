"""The metrics of path finding.

With t the steps played and a_i the step in which agent i arrived:

- *success*, for each agent: whether it has arrived; under *stay*, whether it stands on its target.
- *arrival_step*, for each agent: a_i; under *stay*, the first step of the current stay on the target. NaN without
  success.
- *csr*, cooperative success rate: 1 when all agents are successful, else 0.
- *isr*, individual success rate: the fraction of agents that are.
- *sum_of_costs* (flowtime): the sum of a_i, with t for an agent without success.
- *makespan*: the largest of these.
- *throughput*: under *restart*, arrivals of all agents divided by t; NaN under the other rules.

All are over the agents of the episode alone: where their number is drawn, the others have no success.

Under *restart*, success means at least one arrival, and all metrics but success and throughput are NaN. In a game
without targets nobody has success, and all other metrics are NaN, but for the game's own.

`MultiGridEnv.metrics` returns success and the arrival step as arrays, with a value for each agent. In the results of
`multigrid.evaluate`, success is another metric: the share of episodes in which all agents are successful, as csr.

With delays, there is one more, the last:

- *delays*: the steps in which agents were delayed, of all agents together.

Sources: Stern et al. (SoCS 2019) for the sum of costs and the makespan, in which waiting on a target is not charged to
an agent that does not leave it again; Skrynnik et al. (POGEMA, ICLR 2025) for the rates, the throughput, and for
counting an agent without success with all the steps. POGEMA divides the throughput by the limit of steps, which is the
same at the limit. For an agent that walks off its target in the last step, POGEMA's sum of costs counts the earlier
arrival, although POGEMA's rates count no success; here the agent costs all the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.core.arrays import ON_TARGET, unpack
from multigrid.core.delays import has_delays
from multigrid.core.rules import RESTART
from multigrid.runtime.compiled import kernel

DELAYS = "delays"
"""The metric of worlds with delays."""
METRICS = ("success", "arrival_step", "csr", "isr", "sum_of_costs", "makespan", "throughput")
"""The names of the metrics; the first two are by agent."""

_SUCCESS, _ARRIVAL_STEP, _CSR, _ISR, _SUM_OF_COSTS, _MAKESPAN, _THROUGHPUT = range(len(METRICS))
_UNDEFINED = float("nan")


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
DELAYS_LABEL = Label("delays", "steps in which agents were delayed, of all agents together")


def world_metrics(figures: NDArray[np.float64], names: Sequence[str] = METRICS) -> dict[str, Any]:
    """Return the metrics of one world's episode so far, by name; after its last step they are final.

    `figures` is what `multigrid.core.worlds.Worlds.measure` returned for one world, and `names` are its `metrics`.
    "success" is bool (N,), "arrival_step" float64 (N,), and the others are floats. Metrics that are not defined, or not
    yet, are NaN.
    """
    metrics = episode_metrics(figures, names)
    return {name: value[0] if value.ndim > 1 else value.item() for name, value in metrics.items()}


def episode_metrics(figures: NDArray[np.float64], names: Sequence[str] = METRICS) -> dict[str, NDArray[Any]]:
    """Return the metrics of K worlds, (K, N) or float64 (K,), from what `Worlds.measure` returned."""
    success, arrival_step, *others = figures
    shared = dict(zip(names[2:], (array[:, 0].copy() for array in others), strict=True))
    return {"success": success != 0, "arrival_step": arrival_step.copy(), **shared}


def make_lists(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics with lists in place of arrays.

    >>> make_lists({"csr": 0.5, "success": np.array([True, False])})
    {'csr': 0.5, 'success': [True, False]}
    """
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in metrics.items()}


@kernel
def write_metrics(address_table: Any, worlds: Any, figures: Any) -> None:
    """Write `METRICS` of K worlds' episodes to float64 (7, K, N); those that all agents share are written for each."""
    w = unpack(address_table)
    max_agents = w.actions.shape[1]
    for k in range(worlds.shape[0]):
        num_agents = w.num_agents[worlds[k]]
        e, successes, arrivals, costs, makespan = worlds[k], 0, 0, 0, 0
        steps, restarts = w.steps[e], w.settings[ON_TARGET] == RESTART
        is_one_shot = w.hooks.has_targets and not restarts
        for i in range(num_agents):
            arrival = w.arrival_step[e, i]
            success = int(w.arrivals[e, i] > 0 if restarts else arrival >= 0)
            cost = arrival if success else steps
            figures[_SUCCESS, k, i] = success
            figures[_ARRIVAL_STEP, k, i] = float(arrival) if success and not restarts else _UNDEFINED
            successes += success
            arrivals += w.arrivals[e, i]
            costs += cost
            makespan = max(makespan, cost)
        for i in range(max_agents):
            if i >= num_agents:
                figures[_SUCCESS, k, i], figures[_ARRIVAL_STEP, k, i] = 0.0, _UNDEFINED
            figures[_CSR, k, i] = float(int(successes == num_agents)) if is_one_shot else _UNDEFINED
            figures[_ISR, k, i] = successes / num_agents if is_one_shot else _UNDEFINED
            figures[_SUM_OF_COSTS, k, i] = float(costs) if is_one_shot else _UNDEFINED
            figures[_MAKESPAN, k, i] = float(makespan) if is_one_shot else _UNDEFINED
            is_endless = w.hooks.has_targets and restarts and steps > 0
            figures[_THROUGHPUT, k, i] = arrivals / steps if is_endless else _UNDEFINED
        w.hooks.write_own_metrics(w, e, figures, k)
        if has_delays(w):
            delayed = 0
            for i in range(num_agents):
                delayed += w.delayed_steps[e, i]
            for i in range(max_agents):
                figures[figures.shape[0] - 1, k, i] = float(delayed)
