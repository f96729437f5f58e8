"""SuperSuit's vector env as a Stable-Baselines3 VecEnv; `multigrid.integrations.supersuit.to_sb3` returns it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from multiprocessing import util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid.config import GridConfig
from multigrid.integrations.extras import missing_library
from multigrid.integrations.training import map_parts

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise missing_library("multigrid.integrations.supersuit.to_sb3", error, "train") from error
from supersuit.vector.multiproc_vec import ProcConcatVec, decompress_info

__all__ = ["SuperSuitVecEnv"]


class SuperSuitVecEnv(VecEnv):
    """A Stable-Baselines3 VecEnv over SuperSuit's vector env; `multigrid.integrations.supersuit.to_sb3` returns it.

    Raises:
        AttributeError, NotImplementedError: a method for single rows, such as `get_attr`, cannot reach the copies.
    """

    def __init__(self, venv: Any, config: GridConfig, render_mode: str | None, seed: int | None) -> None:
        self._venv = venv
        self._attributes: dict[str, Any] = {"render_mode": render_mode, "config": config}
        self._seeded = False
        # Runs once: on close(), on garbage collection, or at exit, before Python waits for its child processes.
        workers = (venv.pipes, venv.procs) if isinstance(venv, ProcConcatVec) else ((), ())
        self._stop_workers = util.Finalize(self, _stop, workers, exitpriority=0)
        super().__init__(venv.num_envs, venv.observation_space, venv.action_space)
        if seed is not None:
            self.seed(seed)

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set the options of `MultiGridEnv.reset` for the next reset of every copy; they cannot differ."""
        if options is not None and not isinstance(options, dict):
            expected = "expected one dict for all copies, or None"
            raise TypeError(f"options are of type {type(options).__name__}; {expected}")
        super().set_options(options)

    def reset(self) -> Any:
        """Reset every copy; the infos are in `reset_infos`."""
        seed, options = self._seeds[0], self._options[0] or None
        if seed is None and not self._seeded:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._seeded = True
        if isinstance(self._venv, ProcConcatVec):
            observations, self.reset_infos = self._reset_workers(seed, options)
        else:
            observations, infos = self._venv.reset(seed=seed, options=options)
            self.reset_infos = list(infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def _reset_workers(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, list[dict[str, Any]]]:
        """Reset the copies of every worker, with the same seeds as in one process."""
        venv, num_agents = self._venv, self._attributes["config"].num_agents
        for pipe, first_row in zip(venv.pipes, venv.idx_starts, strict=False):
            pipe.send(("reset", (None if seed is None else seed + first_row // num_agents, options)))
        spread: Any = decompress_info
        infos = spread(self.num_envs, venv.idx_starts, venv._receive_info())  # noqa: SLF001 - no public method
        return map_parts(np.copy, venv.observations_buffers), infos

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the actions of the next step, one for each row."""
        self._venv.step_async(actions)

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the step; the infos of rows that ended have ``TimeLimit.truncated``."""
        observations, rewards, terminations, truncations, infos = self._venv.step_wait()
        terminated, truncated = np.asarray(terminations, dtype=bool), np.asarray(truncations, dtype=bool)
        dones = terminated | truncated
        for row in np.flatnonzero(dones):
            infos[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
        return observations, rewards, dones, infos

    def close(self) -> None:
        """Stop the workers, if there are any; closing twice is fine."""
        self._stop_workers()
        self._venv.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute that all rows share, `render_mode` or `config`; copies may be in other processes."""
        if attr_name not in self._attributes:
            known = sorted(self._attributes)
            raise AttributeError(f"{shorten(attr_name)} is not available with SuperSuit; only {known}")
        return [self._attributes[attr_name]] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise a NotImplementedError: SuperSuit's copies cannot be accessed."""
        raise NotImplementedError(f"{shorten(attr_name)} cannot be set on SuperSuit's copies; make a new GridConfig")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Raise a NotImplementedError: SuperSuit's copies cannot be accessed."""
        raise NotImplementedError(f"{method_name}() cannot be called on SuperSuit's copies")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:  # noqa: ARG002
        """Return False for each row: no copy has a Gymnasium wrapper."""
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return the frame of the first copy, the only one that SuperSuit renders."""
        return [self._venv.render()]


def _stop(pipes: Sequence[Any], processes: Sequence[Any]) -> None:
    """Stop worker processes, except those that Ctrl-C in the terminal has stopped already."""
    for pipe, process in zip(pipes, processes, strict=True):
        if process.is_alive() and not pipe.closed:
            with contextlib.suppress(BrokenPipeError):
                # SuperSuit's own message ends its workers with an AssertionError.
                pipe.send("terminate")
            process.join()
