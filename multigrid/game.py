"""The base class of games: what a user declares and writes, in one class."""

from __future__ import annotations

import enum
import inspect
import keyword
import math
import operator
import re
from collections.abc import Collection, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from multigrid._checks import find_nearest, is_int, is_real, shorten
from multigrid.actions import Action
from multigrid.parts import PARTS, PartSpec, name_extents


class Hook(NamedTuple):
    """A function that a game may have."""

    arguments: str = "w s e"
    returns: str = "nothing"
    moves: bool = False
    """Whether it may move agents."""
    reads: bool = False
    """Whether it may not write into any array but `out`."""


HOOKS = {
    "begin": Hook(moves=True),
    "place": Hook(),
    "step": Hook(moves=True),
    "may_enter": Hook("w s e i x y", "a bool", moves=True),
    "request": Hook("w s e i", "two integers", moves=True),
    "resolve": Hook(moves=True),
    "after_moves": Hook(),
    "paint": Hook("w s e i x y", "an integer", reads=True),
    "legal": Hook("w s e i action", "a bool", reads=True),
    "check": Hook(returns="a bool", reads=True),
}
"""The functions that a game may have, by name; `multigrid.core.wrappers.GUARDS` says where the rules call them."""
PART_WRITER, METRIC = Hook("w s e i out", reads=True), Hook(returns="a number", reads=True)
INFO_WRITER = Hook("w s e i", "a number", reads=True)
"""The functions ``write_PART``, ``metric_NAME`` and ``write_info_NAME``."""

_PLAIN = {"prepare": "c", "observation_space": "c", "make_observations": "c parts"}
_PLAIN |= {"reset": "c options num_worlds", "team": "i", "describe": "scene i"}
_PLAIN |= dict.fromkeys(("marks", "colours", "picture"), "scene")
"""The functions that are never compiled, with their arguments."""
_METRIC, _INFO = "metric_", "write_info_"
_UNFINISHED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_MOST_ACTIONS, _MOST_LETTERS = 59, 100
_WIDEST = 8
# The fields of `multigrid.config.GridConfig`, which imports this module, and the keywords of what creates environments.
_FIELDS = (
    *("size", "num_agents", "walls", "collisions", "on_target", "reward", "observe", "view_radius", "rgb_tile"),
    *("flatten", "allow_stay", "max_cycles", "game", "options", "config", "render_mode", "render_size", "delays"),
    *("render_trails", "render_view", "num_worlds", "autoreset_mode", "copy", "num_threads", "metrics", "least_agents"),
    *("maps", "game_id", "id", "num_envs", "vectorization_mode", "vector_kwargs", "wrappers", "disable_env_checker"),
    "message_bits",
)
_DESCRIBED: dict[Any, tuple[list[Any], Description]] = {}


class OtherGameError(ValueError):
    """A file is of another game, or of another version of it, than what was given or found."""


class Game:
    """The rules that a game adds to those of `multigrid.core.rules`; a subclass is passed as ``game=...``.

    It has any of the functions place, begin, step, request, may_enter, resolve, after_moves, paint, legal, check,
    write_PART, write_info_NAME, metric_NAME, marks, colours, picture, describe, team, prepare, observation_space,
    make_observations and reset, see the page "Make a game of your own". Nobody creates an instance. The functions are
    plain functions of the subset of Python that Numba compiles, and have no `self`: they get the arrays of all worlds,
    those of `State`, and the world's index. A subclass of a game adds to its parent's `actions`, `options`, `parts`,
    `infos`, `training` and `State`, and replaces functions of the same name.

    >>> class Toll(Game):
    ...     options = {"toll": 0.1}
    ...
    ...     def after_moves(w, s, e):
    ...         for i in range(w.rewards.shape[1]):
    ...             w.rewards[e, i] -= s.toll
    >>> describe(Toll).functions.keys()
    dict_keys(['after_moves'])
    """

    actions: ClassVar[tuple[str, ...]] = ()
    """The names of the actions that follow the four moves and *stay*; after those of the parent."""
    options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """The options with their defaults, which environments take as keywords. One whose default is a bool, an int, a
    float or a member of an IntEnum is ``s.name`` in a hook; one whose default is None, a str or a tuple is for
    `prepare` alone."""
    parts: ClassVar[Mapping[str, PartSpec]] = MappingProxyType({})
    """The observation parts that the game adds, each with a function ``write_NAME``."""
    infos: ClassVar[Mapping[str, PartSpec]] = MappingProxyType({})
    """The infos that the game adds, numbers of the shape "1", each with a function ``write_info_NAME``."""
    targets: ClassVar[bool] = True
    """Whether agents have targets."""
    walls: ClassVar[bool] = True
    """Whether the grid may have walls. Without, what is in its cells is in `State`, and nothing that knows walls is
    taken: `walls=`, and the parts "walls" and "view"."""
    departures: ClassVar[bool] = True
    """Whether an agent may leave while others go on, if there are others. Without, many worlds step a tenth faster."""
    moves: ClassVar[bool] = True
    """Whether the four moves and *stay* come before `actions`. Without them, a game needs `step` or `request`."""
    idle: ClassVar[str] = ""
    """The action of an agent that is delayed, in a game without moves; in other games it is *stay*."""
    training: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """The defaults of ``multigrid train`` in this game, by name: of its flags, of fields of `GridConfig`, and of
    `options`; and as "expect" a sentence that it prints, on what to expect of them and how long it takes."""
    State: ClassVar[type[Any] | None] = None
    """A NamedTuple class of the arrays that the game adds, annotated with a dtype and extents: "E" worlds first.

    An array without "E" is a constant, which `prepare` returns. One marked `multigrid.games.KEPT` keeps its content
    when an episode begins; the others are 0 then. One marked `multigrid.games.SCRATCH` is no state, and has anything
    when a function is called, which may write it even if it only reads the others."""


class Description:
    """What a game's class declares, checked; raises TypeError or ValueError for what a game cannot have."""

    def __init__(self, game: type[Game]) -> None:
        self.game = game
        self.name = game.__name__
        self.options = self._merge("options", _FIELDS)
        for name, value in self.options.items():
            if not is_number(value) and not isinstance(value, str | tuple | None):
                expected = "a bool, an int, a float or a member of an IntEnum; or for prepare None, a str or a tuple"
                raise TypeError(f"{self.name}.options[{name!r}] is {shorten(value)}; expected {expected}")
        self.is_prepared = any("prepare" in vars(one) for one in game.__mro__)
        """Whether the game has a function `prepare`, which names extents of its own."""
        self.parts = self._merge("parts", PARTS)
        for name, spec in self.parts.items():
            self._check_part(f"{self.name}.parts[{name!r}]", spec)
        self.infos = self._merge("infos", ())
        for name, spec in self.infos.items():
            self._check_part(f"{self.name}.infos[{name!r}]", spec)
            if spec.shape != "1":
                raise ValueError(
                    f"{self.name}.infos[{name!r}] has the shape {shorten(spec.shape)}; expected '1', a number"
                )
            if f"info_{name}" in self.parts:
                raise ValueError(f"{self.name}.parts has 'info_{name}', the info {name!r}; choose another name")
        self.training = self._merge("training", ())
        self.actions = self._merge_actions()
        """The actions that the game adds, the parent's first, so that their numbers stay."""
        self.states = [found for one in reversed(game.__mro__) if (found := vars(one).get("State")) is not None]
        """The classes `State` of the game and its parents, that of the game last."""
        for name in ("targets", "walls", "departures", "moves"):
            if not isinstance(getattr(game, name), bool):
                raise TypeError(f"{self.name}.{name} is {shorten(getattr(game, name))}; expected True or False")
        found = self._find_functions()
        self._check_moves(found)
        if "legal" in found and not self.actions:
            raise ValueError(f"{self.name} has a function legal, which is for own actions; expected names in actions")
        writers = [f"write_{name}" for name in self.parts] + [f"{_INFO}{name}" for name in self.infos]
        metrics = [name for name in found if name.startswith(_METRIC)]
        self.functions = {name: found[name] for name in (*HOOKS, *writers, *metrics) if name in found}
        """The functions: those of `HOOKS`, those that write parts and infos of the game, and those of its metrics."""
        self.names = (*HOOKS, *writers, *metrics)
        """The names of what may be among the functions, in the order of their numbers in `Arrays.failed`."""
        self.plain = {name: found[name] for name in _PLAIN if name in found}
        """The functions that are never compiled."""
        self.metrics = tuple(name.removeprefix(_METRIC) for name in metrics)
        """The names of the metrics that the game adds."""

    def _check_moves(self, found: Collection[str]) -> None:
        if not self.game.moves and (not {"step", "request"} & set(found) or not self.actions):
            raise ValueError(f"{self.name}.moves is False; expected own actions, and a function step or request")
        if self.game.moves and self.game.idle:
            raise ValueError(f"{self.name}.idle is set; expected moves = False")
        if self.game.idle and self.game.idle not in self.actions:
            expected = f"expected one of {', '.join(self.actions)}"
            raise ValueError(f"{self.name}.idle is {shorten(self.game.idle)}; {expected}")

    def _merge(self, attribute: str, taken: Collection[str]) -> dict[str, Any]:
        """Return what the class and its bases have, those of the class last."""
        merged: dict[str, Any] = {}
        for one in reversed(self.game.__mro__):
            found = vars(one).get(attribute, {})
            if not isinstance(found, Mapping):
                raise TypeError(f"{self.name}.{attribute} is {shorten(found)}; expected a dict")
            merged |= found
        for name in merged:
            self._check_name(attribute, name, taken)
        return merged

    def _check_name(self, attribute: str, name: Any, taken: Collection[str]) -> None:
        is_text = isinstance(name, str) and len(name) <= _MOST_LETTERS
        if not is_text or not name.isidentifier() or keyword.iskeyword(name):
            expected = f"expected an identifier of at most {_MOST_LETTERS} letters"
            raise ValueError(f"{self.name}.{attribute} has the name {shorten(name)}; {expected}")
        if name in taken:
            owner = "every environment" if taken is _FIELDS else "every game"
            raise ValueError(f"{self.name}.{attribute} has {name!r}, which {owner} has; choose another name")

    def _check_part(self, where: str, spec: Any) -> None:
        if not isinstance(spec, PartSpec):
            raise TypeError(f"{where} is {shorten(spec)}; expected a multigrid.PartSpec")
        for field in ("shape", "meaning"):
            if not isinstance(getattr(spec, field), str):
                raise TypeError(f"{where} has the {field} {shorten(getattr(spec, field))}; expected a str")
        known, extents = name_extents(1, 1, 1, 1, 1, 1, 1), spec.shape.split()
        is_known = self.is_prepared or all(one.isdigit() or one in known for one in re.split(r"[ *]", spec.shape))
        if not extents or not is_known:
            expected = f"expected numbers, or out of {', '.join(known)}"
            raise ValueError(f"{where} has the shape {shorten(spec.shape)}; {expected}")
        if spec.has_cells and extents[-1] != "2":
            raise ValueError(
                f"{where} has high None, which is for cells [x, y], and the shape {spec.shape!r}; expected a shape "
                "that ends in 2, or a number as high"
            )
        dtype = check_dtype(where, spec.dtype, "iuf", "integers or floats, such as np.int64")
        for field in ("low", "high"):
            bound: Any = getattr(spec, field)
            if bound is not None and not (is_int(bound) or (dtype.kind == "f" and is_real(bound))):
                raise TypeError(f"{where} has {field} {shorten(bound)}; expected a number of {dtype}, or None")
            info: Any = np.iinfo(dtype) if dtype.kind != "f" else None
            if bound is not None and (math.isnan(bound) if info is None else not info.min <= bound <= info.max):
                raise ValueError(f"{where} has {field} {shorten(bound)}; expected a number that {dtype} holds")
        if spec.low is not None and spec.high is not None and spec.low > spec.high:
            raise ValueError(f"{where} has low {spec.low} and high {spec.high}; swap them")
        if dtype.kind == "u" and (spec.low is None or spec.low < 0):
            raise ValueError(f"{where} is of {dtype}, and low is {spec.low}; expected 0 or more, or a signed dtype")

    def _merge_actions(self) -> tuple[str, ...]:
        merged: list[str] = []
        for one in reversed(self.game.__mro__):
            actions: Any = vars(one).get("actions", ())
            if not isinstance(actions, tuple):
                raise TypeError(f"{self.name}.actions is {shorten(actions)}; expected a tuple of names")
            if len(set(actions)) < len(actions):
                raise ValueError(f"{self.name}.actions is {shorten(actions)}; name each action once")
            merged += actions
        for name in merged:
            self._check_name("actions", name, [action.name.lower() for action in Action] if self.game.moves else [])
        if len(merged := list(dict.fromkeys(merged))) > _MOST_ACTIONS:
            raise ValueError(f"{self.name}.actions has {len(merged)} names; expected at most {_MOST_ACTIONS}")
        return tuple(merged)

    def _find_functions(self) -> dict[str, FunctionType]:
        """Return the functions of the class and its bases, those of the class last, by name."""
        written = {f"write_{name}": PART_WRITER.arguments for name in self.parts}
        written |= {f"{_INFO}{name}": INFO_WRITER.arguments for name in self.infos}
        known = {name: hook.arguments for name, hook in HOOKS.items()} | _PLAIN | written
        functions: dict[str, FunctionType] = {}
        for one in (one for one in reversed(self.game.__mro__) if one not in {Game, object}):
            for name, found in vars(one).items():
                plain = found.__func__ if isinstance(found, staticmethod) else found
                arguments = known.get(name)
                if name.startswith(_METRIC):
                    arguments = METRIC.arguments
                    self._check_name("metrics", name, ())
                if arguments is not None:
                    functions[name] = self._check_function(name, plain, arguments)
                elif isinstance(plain, FunctionType) and not name.startswith("_"):
                    near = find_nearest(name, known, 0.5)
                    meant = f" (did you mean {near!r}?)" if near else ""
                    raise ValueError(
                        f"{self.name} has a function {shorten(name)}{meant}; expected {', '.join(known)}, metric_NAME, "
                        "or a name with an underscore before it, and helpers outside the class"
                    )
        for name in sorted(written.keys() - functions.keys()):
            attribute, prefix = ("infos", _INFO) if name.startswith(_INFO) else ("parts", "write_")
            raise ValueError(
                f"{self.name}.{attribute} has {name.removeprefix(prefix)!r} but there is no function that writes it; "
                f"add def {name}({written[name].replace(' ', ', ')})"
            )
        return functions

    def _check_function(self, name: str, found: Any, arguments: str) -> FunctionType:
        expected = f"def {name}({arguments.replace(' ', ', ')})"
        if not isinstance(found, FunctionType):
            raise TypeError(f"{self.name}.{name} is of type {type(found).__name__}; expected a function, {expected}")
        given, code = inspect.signature(found), found.__code__
        if code.co_argcount != len(given.parameters) or code.co_argcount != len(arguments.split()):
            raise ValueError(f"{self.name}.{name} has the arguments {str(given)[:_MOST_LETTERS]}; expected {expected}")
        if arguments.startswith("w") and code.co_flags & _UNFINISHED:
            raise TypeError(f"{self.name}.{name} has async or yield; expected a function without them")
        return found


def check_dtype(where: str, given: Any, kinds: str, expected: str) -> np.dtype[Any]:
    """Check that arrays of a dtype, of some kinds, can be compiled, and return it."""
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError:
        raise TypeError(f"{where} has the dtype {shorten(given)}; expected {expected}") from None
    if dtype.kind not in kinds or not dtype.isnative or dtype.itemsize > _WIDEST or dtype == np.float16:
        raise ValueError(f"{where} is of {dtype}; expected {expected}, which Numba knows")
    return dtype


def find_hook(name: str) -> Hook:
    """Return what a compiled function of a game takes and returns, given its name."""
    by_prefix = {_METRIC: METRIC, _INFO: INFO_WRITER}
    return HOOKS.get(name) or next((hook for prefix, hook in by_prefix.items() if name.startswith(prefix)), PART_WRITER)


def describe(game: type[Game], *, again: bool = False) -> Description:
    """Return what a game's class declares, checked once, or `again` if it has changed since; raise as `Description`.

    >>> describe(Game).options
    {}
    """
    given: Any = game
    if not isinstance(given, type) or not issubclass(given, Game):
        kind = type(given).__name__
        raise TypeError(f"game is {shorten(given)} of type {kind}; expected a subclass of multigrid.Game")
    found, description = _DESCRIBED.get(game, ([], None))
    if description is None or again:
        declared = _list_declared(game)
        if description is None or len(found) != len(declared) or not all(map(operator.is_, found, declared)):
            description = Description(game)
            _DESCRIBED[game] = declared, description
    return description


def _list_declared(game: type[Game]) -> list[Any]:
    """Return what a class and its bases have, and what is in its dicts."""
    values = [one for base in game.__mro__ for one in vars(base).items()]
    inner = [one for _, value in values if isinstance(value, Mapping) for one in value.items()]
    return [one for pair in (*values, *inner) for one in pair]


def is_number(default: Any) -> bool:
    """Return whether the default of an option says that functions of the game read it, as a number."""
    return type(default) in {bool, int, float} or isinstance(default, enum.IntEnum)
