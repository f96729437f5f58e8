"""`multigrid evaluate`: its numbers against episodes known by hand, against rollouts, and against its own rows."""

import errno
import re
from pathlib import Path

import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, policies
from multigrid.cli import main
from multigrid.cli.evaluate import EvaluateOptions, parse_evaluate


def cells_of(printed):
    """The cells of all tables, row by row, without the heads."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]


def test_the_tables_of_episodes_known_by_hand(run, saved, monkeypatch):
    """A row for each policy, then the pairs: in two corridors the planner and shortest paths do the same."""
    monkeypatch.setenv("COLUMNS", "100")
    path = saved(on_target="stay", allow_stay=True, max_cycles=7)
    printed = run(f"evaluate shortest-path pibt --scenario {path} --episodes 6")
    same = ["1.00 [0.61\N{EN DASH}1.00]", "1.00", "5.0", "3.0"]
    pairs = ["6", "0", "0", "6"]
    assert cells_of(printed) == [
        ["shortest-path", *same],
        ["pibt", *same],
        ["success (CSR)", "+0.00", *pairs],
        ["ISR", "+0.00", *pairs],
        ["sum of costs", "+0.0", *pairs],
        ["makespan", "+0.0", *pairs],
    ]
    lines = [line.rstrip() for line in printed.splitlines()]
    assert lines[0] == "by-hand: 6 episodes, mean [95 % confidence interval]"
    assert "shortest-path minus pibt, mean [95 % confidence interval]" in lines
    assert lines[-1] == "* 0 is excluded. Costs and gaps: episodes that both policies solved."
    assert list(Path().iterdir()) == [Path("by-hand.json")], "nothing was asked for, and nothing is written"


def test_the_first_policy_minus_the_others(run, shown, saved, monkeypatch):
    """Values are the first policy's minus another's, also for costs; where 0 is excluded, and in how many episodes."""
    monkeypatch.setenv("COLUMNS", "100")
    path = saved("a...A", on_target="leave", allow_stay=True, max_cycles=40)
    flags = f"shortest-path random pibt --scenario {path} --episodes 8"
    printed = run(f"evaluate {flags}")
    heads = [line for line in printed.splitlines() if " minus " in line]
    assert [head.split(",")[0] for head in heads] == ["shortest-path minus random", "shortest-path minus pibt"]
    (words,) = {tuple(re.findall(r"\w+", line)) for line in printed.splitlines() if "pairs" in line}
    assert words == ("metric", "difference", "pairs", "higher", "lower", "equal")
    (world,) = shown(f"evaluate {flags}")["worlds"]
    costs = world["differences"]["random"]["sum_of_costs"]
    assert (costs["mean"] < 0, costs["higher"], costs["lower"]) == (True, 0, costs["episodes"])
    means = {policy: metrics["isr"]["mean"] for policy, metrics in world["metrics"].items()}
    assert world["differences"]["random"]["isr"]["mean"] == means["shortest-path"] - means["random"]


def test_a_difference_is_counted_and_marked(run, shown, saved, monkeypatch):
    """Pairs with the higher value of the second policy count, an interval without 0 is marked; one policy has none."""
    monkeypatch.setenv("COLUMNS", "100")
    path = saved("a...A", on_target="leave", allow_stay=True, max_cycles=4)
    printed = run(f"evaluate random shortest-path --scenario {path} --episodes 8")
    rows = {row[0]: row[1:] for row in cells_of(printed)[2:]}
    assert rows["success (CSR)"] == rows["ISR"] == ["-1.00 *", "8", "0", "8", "0"]
    # Random play solves no episode, so no pair has costs.
    assert rows["sum of costs"] == rows["makespan"] == ["-", "0", "0", "0", "0"]
    alone = f"evaluate random --scenario {path} --episodes 2"
    printed = run(alone)
    assert not {"minus", "excluded"} & set(printed.split())
    assert shown(alone)["worlds"][0]["differences"] == {}


def test_several_worlds_have_tables_of_their_own(run, shown):
    """Scenarios of the suite, and numbers of agents, are worlds in which all policies play."""
    worlds = shown("evaluate random shortest-path --suite empty-9x7-2 rooms-9x7-2 --episodes 1")["worlds"]
    assert [world["name"] for world in worlds] == ["empty-9x7-2", "rooms-9x7-2"]
    printed = run("evaluate random shortest-path --size 4 --num-agents-sweep 3 2 --episodes 1 --max-cycles 5")
    assert re.findall("^grid-4x4-.: 1 episode,", printed, re.MULTILINE) == [f"grid-4x4-{n}: 1 episode," for n in (2, 3)]
    assert printed.count("random minus shortest-path") == 2


def test_the_flags_come_after_the_policies():
    """Policies stand before the flags, whose lists would take them; without any the flags are read all the same."""
    options = parse_evaluate(["pibt", "random", "--size", "4", "3", "--num-agents-sweep", "2", "3", "--gap", "0.5"])
    assert (options.policies, options.num_agents_sweep, options.gap) == (("pibt", "random"), (2, 3), 0.5)
    assert (options.grid.width, options.grid.height, options.episodes) == (4, 3, 100)
    assert parse_evaluate([]) == EvaluateOptions()


def test_each_policy_plays_with_each(run, shown, home):
    """The matrix is that of `multigrid.cross_play`, of all policies of a pool in its world; the picture shows it."""
    config = GridConfig(size=(5, 4), num_agents=2, observe=("offset",), max_cycles=15)
    bias = np.eye(4)[[0, 3]] * 3
    layers = {f"seed {k}": [(np.eye(2, 4) * (0.5 - k), bias[k])] for k in (0, 1)}
    policies.write_pool("pool", layers, config)
    flags = "evaluate --cross-play pool --metric isr --episodes 6 --seed 3"
    printed = run(f"{flags} --picture matrix.svg")
    expected = multigrid.cross_play(config, policies.read_pool("pool", seed=3), range(3, 9), metric="isr")
    title = "grid-5x4-2, isr: 6 episodes from each seat, mean [95 % confidence interval]"
    assert printed == f"{title}\n{expected}\n"
    assert Path("matrix.svg").read_text("utf-8") == expected._repr_svg_()
    (world,) = shown(flags)["worlds"]
    assert [[cell["mean"] for cell in row] for row in world["returns"]] == expected.returns.mean.tolist()
    assert (world["policies"], world["gap"]["mean"]) == (["seed 0", "seed 1"], expected.gap.mean)
    (mixed,) = shown("evaluate --cross-play pool random --episodes 1")["worlds"]
    assert mixed["policies"] == ["pool/seed 0", "pool/seed 1", "random"]
    policies.write_pool("other/pool", layers, config)
    (both,) = shown("evaluate --cross-play pool other/pool --episodes 1")["worlds"]
    assert both["policies"] == ["pool/seed 0", "pool/seed 1", "other/pool/seed 0", "other/pool/seed 1"]


def test_a_matrix_is_printed_though_its_picture_cannot_be_written(run, monkeypatch, capsys):
    """On a full disk the error is said after the results, which are printed as ever."""
    flags = "evaluate --cross-play random shortest-path --size 4 3 --episodes 1"
    printed = run(flags)

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    assert main([*flags.split(), "--picture", "matrix.svg"]) == 2
    found = capsys.readouterr()
    assert (found.out, "No space left" in found.err, list(Path().iterdir())) == (printed, True, [])


def test_pools_of_other_observations_do_not_play_together(home, refused):
    """Policies that were trained to see other things are refused; a pool is not one policy."""
    for name, part in (("one", "offset"), ("two", "target")):
        config = GridConfig(size=(5, 4), num_agents=2, observe=(part,), max_cycles=15)
        policies.write_pool(name, {"a": [(np.zeros((2, 4)), np.zeros(4))]}, config)
    refused("evaluate --cross-play one two", "one and two were trained with other observations or actions, and one")
    refused("evaluate random one", "policy is one, a pool of several; it can be used with multigrid evaluate --cross")


@pytest.mark.heavy
def test_a_trained_model_is_compared(trained, shown, capsys):
    """The world of the training is the default; the model sees what it was trained to see, and all play its layouts."""
    (own,) = shown(f"evaluate shortest-path {trained} --episodes 5")["worlds"]
    assert (own["name"], own["num_agents"]) == ("grid-5x4-3", 3)
    world = "--size 5 4 --num-agents 3 --max-cycles 12 --on-target leave"
    for name, flags in ((trained, f"--policy {trained}"), ("shortest-path", world)):
        assert own["metrics"][name] == shown(f"rollout {flags} --episodes 5")["worlds"][0]["metrics"]
    # Another map, on which the model sees as much.
    (other,) = shown(f"evaluate {trained} random --map maze:width=7,height=5 --num-agents 2 --episodes 1")["worlds"]
    assert other["name"] == "maze-7x5-2"
    # Beside a planner, which lets agents wait, the model has its own actions, and so the same episodes.
    beside = shown(f"evaluate {trained} pibt --episodes 5")["worlds"][0]
    assert beside["metrics"][trained] == own["metrics"][trained]
    assert beside["differences"]["pibt"]["isr"]["episodes"] == 5
    assert main(["evaluate", trained, "pibt", "--episodes", "1"]) == 0
    printed = " ".join(capsys.readouterr().err.split())
    assert "Agents can stay, as with --allow-stay: one of the policies lets them wait." in printed
    assert "Trained without the action stay, and playing without it: " in printed


@pytest.mark.heavy
def test_a_trained_model_becomes_part_of_a_pool(trained, shown, tmp_path):
    """A pool of a run's policy chooses as the run does, but for float16, and plays on the command line beside it."""
    policy = policies.load(trained)
    policies.write_pool(tmp_path, {"run": policy}, policy.config)
    envs = multigrid.vector_env(200, policy.config)
    observations, _ = envs.reset(seed=0)
    pool = policies.read_pool(tmp_path, seed=np.random.default_rng(5))
    chosen, own = pool["run"].act(envs, observations), policy.seeded(np.random.default_rng(5)).act(envs, observations)
    assert (chosen == own).mean() > 0.98
    (world,) = shown(f"evaluate --cross-play {trained} {tmp_path} --episodes 2")["worlds"]
    assert world["policies"] == [trained, f"{tmp_path.name}/run"]


@pytest.mark.parametrize("planner", ["pibt", pytest.param("lacam", marks=pytest.mark.long)])
def test_a_planner_brings_the_action_that_it_needs(planner, shown, capsys):
    """All play in a world in which agents can stay if a planner takes part, with the figures of --allow-stay."""
    flags = f"evaluate random {planner} --size 4 3 --episodes 4"
    assert shown(flags) == shown(f"{flags} --allow-stay")
    for words, is_told in ((f"--cross-play random {planner}", True), ("random", False)):
        assert main(f"evaluate {words} --size 4 3 --episodes 1".split()) == 0
        assert ("Agents can stay, as with --allow-stay" in capsys.readouterr().err) == is_told
