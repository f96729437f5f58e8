"""The figures of an episode: by hand, and as POGEMA itself reported them of the same episode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, MultiGridEnv, parallel_env
from multigrid.core.metrics import METRICS

EPISODES = json.loads((Path(__file__).parents[1] / "golden" / "pogema_metrics.json").read_text())


def test_metrics_are_json() -> None:
    """As lists, the metrics of every face can be written as JSON, with the values that they have as arrays."""
    settings: dict[str, Any] = {"walls": "a.A\nb.B", "max_cycles": 7}
    faces = [MultiGridEnv(GridConfig(**settings)), multigrid.env(**settings), multigrid.vector_env(2, **settings)]
    for env in (*faces, multigrid.GridWorldEnv(size=3)):
        env.reset(seed=0)
        metrics, written = env.metrics(), json.loads(json.dumps(env.metrics(as_lists=True)))
        assert list(written) == list(metrics)
        for name, value in metrics.items():
            np.testing.assert_array_equal(written[name], value)


def pogema_play(episode: dict[str, Any]) -> list[dict[str, Any]]:
    """Play an episode to its end; return the metrics at reset and after each step."""
    env = parallel_env(
        walls="\n".join(episode["map"]),
        num_agents=len(episode["starts"]),
        collisions=episode["collisions"],
        on_target={"finish": "leave", "nothing": "stay", "restart": "restart"}[episode["on_target"]],
        allow_stay=True,
        max_cycles=episode["limit"],
    )
    env.reset(seed=0, options={"agents": episode["starts"], "targets": episode["targets"]})
    metrics = [env.metrics()]
    for step, actions in enumerate(episode["actions"], 1):
        assert env.agents, step
        rewards = env.step(dict(zip(env.possible_agents, map(int, actions), strict=True)))[1]
        if episode["on_target"] == "restart":
            assigned = {i: cell for when, i, *cell in episode["next_targets"] if when == step}
            assert [env.possible_agents[i] for i in assigned] == [agent for agent, one in rewards.items() if one], step
            # The targets that POGEMA assigned take the place of those that the env has drawn.
            state = env.get_state()
            for i, cell in assigned.items():
                state["target"][i] = cell
                state["distances"][i] = np.abs(state["location"][i] - cell).sum()
            env.set_state(state)
        metrics.append(env.metrics())
    assert env.agents == []
    return metrics


@pytest.mark.parametrize("episode", EPISODES, ids=range(len(EPISODES)))
def test_the_figures_are_pogemas(episode: dict[str, Any]) -> None:
    """All figures are POGEMA's but one: under stay it forgives an agent that walks off in the very last step.

    Such an agent has failed, says POGEMA's success rate, and so do both of ours; POGEMA's sum of costs still charges it
    with its arrival only, ours with all the steps. Under leave POGEMA's episode length is the mean of the costs.
    """
    *_, before, metrics = pogema_play(episode)
    steps = len(episode["actions"])
    ours = {"CSR": metrics["csr"], "ISR": metrics["isr"], "makespan": metrics["makespan"], "ep_length": steps}
    if episode["on_target"] == "restart":
        ours = {"avg_throughput": metrics["throughput"]}
        arrived = {i for _, i, *_ in episode["next_targets"]}
        assert np.flatnonzero(metrics["success"]).tolist() == sorted(arrived)
    elif episode["on_target"] == "nothing":
        forgiven = before["success"] & ~metrics["success"]
        ours["SoC"] = metrics["sum_of_costs"] - (steps - before["arrival_step"][forgiven]).sum()
    else:
        ours["ep_length"] = pytest.approx(metrics["sum_of_costs"] / len(metrics["success"]), rel=1e-12)
        del ours["makespan"]
    assert ours == episode["metrics"]


def play(env: MultiGridEnv, *steps: str) -> MultiGridEnv:
    """Play steps of one character an agent: > right, < left, v one down the page, ^ one up, - stay."""
    env.reset(seed=0)
    for actions in steps:
        env.step({agent: ">v<^-".index(action) for agent, action in zip(env.agents, actions, strict=True)})
    return env


NAN = float("nan")
NOT_YET = [False] * 3, [NAN] * 3
SOLVED = [True] * 3, [1.0, 2.0, 4.0], 1.0, 1.0, 7.0, 4.0
IN_PART = [True, True, False], [1.0, 2.0, NAN], 0.0, 2 / 3, 6.0, 3.0
EPISODES_BY_HAND = [
    ("park", (), (*NOT_YET, 0.0, 0.0, 0.0, 0.0)),
    ("park", (">>>", "->>", "--^", "-->"), SOLVED),
    ("leave", (">>>", ">>", "-", ">"), SOLVED),
    # At the limit, who has not arrived is charged with all the steps.
    ("park 3", (">>-", "->-", "---"), IN_PART),
    ("leave 3", (">>-", ">-", "-"), IN_PART),
    # Under stay the arrival that counts is the first of the steps that the agent has stood there without a break.
    ("stay", (">--", "<--", ">>-", "->>"), ([True, True, False], [3.0, 4.0, NAN], 0.0, 2 / 3, 11.0, 4.0)),
    ("stay", (">--", "<--"), (*NOT_YET, 0.0, 0.0, 6.0, 2.0)),
    ("stay", (">>>", "->>", "-->"), ([True] * 3, [1.0, 2.0, 3.0], 1.0, 1.0, 6.0, 3.0)),
    ("restart", (), (*NOT_YET, NAN, NAN, NAN, NAN)),
]


def three_rows(rule: str) -> MultiGridEnv:
    """Three agents in three rows, one, two and three cells from their targets, under a rule, perhaps with a limit."""
    on_target, _, limit = rule.partition(" ")
    return parallel_env(walls="aA...\nb.B..\nc..C.", on_target=on_target, allow_stay=True, max_cycles=int(limit or 300))


@pytest.mark.parametrize(("rule", "steps", "expected"), EPISODES_BY_HAND)
def test_episodes_by_hand(rule: str, steps: tuple[str, ...], expected: tuple[Any, ...]) -> None:
    """Success, arrival step, success rates, sum of costs and makespan are those of the definitions; no throughput."""
    env = play(three_rows(rule), *steps)
    np.testing.assert_equal(env.metrics(), dict(zip(METRICS, (*expected, NAN), strict=True)))


def test_throughput_is_arrivals_over_steps() -> None:
    """Under restart the throughput counts all arrivals over the steps played, and the other figures are undefined."""
    env = three_rows("restart")
    env.reset(seed=4)
    random = np.random.default_rng(0)
    arrivals = np.zeros(3)
    for step in range(1, 200):
        rewards = env.step(dict(zip(env.agents, random.integers(0, 5, 3).tolist(), strict=True)))[1]
        arrivals += list(rewards.values())
        metrics = env.metrics()
        assert metrics["throughput"] == pytest.approx(arrivals.sum() / step)
        assert metrics["success"].tolist() == (arrivals > 0).tolist()
    assert arrivals.sum() >= 10
    assert np.isnan([metrics[name] for name in ("csr", "isr", "sum_of_costs", "makespan")]).all()


def test_metrics_begin_anew_with_each_episode() -> None:
    """A reset clears what the last episode has counted."""
    env = play(three_rows("park"), ">>>", "->>", "-->")
    assert env.metrics()["csr"] == 1.0
    assert not play(env).metrics()["success"].any()
    env = play(three_rows("restart"), ">--")
    assert env.metrics()["throughput"] == 1.0
    assert play(env, "---").metrics()["throughput"] == 0.0
