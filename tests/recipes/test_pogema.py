"""POGEMA: instances of its benchmark are the same game there and here, step by step."""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import python_path
from benchmarks.same_game.__main__ import main
from benchmarks.same_game.episodes import POLICIES, play
from benchmarks.same_game.pogema import Pogema, list_differences, pogema_sum_of_costs
from benchmarks.same_game.rows import read_rows
from benchmarks.same_game.worlds import SETS, Instance, read_instances, read_worlds
from multigrid.actions import Action
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps.generators import random_map

PYTHON = python_path(Path(sys.prefix) / "pogema")
CLONE = Path(__file__).parents[3] / "shared" / "pogema-benchmark"

# Of each set every so many instances, with all numbers of agents; with --long, eight times as many.
EVERY = {"random": 64, "mazes": 64, "warehouse": 128, "movingai": 128, "puzzles": 32, "pathfinding": 16}

# By map: the width and height, the share of walls, the agents, the steps. The first three are puzzles.
SMALL = {"hut": (6, 3, 0.2, 4, 30), "lane": (9, 2, 0.1, 4, 30), "bay": (4, 7, 0.3, 4, 30), "crowd": (13, 9, 0.15, 64, 50)}


@pytest.fixture(scope="module")
def pogema():
    """POGEMA's process."""
    with Pogema(PYTHON) as process:
        assert process.version == "1.4.0"
        yield process


def write_set(folder, maps, steps):
    """Write a set of the benchmark's form: one scenario on each map, of which an agent starts on its target."""
    folder.mkdir(parents=True)
    pictures, scenarios = [], []
    for seed, (name, (width, height, density, agents, _)) in enumerate(maps.items()):
        random = np.random.default_rng(seed)
        walls = random_map(width, height, density, seed)
        free = np.argwhere(~walls.T)  # [row, column]
        starts, targets = (random.permutation(free)[:agents].tolist() for _ in range(2))
        targets.remove(starts[0]) if starts[0] in targets else targets.pop()
        # In POGEMA's pictures all of these are free.
        letters = np.where(walls.T, "#", random.choice(list(".!@$"), (height, width)))
        pictures += [f'"{name}": |-', *(f"  {''.join(row)}" for row in letters)]
        cells = f"    agents_xy: {starts}", f"    targets_xy: {[starts[0], *targets]}"
        scenarios += [f"  Scenario-{seed}:", *cells, f"    map_name: {name}", f"    seed: {seed}"]
    (folder / "maps.yaml").write_text("\n".join([*pictures, ""]))
    rules = ["  collision_system: soft", f"  max_episode_steps: {steps}", "  on_target: nothing"]
    lines = ["environment:", *rules, "scenarios:", *scenarios, ""]
    (folder / f"{folder.name}-mapf.yaml").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder of the benchmark's form with three puzzles and a crowd, none of them square."""
    clone = tmp_path_factory.mktemp("clone")
    puzzles = {name: values for name, values in SMALL.items() if name != "crowd"}
    write_set(clone / "algorithms" / "experiments" / "05-puzzles", puzzles, 30)
    write_set(clone / "algorithms" / "experiments" / "01-random", {"crowd": SMALL["crowd"]}, 50)
    return clone


def compare(pogema, world, instance, agents, policy):
    """Play an episode here and there; return it with POGEMA's answer. They must be equal."""
    episode = play(instance, agents, "mapf", policy)
    answer = pogema.play({**world, "num_agents": agents}, episode.actions)
    assert list_differences(episode, answer) == [], (instance.name, agents, policy)
    return episode, answer


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["random", "puzzles"])
def test_small_instances(pogema, small, name, policy):
    """On small maps that are not square, everything is equal, also where an agent starts on its target."""
    worlds = read_worlds(small, "mapf", name)
    instances = read_instances(small, "mapf", name)
    assert len(instances) == {"random": 1, "puzzles": 3}[name]
    for instance in instances:
        assert instance.walls.shape[0] != instance.walls.shape[1]
        assert (instance.starts[0] == instance.targets[0]).all()
        for agents in SETS[name]:
            compare(pogema, worlds[instance.name], instance, agents, policy)
