"""``multigrid train``: one shared policy for N agents, with Stable-Baselines3's PPO.

A checkpoint contains the state between two rollouts, so that the training continues bit for bit: weights, optimizer,
random generators, worlds, last observations, and the curve so far. SuperSuit's worlds, whose states cannot be saved,
begin new episodes.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.utils import LinearSchedule, set_random_seed

from multigrid._files import open_file, read_bytes, replace_file
from multigrid.cli import _train_report as reports
from multigrid.cli import _train_runs as runs
from multigrid.cli._files import write_json
from multigrid.cli._train_options import TrainOptions, check_options
from multigrid.cli._train_runs import Curve, Log, Training
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.extras import install_command
from multigrid.integrations.sb3 import MultiGridVecEnv, to_sb3
from multigrid.integrations.sb3_buffers import AliveDictRolloutBuffer, AliveRolloutBuffer
from multigrid.integrations.training import training_seed
from multigrid.scenarios._worlds import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from stable_baselines3.common.vec_env import VecEnv

_VERSION = 2  # of the format of checkpoints
_TENSORS, _ARRAYS, _NUMBERS = "tensors.pth", "arrays.npz", "numbers.json"
_SEEN, _WORLD = "observation.", "world."


def train(options: TrainOptions, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder, or continue a run; return 0, or 130 after Ctrl-C."""
    check_options(options)
    if options.log is not None:
        importlib.import_module("torch.utils.tensorboard")  # a missing library is named before anything is written
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    set_random_seed(options.seed)
    # Stable-Baselines3 plays whole rollouts only.
    rollout = options.rollout * options.copies * options.grid.num_agents
    total = math.ceil(options.steps / rollout) * rollout
    checkpoint, steps = runs.find_last(options.resume)
    if options.resume is not None and steps >= total:
        return reports.print_finished(console, options.resume, options.grid, steps)
    bar = runs.training_bar(console)
    # SuperSuit forks this process.
    with bar.shown(from_now=False) as show_bar, contextlib.closing(_vec_env(options)) as vec_env:
        folder = runs.open_run(options)
        runs.print_headline(console, folder, options, total, steps)
        show_bar()
        with runs.resumable(console, folder, options.grid.game):
            model = _make_model(vec_env, options, total // rollout)
            training = Training(folder, options, bar, model, lambda to: write_state(to, vec_env, training))
            if checkpoint is not None:
                # Only SuperSuit's worlds use the seed; the states of others are restored.
                vec_env.seed(training_seed(options.seed, steps, worlds=options.copies))
                # Nothing random may happen between this call and the training.
                try:
                    training.curve, training.lengths = _read_state(checkpoint, model, vec_env)
                except Exception as error:
                    # Libraries raise a dozen kinds of errors for malformed bytes.
                    raise ValueError(
                        f"{checkpoint} cannot be restored: {type(error).__name__}: {one_line(error)}. "
                        "Delete this folder to continue from the checkpoint before it"
                    ) from error
                training.last = steps
            first = 0 if checkpoint is None else steps + 1
            with contextlib.closing(Log(None if options.log is None else folder, first)) as training.log:
                code = training.run(total, rollout)
                with bar.doing("writing the model and the curve"):
                    with training.unwritten.noting("model.zip"), replace_file(folder / "model.zip") as temporary:
                        model.save(temporary)
                    reports.write_evaluations(training)
                reports.write_films(training)
                if code == 0:
                    # The checkpoint is last, because it marks the run as finished.
                    training.save()
    return reports.report(training, console, code)


def _vec_env(options: TrainOptions) -> VecEnv:
    grid, copies = options.grid, options.copies
    if options.vectorizer == "native":
        return to_sb3(MultiGridVectorEnv(grid, copies, autoreset_mode="SameStep", num_threads=options.num_threads))
    try:
        from multigrid.integrations import supersuit
    except ModuleNotFoundError as error:
        if error.name != "supersuit":
            raise
        raise ValueError(
            f"--vectorizer is supersuit, which is not installed: {install_command('supersuit')}, or leave it at native"
        ) from error
    return supersuit.to_sb3(grid, copies, num_cpus=options.num_cpus)


def _make_model(vec_env: VecEnv, options: TrainOptions, rollouts: int) -> PPO:
    in_parts, rate = bool(options.grid.observation_keys), options.learning_rate
    buffer: Any = AliveDictRolloutBuffer if in_parts else AliveRolloutBuffer
    return PPO(
        "MultiInputPolicy" if in_parts else "MlpPolicy",
        vec_env,
        # The schedule is evaluated after each rollout, the last one included. A function would be saved as bytecode,
        # which only this version of Python can read.
        learning_rate=LinearSchedule(start=rate * (1 + 1 / rollouts), end=rate / rollouts, end_fraction=1),
        n_steps=options.rollout,
        rollout_buffer_class=buffer if options.grid.agents_can_leave else None,
        batch_size=options.batch_size,
        n_epochs=options.epochs,
        gamma=options.gamma,
        ent_coef=options.entropy,
        policy_kwargs={"net_arch": list(options.hidden)},
        # The seeds of a run's copies differ from those of another run's.
        seed=training_seed(options.seed, worlds=options.copies),
        device="cpu",
    )


def write_state(folder: Path, vec_env: VecEnv, training: Training) -> None:
    """Write the state of a training between two rollouts."""
    model = training.model
    tensors = {"policy": model.policy.state_dict(), "optimizer": model.policy.optimizer.state_dict()}
    buffer = io.BytesIO()
    torch.save({**tensors, "random": torch.get_rng_state()}, buffer)
    with replace_file(folder / _TENSORS) as temporary:
        temporary.write_bytes(buffer.getvalue())
    arrays: dict[str, Any] = {"lengths": training.lengths, **training.curve.to_arrays()}
    if isinstance(vec_env, MultiGridVecEnv):
        state: Any = vec_env.vector_env.get_state()
        arrays |= {_WORLD + name: array for name, array in state.items()}
        seen: Any = model._last_obs  # noqa: SLF001 - Stable-Baselines3 has no other name for it
        arrays |= {_SEEN + part: rows for part, rows in (seen if isinstance(seen, dict) else {"": seen}).items()}
        arrays["begins"] = np.asarray(model._last_episode_starts)  # noqa: SLF001 - as above
    with replace_file(folder / _ARRAYS) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    version, words, gauss = random.getstate()
    numpy: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - Stable-Baselines3 shuffles with it
    numpy = {**numpy, "state": {"key": numpy["state"]["key"].tolist(), "pos": int(numpy["state"]["pos"])}}
    actions = model.action_space.np_random.bit_generator.state
    generators = {"python": [version, list(words), gauss], "numpy": numpy, "actions": actions}
    updates = model._n_updates  # noqa: SLF001 - as above
    numbers = {"version": _VERSION, "steps": model.num_timesteps, "updates": updates, "random": generators}
    write_json(folder / _NUMBERS, numbers)


def _read_state(folder: Path, model: PPO, vec_env: VecEnv) -> tuple[Curve, NDArray[np.int64]]:
    """Restore the state of a new model and its vec env; return the curve and the lengths. No code in files is run.

    The lengths, int64 (K,), count the steps of each episode.
    """
    numbers = json.loads(read_bytes(folder / _NUMBERS))
    if numbers["version"] != _VERSION:
        raise ValueError(f"version is {numbers['version']!r}; expected {_VERSION}, that of this multigrid")
    with open_file(folder / _TENSORS) as file:
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    # The file is opened here, because np.load does not close a malformed file.
    with open_file(folder / _ARRAYS) as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    curve, lengths = Curve.from_arrays(arrays), arrays["lengths"]
    model.policy.load_state_dict(tensors["policy"])
    model.policy.optimizer.load_state_dict(tensors["optimizer"])
    model.num_timesteps = int(numbers["steps"])
    model._n_updates = int(numbers["updates"])  # noqa: SLF001 - Stable-Baselines3 has no other name for it
    if isinstance(vec_env, MultiGridVecEnv):
        vec_env.vector_env.set_state(_named(arrays, _WORLD))
        seen = _named(arrays, _SEEN)
        model._last_obs = seen.get("", seen)  # noqa: SLF001 - as above
        model._last_episode_starts = arrays["begins"]  # noqa: SLF001 - as above
    else:
        lengths = np.zeros_like(lengths)
    states = numbers["random"]
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    words = {**states["numpy"]["state"], "key": np.array(states["numpy"]["state"]["key"], dtype=np.uint32)}
    np.random.set_state({**states["numpy"], "state": words})  # noqa: NPY002 - Stable-Baselines3 shuffles with it
    model.action_space.np_random.bit_generator.state = states["actions"]
    torch.set_rng_state(tensors["random"])
    return curve, lengths


def _named(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
