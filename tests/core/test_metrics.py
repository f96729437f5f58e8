"""The figures of an episode: by hand, and as POGEMA itself reported them of the same episode."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, MultiGridEnv, parallel_env

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


def recorded(on_target: str) -> list[int]:
    """Which of the episodes were recorded under one of POGEMA's rules."""
    return [index for index, episode in enumerate(EPISODES) if episode["on_target"] == on_target]


@functools.cache
def pogema_play(index: int) -> list[dict[str, Any]]:
    """Play an episode to its end; return the metrics at reset and after each step."""
    episode = EPISODES[index]
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
            install(env, assigned)
        metrics.append(env.metrics())
    assert env.agents == []
    return metrics


def install(env: MultiGridEnv, targets: dict[int, list[int]]) -> None:
    """Put the targets that POGEMA assigned in the place of those that the env has drawn."""
    state = env.get_state()
    for i, cell in targets.items():
        state["target"][i] = cell
        state["distances"][i] = np.abs(state["location"][i] - cell).sum()
    env.set_state(state)


def walked_off(before: dict[str, Any], after: dict[str, Any]) -> np.ndarray:
    """Who stood on a target and does not any more."""
    return before["success"] & ~after["success"]


@pytest.mark.parametrize("index", recorded("finish"))
def test_leave_has_pogemas_figures(index: int) -> None:
    """Under leave both success rates are POGEMA's, and its episode length is the mean of the agents' costs."""
    metrics = pogema_play(index)[-1]
    mean = metrics["sum_of_costs"] / len(metrics["success"])
    ours = {"CSR": metrics["csr"], "ISR": metrics["isr"], "ep_length": pytest.approx(mean, rel=1e-12)}
    assert ours == EPISODES[index]["metrics"]


@pytest.mark.parametrize("index", recorded("nothing"))
def test_stay_has_pogemas_figures(index: int) -> None:
    """Under stay all figures are POGEMA's but one: it forgives an agent that walks off in the very last step.

    Such an agent has failed, says POGEMA's success rate, and so do both of ours; POGEMA's sum of costs still charges it
    with its arrival only, ours with all the steps.
    """
    *_, before, metrics = pogema_play(index)
    forgiven = walked_off(before, metrics)
    steps = len(EPISODES[index]["actions"])
    ours = {name: metrics[key] for name, key in (("CSR", "csr"), ("ISR", "isr"), ("makespan", "makespan"))}
    sum_of_costs = metrics["sum_of_costs"] - (steps - before["arrival_step"][forgiven]).sum()
    assert {**ours, "SoC": sum_of_costs, "ep_length": steps} == EPISODES[index]["metrics"]


@pytest.mark.parametrize("index", recorded("restart"))
def test_restart_has_pogemas_throughput(index: int) -> None:
    """Under restart the throughput is POGEMA's, and so is each arrival, with the targets that POGEMA assigned."""
    metrics = pogema_play(index)[-1]
    assert {"avg_throughput": metrics["throughput"]} == EPISODES[index]["metrics"]
    assert metrics["success"].tolist() == [
        any(i == arrived for _, arrived, *_ in EPISODES[index]["next_targets"]) for i in range(len(metrics["success"]))
    ]


def play(env: MultiGridEnv, *steps: str) -> MultiGridEnv:
    """Play steps of one character an agent: > right, < left, v one down the page, ^ one up, - stay."""
    env.reset(seed=0)
    for actions in steps:
        env.step({agent: ">v<^-".index(action) for agent, action in zip(env.agents, actions, strict=True)})
    return env


def listed(env: MultiGridEnv) -> dict[str, Any]:
    """The metrics without arrays."""
    return {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in env.metrics().items()}


THREE = "aA...\nb.B..\nc..C."


def three_rows(on_target: str, **settings: Any) -> MultiGridEnv:
    """Three agents in three rows, one, two and three cells from their targets."""
    return parallel_env(walls=THREE, on_target=on_target, allow_stay=True, **settings)


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_metrics_of_a_solved_episode(on_target: str) -> None:
    """All arrived, after 1, 2 and 4 steps: the sum of costs is 7, the makespan 4."""
    steps = (">>>", "->>", "--^", "-->") if on_target == "park" else (">>>", ">>", "-", ">")
    env = play(three_rows(on_target), *steps)
    assert env.agents == []
    expected = {"success": [True] * 3, "arrival_step": [1.0, 2.0, 4.0], "csr": 1.0, "isr": 1.0, "sum_of_costs": 7.0}
    metrics = listed(env)
    assert math.isnan(metrics.pop("throughput"))
    assert metrics == {**expected, "makespan": 4.0}


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_metrics_of_an_episode_cut_short(on_target: str) -> None:
    """Who has not arrived when the limit comes is charged with all the steps, and the success rate is individual."""
    steps = (">>-", "->-", "---") if on_target == "park" else (">>-", ">-", "-")
    env = play(three_rows(on_target, max_cycles=3), *steps)
    assert env.agents == []
    metrics = listed(env)
    assert metrics["success"] == [True, True, False]
    assert metrics["arrival_step"][:2] == [1.0, 2.0]
    assert math.isnan(metrics["arrival_step"][2])
    assert (metrics["csr"], metrics["isr"]) == (0.0, pytest.approx(2 / 3))
    assert (metrics["sum_of_costs"], metrics["makespan"]) == (6.0, 3.0)


def test_under_stay_walking_off_undoes_an_arrival() -> None:
    """Under stay the arrival that counts is the first of the steps that the agent has stood there without a break."""
    env = play(three_rows("stay"), ">--", "<--", ">>-", "->>")
    metrics = listed(env)
    assert metrics["success"] == [True, True, False]
    assert metrics["arrival_step"][:2] == [3.0, 4.0]
    assert metrics["sum_of_costs"] == 3 + 4 + 4
    env = play(three_rows("stay"), ">--", "<--")
    assert listed(env)["success"] == [False] * 3
    env = play(three_rows("stay"), ">>>", "->>", "-->")
    assert listed(env)["arrival_step"] == [1.0, 2.0, 3.0]
    assert (env.metrics()["csr"], env.metrics()["sum_of_costs"]) == (1.0, 6.0)


def test_metrics_before_the_first_step() -> None:
    """At reset nobody has arrived and nothing has been spent; what is not defined yet is NaN."""
    metrics = listed(play(three_rows("park")))
    assert metrics["success"] == [False] * 3
    assert all(math.isnan(step) for step in metrics["arrival_step"])
    assert (metrics["csr"], metrics["isr"], metrics["sum_of_costs"], metrics["makespan"]) == (0.0, 0.0, 0.0, 0.0)
    assert math.isnan(metrics["throughput"])
    assert math.isnan(listed(play(three_rows("restart")))["throughput"])


def test_throughput_is_arrivals_over_steps() -> None:
    """Under restart the throughput counts all arrivals over the steps played, and the other figures are undefined."""
    env = three_rows("restart", max_cycles=None)
    env.reset(seed=4)
    random = np.random.default_rng(0)
    arrivals = np.zeros(3)
    for step in range(1, 200):
        rewards = env.step(dict(zip(env.agents, random.integers(0, 5, 3).tolist(), strict=True)))[1]
        arrivals += list(rewards.values())
        metrics = listed(env)
        assert metrics["throughput"] == pytest.approx(arrivals.sum() / step)
        assert metrics["success"] == (arrivals > 0).tolist()
    assert arrivals.sum() >= 10
    assert all(math.isnan(metrics[name]) for name in ("csr", "isr", "sum_of_costs", "makespan"))


def test_metrics_begin_anew_with_each_episode() -> None:
    """A reset clears what the last episode has counted."""
    env = play(three_rows("park"), ">>>", "->>", "-->")
    assert listed(env)["csr"] == 1.0
    assert listed(play(env))["success"] == [False] * 3
    env = play(three_rows("restart", max_cycles=None), ">--")
    assert env.metrics()["throughput"] == 1.0
    assert play(env, "---").metrics()["throughput"] == 0.0
