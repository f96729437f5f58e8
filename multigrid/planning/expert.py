"""The actions of PIBT for all rows of a vector environment, to label states for imitation learning."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning.batch import Batch

__all__ = ["expert"]

# A cache of graphs and distances, which no result depends on. The function has no object of its own to keep them in,
# and environments, which know no planners, have no place for them; each entry ends with its environment.
_BATCHES: WeakKeyDictionary[MultiGridVectorEnv, Batch] = WeakKeyDictionary()


def expert(vector_env: MultiGridVectorEnv) -> NDArray[np.int64]:
    r"""Return PIBT's actions for all agents of all worlds in their present states, int64 (num_envs,).

    The actions depend on the present states alone, so that states can be labelled whatever policy led to them. They are
    those of ``controller("pibt")``: to label many worlds at once, use this function; to play one environment, use
    `controller`. Agents that have left or parked, and worlds that the next step resets, get *stay*, or 0 where agents
    cannot stay.

    PIBT: Okumura, Machida, Defago and Tamura, Artificial Intelligence 310, 2022.

    Args:
        vector_env: an environment after its reset, with agents that can stay, and "symmetric" or "soft" collisions;
            or with "none", where agents take shortest paths.

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
