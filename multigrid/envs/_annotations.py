"""The types of what environments return."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

__all__ = ["FlatObservation", "Info", "MaskedObservation", "Observation", "ObservationType", "State", "States"]

_Ints: TypeAlias = NDArray[np.int64]
_Bools: TypeAlias = NDArray[np.bool_]


class Observation(TypedDict):
    """An agent's observation: the parts that `GridConfig.observe` names, of the shapes in `multigrid.parts.PARTS`.

    A vector env's observations have the same parts, with a row for each agent of each world.

    >>> import multigrid
    >>> observations, infos = multigrid.parallel_env(num_agents=2).reset(seed=0)
    >>> list(observations["agent_0"])
    ['agent', 'target', 'others']
    """

    agent: _Ints
    target: _Ints
    others: _Ints
    offset: _Ints
    view: NDArray[np.uint8]
    walls: NDArray[np.uint8]
    action_mask: NDArray[np.int8]
    delayed: NDArray[np.int8]
    delay_left: _Ints
    messages: NDArray[np.int8]
    rgb: NDArray[np.uint8]
    rgb_view: NDArray[np.uint8]


FlatObservation: TypeAlias = NDArray[np.float32]
"""An agent's observation with ``flatten=True``."""


class MaskedObservation(TypedDict):
    """An agent's observation with ``flatten=True`` and ``"action_mask"`` in `GridConfig.observe`.

    >>> import multigrid
    >>> env = multigrid.parallel_env(num_agents=2, observe=("offset", "action_mask"), flatten=True)
    >>> observations, infos = env.reset(seed=0)
    >>> list(observations["agent_0"])
    ['observation', 'action_mask']
    """

    observation: FlatObservation
    action_mask: NDArray[np.int8]


class Info(TypedDict):
    """An agent's info.

    >>> import multigrid
    >>> observations, infos = multigrid.parallel_env(num_agents=2).reset(seed=0)
    >>> infos["agent_0"]
    {'distance': 4.0, 'outcome': 1, 'arrived': 0}
    """

    distance: float  #: The L1 distance to the target.
    outcome: int  #: Why the last move ended as it did: a `multigrid.Outcome`.
    arrived: int  #: 1 if the agent arrived in this step, else 0; under *stay*, each time it steps onto its target.


class _Lists(TypedDict, total=False):
    target_lists: _Ints  #: The lists of targets, (..., N, T, 2), filled with -1: only if there are lists.
    # Only with delays:
    delay_streams: NDArray[np.uint64]  #: The state of the random stream that delays are drawn from, (..., 6).
    delay_left: _Ints
    delayed_steps: _Ints
    messages: NDArray[np.int8]  #: The messages of the last step, (..., N, bits): only with message bits.


class _Arrays(_Lists):
    location: _Ints
    target: _Ints
    status: NDArray[np.int8]
    arrivals: _Ints
    arrival_step: _Ints
    rewards: NDArray[np.float64]
    terminated: _Bools
    truncated: _Bools
    outcomes: _Ints
    distances: NDArray[np.float64]


class _Number(TypedDict, total=False):
    num_agents: np.int64  #: The number of agents of the episode: only where it is drawn.
    walls: _Bools  #: The map, (W, H): only where maps are drawn.


class _Numbers(TypedDict, total=False):
    num_agents: _Ints  #: The numbers of agents of the episodes: only where they are drawn.
    walls: _Bools  #: The maps, (K, W, H): only where they are drawn.


class State(_Arrays, _Number):
    """The whole state of one world, which `get_state` returns and `set_state` restores.

    >>> import multigrid
    >>> env = multigrid.parallel_env(num_agents=2)
    >>> _ = env.reset(seed=0)
    >>> env.get_state()["location"].shape
    (2, 2)
    """

    version: int
    map_index: np.int64
    steps: np.int64
    episode_over: np.bool_
    num_ended: np.int64
    np_random: dict[str, Any]  #: The state of the random stream, as NumPy's bit generators return it.


class States(_Arrays, _Numbers):
    """The whole states of K worlds: arrays (K, ...).

    >>> import multigrid
    >>> envs = multigrid.vector_env(3, num_agents=2)
    >>> _ = envs.reset(seed=0)
    >>> envs.get_state()["location"].shape
    (3, 2, 2)
    """

    version: _Ints
    map_index: _Ints
    steps: _Ints
    episode_over: _Bools
    num_ended: _Ints
    streams: NDArray[np.uint64]  #: The streams of the PCG64 generators.


ObservationType = TypeVar("ObservationType", default=Observation)
"""The type of an env's observations: with ``flatten=True``, which type checkers cannot see, `FlatObservation`."""
