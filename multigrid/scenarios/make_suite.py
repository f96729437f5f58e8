"""Write the suite of scenarios, the same bytes each time: ``python -m multigrid.scenarios.make_suite [FOLDER]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Outcome
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps import maze, random_map, rooms, warehouse
from multigrid.maps.text import ParsedMap
from multigrid.policies import shortest_path_policy
from multigrid.scenarios.planner import plan
from multigrid.scenarios.recording import RecordEpisode
from multigrid.scenarios.scenario import Scenario, save
from multigrid.scenarios.suite import FOLDER

__all__ = ["make_scenarios", "write"]

_KINDS: dict[str, Callable[[int, int, int], NDArray[np.bool_]]] = {
    "empty": lambda width, height, _seed: np.zeros((width, height), dtype=bool),
    "random": lambda width, height, seed: random_map(width, height, density=0.2, seed=seed),
    "maze": lambda width, height, seed: maze(width, height, seed=seed, loops=0.3),
    "rooms": lambda width, height, seed: rooms(width, height, room_size=3, seed=seed),
    "warehouse": lambda width, height, _seed: warehouse(width, height),
}
_SIZES = ((2, 9, 7), (4, 11, 9), (8, 17, 13), (16, 21, 17), (24, 25, 19), (32, 29, 23), (64, 41, 31))
_ATTEMPTS = 1000


def make_scenarios() -> Iterator[Scenario]:
    """Yield the scenarios of the suite, each with the episode of a plan that solves it."""
    for kind in _KINDS:
        for num_agents, width, height in _SIZES:
            yield _solve(kind, num_agents, width, height)
    yield _make_delivery()


def _solve(kind: str, num_agents: int, width: int, height: int) -> Scenario:
    """Try the layouts of seeds 0, 1, 2, ...; return the first one that `plan` solves, with the plan's episode."""
    for seed in range(_ATTEMPTS):
        walls = _KINDS[kind](width, height, seed)
        env = MultiGridEnv(GridConfig(walls=walls, num_agents=num_agents))
        env.reset(seed=seed)
        starts, targets = np.split(env.state(), 2, axis=1)
        config = GridConfig(
            walls=ParsedMap(walls, starts, targets),
            on_target="stay",
            observe=("agent", "target", "view", "action_mask"),
            view_radius=5,
            allow_stay=True,
        )
        actions = plan(config, seed)
        if actions is not None:
            recorder = RecordEpisode(MultiGridEnv(config))
            recorder.reset()
            for row in actions.tolist():
                recorder.step(dict(zip(config.agents, row, strict=True)))
            assert not recorder.agents
            return recorder.scenario(f"{kind}-{width}x{height}-{num_agents}")
    raise AssertionError(f"no plan for {num_agents} agents in {kind} was found in {_ATTEMPTS} layouts")


def _make_delivery() -> Scenario:
    """Return the task of ``multigrid train``, with an episode of shortest paths that solves it."""
    walls = warehouse(17, 13)
    for seed in range(_ATTEMPTS):
        env = MultiGridEnv(GridConfig(walls=walls, num_agents=8))
        env.reset(seed=seed)
        starts, targets = np.split(env.state(), 2, axis=1)
        config = GridConfig(
            walls=ParsedMap(walls, starts, targets),
            on_target="leave",
            observe=("agent", "target", "others", "offset", "view"),
            flatten=True,
            max_cycles=64,
        )
        env, policy = MultiGridEnv(config), shortest_path_policy(np.random.default_rng(seed))
        recorder = RecordEpisode(env)
        observations, _ = recorder.reset()
        blocked = False
        while recorder.agents:
            observations, *_, infos = recorder.step(policy(env, observations))
            blocked = blocked or any(info["outcome"] != Outcome.MOVED for info in infos.values())
        if not blocked:
            return recorder.scenario("delivery-17x13-8")
    raise AssertionError(f"shortest paths cross in each of {_ATTEMPTS} layouts")


def write(folder: Path) -> None:
    """Write the suite's files to a folder, which is created if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for scenario in make_scenarios():
        save(scenario, folder / f"{scenario.name}.json")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
