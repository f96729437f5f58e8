"""The policies that commands play: built-in ones, and trained models, of whose files no code is run."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from multigrid._checks import find_nearest
from multigrid._files import open_file
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.envs.parallel import MultiGridEnv
from multigrid.game import Game
from multigrid.integrations.training import check_hidden, count_weights
from multigrid.policies import Policy
from multigrid.policies._baselines import BUILT_IN, PolicyFactory, built_in_factory
from multigrid.policies._learned import POLICY_STREAM
from multigrid.scenarios._worlds import make_grid, one_line, read_config

if TYPE_CHECKING:
    import torch
    from stable_baselines3.common.policies import ActorCriticPolicy

_WEIGHTS = "policy.pth"


def read_training(folder: Path, game: type[Game] | None = None) -> tuple[GridConfig, tuple[int, ...], bool]:
    """Return what config.json says of a trained model: its world, its hidden layers, and whether it is recurrent."""

    def convert(stored: dict[str, Any]) -> tuple[GridConfig, tuple[int, ...], bool]:
        recurrent = stored["recurrent"]
        if type(recurrent) is not bool:
            raise TypeError(f"recurrent is {recurrent!r}; expected true or false")
        return make_grid(stored["grid"], game), check_hidden(stored["hidden"], recurrent=recurrent), recurrent

    return read_config(folder, convert)


def load_policy(folder: Path, game: type[Game] | None = None) -> ActorCriticPolicy:
    """Return the policy of a training; only weights are read from model.zip, because a pickle can run any code."""
    import torch

    grid, hidden, recurrent = read_training(folder, game)
    path, config_path = folder / "model.zip", folder / "config.json"
    try:
        with open_file(path) as file:
            weights = _load_weights(file)
            space = json.loads(_open_stored(file).read("data"))["observation_space"]
            # The observed parts in training; none for a model of one vector.
            parts = frozenset(re.findall(r"'(\w+)':", space.get("spaces", "")))
    except Exception as error:
        # zipfile, zlib and torch raise a dozen kinds of errors for malformed bytes.
        raise ValueError(
            f"{path} is not what `multigrid train` writes: {type(error).__name__}: {one_line(error)}; "
            f"expected weights of float32 in {_WEIGHTS}; nothing in it was run"
        ) from error
    # Checked before the network is built, so that a small file cannot describe a huge network.
    num_expected = count_weights(grid, hidden, recurrent=recurrent)
    num_stored = sum(tensor.numel() for tensor in weights.values())
    if num_stored != num_expected:
        raise ValueError(
            f"{path} holds {num_stored} weights, but the network that {config_path} describes has {num_expected}; "
            "expected the two files of one training"
        )
    # Different parts of equal size need equally many weights.
    described = frozenset(grid.observation_keys)
    if parts != described:
        then, now = (" ".join(sorted(names)) or "one vector" for names in (parts, described))
        raise ValueError(
            f"{path} was trained to see {then[:200]}, but {config_path} describes {now}; "
            "expected the two files of one training"
        )
    kind, layers = find_network(hidden, in_parts=bool(grid.observation_keys), recurrent=recurrent)
    shapes = spaces.observation_space(grid), spaces.action_space(grid)
    with torch.random.fork_rng(devices=[]):  # initial weights are random; keep the global generator's state
        policy: ActorCriticPolicy = kind(*shapes, lambda _: 0.0, ortho_init=False, **layers)
    try:
        policy.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(
            f"{path} has other weights than {config_path} describes: {one_line(error)}; "
            "expected the two files of one training"
        ) from error
    policy.set_training_mode(False)
    if not all(np.isfinite(tensor.numpy()).all() for tensor in policy.state_dict().values()):
        raise ValueError(f"{path} holds weights that are NaN or infinite; expected finite ones: train anew")
    return policy


def find_network(hidden: tuple[int, ...], *, in_parts: bool, recurrent: bool) -> tuple[Any, dict[str, Any]]:
    """Return the class of a policy of Stable-Baselines3 or, if it is recurrent, sb3-contrib, and its layers."""
    if recurrent:
        from sb3_contrib import RecurrentPPO

        name, layers = "MultiInputLstmPolicy" if in_parts else "MlpLstmPolicy", list(hidden[1:])
        return RecurrentPPO.policy_aliases[name], {"lstm_hidden_size": hidden[0], "net_arch": layers}
    from stable_baselines3 import PPO

    name = "MultiInputPolicy" if in_parts else "MlpPolicy"
    return PPO.policy_aliases[name], {"net_arch": list(hidden)}


def _load_weights(file: BinaryIO) -> dict[str, torch.Tensor]:
    """Return the state_dict of the policy."""
    import torch

    content = _open_stored(file).read(_WEIGHTS)
    # On an unknown name in a pickle, torch.load searches its own message in time that grows with the name's square.
    if any(
        one.filename.endswith(".pkl") and one.file_size > 2**15 for one in _open_stored(io.BytesIO(content)).infolist()
    ):
        raise ValueError(f"{_WEIGHTS} holds a pickle of more than {2**15} bytes")
    # torch.load also reads older formats, which are not zip files; in these it does not limit itself to weights.
    if content[:4] != b"PK\x03\x04":
        raise ValueError(f"{_WEIGHTS} does not begin as a zip file does")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd pickles; no code in them is run
        weights = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(weights, dict):
        raise TypeError(f"{_WEIGHTS} holds a {type(weights).__name__}")
    for name, tensor in weights.items():
        if type(name) is not str or type(tensor) is not torch.Tensor:
            raise TypeError(f"{_WEIGHTS} holds {name!r} of type {type(tensor).__name__}")
        if tensor.dtype != torch.float32 or tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise TypeError(f"{_WEIGHTS} holds {name!r} as {tensor.dtype}, {tensor.layout}, {tensor.device}")
    # Tensors can share memory, and the elements of one tensor can, too (a stride of 0).
    if 4 * sum(tensor.numel() for tensor in weights.values()) > len(content):
        raise ValueError(f"{_WEIGHTS} holds more weights than it has bytes for")
    return weights


def _open_stored(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip archive; raise a ValueError if an entry is compressed, so that no entry is larger than the file."""
    archive = zipfile.ZipFile(file)
    for entry in archive.infolist():
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ValueError(f"{entry.filename!r} is compressed")
    return archive


def trained_config(folder: Path, game: type[Game] | None = None) -> GridConfig:
    """Return the configuration that a model was trained in."""
    _check_folder(folder)
    return read_training(folder, game)[0]


def _check_folder(folder: Path) -> None:
    missing = [name for name in ("config.json", "model.zip") if not (folder / name).is_file()]
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
    _check_folder(Path(policy))
    # Only a trained model needs torch, which takes seconds to import.
    import torch

    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    network = load_policy(Path(policy), game)
    return lambda seed: make_policy(network, np.random.default_rng([seed, POLICY_STREAM]))


def make_policy(network: ActorCriticPolicy, generator: np.random.Generator) -> Policy:
    """Return a policy whose agents sample their actions from a trained network, which may remember the episode."""
    from multigrid.integrations.sb3 import Actor

    known: tuple[Any, int, Any] = None, 0, None

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        nonlocal known
        episode, _ = env._moment()  # noqa: SLF001 - the same package
        if known[0] is not env or known[1] != episode:
            known = env, episode, Actor(network, len(env.possible_agents))
        # `observations` also has those of agents that have just left.
        rows = [observations[agent] for agent in env.agents]
        keys = env.config.observation_keys
        stacked: Any = {key: np.stack([row[key] for row in rows]) for key in keys} if keys else np.stack(rows)
        numbers = [env.possible_agents.index(agent) for agent in env.agents]
        return dict(zip(env.agents, known[2](stacked, numbers, generator), strict=True))

    return choose


def match_observations(name: str, world: GridConfig, trained: GridConfig) -> GridConfig:
    """Return a world with the observations and the actions of a trained model, and with its own rules.

    A model that was trained without the action stay plays without it. The layouts and the other moves are the same.
    """
    config = dataclasses.replace(world, observe=trained.parts, view_radius=trained.view_radius, flatten=trained.flatten)
    if trained.allow_stay and not config.allow_stay:
        raise ValueError(f"the model was trained to stay, but agents of {name} cannot; add --allow-stay")
    config = dataclasses.replace(config, allow_stay=trained.allow_stay)
    both: list[Any] = [spaces.observation_space(one) for one in (config, trained)]
    here, there = ({name: part.shape for name, part in getattr(space, "spaces", {"": space}).items()} for space in both)
    if here != there:
        raise ValueError(
            f"an agent of {name} sees {here}, but the model was trained to see {there}; "
            "roll it out with as many agents as it was trained with, or train it with --observe agent target view"
        )
    return config
