"""Instances of the POGEMA benchmark as POGEMA gets them: the files' own maps, cells and rules, unchanged.

The files are read here once more, so that a mistake of `benchmarks.pogema` makes a difference.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.pogema import Kind
from benchmarks.pogema.instances import DRAWN

World: TypeAlias = dict[str, Any]
"""Arguments of POGEMA's GridConfig."""


# As YAML such a list takes fifty times as long to read as it does as JSON, which it is as well.
_CELLS = re.compile(r"(?<=_xy: )\[[\[\]\d,\s]*\]$", re.MULTILINE)


def read_worlds(clone: Path, name: str, kind: Kind) -> dict[tuple[str, int], World]:
    """Return the arguments of POGEMA's GridConfig for each scenario of a set, by the names of its map and its seed.

    They have all agents of the scenario, of which POGEMA takes the first ``num_agents``. Those of sets that it draws
    have none: it draws them with the seed of the scenario.

    Args:
        clone: the folder of a clone of CognitiveAISystems/pogema-benchmark, or of files of the same form.
        name: the set, one of `benchmarks.pogema.SETS`.
        kind: "mapf" or "lmapf".
    """
    (folder,) = (clone / "algorithms" / "experiments").glob(f"[0-9][0-9]-{name.partition('-')[0]}")
    maps, content = (_read_yaml(folder / file) for file in ("maps.yaml", f"{folder.name}-{kind}.yaml"))
    rules = {key: content["environment"][key] for key in ("collision_system", "on_target", "max_episode_steps")}
    if name in DRAWN:
        pairs = itertools.product(maps, range(DRAWN[name]))
        return {(map_name, seed): {**rules, "map": maps[map_name], "seed": seed} for map_name, seed in pairs}
    return {
        (scenario["map_name"], scenario["seed"]): {
            **rules,
            "map": maps[scenario["map_name"]],
            "agents_xy": json.loads(scenario["agents_xy"]),
            "targets_xy": json.loads(scenario["targets_xy"]),
        }
        for scenario in content["scenarios"].values()
    }


def _read_yaml(file: Path) -> Any:
    import yaml

    text = _CELLS.sub(r"'\g<0>'", file.read_text(encoding="utf-8"))
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
