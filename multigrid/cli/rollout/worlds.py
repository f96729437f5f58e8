"""Where a rollout is played: a configuration, a scenario, scenarios of the suite; and who plays it."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import multigrid.scenarios as stored
from multigrid.cli.rolling.intervals import measured
from multigrid.cli.rollout.models import load_policy, read_trained
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy, random_policy, shortest_path_policy
from multigrid.rendering.episode import Episode
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios.watching import Watcher

__all__ = ["BUILT_IN", "Played", "Player", "World", "fitted", "play", "player", "suite_worlds", "trained_config"]

BUILT_IN: dict[str, Callable[[np.random.Generator], Policy]] = {
    "random": random_policy,
    "shortest-path": shortest_path_policy,
}
"""The policies that have a name."""

# Keeps the draws of a policy apart from those of the world, which has the episode's own seed.
_POLICY_STREAM = 2

Player = Callable[[int], Policy]
"""From an episode's seed to the policy that plays it."""


@dataclasses.dataclass(frozen=True)
class World:
    """Something to play episodes of."""

    name: str
    """What its files and its row of the table are called."""
    config: GridConfig
    """Its layout is the same in every episode if the walls are a picture with agents and targets."""


@dataclasses.dataclass(frozen=True)
class Played:
    """One episode that has been played."""

    seed: int
    """Of the world, and of the policy's draws."""
    steps: int
    """How many there were."""
    measures: dict[str, float]
    """As `multigrid.cli.rolling.intervals.measured`."""
    episode: Episode | None
    """What happened, if that was asked for."""
    recording: Scenario | None
    """To be played again, if that was asked for."""


def play(world: World, player: Player, seed: int, *, watched: bool = False, recorded: bool = False) -> Played:
    """Play one episode to its end.

    Args:
        world: whose configuration has a limit of steps.
        player: makes the policy.
        seed: of the reset and of the policy's draws: the same seed gives the same episode.
        watched: whether to return the episode as arrays.
        recorded: whether to return a recording.

    >>> told = play(World("pass", GridConfig(walls="a.A", max_cycles=9)), player("shortest-path"), seed=0)
    >>> told.steps, told.measures["success"]
    (2, 1.0)
    """
    env = MultiGridEnv(world.config)
    recorder = RecordEpisode(env) if recorded else None
    face: Any = env if recorder is None else recorder
    policy = player(seed)
    watcher = Watcher(env) if watched else None
    observations, _ = face.reset(seed=seed)
    if watcher is not None:
        watcher.note()
    steps = 0
    while env.agents:
        observations, *_ = face.step(policy(env, observations))
        steps += 1
        if watcher is not None:
            watcher.note()
    name = f"{world.name}-{seed}"
    return Played(
        seed=seed,
        steps=steps,
        measures=measured(env.metrics()),
        episode=None if watcher is None else watcher.episode(name),
        recording=None if recorder is None else recorder.scenario(name),
    )


def suite_worlds(patterns: Sequence[str]) -> list[World]:
    """Return the suite's scenarios of some names, all of them for no pattern.

    Args:
        patterns: parts of names; one with ``*``, ``?`` or ``[`` in it is for whole names, as in a shell.

    Raises:
        ValueError: there are none.

    >>> [world.name for world in suite_worlds(["maze-*-4", "empty-9"])]
    ['empty-9x7-2', 'maze-11x9-4']
    """
    wanted = [pattern if set(pattern) & set("*?[") else f"*{pattern}*" for pattern in patterns or ["*"]]
    chosen = [name for name in stored.names() if any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)]
    if not chosen:
        raise ValueError(f"--suite is {' '.join(patterns)}, but no name is like that; there are {stored.names()}")
    return [World(name, stored.get(name).config) for name in chosen]


def trained_config(folder: Path) -> GridConfig:
    """Return the world that a model was trained in.

    Args:
        folder: what ``multigrid train`` left.

    Raises:
        ValueError: it is not such a folder, or was left by other rules. The message names it.
    """
    _check_folder(folder)
    return read_trained(folder).grid


def _check_folder(folder: Path) -> None:
    if not (folder / "config.json").is_file() or not (folder / "model.zip").is_file():
        raise ValueError(
            f"--policy is {folder}, which has no config.json and model.zip in it; "
            f"expected {', '.join(BUILT_IN)} or the folder of a run of `multigrid train`"
        )


def fitted(world: World, trained: GridConfig) -> World:
    """Return a world that shows its agents what a model was trained to see; the rules stay as they are.

    Raises:
        ValueError: it has other actions, or what is seen is of another shape there.

    >>> seen = GridConfig(observe=("agent", "view"), view_radius=1)
    >>> fitted(World("wide", GridConfig(size=(9, 4), num_agents=5)), seen).config.parts
    ('agent', 'view')
    """
    config = dataclasses.replace(
        world.config, observe=trained.parts, view_radius=trained.view_radius, flatten=trained.flatten
    )
    if config.num_actions != trained.num_actions:
        raise ValueError(
            f"{world.name} has {config.num_actions} actions, but the model was trained with {trained.num_actions}; "
            "give both --allow-stay, or neither"
        )
    here, there = (_shapes(spaces.observation_space(one)) for one in (config, trained))
    if here != there:
        raise ValueError(
            f"an agent of {world.name} sees {here}, but the model was trained to see {there}; "
            "roll it out with as many agents as it was trained with, or train it with --observe agent target view"
        )
    return dataclasses.replace(world, config=config)


def _shapes(space: Any) -> dict[str, tuple[int, ...]]:
    return {name: part.shape for name, part in getattr(space, "spaces", {"": space}).items()}


def player(policy: str) -> Player:
    """Return who plays by a policy: one of `BUILT_IN`, or the folder of a trained model.

    Of that folder only weights are read; no code in it is run.

    Raises:
        ValueError: there is no such policy, or a file of the folder is not what ``multigrid train`` writes; the message
            names it.

    >>> player("clever")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: --policy is clever, which has no config.json and model.zip in it; expected random, shortest-path or ...
    """
    if policy in BUILT_IN:
        make = BUILT_IN[policy]
        return lambda seed: make(np.random.default_rng([seed, _POLICY_STREAM]))
    _check_folder(Path(policy))
    # Only a trained model needs torch, which takes seconds to import.
    import torch

    from multigrid.cli.train.held_out import drawn_policy

    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    model = load_policy(Path(policy))
    return lambda seed: drawn_policy(model, np.random.default_rng([seed, _POLICY_STREAM]))
