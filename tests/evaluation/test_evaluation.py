"""`multigrid.evaluate`: metrics and differences of episodes that are known by hand, and what it refuses."""

import copy
import dataclasses
import itertools
import pickle
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

import multigrid
from multigrid import GridConfig, MultiGridEnv, planning
from multigrid.evaluation._estimates import MEASURES, LowerBounds, bootstrap, estimate_measures, measure_episode
from multigrid.evaluation._playing import play
from multigrid.evaluation._results import Evaluation
from multigrid.maps import Mazes
from multigrid.policies import random_policy
from multigrid.policies._baselines import BUILT_IN
from multigrid.wrappers import PotentialRewardParallel

# Two corridors: agent_0 needs three steps, agent_1 two.
CORRIDORS = GridConfig(walls="a..A.\n#####\nb.B##", max_cycles=7)
Z = 1.959963984540054


def east(env, observations):
    """Every agent goes right."""
    return dict.fromkeys(env.agents, 0)


def first_east(env, observations):
    """The first agent goes right, the second left, where the edge is."""
    return {agent: 0 if agent == "agent_0" else 2 for agent in env.agents}


def seeded(seed):
    """A random policy, whose draws the seed decides."""
    return random_policy(np.random.default_rng([seed, 2]))


def without_interval(mean):
    """An estimate that has a mean alone: of one number, or of equal ones, of which no resample differs."""
    return pytest.approx((mean, np.nan, np.nan), nan_ok=True)


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_the_table_of_two_corridors(on_target):
    """Four equal episodes have the means that follow from the map; only rates, by Wilson, have an interval then."""
    config = GridConfig(walls=CORRIDORS.walls, on_target=on_target, max_cycles=7)
    table = multigrid.evaluate(config, east, range(4))
    rate = (1.0, pytest.approx(4 / (4 + Z**2)), 1.0)
    means = {"isr": 1, "sum_of_costs": 5, "makespan": 3, "throughput": np.nan}
    assert table == {"success": rate, "csr": rate, **{name: without_interval(mean) for name, mean in means.items()}}
    # Where one of the two arrives, the other costs all steps.
    table = multigrid.evaluate(config, first_east, range(3))
    means = {name: estimate.mean for name, estimate in table.items() if name != "throughput"}
    assert means == {"success": 0, "csr": 0, "isr": 0.5, "sum_of_costs": 3 + 7, "makespan": 7}
    assert table["success"].low == 0 < table["success"].high < 1


def test_under_restart_only_the_throughput_is_defined():
    """Throughput is arrivals over steps, and no agent is ever done: all other means and intervals are NaN."""
    env = MultiGridEnv(GridConfig(size=(5, 3), num_agents=2, on_target="restart", max_cycles=40))
    expected = []
    for seed in (5, 8, 2):
        steps = [step for _, step in play(env, seeded(seed), seed)]
        expected.append(sum(sum(step.rewards.values()) for step in steps) / 40)
    table = multigrid.evaluate(env.config, seeded, (5, 8, 2), per_episode=True)
    assert table["throughput"].mean == pytest.approx(np.mean(expected))
    assert table["throughput"].low < table["throughput"].mean < table["throughput"].high
    assert all(np.isnan(number) for name in MEASURES if name != "throughput" for number in table[name])


def test_a_policy_sees_what_the_last_step_has_shown():
    """Each seed is a reset, which `play` yields with each step; their observations are what the policy sees next."""
    seen = []

    def watch(env, observations):
        seen.append(observations)
        return east(env, observations)

    steps = list(play(MultiGridEnv(CORRIDORS), watch, seed=4))
    assert [actions is None for actions, _ in steps] == [True, False, False, False]
    assert [step.observations["agent_0"]["agent"].tolist() for _, step in steps] == [[x, 0] for x in range(4)]
    assert all(shown is step.observations for shown, (_, step) in zip(seen, steps, strict=False))
    assert [list(actions) for actions, _ in steps[1:]] == [["agent_0", "agent_1"]] * 3
    seen.clear()
    config = GridConfig(size=(6, 4), num_agents=3, on_target="leave", max_cycles=11)
    multigrid.evaluate(config, watch, iter([9, 4, 9]))
    env = MultiGridEnv(config)
    np.testing.assert_equal(
        seen, [step.observations for seed in (9, 4, 9) for _, step in [*play(env, east, seed)][:-1]]
    )


class Mirrored(BaseParallelWrapper[str, Any, Any]):
    """Observations of one's own, and a rule: actions lead the other way round."""

    def reset(self, seed=None, options=None):
        """Return the distances to the targets."""
        observations, infos = super().reset(seed=seed, options=options)
        return {agent: infos[agent]["distance"] for agent in observations}, infos

    def step(self, actions):
        """Play the opposite actions."""
        return super().step({agent: (action + 2) % 4 for agent, action in actions.items()})


@pytest.mark.parametrize("per_episode", [False, True])
def test_an_environment_of_ones_own_is_measured(per_episode):
    """The policy gets the outermost env and its observations; the metrics are those of the world inside."""
    seen = []

    def west(env, observations):
        seen.append((env, observations))
        return dict.fromkeys(env.agents, 2)

    env = Mirrored(BaseParallelWrapper(MultiGridEnv(CORRIDORS)))
    policy = (lambda seed: west) if per_episode else west
    table = multigrid.evaluate(env, policy, range(3), per_episode=per_episode)
    twin = multigrid.evaluate(CORRIDORS, east, range(3))
    assert repr((dict(table), table.episodes)) == repr((dict(twin), twin.episodes))
    assert table.config == CORRIDORS
    assert {id(one) for one, _ in seen} == {id(env)}
    assert seen[0][1] == {"agent_0": 3.0, "agent_1": 2.0}
    with pytest.raises(TypeError, match=r"config is of type BaseParallelWrapper; expected a GridConfig, or an env"):
        multigrid.evaluate(BaseParallelWrapper(ParallelEnv()), east, [0])


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*BUILT_IN, "keep_order"])
def test_built_in_policies_play_in_wrappers(name):
    """A built-in policy plays a wrapped environment as the one inside, also where maps are drawn."""
    rules = {"on_target": "stay", "collisions": "soft", "allow_stay": True, "max_cycles": 40}
    config = GridConfig(walls=Mazes((7, 5)), num_agents=2, **rules)
    make = BUILT_IN.get(name, lambda _: planning.controller("pibt", keep_order=True))
    plain, wrapped = (
        multigrid.evaluate(env, make(np.random.default_rng(0)), range(4))
        for env in (MultiGridEnv(config), PotentialRewardParallel(MultiGridEnv(config), 0.9))
    )
    np.testing.assert_equal(dict(wrapped), dict(plain))


def test_equal_generators_give_equal_tables():
    """A policy goes on with its generator over the episodes, and two equal ones give one table."""
    config = GridConfig(size=(4, 3), max_cycles=20)
    one, again, by_hand = (seeded(3) for _ in range(3))
    env, episodes = MultiGridEnv(config), []
    for seed in range(6):
        assert list(play(env, by_hand, seed))
        episodes.append(measure_episode(env.metrics()))
    tables = [multigrid.evaluate(config, policy, range(6)) for policy in (one, again)]
    assert repr(tables[0]) == repr(tables[1]) == repr(estimate_measures(episodes))


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
        ((CORRIDORS, east, [0], 3.0), TypeError, "bounds are of type float; expected LowerBounds or None"),
        ((CORRIDORS, lambda env, _: {"agent_0": 0}, [0]), ValueError, "actions lack ['agent_1']; expected an action"),
    ],
    ids=["config", "policy", "number", "text", "float", "negative", "none", "endless", "bounds", "actions"],
)
def test_bad_arguments(arguments, error, message):
    """What cannot be evaluated is refused with what came and what was expected."""
    bounds = dict(zip(["bounds"], arguments[3:], strict=False))
    with pytest.raises(error, match=re.escape(message)):
        multigrid.evaluate(*arguments[:3], **bounds)
    if message.startswith("policy"):
        with pytest.raises(error, match="policy is of type str; expected a function of a seed"):
            multigrid.evaluate(*arguments, per_episode=True)
        with pytest.raises(TypeError, match="per_episode is 'no' of type str"):
            multigrid.evaluate(CORRIDORS, east, [0], per_episode="no")


def test_per_episode_an_episode_can_be_repeated_by_itself():
    """With `per_episode` the policy of each episode is made from its seed, whatever was played before."""
    config, seeds = GridConfig(size=(5, 4), num_agents=2, max_cycles=40), (3, 11, 3, 8)
    whole = multigrid.evaluate(config, seeded, iter(seeds), per_episode=True)
    alone = [multigrid.evaluate(config, seeded, [seed], per_episode=True).episodes[0] for seed in seeds]
    np.testing.assert_equal(list(whole.episodes), alone)
    assert len({episode["sum_of_costs"] for episode in whole.episodes}) == 3
    assert whole.seeds == seeds
    first, *_, last = multigrid.evaluate(config, seeded(3), seeds).episodes
    assert first["sum_of_costs"] == alone[0]["sum_of_costs"]
    assert last["sum_of_costs"] != alone[3]["sum_of_costs"]


def delayed(config, delays, **more):
    """The evaluation of a policy that goes right, after as many steps to the left, against the wall, as is listed."""

    def make(seed):
        return lambda env, _: {"agent_0": 2 if env.get_state()["steps"] < delays[seed] else 0}

    return multigrid.evaluate(config, make, range(len(delays)), per_episode=True, **more)


def test_differences_are_those_of_pairs_known_by_hand():
    """In a corridor of two steps with a limit of five, a delay of d steps costs 2 + d, and one above 3 all five."""
    config = GridConfig(walls="a.A", max_cycles=5)
    ours, theirs = (delayed(config, delays) for delays in ([0, 1, 3, 2, 9, 0, 0, 1], [0, 3, 1, 3, 2, 9, 9, 2]))
    differences = ours.difference(theirs)
    assert list(differences) == list(MEASURES)
    # Episode 4 is lost, episodes 5 and 6 are won, and these three are no pairs for the costs.
    assert differences["success"].estimate == bootstrap(np.array([0.0, 0, 0, 0, -1, 1, 1, 0]))
    assert differences["csr"] == differences["success"] == differences["isr"]
    assert differences["csr"][1:] == (8, 2, 1)
    assert (differences["csr"].ties, differences["csr"].excludes_zero) == (5, False)
    assert re.fullmatch(r"success       \+0\.12 \[-.*\]  8 pairs, 2 higher, 1 lower", str(differences).splitlines()[0])
    assert differences["makespan"] == differences["sum_of_costs"]
    costs = differences["sum_of_costs"]
    assert costs.estimate.mean == pytest.approx((0 - 2 + 2 - 1 - 1) / 5)
    assert (costs.episodes, costs.higher, costs.lower, costs.ties) == (5, 1, 3, 1)
    assert (differences["throughput"].episodes, np.isnan(differences["throughput"].estimate.mean)) == (0, True)
    back = theirs.difference(ours)["sum_of_costs"]
    assert (back.higher, back.lower, back.estimate.mean) == (3, 1, -costs.estimate.mean)


@pytest.mark.parametrize("count", [5, 6])
def test_fewer_than_six_pairs_exclude_nothing(count):
    """Five differences of one sign happen by chance in a sixteenth of cases; equal ones have a sign, no interval."""
    slow, fast = (delayed(GridConfig(walls="a.A", max_cycles=9), [delay] * count) for delay in (3, 0))
    one = slow.difference(fast)["makespan"]
    assert one.estimate == without_interval(3)
    assert one.excludes_zero == fast.difference(slow)["makespan"].excludes_zero == (count == 6)
    assert not slow.difference(slow)["makespan"].excludes_zero
    assert (one.higher, one.lower) == (count, 0)


def test_differences_under_restart_are_those_of_the_throughput():
    """Of lifelong episodes the throughput is compared; the others have no pairs."""
    config = GridConfig(size=(5, 3), num_agents=2, on_target="restart", max_cycles=40)
    walking = multigrid.evaluate(config, seeded(0), range(7))
    still = multigrid.evaluate(config, lambda env, _: dict.fromkeys(env.agents, 2), range(7))
    differences = walking.difference(still)
    found = differences.pop("throughput")
    assert found.higher > found.lower
    pairs = zip(walking.episodes, still.episodes, strict=True)
    assert found.estimate.mean == pytest.approx(
        np.mean([one["throughput"] - other["throughput"] for one, other in pairs])
    )
    assert (found.episodes, {one.episodes for one in differences.values()}) == (7, {0})


def test_gaps_known_by_hand(monkeypatch):
    """A delay of d in a corridor of two steps is a gap of d / 2; mean and pairs are those of solved episodes."""
    # What computes bounds takes a minute to compile; tests/cli/planning has gaps of its own bounds.
    monkeypatch.setattr(planning, "bounds", lambda problem, seconds: SimpleNamespace(lower=2.0))
    config, bounds = GridConfig(walls="a.A", allow_stay=True, max_cycles=5), LowerBounds(5.0)
    late, soon = (delayed(config, delays, bounds=bounds) for delays in ([0, 1, 9, 3, 0, 2, 1], [0] * 7))
    assert [episode["gap"] for episode in late.episodes] == pytest.approx([0, 0.5, np.nan, 1.5, 0, 1, 0.5], nan_ok=True)
    assert late["gap"].mean == pytest.approx(3.5 / 6)
    assert soon["gap"] == without_interval(0)
    one = late.difference(soon)["gap"]
    assert (one.estimate.mean, one.episodes, one.higher, one.lower) == (pytest.approx(3.5 / 6), 6, 4, 0)
    assert list(late) == [*MEASURES, "gap"]
    assert list(late.difference(delayed(config, [0] * 7))) == list(MEASURES)


def test_a_layout_has_a_bound_for_each_of_the_rules(monkeypatch):
    """One object computes a bound once for each layout and rules; those that let agents wait hold without, too."""
    numbers = itertools.count(1)
    monkeypatch.setattr(planning, "bounds", lambda problem, seconds: SimpleNamespace(lower=next(numbers)))
    bounds, found = LowerBounds(5.0), []
    rules = [{}, {"collisions": "none"}, {"on_target": "leave"}, {"max_cycles": 8}, {"walls": "a.\n.A\n.."}]
    for settings in (*rules, {"allow_stay": True}, *rules):
        env = MultiGridEnv(GridConfig(**{"walls": "a..\n.A.", "max_cycles": 9, **settings}))
        env.reset()
        found.append(bounds.of(env))
    assert found == [1, 2, 3, 4, 5, 1, 1, 2, 3, 4, 5]


def test_only_the_same_episodes_are_compared():
    """Another world, other seeds, or another order of them have no pairs; other observations of the world have."""
    seeds = range(3)
    one = multigrid.evaluate(CORRIDORS, east, seeds)
    seen = dataclasses.replace(CORRIDORS, observe=("view",), view_radius=1, flatten=True)
    same = dataclasses.replace(CORRIDORS, size=CORRIDORS.size, num_agents=CORRIDORS.num_agents)
    assert same != CORRIDORS
    assert one.difference(multigrid.evaluate(same, east, seeds))["csr"].ties == 3
    assert one.difference(multigrid.evaluate(seen, east, seeds))["csr"].ties == 3
    longer = dataclasses.replace(CORRIDORS, max_cycles=8)
    for config, others, message in (
        (longer, seeds, "the worlds differ; expected two evaluations in one world"),
        (CORRIDORS, [0, 2, 1], "the seeds differ; expected two evaluations with the same seeds, in the same order"),
        (CORRIDORS, range(2), "the seeds differ"),
    ):
        with pytest.raises(ValueError, match=message):
            one.difference(multigrid.evaluate(config, east, others))
    env = MultiGridEnv(CORRIDORS)
    env.max_cycles = 8
    set_later = multigrid.evaluate(env, east, seeds)
    assert set_later.difference(multigrid.evaluate(longer, east, seeds))["csr"].ties == 3
    with pytest.raises(ValueError, match="the worlds differ"):
        one.difference(set_later)
    with pytest.raises(TypeError, match="other is of type dict; expected an Evaluation"):
        one.difference(dict(one))


def test_an_evaluation_survives_copies():
    """Pickles and copies hold the same table and the same episodes, and can be compared."""
    one = multigrid.evaluate(CORRIDORS, east, range(2))
    for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
        assert (repr(again), again.seeds, again.config) == (repr(one), one.seeds, one.config)
        np.testing.assert_equal(again.episodes, one.episodes)
        assert again.difference(one)["makespan"].ties == 2


def test_an_evaluation_prints_a_line_for_each_metric():
    """What `print` shows has the means and intervals of each metric, with "undefined" and without intervals of one."""
    lines = str(multigrid.evaluate(CORRIDORS, first_east, [0])).splitlines()
    shown = ["0.00 [0.00, 0.79]", "0.00 [0.00, 0.79]", "0.50", "10.00", "7.00", "undefined"]
    assert [line.split(maxsplit=1) for line in lines] == [list(pair) for pair in zip(MEASURES, shown, strict=True)]


def test_seeds_and_episodes_belong_together():
    """As many seeds as episodes make an evaluation, and at least one."""
    episodes = multigrid.evaluate(CORRIDORS, east, range(2)).episodes
    for seeds, some in (((0,), episodes), ((), ())):
        with pytest.raises(ValueError, match=rf"are {len(seeds)} seeds and {len(some)} episodes; expected as many"):
            Evaluation(CORRIDORS, seeds, some)


def repeated(table, name="isr"):
    """An evaluation of worlds, given a row of values for each."""
    seeds = [seed for seed, row in enumerate(table) for _ in row]
    return Evaluation(CORRIDORS, seeds, [{name: float(value)} for row in table for value in row], repeats=len(table[0]))


def test_the_worst_share_is_known_by_hand():
    """Worlds that are worst in the first half of their episodes are measured by the second; costs are worst high."""
    table = [[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    result = repeated(table)
    assert result["isr"].mean == pytest.approx(11 / 20)
    assert [result.worst("isr", share).mean for share in (0.1, 0.2, 0.4, 0.6, 1)] == pytest.approx(
        [0.5, 0.5, 0.75, 0.5, 0.5]
    )
    estimate = result.worst("isr", 0.4)
    assert (0 < estimate.low < estimate.mean < estimate.high < 1) is True
    assert repeated([[0, 0, 0, 0]] * 9).worst("isr", 1) == (0, 0, pytest.approx(Z**2 / (9 + Z**2)))
    costs = repeated(table, "makespan")
    assert [costs.worst("makespan", share).mean for share in (0.2, 0.4)] == [0, 0.5]
    assert costs.worst("makespan", 0.4).low == 0
    assert np.isnan(repeated([[1, np.nan]] * 3, "throughput").worst("throughput", 0.5)).all()


def test_noise_has_no_worst_worlds():
    """If all worlds are alike, the mean is in the interval of the worst tenth; chosen and measured at once, not."""
    generator = np.random.default_rng(3)
    table = generator.random((1000, 4)) < 0.5
    result = repeated(table)
    worst = result.worst("isr", 0.1)
    assert worst.low < result["isr"].mean < worst.high
    assert np.sort(table.mean(axis=1))[:100].mean() < 0.1


def test_episodes_of_a_world_begin_alike_and_differ():
    """Each seed is played as often in a row, from one layout; the policy's stream goes on; means are by world."""
    config, seen = GridConfig(size=(4, 3), num_agents=1, max_cycles=30), []
    chosen = seeded(3)

    def watch(env, observations):
        seen.append(env.get_state()["target"].tolist())
        return chosen(env, observations)

    result = multigrid.evaluate(config, watch, [8, 6], episodes=6)
    assert result.seeds == (8,) * 6 + (6,) * 6
    layouts = [multigrid.parallel_env(config).reset(seed=seed)[0]["agent_0"]["target"].tolist() for seed in (8, 6)]
    assert [one for k, one in enumerate(seen) if k == 0 or one != seen[k - 1]] == [[one] for one in layouts]
    lengths = [episode["makespan"] for episode in result.episodes]
    assert min(len(set(lengths[:6])), len(set(lengths[6:]))) > 1
    assert result["makespan"].mean == pytest.approx(np.mean(lengths))
    halves = [np.mean(lengths[:6]), np.mean(lengths[6:])]
    assert result["makespan"].low == pytest.approx(min(halves))
    other = multigrid.evaluate(config, east, [8, 6], episodes=6)
    assert other.difference(result)["isr"].episodes == 2


@pytest.mark.parametrize("episodes", [3, 0, -2, 2.0, True])
def test_an_odd_number_of_episodes_is_refused(episodes):
    """The number of episodes of a world is 1 or even, which is said before anything is played."""
    with pytest.raises(
        ValueError, match=re.escape(f"episodes is {episodes}; expected 1, or an even number: worst() ch")
    ):
        multigrid.evaluate(CORRIDORS, pytest.fail, [0], episodes=episodes)


def test_a_policy_that_the_seed_decides_has_no_worst_worlds():
    """A policy that is created from the seed would play all episodes of a world alike, so it is refused at once."""
    with pytest.raises(ValueError, match="episodes is 4, and per_episode creates the policy from the seed"):
        multigrid.evaluate(CORRIDORS, pytest.fail, [0], per_episode=True, episodes=4)


def test_what_has_no_worst_share_is_refused():
    """Episodes that were not repeated, another metric, a share out of range and mixed seeds are named."""
    played = multigrid.evaluate(CORRIDORS, east, range(2))
    with pytest.raises(ValueError, match=r"each seed was played once; expected .* evaluate\(..., episodes=4\)"):
        played.worst("isr", 0.1)
    with pytest.raises(ValueError, match="metric is 'score'; expected one of isr"):
        repeated([[0, 1]]).worst("score", 0.1)
    for share in (0, 1.1, "a tenth", np.nan):
        with pytest.raises(ValueError, match=f"share is {share!r}; expected a number above 0, at most 1"):
            repeated([[0, 1]]).worst("isr", share)
    with pytest.raises(ValueError, match="expected each seed 2 times in a row"):
        Evaluation(CORRIDORS, [1, 2], [{"isr": 0.0}] * 2, repeats=2)
    once = Evaluation(CORRIDORS, [0, 0], [{"isr": 0.0, "success": 0.0}] * 2)
    twice = Evaluation(CORRIDORS, [0, 0], [{"isr": 0.0, "success": 0.0}] * 2, repeats=2)
    with pytest.raises(ValueError, match="the seeds differ"):
        once.difference(twice)
