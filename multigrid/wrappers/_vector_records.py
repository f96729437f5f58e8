"""Record episodes of vector envs of many agents as Gymnasium's wrappers do: statistics of rows, videos of worlds."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from multigrid._checks import check_int
from multigrid.envs._reset_arguments import check_reset_mask
from multigrid.wrappers._vector_reward import WorldsWrapper

_Bools = NDArray[np.bool_]
_Step = tuple[Any, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]


class RecordEpisodeStatistics(WorldsWrapper):
    """Add the return, the length and the duration of each agent's episode to the infos of its last step.

    Attributes, infos and queues are those of Gymnasium's ``gymnasium.wrappers.vector.RecordEpisodeStatistics``, except
    that under ``on_target="leave"`` an agent that leaves before its world ends has no second, empty episode from then
    on. A step that ends an episode adds ``infos["episode"]``, with the arrays "r" (returns, float64), "l" (lengths in
    steps, int64) and "t" (durations in seconds, float64), each (num_envs,), and the mask of the rows whose episode has
    ended, ``infos["_episode"]``. `get_state` and `set_state` do not change the statistics.

    Args:
        env: what `multigrid.vector_env` returns, or ``gym.make_vec`` for ``multigrid/GridWorld-v0``; it may be wrapped.
        buffer_length: the number of episodes in the queues, at least 1.
        stats_key: replaces "episode" in the infos.

    Attributes:
        episode_count: the number of episodes that have ended.
        return_queue, length_queue, time_queue: deques with the returns, lengths and durations of the last of them.

    Raises:
        TypeError, ValueError: `env` is not a vector env of multigrid, or has statistics under this key already, or
            `buffer_length` is not an integer of at least 1; later, a bad action, or infos that have the key already.

    >>> import multigrid
    >>> envs = multigrid.vector_env(1, walls="a.A..b.....B", on_target="leave", max_cycles=5)
    >>> envs = RecordEpisodeStatistics(envs)
    >>> _ = envs.reset(seed=0)
    >>> for _ in range(5):
    ...     infos = envs.step([multigrid.Action.RIGHT] * 2)[-1]
    >>> list(envs.return_queue), list(envs.length_queue)
    ([1.0, 0.0], [2, 5])
    >>> infos["_episode"]
    array([False,  True])
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], buffer_length: int = 100, stats_key: str = "episode") -> None:
        super().__init__(env)
        inner: Any = env
        while isinstance(inner, VectorWrapper):
            # Gymnasium's wrapper has the same attribute.
            if getattr(inner, "_stats_key", None) == stats_key:
                raise ValueError(f"the env has statistics under {stats_key!r} already; name another stats_key")
            inner = inner.env
        length = min(check_int("buffer_length", buffer_length, 1), sys.maxsize)
        self._stats_key = stats_key
        self._resets_later = self._worlds.autoreset_mode is AutoresetMode.NEXT_STEP
        self.episode_count = 0
        self.return_queue: deque[float] = deque(maxlen=length)
        self.length_queue: deque[int] = deque(maxlen=length)
        self.time_queue: deque[float] = deque(maxlen=length)
        self.episode_returns = np.zeros(self.num_envs)
        self.episode_lengths = np.zeros(self.num_envs, dtype=np.int64)
        self.episode_start_times = np.zeros(self.num_envs)
        self._playing = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the worlds as `multigrid.MultiGridVectorEnv.reset`, and begin to count the episodes of their rows."""
        returned = self.env.reset(seed=seed, options=options)
        num_worlds = self._worlds.num_worlds
        self._begin(check_reset_mask(options, num_worlds, self.num_envs // num_worlds))
        return returned

    def _begin(self, worlds: NDArray[np.int64]) -> None:
        """Begin an episode in each row of some worlds."""
        rows = np.arange(self.num_envs).reshape(self._worlds.num_worlds, -1)[worlds]
        self.episode_returns[rows] = self.episode_lengths[rows] = 0
        self._playing[rows], self.episode_start_times[rows] = True, time.perf_counter()

    def step(self, actions: Any) -> _Step:
        """Play one step of every world, and add the statistics of the episodes that it has ended to the infos."""
        resetting = np.flatnonzero(self._worlds.episode_over) if self._resets_later else np.array([], dtype=int)
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        self.episode_returns[self._playing] += rewards[self._playing]
        self.episode_lengths[self._playing] += 1
        ended = self._playing & (terminations | truncations)
        if ended.any():
            self._record(ended, infos)
        self._playing &= ~ended
        if len(resetting):
            self._begin(resetting)
        if "_final_info" in infos:
            # The step has reset these worlds.
            self._begin(np.flatnonzero(infos["_final_info"].reshape(self._worlds.num_worlds, -1)[:, 0]))
        return observations, rewards, terminations, truncations, infos

    def _record(self, ended: _Bools, infos: dict[str, Any]) -> None:
        key = self._stats_key
        if key in infos or f"_{key}" in infos:
            raise ValueError(f"the infos have {key!r} already; name another stats_key, or wrap only once")
        seconds = np.round(time.perf_counter() - self.episode_start_times, 6)
        by_name = {"r": self.episode_returns, "l": self.episode_lengths, "t": seconds}
        infos[key] = {name: np.where(ended, values, values.dtype.type(0)) for name, values in by_name.items()}
        infos[f"_{key}"] = ended
        self.episode_count += int(ended.sum())
        self.return_queue.extend(self.episode_returns[ended].tolist())
        self.length_queue.extend(self.episode_lengths[ended].tolist())
        self.time_queue.extend(seconds[ended].tolist())


class RecordVideo(WorldsWrapper):
    """Record videos with Gymnasium's ``gymnasium.wrappers.vector.RecordVideo``, with a tile for each world.

    Gymnasium's wrapper alone shows each world once for each agent, and under ``on_target="leave"`` ends a video when
    the first agent leaves. This wrapper ends it with the first world's episode.

    Args:
        env: what `multigrid.vector_env` returns with ``render_mode="rgb_array"``; it may be wrapped.
        video_folder: the folder of the videos.
        options: the other arguments of Gymnasium's wrapper, such as ``episode_trigger``; with ``record_first_only``,
            the first world alone is recorded.

    Raises:
        TypeError: `env` is not a vector env of multigrid, or later an action is not an integer.
        ValueError: `env` has no render mode, or later an action is out of range; no world is stepped then.
        ImportError: Gymnasium is older than 1.2.
        gymnasium.error.DependencyNotInstalled: MoviePy is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], video_folder: str, **options: Any) -> None:
        super().__init__(env)
        from gymnasium.wrappers import vector

        if not hasattr(vector, "RecordVideo"):
            raise ImportError("gymnasium has no RecordVideo for vector envs; expected version 1.2 or later")
        self._by_world = _ByWorld(env)
        self._recorder: Any = vector.RecordVideo(self._by_world, str(video_folder), **options)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the worlds as `multigrid.MultiGridVectorEnv.reset`, and begin a video if one is due."""
        returned: tuple[Any, dict[str, Any]] = self._recorder.reset(seed=seed, options=options)
        return returned

    def step(self, actions: Any) -> _Step:
        """Play one step of every world, and add a frame to the video."""
        self._recorder.step(actions)
        taken, self._by_world.taken = self._by_world.taken, None
        assert taken is not None
        return taken

    def close(self, **arguments: Any) -> None:
        """Write the last video, and close the env."""
        self._recorder.close(**arguments)


class _ByWorld(WorldsWrapper):
    """A vector env as a recorder of videos sees it: with a frame and an end of each episode for each world."""

    taken: _Step | None = None
    """What the last step of the env returned."""

    @property
    def num_envs(self) -> int:  # type: ignore[override] # as in Gymnasium's VectorWrapper
        return self._worlds.num_worlds

    def step(self, actions: Any) -> _Step:
        self.taken = observations, rewards, _, _, infos = self.env.step(actions)
        ends = self._worlds.episode_over
        if "_final_info" in infos:
            ends = infos["_final_info"].reshape(self.num_envs, -1)[:, 0]
        return observations, rewards, ends, np.zeros(self.num_envs, dtype=bool), infos

    def render(self) -> Any:
        frames: Any = self.env.render()
        return None if frames is None else frames[:: len(frames) // self.num_envs]
