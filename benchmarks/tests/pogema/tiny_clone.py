"""A folder of the form of a clone of the POGEMA benchmark: a set of two puzzles, "bay" and "hall"."""

import hashlib
import json

from benchmarks.pogema import clone as clones
from benchmarks.pogema.rows import COLUMNS
from multigrid.core.rules import RULES_VERSION

EXPERIMENTS = "algorithms/experiments/05-puzzles"

MAPS = """"bay": |-
  ....#
  .#$!.
  @@&.#
"hall": |-
  ......
  .#....
"""

# Cells are [row, column]; a list may be broken wherever there is a space. All can take shortest paths at once: the
# agents of bay walk 2, 1, 0 and 0 cells.
MAPF = """algorithms:
  LaCAM:
    name: LaCAM
environment:
  collision_system: soft
  max_episode_steps: 40
  on_target: nothing
scenarios:
  Scenario-2:
    agents_xy: [[0, 5], [0, 0], [1, 3], [1, 4]]
    map_name: hall
    seed: 1
    targets_xy: [[1, 5], [1, 0], [0, 3], [
        0, 4]]
  Scenario-1:
    agents_xy: [[0, 0], [2, 1],
      [1, 4], [0, 3]]
    map_name: bay
    seed: 0
    targets_xy: [[0, 2], [2, 3], [1, 2], [0, 3]]
"""

# The first agent walks 3, 1 and 3 cells, and then 2, 1 and 3. Of a target that comes twice in turn there is one.
LMAPF = """environment:
  collision_system: soft
  max_episode_steps: 10
  on_target: restart
scenarios:
  Scenario-0:
    agents_xy: [[0, 1], [0, 0], [0, 5], [1, 5]]
    map_name: hall
    seed: 0
    targets_xy: [[[0, 4], [1, 4], [1, 4], [0, 2]], [[0, 1]], [[1, 2], [0,
        0]], [[1, 2]]]
"""


def result(algorithm, agents, metrics, **names):
    """A published result."""
    grid = {"num_agents": agents, **names}
    return {"metrics": metrics, "env_grid_search": grid, "algorithm": algorithm.removesuffix("-tuned")}


def list_results():
    """The published results, by file."""
    solved = {"CSR": 1.0, "ISR": 1.0, "SoC": 30.0, "makespan": 9, "ep_length": 8, "runtime": 0.5}
    lost = {**solved, "CSR": 0.0, "ISR": 0.5, "SoC": 80.0, "makespan": 40}
    names = [("bay", 0), ("hall", 1)]
    lacam = [result("LaCAM", agents, solved, map_name=name, seed=seed) for agents in (2, 3, 4) for name, seed in names]
    lacam[0]["metrics"] = lost
    other = {**solved, "SoC": 29.0, "a_collisions": 3, "o_collisions": 1}
    return {
        "raw_data_MAPF/05-puzzles/LaCAM.json": lacam,
        "raw_data_MAPF/05-puzzles/Other-tuned.json": [result("Other-tuned", 2, other, map_name="bay", seed=0)],
        "raw_data_LMAPF/05-puzzles/RHCR.json": [result("RHCR", 2, {"avg_throughput": 0.25, "runtime": 2.0})],
    }


def made_row(seed=0, algorithm="pibt", **values):
    """A row that was not played."""
    row = {**dict.fromkeys(COLUMNS), "kind": "mapf", "set": "puzzles", "map": "bay, east", "seed": seed, "agents": 2}
    row |= {"algorithm": algorithm, "status": "played", "csr": 1.0, "isr": 0.5, "sum_of_costs": 1 / 3, "steps": 2.0}
    return row | {"time_limit": 0.0, "multigrid": "1", "rules": RULES_VERSION, "python": "3", "numba": ""} | values


def write_clone(folder):
    """Write all files of the clone, and return the folder."""
    files = {
        f"{EXPERIMENTS}/maps.yaml": MAPS,
        f"{EXPERIMENTS}/05-puzzles-mapf.yaml": MAPF,
        f"{EXPERIMENTS}/05-puzzles-lmapf.yaml": LMAPF,
        **{path: json.dumps(rows) for path, rows in list_results().items()},
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return folder


def sums_of(clone):
    """The SHA-256 sum of each file, by path."""
    files = [file for file in clone.rglob("*") if file.is_file()]
    return {file.relative_to(clone).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def trust(clone, monkeypatch):
    """Let the files have the known sums, as they are now."""
    sums = sums_of(clone)
    monkeypatch.setattr(clones, "known_sums", lambda: sums)
