"""benchmarks.pogema reads instances from a clone, and names what is not as expected."""

import sys

import numpy as np
import pytest

from benchmarks import pogema
from benchmarks.pogema.clone import known_sums
from benchmarks.pogema.instances import SINGLE
from tiny_clone import EXPERIMENTS, MAPF, MAPS, sums_of

LIFELONG = [name for name in pogema.SETS if name not in SINGLE]
AGAIN = "  Scenario-3:" + MAPF.partition("  Scenario-2:")[2].partition("  Scenario-1:")[0] + "  Scenario-1:"
FILE = f"{EXPERIMENTS}/05-puzzles-mapf.yaml"


def test_an_instance_is_a_scenario(clone):
    """Rows and columns become cells [x, y], `#` alone a wall, and POGEMA's rules those of this package."""
    scenarios = pogema.load(clone, "puzzles", "mapf")
    names = [f"{name}-{agents}" for agents in (2, 3, 4) for name in ("bay-000", "hall-001")]
    assert [one.name for one in scenarios] == names
    config = scenarios[2].config
    assert (config.collisions, config.on_target, config.allow_stay, config.max_cycles) == ("soft", "stay", True, 40)
    assert (config.width, config.height, config.num_agents) == (5, 3, 3)
    assert np.argwhere(config.is_wall[0]).tolist() == [[1, 1], [4, 0], [4, 2]]
    assert config.layouts.tolist() == [[[0, 0, 2, 0], [1, 2, 3, 2], [4, 1, 2, 1]]]


def test_lifelong_instances_have_lists_of_targets(clone):
    """Each agent of a lifelong instance has its own number of targets, and the first agents have the first lists."""
    two, *_, four = pogema.read_instances(clone, "puzzles", "lmapf")
    assert (two.name, two.steps, two.key) == ("hall-000-2", 10, ("lmapf", "puzzles", "hall", 0, 2))
    assert [cells.tolist() for cells in two.targets] == [[[4, 0], [4, 1], [4, 1], [2, 0]], [[1, 0]]]
    assert [len(cells) for cells in four.targets] == [4, 1, 2, 1]
    assert four.starts.tolist() == [[1, 0], [0, 0], [5, 0], [5, 1]]
    config = pogema.load(clone, "puzzles", "lmapf")[0].config
    assert (config.on_target, config.max_cycles) == ("restart", 10)
    assert config.target_lists.tolist() == [[[[4, 0], [4, 1], [4, 1], [2, 0]], [[1, 0], [-1, -1], [-1, -1], [-1, -1]]]]


HALL = """"hall": |-
  @!$$@!!
  @##$#$$
  @!@$!$@
"""

# What POGEMA 1.4 draws for a seed from the hall, and from the benchmark's map for the first three and the last agent.
DRAWN = {
    0: ([[0, 2], [0, 1], [6, 2], [2, 2], [0, 0]], [[6, 1], [3, 2], [3, 0], [3, 1], [2, 0]]),
    7: ([[6, 2], [0, 1], [0, 0], [2, 2], [4, 0]], [[6, 1], [5, 2], [3, 2], [2, 0], [3, 0]]),
}
WAREHOUSE = {
    0: ([[41, 15], [2, 17], [44, 14], [44, 15]], [[19, 7], [26, 3], [27, 7], [14, 1]]),
    127: ([[44, 30], [2, 9], [41, 10], [2, 5]], [[9, 17], [15, 27], [35, 23], [20, 1]]),
}


def test_the_instances_of_warehouse_are_those_that_pogema_draws(clone):
    """Starts are drawn from @ and targets from $, as POGEMA does; a map with fewer cells than agents is refused."""
    folder = clone / "algorithms" / "experiments" / "03-warehouse"
    folder.mkdir()
    (folder / "maps.yaml").write_text(HALL)
    (folder / "03-warehouse-mapf.yaml").write_text(MAPF)
    found = pogema.read_instances(clone, "warehouse", agents=[3, 5], check=False)
    assert [one.name for one in found[126:130]] == ["hall-126-3", "hall-127-3", "hall-000-5", "hall-001-5"]
    for seed, (starts, targets) in DRAWN.items():
        three, five = found[seed], found[128 + seed]
        assert (five.starts.tolist(), np.concatenate(five.targets).tolist()) == (starts, targets)
        assert (three.starts.tolist(), np.concatenate(three.targets).tolist()) == (starts[:3], targets[:3])
    assert (five.set, five.steps, np.argwhere(five.walls).tolist()) == ("warehouse", 40, [[1, 1], [2, 1], [4, 1]])
    assert not any(array.flags.writeable for array in (five.walls, five.starts, *five.targets))
    with pytest.raises(pogema.DataError, match="hall, seed 0 has 6 agents; expected at least 192"):
        pogema.read_instances(clone, "warehouse", check=False)


# Components of 9 and 6 cells, which have room for 4 and 3 agents, and what POGEMA 1.4 draws for the seed 0.
HUT = """"hut": |-
  ....#..
  .##.#..
  ...##..
"""
PAIRS = (
    [[2, 0], [3, 0], [0, 0], [5, 0], [6, 2], [2, 2], [5, 2]],
    [[1, 2], [0, 2], [3, 1], [6, 0], [6, 1], [0, 1], [5, 1]],
)


@pytest.mark.parametrize("name", ["random", "mazes"])
def test_denser_instances_are_those_that_pogema_draws(clone, name):
    """An agent's start and target are in one component, in POGEMA's order; the odd cell of a component stays free."""
    folder = clone / "algorithms" / "experiments" / f"{1 if name == 'random' else 2:02}-{name}"
    folder.mkdir()
    (folder / "maps.yaml").write_text(HUT)
    (folder / f"{folder.name}-mapf.yaml").write_text(MAPF)
    five, seven = pogema.read_instances(clone, f"{name}-dense", agents=[5, 7], check=False)
    assert (seven.starts.tolist(), np.concatenate(seven.targets).tolist()) == PAIRS
    assert (five.starts.tolist(), np.concatenate(five.targets).tolist()) == tuple(cells[:5] for cells in PAIRS)
    assert (seven.key, seven.steps) == (("mapf", f"{name}-dense", "hut", 0, 7), 40)
    with pytest.raises(pogema.DataError, match="hut, seed 0 has 7 agents; expected at least"):
        pogema.read_instances(clone, f"{name}-dense", check=False)
    (folder / "maps.yaml").write_text(HUT.replace(".", "#"))
    with pytest.raises(pogema.DataError, match="hut, seed 0 has 0 agents; expected at least 5"):
        pogema.read_instances(clone, f"{name}-dense", agents=[5], check=False)


@pytest.mark.parametrize("name", ["random", "mazes"])
def test_the_first_agents_of_denser_instances_are_listed(real, name):
    """The first 64 agents are those of the lists in the files, on all maps."""
    listed = pogema.read_instances(real, name, agents=[64])
    drawn = pogema.read_instances(real, f"{name}-dense", agents=[64])
    assert len(listed) == 128
    for one, other in zip(listed, drawn, strict=True):
        assert one.key[2:] == other.key[2:]
        assert (one.starts == other.starts).all()
        assert (np.concatenate(one.targets) == np.concatenate(other.targets)).all()


def test_the_drawn_instances_of_the_benchmark(real):
    """The drawn instances of Warehouse are POGEMA's; the lists in its files are others, on the same map."""
    drawn, listed = (pogema.read_instances(real, name, agents=[192]) for name in ("warehouse", "warehouse-lists"))
    for seed, (starts, targets) in WAREHOUSE.items():
        cells = drawn[seed].starts.tolist(), np.concatenate(drawn[seed].targets).tolist()
        assert [[*rows[:3], rows[-1]] for rows in cells] == [starts, targets]
    assert [one.key[2:] for one in drawn] == [one.key[2:] for one in listed]
    assert (drawn[0].walls == listed[0].walls).all()
    assert not any((one.starts == other.starts).all() for one, other in zip(drawn, listed, strict=True))


def test_numbers_of_agents_and_names_of_sets(clone):
    """Of every K-th scenario come the asked numbers of agents, each once; none, too many and a text are refused."""
    instances = pogema.read_instances(clone, "puzzles", agents=[4, 1, 4], every=2)
    assert [one.name for one in instances] == ["bay-000-4", "bay-000-1"]
    assert not any(array.flags.writeable for one in instances for array in (one.walls, one.starts, *one.targets))
    for agents, wrong in (([], "agents is empty"), ([0], "a number of agents is 0"), (2, "agents is 2; expected")):
        with pytest.raises((TypeError, ValueError), match=wrong):
            pogema.read_instances(clone, "puzzles", agents=agents)
    with pytest.raises(pogema.DataError, match=r"mapf\.yaml, Scenario-1 has 4 agents; expected at least 5"):
        pogema.read_instances(clone, "puzzles", agents=[2, 5])
    for number in (0, 5, -1):
        with pytest.raises(ValueError, match=f"num_agents is {number}; expected"):
            instances[0].select(number)
    with pytest.raises(TypeError, match="sets is 'puzzles'; expected a list of names"):
        pogema.published(clone, sets="puzzles")
    assert len(pogema.published(clone, sets=["puzzles", "puzzles"])) == 7


@pytest.mark.parametrize(
    ("path", "old", "new", "wrong"),
    [
        (FILE, "[0, 5], [0, 0], [1, 3]", "[1, 1], [0, 0], [1, 3]", "Scenario-2 .* agent_0, row 1 and column 1, is in"),
        (FILE, "[0, 5], [0, 0], [1, 3]", "[9, 5], [0, 0], [1, 3]", "agent_0, row 9 .* outside the 6 x 2 cells of"),
        (FILE, "[2, 3], [1, 2]", "[2, 4], [1, 2]", "Scenario-1 .* a target of agent_1, row 2 and column 4"),
        (FILE, "map_name: hall", "map_name: hut", "Scenario-2 .* no map 'hut'"),
        (FILE, "[[0, 5], [0, 0], [1, 3], [1, 4]]", "[[0, 5], [0, 0], [1, 3]]", "3 agents and 4 lists"),
        (FILE, "[[0, 5], [0, 0],", "[[0, 5], [0, 0, 1],", "Scenario-2 .*expected a list of"),
        (FILE, "[[0, 5], [0, 0],", "[[0, 5], [0, 5],", "Scenario-2: agent_0 and agent_1 .* the same location"),
        (FILE, "  Scenario-1:", AGAIN, "two scenarios of the map 'hall' with the seed 1"),
        (FILE, "seed: 1", "side: 1", "Scenario-2 .* no field 'seed'"),
        (FILE, "max_episode_steps", "most_steps", "max_episode_steps"),
        (FILE, "on_target: nothing", "on_target: finish", "the rules .*finish"),
        (FILE, MAPF, "{}", "lacks scenarios"),
        (FILE, MAPF, "a: [", "is no YAML"),
        (f"{EXPERIMENTS}/maps.yaml", "  .#$!.\n", "  .#\n", "a map 'bay' that is no picture"),
        (f"{EXPERIMENTS}/maps.yaml", MAPS, "", "has no maps"),
        (f"{EXPERIMENTS}/05-puzzles-lmapf.yaml", "[[0, 1]]", "[]", "has a Scenario-0 .* agent_1 has an empty list"),
    ],
)  # fmt: skip
def test_a_scenario_that_is_not_as_expected_is_named(clone, path, old, new, wrong):
    """An error names the file, the scenario and what is wrong with it, and the clone that is expected."""
    text = (clone / path).read_text()
    assert old in text
    (clone / path).write_text(text.replace(old, new))
    with pytest.raises(pogema.DataError, match=wrong) as caught:
        pogema.load(clone, "puzzles", "lmapf" if "lmapf" in path else "mapf", check=False)
    assert path.rpartition("/")[2] in str(caught.value)


@pytest.mark.parametrize("path", [f"{EXPERIMENTS}/maps.yaml", FILE])
def test_a_changed_or_missing_file_is_named(clone, path):
    """A file that differs in one byte, or is missing, is named, with what Git may have done and the commit to clone."""
    whole, name = (clone / path).read_bytes(), path.rpartition("/")[2]
    (clone / path).write_bytes(whole + b"\n")
    assert len(pogema.load(clone, "puzzles", check=False)) == 6
    for content, wrong in (
        (whole + b"\n", "a clone of CognitiveAISystems/pogema-benchmark at commit 3303133"),
        *[(whole.replace(b"\n", b"\r\n"), "line ends were converted")] * (b"\n" in whole),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a pointer of Git LFS"),
    ):
        (clone / path).write_bytes(content)
        with pytest.raises(pogema.DataError, match=f"{name} differs from the file of the repository: .*{wrong}"):
            pogema.load(clone, "puzzles")
    (clone / path).unlink()
    with pytest.raises(pogema.DataError, match=f"{name} is missing; expected a clone of"):
        pogema.load(clone, "puzzles")


def test_names_that_do_not_exist(clone, tmp_path):
    """An unknown set or kind, lifelong path finding of one agent, and a folder that is none are refused."""
    no_folder = "has no folder `algorithms`; expected a clone of Cognitive"
    for call, wrong in (
        (lambda: pogema.load(clone, "maze"), r"the set is 'maze' \(did you mean 'mazes'\?\); expected one of"),
        (lambda: pogema.load(clone, "puzzles", "soft"), "kind is 'soft'; expected one of 'mapf', 'lmapf'"),
        (lambda: pogema.read_instances(clone, "pathfinding", "lmapf"), "no lifelong scenarios"),
        (lambda: pogema.read_instances(clone, "warehouse", "lmapf"), "set 'warehouse' has no lifelong scenarios"),
        (lambda: pogema.load(tmp_path / "nowhere", "puzzles"), "nowhere is no folder; expected a clone"),
        (lambda: pogema.load(tmp_path, "puzzles"), no_folder),
        (lambda: pogema.load(clone / "algorithms", "puzzles"), no_folder),
        (lambda: pogema.load(clone, "mazes"), r"02-mazes/maps\.yaml is missing"),
    ):
        with pytest.raises(ValueError, match=wrong) as caught:
            call()
        assert isinstance(caught.value, pogema.DataError) == ("folder" in wrong or "missing" in wrong)


def test_without_pyyaml_the_extra_is_named(clone, monkeypatch):
    """Where PyYAML is not installed, the error says which extra brings it."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ModuleNotFoundError, match=r"benchmarks\.pogema needs yaml.*\[benchmark\]"):
        pogema.load(clone, "puzzles")


def test_the_sums_are_those_of_the_files(real):
    """The list of sums names every file of scenarios and results, and no other."""
    known = known_sums()
    sums = sums_of(real)
    assert {path: sums.get(path) for path in known} == known
    assert set(known) == {path for path in sums if path.startswith("algorithms/") or path.endswith(".json")}


def test_all_instances_are_read(real):
    """There are 4,528 instances of one episode and 3,296 lifelong ones, with keys of their own; a sample loads."""
    for kind, sets, total in (("mapf", list(pogema.SETS), 4528), ("lmapf", LIFELONG, 3296)):
        found = [one for name in sets for one in pogema.read_instances(real, name, kind)]
        assert (len(found), len({one.key for one in found})) == (total, total)
        assert all(len(one.targets) == one.num_agents for one in found)
        assert [one.scenario().name for one in found[::60]] == [one.name for one in found[::60]]
    lengths = {len(cells) for one in found for cells in one.targets}
    assert (min(lengths), max(lengths)) == (3, 256)


def test_aliases_are_refused(clone):
    """700 bytes cannot stand for gigabytes: in a file without a known sum, an alias of YAML is refused."""
    lines = ["a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0]", *(f"a{k}: &a{k} [{9 * f'*a{k - 1}, '}0]" for k in range(1, 10))]
    (clone / FILE).write_text("\n".join(lines))
    with pytest.raises(pogema.DataError, match=r"05-puzzles-mapf\.yaml has an alias"):
        pogema.load(clone, "puzzles", "mapf", check=False)
