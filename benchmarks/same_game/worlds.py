"""Instances of the POGEMA benchmark, for this package and for POGEMA.

POGEMA gets the files' own maps, cells and rules, unchanged; PyYAML reads them, so that a mistake of the reader of this
package's instances makes a difference.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.planning.instances import SETS, DataError, Instance, Kind, read_instances

__all__ = ["SETS", "DataError", "Instance", "Kind", "World", "read_instances", "read_worlds"]

World: TypeAlias = dict[str, Any]
"""Arguments of POGEMA's GridConfig."""


# As YAML such a list takes fifty times as long to read as it does as JSON, which it is as well.
_CELLS = re.compile(r"(?<=_xy: )\[[\[\]\d,\s]*\]$", re.MULTILINE)


def read_worlds(clone: Path, kind: Kind, name: str) -> dict[str, World]:
    """Return the arguments of POGEMA's GridConfig for each instance of a set, by the instance's name.

    They have all agents of the instance, of which POGEMA takes the first ``num_agents``.

    Raises:
        DataError: there is no such set.
    """
    folders = sorted((clone / "algorithms" / "experiments").glob(f"[0-9][0-9]-{name}"))
    if len(folders) != 1:
        raise DataError(f"{clone} has {len(folders)} folders algorithms/experiments/??-{name}; expected one")
    maps, content = (_read_yaml(folders[0] / file) for file in ("maps.yaml", f"{folders[0].name}-{kind}.yaml"))
    rules = {key: content["environment"][key] for key in ("collision_system", "on_target", "max_episode_steps")}
    return {
        f"{scenario['map_name']} {scenario['seed']:03}": {
            **rules,
            "map": maps[scenario["map_name"]],
            "agents_xy": json.loads(scenario["agents_xy"]),
            "targets_xy": json.loads(scenario["targets_xy"]),
        }
        for scenario in content["scenarios"].values()
    }


def _read_yaml(file: Path) -> Any:
    import yaml  # type: ignore[import-untyped]

    text = _CELLS.sub(r"'\g<0>'", file.read_text(encoding="utf-8"))
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
