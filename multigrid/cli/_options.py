"""Parse and check flags that several commands share."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import re
import shutil
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_type_hints

import tyro
from typing_extensions import TypedDict
from tyro.constructors import (
    MISSING_NONPROP,
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
    UnsupportedTypeAnnotationError,
)

from multigrid._checks import find_nearest, shorten
from multigrid.config import GridConfig
from multigrid.game import Game, describe
from multigrid.games._files import find_game
from multigrid.games._registry import make_config
from multigrid.integrations.tyro import add_field_rule, add_struct_rule, grid_registry
from multigrid.scenarios._worlds import find_world

LARGEST_SEED = 2**31 - 1

_EXPECT = "expect"
"""The key of `Game.training` whose value is a text."""

_Some = TypeVar("_Some")
_Options = TypeVar("_Options", bound="WorldOptions")


class Range(NamedTuple):
    """An annotation of a flag's type: the least and the largest number that it takes; of a tuple, that of each item."""

    least: float
    most: float


@dataclasses.dataclass(frozen=True)
class WorldOptions:
    """The flags that describe a world."""

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=GridConfig)
    """The world."""
    map: tuple[str, ...] = ()
    """A map on which each episode has a new layout: a file (a scenario, a picture in text, or MovingAI's .map), the
    folder of a run, a name of the suite, or GENERATOR:KEY=VALUE,..., such as rooms:width=11,height=9,room_size=3.
    Several maps of one size, or the key maps=N, are a pool. Scenarios and runs also set the defaults of the other flags
    of the world."""
    game: str | None = None
    """An id, or a game of your own: FILE.py:CLASS or MODULE:CLASS. A file or a module is code, and runs: name only what
    you trust. A recording or a model of such a game never loads code, and needs this flag again. The defaults of the
    flags of the world are then those of multigrid.GridConfig."""
    option: tuple[str, ...] = ()
    """An option of the game, NAME=VALUE; once for each option."""
    trains: ClassVar[bool] = False
    """Whether `Game.training` has defaults of the command."""

    @property
    def map_names(self) -> tuple[str, ...]:
        """The names of the maps or, without a map, of the game."""
        return self.map or (() if self.grid.game is None else (self.grid.game.__name__,))


def read_given(kind: type[WorldOptions], arguments: Sequence[str], prog: str) -> dict[str, Any]:
    """Parse the flags of a command, and return by field those that are given; "grid" has a dict of its fields.

    With ``--game``, choices and defaults are those of the game. Flags that cannot be parsed, or ask for help, raise
    SystemExit; a game that cannot be loaded raises as `find_game`.

    >>> read_given(WorldOptions, ["--on-target", "leave", "--no-flatten"], "multigrid play")
    {'grid': {'on_target': 'leave', 'flatten': False}}
    """
    pairs = zip(arguments, [*arguments[1:], "-"], strict=False)
    words = [after if word == "--game" else word[7:] for word, after in pairs if word.partition("=")[0] == "--game"]
    # tyro complains about a flag without a value.
    word = words[-1] if words and not words[-1].startswith("-") else None
    game, world, flags = _find_defaults(kind, word)
    of_game = {name: {"default": value} for name, value in flags.items()}
    if game is not None:
        of_game |= _describe_fields(make_config(game, world), words[-1])

    def make_dict(spec: StructConstructorSpec, default: Any) -> StructConstructorSpec:
        fields = (dataclasses.replace(field, **of_game.get(field.name, {})) for field in spec.fields)
        return StructConstructorSpec(
            dict, tuple(_make_optional(field, None if of_game else default) for field in fields)
        )

    registry = _make_registry()
    for one in (kind, GridConfig):
        # A dict of the given flags, in place of a dataclass; the help is the same.
        add_struct_rule(registry, make_dict, one)
    expected = tell_expected(game) if kind.trains else ""
    given: dict[str, Any] = cast("Any", parse(kind, arguments, prog, registry, expected))
    maps, options = given.pop("map"), given.pop("option")
    if len(maps) > 1:
        raise ValueError("--map comes twice; name all maps of a pool after one --map")
    return given | ({"map": maps[0]} if maps else {}) | ({"option": options} if options else {})


def _find_defaults(
    kind: type[WorldOptions], word: str | None
) -> tuple[type[Game] | None, dict[str, Any], dict[str, Any]]:
    """Return the game that ``--game`` names, and by name the defaults of its world and of other flags of a command."""
    game, world = find_game(word)
    if game is None or not kind.trains:
        return game, world, {}
    flags = {field.name for field in dataclasses.fields(kind)} - {"grid", "game", "option", "map", "folder", "resume"}
    fields = {field.name for field in dataclasses.fields(GridConfig)} - {"game", "options"}
    known = flags | fields | describe(game).options.keys() | {_EXPECT}
    own = describe(game).training
    for name in own.keys() - known:
        near = find_nearest(name, known, 0.5)
        meant = f" (did you mean {near!r}?)" if near else ""
        raise ValueError(
            f"{game.__name__}.training has {name!r}{meant}; expected flags of multigrid train, fields of GridConfig, "
            f"options of the game, or {_EXPECT}"
        )
    given = {*world, *(world.get("options") or {}), _EXPECT}
    world = {name: value for name, value in own.items() if name not in flags | given} | world
    owner = kind()
    return game, world, {name: _check_default(game, name, own[name], owner) for name in own.keys() & flags}


def tell_expected(game: type[Game] | None) -> str:
    """Return the line of a game that tells what to expect of a training with its defaults, or an empty one."""
    if game is None:
        return ""
    text: Any = describe(game).training.get(_EXPECT, "")
    if not isinstance(text, str):
        raise TypeError(f"{game.__name__}.training[{_EXPECT!r}] is {shorten(text)}; expected of type str")
    return f"With the defaults of the game: {text}" if text else ""


def _check_default(game: type[Game], name: str, value: Any, owner: Any) -> Any:
    """Return what a game sets a flag to, if it has the type of the flag; raise TypeError otherwise."""
    default = getattr(owner, name)
    value = tuple(value) if isinstance(value, list) else value
    kinds = (type(default), int) if type(default) is float else (str if default is None else type(default),)
    if type(value) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{game.__name__}.training[{name!r}] is {shorten(value)}; expected of type {expected}")
    return value


def _describe_fields(config: GridConfig, word: str) -> dict[str, dict[str, Any]]:
    """Return what a game changes about flags, by field: types, with the choices, and the defaults that help shows."""
    fields = {field.name: {"default": getattr(config, field.name)} for field in dataclasses.fields(config)}
    options = tuple(f"{name}={getattr(value, 'name', value)}" for name, value in (config.options or {}).items())
    part: Any = Literal[tuple(config.part_specs)]
    observe = {"type": tuple[part, ...] | None, "default": config.parts}
    fields |= {"observe": observe, "others": {"default": "random"}, "policy": {"default": "random"}}
    return fields | {"option": {"default": options}, "game": {"default": word}}


class _Optional(TypedDict, total=False):
    key: int


# tyro's default of a field that may be absent, which has no public name.
_info = StructTypeInfo.make(_Optional, MISSING_NONPROP, in_union_context=False)
_ABSENT = cast("StructConstructorSpec", ConstructorRegistry.get_struct_spec(_info)).fields[0].default


def _make_optional(field: StructFieldSpec, owner: Any) -> StructFieldSpec:
    """Return a field that may be absent, whose help shows the default; some collect what comes several times."""
    value = getattr(owner, field.name, field.default)
    if dataclasses.is_dataclass(value):
        return field
    kind: Any = field.type
    absent = _ABSENT
    if field.name in ("map", "option"):
        # Each --map has several words, and each --option one.
        kind = tuple[kind, ...] if field.name == "map" else kind
        kind, absent = Annotated[kind, tyro.conf.UseAppendAction], MISSING_NONPROP
    shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
    hint = tyro.conf.arg(help_behavior_hint=f"(default: {shown})")
    return dataclasses.replace(field, type=cast("Any", Annotated[kind, hint]), default=absent)


def fill_options(kind: type[_Options], given: Mapping[str, Any], start: _Options | None = None) -> _Options:
    """Return the options with the flags that `read_given` returned; the others are those of `start`, or ``kind()``.

    With ``--map``, the map's world replaces the others of the grid. Flags that describe no world raise a ValueError or
    an OSError.
    """
    world = given["grid"]
    for source in ("scenario", "suite"):
        options = {"option": True} if "option" in given else {}
        if given.get(source) is not None and (world or options):
            others = (flag("no-" * (value is False) + name) for name, value in (world | options).items())
            raise ValueError(
                f"--{source} has its own world and cannot be combined with {', '.join(others)}; leave out one of them"
            )
    game, defaults, flags = _find_defaults(kind, given.get("game"))
    begin = kind(**flags) if start is None else start
    own = _read_options(game, given.get("option", ()))
    grid = GridConfig() if start is None and world.get("size") is not None else begin.grid
    if game is not None and start is None:
        grid = make_config(game, defaults)
    if "map" in given:
        if not given["map"]:
            raise ValueError("--map names no map; expected a file, a name of the suite, or GENERATOR:KEY=VALUE,...")
        if world.get("size") is not None:
            raise ValueError("--map has a size of its own and cannot be combined with --size; leave out one of them")
        base = dataclasses.replace(grid, walls=None)
        found = find_world(*given["map"], num_agents=world.get("num_agents"), base=base)
        # A training keeps the flat observations of its default task, whatever a scenario shows.
        grid = dataclasses.replace(found, flatten=found.flatten or grid.flatten)
    if own:
        world = {**world, "options": {**(grid.given["options"] or {}), **own}}
    return dataclasses.replace(begin, **{**given, "grid": dataclasses.replace(grid, **world)})


def _read_options(game: type[Game] | None, words: Sequence[str]) -> dict[str, Any]:
    """Return the options of a game that are given as NAME=VALUE, in the types of the game's defaults."""
    if words and game is None:
        raise ValueError(f"--option is {shorten(words[0])}, but there is no game; name one with --game")
    defaults = {} if game is None else describe(game).options
    options = dict[str, Any]()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in defaults:
            near = find_nearest(name, defaults, 0.5)
            meant = f" (did you mean {near}?)" if near else ""
            known = ", ".join(f"{one}={value}" for one, value in defaults.items()) or "none"
            raise ValueError(f"--option is {shorten(word)}{meant}; expected NAME=VALUE, and the game has {known}")
        if name in options:
            raise ValueError(f"--option {name} comes twice; expected each option once")
        kind = type(defaults[name])
        try:
            options[name] = _READERS.get(kind, _read_any)(value + "," * (kind is tuple))
        except (ValueError, KeyError) as error:
            raise ValueError(f"--option is {shorten(word)}; expected a value of type {kind.__name__}") from error
    return options


def _read_any(text: str) -> Any:
    """Return a number, None, a text, which may be the name of a member of an enum, or a tuple of these with commas."""
    if "," in text:
        return tuple(map(_read_any, text.strip(",").split(",")))
    for read in (int, float):
        with contextlib.suppress(ValueError):
            return read(text)
    return None if text == "None" else text


def parse(
    kind: type[_Some], arguments: Sequence[str], prog: str, registry: ConstructorRegistry | None = None, more: str = ""
) -> _Some:
    """Parse the flags of a command, the fields of a dataclass, by the rules of a registry or those of all commands.

    Help is the docstring of the class, then `more`.
    """
    # tyro joins a line to the one before only if it begins with a letter, and it breaks lines within words.
    look: dict[str, Any] = {"initial_indent": " ", "subsequent_indent": " ", "break_long_words": False}
    paragraphs = [*(_join(inspect.getdoc(kind)) or "").split("\n\n"), *([more] if more else [])]
    about = "\n\n".join(textwrap.fill(part, shutil.get_terminal_size().columns, **look) for part in paragraphs)
    fixed = (tyro.conf.SuppressFixed,)
    with registry or _make_registry():
        return tyro.cli(kind, args=list(arguments), prog=prog, description=about, config=fixed)


def flag(name: str) -> str:
    """Return the flag of a field."""
    return f"--{name.replace('_', '-')}"


def check_numbers(options: Any) -> None:
    """Raise a ValueError if a number among the fields of a dataclass is outside the `Range` of its field."""
    for name, hint in get_type_hints(type(options), include_extras=True).items():
        ranges = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Range)]
        assert ranges or not {int, float} & set(_types_in(hint)), f"{name} has no Range"
        given = getattr(options, name)
        for least, most in ranges:
            for value in given if isinstance(given, tuple) else (given,):
                # NaN is not between any two numbers.
                if value is not None and not least <= value <= most:
                    raise ValueError(f"{flag(name)} is {shorten(value)}; expected {least:,} to {most:,}")


def _types_in(hint: Any) -> list[Any]:
    """Return a type and all types in it: of ``tuple[int, ...] | None`` also int."""
    return [hint, *(one for inner in get_args(hint) for one in _types_in(inner))]


def _make_registry() -> ConstructorRegistry:
    """Return rules for tyro, whose error messages are plain text."""
    registry = grid_registry()
    inside: list[PrimitiveTypeInfo] = []

    @registry.primitive_rule
    def union(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | UnsupportedTypeAnnotationError | None:
        if inside:
            return None
        if info.type is type(None):
            # Without this error --walls would be a flag that takes only None.
            return UnsupportedTypeAnnotationError(())
        if info.type_origin not in (Union, types.UnionType):
            return None
        inside.append(info)
        try:
            spec = ConstructorRegistry.get_primitive_spec(info)
        finally:
            inside.pop()
        return spec if isinstance(spec, UnsupportedTypeAnnotationError) else _mend_union(spec)

    # tyro keeps the line breaks of an indented docstring.
    add_field_rule(registry, lambda one: dataclasses.replace(one, helptext=functools.partial(_join, one.helptext)))
    return registry


def _join(text: str | Callable[[], str | None] | None) -> str | None:
    """Return a text with a line for each paragraph."""
    found = text() if callable(text) else text
    return None if found is None else "\n\n".join(" ".join(part.split()) for part in found.split("\n\n"))


def _mend_union(spec: PrimitiveConstructorSpec[Any]) -> PrimitiveConstructorSpec[Any]:
    """Return a rule for a union of types, with its choices in a fixed order and a message without markup."""

    def parse(words: list[str]) -> Any:
        try:
            return spec.instance_from_str(words)
        except ValueError as error:
            raise ValueError(f"{' '.join(words)!r} is none of {spec.metavar}") from error

    # tyro's choices are a set, whose order differs from run to run.
    order = re.findall(r"[^{}\[\]|, ]+", spec.metavar)
    choices = spec.choices and tuple(sorted(spec.choices, key=lambda one: [*order, one].index(one)))
    return dataclasses.replace(spec, choices=choices, instance_from_str=parse)


def _parse_bool(word: str) -> bool:
    return {"true": True, "false": False}[word.lower()]


_READERS: dict[type, Callable[[str], Any]] = {bool: _parse_bool, int: int, float: float, str: str}
