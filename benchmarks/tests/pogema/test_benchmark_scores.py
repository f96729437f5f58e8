"""Scores are those of POGEMA's own script, in both ways of counting; success and gaps come with intervals."""

import math

import pytest

from benchmarks import pogema
from multigrid.evaluation._estimates import Estimate

# Recomputed from the published rows by hand, apart from this package.
TABLE = {
    "Performance": "1.00 .484 .460 .091 .021 .011 .004 .002",
    "Out-of-Distribution": "1.00 .588 .309 0 0 0 0 0",
    "Cooperation": ".998 .539 .574 .276 .240 .170 .201 .212",
    "Pathfinding": "1.00 .98 .26 .83 .55 .47 .46 .46",
}
ALGORITHMS = ("LaCAM", "DCC", "SCRIMP", "MAMBA", "QPLEX", "QMIX", "IQL", "VDN")


def row(algorithm, seed=0, **values):
    """A row of a puzzle with two agents, which the algorithm solved if it has a sum of costs."""
    costs = values.get("sum_of_costs")
    return {
        "kind": "mapf", "set": "puzzles", "map": "bay", "seed": seed, "agents": 2, "algorithm": algorithm,
        "csr": float(costs is not None), "isr": 0.5, "makespan": 10.0, "throughput": None, "seconds": 1.0,
        **values,
    }  # fmt: skip


def solved(algorithm, costs, **values):
    """Rows of an algorithm with these sums of costs, or None, by seed."""
    return [row(algorithm, seed, **values, **{"sum_of_costs": cost} if cost else {}) for seed, cost in costs.items()]


def test_costs_are_compared_with_the_best():
    """A ratio is 0 without a solution; instances that nobody solves, or that lack a row, are left out."""
    rows = [*solved("A", {0: 8, 1: None, 2: None}), *solved("B", {0: 10, 1: 9, 2: None})]
    assert pogema.scores(rows) == {"Cooperation": {"A": 0.5, "B": pytest.approx(0.9)}}
    rows = [*solved("A", {0: 8, 1: None}), *solved("B", {0: 10, 1: 9, 2: None}), *solved("C", {0: 16})]
    assert pogema.scores(rows) == {"Cooperation": {"A": 1.0, "B": 0.8, "C": 0.5}}
    assert pogema.scores(rows, missing="own") == {"Cooperation": {"A": 0.5, "B": pytest.approx(0.9), "C": 0.5}}
    assert pogema.count_missing(rows) == {("puzzles", "A"): 1, ("puzzles", "C"): 2}
    # An instance with rows of both kinds is counted once.
    assert pogema.count_missing([*rows, *solved("B", {0: 10}, kind="lmapf")]) == pogema.count_missing(rows)
    assert math.isnan(pogema.scores([row("A"), row("B", 1)])["Cooperation"]["A"])
    # An algorithm with rows in one of two sets alone drops the instances of the other one for all.
    rows = [*solved("A", {0: 8}, set="random"), *solved("B", {0: 10}, set="random"), *solved("B", {0: 9}, set="mazes")]
    assert pogema.scores(rows)["Performance"] == {"A": 1.0, "B": 0.8}


def test_makespans_throughputs_seconds_and_collisions():
    """Each score compares what it names: makespans, throughputs, seconds for each agent, or shares of refused moves."""
    rows = [row("A", set="pathfinding", makespan=20.0), row("B", set="pathfinding", makespan=50.0, sum_of_costs=50)]
    assert pogema.scores(rows) == {"Pathfinding": {"A": 1.0, "B": 0.4}}
    rows = [row(name, set="movingai", kind="lmapf", throughput=value) for name, value in (("A", 2.0), ("B", 0.5))]
    rows += [row(name, 1, set="movingai", kind="lmapf", throughput=0.0) for name in "AB"]
    assert pogema.scores(rows) == {"Out-of-Distribution": {"A": 1.0, "B": 0.25}}
    times = ((2, 1, 10), (4, 8, 20), (8, 4, 5))
    rows = [row("A", set="warehouse", agents=agents, seconds=time, makespan=steps) for agents, time, steps in times]
    # In a step, an agent takes 0.05, 0.1 and 0.1 seconds; in an episode, 0.5, 2 and 0.5 seconds.
    assert pogema.scores(rows) == {"Scalability": {"A": pytest.approx((0.5 + 0.5 + 1) / 3)}}
    lifelong = [{**one, "kind": "lmapf"} for one in rows]
    assert pogema.scores(lifelong[:2]) == {"Scalability": {"A": 0.25}}
    assert pogema.scores(lifelong[1:]) == {"Scalability": {"A": 1.0}}
    # Collisions are shares of all moves.
    rows = [row("A", set="mazes", steps=10.0, collisions=5.0), row("A", 1, set="random", steps=20.0, collisions=0.0)]
    assert pogema.scores([*rows, row("B", set="mazes", steps=10.0, collisions=None)])["Coordination"] == {"A": 0.875}


def test_rows_that_cannot_be_compared():
    """Rows of two kinds, two rows of one instance, and an unknown way of counting are refused."""
    with pytest.raises(ValueError, match="of the kinds lmapf and mapf"):
        pogema.scores([row("A"), row("A", kind="lmapf")])
    with pytest.raises(ValueError, match=r"two rows of A for \('puzzles', 'bay', 0, 2\)"):
        pogema.scores([row("A"), row("A")])
    with pytest.raises(ValueError, match="missing is 'zero'; expected one of 'drop', 'own'"):
        pogema.scores([row("A")], missing="zero")


def test_gaps_are_those_to_the_largest_bound():
    """Any row's bound counts for the instance, also for a published row of it."""
    rows = [row("A", seed, sum_of_costs=10 + 2 * seed, lower_bound=8.0) for seed in (0, 1)]
    rows += [row("B", 0, sum_of_costs=20, lower_bound=10.0), row("B", 1, lower_bound=None)]
    rows += [row("B", 2, status="unsolvable", lower_bound=None)]
    first, second = pogema.summarize(rows)
    assert (first.algorithm, first.instances, first.bounded, first.gap.mean) == ("A", 2, 2, pytest.approx(0.25))
    assert first.gap.low == 0 < first.gap.mean < first.gap.high == 0.5
    assert (second.bounded, second.gap.mean, second.csr.mean) == (1, 1.0, pytest.approx(1 / 3))
    assert (second.unsolvable, first.unsolvable, second.isr) == (1, 0, Estimate(0.5, math.nan, math.nan))
    assert 0.05 < second.csr.low < second.csr.mean < second.csr.high < 0.8
    assert math.isnan(second.throughput.mean)
    rows = [row("A", sum_of_costs=9, multigrid="1", lower_bound=8.0), row("LaCAM", sum_of_costs=9)]
    rows += [row("LaCAM", set="mazes", sum_of_costs=9)]
    assert [line.bounded for line in pogema.summarize(rows)] == [1, 1, 0]


def test_the_scores_of_the_published_rows(real):
    """The published rows give the scores of the table, to its digits, and say which rows are missing."""
    rows = pogema.published(real, "mapf")
    assert len(rows) == 26802
    assert pogema.count_missing(rows) == {("random", "DCC"): 108, ("mazes", "DCC"): 98}
    found = pogema.scores(rows)
    for score, digits in TABLE.items():
        for algorithm, written in zip(ALGORITHMS, digits.split(), strict=True):
            places = len(written.partition(".")[2])
            assert round(found[score][algorithm], places or 3) == float(written), (score, algorithm)
    own = pogema.scores(rows, missing="own")["Performance"]
    assert [round(own[name], 3) for name in ALGORITHMS[:4]] == [1.0, 0.484, 0.407, 0.079]
    assert sorted(found["Coordination"]) == ["QMIX", "VDN"]


@pytest.mark.long
def test_the_scores_of_the_lifelong_rows(real):
    """The lifelong rows give scores for the ten published algorithms, with the missing rows of MATS-LP."""
    rows = pogema.published(real, "lmapf")
    assert pogema.count_missing(rows) == {("warehouse", "MATS-LP"): 468, ("movingai", "MATS-LP"): 256}
    found = {score: round(by["RHCR"], 3) for score, by in pogema.scores(rows).items() if "RHCR" in by}
    expected = {"Performance": 0.997, "Out-of-Distribution": 0.97, "Cooperation": 0.969}
    assert found == expected | {"Pathfinding": 1.0, "Scalability": 0.274}
