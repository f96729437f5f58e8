"""Path-finding problems, with or without a recorded episode, and their files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import string
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid._files import read_bytes, replace_file
from multigrid.config import GridConfig
from multigrid.core import generators
from multigrid.core.rules import RULES_VERSION
from multigrid.core.states import VERSION
from multigrid.envs._reset_arguments import check_options, read_own
from multigrid.envs.parallel import MultiGridEnv
from multigrid.game import Game, OtherGameError
from multigrid.games._stored import find_stored, name_game
from multigrid.maps._layouts import RANDOM_LAYOUT, holds_lists, to_lists
from multigrid.maps._text import ParsedMap, format_map, parse_map

SCHEMA_VERSION = 1
"""The version of the file format."""

ABSENT = -1
"""The action in `Scenario.actions` of an agent that has left."""

NOT_STORED = ("version", "map_index", "np_random")
"""What a stored start lacks of a state: there is one map, unless it is of the game, and the generator has a place of
its own."""

_FORMAT = "multigrid scenario"
_LARGEST_BYTE = 127
_NO_RULES = ("size", "num_agents", "walls", "game", "options", "delays", "least_agents")
_OPTIONAL = ("options", "delays", "least_agents")
# A game may have more than ten actions.
_ACTIONS = string.digits + string.ascii_letters + "+/"
RULES = tuple(one.name for one in dataclasses.fields(GridConfig) if one.name not in _NO_RULES)
"""The fields of a configuration that hold rules and observations, not maps."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario:
    """A path-finding problem: a map, starts, targets and a configuration; with actions, a recorded episode.

    Of a game, and with delays or drawn agents, it is a map, a configuration and the whole state at the start. Two
    scenarios are equal if their files are.

    Raises:
        TypeError, ValueError: a field is not as described.

    >>> scenario = Scenario("pass", GridConfig(walls="a.A", max_cycles=9))
    >>> observations, infos = scenario.env().reset()
    >>> infos
    {'agent_0': {'distance': 2.0, 'outcome': 1, 'arrived': 0}}
    """

    name: str
    """The name, in messages and as the title of the page."""
    config: GridConfig
    """The configuration. Its ``walls`` are one map with agents and targets, so every reset has this layout; in a game,
    and with delays, one map, or None if the game has its own."""
    stream: dict[str, Any] | None = None
    """Under *restart*, the state after the reset of the PCG64 generator that samples new targets; None under other
    rules, and for lists of targets. In a game, and with delays or drawn agents, always this state."""
    actions: NDArray[np.signedinteger[Any]] | None = None
    """int8 (T, N), int64 for many actions: those of a recorded episode, `ABSENT` for agents that had left; or None."""
    digests: tuple[str, ...] | None = None
    """T + 1 strings: after the reset and after each step, eight hexadecimal digits of a running SHA-256 of all
    observations, rewards, flags, distances and outcomes."""
    start: dict[str, Any] | None = None
    """In a game, and with delays or drawn agents, the state after the reset, as `multigrid.MultiGridEnv.get_state`
    returns it, but for the version, the generator and, unless the game has its own maps, the map; None for other
    worlds."""

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise ValueError(f"name is {shorten(name)}; expected a text")
        if not isinstance(self.config, GridConfig):
            raise TypeError(f"config is of type {type(self.config).__name__}; expected a GridConfig")
        draws = self.config.on_target == "restart" and self.config.target_lists is None
        if needs_start(self.config):
            self._check_start()
            draws = True
        elif not isinstance(self.config.walls, ParsedMap) or self.config.num_maps != 1:
            raise ValueError("config has no layout; expected its walls to be one picture with agents and targets")
        elif self.start is not None:
            raise ValueError("there is a start, but neither a game, nor delays, nor drawn agents; expected None")
        if (self.stream is not None) != draws:
            raise ValueError(
                f"stream is {shorten(self.stream)}; expected the state of a PCG64 generator under on_target='restart' "
                "without lists of targets, which are drawn from it, in games and with delays, and None otherwise"
            )
        if draws:
            self._generator()
        if (self.actions is None) != (self.digests is None):
            raise ValueError("expected both actions and digests, or neither")
        if self.actions is not None and self.digests is not None:
            object.__setattr__(self, "actions", _check_actions(self.actions, self.config))
            object.__setattr__(self, "digests", _check_digests(self.digests, len(self.actions)))
        if self.start is not None:
            self.env().reset()

    def _check_start(self) -> None:
        if self.config.num_maps != 1 and not self.config.has_own_maps:
            raise ValueError(f"config has {self.config.num_maps} maps; expected one, that of the start")
        if self.start is None:
            what = (
                "has delays or drawn agents"
                if self.config.game is None
                else f"is of the game {self.config.game.__name__}"
            )
            raise ValueError(
                f"config {what}, and start is None; expected the state after the reset, as "
                "RecordEpisode.scenario() returns it"
            )

    def env(self, render_mode: str | None = None) -> MultiGridEnv:
        """Return an environment that resets to this layout; its first episode has the recorded targets of *restart*.

        In a game, and with delays or drawn agents, each episode begins in the recorded state, with the recorded
        generator or, after a reset with a seed, with that of the seed.

        >>> Scenario("pass", GridConfig(walls="a.A")).env().possible_agents
        ['agent_0']
        """
        if self.start is not None:
            return StartedEnv(self.config, render_mode, {**self.start, "np_random": self.stream})
        env = MultiGridEnv(self.config, render_mode)
        if self.stream is not None:
            env.np_random = self._generator()
        return env

    def _generator(self) -> np.random.Generator:
        message = f"stream is {shorten(self.stream)}; expected the state of a PCG64 generator"
        try:
            bits = generators.make_pcg64(self.stream)
        except ValueError as error:
            raise ValueError(f"{message}: {error}") from error
        # A state with additional entries would give an unequal scenario with the same episodes.
        if bits.state != self.stream:
            raise ValueError(message)
        return np.random.Generator(bits)

    def __eq__(self, other: object) -> bool:
        return _text(self) == _text(other) if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(_text(self))


class StartedEnv(MultiGridEnv[Any]):
    """An environment whose episodes begin in a stored state.

    `start` has neither the version nor, unless the game has its own maps, the map.
    """

    def __init__(self, config: GridConfig, render_mode: str | None, start: dict[str, Any]) -> None:
        super().__init__(config, render_mode)
        self._start = {"map_index": 0, **start, "version": VERSION}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode. A seed begins new random streams; options of a layout or of the game replace the start."""
        maps, layout = check_options(options, self.config, np.zeros(1, np.int64))
        is_set = maps is not None or layout is not RANDOM_LAYOUT or (options or {}).get("level") is not None
        if is_set or read_own(options, self._worlds, 1):
            return super().reset(seed=seed, options=options)
        stream = {}
        if seed is not None:
            super().reset(seed=seed)
            begun_state: dict[str, Any] = dict(self.get_state())
            stream = {name: begun_state[name] for name in ("delay_streams",) if name in begun_state}
            stream["np_random"] = np.random.PCG64(seed).state
        self.set_state(self._start | stream)
        self._update_window()
        return self.observe_all()


def read_start(config: GridConfig, stored: dict[str, Any]) -> dict[str, Any]:
    """Return a state that was stored as lists in the types of arrays that an environment has."""
    env: MultiGridEnv[Any] = MultiGridEnv(config)
    env.reset(seed=0)
    known = {name: np.asarray(value) for name, value in env.get_state().items() if name not in NOT_STORED}
    start = {}
    for name, value in stored.items():
        # Lists of targets are in the state of those worlds alone that have some.
        array = np.array(value, known[name].dtype if name in known else np.int64)
        # An array of (0, 4) is stored as [].
        is_empty = name in known and array.size == known[name].size == 0
        start[name] = array.reshape(known[name].shape) if is_empty else array[()]
    return start


def needs_start(config: GridConfig) -> bool:
    """Return whether a scenario has the whole state at the start, for a layout does not determine its episode."""
    return config.game is not None or config.delays is not None or config.least_agents is not None


def save(scenario: Scenario, path: str | PathLike[str]) -> None:
    """Write a scenario to a JSON file, as a whole or not at all.

    Equal scenarios give equal bytes. The file holds the versions of its format and of the rules, and a SHA-256 of all
    its other content.

    Raises:
        TypeError: `scenario` is not a Scenario.
        OSError: the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Scenario("pass", GridConfig(walls="a.A")), Path(folder) / "pass.json")
    ...     load(Path(folder) / "pass.json").name
    'pass'
    """
    if not isinstance(scenario, Scenario):
        raise TypeError(f"scenario is of type {type(scenario).__name__}; expected a Scenario")
    with replace_file(Path(path)) as temporary:
        temporary.write_bytes(_text(scenario).encode())


def load(path: str | PathLike[str], game: type[Game] | None = None) -> Scenario:
    """Read a scenario that `save` wrote.

    Args:
        path: the file. It names a game by its name and version, and has no code.
        game: the game of the file, if it has one that is neither of this package nor registered with
            `multigrid.register`.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is too large, not a regular file, or not a scenario; has another version of the format or
            of the rules; or has been changed since it was written; or its game, in its version, is not found, or one
            is passed that it has not. The message names the file.
    """
    try:
        return _read(Path(path), game)
    except RecursionError as error:
        raise ValueError(f"{path} has too many lists in one another; expected a scenario that save wrote") from error


def _read(path: Path, game: type[Game] | None) -> Scenario:
    content: Any = read_bytes(path)
    try:
        text = content.decode()
        content = json.loads(text)
    except ValueError as error:
        expected = "expected a scenario that multigrid.scenarios.save wrote"
        raise ValueError(f"{path} is not JSON: {error}; {expected}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"{path} is not a scenario; expected JSON with the format {_FORMAT!r}")
    for key, what, version in (("schema", "form", SCHEMA_VERSION), ("rules", "rules", RULES_VERSION)):
        if content.get(key) != version:
            raise ValueError(
                f"{path} is written for version {shorten(content.get(key))} of the {what}, but this multigrid has "
                f"version {version}; use the multigrid that wrote it, or create the scenario again"
            )
    if content.get("checksum") != _checksum(content) or text != _render(content):
        changed = f"{path} has been changed since it was written: its checksum is not that of its content"
        raise ValueError(f"{changed}. Copies that convert line ends change a file, too")
    try:
        scenario = _scenario(content, find_stored(content.get("game"), game))
        # A key that is unknown, or left out, or a value that is converted, such as 1.0 or "+1" to 1, gives other bytes.
        if _text(scenario) != text:
            raise ValueError("it is not as multigrid.scenarios.save would write it")  # noqa: TRY301 - one of many
    except OtherGameError as error:
        raise ValueError(f"{path}: {error}") from error
    except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} has a right checksum but is not a scenario: {error}") from error
    return scenario


def _check_actions(actions: Any, config: GridConfig) -> NDArray[np.signedinteger[Any]]:
    array = np.asarray(actions)
    last = (config.num_actions << config.message_bits) - 1
    expected = f"expected integers (T, {config.num_agents}) from 0 to {last}, or {ABSENT}"
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"actions are of {array.dtype}; {expected}")
    if array.ndim != 2 or array.shape[1] != config.num_agents:
        raise ValueError(f"actions have the shape {array.shape}; {expected}")
    if ((array < ABSENT) | (array > last)).any():
        raise ValueError(f"actions go from {array.min()} to {array.max()}; {expected}")
    array = array.astype(np.int8 if last <= _LARGEST_BYTE else np.int64)
    array.setflags(write=False)
    return array


def _check_digests(digests: Any, num_steps: int) -> tuple[str, ...]:
    good = all(isinstance(one, str) and re.fullmatch("[0-9a-f]{8}", one) for one in digests)
    if not good or len(digests) != num_steps + 1:
        expected = f"expected {num_steps + 1} of 8 hexadecimal digits, for the reset and each step"
        raise ValueError(f"digests has {len(digests)} entries; {expected}")
    return tuple(digests)


def _text(scenario: Scenario) -> str:
    config, stream, actions = scenario.config, scenario.stream, scenario.actions
    if stream is not None:
        # Hexadecimal, because few JSON readers besides Python's keep 128-bit integers.
        words = {key: f"{stream['state'][key]:032x}" for key in ("state", "inc")}
        stream = words | {key: int(stream[key]) for key in ("has_uint32", "uinteger")}
    given = config.to_dict()
    content: dict[str, Any] = {
        "format": _FORMAT,
        "schema": SCHEMA_VERSION,
        "rules": RULES_VERSION,
        "name": scenario.name,
        "config": {key: given.get(key, config.max_cycles) for key in RULES if key in {*given, "max_cycles"}},
        **({} if config.game is None else {"game": name_game(config.game), "options": config.options}),
        **{key: value for key, value in given.items() if key in {"delays", "least_agents"}},
        "map": format_map(config.is_wall[(scenario.start or {}).get("map_index", 0)]).split("\n"),
        **_start_fields(scenario),
        "stream": stream,
        "actions": None if actions is None else [_write_actions(row) for row in actions.tolist()],
        "digests": scenario.digests,
    }
    return _render({**content, "checksum": _checksum(content)})


def _start_fields(scenario: Scenario) -> dict[str, Any]:
    """Return the agents and the targets, or the whole state, for JSON."""
    if scenario.start is not None:
        return {"start": {name: np.asarray(array).tolist() for name, array in scenario.start.items()}}
    config: Any = scenario.config
    agents, targets = config.walls.agents[0], config.walls.targets[0]
    lists = targets.tolist() if config.target_lists is None else to_lists(targets)
    return {"agents": agents.tolist(), "targets": lists}


def _write_actions(row: list[int]) -> str | list[int]:
    # With bits of a message there are more actions than letters.
    if max(row) >= len(_ACTIONS):
        return row
    return "".join("-" if action == ABSENT else _ACTIONS[action] for action in row)


def _scenario(content: dict[str, Any], game: type[Game] | None) -> Scenario:
    if content["config"].keys() | {"rgb_tile", "message_bits"} != set(RULES):
        raise ValueError(f"its config has the keys {shorten(list(content['config']))}")
    walls = parse_map("\n".join(content["map"])).walls
    start = None
    if "start" not in content:
        agents, targets = (
            cells if holds_lists(cells) else np.array(cells, dtype=np.int64)
            for cells in (content["agents"], content["targets"])
        )
        config = GridConfig(walls=ParsedMap(walls, agents, targets), **content["config"])
    else:
        rules = {**content["config"], "game": game, **{name: content.get(name) for name in _OPTIONAL}}
        own = None if "map_index" in content["start"] else walls
        config = GridConfig(walls=own, num_agents=len(content["start"]["location"]), **rules)
        start = read_start(config, content["start"])
    stream, actions = content["stream"], content["actions"]
    if stream is not None:
        words = {key: int(stream[key], 16) for key in ("state", "inc")}
        rest = {key: stream[key] for key in ("has_uint32", "uinteger")}
        stream = {"bit_generator": "PCG64", "state": words, **rest}
    if actions is not None:
        # What is no action becomes ABSENT; unless it was "-", it would be written otherwise, and is refused for that.
        rows = [row if isinstance(row, list) else [_ACTIONS.find(one) for one in row] for row in actions]
        actions = np.array(rows, dtype=np.int64).reshape(len(rows), -1 if rows else config.num_agents)
    return Scenario(content["name"], config, stream, actions, content["digests"], start)


def _checksum(content: dict[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(_render(rest).encode()).hexdigest()


def _render(content: dict[str, Any]) -> str:
    """Return JSON with a line for each key, and for each row of the map and of the actions."""
    lines = []
    for key, value in content.items():
        if key in ("map", "actions") and isinstance(value, list) and value:
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
