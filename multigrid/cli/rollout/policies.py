"""The policies of ``multigrid rollout``: built-in policies and trained models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multigrid._checks import find_nearest
from multigrid.cli.rollout.models import load_policy, read_training
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.integrations.training import sample_rows
from multigrid.policies import Policy
from multigrid.policies.learned import POLICY_STREAM
from multigrid.policies.named import BUILT_IN, PolicyFactory, built_in_factory

if TYPE_CHECKING:
    from stable_baselines3.common.policies import ActorCriticPolicy

__all__ = [
    "BUILT_IN",
    "COORDINATED",
    "RUN_FILES",
    "PolicyFactory",
    "act",
    "make_policy",
    "make_policy_factory",
    "trained_config",
]


COORDINATED = ("pibt", "windowed", "pretrained-shield")
"""Those whose agents have to wait for one another, whatever the layout."""

RUN_FILES = ("config.json", "model.zip")
"""The files of a trained model that are read."""


def trained_config(folder: Path) -> GridConfig:
    """Return the configuration that a model was trained in.

    Raises:
        ValueError: ``multigrid train`` did not write the folder, or wrote it under other rules.
    """
    _check_folder(folder)
    return read_training(folder).grid


def _check_folder(folder: Path) -> None:
    if missing := [name for name in RUN_FILES if not (folder / name).is_file()]:
        meant = None if folder.exists() else find_nearest(str(folder), BUILT_IN, 0.6)
        if meant is not None:
            raise ValueError(
                f"policy is {folder} (did you mean {meant}?), and there is no such folder; expected "
                f"{', '.join(BUILT_IN)} or the folder of a run of `multigrid train`"
            )
        raise ValueError(
            f"policy is {folder}, which has no {' and no '.join(missing)} in it; expected {', '.join(BUILT_IN)} or "
            "the folder of a run of `multigrid train` that has ended, of its default engine"
        )


def make_policy_factory(policy: str) -> PolicyFactory:
    """Return the factory of a built-in policy or of a trained model.

    Args:
        policy: a name in `BUILT_IN`, or the folder of a trained model. Of the folder only the configuration and the
            weights are read; no code in it is run.

    Raises:
        ValueError: there is no such policy, or a file of the folder is malformed; the message names it.

    >>> make_policy_factory("clever")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: policy is clever, which has no config.json and no model.zip in it; expected random, ...
    """
    if policy in BUILT_IN:
        return built_in_factory(policy)
    _check_folder(Path(policy))
    # Only a trained model needs torch, which takes seconds to import.
    import torch

    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    network = load_policy(Path(policy))
    return lambda seed: make_policy(network, np.random.default_rng([seed, POLICY_STREAM]))


def act(network: ActorCriticPolicy, observations: Any, generator: np.random.Generator) -> list[int]:
    """Sample an action from a trained network for each of K observations, of one or more worlds.

    The observations are an array (K, ...), or a dict of such arrays.
    """
    import torch

    with torch.no_grad():
        tensors, _ = network.obs_to_tensor(observations)
        categorical: Any = network.get_distribution(tensors).distribution
        return sample_rows(categorical.probs.double().numpy(), generator)


def make_policy(network: ActorCriticPolicy, generator: np.random.Generator) -> Policy:
    """Return a policy whose agents sample their actions from a trained network."""

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        # `observations` also has those of agents that have just left.
        rows = [observations[agent] for agent in env.agents]
        keys = env.config.observation_keys
        stacked: Any = {key: np.stack([row[key] for row in rows]) for key in keys} if keys else np.stack(rows)
        return dict(zip(env.agents, act(network, stacked, generator), strict=True))

    return choose
