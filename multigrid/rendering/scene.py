"""Hold the state of one world, for a frame, or a whole episode, for videos, pages and figures."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT, Arrays

__all__ = ["Episode", "Scene", "find_settled", "scene_in", "scene_of"]


def find_settled(distances: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each agent is present and stands on its target, in the shape of the arguments.

    >>> find_settled(np.array([0.0, 3.0, 0.0]), np.array([True, True, False])).tolist()
    [True, False, False]
    """
    settled: NDArray[np.bool_] = (distances == 0) & present
    return settled


class Scene(NamedTuple):
    """The state of one world that a frame shows."""

    walls: NDArray[np.bool_]
    """bool (W, H), True at a wall."""
    agents: NDArray[np.int64]
    """int64 (N, 2), the agents' cells."""
    targets: NDArray[np.int64]
    """int64 (N, 2), their targets."""
    present: NDArray[np.bool_]
    """bool (N,), False for an agent that has left; neither it nor its target is drawn."""
    settled: NDArray[np.bool_] | None = None
    """bool (N,), True for an agent that is present and stands on its target; None for no agent."""
    trail: NDArray[np.int64] | None = None
    """int64 (K, N, 2), the agents' cells in the K states before this one, the latest last; None for no trails."""


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """An episode of T steps; index 0 is the state after the reset, index t the state after step t."""

    name: str
    """The title of the page."""
    config: GridConfig
    """The configuration of the world; with several maps, `walls` below is that of this episode."""
    walls: NDArray[np.bool_]
    """bool (W, H), the map: True at a wall."""
    agents: NDArray[np.int64]
    """int64 (T + 1, N, 2), the agents' cells; the last cell for an agent that has left."""
    targets: NDArray[np.int64]
    """int64 (T + 1, N, 2), the cells of their targets."""
    present: NDArray[np.bool_]
    """bool (T + 1, N), False for an agent that has left."""
    distances: NDArray[np.float64]
    """float64 (T + 1, N), the L1 distance of each agent to its target."""
    arrivals: NDArray[np.int64]
    """int64 (T + 1, N), the number of arrivals of each agent so far."""
    outcomes: NDArray[np.int64]
    """int64 (T + 1, N), as `multigrid.Outcome` numbers them; "stayed" for an agent that had left."""
    rewards: NDArray[np.float64]
    """float64 (T + 1, N), 0 after the reset."""
    metrics: dict[str, Any]
    """The metrics of the episode, as `multigrid.core.metrics` defines them."""

    @property
    def num_steps(self) -> int:
        """The number of steps T."""
        return len(self.agents) - 1

    @functools.cached_property
    def settled(self) -> NDArray[np.bool_]:
        """Which agents stand on their targets, as bool (T + 1, N); False for an agent that has left."""
        return find_settled(self.distances, self.present)


def scene_in(config: GridConfig, arrays: Arrays, world: int, trail: NDArray[np.int64] | None = None) -> Scene:
    """Return the scene of one world; its cells are views of the arrays, not copies.

    Args:
        config: the configuration of the worlds.
        arrays: the arrays of E worlds.
        world: the index of the world, from 0 to E - 1.
        trail: int64 (K, N, 2), as in `Scene`.

    >>> from multigrid import GridConfig
    >>> from multigrid.core.worlds import Worlds
    >>> world = Worlds(GridConfig(size=(4, 3), num_agents=2))
    >>> world.set_generator(0, np.random.default_rng(0))
    >>> world.reset()
    >>> scene_in(world.config, world.arrays, 0).settled.tolist()
    [False, False]
    """
    present = arrays.status[world] != LEFT
    return Scene(
        walls=config.is_wall[arrays.map_index[world]],
        agents=arrays.location[world],
        targets=arrays.target[world],
        present=present,
        settled=find_settled(arrays.distances[world], present),
        trail=trail,
    )


def scene_of(episode: Episode, step: int) -> Scene:
    """Return the scene of an episode after a step; step 0 is the state after the reset.

    Raises:
        ValueError: the episode has no such step.
    """
    if not 0 <= step <= episode.num_steps:
        raise ValueError(f"step is {step}; expected 0 to {episode.num_steps}, for the episode has so many steps")
    return Scene(
        walls=episode.walls,
        agents=episode.agents[step],
        targets=episode.targets[step],
        present=episode.present[step],
        settled=episode.settled[step],
        trail=episode.agents[:step],
    )
