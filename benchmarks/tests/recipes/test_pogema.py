"""POGEMA: instances of its benchmark are the same game there and here, step by step."""

import copy
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.processes import python_path
from benchmarks.pogema import SETS, read_instances
from benchmarks.pogema.instances import DRAWN, SINGLE
from benchmarks.same_game.episodes import POLICIES, record
from benchmarks.same_game.pogema import Pogema, compare, list_differences, pogema_sum_of_costs
from benchmarks.same_game.worlds import read_worlds
from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps._generators import random_map

PYTHON = python_path(Path(sys.prefix) / "pogema")
CLONE = Path(__file__).parents[4] / "shared" / "pogema-benchmark"

# Of each set every so many scenarios, with all numbers of agents; lifelong ones half as many; with --long four times.
EVERY = {"random": 64, "mazes": 64, "warehouse": 128, "movingai": 128, "puzzles": 20, "pathfinding": 16}
EVERY |= {"warehouse-lists": 128, "random-dense": 32, "mazes-dense": 16}
KINDS = {"mapf": POLICIES, "lmapf": tuple(policy for policy in POLICIES if policy != "lacam")}

# By map: the width and height, the share of walls, the agents.
PUZZLES = {"hut": (6, 3, 0.2, 4), "lane": (9, 2, 0.1, 4), "bay": (4, 7, 0.3, 4)}
CROWD = {"crowd": (13, 9, 0.15, 64)}


@pytest.fixture(scope="module")
def pogema():
    """POGEMA's process."""
    with Pogema(PYTHON) as process:
        assert process.version == "1.4.0"
        yield process


def write_set(folder, maps, steps):
    """Write a set of the benchmark's form: one scenario on each map, of which an agent starts on its target."""
    folder.mkdir(parents=True)
    pictures, scenarios, lifelong = [], [], []
    for seed, (name, (width, height, density, agents)) in enumerate(maps.items()):
        random = np.random.default_rng(seed)
        walls = random_map(width, height, density, seed)
        free = np.argwhere(~walls.T)  # [row, column]
        starts, targets = (random.permutation(free)[:agents].tolist() for _ in range(2))
        targets.remove(starts[0]) if starts[0] in targets else targets.pop()
        lists = [free[random.integers(len(free), size=random.integers(2, 6))].tolist() for _ in starts]
        lists[1][1:] = [lists[1][0], starts[1]]  # a target is the next one, too
        # In POGEMA's pictures all of these are free.
        letters = np.where(walls.T, "#", random.choice(list(".!@$"), (height, width)))
        pictures += [f'"{name}": |-', *(f"  {''.join(row)}" for row in letters)]
        lists[0][0] = starts[0]
        for lines, cells in ((scenarios, [starts[0], *targets]), (lifelong, lists)):
            lines += [f"  Scenario-{seed}:", f"    agents_xy: {starts}"]
            lines += [f"    map_name: {name}", f"    seed: {seed}", f"    targets_xy: {cells}"]
    (folder / "maps.yaml").write_text("\n".join([*pictures, ""]))
    for kind, on_target, lines in (("mapf", "nothing", scenarios), ("lmapf", "restart", lifelong)):
        rules = ["  collision_system: soft", f"  max_episode_steps: {steps}", f"  on_target: {on_target}"]
        text = "\n".join(["environment:", *rules, "scenarios:", *lines, ""])
        (folder / f"{folder.name}-{kind}.yaml").write_text(text)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder of the benchmark's form with three puzzles and a crowd, none of them square."""
    clone = tmp_path_factory.mktemp("clone")
    write_set(clone / "algorithms" / "experiments" / "05-puzzles", PUZZLES, 30)
    write_set(clone / "algorithms" / "experiments" / "01-random", CROWD, 50)
    return clone


@pytest.mark.parametrize(("kind", "policy"), [(kind, policy) for kind in KINDS for policy in KINDS[kind]])
@pytest.mark.parametrize("name", ["random", "puzzles"])
def test_small_instances(pogema, small, name, kind, policy):
    """On small maps that are not square, everything is equal, also where an agent starts on its target."""
    worlds = read_worlds(small, name, kind)
    instances = read_instances(small, name, kind, check=False)
    assert len(instances) == len(SETS[name]) * {"random": 1, "puzzles": 3}[name]
    for instance in instances:
        assert instance.walls.shape[0] != instance.walls.shape[1]
        assert (instance.starts[0] == instance.targets[0][0]).all()
        assert compare(pogema, worlds[instance.map, instance.seed], instance, policy) == []


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in SETS if kind == "mapf" or name not in SINGLE]
)
def test_a_sample_of_each_set(pogema, kind, name, request):
    """On instances of the benchmark itself, with all its numbers of agents, everything is equal."""
    if not CLONE.is_dir():
        pytest.skip("no ../shared/pogema-benchmark")
    is_long = request.config.getoption("--long")
    policies, every = KINDS[kind], EVERY[name] * (1 if kind == "mapf" else 2)
    worlds = read_worlds(CLONE, name, kind)
    for k, instance in enumerate(read_instances(CLONE, name, kind, every=every // (4 if is_long else 1))):
        # One policy after the other.
        for policy in policies if is_long else [policies[k % len(policies)]]:
            assert compare(pogema, worlds[instance.map, instance.seed], instance, policy) == [], instance.name


@pytest.mark.parametrize("name", DRAWN)
def test_pogema_draws_the_drawn_sets(pogema, name):
    """POGEMA draws the starts and targets that are read here, for all maps, seeds and numbers of agents."""
    if not CLONE.is_dir():
        pytest.skip("no ../shared/pogema-benchmark")
    worlds = read_worlds(CLONE, name, "mapf")
    for instance in read_instances(CLONE, name):
        world = {**worlds[instance.map, instance.seed], "num_agents": instance.num_agents}
        answer = pogema.play(world, np.empty((0, instance.num_agents), int))
        assert (instance.walls == np.array(answer["walls"], bool).T).all()
        assert (np.array(answer["cells"][0])[:, ::-1] == instance.starts).all(), instance.name
        assert (np.array(answer["targets"][0])[:, ::-1] == np.concatenate(instance.targets)).all(), instance.name


def play_by_hand(pogema, starts, targets, actions, on_target="nothing"):
    """Play rows of actions in a hall of 4 x 1 cells, as many as the limit; return the episode and POGEMA's answer."""
    is_lifelong, count, steps = on_target == "restart", len(starts), len(actions)
    rules = {"on_target": "restart" if is_lifelong else "stay", "allow_stay": True, "max_cycles": steps}
    env = MultiGridEnv(GridConfig(walls="....", num_agents=count, collisions="soft", **rules))
    cells = [[[x, 0] for x in one] if is_lifelong else [one, 0] for one in targets]
    env.reset(seed=0, options={"agents": [[x, 0] for x in starts], "targets": cells})
    rows = iter(actions)
    episode = record(env, lambda env, _: dict(zip(env.agents, next(rows), strict=True)))
    world = {"map": "....", "agents_xy": [[0, x] for x in starts], "num_agents": count, "collision_system": "soft"}
    world |= {"on_target": on_target, "max_episode_steps": steps}
    world["targets_xy"] = [[[0, x] for x in one] if is_lifelong else [0, one] for one in targets]
    return episode, pogema.play(world, episode.actions)


def test_who_walks_off_in_the_last_step_costs_more_here(pogema):
    """POGEMA counts its first steps alone, here it costs all steps: the difference of metrics that the docs name."""
    actions = [(Action.RIGHT, Action.STAY), (Action.STAY, Action.STAY), (Action.LEFT, Action.STAY)]
    episode, answer = play_by_hand(pogema, [0, 2], [1, 3], actions)
    assert list_differences(episode, answer) == []
    assert episode.metrics[-1]["sum_of_costs"] == 3 + 3
    assert answer["metrics"] == {"CSR": 0, "ISR": 0, "makespan": 3, "SoC": 1 + 3, "ep_length": 3}
    assert pogema_sum_of_costs(episode) == 4


@pytest.mark.parametrize(("action", "steps"), [(Action.STAY, 1), (Action.RIGHT, 2)])
def test_who_starts_on_its_target_arrives_in_the_first_step(pogema, action, steps):
    """An agent that starts on its target has a cost of 1 if it stands there after the first step, there as here."""
    episode, answer = play_by_hand(pogema, [1], [1], [(action,), (Action.LEFT,)])
    assert list_differences(episode, answer) == []
    assert answer["metrics"] == {"CSR": 1, "ISR": 1, "makespan": steps, "SoC": steps, "ep_length": steps}
    assert len(episode.actions) == steps


def test_a_list_begins_again_and_a_repeated_target_is_reached_again(pogema):
    """After its last target an agent has its first one; who stands on its next one arrives in the next step."""
    rows = [Action.STAY, Action.RIGHT, Action.STAY, Action.LEFT, Action.RIGHT, Action.RIGHT]
    episode, answer = play_by_hand(pogema, [0], [[0, 1, 1]], [(action,) for action in rows], "restart")
    assert list_differences(episode, answer) == []
    assert [row[0] for row in answer["rewards"]] == [1, 1, 1, 1, 1, 0]
    assert [cells[0] for cells in answer["targets"]] == [[0, x] for x in (0, 1, 1, 0, 1, 1, 1)]
    assert answer["metrics"] == {"avg_throughput": 5 / 6}


def check_differences(episode, answer, differences):
    """Fail unless an answer in which one thing is changed has the line of that difference, and no other."""
    assert list_differences(episode, answer) == []
    for path, value, line in differences:
        changed = inner = copy.deepcopy(answer)
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        assert list_differences(episode, changed) == [line]


def test_a_difference_is_found(pogema):
    """Whatever differs in POGEMA's answer, there is a line that says so."""
    episode, answer = play_by_hand(pogema, [0, 1], [2, 3], [(Action.RIGHT, Action.RIGHT), (0, 0), (0, 0)])
    differences = [
        (("walls", 0, 3), 1, "the walls differ"),
        (("cells", 1, 0), [0, 0], "after step 1: agent_0 is at [1, 0] here, [0, 0] there"),
        (("cells", 1, 0), [1, 0], "after step 1: agent_0 is at [1, 0] here, [0, 1] there"),
        (("targets", 0, 1), [0, 2], "after step 0: agent_1 is going to [3, 0] here, [2, 0] there"),
        (("cells",), answer["cells"][:2], "2 steps here, 1 there"),
        (("rewards", 1), [1, 0], "step 2: rewards [1.0, 1.0] here, [1.0, 0.0] there"),
        (("over",), False, "the episode is over after step 2 here and goes on there"),
        (("metrics", "SoC"), 3, "SoC is 4.0 here and 3 there"),
        (("metrics", "makespan"), 3, "makespan is 2.0 here and 3 there"),
        (("metrics", "ep_length"), 1, "ep_length is 2 here and 1 there"),
        (("metrics", "ISR"), 0.5, "ISR is 1.0 here and 0.5 there"),
        (("metrics", "CSR"), 0.0, "CSR is 1.0 here and 0.0 there"),
    ]
    check_differences(episode, answer, differences)
    rows = [(Action.STAY,), (Action.RIGHT,), (Action.STAY,)]
    differences = [
        (("targets", 2, 0), [0, 0], "after step 2: agent_0 is going to [2, 0] here, [0, 0] there"),
        (("metrics", "avg_throughput"), 0.5, "avg_throughput is 0.3333333333333333 here and 0.5 there"),
    ]
    check_differences(*play_by_hand(pogema, [0], [[0, 2]], rows, "restart"), differences)


def test_an_episode_that_differs_is_named(pogema, small):
    """An episode that ends later there gives a line that says so."""
    instance = read_instances(small, "random", "mapf", check=False)[0]
    world = read_worlds(small, "random", "mapf")[instance.map, instance.seed] | {"max_episode_steps": 51}
    (line,) = compare(pogema, world, instance, "random")
    assert line == "the episode is over after step 50 here and goes on there"
