"""Hold a whole episode, for films, pages and figures, and find what happened in it.

Beside its states these are the agents that blocked refused moves, and the step from which the episode only repeats
itself: a deadlock, or a livelock.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import Colour
from multigrid.actions import BLOCKED_BY_AGENT, DIRECTIONS, Outcome
from multigrid.config import GridConfig
from multigrid.core.arrays import NOBODY
from multigrid.game import describe
from multigrid.rendering._scene import Badge, Look, Mark, Scene, find_colours, find_settled

MOST_BLOCKERS = 3
"""The largest number of agents that can block one move: the others next to the requested cell."""

NO_ACTION = -1
"""The action of an agent that had left, and of every agent at the reset."""

_REQUESTS = (Outcome.MOVED, *BLOCKED_BY_AGENT)

# Shorter repetitions occur by chance.
_LEAST_STEPS, _LEAST_ROUNDS = 10, 3
_LONGEST_CYCLE = 64
# How long films go on once nothing changes any more, in steps, and how many rounds of a cycle they show.
_STEPS_AFTER, _ROUNDS = 4, 2
_BY_STEP = ("agents", "targets", "present", "distances", "arrivals", "outcomes", "rewards", "actions", "looks")


class Verdict(NamedTuple):
    """How an episode ended."""

    text: str  # a few words, such as "solved at step 18" or "deadlock from step 21: 5 of 8 agents arrived"
    step: int  # the step that `text` names
    solved: bool | None  # whether all agents arrived; None in a game, which may be about something else


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
    looks: tuple[Look, ...] | None = None  # T + 1 times what a game says of its look; None for nothing

    @property
    def num_steps(self) -> int:
        """The number of steps T."""
        return len(self.agents) - 1

    @functools.cached_property
    def settled(self) -> NDArray[np.bool_]:
        """Which agents stand on their targets, as bool (T + 1, N); False for one that has left, or has no target."""
        return find_settled(self.distances, self.present) & self.config.has_targets

    @functools.cached_property
    def blockers(self) -> NDArray[np.int64] | None:
        """The agents that blocked refused moves, as `find_blockers` returns them.

        None without actions, and in games with moves of their own.
        """
        own = () if self.config.game is None else describe(self.config.game).functions
        if self.actions is None or not {"request", "resolve", "step"}.isdisjoint(own):
            return None
        return find_blockers(self.agents, self.present, self.actions, self.outcomes)

    @functools.cached_property
    def repetition(self) -> Repetition | None:
        """The cycle of states at the end of an episode in which not all agents arrived; None if there is none.

        None for games, in which there is more to do than to arrive, and more to repeat than places, and with delays,
        which end.
        """
        if self.metrics["csr"] == 1 or self.config.game is not None or self.config.delays is not None:
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
        last, num_agents = self.num_steps, int(self.present[0].sum())
        if self.config.game is not None:
            ending = "out of time" if last == self.config.max_cycles else "ended"
            return Verdict(f"{ending} at step {last}: {self.describe_rewards(last)}", last, solved=None)
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

    @property
    def marks(self) -> tuple[tuple[Mark, ...], ...] | None:
        """The marks of a game after each step; None for none."""
        return None if self.looks is None else tuple(look.marks for look in self.looks)

    @property
    def colours(self) -> list[Colour]:
        """The colour of each agent, at the beginning."""
        return find_colours(self.config, self.looks[0] if self.looks else Look())

    @functools.cached_property
    def marked(self) -> dict[Mark, NDArray[np.bool_]]:
        """After which steps each mark of the episode is there, bool (T + 1,), in the order of their appearance."""
        return self._list_steps("marks")

    @functools.cached_property
    def badged(self) -> dict[Badge, NDArray[np.bool_]]:
        """After which steps each badge of the episode is there, as `marked`."""
        return self._list_steps("badges")

    def _list_steps(self, field: str) -> dict[Any, NDArray[np.bool_]]:
        found: dict[Any, NDArray[np.bool_]] = {}
        for step, look in enumerate(self.looks or ()):
            for one in getattr(look, field):
                found.setdefault(one, np.zeros(len(self.agents), np.bool_))[step] = True
        return found

    def describe_rewards(self, step: int) -> str:
        """Return a few words on the rewards of all agents up to a step."""
        return f"total reward {np.format_float_positional(self.rewards[: step + 1].sum(), precision=2, trim='-')}"

    def until(self, step: int) -> Episode:
        """Return the episode up to a step, with the metrics and the verdict of the whole one."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _BY_STEP}
        cut: dict[str, Any] = {name: None if array is None else array[: step + 1] for name, array in arrays.items()}
        shorter = dataclasses.replace(self, **cut)
        shorter.__dict__.update(verdict=self.verdict, repetition=self.repetition)  # where cached properties look first
        return shorter


def find_requests(agents: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell that each agent requested: int64 (T + 1, N, 2), also one outside the grid.

    `agents` has the cells after the reset and after each step, int64 (T + 1, N, 2), and `actions` the actions that led
    to them, int64 (T + 1, N); with `NO_ACTION`, or an action of a game, an agent requests its own cell.
    """
    before = np.concatenate([agents[:1], agents[:-1]])
    staying = len(DIRECTIONS) - 1
    moves = np.where(actions == NO_ACTION, staying, np.minimum(actions, staying))
    return np.asarray(before + DIRECTIONS[moves], np.int64)


def find_blockers(
    agents: NDArray[np.int64], present: NDArray[np.bool_], actions: NDArray[np.int64], outcomes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the agents that blocked each refused move: int64 (T + 1, N, MOST_BLOCKERS), filled with `NOBODY`.

    For *occupied* and *swap* this is the agent that stood in the requested cell; for *contested* these are all others
    that requested it. All arrays are by step and agent, (T + 1, N, ...), as in `find_requests`.
    """
    blockers = np.full((*actions.shape, MOST_BLOCKERS), NOBODY, dtype=np.int64)
    requests = find_requests(agents, actions)
    requested = np.isin(outcomes, _REQUESTS) & (actions != NO_ACTION)
    refused = np.isin(outcomes, BLOCKED_BY_AGENT) & (actions != NO_ACTION)
    for step, agent in np.argwhere(refused).tolist():
        contested = outcomes[step, agent] == Outcome.CONTESTED
        others, there = (requests[step], requested[step]) if contested else (agents[step - 1], present[step - 1])
        found = np.flatnonzero((others == requests[step, agent]).all(axis=1) & there)
        found = found[found != agent]
        blockers[step, agent, : len(found)] = found
    return blockers


class Repetition(NamedTuple):
    """The end of an episode, in which a cycle of states repeats until the last step."""

    step: int  # the step after which the cycle begins
    period: int  # the number of steps of the cycle; 1 if nothing changes


def find_repetition(states: NDArray[np.int64]) -> Repetition | None:
    """Return the cycle in which the states, int64 (T + 1, K), repeat until the last one, or None.

    A repetition lasts for at least ten steps and three rounds; cycles of more than 64 steps are not found.

    >>> find_repetition(np.array([[7], *[[1], [2]] * 6]))
    Repetition(step=1, period=2)
    """
    last = len(states) - 1
    for period in range(1, min(_LONGEST_CYCLE, last // _LEAST_ROUNDS) + 1):
        if (states[last - period] != states[last]).any():
            continue
        differing = np.flatnonzero((states[period:] != states[:-period]).any(axis=1))
        step = int(differing[-1]) + 1 if len(differing) else 0
        if last - step >= max(_LEAST_STEPS, _LEAST_ROUNDS * period):
            return Repetition(step, period)
    return None


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
        look=Look() if episode.looks is None else episode.looks[step],
        delayed=episode.outcomes[step] == Outcome.DELAYED,
    )


def scene_between(episode: Episode, step: int, share: float) -> Scene:
    """Return the scene of an episode between a step and the next; agents have made this share of their moves.

    Raises:
        ValueError: the episode has no such step, or none after it.
    """
    scene, after = scene_of(episode, step), scene_of(episode, step + 1)
    agents: Any = scene.agents + share * (after.agents - scene.agents)
    return scene._replace(agents=agents)
