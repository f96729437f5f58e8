"""Check the functions of a game when it is made: compile each alone, then call all in one world, interpreted.

What is wrong is said in a few lines. Compiled functions check no index, so the calls find what the compiler cannot.
"""

from __future__ import annotations

import contextlib
import difflib
import dis
import functools
import inspect
import itertools
import linecache
import re
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from multigrid._checks import is_int, is_real
from multigrid.actions import Action
from multigrid.core import wrappers
from multigrid.core.arrays import ARRAYS, Arrays
from multigrid.core.kernels import Rules
from multigrid.game import Description, find_hook
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import compiles_games, find_plain
from multigrid.runtime.reached import Reached, walk
from multigrid.runtime.tables import OwnState, Table

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FIELD = re.compile(r"Unknown attribute '(\w+)' of type (?:Module\(<module ')?([^'\n]+)")
_SET_FIELD = re.compile(r"No definition for lowering (.+)\.(\w+) = ")
_NEW_FIELD = re.compile(r"Cannot resolve setattr: \((.+)\)\.(\w+) = ")
_CALL = re.compile(r"""Cannot bind .* to signature '(.+)' due to "TypeError: ([^"\n]+)""")
_UNKNOWN = re.compile(r"name '(\w+)' is not defined|module '\S+' has no attribute '(\w+)'")
_PLACE = re.compile(r'File "([^"]+)", line (\d+)|Raised from (.+) \((\d+)\)')
_ATTRIBUTE = re.compile(r"\.([^\W\d]\w*)")
_GLOBAL = re.compile(r"(?:Untyped global name|assigned to variable) '(\w+)'")
_INSIDE = {"numba", "draws.py"}
_FOREIGN = {
    *("random", "_random", "secrets", "uuid", "time", "datetime", "_datetime", "os", "posix", "nt", "sys", "platform"),
    *("io", "_io", "pathlib", "socket", "_socket", "threading", "_thread", "subprocess"),
}
"""Modules of which no function of a game may use anything but numbers and texts."""
_FOREIGN_BUILTINS = {"open", "input", "id", "globals", "eval", "exec", "__import__"}
_UNDETERMINED = (
    "which the seed does not determine; random numbers come from games.draw_integer, draw_float, draw_free_cell, "
    "choose and shuffle, and other values from options and State"
)
_LONGEST = 160
# What the compiler cannot find. Other exceptions may come from what Python and Numba do not do alike.
RUNTIME_ONLY_ERRORS = (IndexError, ValueError, UnboundLocalError)
_LONGEST_TRIAL = 0.25
_FIRST_OWN, _PAIR = len(Action), 2


def check_sources(game: Description) -> None:
    """Raise ValueError if a function of a game reads, or changes, what neither its seed nor its options determine."""
    for one in walk(game.functions.values()):
        if problem := _find_problem(one):
            readers = {name: {found.reader for found in walk([hook])} for name, hook in game.functions.items()}
            name = next(name for name, found in readers.items() if one.reader in found)
            raise ValueError(f"{game.name}.{name} {problem}")
    plain: Any = game.plain.get("make_observations")
    if plain is not None:
        # It may use any library: only its own code is known to be part of the game.
        for one in itertools.takewhile(lambda one: one.reader is plain, walk([plain])):
            if problem := _find_problem(one):
                raise ValueError(f"{game.name}.make_observations {problem}")


def _find_problem(one: Reached) -> str:
    """Return what a function may not do with what it reaches, and where; "" for what it may."""
    code, value, parts, problem = one.reader.__code__, one.value, one.name.removesuffix("=").split("."), ""
    if value is one.reader:
        problem, parts = next(_find_changes(one.reader), ("", parts))
    elif is_foreign(value):
        problem = f"reads {one.name!r}, {_UNDETERMINED}"
    elif isinstance(value, list | dict | set | bytearray):
        problem = f"cannot use {one.name!r}, {_suggest_global(one.name, value)}"
    # Of a module, `walk` yields more than the function reads.
    if problem and (len(parts) == 1 or any(chain == parts[: len(chain)] for chain in _list_chains(code, len(parts)))):
        return f"{problem}\n{_show_place(code.co_filename, _find_line(code, parts[-1]))}"
    return ""


def is_foreign(value: Any) -> bool:
    """Return whether a value draws random numbers, or is of the clock, the process or the system."""
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, tuple):
        return any(map(is_foreign, value))
    value = value.func if isinstance(value, functools.partial) else value
    owner = getattr(value, "__self__", None)
    kinds = [*type(value).__mro__, *type(owner).__mro__, value, owner]
    modules = [str(getattr(kind, "__module__", None)) for kind in kinds]
    return any(module.startswith("numpy.random") or module.partition(".")[0] in _FOREIGN for module in modules)


def _find_changes(reader: FunctionType) -> Iterator[tuple[str, list[str]]]:
    """Yield what a function changes outside State, or reads without a global name, and the name."""
    code = reader.__code__
    for one in dis.get_instructions(code):
        if one.opname in {"STORE_GLOBAL", "STORE_DEREF"} and one.argval not in code.co_cellvars:
            yield f"sets {one.argval!r}, which is outside State; what changes is an array of State", [one.argval]
        elif one.opname == "IMPORT_NAME":
            yield f"imports {one.argval!r}; import above the class", [one.argval]
        elif one.opname == "LOAD_GLOBAL" and one.argval in _FOREIGN_BUILTINS - reader.__globals__.keys():
            yield f"reads {one.argval!r}, {_UNDETERMINED}", [one.argval]


def _list_chains(code: CodeType, length: int) -> Iterator[list[str]]:
    """Yield the names outside of it that code reads, each with the first attributes that it reads of it."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _list_chains(one, length)
    chain: list[str] = []
    for one in dis.get_instructions(code):
        if one.opname in {"LOAD_ATTR", "LOAD_METHOD"} and chain:
            chain.append(one.argval)
        elif one.opname != "EXTENDED_ARG":
            yield chain[:length] or [""]
            chain = [one.argval] if one.opname in {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"} else []


def check_types(name: str, hook: Any, tables: dict[str, Any], out: Any, *, returns: str) -> None:
    """Compile a hook for the types of its arguments: two tables, integers, and unless `out` is None an array of it.

    `name` is the hook's, for the message; `returns` is what it returns. Raises TypeError.
    """
    from numba import from_dtype, types

    plain = hook.py_func
    code = plain.__code__
    last = () if out is None else (types.Array(from_dtype(np.dtype(out)), 1, "C"),)
    signature = (*tables.values(), *(types.int64,) * (code.co_argcount - len(tables) - len(last)), *last)
    try:
        getattr(hook, "compile_linked", hook.compile)(signature)
    except Exception as error:  # noqa: BLE001 - Numba raises many
        raise TypeError(_explain(name, plain, error, tables)) from None
    result = types.unliteral(hook.overloads[signature].signature.return_type)
    ends, result = (" or nothing", result.type) if isinstance(result, types.Optional) else ("", result)
    kinds = {
        "nothing": result == types.none,
        "a bool": result == types.boolean,
        "two integers": isinstance(result, types.UniTuple)
        and isinstance(result[0], types.Integer)
        and len(result) == 2,
        "an integer": isinstance(result, types.Integer),
        "a number": isinstance(result, types.Number | types.Boolean),
    }
    if ends or not kinds[returns]:
        found = next((kind for kind, holds in kinds.items() if holds), f"a value of type {result}")
        place = _show_place(code.co_filename, code.co_firstlineno)
        raise TypeError(f"{name} returns {found}{ends}; expected {returns}\n{place}")


def _explain(name: str, plain: Any, error: Exception, tables: dict[str, Any]) -> str:
    """Return what is wrong, and where, in at most four lines."""
    code = plain.__code__
    text = _COLOURS.sub("", str(error)) or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Failed in", "During:", "File"))] or [text]
    reason = lines[0].split(". Raised from")[0]
    if reason.endswith("found for signature:"):
        reason = f"{reason} {lines[1].removeprefix('>>> ')}"
    owners = {str(table): letter for letter, table in tables.items()}
    if (found := _FIELD.search(text)) and found[2] in owners:
        reason = _suggest_field(owners[found[2]], found[1], tables[owners[found[2]]].by_name)
    elif found and (value := getattr(sys.modules.get(found[2]), found[1], None)) is not None:
        reason = f"it cannot use {found[2]}.{found[1]}, {_suggest_global(found[1], value)}"
    elif (found := _NEW_FIELD.search(text)) and found[1] in owners:
        reason = _suggest_field(owners[found[1]], found[2], tables[owners[found[1]]].by_name)
    elif found := _SET_FIELD.search(text):
        owner = owners.get(found[1], "it")
        by_name = tables[owner].by_name if owner in tables else {}
        reason = _refuse_setting(owner, found[2], is_option=found[2] in by_name and not by_name[found[2]][-1])
    elif "readonly array" in text:
        reason = "it writes into a constant; what changes is an array of State"
    elif found := _GLOBAL.search(text):
        reason = f"it cannot use {found[1]!r}, {_suggest_global(found[1], _find_value(plain, found[1]))}"
    elif found := _CALL.search(text):
        reason = f"a call does not fit the arguments {found[1]}: {found[2]}"
    file, line = code.co_filename, code.co_firstlineno
    if found := _UNKNOWN.search(text):
        line = _find_line(code, found[1] or found[2])
    # Where one of Numba's own functions, or one that draws, is the last, its caller is shown.
    if place := next((one for one in _PLACE.finditer(text) if not _INSIDE & {*Path(one[1] or one[3]).parts}), None):
        shown, line = place[1] or place[3], int(place[2] or place[4])
        # Numba shows a path from here.
        file = file if Path(shown).name == Path(file).name else shown
    return f"{name} cannot be compiled: {reason[:_LONGEST]}\n{_show_place(file, line)}"


def _suggest_field(owner: str, name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    has = f"expected {close[0]!r}" if close else f"it has {', '.join(sorted(known)) or 'nothing'}"
    return f"{owner} has no {name!r}; {has}"


def _refuse_setting(owner: str, name: str, *, is_option: bool) -> str:
    if is_option:
        return f"{owner}.{name} is an option, which stays as it is; what changes is an array of State"
    return f"{owner}.{name} cannot be replaced; write into the array, {owner}.{name}[e] = ..."


def _find_value(plain: FunctionType, name: str) -> Any:
    found = inspect.getclosurevars(plain)
    return found.nonlocals.get(name, found.globals.get(name))


def _suggest_global(name: str, value: Any) -> str:
    if isinstance(value, FunctionType):
        return "a function inside another one; define it outside"
    if isinstance(value, type):
        return f"a class; above the game, write what it needs into a constant, such as VALUE = {name}.value"
    if callable(value):
        return (
            f"which {'calls itself; use a loop' if hasattr(value, 'py_func') else 'Numba does not know; write it out'}"
        )
    return f"of type {type(value).__name__}; use numbers, tuples, NumPy arrays and functions"


def _find_line(code: CodeType, name: str) -> int:
    """Return the first line in which code has a name, or in which it begins."""
    offset = next((one.offset for one in dis.get_instructions(code) if one.argval == name), -1)
    return next((line for first, end, line in code.co_lines() if line and first <= offset < end), code.co_firstlineno)


def _show_place(file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()[:_LONGEST]
    return f'  File "{file}", line {line}' + (f"\n    {source}" if source else "")


class _Limited:
    """The arrays and numbers of `w` or `s`: none can be replaced, as in compiled code, and some can only be read."""

    def __init__(self, owner: str, fields: Any, read_only: Collection[str] | None) -> None:
        vars(self).update(_owner=owner, _fields=fields, _read_only=read_only)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._fields, name)
        if isinstance(value, np.ndarray) and (self._read_only is None or name in self._read_only):
            value = value.view()
            value.setflags(write=False)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        is_option = not isinstance(getattr(self._fields, name), np.ndarray)
        raise TypeError(_refuse_setting(self._owner, name, is_option=is_option))


def limit_writes(hook: Callable[..., Any], own: Table[OwnState], *, reads: bool) -> Callable[..., Any]:
    """Return a function of a game that Python runs, but which cannot write into constants.

    If it `reads`, it can write into the scratch of the game's own arrays alone.
    """
    of_rules = None if reads else ARRAYS.constant
    of_game = {*own.arrays} - own.scratch.keys() if reads else own.constant

    @functools.wraps(hook)
    def call(w: Any, s: Any, *arguments: Any) -> Any:
        return hook(_Limited("w", w, of_rules), _Limited("s", s, of_game), *arguments)

    return call


def describe_write(error: BaseException | None, own: Table[OwnState]) -> str:
    """Return what a function has written into that it may only read, given the exception; "" for any other one."""
    if not isinstance(error, ValueError) or not str(error).endswith(" is read-only"):
        return ""
    known = ARRAYS.rows | own.rows
    texts = map(_read_text, reversed(traceback.extract_tb(error.__traceback__)))
    name = next((found for text in texts for found in _ATTRIBUTE.findall(text) if found in known), "")
    if name == "streams":
        return "draws a random number, but it may only read"
    if not name:
        return "writes into an array that it may only read"
    return (
        f"writes into {name!r}, {'a constant' if name in (*ARRAYS.constant, *own.constant) else 'but it may only read'}"
    )


def _read_text(frame: traceback.FrameSummary) -> str:
    """Return what a frame has run: from Python 3.11 on an expression, else a line."""
    line, begin, end = linecache.getline(frame.filename, frame.lineno or 0), None, None
    if sys.version_info >= (3, 11) and frame.end_lineno == frame.lineno:
        begin, end = frame.colno, frame.end_colno
    return line[begin:end]


class _MistakeError(Exception):
    """What is wrong with a function of a game: the class of the error, and the message."""


class _IgnoredError(Exception):
    """A function of a game has raised what the compiled one may not raise."""


def try_hooks(game: Description, rules: Rules, arrays: Arrays) -> None:
    """Call the functions of a game, interpreted: for each action, in an episode of one step in which all choose it.

    The arrays are those of one world, with the parts of the game. Raises TypeError or ValueError for what a function
    raises, such as for an index out of bounds, for what it returns, and if it writes into what it may only read.
    """

    def refuse(_w: Any, _e: int, number: int, kind: int) -> NoReturn:
        if kind == wrappers.RAISED and (error := sys.exc_info()[1]) is not None:
            raise error
        place = _show_place(*_find_place(game.functions[game.names[number]].__code__))
        problem = "leaves an agent or a target outside the grid, in a wall, or where it cannot move"
        raise _MistakeError(ValueError, f"{game.name}.{game.names[number]} {problem}\n{place}")

    hooks = {
        name: _attempt(game, name, getattr(rules.hooks, f"user_{name}").py_func, rules.own) for name in game.functions
    }
    tried = {f"user_{name}": hook for name, hook in hooks.items()} | {"fail": refuse}
    reset, play = find_plain(rules.kernels.reset_worlds), find_plain(rules.kernels.step_worlds)
    pcg64.write_stream(arrays.streams[0], np.random.PCG64(0).state)
    rules.prepare_arrays(arrays, rules.pack(arrays))
    arrays = arrays._replace(hooks=SimpleNamespace(**vars(rules.hooks) | tried))
    begin = time.perf_counter()
    try:
        with np.errstate(all="ignore"):
            for action in reversed(range(arrays.moves.shape[3])):
                with contextlib.suppress(_IgnoredError):
                    reset(arrays, 0, 1, False)
                    _read(game, hooks, arrays)
                    arrays.actions[...] = action
                    play(arrays, 0, 1)
                    _read(game, hooks, arrays)
                if time.perf_counter() - begin > _LONGEST_TRIAL:
                    break
    except _MistakeError as mistake:
        kind, message = mistake.args
        raise kind(message) from None


def _read(game: Description, hooks: dict[str, Any], arrays: Arrays) -> None:
    """Call the functions that only read, for the first and the last agent."""
    w, s = arrays, arrays.own
    for i in {0, w.location.shape[1] - 1}:
        for part in game.parts:
            hooks[f"write_{part}"](w, s, 0, i, getattr(arrays.own, f"{part}_part")[0, i])
        for info in game.infos:
            hooks[f"write_info_{info}"](w, s, 0, i)
        for action in range(_FIRST_OWN, w.moves.shape[3]):
            hooks.get("legal", _pass)(w, s, 0, i, action)
        for x, y in ((0, 0), (w.components.shape[1] - 1, w.components.shape[2] - 1)):
            hooks.get("paint", _pass)(w, s, 0, i, x, y)
    for name in ("check", *(f"metric_{metric}" for metric in game.metrics)):
        hooks.get(name, _pass)(w, s, 0)


def _pass(*_arguments: Any) -> None:
    """Stand for a function that a game does not have."""


def _attempt(game: Description, name: str, hook: Callable[..., Any], own: Any) -> Callable[..., Any]:
    """Return a function that calls one of a game, and raises `_MistakeError` for what it raises or returns."""
    label, expected, code = f"{game.name}.{name}", find_hook(name).returns, game.functions[name].__code__

    def attempt(*arguments: Any) -> Any:
        try:
            result = hook(*arguments)
        except (_MistakeError, _IgnoredError):
            raise
        except Exception as error:
            if compiles_games() and not isinstance(error, RUNTIME_ONLY_ERRORS):
                raise _IgnoredError from error
            kind = TypeError if isinstance(error, TypeError | AttributeError | NameError) else ValueError
            place = _show_place(*_find_place(code, error))
            raise _MistakeError(kind, f"{label} {describe_write(error, own) or _describe(error)}\n{place}") from None
        found = _name_kind(result)
        if (
            not compiles_games()
            and found != expected
            and (expected != "a number" or found not in {"a bool", "an integer"})
        ):
            place = _show_place(*_find_place(code))
            raise _MistakeError(TypeError, f"{label} returns {found}; expected {expected}\n{place}")
        return result

    return attempt


def _describe(error: Exception) -> str:
    """Return what a function has done wrong that has raised an exception."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, AttributeError) and isinstance(error.obj, Arrays):
        reason = _suggest_field("w", str(error.name), error.obj._fields)
    elif isinstance(error, AttributeError) and isinstance(error.obj, OwnState):
        reason = _suggest_field("s", str(error.name), vars(error.obj))
    return f"fails when it is called: {reason[:_LONGEST]}"


def _name_kind(result: Any) -> str:
    """Return what a function has returned, in the words of `multigrid.game.Hook`."""
    if result is None:
        return "nothing"
    if isinstance(result, bool | np.bool_):
        return "a bool"
    if isinstance(result, tuple) and len(result) == _PAIR and all(map(is_int, result)):
        return "two integers"
    if is_int(result):
        return "an integer"
    return "a number" if is_real(result) else f"a value of type {type(result).__name__}"


def _find_place(code: CodeType, error: Exception | None = None) -> tuple[str, int]:
    """Return the file and the line in which a function has raised an exception, or in which it begins."""
    frames = traceback.extract_tb(None if error is None else error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == code.co_filename]
    return code.co_filename, (lines or [code.co_firstlineno])[-1]
