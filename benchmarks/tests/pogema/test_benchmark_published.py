"""benchmarks.pogema reads the published results from a clone, and names what is not as expected."""

import itertools
import json

import numpy as np
import pytest

from benchmarks import pogema
from multigrid.maps._cells import distances_to, label_components
from tiny_clone import EXPERIMENTS, list_results

FILE = f"{EXPERIMENTS}/05-puzzles-mapf.yaml"


def test_published_results_are_rows(clone):
    """Each published result has its instance, also where it names neither map nor seed, for there is one alone."""
    (lifelong,) = pogema.published(clone, "lmapf", sets=["puzzles"])
    assert lifelong == {
        "kind": "lmapf", "set": "puzzles", "map": "hall", "seed": 0, "agents": 2, "algorithm": "RHCR",
        "csr": None, "isr": None, "sum_of_costs": None, "makespan": None, "throughput": 0.25,
        "steps": 10.0, "seconds": 2.0, "collisions": None,
    }  # fmt: skip
    rows = pogema.published(clone, sets=["puzzles"])
    assert [(row["algorithm"], row["map"], row["agents"]) for row in rows[-2:]] == [
        ("LaCAM", "hall", 4),
        ("Other", "bay", 2),
    ]
    assert (rows[-1]["sum_of_costs"], rows[-1]["steps"], rows[-1]["collisions"]) == (29, 8, 4)


@pytest.mark.parametrize("path", [f"{EXPERIMENTS}/maps.yaml", FILE, "raw_data_MAPF/05-puzzles/LaCAM.json"])
def test_a_changed_or_missing_file_is_named(clone, path):
    """A file that differs in one byte, or is missing, is named, with what Git may have done and the commit to clone."""
    whole, name = (clone / path).read_bytes(), path.rpartition("/")[2]
    (clone / path).write_bytes(whole + b"\n")
    assert len(pogema.published(clone, sets=["puzzles"], check=False)) == 7
    for content, wrong in (
        (whole + b"\n", "a clone of CognitiveAISystems/pogema-benchmark at commit 3303133"),
        *[(whole.replace(b"\n", b"\r\n"), "line ends were converted")] * (b"\n" in whole),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a pointer of Git LFS"),
    ):
        (clone / path).write_bytes(content)
        with pytest.raises(pogema.DataError, match=f"{name} differs from the file of the repository: .*{wrong}"):
            pogema.published(clone, sets=["puzzles"])
    (clone / path).unlink()
    with pytest.raises(pogema.DataError, match=f"{name} is missing; expected a clone of"):
        pogema.published(clone, sets=["puzzles"])


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda rows: rows[0].pop("env_grid_search"), r"number 0\) .* no field 'env_grid_search'"),
        (lambda rows: rows.insert(0, 3), r"number 0\) .* it is 3; expected an object"),
        (lambda rows: rows[1].update(metrics=[]), r"number 1\) .* metrics is \[\]; expected an object"),
        (lambda rows: rows[1]["env_grid_search"].update(map_name="hut"), r"number 1\) .* \('hut', 1, 2\)"),
        (lambda rows: rows[1]["metrics"].update(SoC="many"), "SoC is 'many'"),
        (lambda rows: rows.append(rows[1]), "two results for hall-001-2"),
    ],
)
def test_a_result_that_is_not_as_expected_is_named(clone, change, wrong):
    """A published result without an instance, with another metric, or given twice is refused, with its file."""
    path = "raw_data_MAPF/05-puzzles/LaCAM.json"
    rows = list_results()[path]
    change(rows)
    (clone / path).write_text(json.dumps(rows))
    with pytest.raises(pogema.DataError, match=f"LaCAM.json has .*{wrong}"):
        pogema.published(clone, sets=["puzzles"], check=False)


def test_names_that_do_not_exist(clone, tmp_path):
    """An unknown kind, and a folder that is no clone, are refused; some sets have no published rows."""
    assert pogema.published(clone, sets=["warehouse-lists", "random-dense", "mazes-dense"]) == []
    no_folder = "has no folder `algorithms`; expected a clone of Cognitive"
    for call, wrong in (
        (lambda: pogema.published(clone, "soft"), "kind is 'soft'; expected one of 'mapf', 'lmapf'"),
        (lambda: pogema.published(tmp_path, sets=["puzzles"]), no_folder),
        (lambda: pogema.published(clone / "algorithms", sets=["puzzles"]), no_folder),
    ):
        with pytest.raises(ValueError, match=wrong) as caught:
            call()
        assert isinstance(caught.value, pogema.DataError) == ("folder" in wrong)


@pytest.mark.long
def test_rows_of_the_warehouse_are_of_drawn_instances(real):
    """LaCAM's costs follow the shortest paths of drawn instances, and fall below those of the lists; so RHCR's."""
    found = {}
    for name, instances_of in (("random", "random"), ("warehouse", "warehouse"), ("warehouse", "warehouse-lists")):
        instances, rows = rows_of(real, name, "mapf", "LaCAM", instances_of)
        costs, ways = np.array([(rows[key]["sum_of_costs"], sum_of_ways(instances[key])) for key in rows]).T
        found[instances_of] = (len(rows), int((costs < ways).sum()), round(float(np.corrcoef(costs, ways)[0, 1]), 2))
    assert found == {"random": (128, 0, 0.91), "warehouse": (128, 0, 1.0), "warehouse-lists": (128, 33, 0.01)}
    for name, instances_of, more in (("mazes", "mazes", 0), ("warehouse", "warehouse-lists", 128)):
        instances, rows = rows_of(real, name, "lmapf", "RHCR", instances_of)
        beyond = [rows[key]["throughput"] > count_arrivals(one) / one.steps for key, one in instances.items()]
        assert sum(beyond) == more


def rows_of(real, name, kind, algorithm, instances_of):
    """The instances of 32 agents of a set, by map and seed, and an algorithm's published rows of another."""
    rows = [row for row in pogema.published(real, kind, sets=[name]) if row["agents"] == 32]
    instances = {one.key[2:4]: one for one in pogema.read_instances(real, instances_of, kind, agents=[32])}
    return instances, {(row["map"], row["seed"]): row for row in rows if row["algorithm"] == algorithm}


def sum_of_ways(instance):
    """The sum of the lengths of the agents' shortest paths, at least 1 each."""
    components, pairs = label_components(instance.walls), zip(instance.starts, instance.targets, strict=True)
    return sum(max(1, int(distances_to(components, cells[0].tolist())[tuple(start)])) for start, cells in pairs)


def count_arrivals(instance):
    """How many targets the agents reach within the steps, each on shortest paths, as if it were alone."""
    components, total, known = label_components(instance.walls), 0, {}
    for start, cells in zip(instance.starts.tolist(), instance.targets, strict=True):
        left, here = instance.steps, start
        for target in itertools.cycle(map(tuple, cells.tolist())):
            if target not in known:
                known[target] = distances_to(components, target)
            # A target that comes again is reached by a step of standing there.
            left -= max(1, int(known[target][tuple(here)]))
            if left < 0:
                break
            total, here = total + 1, target
    return total
