"""What a checkpoint of a training with Stable-Baselines3 contains, so that the training continues bit for bit.

It is the state between two rollouts: weights, optimizer, random generators, worlds, last observations, and the curve so
far. Worlds of SuperSuit, which have no such states, begin new episodes.
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from multigrid._files import open_file, read_bytes, replace_file
from multigrid.cli._files import write_json
from multigrid.cli._train_runs import Curve, read_arrays, write_arrays
from multigrid.integrations.sb3 import MultiGridVecEnv
from multigrid.scenarios._stored_config import one_line

if TYPE_CHECKING:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv

VERSION = 2
"""The version of the form, incremented when it changes."""

_TENSORS, _ARRAYS, _NUMBERS = "tensors.pth", "arrays.npz", "numbers.json"
_SEEN, _WORLD = "observation.", "world."


def write_state(folder: Path, model: PPO, vec_env: VecEnv, curve: Curve, lengths: NDArray[np.int64]) -> None:
    """Write the state of a training between two rollouts; lengths, int64 (K,), count the steps of each episode."""
    buffer = io.BytesIO()
    policy = model.policy
    generator = torch.get_rng_state()
    torch.save({"policy": policy.state_dict(), "optimizer": policy.optimizer.state_dict(), "random": generator}, buffer)
    with replace_file(folder / _TENSORS) as temporary:
        temporary.write_bytes(buffer.getvalue())
    arrays = {"lengths": lengths, **curve.to_arrays()}
    if isinstance(vec_env, MultiGridVecEnv):
        state: Any = vec_env.vector_env.get_state()
        arrays |= {_WORLD + name: array for name, array in state.items()}
        seen: Any = model._last_obs  # noqa: SLF001 - Stable-Baselines3 has no other name for it
        arrays |= {_SEEN + part: rows for part, rows in (seen if isinstance(seen, dict) else {"": seen}).items()}
        arrays["begins"] = np.asarray(model._last_episode_starts)  # noqa: SLF001 - as above
    write_arrays(folder / _ARRAYS, arrays)
    numbers = {
        "version": VERSION,
        "steps": model.num_timesteps,
        "updates": model._n_updates,  # noqa: SLF001 - as above
        "random": _generators(model),
    }
    write_json(folder / _NUMBERS, numbers)


def read_state(folder: Path, model: PPO, vec_env: VecEnv) -> tuple[Curve, NDArray[np.int64]]:
    """Restore what `write_state` wrote into a new model and its vec env, and return the curve and the lengths.

    No code in the files is run. Nothing random may happen between this call and the training.
    """
    try:
        return _restore(folder, model, vec_env)
    except Exception as error:
        # json, zipfile, torch and NumPy raise a dozen kinds of errors for malformed bytes.
        raise ValueError(
            f"{folder} cannot be restored: {type(error).__name__}: {one_line(error)}. "
            "Delete this folder to continue from the checkpoint before it"
        ) from error


def _restore(folder: Path, model: PPO, vec_env: VecEnv) -> tuple[Curve, NDArray[np.int64]]:
    numbers = json.loads(read_bytes(folder / _NUMBERS))
    if numbers["version"] != VERSION:
        raise ValueError(f"version is {numbers['version']!r}; expected {VERSION}, that of this multigrid")
    with open_file(folder / _TENSORS) as file:
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    arrays = read_arrays(folder / _ARRAYS)
    curve = Curve.from_arrays(arrays)
    model.policy.load_state_dict(tensors["policy"])
    model.policy.optimizer.load_state_dict(tensors["optimizer"])
    model.num_timesteps = int(numbers["steps"])
    model._n_updates = int(numbers["updates"])  # noqa: SLF001 - Stable-Baselines3 has no other name for it
    lengths = arrays["lengths"]
    if isinstance(vec_env, MultiGridVecEnv):
        vec_env.vector_env.set_state(_named(arrays, _WORLD))
        seen = _named(arrays, _SEEN)
        model._last_obs = seen.get("", seen)  # noqa: SLF001 - as above
        model._last_episode_starts = arrays["begins"]  # noqa: SLF001 - as above
    else:
        lengths = np.zeros_like(lengths)
    _restore_generators(model, numbers["random"], tensors["random"])
    return curve, lengths


def _named(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _generators(model: PPO) -> dict[str, Any]:
    """Return the states of all generators that Stable-Baselines3 seeds, but torch's and the worlds'."""
    version, words, gauss = random.getstate()
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - Stable-Baselines3 shuffles with it
    state = {**state, "state": {"key": state["state"]["key"].tolist(), "pos": int(state["state"]["pos"])}}
    return {
        "python": [version, list(words), gauss],
        "numpy": state,
        "actions": model.action_space.np_random.bit_generator.state,
    }


def _restore_generators(model: PPO, states: dict[str, Any], torch_state: torch.Tensor) -> None:
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    key = np.array(states["numpy"]["state"]["key"], dtype=np.uint32)
    state = {**states["numpy"], "state": {**states["numpy"]["state"], "key": key}}
    np.random.set_state(state)  # noqa: NPY002 - Stable-Baselines3 shuffles with it
    model.action_space.np_random.bit_generator.state = states["actions"]
    torch.set_rng_state(torch_state)
