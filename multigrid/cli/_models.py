"""The policies that commands play: built-in ones, and trained models, of whose files no code is run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from multigrid._checks import find_nearest
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.game import Game
from multigrid.policies import load
from multigrid.policies._baselines import BUILT_IN, PolicyFactory, built_in_factory
from multigrid.policies._pools import POOL_FILE, read_pool
from multigrid.policies._trained import Trained, list_shapes, read_training


def trained_config(folder: Path, game: type[Game] | None = None) -> GridConfig:
    """Return the configuration that a model, or those of a pool, were trained in."""
    if is_pool(folder):
        return read_pool(folder, game=game).config
    _check_folder(folder)
    return read_training(folder, game)[0]


def is_pool(folder: Path) -> bool:
    """Return whether a folder has a pool of policies."""
    return (folder / POOL_FILE).is_file()


def has_models(folder: Path) -> bool:
    """Return whether a folder has a pool, or the model of a run that has ended."""
    return is_pool(folder) or not _list_missing(folder)


def _list_missing(folder: Path) -> list[str]:
    return [name for name in ("config.json", "model.zip") if not (folder / name).is_file()]


def _check_folder(folder: Path) -> None:
    missing = _list_missing(folder)
    meant = None if folder.exists() else find_nearest(str(folder), BUILT_IN, 0.6)
    if meant is not None:
        raise ValueError(
            f"policy is {folder} (did you mean {meant}?), and there is no such folder; expected "
            f"{', '.join(BUILT_IN)} or the folder of a run of `multigrid train`"
        )
    if missing:
        raise ValueError(
            f"policy is {folder}, which has no {' and no '.join(missing)} in it; expected {', '.join(BUILT_IN)} or "
            f"the folder of a run of `multigrid train` that has ended"
        )


def make_policy_factory(policy: str, game: type[Game] | None = None) -> PolicyFactory:
    """Return the factory of a built-in policy, or of a model that was trained in a game or without one."""
    if policy in BUILT_IN:
        return built_in_factory(policy)
    if is_pool(Path(policy)):
        raise ValueError(f"policy is {policy}, a pool of several; it can be used with multigrid evaluate --cross-play")
    (model,) = load_models(policy, game)
    return model.seeded


def load_models(folder: str, game: type[Game] | None = None) -> list[Trained]:
    """Return the model of a run, or those of a pool, that were trained in a game or without one."""
    if is_pool(Path(folder)):
        return list(read_pool(folder, game=game).values())
    _check_folder(Path(folder))
    # Only the model of a run needs torch, which takes seconds to import.
    import torch

    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    return [load(folder, game=game)]


def match_observations(name: str, world: GridConfig, trained: GridConfig) -> GridConfig:
    """Return a world with the observations and the actions of a trained model, and with its own rules.

    A model that was trained without the action stay plays without it. The layouts and the other moves are the same.
    """
    # A game's own observations, or one part alone, are what was given, not the parts.
    observe: Any = trained.given["observe"] if trained.game is not None else trained.observe
    config = dataclasses.replace(world, observe=observe, view_radius=trained.view_radius, flatten=trained.flatten)
    if trained.allow_stay and not config.allow_stay:
        raise ValueError(f"the model was trained to stay, but agents of {name} cannot; add --allow-stay")
    config = dataclasses.replace(config, allow_stay=trained.allow_stay)
    here, there = (list_shapes(spaces.observation_space(one)) for one in (config, trained))
    if here != there:
        raise ValueError(
            f"an agent of {name} sees {here}, but the model was trained to see {there}; "
            "use as many agents as it was trained with, or train it with --observe agent target view"
        )
    return config
