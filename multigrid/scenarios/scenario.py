"""A scenario: one problem of path finding, and perhaps an episode of it; and the files that hold it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import string
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shown
from multigrid._files import bytes_of, replaced
from multigrid.config import GridConfig
from multigrid.core import generators
from multigrid.core.rules import RULES_VERSION
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps.text import Picture, format_map, parse_map

__all__ = ["ABSENT", "SCHEMA_VERSION", "Scenario", "load", "save"]

SCHEMA_VERSION = 1
"""The form of the files; raised when it changes."""

ABSENT = -1
"""In `Scenario.actions`: the agent had left already."""

_FORMAT = "multigrid scenario"
_DIGEST_LENGTH = 8
_ABSENT_LETTER = "-"
_KEYS = ("format", "schema", "rules", "name", "config", "map", "agents", "targets", "stream", "actions", "told")
_STREAM_KEYS = ("state", "inc", "has_uint32", "uinteger")
# The map and its letters say what these three fields say.
_CONFIG_KEYS = tuple(
    field.name for field in dataclasses.fields(GridConfig) if field.name not in ("size", "num_agents", "walls")
)


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario:
    """A map, starts, targets and a configuration; for a recorded episode also its actions.

    Two scenarios are equal when their files are.

    Raises:
        TypeError, ValueError: a field is not what it says.

    >>> scenario = Scenario("pass", GridConfig(walls="a.A", max_cycles=9))
    >>> observations, infos = scenario.env().reset()
    >>> infos
    {'agent_0': {'distance': 2.0, 'outcome': 1}}
    """

    name: str
    """What people call it."""
    config: GridConfig
    """Its ``walls`` are one picture with agents and targets, so that every reset has this layout."""
    stream: dict[str, Any] | None = None
    """The state of the PCG64 generator after the reset, which *restart* draws new targets from; else None."""
    actions: NDArray[np.int8] | None = None
    """int8 (T, N): the actions of a recorded episode, `ABSENT` for agents that had left; or None."""
    told: tuple[str, ...] | None = None
    """T + 1 texts: after the reset and after each step, eight hexadecimal digits of a running SHA-256 of everything
    that the episode has told: observations, rewards, flags and infos."""

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise ValueError(f"name is {shown(name)}; expected a text")
        if not isinstance(self.config, GridConfig):
            raise TypeError(f"config is of type {type(self.config).__name__}; expected a GridConfig")
        if not isinstance(self.config.walls, Picture) or self.config.num_maps != 1:
            raise ValueError("config has no layout; expected its walls to be one picture with agents and targets")
        restart = self.config.on_target == "restart"
        if (self.stream is not None) != restart:
            raise ValueError(
                f"stream is {shown(self.stream)}; expected the state of a PCG64 generator under on_target='restart', "
                "whose targets are drawn from it, and None otherwise"
            )
        if restart:
            self._generator()
        if (self.actions is None) != (self.told is None):
            raise ValueError("expected both actions and what they told, or neither")
        if self.actions is not None and self.told is not None:
            object.__setattr__(self, "actions", _checked_actions(self.actions, self.config))
            object.__setattr__(self, "told", _checked_digests(self.told, len(self.actions)))

    def env(self, render_mode: str | None = None) -> MultiGridEnv:
        """Return an environment each of whose resets has this layout; what *restart* draws is as recorded at the first.

        >>> Scenario("pass", GridConfig(walls="a.A")).env().possible_agents
        ['agent_0']
        """
        env = MultiGridEnv(self.config, render_mode)
        if self.stream is not None:
            env.np_random = self._generator()
        return env

    def _generator(self) -> np.random.Generator:
        message = f"stream is {shown(self.stream)}; expected the state of a PCG64 generator"
        try:
            bits = generators.bit_generator(self.stream)
        except ValueError as error:
            raise ValueError(f"{message}: {error}") from error
        # A state with more in it is another scenario, with another file, that plays the same.
        if type(bits) is not np.random.PCG64 or bits.state != self.stream:
            raise ValueError(message)
        return np.random.Generator(bits)

    def __eq__(self, other: object) -> bool:
        return _text(self) == _text(other) if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(_text(self))


def save(scenario: Scenario, path: str | PathLike[str]) -> None:
    """Write a scenario as JSON, under a temporary name that then takes the file's place.

    The same scenario gives the same bytes. The file has the version of its form, the version of the rules, and the
    SHA-256 of everything else in it.

    Raises:
        TypeError: it is no Scenario.
        OSError: the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Scenario("pass", GridConfig(walls="a.A")), Path(folder) / "pass.json")
    ...     load(Path(folder) / "pass.json").name
    'pass'
    """
    if not isinstance(scenario, Scenario):
        raise TypeError(f"scenario is of type {type(scenario).__name__}; expected a Scenario")
    with replaced(Path(path)) as temporary:
        temporary.write_bytes(_text(scenario).encode())


def load(path: str | PathLike[str]) -> Scenario:
    """Read a scenario that `save` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is too large, or no regular file; it is no scenario, was written by another version of the form
            or for other rules, or has been changed since, be it by one byte. The message names the file.
    """
    path = Path(path)
    try:
        return _read(path)
    except RecursionError as error:
        raise ValueError(f"{path} has lists in lists in lists; expected a scenario that save wrote") from error


def _read(path: Path) -> Scenario:
    written = bytes_of(path)
    try:
        text = written.decode()
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"{path} is not JSON: {error}; expected a scenario that multigrid.scenarios.save wrote"
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"{path} is no scenario; expected JSON with the format {_FORMAT!r}")
    for key, what, known in (("schema", "form", SCHEMA_VERSION), ("rules", "rules", RULES_VERSION)):
        if content.get(key) != known:
            raise ValueError(
                f"{path} is written for version {shown(content.get(key))} of the {what}, but this multigrid has "
                f"version {known}; use the multigrid that wrote it, or make the scenario anew"
            )
    if content.get("checksum") != _checksum(content) or text != _rendered(content):
        raise ValueError(
            f"{path} has been changed since it was written: its checksum does not fit its bytes. "
            "Copies that convert line ends change a file, too"
        )
    try:
        scenario = _scenario(content)
        # Whatever was read with some goodwill, such as 1.0 or "+1" for 1, is another file when it is written again.
        if _text(scenario) != text:
            raise ValueError("it is not as multigrid.scenarios.save would write it")  # noqa: TRY301 - one of many
    except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} has a right checksum but is no scenario: {error}") from error
    return scenario


def _checked_actions(actions: Any, config: GridConfig) -> NDArray[np.int8]:
    array = np.asarray(actions)
    expected = f"expected integers (T, {config.num_agents}) from 0 to {config.num_actions - 1}, or {ABSENT}"
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"actions are of {array.dtype}; {expected}")
    if array.ndim != 2 or array.shape[1] != config.num_agents:
        raise ValueError(f"actions have the shape {array.shape}; {expected}")
    if ((array < ABSENT) | (array >= config.num_actions)).any():
        raise ValueError(f"actions go from {array.min()} to {array.max()}; {expected}")
    checked = array.astype(np.int8)
    checked.setflags(write=False)
    return checked


def _checked_digests(told: Any, num_steps: int) -> tuple[str, ...]:
    digits = frozenset(string.hexdigits.lower())
    good = all(isinstance(one, str) and len(one) == _DIGEST_LENGTH and digits.issuperset(one) for one in told)
    if not good or len(told) != num_steps + 1:
        raise ValueError(
            f"told has {len(told)} entries; expected {num_steps + 1} of {_DIGEST_LENGTH} hexadecimal digits, for the "
            "reset and each step"
        )
    return tuple(told)


def _content(scenario: Scenario) -> dict[str, Any]:
    config = scenario.config
    walls, agents, targets = (field[0] for field in config.walls)
    stream, actions = scenario.stream, scenario.actions
    return {
        "format": _FORMAT,
        "schema": SCHEMA_VERSION,
        "rules": RULES_VERSION,
        "name": scenario.name,
        "config": {key: getattr(config, key) for key in _CONFIG_KEYS},
        "map": format_map(walls).split("\n"),
        "agents": agents.tolist(),
        "targets": targets.tolist(),
        # Hexadecimal, for few readers of JSON besides Python's keep 128 bits.
        "stream": None
        if stream is None
        else {
            "state": f"{stream['state']['state']:032x}",
            "inc": f"{stream['state']['inc']:032x}",
            "has_uint32": int(stream["has_uint32"]),
            "uinteger": int(stream["uinteger"]),
        },
        "actions": None if actions is None else ["".join(map(_letter, row)) for row in actions.tolist()],
        "told": None if scenario.told is None else list(scenario.told),
    }


def _letter(action: int) -> str:
    return _ABSENT_LETTER if action == ABSENT else str(action)


def _scenario(content: dict[str, Any]) -> Scenario:
    if sorted(content) != sorted([*_KEYS, "checksum"]) or sorted(content["config"]) != sorted(_CONFIG_KEYS):
        keys, inner = list(content), list(content["config"])
        raise ValueError(f"it has the keys {shown(keys)}, with {shown(inner)} in its config")
    walls = parse_map("\n".join(content["map"])).walls
    picture = Picture(walls, *(np.array(content[key], dtype=np.int64) for key in ("agents", "targets")))
    config = GridConfig(walls=picture, **content["config"])
    stream, actions = content["stream"], content["actions"]
    if stream is not None:
        state, inc, has_uint32, uinteger = (stream[key] for key in _STREAM_KEYS)
        words = {"state": int(state, 16), "inc": int(inc, 16)}
        stream = {"bit_generator": "PCG64", "state": words, "has_uint32": has_uint32, "uinteger": uinteger}
    if actions is not None:
        rows = [[ABSENT if letter == _ABSENT_LETTER else int(letter) for letter in row] for row in actions]
        actions = np.array(rows, dtype=np.int64).reshape(len(rows), -1 if rows else config.num_agents)
    return Scenario(content["name"], config, stream, actions, content["told"])


def _text(scenario: Scenario) -> str:
    content = _content(scenario)
    return _rendered({**content, "checksum": _checksum(content)})


def _checksum(content: dict[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(_rendered(rest).encode()).hexdigest()


def _rendered(content: dict[str, Any]) -> str:
    """JSON with a key a line, and a line for each row of the map and of the actions."""
    lines = []
    for key, value in content.items():
        if key in ("map", "actions") and isinstance(value, list) and value:
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
