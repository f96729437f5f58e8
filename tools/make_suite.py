"""Write the suite of scenarios, the same bytes each time: ``python -m tools.make_suite [FOLDER]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multigrid._files import replace_file
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps import maze, random_map, rooms, warehouse
from multigrid.maps._text import ParsedMap
from multigrid.planning import Plan
from multigrid.planning._solver import compute_plan
from multigrid.scenarios._recording import RecordEpisode
from multigrid.scenarios._scenario import Scenario, save
from multigrid.scenarios._suite import BOUNDS, FOLDER

_KINDS: dict[str, Callable[[int, int, int], NDArray[np.bool_]]] = {
    "empty": lambda width, height, _seed: np.zeros((width, height), dtype=bool),
    "random": lambda width, height, seed: random_map(width, height, density=0.2, seed=seed),
    "maze": lambda width, height, seed: maze(width, height, seed=seed, loops=0.3),
    "rooms": lambda width, height, seed: rooms(width, height, room_size=3, seed=seed),
    "warehouse": lambda width, height, _seed: warehouse(width, height),
}
_SIZES = ((2, 9, 7), (4, 11, 9), (8, 17, 13), (16, 21, 17), (24, 25, 19), (32, 29, 23), (64, 41, 31))
_DELIVERY = "delivery-17x13-8"
# Data, and not the result of a search, so that a name stands for the same layout whatever the planners find.
_SEEDS = {
    "maze-17x13-8": 1,
    "maze-25x19-24": 1,
    "maze-29x23-32": 5,
    "warehouse-25x19-24": 1,
    "warehouse-41x31-64": 1,
}
_NODES, _CONFIGURATIONS, _TRIES = 15_000, 100_000, 3
"""The expansions of conflict-based search, and of LaCAM* for each seed; the number of these seeds."""


def make_scenario(name: str) -> tuple[Scenario, int]:
    """Return the scenario of the suite with this name, made anew, and a sum of costs that no plan is below.

    Args:
        name: KIND-WIDTHxHEIGHT-AGENTS.

    >>> _, lower_bound = make_scenario("empty-9x7-2")
    >>> lower_bound
    8
    """
    config = _make_config(name)
    plan, lower_bound = find_plan(config, _NODES, _CONFIGURATIONS)
    assert plan.actions is not None
    recorder = RecordEpisode(MultiGridEnv(config))
    recorder.reset()
    for actions in plan.actions.tolist():
        recorder.step(dict(zip(config.agents, actions, strict=True)))
    assert not recorder.agents
    return recorder.scenario(name), lower_bound


def find_plan(config: GridConfig, nodes: int, configurations: int) -> tuple[Plan, int]:
    """Return the best plan that is found, and a sum of costs that no plan is below.

    Conflict-based search comes first; if it proves no optimum, LaCAM* searches with some seeds. All are bound by
    expansions, so that the plan is the same on every machine.

    Args:
        config: its walls are one map with agents and targets.
        nodes: the expansions of conflict-based search.
        configurations: the expansions of LaCAM* with each seed.

    Raises:
        ValueError: no plan was found.
    """
    plans = [compute_plan(config, "cbs", None, 0, nodes)]
    if plans[0].status != "optimal":
        plans += [compute_plan(config, "lacam", None, seed, configurations) for seed in range(_TRIES)]
    lower_bound = max(plan.lower_bound for plan in plans)
    complete = [plan for plan in plans if plan.sum_of_costs is not None]
    if not complete:
        raise ValueError(f"no plan was found, the layout has perhaps none: {', '.join(map(repr, plans))}")
    return min(complete, key=lambda plan: plan.sum_of_costs or 0), lower_bound


def _make_config(name: str) -> GridConfig:
    kind, size, count = name.split("-")
    width, height = map(int, size.split("x"))
    is_delivery = name == _DELIVERY
    seed = _SEEDS.get(name, 0)
    walls = _KINDS["warehouse" if is_delivery else kind](width, height, seed)
    env = MultiGridEnv(GridConfig(walls=walls, num_agents=int(count)))
    env.reset(seed=seed)
    layout = ParsedMap(walls, *np.split(env.state(), 2, axis=1))
    if is_delivery:
        return GridConfig(
            walls=layout,
            on_target="leave",
            observe=("agent", "target", "others", "offset", "view"),
            flatten=True,
            max_cycles=64,
        )
    return GridConfig(
        walls=layout,
        on_target="stay",
        observe=("agent", "target", "view", "action_mask"),
        view_radius=5,
        allow_stay=True,
    )


def write(folder: Path) -> None:
    """Write the suite's files to a folder, which is created if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds = {}
    names = [f"{kind}-{width}x{height}-{num_agents}" for kind in _KINDS for num_agents, width, height in _SIZES]
    for scenario, lower_bound in map(make_scenario, [*names, _DELIVERY]):
        save(scenario, folder / f"{scenario.name}.json")
        bounds[scenario.name] = lower_bound
    with replace_file(folder / BOUNDS) as temporary:
        temporary.write_text(json.dumps(bounds, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
