"""``multigrid play``: steer one agent with the keyboard; the others follow a policy."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pygame

import multigrid.scenarios
from multigrid._checks import find_nearest, shorten
from multigrid.cli._files import check_writable, date_names
from multigrid.cli._models import has_models, trained_config
from multigrid.cli._options import Range, WorldOptions, check_numbers, fill_options, read_given
from multigrid.cli._play_screen import Screen
from multigrid.cli._play_session import OTHERS, Session, find_idle, find_own_keys, find_ways, moves_by_sight
from multigrid.games._files import find_game
from multigrid.rendering._backend import has_display
from multigrid.scenarios._worlds import find_scenario

_ARROWS = {"up": pygame.K_UP, "down": pygame.K_DOWN, "left": pygame.K_LEFT, "right": pygame.K_RIGHT}
_LETTERS = {"up": pygame.K_w, "left": pygame.K_a, "down": pygame.K_s, "right": pygame.K_d}
_STAY = (pygame.K_x, pygame.K_PERIOD)
_LOOK_UP = 100  # the longest delay, in milliseconds, before Ctrl-C in the terminal is noticed


@dataclasses.dataclass(frozen=True)
class PlayOptions(WorldOptions):
    """Play with the keyboard.

    Arrows or WASD move one agent in the direction on the screen, X or . stays (with --allow-stay), Tab and Shift+Tab
    select another agent. The actions of a game of your own (--game) have the keys 1 to 9, 0, and then the free letters,
    as the window shows. Each key for an action plays a step. Space or P lets time run: while no key is pressed, the
    agent then stays or, in a world without that action, repeats its last action. R restarts the layout, N begins
    another one, F saves a recording of the episode. Escape or Q quits.
    """

    scenario: str | None = None
    """A scenario file, or the name of one of the suite, to play in its own layout instead of the world."""
    seed: Annotated[int | None, Range(0, 2**63 - 1)] = None
    """The seed of the layouts and of the other agents; by default a random one."""
    others: str = "shortest-path"
    """The policy of the other agents: idle, random, shortest-path, pibt, pretrained, pretrained-messages or
    pretrained-shield (with --game, idle or random, the default), or the folder of a training run or of a pool, whose
    world is then the default. Each new layout has a pool's next policy. Idle agents stay, and those of the planner pibt
    and of the pretrained policy wait for one another; a world of several agents is then played with --allow-stay."""
    record: Path | None = None
    """The file to which F saves the recording. If F was not pressed, the episode is saved there at the end. By default
    F saves to play-DATE-TIME.json."""
    fps: Annotated[int, Range(1, 60)] = 4
    """Steps per second while time runs."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    given = read_given(PlayOptions, arguments, "multigrid play")
    game, _ = find_game(given.get("game"))
    if game is not None:
        given.setdefault("others", "random")
    others = given.get("others", PlayOptions.others)
    names = ("idle", "random") if game else tuple(OTHERS)
    if others not in names and not has_models(Path(others)):
        near = find_nearest(others, names, 0.6)
        meant = f" (did you mean {near}?)" if near else ""
        raise ValueError(
            f"--others is {shorten(others)}{meant}; expected {', '.join(names)}, or the folder of a training run or of "
            "a pool"
        )
    start = None if others in names else PlayOptions(grid=trained_config(Path(others), game))
    return play(fill_options(PlayOptions, given, start))


def play(options: PlayOptions) -> int:
    """Open a window and play in it until it is closed; return 0, or 1 if there is no display."""
    check_numbers(options)
    if options.map and options.scenario is not None:
        raise ValueError("--map and --scenario say different worlds; expected one of them")
    file = options.record
    if file is not None:
        check_writable("--record", file.parent, file.name)
        if file.is_dir() or not file.name:
            raise ValueError(f"--record is {file}, which is a folder; expected a file")
        if not file.parent.is_dir():
            raise ValueError(f"--record is {file}, but there is no folder {file.parent}")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if options.seed is None else options.seed
    world = options.grid if options.scenario is None else find_scenario(options.scenario, options.grid.game)
    session = Session(world, seed, options.others)
    saver = _Saver(session, file)
    try:
        with open_window(Screen.first_size(session)):
            show(KeyboardController(session, saver.save), Screen(), options.fps)
    except NoDisplayError as error:
        advice = "On a machine without a screen, use `multigrid rollout`, or run it under xvfb-run or with ssh -X"
        sys.stderr.write(f"multigrid play: {error}. {advice}\n")
        return 1
    if file is not None and not saver.saved:
        multigrid.scenarios.save(session.recording(), file)
    return 0


class _Saver:
    """Save recordings of a session to a path or, without one, to play-DATE-TIME.json."""

    def __init__(self, session: Session, path: Path | None) -> None:
        self._session, self._path, self.saved = session, path, False

    def save(self) -> str:
        """Save the episode so far; return a message that names the file or the error."""
        free = (path for name in date_names() if not (path := Path(f"play-{name}.json")).exists())
        path = self._path or next(free)
        try:
            multigrid.scenarios.save(self._session.recording(), path)
        except (OSError, ValueError) as error:
            return f"Not saved: {error}"
        self.saved = True
        return f"Saved to {path}: {self._session.steps} steps"


class NoDisplayError(RuntimeError):
    """There is no display for a window."""


class KeyboardController:
    """Apply keys to a session; `save` saves the recording and returns a message for the player.

    While time runs, each tick plays a step, with the action of the last key since the previous tick. If no key was
    pressed, the agent stays or, in a world without that action, repeats its last action, if there is one.
    """

    def __init__(self, session: Session, save: Callable[[], str]) -> None:
        self.session, self.running, self.done = session, False, False
        self._next_action: int | None = None
        self._idle = self._last = find_idle(session.config)
        self._held: set[int] = set()
        ways = find_ways(session.config)
        sight: dict[str, int] = {**moves_by_sight()} if ways is None else ways
        self._moves: dict[int, int] = {
            table[way]: action for table in (_ARROWS, _LETTERS) for way, action in sight.items()
        }
        if self._idle is not None:
            self._moves |= dict.fromkeys(_STAY, self._idle)
        # The codes of keys with characters are those of the characters.
        self._moves |= {ord(key): number for key, (number, _) in find_own_keys(session.config).items()}
        self._commands: dict[int, Callable[[], object]] = {
            pygame.K_r: lambda: self._pause(session.restart),
            pygame.K_n: lambda: self._pause(session.next_layout),
            pygame.K_f: lambda: setattr(session, "note", save()),
            pygame.K_p: self._toggle,
            pygame.K_SPACE: self._toggle,
            pygame.K_ESCAPE: self._quit,
            pygame.K_q: self._quit,
        }

    def handle_all(self, events: Sequence[pygame.event.Event]) -> None:
        """Handle events, but ignore repeats of a key that was released meanwhile: the program was busy."""
        for number, event in enumerate(events):
            ups = [later.key for later in events[number:] if later.type == pygame.KEYUP]
            if not (event.type == pygame.KEYDOWN and event.key in self._held and event.key in ups):
                self.handle(event)

    def handle(self, event: pygame.event.Event) -> None:
        """Handle an event of pygame."""
        if event.type == pygame.QUIT:
            self._quit()
        elif event.type == pygame.KEYUP:
            self._held.discard(event.key)
        elif event.type == pygame.KEYDOWN:
            # A held key repeats moves, but does not restart, save or pause twice.
            first = event.key not in self._held
            self._held.add(event.key)
            if event.key in self._moves:
                self._move(self._moves[event.key])
            elif event.key == pygame.K_TAB:
                self._next_action = None
                self.session.choose(-1 if event.mod & pygame.KMOD_SHIFT else 1)
            elif first and event.key in self._commands:
                self._commands[event.key]()

    def tick(self) -> None:
        """Play a step, if time runs."""
        action = self._last if self._next_action is None else self._next_action
        self._next_action = None
        if self.running and action is not None:
            self.session.play(action)
            self.running = not self.session.over

    def _move(self, action: int) -> None:
        if self.running:
            self._next_action = action
        else:
            self.session.play(action)
        if self._idle is None:
            self._last = action

    def _pause(self, change: Callable[[], object]) -> None:
        self.running, self._next_action = False, None
        change()

    def _toggle(self) -> None:
        self._next_action = None
        self.running = not self.running and not self.session.over
        self.session.note = "Time waits for your first key" if self.running and self._last is None else ""

    def _quit(self) -> None:
        self.done = True


@contextlib.contextmanager
def open_window(size: tuple[int, int]) -> Iterator[Any]:
    """Open a resizable window, and close it at the end; without a display, raise a NoDisplayError."""
    try:
        pygame.display.init()
        if not has_display():
            raise NoDisplayError("there is no display to open a window on")
        pygame.display.set_caption("multigrid play")
        # At most as large as the desktop leaves room for, whose size may be unknown.
        desktop, shares = pygame.display.get_desktop_sizes()[0], (0.96, 0.9)
        room = (max(640, round(share * length)) for share, length in zip(shares, desktop, strict=True))
        pygame.display.set_mode(tuple(map(min, size, room)), pygame.RESIZABLE)
        pygame.key.set_repeat(350, 90)  # milliseconds until a key repeats, and between repetitions
        yield pygame.display
    except pygame.error as error:
        raise NoDisplayError(f"no window can be opened: {error}") from error
    finally:
        pygame.display.quit()


def show(controller: KeyboardController, screen: Screen, ticks_per_second: int) -> None:
    """Play in the open window until it is closed."""
    due = time.monotonic()
    while not controller.done:
        surface = pygame.display.get_surface()
        assert surface is not None
        screen.draw(surface, controller.session, running=controller.running)
        pygame.display.flip()
        # Wait for an event, at most until the next step is due.
        waits = min(_LOOK_UP, round(1000 * (due - time.monotonic()))) if controller.running else _LOOK_UP
        controller.handle_all([pygame.event.wait(max(1, waits)), *pygame.event.get()])
        if controller.running and time.monotonic() >= due:
            controller.tick()
            due = time.monotonic() + 1 / ticks_per_second
