"""The base of the vector environments: many worlds, their random streams and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core.metrics import episode_metrics, make_lists
from multigrid.core.worlds import Worlds
from multigrid.envs.exclusive import OneCallAtATime, one_at_a_time
from multigrid.envs.reset_arguments import NO_SEED
from multigrid.runtime import pcg64

__all__ = ["ManyWorlds"]


class ManyWorlds(OneCallAtATime):
    """Many worlds, their seeds and random streams, and their metrics."""

    num_worlds: int
    num_envs: int
    _world: Worlds
    _seeds: NDArray[Any]
    """int64 (num_worlds,): the seed of each world's stream, or `NO_SEED`; objects, if one does not fit into 64 bits."""
    _started: NDArray[np.bool_]
    """bool (num_worlds,): whether a world has had a reset."""
    _is_unfinished: bool
    """Whether a step in SAME_STEP mode was interrupted before its worlds were reset."""
    _all_started: bool
    """Whether all worlds are known to have had a reset."""
    _must_check_ends: bool
    """Whether a step of a world whose episode has ended is an error: in DISABLED mode."""

    @property
    def config(self) -> GridConfig:
        """The worlds' configuration, which cannot be changed."""
        return self._world.config

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never."""
        return self._world.max_cycles

    @property
    @one_at_a_time
    def episode_over(self) -> NDArray[np.bool_]:
        """Which episodes are over, bool (num_worlds,): the next step resets those, or in DISABLED mode raises."""
        over: NDArray[np.bool_] = self._world.arrays.episode_over.astype(bool)
        return over

    @property
    @one_at_a_time
    def acting(self) -> NDArray[np.bool_]:
        """Which agents' actions count, bool (num_worlds, N): False for those that have left or are parked."""
        return self._world.find_acting()

    @property
    @one_at_a_time
    def map_index(self) -> NDArray[np.int64]:
        """The index in `GridConfig.is_wall` of the map of each world, int64 (num_worlds,); 0 before the first reset."""
        index: NDArray[np.int64] = self._world.arrays.map_index.copy()
        return index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r}, num_worlds={self.num_worlds})"

    def _finish_interrupted_call(self) -> None:
        self._world.finish_commit()
        if self._is_unfinished and not self._world.is_inconsistent:
            self._world.reset_ended()
            self._is_unfinished = False

    def _record_reset(self, worlds: NDArray[np.int64], seeds: NDArray[Any]) -> None:
        """Record that episodes of some worlds have begun, and the seeds of their streams."""
        if seeds.dtype == object:
            self._seeds = self._seeds.astype(object)
        self._seeds[worlds] = seeds
        self._started[worlds] = True
        self._is_unfinished = False

    def _new_streams(
        self, worlds: NDArray[np.int64], seeds: NDArray[Any]
    ) -> tuple[NDArray[np.uint64] | None, NDArray[Any], NDArray[np.bool_]]:
        """Return the streams of K worlds, or None if no seed is new; their seeds; and a mask of the new seeds.

        Worlds that have neither a seed nor a stream get a random seed.
        """
        needed = (seeds == NO_SEED) & (self._seeds[worlds] == NO_SEED)
        if needed.any():
            entropy = np.random.SeedSequence().generate_state(len(worlds), np.uint64) >> np.uint64(1)
            seeds = np.where(needed, entropy.astype(np.int64), seeds)
        known: NDArray[np.bool_] = seeds != NO_SEED
        if not known.any():
            return None, self._seeds[worlds], known
        streams = self._world.arrays.streams[worlds]
        new = seeds[known]
        streams[known] = pcg64.seed_streams(new if new.dtype == object else new.astype(np.uint64))
        return streams, np.where(known, seeds, self._seeds[worlds]), known

    def _seed_unseeded(self) -> None:
        """Give the worlds without a stream random seeds."""
        worlds = np.flatnonzero(self._seeds == NO_SEED)
        if len(worlds):
            streams, seeds, _ = self._new_streams(worlds, np.full(len(worlds), NO_SEED))
            assert streams is not None
            self._world.arrays.streams[worlds] = streams
            self._seeds[worlds] = seeds

    @property
    @one_at_a_time
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The worlds' random streams as Generators; drawing from one changes its world's later episodes.

        Each is the same object until a seeded reset of its world creates another. Reading this makes later steps and
        resets slower, for they copy the generators' states.
        """
        self._seed_unseeded()
        return tuple(self._world.get_generator(e) for e in range(self.num_worlds))

    @property
    @one_at_a_time
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of the worlds' streams; -1 where a state was set before the first reset."""
        self._seed_unseeded()
        return tuple(self._seeds.tolist())

    def _check_worlds(self, worlds: Any) -> NDArray[np.int64]:
        if worlds is None:
            return np.arange(self.num_worlds)
        array = np.asarray(worlds)
        expected = f"expected integers (K,) from 0 to {self.num_worlds - 1}"
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError(f"worlds are {array.dtype} of shape {array.shape}; {expected}")
        if array.size and not (array.min() >= 0 and array.max() < self.num_worlds):
            raise ValueError(f"worlds go from {array.min()} to {array.max()}; {expected}")
        return array.astype(np.int64)

    def _check_have_reset(self, worlds: NDArray[np.int64]) -> None:
        if not self._started[worlds].all():
            raise ResetNeeded("there are worlds without an episode; call reset() first")
        self._world.check_consistent()

    def _check_started(self) -> None:
        if not self._all_started:
            self._finish_interrupted_call()
            self._check_have_reset(np.arange(self.num_worlds))
            self._all_started = True
        if self._must_check_ends and self._world.arrays.episode_over.any():
            over = np.flatnonzero(self._world.arrays.episode_over)
            raise ResetNeeded(
                f"the episodes of {len(over)} worlds are over, the first is world {over[0]}; "
                "reset them with options={'reset_mask': ...}, or use another autoreset_mode"
            )

    @one_at_a_time
    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the `multigrid.core.metrics` of all episodes: by agent (num_worlds, N), others (num_worlds,).

        Args:
            as_lists: return lists in place of arrays, as JSON needs them.
        """
        worlds = np.arange(self.num_worlds)
        self._check_have_reset(worlds)
        metrics = episode_metrics(self._world.measure(worlds))
        return make_lists(metrics) if as_lists else metrics

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute for each row, as Gymnasium's SyncVectorEnv does.

        Raises:
            AttributeError: there is none of this name.
        """
        return self.call(name)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of this env, called if it can be, for each row; streams and seeds by world.

        Raises:
            AttributeError: there is none of this name.
        """
        value = getattr(self, name)
        if callable(value):
            value = value(*args, **kwargs)
        if name in ("np_random", "np_random_seed"):
            return tuple(one for one in value for _ in range(self.config.num_agents))
        return value if name == "render" else (value,) * self.num_envs

    def close_extras(self, **_kwargs: Any) -> None:
        """Stop the threads, if there are any."""
        if hasattr(self, "_world"):  # Gymnasium 1.1 also closes an env whose constructor has raised
            self._world.close()
