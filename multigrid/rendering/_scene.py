"""Hold the state of one world, for a frame, or a whole episode, for videos, pages and figures."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import BLOCKED_BY_AGENT
from multigrid.config import GridConfig
from multigrid.rendering._blockers import find_blockers
from multigrid.rendering._repetition import Repetition, find_repetition
from multigrid.runtime.arrays import LEFT, Arrays

# How long films go on once nothing changes any more, in steps, and how many rounds of a cycle they show.
_STEPS_AFTER, _ROUNDS = 4, 2
_BY_STEP = ("agents", "targets", "present", "distances", "arrivals", "outcomes", "rewards", "actions")


def find_settled(distances: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each agent is present and stands on its target, in the shape of the arguments."""
    return np.asarray((distances == 0) & present, np.bool_)


class Scene(NamedTuple):
    """The state of one world that a frame shows."""

    walls: NDArray[np.bool_]  # bool (W, H), True at a wall
    agents: NDArray[np.int64]  # int64 (N, 2), the agents' cells
    targets: NDArray[np.int64]  # int64 (N, 2), their targets
    present: NDArray[np.bool_]  # bool (N,), False for an agent that has left; neither it nor its target is drawn
    settled: NDArray[np.bool_] | None = None
    """bool (N,), True for an agent that is present and stands on its target; None for no agent."""
    trail: NDArray[np.int64] | None = None
    """int64 (K, N, 2), the agents' cells in the K states before this one, the latest last; None for no trails."""


class Verdict(NamedTuple):
    """How an episode ended."""

    text: str  # a few words, such as "solved at step 18" or "deadlock from step 21: 5 of 8 agents arrived"
    step: int  # the step that `text` names
    solved: bool  # whether all agents arrived


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """An episode of T steps; index 0 is the state after the reset, index t the state after step t."""

    name: str  # the title of the page
    config: GridConfig  # the configuration of the world; with several maps, `walls` below is that of this episode
    walls: NDArray[np.bool_]  # bool (W, H), the map: True at a wall
    agents: NDArray[np.int64]  # int64 (T + 1, N, 2), the agents' cells; the last cell for an agent that has left
    targets: NDArray[np.int64]  # int64 (T + 1, N, 2), the cells of their targets
    present: NDArray[np.bool_]  # bool (T + 1, N), False for an agent that has left
    distances: NDArray[np.float64]  # float64 (T + 1, N), the L1 distance of each agent to its target
    arrivals: NDArray[np.int64]  # int64 (T + 1, N), the number of arrivals of each agent so far
    outcomes: NDArray[np.int64]  # int64 (T + 1, N), as in `multigrid.Outcome`; "stayed" for an agent that had left
    rewards: NDArray[np.float64]  # float64 (T + 1, N), 0 after the reset
    metrics: dict[str, Any]  # the metrics of the episode, as `multigrid.core.metrics` defines them
    actions: NDArray[np.int64] | None = None  # int64 (T + 1, N), `NO_ACTION` for no action; None if not known

    @property
    def num_steps(self) -> int:
        """The number of steps T."""
        return len(self.agents) - 1

    @functools.cached_property
    def settled(self) -> NDArray[np.bool_]:
        """Which agents stand on their targets, as bool (T + 1, N); False for an agent that has left."""
        return find_settled(self.distances, self.present)

    @functools.cached_property
    def blockers(self) -> NDArray[np.int64] | None:
        """The agents that blocked refused moves, as `find_blockers` returns them; None without actions."""
        if self.actions is None:
            return None
        return find_blockers(self.agents, self.present, self.actions, self.outcomes)

    @functools.cached_property
    def repetition(self) -> Repetition | None:
        """The cycle of states at the end of an episode in which not all agents arrived, or None."""
        if self.metrics["csr"] == 1:
            return None
        parts = (self.agents, self.targets, self.present, self.arrivals)
        return find_repetition(np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1))

    @property
    def last_shown(self) -> int:
        """The last step that a film shows: a few steps after the last one in which something new happened."""
        if self.repetition is None:
            return self.num_steps
        step, period = self.repetition
        return min(self.num_steps, step + max(_STEPS_AFTER, _ROUNDS * period if period > 1 else 0))

    @functools.cached_property
    def verdict(self) -> Verdict:
        """How the episode ended."""
        last, num_agents = self.num_steps, self.config.num_agents
        if self.metrics["csr"] == 1:
            step = int(self.metrics["makespan"])
            return Verdict(f"solved at step {step}", step, solved=True)
        if self.config.on_target == "restart":
            arrivals, ending = int(self.arrivals[-1].sum()), "ended"
            so_far = f"{arrivals} arrival{'s' * (arrivals != 1)}"
        else:
            ending = "out of time" if last == self.config.max_cycles else "stopped"
            agents = "agent" if num_agents == 1 else "agents"
            so_far = f"{int(self.metrics['success'].sum())} of {num_agents} {agents} arrived"
        if self.repetition is None:
            return Verdict(f"{ending} at step {last}: {so_far}", last, solved=False)
        step, period = self.repetition
        if period > 1:
            ending = f"livelock from step {step} on, in a cycle of {period} steps"
        elif np.isin(self.outcomes[-1], BLOCKED_BY_AGENT).any():
            ending = f"deadlock from step {step}"
        else:
            ending = f"nobody moves from step {step} on"
        return Verdict(f"{ending}: {so_far}", step, solved=False)

    def until(self, step: int) -> Episode:
        """Return the episode up to a step, with the metrics and the verdict of the whole one."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _BY_STEP}
        cut: dict[str, Any] = {name: None if array is None else array[: step + 1] for name, array in arrays.items()}
        shorter = dataclasses.replace(self, **cut)
        shorter.__dict__.update(verdict=self.verdict, repetition=self.repetition)  # where cached properties look first
        return shorter


def scene_in(config: GridConfig, arrays: Arrays, world: int, trail: NDArray[np.int64] | None = None) -> Scene:
    """Return the scene of one world, with a trail as in `Scene`; its cells are views of the arrays, not copies."""
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
    """Return the scene of an episode after a step; step 0 is the state after the reset."""
    if not 0 <= step <= episode.num_steps:
        raise ValueError(f"step is {step}; expected 0 to {episode.num_steps}, the number of steps")
    return Scene(
        walls=episode.walls,
        agents=episode.agents[step],
        targets=episode.targets[step],
        present=episode.present[step],
        settled=episode.settled[step],
        trail=episode.agents[:step],
    )


def scene_between(episode: Episode, step: int, share: float) -> Scene:
    """Return the scene of an episode between a step and the next; agents have made this share of their moves.

    Raises:
        ValueError: the episode has no such step, or none after it.
    """
    scene, after = scene_of(episode, step), scene_of(episode, step + 1)
    agents: Any = scene.agents + share * (after.agents - scene.agents)
    return scene._replace(agents=agents)
