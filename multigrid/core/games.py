"""The kernels of a user's game: those of the rules, with the game's functions in them."""

from __future__ import annotations

import functools
import re
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from multigrid._checks import shorten
from multigrid.core import hooks, rules, wrappers, writers
from multigrid.core.hook_types import check_types, find_expected
from multigrid.core.metrics import METRICS
from multigrid.core.wrappers import MISPLACED, MOST_FUNCTIONS, NUM_KINDS, RAISED
from multigrid.game import HOOKS, Description, Game, describe, is_number
from multigrid.runtime import pcg64
from multigrid.runtime.arrays import ARRAYS, Arrays
from multigrid.runtime.compiled import compiles_games, find_plain, make_interpreted
from multigrid.runtime.copies import Copies, digest_functions
from multigrid.runtime.kernels import Kernels
from multigrid.runtime.tables import CONSTANT, OwnState, Row, Table, make_part_row, read_rows
from multigrid.runtime.world_generators import PLAIN

_KINDS = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}
_EXTENTS = ("E", "N", "W", "H")
_TAKEN = ("version", "np_random", "own", "agents", "targets", "present", "walls", "width", "height")
# The functions that may move agents, the last one first.
_MOVING = ("step", "resolve", "request", "may_enter", "begin")
_INFOS = ("alive", "arrived", "distance", "episode", "final_info", "final_obs", "gap", "outcome", "return")
_FOUND: dict[tuple[type[Game], bool], Kernels] = {}


def specialise(game: type[Game], kernels: Kernels, *, interpreted: bool = False) -> Kernels:
    """Return the kernels of a game, given those of the built-in one; with `interpreted`, Python runs them.

    Raises as `multigrid.game.describe`, and TypeError for a function that Numba cannot compile, or that returns
    something else than it should.
    """
    interprets = compiles_games() and interpreted
    if (game, interprets) not in _FOUND:
        found = specialise(game, kernels, interpreted=False) if interprets else _specialise(describe(game), kernels)
        if interprets:
            interpret = functools.partial(make_interpreted, replace=found.plain)
            found = found.change(interpret)._replace(are_compiled=False)
        _FOUND[game, interprets] = found
    return _FOUND[game, interprets]


def _specialise(game: Description, kernels: Kernels) -> Kernels:
    for name in game.metrics:
        if name in METRICS or name in _INFOS:
            raise ValueError(
                f"{game.name} has a function metric_{name}, but every environment has that metric or info; choose "
                "another name"
            )
    table, failures = make_table(game), list[BaseException | None]()
    copies = Copies(f"the game {game.name}-{identify(game)}")
    fail = functools.partial(_note_failure, failures)
    is_compiled = compiles_games()
    if not is_compiled:
        copies.replace(wrappers.fail, fail)
    tools, functions = (
        _make_tools(table, compiled=is_compiled),
        {name: _compile(game, name, copies, table) for name in game.functions},
    )
    for stub, has in ((hooks.has_targets, game.game.targets), (hooks.has_moves, game.game.moves)):
        if not has:
            copies.replace(stub, copies.fill(wrappers.has_not, {}))
    moving = next((name for name in _MOVING if name in functions), HOOKS[0])
    for function, wrapper in wrappers.ALWAYS.items():
        copies.replace(function, copies.fill(wrapper, {**tools, "FAILURE": HOOKS.index(moving)}))
    # In the order of `HOOKS`, in which the wrappers of a hook may call those of an earlier one.
    for name in (name for name in HOOKS if name in functions):
        used = {**tools, "hook": functions[name]}
        filled = {function: copies.fill(wrapper, used) for function, wrapper in wrappers.WRAPPERS[name].items()}
        for function, wrapper in filled.items():
            copies.replace(function, wrapper)
    ends = hooks.write_own_parts, hooks.write_own_flat, hooks.write_own_metrics
    write_parts, write_flat, write_metrics = map(copies.copy, ends)
    numbers = {name: number for number, name in enumerate(_list_names(game))}
    for number, part in reversed(list(enumerate(game.parts))):
        name = f"write_{part}"
        spec = game.parts[part]
        used = {**tools, "hook": functions[name], "NUMBER": number, "FAILURE": numbers[name]}
        used |= {"HAS_CELLS": spec.has_cells, "IS_SIGNED": spec.is_signed}
        used["find_part"] = copies.compile_users(_make_getter(f"{part}_part"))
        write_parts = copies.fill(writers.write_part, {**used, "following": write_parts}, part)
        write_flat = copies.fill(writers.write_part_flat, {**used, "following": write_flat}, part)
    for number, metric in reversed(list(enumerate(game.metrics, len(METRICS)))):
        name = f"metric_{metric}"
        used = {**tools, "hook": functions[name], "NUMBER": number, "FAILURE": numbers[name]}
        write_metrics = copies.fill(writers.write_metric, {**used, "following": write_metrics}, metric)
    copies.replace(hooks.write_own_parts, write_parts)
    copies.replace(hooks.write_own_flat, write_flat)
    copies.replace(hooks.write_own_metrics, write_metrics)
    copies.replace(rules.play_worlds, copies.fill(wrappers.play_worlds, {}, like=rules.play_worlds))
    copied = kernels.change(copies.copy if is_compiled else lambda kernel: find_plain(copies.copy(kernel)))
    interpreted = _make_tools(table, compiled=False)
    # Beside a wheel, all of these are copies.
    draws = [one for one in (pcg64.draw_integer, pcg64.next_float) if copies.find(one) is not one]
    plain = {copies.find(one): find_plain(one) for one in draws}
    plain |= {copies.find(one): run for one, run in PLAIN.items()}
    plain |= {tools[name]: interpreted[name] for name in tools}
    return copied._replace(
        describe_failure=functools.partial(_describe_failure, game, failures),
        are_compiled=is_compiled,
        hooks=functions,
        own=table,
        plain=plain | {wrappers.fail: fail, copies.find(wrappers.fail): fail},
    )


def _compile(game: Description, name: str, copies: Copies, table: Table[OwnState]) -> Any:
    """Return a user's function, compiled; one that writes a part gets its own array, or that of the flat vector."""
    compiled = copies.compile_users(game.functions[name])
    if compiles_games():
        out = game.parts.get(name.removeprefix("write_"))
        for dtype in [None] if out is None else [out.dtype, np.float32]:
            check_types(f"{game.name}.{name}", compiled, ARRAYS, table, dtype, returns=find_expected(name))
    return compiled


def _list_names(game: Description) -> list[str]:
    """Return the names of functions in the order of their numbers in `Arrays.failed`."""
    return list(dict.fromkeys([*HOOKS, *game.functions]))


def _note_failure(failures: list[BaseException | None], w: Arrays, e: int, number: int, kind: int) -> None:
    """Do as `wrappers.fail`, and keep the exception that is handled."""
    if w.failed[0]:
        return
    failures[:] = [sys.exc_info()[1]]
    w.failed[0] = 1 + (int(e) * MOST_FUNCTIONS + number) * NUM_KINDS + kind


def _describe_failure(game: Description, failures: list[BaseException | None], failed: int) -> str:
    """Return the error message for `Arrays.failed`, with the exception if Python has run the function."""
    where, kind = divmod(failed - 1, NUM_KINDS)
    world, number = divmod(where, MOST_FUNCTIONS)
    name = _list_names(game)[number]
    code = game.functions.get(name, next(iter(game.functions.values()))).__code__
    line, error = code.co_firstlineno, failures.pop() if failures else None
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno or line for frame in frames if frame.filename == code.co_filename), line)
    what = f"has raised {'an exception' if error is None else repr(error)}"
    what = what if kind == RAISED else "has left an agent or a target where none can be"
    hint = "" if error is not None or kind == MISPLACED else "; with MULTIGRID_CHECK=1, the message says which one"
    return f"{game.name}.{name} {what}, in world {world} (file {code.co_filename}, line {line}){hint}"


def identify(game: Description) -> str:
    """Return a digest, 16 characters, of a game: functions, what they reach, arrays, and the types of options."""
    return digest_functions(
        game.functions.values(),
        repr((tuple(game.functions), make_table(game).rows, game.game.targets, game.game.moves, game.actions)),
    )


def make_table(game: Description) -> Table[OwnState]:
    """Return the table of a game's own arrays and options; raise TypeError or ValueError for arrays of another form."""
    rows = _read_state(game)
    parts = {f"{name}_part": make_part_row("E N", spec) for name, spec in game.parts.items()}
    for name in rows.keys() & parts.keys():
        raise ValueError(f"{game.name}.State has {name!r}, the array of one of its parts; choose another name")
    rows |= parts
    kinds = {name: type(value) for name, value in game.options.items() if is_number(value)}
    numbers = {name: Row(_KINDS.get(kind, _KINDS[int]), "") for name, kind in kinds.items()}
    for name in rows.keys() & numbers.keys():
        raise ValueError(f"{game.name}.State has {name!r}, and so have its options; choose another name")
    for name in numbers.keys() & set(_TAKEN):
        raise ValueError(f"{game.name}.options has {name!r}, which pictures have; choose another name")
    return Table(f"{game.game.__module__}.{game.game.__qualname__}", OwnState, rows | numbers)


def _read_state(game: Description) -> dict[str, Row]:
    """Return the rows of the arrays of a game and its parents."""
    rows: dict[str, Row] = {}
    for state in game.states:
        rows |= _read_fields(game, state)
    return rows


def _read_fields(game: Description, state: Any) -> dict[str, Row]:
    if not isinstance(state, type) or not issubclass(state, tuple) or not hasattr(state, "_fields"):
        raise TypeError(f"{game.name}.State is {shorten(state)}; expected a NamedTuple class")
    rows = read_rows(state)
    for name in dict.fromkeys([*state._fields, *rows]):
        where = f"{game.name}.State.{name}"
        if name in ARRAYS.rows or name in _TAKEN:
            raise ValueError(f"{game.name}.State has {name!r}, which the rules have; choose another name")
        if name not in rows:
            hint = shorten(state.__annotations__.get(name))
            raise TypeError(f'{where} is {hint}; expected Annotated[NDArray[dtype], "E ..."]')
        extents = rows[name].shape.split()
        if extents[:1] != ["E"] and game.is_prepared:
            rows[name] = rows[name]._replace(mark=CONSTANT)
        elif extents[:1] != ["E"]:
            raise ValueError(f"{where} has the shape {rows[name].shape!r}; expected the worlds first, 'E ...'")
        is_known = game.is_prepared or all(
            one.isdigit() or one in _EXTENTS for one in re.split(r"[ *]", " ".join(extents))
        )
        if not is_known:
            raise ValueError(f"{where} has the shape {rows[name].shape!r}; expected numbers, or out of E, N, W, H")
        if rows[name].dtype.kind not in "iufb":
            raise ValueError(f"{where} is of {rows[name].dtype}; expected integers, floats or bools")
    return rows


def _make_getter(name: str) -> Any:
    """Return a function that returns an attribute, an array, as only functions of a game may."""
    scope: dict[str, Any] = {"__name__": "multigrid.games"}
    exec(f"def find_{name}(s): return s.{name}", scope)  # noqa: S102 - an identifier
    return scope[f"find_{name}"]


def _make_tools(table: Table[OwnState], *, compiled: bool) -> Mapping[str, Any]:
    """Return what the wrappers use of the own state."""
    if compiled:
        from multigrid.runtime.table_types import make_clear_world, make_copy_world, make_follow

        return {
            "own": make_follow(ARRAYS, table),
            "clear_world": make_clear_world(table),
            "copy_world": make_copy_world(table),
        }

    def clear_world(own: Any, e: int) -> None:
        for name in table.cleared:
            getattr(own, name)[e] = 0

    def copy_world(own: Any, e: int, given: Any, k: int) -> None:
        for name in table.state:
            getattr(own, name)[e] = getattr(given, name)[k]

    return {"own": lambda w: w.own, "clear_world": clear_world, "copy_world": copy_world}
