"""Play the instances of Random, Mazes and MovingAI with the networks of several trainings; agents decide alone.

`python docs/benchmark/play_trainings.py --data CLONE --work FOLDER TRAINING ...` plays with FOLDERs of
`python -m tools.pretraining`, continues after an interruption, and adds the rows to trainings.csv.gz, for the page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmark_learned import SCORED, TRAININGS
from benchmark_rows import pack, unpack

from benchmarks.pogema import read_instances
from benchmarks.pogema.playing import PolicySetup, Runner, Trial, blind
from benchmarks.pogema.rows import RowFile, key_of
from multigrid.policies._learned import Pretrained, load_weights


def name_training(folder: Path) -> str:
    """Return what rows call the training in a folder: what agents see, its seed and its number of rounds."""
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    return f"all-{settings['seed']}-{settings['rounds']}"


def main() -> None:
    """Play what has no row yet, and pack the rows."""
    parser = argparse.ArgumentParser(description="Play the instances of three sets with several trainings.")
    parser.add_argument("--data", type=Path, required=True, metavar="CLONE", help="a clone of the benchmark")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="keeps the rows")
    parser.add_argument("trainings", type=Path, nargs="+", metavar="TRAINING", help="a folder of a training")
    options = parser.parse_args()
    folders = {name_training(folder): folder for folder in options.trainings}

    def find(name: str) -> PolicySetup:
        weights = load_weights(folders[name] / "pretrained.npz")
        return PolicySetup(lambda seed: Pretrained(weights, seed=seed), blind)

    options.work.mkdir(parents=True, exist_ok=True)
    runner = Runner(find)
    with RowFile(options.work / "rows.csv") as file:
        others = [row for row in unpack(TRAININGS) if row["algorithm"] not in folders]
        rows = {key_of(row): row for row in [*others, *file.rows]}
        for name in folders:
            for instance in (one for part in SCORED for one in read_instances(options.data, part, "mapf")):
                trial = Trial(name, instance)
                if trial.key not in rows:
                    rows[trial.key] = runner(trial)
                    file.append(rows[trial.key])
    TRAININGS.write_bytes(pack(list(rows.values())))


if __name__ == "__main__":
    main()
