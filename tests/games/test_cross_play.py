"""`cross_play` and `match`: a matrix game whose every number is known by hand."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from sample_games import PAY, Payoffs, Teamed

import multigrid
from multigrid import GridConfig, policies
from multigrid.evaluation._cross_play import interquartile_mean
from multigrid.evaluation._estimates import bootstrap, resample

SEEDS = (5, 11, 2, 30, 7)


CONFIG = GridConfig(game=Payoffs, num_agents=2, size=(3, 2), max_cycles=4)


class Constant:
    """A policy of one action, of one world and of many; it notes what it has played."""

    def __init__(self, action):
        self.action, self.calls = action, []

    def __call__(self, env, observations):
        """Return the action of each agent."""
        self.calls.append(len(observations))
        return dict.fromkeys(env.agents, self.action)

    def act(self, vector_env, observations):
        """Return the action of each row."""
        self.calls.append(len(observations))
        return np.full(vector_env.num_envs, self.action)


def alone(action):
    """A policy of one action, of one world alone."""
    return lambda env, observations: dict.fromkeys(env.agents, action)


def bonuses(config=CONFIG, seeds=SEEDS):
    """The number of each seed."""
    env = multigrid.parallel_env(config)
    numbers = []
    for seed in seeds:
        env.reset(seed=seed)
        numbers.append(int(env.get_state()["bonus"]))
    assert len(set(numbers)) > 2
    return np.array(numbers)


@pytest.mark.parametrize("make", [Constant, alone], ids=["many worlds", "one world"])
def test_a_matrix_known_by_hand(make):
    """Cell (i, j) is the team's return of policy i in each seat with partner j, in episodes of the same seeds."""
    result = multigrid.cross_play(CONFIG, {"high": make(0), "low": make(1)}, SEEDS)
    assert (result.policies, result.partners, result.seats) == (("high", "low"),) * 2 + (("agent_0", "agent_1"),)
    assert result.seeds == SEEDS
    seats = np.array([[[PAY[0, 0]] * 2, [PAY[0, 1], PAY[1, 0]]], [[PAY[1, 0], PAY[0, 1]], [PAY[1, 1]] * 2]])
    np.testing.assert_array_equal(result.episodes, 2 * seats[..., None] + bonuses())
    means = 2 * seats.mean(axis=2) + bonuses().mean()
    np.testing.assert_allclose(result.returns.mean, means)
    np.testing.assert_allclose(np.asarray(result.returns), means)
    assert result.returns[0, 1] == bootstrap(2 * 0.5 + bonuses().astype(float))
    assert result.returns[1, 1].low == result.returns.low[1, 1] < result.returns.mean[1, 1] < result.returns.high[1, 1]
    assert result.self_play.mean == pytest.approx(6 + bonuses().mean())
    assert result.cross_play.mean == pytest.approx(1 + bonuses().mean())
    assert result.gap.mean == pytest.approx(5)
    assert np.isnan([result.gap.low, result.self_play.high, result.cross_play.low]).all()  # of two policies


def test_both_ways_of_playing_give_equal_episodes():
    """Worlds side by side, more seeds than worlds, and one episode after the other give the same matrix."""
    seeds = [3, *range(300), 3]
    many = multigrid.cross_play(CONFIG, {"high": Constant(0), "low": Constant(1)}, seeds).episodes
    one = multigrid.cross_play(CONFIG, {"high": alone(0), "low": alone(1)}, seeds).episodes
    np.testing.assert_array_equal(many, one)
    mixed = multigrid.cross_play(CONFIG, {"high": Constant(0), "low": alone(1)}, seeds).episodes
    np.testing.assert_array_equal(many, mixed)
    metric = multigrid.cross_play(CONFIG, {"high": Constant(0)}, seeds, metric="bonus").episodes
    slow = multigrid.cross_play(CONFIG, {"high": alone(0)}, seeds, metric="bonus").episodes
    np.testing.assert_array_equal(metric, slow)
    np.testing.assert_array_equal(metric[0, 0, 0] + 8, many[0, 0, 0])


def test_partners_and_seats():
    """With partners the matrix is P x Q, from the seats that are named, and there is no self-play."""
    partners = {"a": Constant(0), "b": alone(1), "c": Constant(1)}
    result = multigrid.cross_play(CONFIG, {"low": Constant(1)}, SEEDS, partners, seats=["agent_1"], metric=None)
    np.testing.assert_allclose(result.returns.mean, [2 * PAY[[0, 1, 1], 1] + bonuses().mean()])
    assert "self-play" not in str(result)
    for name in ("self_play", "cross_play", "gap"):
        with pytest.raises(ValueError, match=r"^the policies played with partners; expected cross_play\(\.\.\.\)"):
            getattr(result, name)
    three = GridConfig(game=Payoffs, num_agents=3, size=(3, 2), max_cycles=4)
    result = multigrid.cross_play(three, {"low": Constant(1)}, SEEDS, {"high": Constant(0)})
    np.testing.assert_allclose(
        result.episodes[0, 0, :, 0] - bonuses(three)[0], [3 * PAY[1, 0], 3 * PAY[0, 1], 3 * PAY[0, 0]]
    )


def test_a_policy_is_made_once_for_each_episode():
    """With `per_episode`, policies are made from the seed of the episode, and one policy that plays all agents once."""
    made = []

    def make(seed):
        made.append(seed)
        return alone(seed % 2)

    result = multigrid.cross_play(CONFIG, {"one": make}, SEEDS, per_episode=True)
    assert made == [SEEDS[0], *SEEDS, *SEEDS]
    np.testing.assert_array_equal(result.episodes[0, 0, 0], [2 * PAY[s % 2, s % 2] for s in SEEDS] + bonuses())


def test_intervals_are_over_policies():
    """Self-play, cross-play and gap are resampled over policies; a pair of a policy with itself is no cross-play."""
    actions = [0, 0, 1, 0, 1]
    result = multigrid.cross_play(CONFIG, {f"seed {k}": Constant(a) for k, a in enumerate(actions)}, SEEDS)
    matrix = result.returns.mean

    def apart(chosen):
        pairs = [matrix[i, j] for i in chosen for j in chosen if i != j]
        return np.mean(pairs) if pairs else np.nan

    assert result.cross_play == pytest.approx(resample(np.arange(5), apart))
    assert result.self_play == pytest.approx(resample(np.arange(5), lambda chosen: matrix[chosen, chosen].mean()))
    gap = resample(np.arange(5), lambda chosen: matrix[chosen, chosen].mean() - apart(chosen))
    assert result.gap == pytest.approx(gap)
    assert result.gap.low < result.gap.mean < result.gap.high
    lines = str(result).splitlines()
    assert lines[-3].startswith("self-play   ")
    assert len(lines) == 1 + 5 + 1 + 3


def test_scores_known_by_hand():
    """Bounds map low to 0 and high to 1; proximity is at most 1, and 1 where the best return is not above 0."""
    names = {"high": Constant(0), "low": Constant(1)}
    result = multigrid.cross_play(CONFIG, names, SEEDS)
    bonus = bonuses().mean()
    scores = result.normalised({"high": (bonus, bonus + 16), "low": (bonus - 2, bonus + 2)})
    np.testing.assert_allclose(scores.values, [[[0.5, 0.5], [1.0, 0.5]], [[0.0, 2 / 16], [1.5, 1.5]]])
    assert scores["low"].mean.mean == pytest.approx((0 + 2 / 16 + 3) / 4)
    prox = result.br_prox({"high": bonus + 4, ("low", "agent_0"): 0, ("low", "agent_1"): bonus + 4})
    ratio = np.array([[[8, 8], [2, 0]], [[0, 2], [4, 4]]]) + bonus
    expected = np.minimum(1, ratio / [[bonus + 4] * 2, [np.nan, bonus + 4]])
    expected[:, 1, 0] = 1
    np.testing.assert_allclose(prox.values, expected)
    assert prox.iqm.mean == pytest.approx(np.sort(expected.ravel())[2:6].mean())
    assert prox.mean.mean == pytest.approx(expected.mean())
    best = result.br_prox({"high": Constant(0), "low": Constant(1)})
    np.testing.assert_allclose(best.values[0], [[1, 1], [(2 + bonus) / (4 + bonus), bonus / (4 + bonus)]])
    assert [line.split()[0] for line in str(best).splitlines()] == ["high", "low", "all"]
    nothing = np.flatnonzero(bonuses(seeds=range(40)) == 0)
    result = multigrid.cross_play(CONFIG, {"low": Constant(1)}, nothing, {"high": Constant(0)}, ["agent_0"])
    assert (result.returns.mean, result.br_prox({"high": 0.0}).values) == (0, 1)
    with pytest.raises(KeyError, match=r"there is no policy 'hihg'; expected one of high, low"):
        best["hihg"]


@pytest.mark.parametrize("count", [1, 3, 4, 8, 11])
def test_the_interquartile_mean(count):
    """A quarter of the values, rounded down, is cut at each end."""
    values = np.random.default_rng(count).permutation(count).astype(float) ** 2
    assert interquartile_mean(values) == np.mean(sorted(values)[count // 4 : count - count // 4])


def test_an_undefined_statistic_has_no_interval():
    """Where a value is not defined, neither mean nor ends are, without a warning of NumPy."""
    assert np.isnan(bootstrap(np.array([1.0, np.nan, 3.0]))).all()


def test_pictures_and_pickles(tmp_path):
    """The picture has a number for each cell, and a result can be pickled and copied."""
    names = {"<a>": Constant(0), "b": Constant(1), "c": Constant(1)}
    result = multigrid.cross_play(CONFIG, names, SEEDS)
    result.draw(tmp_path / "matrix.svg")
    picture = (tmp_path / "matrix.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    assert texts[:4] == ["&lt;a&gt;", "b", "c", "&lt;a&gt;"]
    assert (len(texts), picture.count("<rect ")) == (3 + 3 + 9, 9)
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert str(again) == str(result)
        assert again.br_prox(dict.fromkeys(names, 20.0)).iqm == result.br_prox(dict.fromkeys(names, 20.0)).iqm
    assert copy.deepcopy(result).br_prox(names).iqm == result.br_prox(names).iqm


def test_a_pickled_result_has_its_numbers_alone():
    """A result is pickled without its policies, which may be functions without a name, so `best` has returns then."""
    result = multigrid.cross_play(CONFIG, {"a": alone(0), "b": alone(1)}, SEEDS)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.returns.mean, result.returns.mean)
    assert again.br_prox({"a": 20.0, "b": 9.0}).mean == result.br_prox({"a": 20.0, "b": 9.0}).mean
    with pytest.raises(ValueError, match="a result that was pickled has no partners any more to play with; expected"):
        again.br_prox({"a": alone(0), "b": 9.0})


HALF = {"agent_0": 1}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"config": "Payoffs"}, TypeError, "config is 'Payoffs'; expected a GridConfig"),
        ({"config": GridConfig(max_cycles=None)}, ValueError, "max_cycles is None, but each episode is played to"),
        ({"policies": [alone(0)]}, TypeError, "policies are of type list; expected a dict of policies by name"),
        ({"policies": {}}, ValueError, "policies are empty; expected at least one policy"),
        ({"partners": {}}, ValueError, "partners are empty; expected at least one policy"),
        ({"policies": {"a": "pibt"}}, TypeError, "policy 'a' is of type str; expected a function of an env and"),
        ({"partners": {"b": lambda env, _: HALF}}, ValueError, "policy 'b' returned actions for agent_0; expected a"),
        ({"policies": {"a": lambda env, _: [0, 1]}}, ValueError, "policy 'a' returned [0, 1]; expected a dict with an"),
        ({"seats": ["agent_2"]}, ValueError, "seats has 'agent_2'; the agents are agent_0, agent_1"),
        (
            {"seats": "agent_1"},
            TypeError,
            "seats is 'agent_1'; expected a list of agents, such as ['agent_0'], or None",
        ),
        ({"seats": []}, ValueError, "seats is []; expected at least one agent, and each once"),
        ({"seats": ["agent_1"] * 2}, ValueError, "seats is ['agent_1', 'agent_1']; expected at least one agent, and"),
        ({"seeds": 5}, TypeError, "seeds are of type int; expected integers, such as range(100)"),
        ({"seeds": ()}, ValueError, "seeds are empty; expected at least one integer"),
        ({"seeds": [1, -1]}, ValueError, "seed is -1; expected an integer of at least 0"),
        ({"metric": "bonsu"}, ValueError, "metric is 'bonsu' (did you mean 'bonus'?); expected one of 'bonus'"),
        ({"metric": "isr"}, ValueError, "metric is 'isr'; expected one of 'bonus'"),
    ],
)
def test_bad_arguments(change, error, message):
    """What cannot be played is refused before any episode is played."""
    first = Constant(0)
    arguments = {"config": CONFIG, "policies": {"first": first}, "seeds": SEEDS, **change}
    if "partners" in change or "policies" in change:
        arguments["policies"] = change.get("policies", {"first": first})
    with pytest.raises(error, match=re.escape(message)):
        multigrid.cross_play(**arguments)
    assert len(first.calls) <= 1


def test_an_array_of_too_few_actions():
    """A vector policy that returns too few actions is refused before any episode is played."""
    wrong = Constant(0)
    wrong.act = lambda vector_env, observations: np.zeros(3, np.int64)
    with pytest.raises(
        ValueError, match=r"act of policy 'w' returned int64 of shape \(3,\); expected integers, an action for"
    ):
        multigrid.cross_play(CONFIG, {"a": Constant(1), "w": wrong}, SEEDS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda result: result.normalised({"high": (0, 1)}), "the bounds of 'low' are None; expected {partner: (low"),
        (lambda result: result.normalised({"high": (0, 1), "low": (2, 2)}), "the bounds of 'low' are (2, 2); expected"),
        (lambda result: result.br_prox({"high": 3}), "best has None for 'low'; expected a return or a policy for high"),
        (lambda result: result.br_prox({"high": 3, "low": lambda env, _: HALF}), "policy 'low' returned actions for"),
    ],
)
def test_bad_scores(call, message):
    """Bounds and best responses are there for each partner, and make sense."""
    result = multigrid.cross_play(CONFIG, {"high": alone(0), "low": alone(1)}, SEEDS)
    with pytest.raises(ValueError, match=re.escape(message)):
        call(result)


@pytest.mark.parametrize("make", [Constant, alone], ids=["many worlds", "one world"])
def test_a_match_known_by_hand(make):
    """Both policies play both teams in episodes of equal seeds; agent_0's number counts for whoever plays it."""
    result = multigrid.match(CONFIG, make(0), make(1), SEEDS)
    even, odd = [PAY[0, 1] + bonuses(), PAY[1, 0] + 0 * bonuses()], [PAY[0, 1] + 0 * bonuses(), PAY[1, 0] + bonuses()]
    np.testing.assert_array_equal(result.episodes, [even, odd])
    assert result.even == bootstrap(np.mean(even, axis=0))
    assert result.difference == bootstrap(np.mean(even, axis=0) - np.mean(odd, axis=0))
    wins = np.mean([np.sign(even[k] - odd[k]) / 2 + 0.5 for k in (0, 1)], axis=0)
    assert result.win_rate == bootstrap(wins)
    assert [line.split()[0] for line in str(result).splitlines()] == ["even", "odd", "difference", "win"]
    same = Constant(0)
    assert multigrid.match(CONFIG, same, same, SEEDS).difference.mean == 0


def test_teams_of_a_game():
    """A game says by `team` who plays with whom; without it, even numbers play against odd ones."""
    teamed = GridConfig(game=Teamed, num_agents=3, size=(3, 2), max_cycles=4)
    result = multigrid.match(teamed, Constant(0), Constant(1), SEEDS)
    numbers = bonuses(teamed)
    np.testing.assert_array_equal(result.episodes[:, 0], [0 * numbers + 2 * PAY[1, 0], PAY[1, 0] + numbers])
    np.testing.assert_array_equal(result.episodes[:, 1], [PAY[0, 1] + numbers, 0 * numbers + 2 * PAY[0, 1]])
    with pytest.raises(ValueError, match=r"the teams of the agents are \[0\]; expected 0 and 1, at least one agent"):
        multigrid.match(GridConfig(num_agents=1), alone(0), alone(1), SEEDS)
    with pytest.raises(ValueError, match=r"policy 'odd' returned actions for agent_0; expected a dict with an action"):
        multigrid.match(CONFIG, alone(0), lambda env, _: HALF, SEEDS)


def test_a_team_asks_each_policy_once():
    """A policy that plays several agents is called once a step with all observations, and its own actions are taken."""
    config = GridConfig(game=Payoffs, num_agents=3, size=(3, 2), max_cycles=4)
    env, one, other = multigrid.parallel_env(config), Constant(0), Constant(1)
    together = policies.team({"agent_2": one, "agent_0": one, "agent_1": other})
    observations, _ = env.reset(seed=0)
    assert together(env, observations) == {"agent_0": 0, "agent_1": 1, "agent_2": 0}
    assert (one.calls, other.calls) == ([3], [3])
    envs = multigrid.vector_env(2, config)
    observations, _ = envs.reset(seed=0)
    assert together.act(envs, observations).tolist() == [0, 1, 0, 0, 1, 0]
    assert not hasattr(policies.team({"agent_0": one, "agent_1": alone(0)}), "act")


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        ([alone(0)], TypeError, "members is of type list; expected a dict with a policy for each agent"),
        ({}, ValueError, "members is empty; expected a policy for each agent"),
        ({"agent_0": 3}, TypeError, "the policy of 'agent_0' is of type int; expected a function"),
        ({"agent_0": alone(0)}, ValueError, "members has no policy for agent_1; expected one for each agent"),
        (
            {"agent_0": alone(0), "agent_7": alone(0)},
            ValueError,
            "members has 'agent_7'; the agents are agent_0, agent_1",
        ),
        (
            {"agent_0": alone(0), "agent_1": lambda env, _: HALF},
            ValueError,
            "the policy of agent_1 returned actions for",
        ),
        (
            {"agent_0": alone(0), "agent_1": lambda env, _: None},
            ValueError,
            "the policy of agent_1 returned None; expected a dict",
        ),
    ],
)
def test_bad_teams(members, error, message):
    """A team has a policy for each agent, and each policy returns the actions of its agents."""
    env = multigrid.parallel_env(CONFIG)
    observations, _ = env.reset(seed=0)
    with pytest.raises(error, match=re.escape(message)):
        policies.team(members)(env, observations)
