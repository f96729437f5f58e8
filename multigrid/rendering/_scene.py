"""Hold the state of one world, for a frame, or a whole episode, for videos, pages and figures."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import name_errors, shorten
from multigrid._palette import contrast, parse_colour
from multigrid.actions import BLOCKED_BY_AGENT, Outcome
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT, Arrays
from multigrid.game import describe
from multigrid.maps._cells import WALL
from multigrid.maps._text import format_map
from multigrid.rendering._blockers import find_blockers
from multigrid.rendering._repetition import Repetition, find_repetition

# How long films go on once nothing changes any more, in steps, and how many rounds of a cycle they show.
_STEPS_AFTER, _ROUNDS = 4, 2
_BY_STEP = ("agents", "targets", "present", "distances", "arrivals", "outcomes", "rewards", "actions", "marks")
_SHOWN = ("walls", "agents", "targets", "present")
_MOST_LETTERS = 2


def find_settled(distances: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each agent is present and stands on its target, in the shape of the arguments."""
    return np.asarray((distances == 0) & present, np.bool_)


class Mark(NamedTuple):
    """A cell that a game colours in pictures, with a letter or two on it."""

    cell: tuple[int, int]
    colour: str = "#c8c8d0"
    """As in CSS: ``#rrggbb``."""
    letter: str = ""


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
    marks: tuple[Mark, ...] = ()
    delayed: NDArray[np.bool_] | None = None
    """bool (N,), True for an agent that was delayed in the last step; None for no agent."""


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
    marks: tuple[tuple[Mark, ...], ...] | None = None  # T + 1 times the marks of a game; None for none

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
        last, num_agents = self.num_steps, self.config.num_agents
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

    @functools.cached_property
    def marked(self) -> dict[Mark, NDArray[np.bool_]]:
        """After which steps each mark of the episode is there, bool (T + 1,), in the order of their appearance."""
        found: dict[Mark, NDArray[np.bool_]] = {}
        for step, marks in enumerate(self.marks or ()):
            for mark in marks:
                found.setdefault(mark, np.zeros(len(self.agents), np.bool_))[step] = True
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


def scene_in(config: GridConfig, arrays: Arrays, world: int, trail: NDArray[np.int64] | None = None) -> Scene:
    """Return the scene of one world, with a trail as in `Scene`; its cells are views of the arrays, not copies."""
    shown = arrays.components[arrays.map_index[world]] == WALL, arrays.location[world], arrays.target[world]
    present = arrays.status[world] != LEFT
    return Scene(
        *shown,
        present,
        settled=find_settled(arrays.distances[world], present) if config.has_targets else None,
        trail=trail,
        marks=find_marks(config, lambda name: getattr(arrays.own, name)[world], (*shown, present)),
        delayed=arrays.outcomes[world] == Outcome.DELAYED,
    )


def swap_axes(scene: Scene) -> Scene:
    """Return the scene of one agent on an empty square grid with the two axes swapped."""
    return scene._replace(agents=scene.agents[:, ::-1], targets=scene.targets[:, ::-1])


def find_marks(
    config: GridConfig, find: Callable[[str], Any], shown: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
) -> tuple[Mark, ...]:
    """Return what a game's `marks` yields for the state of one world, checked; none without a game.

    `find` returns an array of the game's `State` by its name; `shown` are the walls, the agents' cells, their targets,
    and which agents are present.

    Raises:
        TypeError: `marks` yields something else than marks.
        ValueError: a mark is outside the grid, or has another form of colour or letter.
    """
    if config.game is None or (marks := describe(config.game).marks) is None:
        return ()
    names = [name for state in describe(config.game).states for name in state._fields]
    constants = config.prepared
    arrays = {name: constants[name] if name in constants else find(name) for name in names}
    arrays |= dict(zip(_SHOWN, shown, strict=True))
    # Copies, for `marks` must not change the world; and scalars for single numbers.
    given = {name: np.array(array)[()] for name, array in arrays.items()} | dict(config.options or {})
    where = f"{config.game.__name__}.marks"
    with name_errors(where):
        found = marks(SimpleNamespace(**given, width=config.width, height=config.height))
        found = list(found) if isinstance(found, Iterable) else found
    if not isinstance(found, Iterable):
        raise TypeError(f"{where} returns {shorten(found)}; expected marks: yield games.Mark(cell, colour, letter)")
    return tuple(_check_mark(where, one, config) for one in found)


def _check_mark(where: str, mark: Any, config: GridConfig) -> Mark:
    if not isinstance(mark, Mark):
        raise TypeError(f"{where} yields {shorten(mark)}; expected games.Mark(cell, colour, letter)")
    fields: tuple[Any, ...] = mark
    cell, colour, letter = np.asarray(fields[0]), *fields[1:]
    if cell.shape != (2,) or cell.dtype.kind not in "iu":
        raise ValueError(f"{where} yields a mark whose cell is {shorten(mark.cell)}; expected two integers, x and y")
    x, y = cell.tolist()
    if not (0 <= x < config.width and 0 <= y < config.height):
        expected = f"expected x from 0 to {config.width - 1} and y from 0 to {config.height - 1}, or no mark"
        raise ValueError(f"{where} yields a mark in the cell ({x}, {y}), outside the grid; {expected}")
    if not isinstance(colour, str) or not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        expected = "expected '#rrggbb', such as '#ff0000' for red"
        raise ValueError(f"{where} yields a mark of the colour {shorten(colour)}; {expected}")
    if not isinstance(letter, str) or len(letter) > _MOST_LETTERS or not letter.isprintable():
        raise ValueError(f"{where} yields a mark with the letter {shorten(letter)}; expected at most two letters")
    return Mark((x, y), colour.lower(), letter)


def format_scene(config: GridConfig, scene: Scene) -> str:
    """Return a scene as text: the map by `multigrid.maps.format_map`, in a game with its marks.

    A mark is the colour behind a cell, in ANSI escape codes, with its first letter where no agent and no target is.
    """
    cells = (scene.agents, scene.targets) if config.has_targets else (scene.agents,)
    text = format_map(scene.walls, *(np.where(scene.present[:, None], at, -1) for at in cells))
    lines = [list(line) for line in text.split("\n")]
    for (x, y), mark in {mark.cell: mark for mark in scene.marks}.items():
        character = lines[y][x] if lines[y][x].isalpha() or not mark.letter else mark.letter[0]
        ground = parse_colour(mark.colour)
        codes = ";".join(f"{code};2;{r};{g};{b}" for code, (r, g, b) in ((48, ground), (38, contrast(ground))))
        lines[y][x] = f"\x1b[{codes}m{character}\x1b[0m"
    return "\n".join(map("".join, lines))


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
        marks=() if episode.marks is None else episode.marks[step],
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
