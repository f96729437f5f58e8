"""`multigrid.evaluate`: the table of metrics of episodes that are known by hand, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, MultiGridEnv
from multigrid.policies import Policy, random_policy
from multigrid.policies.evaluation import MEASURES, estimate_measures, measure_episode

# Two corridors: agent_0 needs three steps, agent_1 two.
CORRIDORS = GridConfig(walls="a..A.\n#####\nb.B##", max_cycles=7)
Z = 1.959963984540054


def east(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
    """Every agent goes right."""
    del observations
    return dict.fromkeys(env.agents, 0)


def first_east(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
    """The first agent goes right, the second left, where the edge is."""
    return {agent: 0 if agent == "agent_0" else 2 for agent in east(env, observations)}


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_the_table_of_two_corridors(on_target: Any) -> None:
    """Four episodes in which both agents arrive have the means that follow from the map, and their intervals."""
    config = GridConfig(walls=CORRIDORS.walls, on_target=on_target, max_cycles=7)
    table = multigrid.evaluate(config, east, range(4))
    rate = (1.0, pytest.approx(4 / (4 + Z**2)), 1.0)
    nan = pytest.approx((np.nan,) * 3, nan_ok=True)
    assert table == {
        "success": rate,
        "csr": rate,
        "isr": (1, 1, 1),
        "sum_of_costs": (5, 5, 5),
        "makespan": (3, 3, 3),
        "throughput": nan,
    }


def test_an_episode_with_one_arrival_is_no_success() -> None:
    """Where one of two agents arrives, success and csr are 0, isr is a half, and the other agent costs all steps."""
    table = multigrid.evaluate(CORRIDORS, first_east, range(3))
    means = {name: estimate.mean for name, estimate in table.items() if name != "throughput"}
    assert means == {"success": 0, "csr": 0, "isr": 0.5, "sum_of_costs": 3 + 7, "makespan": 7}
    assert table["success"].low == 0 < table["success"].high < 1


def test_under_restart_only_the_throughput_is_defined() -> None:
    """Throughput is arrivals over steps, and no agent is ever done: all other means and intervals are NaN."""
    config = GridConfig(size=(5, 3), num_agents=2, on_target="restart", max_cycles=40)
    expected = []
    for seed in (5, 8, 2):
        env, policy = MultiGridEnv(config), random_policy(np.random.default_rng(1))
        observations, _ = env.reset(seed=seed)
        rewards = 0.0
        while env.agents:
            observations, reward, *_ = env.step(policy(env, observations))
            rewards += sum(reward.values())
        expected.append(rewards / 40)
    table = multigrid.evaluate(config, anew_each_episode(), (5, 8, 2))
    assert table["throughput"].mean == pytest.approx(np.mean(expected))
    assert table["throughput"].low < table["throughput"].mean < table["throughput"].high
    assert all(np.isnan(number) for name in MEASURES if name != "throughput" for number in table[name])


def anew_each_episode() -> Policy:
    """A random policy whose draws begin again with each episode."""
    policies: dict[str, Policy] = {}

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        if env.get_state()["steps"] == 0:
            policies["now"] = random_policy(np.random.default_rng(1))
        return policies["now"](env, observations)

    return choose


def test_each_seed_is_one_episode() -> None:
    """The episodes are those of resets with the seeds, in their order, and each is played until no agent is left."""
    config = GridConfig(size=(6, 4), num_agents=3, on_target="leave", max_cycles=11)
    starts = []

    def record(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        if env.get_state()["steps"] == 0:
            starts.append([part.tolist() for part in observations["agent_2"].values()])
        return east(env, observations)

    multigrid.evaluate(config, record, iter([9, 4, 9]))
    resets = [MultiGridEnv(config).reset(seed=seed)[0]["agent_2"] for seed in (9, 4, 9)]
    assert starts == [[part.tolist() for part in observation.values()] for observation in resets]


def test_equal_generators_give_equal_tables() -> None:
    """A policy goes on with its generator over the episodes, and two equal ones give one table."""
    config = GridConfig(size=(4, 3), max_cycles=20)
    one, again = (multigrid.evaluate(config, random_policy(np.random.default_rng(3)), range(6)) for _ in range(2))
    drawn = random_policy(np.random.default_rng(3))
    by_hand = []
    for seed in range(6):
        env = MultiGridEnv(config)
        observations, _ = env.reset(seed=seed)
        while env.agents:
            observations, *_ = env.step(drawn(env, observations))
        by_hand.append(measure_episode(env.metrics()))
    assert repr(one) == repr(again) == repr(estimate_measures(by_hand))


def test_one_episode_has_no_interval_of_its_mean() -> None:
    """The mean of one number has no interval; a rate has Wilson's."""
    table = multigrid.evaluate(CORRIDORS, east, [0])
    assert table["makespan"].mean == 3
    assert np.isnan(table["makespan"].low)
    assert table["success"].low == pytest.approx(1 / (1 + Z**2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, east, [0]), TypeError, "config is of type NoneType; expected a GridConfig"),
        ((CORRIDORS, "random", [0]), TypeError, "policy is of type str; expected a function of an env and"),
        ((CORRIDORS, east, 7), TypeError, "seeds are of type int; expected integers, such as range(100)"),
        ((CORRIDORS, east, "07"), TypeError, "seed is '0' of type str; expected an integer of at least 0"),
        ((CORRIDORS, east, [0, 1.0]), TypeError, "seed is 1.0 of type float; expected an integer of at least 0"),
        ((CORRIDORS, east, [0, -1]), ValueError, "seed is -1; expected an integer of at least 0"),
        ((CORRIDORS, east, ()), ValueError, "seeds are empty; expected at least one integer"),
        ((GridConfig(max_cycles=None), east, [0]), ValueError, "max_cycles is None, but each episode is played to"),
        ((CORRIDORS, lambda env, _: {"agent_0": 0}, [0]), ValueError, "actions lack ['agent_1']; expected an action"),
    ],
    ids=["config", "policy", "number", "text", "float", "negative", "none", "endless", "actions"],
)
def test_bad_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    """What cannot be evaluated is refused with what came and what was expected."""
    with pytest.raises(error, match=re.escape(message)):
        multigrid.evaluate(*arguments)
