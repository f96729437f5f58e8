"""The actions of an expert for all rows of a vector environment, to label states for imitation."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning.batch import Batch

__all__ = ["expert"]

# Only what would be computed again: graphs and distances.
_BATCHES: WeakKeyDictionary[MultiGridVectorEnv, Batch] = WeakKeyDictionary()


def expert(vector_env: MultiGridVectorEnv) -> NDArray[np.int64]:
    r"""Return PIBT's actions for all agents of all worlds in their present states, int64 (num_envs,).

    They are a function of the states alone, so that any state gets a label, whoever has led to it; played in every step
    they are PIBT's play, as ``controller("pibt")`` plays it. Actions of agents that have left or parked, and of worlds
    that the next step resets, have no effect: they are *stay* where there is such an action.

    PIBT: Okumura, Machida, Defago and Tamura, Artificial Intelligence 310, 2022.

    Args:
        vector_env: an environment after its reset. Its collisions are "symmetric" or "soft", and then agents can stay;
            or "none", where agents take shortest paths.

    Raises:
        TypeError: `vector_env` is something else.
        ResetNeeded: a world had no reset yet.
        ValueError: the rules are not supported.

    >>> from multigrid import vector_env
    >>> envs = vector_env(2, walls="a..A\nb..B", allow_stay=True)
    >>> _ = envs.reset()
    >>> expert(envs).tolist()
    [0, 0, 0, 0]
    """
    worlds = getattr(vector_env, "unwrapped", None)
    if not isinstance(worlds, MultiGridVectorEnv):
        raise TypeError(
            f"vector_env is of type {type(vector_env).__name__}; expected what multigrid.vector_env returns"
        )
    states = worlds.get_state()
    batch = _BATCHES.get(worlds)
    if batch is None:
        batch = _BATCHES[worlds] = Batch(worlds.config, worlds.num_worlds)
    return batch.choose(states)
