"""Path-finding problems, with or without a recorded episode, and their files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid._files import read_bytes, replace_file
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps._target_lists import holds_lists, to_lists
from multigrid.maps._text import ParsedMap, format_map, parse_map
from multigrid.runtime import generators

SCHEMA_VERSION = 1
"""The version of the file format."""

ABSENT = -1
"""The action in `Scenario.actions` of an agent that has left."""

_FORMAT = "multigrid scenario"
RULES = tuple(one.name for one in dataclasses.fields(GridConfig) if one.name not in ("size", "num_agents", "walls"))
"""The fields of a configuration that hold rules and observations, not maps."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario:
    """A path-finding problem: a map, starts, targets and a configuration; with actions, a recorded episode.

    Two scenarios are equal if their files are.

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
    """The configuration. Its ``walls`` are one map with agents and targets, so every reset has this layout."""
    stream: dict[str, Any] | None = None
    """Under *restart*, the state after the reset of the PCG64 generator that samples new targets; None under other
    rules, and for lists of targets."""
    actions: NDArray[np.int8] | None = None
    """int8 (T, N): the actions of a recorded episode, `ABSENT` for agents that had left; or None."""
    digests: tuple[str, ...] | None = None
    """T + 1 strings: after the reset and after each step, eight hexadecimal digits of a running SHA-256 of all
    observations, rewards, flags, distances and outcomes."""

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise ValueError(f"name is {shorten(name)}; expected a text")
        if not isinstance(self.config, GridConfig):
            raise TypeError(f"config is of type {type(self.config).__name__}; expected a GridConfig")
        if not isinstance(self.config.walls, ParsedMap) or self.config.num_maps != 1:
            raise ValueError("config has no layout; expected its walls to be one picture with agents and targets")
        draws = self.config.on_target == "restart" and self.config.target_lists is None
        if (self.stream is not None) != draws:
            raise ValueError(
                f"stream is {shorten(self.stream)}; expected the state of a PCG64 generator under on_target='restart' "
                "without lists of targets, which are drawn from it, and None otherwise"
            )
        if draws:
            self._generator()
        if (self.actions is None) != (self.digests is None):
            raise ValueError("expected both actions and digests, or neither")
        if self.actions is not None and self.digests is not None:
            object.__setattr__(self, "actions", _check_actions(self.actions, self.config))
            object.__setattr__(self, "digests", _check_digests(self.digests, len(self.actions)))

    def env(self, render_mode: str | None = None) -> MultiGridEnv:
        """Return an environment that resets to this layout; its first episode has the recorded targets of *restart*.

        >>> Scenario("pass", GridConfig(walls="a.A")).env().possible_agents
        ['agent_0']
        """
        env = MultiGridEnv(self.config, render_mode)
        if self.stream is not None:
            env.np_random = self._generator()
        return env

    def _generator(self) -> np.random.Generator:
        message = f"stream is {shorten(self.stream)}; expected the state of a PCG64 generator"
        try:
            bits = generators.make_bit_generator(self.stream)
        except ValueError as error:
            raise ValueError(f"{message}: {error}") from error
        # A state with additional entries would give an unequal scenario with the same episodes.
        if type(bits) is not np.random.PCG64 or bits.state != self.stream:
            raise ValueError(message)
        return np.random.Generator(bits)

    def __eq__(self, other: object) -> bool:
        return _text(self) == _text(other) if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(_text(self))


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


def load(path: str | PathLike[str]) -> Scenario:
    """Read a scenario that `save` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is too large, not a regular file, or not a scenario; has another version of the format or
            of the rules; or has been changed since it was written. The message names the file.
    """
    try:
        return _read(Path(path))
    except RecursionError as error:
        raise ValueError(f"{path} has too many lists in one another; expected a scenario that save wrote") from error


def _read(path: Path) -> Scenario:
    content: Any = read_bytes(path)
    try:
        text = content.decode()
        content = json.loads(text)
    except ValueError as error:
        expected = "expected a scenario that multigrid.scenarios.save wrote"
        raise ValueError(f"{path} is not JSON: {error}; {expected}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"{path} is no scenario; expected JSON with the format {_FORMAT!r}")
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
        scenario = _scenario(content)
        # A key that is unknown, or left out, or a value that is converted, such as 1.0 or "+1" to 1, gives other bytes.
        if _text(scenario) != text:
            raise ValueError("it is not as multigrid.scenarios.save would write it")  # noqa: TRY301 - one of many
    except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} has a right checksum but is no scenario: {error}") from error
    return scenario


def _check_actions(actions: Any, config: GridConfig) -> NDArray[np.int8]:
    array = np.asarray(actions)
    expected = f"expected integers (T, {config.num_agents}) from 0 to {config.num_actions - 1}, or {ABSENT}"
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"actions are of {array.dtype}; {expected}")
    if array.ndim != 2 or array.shape[1] != config.num_agents:
        raise ValueError(f"actions have the shape {array.shape}; {expected}")
    if ((array < ABSENT) | (array >= config.num_actions)).any():
        raise ValueError(f"actions go from {array.min()} to {array.max()}; {expected}")
    array = array.astype(np.int8)
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
    walls, agents, targets = (field[0] for field in config.walls)
    if stream is not None:
        # Hexadecimal, because few JSON readers besides Python's keep 128-bit integers.
        words = {key: f"{stream['state'][key]:032x}" for key in ("state", "inc")}
        stream = words | {key: int(stream[key]) for key in ("has_uint32", "uinteger")}
    content = {
        "format": _FORMAT,
        "schema": SCHEMA_VERSION,
        "rules": RULES_VERSION,
        "name": scenario.name,
        "config": {key: getattr(config, key) for key in RULES},
        "map": format_map(walls).split("\n"),
        "agents": agents.tolist(),
        "targets": targets.tolist() if config.target_lists is None else to_lists(targets),
        "stream": stream,
        "actions": None if actions is None else [_write_actions(row) for row in actions.tolist()],
        "told": scenario.digests,
    }
    return _render({**content, "checksum": _checksum(content)})


def _write_actions(row: list[int]) -> str:
    return "".join("-" if action == ABSENT else str(action) for action in row)


def _scenario(content: dict[str, Any]) -> Scenario:
    if content["config"].keys() != set(RULES):
        raise ValueError(f"its config has the keys {shorten(list(content['config']))}")
    walls = parse_map("\n".join(content["map"])).walls
    agents, targets = (
        cells if holds_lists(cells) else np.array(cells, dtype=np.int64)
        for cells in (content["agents"], content["targets"])
    )
    config = GridConfig(walls=ParsedMap(walls, agents, targets), **content["config"])
    stream, actions = content["stream"], content["actions"]
    if stream is not None:
        words = {key: int(stream[key], 16) for key in ("state", "inc")}
        rest = {key: stream[key] for key in ("has_uint32", "uinteger")}
        stream = {"bit_generator": "PCG64", "state": words, **rest}
    if actions is not None:
        rows = [[ABSENT if letter == "-" else int(letter) for letter in row] for row in actions]
        actions = np.array(rows, dtype=np.int64).reshape(len(rows), -1 if rows else config.num_agents)
    return Scenario(content["name"], config, stream, actions, content["told"])


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
