"""``multigrid play``: steer one agent with the keyboard; the others follow a policy."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

import multigrid.scenarios
from multigrid.cli._files import check_writable, date_names
from multigrid.cli._options import Range, WorldOptions, check_map, check_numbers, parse_flags
from multigrid.cli.play.screen import Screen
from multigrid.cli.play.session import Others, Session
from multigrid.cli.play.window import KeyboardController, NoDisplayError, open_window, show
from multigrid.scenarios.worlds import find_scenario

__all__ = ["PlayOptions", "main", "play"]


@dataclasses.dataclass(frozen=True)
class PlayOptions(WorldOptions):
    """Play with the keyboard.

    Arrows or WASD move one agent in the direction on the screen, X or . stays (with --allow-stay), Tab and Shift+Tab
    select another agent. Each key for an action plays a step. Space or P lets time run: while no key is pressed, the
    agent then stays or, in a world without that action, repeats its last action. Backspace takes a step back, R
    restarts the layout, N begins another one, F saves a recording of the episode, without the steps taken back. Escape
    or Q quits.
    """

    scenario: str | None = None
    """A scenario file, or the name of one of the suite, to play in its own layout instead of the world."""
    seed: Annotated[int | None, Range(0, 2**63 - 1)] = None
    """The seed of the layouts and of the other agents; by default a random one."""
    others: Others = "shortest-path"
    """The policy of the other agents. Idle agents stay, and those of the planner pibt and of the learned pretrained,
    alone or with a shield, wait for one another; a world of several agents is then played with --allow-stay."""
    record: Path | None = None
    """The file to which F saves the recording. If F was not pressed, the episode is saved there at the end. By default
    F saves to play-DATE-TIME.json."""
    fps: Annotated[int, Range(1, 60)] = 4
    """Steps per second while time runs."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return play(parse_flags(PlayOptions, arguments, "multigrid play"))


def play(options: PlayOptions) -> int:
    """Open a window and play in it until it is closed.

    Returns:
        0, or 1 if there is no display.

    Raises:
        ValueError: an option is out of range.
        OSError: the scenario cannot be read, or the recording cannot be written.
    """
    _check(options)
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if options.seed is None else options.seed
    world = options.grid if options.scenario is None else find_scenario(options.scenario)
    session = Session(world, seed, options.others)
    saver = _Saver(session, options.record)
    try:
        with open_window(Screen.first_size(session)):
            show(KeyboardController(session, saver.save), Screen(), options.fps)
    except NoDisplayError as error:
        sys.stderr.write(
            f"multigrid play: {error}. On a machine without a screen, use `multigrid rollout`, or run it under "
            "xvfb-run or with ssh -X\n"
        )
        return 1
    if options.record is not None and not saver.saved:
        saver.write(options.record)
    return 0


@dataclasses.dataclass
class _Saver:
    """Save recordings of a session to `path` or, without one, to play-DATE-TIME.json."""

    session: Session
    path: Path | None
    saved: bool = False

    def save(self) -> str:
        """Save the episode so far; return a message that names the file or the error."""
        free = (path for name in date_names() if not (path := Path(f"play-{name}.json")).exists())
        path = self.path or next(free)
        try:
            self.write(path)
        except (OSError, ValueError) as error:
            return f"Not saved: {error}"
        self.saved = True
        return f"Saved to {path}: {self.session.steps} steps"

    def write(self, path: Path) -> None:
        multigrid.scenarios.save(self.session.recording(), path)


def _check(options: PlayOptions) -> None:
    check_numbers(options)
    check_map(options)
    if options.map and options.scenario is not None:
        raise ValueError("--map and --scenario say different worlds; expected one of them")
    if options.record is not None:
        check_writable("--record", options.record.parent, options.record.name)
        if options.record.is_dir() or not options.record.name:
            raise ValueError(f"--record is {options.record}, which is a folder; expected a file")
        if not options.record.parent.is_dir():
            raise ValueError(f"--record is {options.record}, but there is no folder {options.record.parent}")
