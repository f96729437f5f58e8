"""Delays: how often agents are held up and for how long, from a stream of their own, and what they do then."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import judged
from helpers import crossed
from multigrid import Delays, Game, GridConfig, MultiGridEnv, Outcome, parallel_env, vector_env
from multigrid.scenarios import RecordEpisode, Scenario, load, replay, save
from reference import Clock
from worldgen import COLLISIONS, some_walls

MODELS = {
    "bernoulli": Delays(0.2, (1, 3)),
    "certain": Delays(1.0, (2, 2)),
    "gaussian": Delays(0.3, (2, 6), durations="gaussian", mean_ratio=0.25, std_ratio=0.5),
    "poisson": Delays(0.4, (1, 4), events="poisson"),
    "same length": Delays(0.4, (3, 7), events="poisson", durations="gaussian", std_ratio=0.0),
}


def delayed_by_step(envs: Any, steps: int, seed: int) -> np.ndarray:
    """Which rows are delayed in each step, bool (steps, rows), with random actions; episodes do not end."""
    random, found = np.random.default_rng(seed), []
    for _ in range(steps):
        infos = envs.step(random.integers(0, 4, envs.num_envs))[-1]
        found.append(infos["outcome"] == Outcome.DELAYED)
    return np.array(found)


@pytest.mark.parametrize(("model", "on_target"), crossed(list(MODELS), ["park", "leave", "stay", "restart"]))
def test_episodes_with_delays_are_the_references(model: str, on_target: Any) -> None:
    """An episode with delays is that of the reference, whose clock draws from NumPy's ``PCG64(seed).jumped()``."""
    for seed, collisions in enumerate(COLLISIONS):
        rules = {"on_target": on_target, "collisions": collisions, "max_cycles": 40, "allow_stay": True}
        seen = ("agent", "view", "delayed", "delay_left")
        walls = some_walls(6, 4, 0.15, seed=8)
        judged.play_episode(GridConfig(walls=walls, num_agents=5, delays=MODELS[model], observe=seen, **rules), seed)


@pytest.mark.parametrize("model", MODELS)
def test_delays_do_not_depend_on_actions(model: str) -> None:
    """Equal seeds give equal delays whatever agents do, in every world of a vector env, across its own resets."""
    options: dict[str, Any] = {"size": (7, 4), "num_agents": 5, "on_target": "restart", "delays": MODELS[model]}
    envs = vector_env(3, **options, max_cycles=None)
    envs.reset(seed=4)
    one = delayed_by_step(envs, 60, seed=1)
    envs.reset(seed=4)
    assert (delayed_by_step(envs, 60, seed=2) == one).all()
    for world in range(3):
        clock = Clock(MODELS[model], 5, 4 + world)
        expected = [clock.tick() for _ in range(60)]
        assert [set(np.flatnonzero(row)) for row in one[:, 5 * world : 5 * world + 5]] == expected
    assert one.mean() > 0


def test_delays_go_on_across_automatic_resets() -> None:
    """An episode begins with nobody delayed, and the stream of delays goes on where the last episode left it."""
    envs = vector_env(2, size=(6, 4), num_agents=3, on_target="restart", delays=Delays(0.3, (1, 9)), max_cycles=5)
    envs.reset(seed=7)
    clocks, random = [Clock(envs.config.delays, 3, 7 + world) for world in range(2)], np.random.default_rng(0)
    for step in range(1, 61):
        infos = envs.step(random.integers(0, 4, 6))[-1]
        delayed = (infos["outcome"] == Outcome.DELAYED).reshape(2, 3)
        if step % 6 == 0:
            for clock in clocks:
                clock.left = [0] * 3
            assert not delayed.any()
        else:
            assert [set(np.flatnonzero(row)) for row in delayed] == [clock.tick() for clock in clocks]


def test_layouts_and_targets_are_those_without_delays() -> None:
    """Delays draw nothing from the stream of layouts: these are the same with them and without."""
    options: dict[str, Any] = {"size": (6, 4), "num_agents": 4, "max_cycles": 3}
    envs = [vector_env(2, **options), vector_env(2, **options, delays=0.5)]
    for env in envs:
        env.reset(seed=3)
    for _ in range(12):
        plain, delayed = (env.state() for env in envs)
        if (envs[0].get_state()["steps"] == 0).all():
            assert (plain == delayed).all()
        for env in envs:
            env.step(np.zeros(8, int))


def chance(observed: float, expected: float, count: int) -> float:
    """How many standard deviations a share of a count is from the expected one."""
    return abs(observed - expected) / math.sqrt(max(expected * (1 - expected), 1e-9) / count)


@pytest.mark.heavy
@pytest.mark.parametrize(("events", "probability"), crossed(["bernoulli", "poisson"], [0.02, 0.3]))
def test_delays_begin_as_often_as_they_should(events: Any, probability: float) -> None:
    """In each step, delays of one step begin with the model's distribution of how many of 6 agents they hit at once."""
    config = GridConfig(
        size=(9, 5), num_agents=6, on_target="restart", max_cycles=None, delays=Delays(probability, events=events)
    )
    envs = vector_env(400, config)
    envs.reset(seed=0)
    # Every delay has one step, so that in each step all agents can be hit.
    counts = delayed_by_step(envs, 100, seed=0).reshape(100, 400, 6).sum(axis=2).ravel()
    for k in range(7):
        if events == "bernoulli":
            share = math.comb(6, k) * probability**k * (1 - probability) ** (6 - k)
        else:
            weights = [math.exp(-6 * probability) * (6 * probability) ** n / math.factorial(n) for n in range(6)]
            share = weights[k] if k < 6 else 1 - sum(weights)
        assert chance((counts == k).mean(), share, len(counts)) < 4.5
    by_agent = delayed_by_step(envs, 100, seed=1).reshape(-1, 6).mean(axis=0)
    mean = np.minimum(counts, 6).mean() / 6
    assert all(chance(share, mean, 40_000) < 5.5 for share in by_agent)


@pytest.mark.heavy
def test_durations_are_distributed_as_they_should_be() -> None:
    """Durations are uniform, or normal, rounded, and cut off at the least and the most steps."""
    for durations, weights in (
        ("uniform", [Fraction(1, 4)] * 4),
        # Mean 2 + .5 * 3 and deviation .25 * 3: the normal distribution at 2.5, 3.5 and 4.5.
        ("gaussian", [0.0912112, 0.4087888, 0.4087888, 0.0912112]),
    ):
        config = GridConfig(
            size=(5, 3), num_agents=1, on_target="restart", max_cycles=None,
            delays=Delays(0.1, (2, 5), durations=durations),
        )  # fmt: skip
        envs = vector_env(2000, config)
        envs.reset(seed=5)
        lengths, before = [], np.zeros(2000, int)
        for _ in range(60):
            envs.step(np.zeros(2000, int))
            left = envs.get_state()["delay_left"][:, 0]
            lengths += left[(left > 0) & (left != before - 1)].tolist()
            before = left
        # One that begins in the step after another, and has one step less, cannot be told from it: there is none of 1.
        shares = np.bincount(lengths, minlength=6)[2:6] / len(lengths)
        first = [chance(share, float(weight), len(lengths)) for share, weight in zip(shares, weights, strict=True)]
        assert max(first) < 8
        assert abs(shares - np.array(weights, float)).max() < 0.02


def test_delays_end_after_their_steps() -> None:
    """A delay of d steps holds an agent up in the step in which it begins and d - 1 more, and the next can follow."""
    env = parallel_env(num_agents=1, walls="a......A", delays=Delays(1.0, (3, 3)), observe=("delayed", "delay_left"))
    observations, _ = env.reset(seed=0)
    assert [observations["agent_0"][part].tolist() for part in ("delayed", "delay_left")] == [[0], [0]]
    for left in (2, 1, 0, 2, 1):
        observations, *_, infos = env.step({"agent_0": 0})
        assert infos["agent_0"]["outcome"] == Outcome.DELAYED
        assert [observations["agent_0"][part].tolist() for part in ("delayed", "delay_left")] == [[1], [left]]
    assert env.metrics()["delays"] == 5
    plain = parallel_env(num_agents=1)
    plain.reset(seed=0)
    assert "delays" not in plain.metrics()


@pytest.mark.parametrize("flatten", [False, True])
def test_who_is_not_delayed_observes_zeros(flatten: bool) -> None:
    """The parts are 0 in a world without delays, and for an agent that has parked."""
    options: dict[str, Any] = {"observe": ("delayed", "delay_left"), "flatten": flatten}

    def is_zero(seen: Any) -> bool:
        return not any(np.any(part) for part in (seen.values() if isinstance(seen, dict) else [seen]))

    assert is_zero(parallel_env(walls="aA..", **options).reset(seed=0)[0]["agent_0"])
    env = parallel_env(walls="aA.\nb.B", delays=Delays(0.5, (2, 2)), **options)
    observations, _ = env.reset(seed=1)
    while env.get_state()["status"][0] == 0:
        observations, *_ = env.step({"agent_0": 0, "agent_1": 3})
    running = []
    for _ in range(20):
        observations, *_, infos = env.step({"agent_0": 0, "agent_1": 3})
        assert is_zero(observations["agent_0"])
        assert infos["agent_0"]["outcome"] == Outcome.PARKED
        running.append(env.get_state()["delay_left"][0])
    # The state has its delays all the same, for the stream goes on.
    assert any(running)


def test_a_generator_sets_the_delays_too() -> None:
    """A generator that is set as np_random has the delays of its seed."""
    envs = [MultiGridEnv(GridConfig(num_agents=2, delays=0.4)) for _ in range(2)]
    envs[0].reset(seed=9)
    envs[1].np_random = np.random.default_rng(9)
    envs[1].reset()
    assert (envs[0].get_state()["delay_streams"] == envs[1].get_state()["delay_streams"]).all()


def test_states_go_on_with_their_delays() -> None:
    """An env goes on from a state of another with its delays, how long they last, and how many steps they took."""
    config = GridConfig(size=(7, 4), num_agents=5, on_target="restart", delays=Delays(0.3, (3, 6)), max_cycles=None)
    one, other, many = MultiGridEnv(config), MultiGridEnv(config), vector_env(2, config)
    for number, env in enumerate((one, other, many)):
        env.reset(seed=number)
    actions = dict.fromkeys(one.agents, 1)
    for _ in range(9):
        one.step(actions)
        other.step(actions)
    other.set_state(one.get_state())
    many.set_state([one.get_state()], [1])
    for _ in range(12):
        expected = one.step(actions)[-1]
        assert other.step(actions)[-1] == expected
        outcomes = many.step(np.ones(10, int))[-1]["outcome"][5:].tolist()
        assert outcomes == [info["outcome"] for info in expected.values()]
    assert one.metrics()["delays"] == other.metrics()["delays"] == many.metrics()["delays"][1] > 0
    one.reset()
    assert one.metrics()["delays"] == 0


def test_recordings_keep_the_delays(tmp_path: Any) -> None:
    """A recording, saved and read again, replays its delays; another seed gives the delays of that seed."""
    env = RecordEpisode(parallel_env(num_agents=3, size=(6, 4), delays=MODELS["poisson"], max_cycles=12))
    env.reset(seed=3)
    random = np.random.default_rng(0)
    while env.agents:
        env.step({agent: int(random.integers(4)) for agent in env.agents})
    scenario = env.scenario("held up")
    save(scenario, tmp_path / "one.json")
    read = load(tmp_path / "one.json")
    assert read == scenario
    assert read.config.delays == MODELS["poisson"]
    outcomes = [step.infos["agent_0"]["outcome"] for step in replay(read) if "agent_0" in step.infos]
    assert Outcome.DELAYED in outcomes
    again = read.env()
    again.reset(seed=8)
    fresh = parallel_env(num_agents=3, delays=0.1)
    fresh.reset(seed=8)
    assert (again.get_state()["delay_streams"] == fresh.get_state()["delay_streams"]).all()
    with pytest.raises(ValueError, match=re.escape("config has delays or drawn agents, and start is None")):
        Scenario("no start", GridConfig(walls="a.A", delays=0.1))


@pytest.mark.parametrize(
    ("delays", "problem"),
    [
        (1.5, "probability is 1.5; expected a number from 0 to 1"),
        (float("nan"), "probability is nan"),
        ((0.1, 0, 2), "duration is 0; expected an integer of at least 1"),
        ((0.1, 3, 2), "duration is (3, 2); expected the fewest and the most steps"),
        ((0.1, 1, 2**16), "up to 65535"),
        ((0.1, 2), "delays is (0.1, 2) of type tuple"),
        ("often", "delays is 'often' of type str"),
        ({"probability": 0.1, "events": "never"}, "events is 'never'"),
        ({"probability": 0.1, "std_ratio": -1.0}, "std_ratio is -1.0; expected a number from 0"),
        ({"probability": 0.1, "mean_ratio": "half"}, "mean_ratio is 'half' of type str"),
        ({"probability": True}, "probability is True of type bool"),
        ({"probability": 0.1, "lasts": 3}, "lasts"),
    ],
)
def test_bad_delays_are_refused(delays: Any, problem: str) -> None:
    """A probability outside 0 to 1, a duration below 1, and whatever else is no `Delays`, is refused with its value."""
    with pytest.raises((ValueError, TypeError), match=re.escape(problem)):
        GridConfig(delays=delays)


def test_a_game_without_moves_says_what_delayed_agents_do() -> None:
    """Without moves there is no *stay*, so delays are refused unless the game names an action of its own."""

    class Act(Game):
        """Agents act where they are."""

        moves = False
        actions = ("wait", "act")

        def step(w, s, e):  # noqa: N805 - of a game
            w.rewards[e, 0] = w.actions[e, 0]

    with pytest.raises(ValueError, match=r'delays is 0\.1, but the game Act has no moves .* write idle = "NAME"'):
        GridConfig(game=Act, delays=0.1)
    assert GridConfig(game=type("Waits", (Act,), {"idle": "wait"}), delays=0.1).delays == Delays(0.1)
    with pytest.raises(ValueError, match=r"Rests\.idle is 'rest'; expected one of wait, act"):
        GridConfig(game=type("Rests", (Act,), {"idle": "rest"}))
    with pytest.raises(ValueError, match=r"Stays\.idle is set; expected moves = False"):
        GridConfig(game=type("Stays", (Game,), {"idle": "stay"}))


def test_delays_can_be_written_in_short() -> None:
    """A number is a probability, three are it with the durations, a mapping has the fields; all are one object then."""
    ways: list[Any] = [(0.25, 1, 4), [0.25, 1, 4], {"probability": 0.25, "duration": [1, 4]}, Delays(0.25, (1, 4))]
    for one, other in itertools.pairwise(GridConfig(delays=way) for way in ways):
        assert one == other
        assert hash(one) == hash(other)
        assert one.delays == Delays(0.25, duration=(1, 4))
    assert GridConfig(delays=0.25).delays == Delays(0.25)
