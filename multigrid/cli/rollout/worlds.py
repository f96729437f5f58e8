"""Find the configurations that episodes are played in: grids, a scenario, or scenarios of the suite."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import multigrid.scenarios as stored
from multigrid.cli.rollout.options import EpisodeOptions
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.policies import BUILT_IN, COORDINATED, trained_config
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.planning.batch import check_rules
from multigrid.scenarios.suite import find_scenario, name_nearest

# A letter takes up to four bytes, and a file's name up to 255.
_MOST_LETTERS = 48

__all__ = ["find_worlds", "fit_world", "let_wait", "match_observations", "name_grid", "suite_worlds"]


def find_worlds(options: EpisodeOptions) -> list[NamedConfig]:
    """Return the configurations to play.

    Raises:
        ValueError: there is no such scenario, or a world has no limit of steps.
        OSError: the scenario cannot be read.
    """
    if options.scenario is not None:
        scenario = find_scenario(options.scenario)
        worlds = [NamedConfig(_file_name(scenario.name), scenario.config)]
    elif options.suite is not None:
        worlds = suite_worlds(options.suite)
    elif options.num_agents_sweep:
        numbers = sorted(set(options.num_agents_sweep))
        configs = [dataclasses.replace(options.grid, num_agents=number) for number in numbers]
        worlds = [NamedConfig(name_grid(options.map, config), config) for config in configs]
    else:
        worlds = [NamedConfig(name_grid(options.map, options.grid), options.grid)]
    for world in worlds:
        if world.config.max_cycles is None:
            raise ValueError(f"max_cycles of {world.name} is None, but episodes are played to their end; set a limit")
    return worlds


def fit_world(world: NamedConfig, policy: str) -> NamedConfig:
    """Return a configuration with the observations that a policy needs, see `match_observations`.

    Args:
        world: the configuration.
        policy: the name of a built-in policy, for which the world stays as it is, or the folder of a trained model.

    Raises:
        ValueError: the model does not fit the world, or the policy lets agents wait that cannot stay.
    """
    if policy in COORDINATED and _lacks_stay(world.config):
        raise ValueError(
            f"{policy} lets agents wait for one another, but those of {world.name} cannot stay; add --allow-stay, or "
            "name a scenario with allow_stay=True"
        )
    return world if policy in BUILT_IN else match_observations(world, trained_config(Path(policy)))


def let_wait(world: NamedConfig, policies: Iterable[str]) -> NamedConfig:
    """Return a configuration with the action stay if one of the policies needs it: a planner, or a trained model."""
    waits = [name for name in policies if name in (*COORDINATED, "lacam")]
    is_needed = bool(waits) and _lacks_stay(world.config)
    is_needed |= any(trained_config(Path(name)).allow_stay for name in policies if name not in BUILT_IN)
    return dataclasses.replace(world, config=dataclasses.replace(world.config, allow_stay=True)) if is_needed else world


def _lacks_stay(config: GridConfig) -> bool:
    """Return whether planners support the rules of a configuration but for `allow_stay`."""
    can_stay = dataclasses.replace(config, allow_stay=True)
    return not config.allow_stay and _is_supported(can_stay) and not _is_supported(config)


def _is_supported(config: GridConfig) -> bool:
    try:
        check_rules(config)
    except ValueError:
        return False
    return True


def name_grid(maps: Sequence[str], config: GridConfig) -> str:
    """Return KIND-WIDTHxHEIGHT-AGENTS; the kind is the name in the description of a single map.

    >>> name_grid(["yards/north.txt"], GridConfig(walls="..#...", num_agents=1))
    'north-6x1-1'
    """
    kind = "grid" if config.maps is None else "map" if config.num_maps == 1 else "maps"
    if len(maps) == 1:
        # A scenario of the suite may be played with another number of agents.
        kind = re.sub(r"-\d+x\d+-\d+$", "", _file_name(Path(maps[0].partition(":")[0]).stem))
    return f"{kind}-{config.width}x{config.height}-{config.num_agents}"


def _file_name(name: str) -> str:
    """Replace characters that are not allowed in file names, and shorten a name that would be too long with others."""
    letters = (letter if letter.isalnum() or letter in "-_." else "-" for letter in name[:_MOST_LETTERS])
    return "".join(letters).strip(".") or "scenario"


def suite_worlds(patterns: Sequence[str]) -> list[NamedConfig]:
    """Return the scenarios of the suite whose names match a pattern, or all of them for no pattern.

    Args:
        patterns: parts of names. A pattern that contains ``*``, ``?`` or ``[`` must match a whole name, as in a shell.

    Raises:
        ValueError: no name matches.

    >>> [world.name for world in suite_worlds(["maze-*-4", "empty-9"])]
    ['empty-9x7-2', 'maze-11x9-4']
    """
    globs = [pattern if set(pattern) & set("*?[") else f"*{pattern}*" for pattern in patterns or ["*"]]
    names = [name for name in stored.names() if any(fnmatch.fnmatchcase(name, pattern) for pattern in globs)]
    if not names:
        wrong = " ".join(patterns)
        raise ValueError(f"--suite is {wrong}, but no name is like that; {name_nearest(wrong)}")
    return [NamedConfig(name, stored.get(name).config) for name in names]


def match_observations(world: NamedConfig, trained: GridConfig) -> NamedConfig:
    """Return a configuration with the observations and the actions of a trained model, and with its own rules.

    A model that was trained without the action stay plays without it, also where others have it: a seed gives the same
    layout, and the same actions lead to the same episode.

    Raises:
        ValueError: the model was trained with the action stay, which the world lacks; or the shape of an observation
            differs from the model's.

    >>> trained = GridConfig(observe=("agent", "view"), view_radius=1)
    >>> match_observations(NamedConfig("wide", GridConfig(size=(9, 4), num_agents=5)), trained).config.parts
    ('agent', 'view')
    """
    config = dataclasses.replace(
        world.config, observe=trained.parts, view_radius=trained.view_radius, flatten=trained.flatten
    )
    if trained.allow_stay and not config.allow_stay:
        raise ValueError(f"the model was trained to stay, but agents of {world.name} cannot; add --allow-stay")
    config = dataclasses.replace(config, allow_stay=trained.allow_stay)
    here, there = (_shapes(spaces.observation_space(one)) for one in (config, trained))
    if here != there:
        raise ValueError(
            f"an agent of {world.name} sees {here}, but the model was trained to see {there}; "
            "roll it out with as many agents as it was trained with, or train it with --observe agent target view"
        )
    return dataclasses.replace(world, config=config)


def _shapes(space: Any) -> dict[str, tuple[int, ...]]:
    return {name: part.shape for name, part in getattr(space, "spaces", {"": space}).items()}
