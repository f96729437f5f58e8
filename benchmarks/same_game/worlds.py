"""Instances of the POGEMA benchmark, for this package and for POGEMA.

POGEMA gets the files' own maps, cells and rules, unchanged; PyYAML reads them, so that a mistake of the reader of this
package's instances makes a difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.planning.instances import SETS, DataError, Instance, Kind, read_instances

__all__ = ["SETS", "DataError", "Instance", "Kind", "World", "read_instances", "read_worlds"]

World: TypeAlias = dict[str, Any]
"""Arguments of POGEMA's GridConfig."""


def read_worlds(clone: Path, kind: Kind, name: str) -> dict[str, World]:
    """Return the arguments of POGEMA's GridConfig for each instance of a set, by the instance's name.

    They have all agents of the instance, of which POGEMA takes the first ``num_agents``.

    Raises:
        DataError: there is no such set.
    """
    import yaml  # type: ignore[import-untyped]

    folders = sorted((clone / "algorithms" / "experiments").glob(f"[0-9][0-9]-{name}"))
    if len(folders) != 1:
        raise DataError(f"{clone} has {len(folders)} folders algorithms/experiments/??-{name}; expected one")
    maps, content = (
        yaml.load((folders[0] / file).read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        for file in ("maps.yaml", f"{folders[0].name}-{kind}.yaml")
    )
    rules = {key: content["environment"][key] for key in ("collision_system", "on_target", "max_episode_steps")}
    return {
        f"{scenario['map_name']} {scenario['seed']:03}": {
            **rules,
            "map": maps[scenario["map_name"]],
            "agents_xy": scenario["agents_xy"],
            "targets_xy": scenario["targets_xy"],
        }
        for scenario in content["scenarios"].values()
    }
