"""Write the episodes of a rollout as a dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager

from multigrid.cli._files import check_writable
from multigrid.cli.rollout.options import RolloutOptions
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.policies import BUILT_IN
from multigrid.datasets.recipe import find_spec, recipe_of_episodes
from multigrid.datasets.writer import DatasetWriter, find_folder, open_writer
from multigrid.envs import spaces
from multigrid.wrappers import standard_config

__all__ = ["fit_dataset", "open_dataset"]


def fit_dataset(worlds: Sequence[NamedConfig], policy: str) -> list[NamedConfig]:
    """Return the single world of a dataset, with the observations to record.

    They are of the standard form, but a single agent's are those of ``multigrid/GridWorld-v0`` where it has these
    rules, and a trained model's are its own.

    Raises:
        ValueError: there are several worlds.
    """
    if len(worlds) != 1:
        names = ", ".join(world.name for world in worlds[:3]) + ", ..." * (len(worlds) > 3)
        raise ValueError(f"--dataset holds the episodes of one world, but there are {len(worlds)}: {names}; name one")
    (world,) = worlds
    if policy not in BUILT_IN or find_spec(world.config) is not None:
        return [world]
    return [dataclasses.replace(world, config=standard_config(world.config))]


def open_dataset(world: NamedConfig, options: RolloutOptions) -> AbstractContextManager[DatasetWriter]:
    """Return a writer of the episodes of a world, as `multigrid.datasets.writer.open_writer` does."""
    config = world.config
    recipe = recipe_of_episodes(config, options.policy, options.seed, options.episodes)
    assert options.dataset is not None
    check_writable("--dataset", find_folder(options.dataset))
    pair = spaces.observation_space(config), spaces.action_space(config)
    return open_writer(options.dataset, recipe, pair, f"{world.name}, played by {options.policy}")
