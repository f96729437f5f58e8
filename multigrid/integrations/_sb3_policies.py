"""Read the policy in the folder of a run of ``multigrid train``; no code in its files is run."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from multigrid._files import open_file
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.integrations.extras import missing_library
from multigrid.integrations.training import count_weights
from multigrid.scenarios._worlds import one_line

try:
    import torch
    from stable_baselines3 import PPO
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "train") from error

if TYPE_CHECKING:
    from stable_baselines3.common.policies import ActorCriticPolicy

_WEIGHTS = "policy.pth"


def read_policy(folder: Path, grid: GridConfig, hidden: tuple[int, ...], *, recurrent: bool) -> ActorCriticPolicy:
    """Return the policy of a training; only weights are read from model.zip, because a pickle can run any code.

    `grid`, `hidden` and `recurrent` are what the folder's config.json describes.
    """
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
    name = "MultiInputPolicy" if in_parts else "MlpPolicy"
    return PPO.policy_aliases[name], {"net_arch": list(hidden)}


def _load_weights(file: BinaryIO) -> dict[str, torch.Tensor]:
    """Return the state_dict of the policy."""
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
