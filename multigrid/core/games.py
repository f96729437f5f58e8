"""The rules of other games and of drawn maps: the same kernels, with other hooks."""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import sys
import traceback
from types import SimpleNamespace
from typing import Any

import numpy as np

from multigrid._checks import name_errors, shorten
from multigrid.actions import Action
from multigrid.core import drawn_maps, images, wrappers, writers
from multigrid.core.arrays import ARRAYS, Arrays
from multigrid.core.hook_types import check_sources, check_types, describe_write, limit_writes
from multigrid.core.hooks import DEFAULTS
from multigrid.core.kernels import Rules, bind_kernels
from multigrid.core.metrics import DELAYS, METRICS
from multigrid.core.wrappers import MISPLACED, MOST_FUNCTIONS, NUM_KINDS, RAISED
from multigrid.game import HOOKS, Description, Game, check_dtype, describe, find_hook, is_number
from multigrid.maps._drawn import MapGenerator
from multigrid.runtime.compiled import Bound, Function, compiles_games, inlined
from multigrid.runtime.digests import LOCAL, digest_functions
from multigrid.runtime.tables import (
    FIRST,
    KEPT,
    NEXT,
    PREPARED,
    RULES,
    SCRATCH,
    OwnState,
    Row,
    Table,
    make_part_row,
    read_rows,
)
from multigrid.runtime.users import compile_users, interpret_users

_KINDS = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}
_EXTENTS = ("E", "N", "W", "H")
_TAKEN = (
    *("version", "np_random", "own", "hooks", "agents", "targets", "present", "walls", "width", "height", "parts"),
)
_INFOS = (
    *("alive", "arrived", "distance", "episode", "final_info", "final_obs", "gap", "level", "outcome", "return"),
    *("terminal_observation", DELAYS),
    # What tables and datasets have beside metrics.
    *("agent", "episodes", "id", "mean_return", "mean_steps", "num_agents", "policy", "seed", "steps", "success_rate"),
    *("total_steps", "world"),
)
_FOUND: dict[Any, Rules] = {}


def compile_rules(
    game: type[Game] | None,
    generator: MapGenerator | None,
    *,
    has_delays: bool,
    has_images: bool,
    interpreted: bool = False,
) -> Rules:
    """Return the rules of a game, on the maps of a generator, with observations that may have images.

    The kernels are compiled when they are first called; with `interpreted`, Python runs them. They are those of an
    earlier call if nothing that the game has or reaches has changed since.

    Raises as `multigrid.game.describe`, and TypeError for a function that Numba cannot compile, or that returns
    something else than it should, and for a generator without a kernel.
    """
    described = None if game is None else describe(game)
    digest, functions = ("", ()) if described is None else (identify(described), tuple(described.functions.values()))
    is_compiled = compiles_games() and not interpreted
    key = game, digest, functions, type(generator), has_delays, has_images, is_compiled
    if key not in _FOUND:
        options = {"has_delays": has_delays, "has_images": has_images, "is_compiled": is_compiled}
        _FOUND[key] = _compile_rules(described, digest, generator, **options)
    return _FOUND[key]


def _compile_rules(
    game: Description | None,
    digest: str,
    generator: MapGenerator | None,
    *,
    has_delays: bool,
    has_images: bool,
    is_compiled: bool,
) -> Rules:
    hooks, names, own, failures = dict(DEFAULTS), list[str](), None, list[BaseException | None]()
    if generator is not None:
        hooks |= drawn_maps.HOOKS | {"generate": drawn_maps.find_generator(generator)}
        names.append(f"the maps of {type(generator).__name__}")
    if has_images:
        hooks |= images.HOOKS
        names.append("observations with images")
    if game is not None:
        check_sources(game)
        own = make_table(game, has_levels=generator is not None)
        hooks |= _list_hooks(game, own, failures)
        hooks |= wrappers.WITH_DELAYS if has_delays else wrappers.WITHOUT_DELAYS
        hooks |= {} if generator is None else {"begin_own": hooks["begin"], **wrappers.WITH_LEVELS}
        names.append(f"the game {game.name}")
    parts = has_delays, has_images, type(generator).__name__, digest
    combined = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    name = f"{' and '.join(reversed(names))}-{combined}{LOCAL * digest.endswith(LOCAL)}"
    describe_failure = None if game is None else functools.partial(_describe_failure, game, own, failures)
    kernels = bind_kernels(functools.partial(Bound, rules=name) if is_compiled else lambda kernel: kernel)
    rules = Rules(kernels, is_compiled, SimpleNamespace(**hooks), name, own, describe_failure)
    if not is_compiled:  # the kernels run as Python where they get arrays
        return rules
    RULES[name] = hooks
    if game is not None and own is not None:
        from multigrid.runtime.table_types import make_type

        for hook_name in game.functions:
            out = game.parts.get(hook_name.removeprefix("write_"))
            for dtype in [None] if out is None else [out.dtype, np.float32]:
                hook = hooks[f"user_{hook_name}"].compiled
                tables = {"w": make_type(ARRAYS, name), "s": make_type(own)}
                check_types(f"{game.name}.{hook_name}", hook, tables, dtype, returns=find_hook(hook_name).returns)
    return rules


def _list_hooks(game: Description, table: Table[OwnState], failures: list[BaseException | None]) -> dict[str, Any]:
    """Return the hooks that a game sets."""
    for what, names, taken in (
        ("a function metric_", game.metrics, ()),
        ("the info ", game.infos, game.metrics),
    ):
        for name in names:
            if name in METRICS or name in _INFOS or name in taken or not name or name.startswith("_"):
                owner = "it" if name in taken else "every environment"
                raise ValueError(
                    f"{game.name} has {what}{name}, but {owner} has that metric or info; choose another name"
                )
    compiled, plain = dict[int, Any](), dict[int, Any]()
    fail: Any = wrappers.fail
    hooks = dict(wrappers.ALWAYS)
    for name, function in game.functions.items():
        hooks |= wrappers.GUARDS.get(name, {})
        interpreted = limit_writes(interpret_users(function, plain), table, reads=find_hook(name).reads)
        hooks[f"user_{name}"] = Function(interpreted, functools.partial(compile_users, function, compiled))
    # A function `step` does in place of the others what they do.
    moving = [name for name in ("step", *reversed(HOOKS)) if name in game.functions and HOOKS[name].moves]
    numbers = {name: number for number, name in enumerate(game.names)}
    parts, flat, metrics, infos = list[str](), list[str](), list[str](), list[str]()
    for k, (name, spec) in enumerate(game.parts.items()):
        write = f"w.hooks.user_write_{name}, {numbers[f'write_{name}']}"
        parts.append(f"write_part(w, e, w.hooks.own(w).{name}_part, {write})")
        flat.append(f"if part == {k}: write_part_flat(w, e, i, out, {write}, {spec.has_cells}, {spec.is_signed})")
    for row, name in enumerate(game.metrics, len(METRICS)):
        measure = f"w.hooks.user_metric_{name}, {numbers[f'metric_{name}']}"
        metrics.append(f"write_metric(w, e, figures, {row}, k, {measure})")
    for name in game.infos:
        read = f"w.hooks.user_write_info_{name}, {numbers[f'write_info_{name}']}"
        infos.append(f"write_info(w, e, w.hooks.own(w).{name}_info, {read})")
    return {
        **hooks,
        **_make_tools(table),
        "fail": Function(functools.partial(_note_failure, failures), lambda: fail.compiled),
        "idle": game.actions.index(game.game.idle) if game.game.idle else int(Action.STAY),
        "moving": numbers[[*moving, "begin"][0]],
        "has_targets": game.game.targets,
        "has_moves": game.game.moves,
        "has_infos": bool(infos),
        "write_own_infos": _define("write_infos", "w, e", infos),
        "write_own_parts": _define("write_parts", "w, e", parts),
        "write_own_flat": _define("write_flat", "w, e, i, part, out", flat),
        "write_own_metrics": _define("write_metrics", "w, e, figures, k", metrics),
    }


def _define(name: str, arguments: str, lines: list[str]) -> Any:
    """Return a function for kernels of some lines, in which compiled code finds each function by its name.

    In machine code, two functions of one name and the same arguments would be one.
    """
    scope = dict(vars(writers))
    exec("\n    ".join([f"def {name}({arguments}):", *(lines or ["pass"])]), scope)  # noqa: S102 - of identifiers
    return inlined(scope[name])


def _note_failure(failures: list[BaseException | None], w: Arrays, e: int, number: int, kind: int) -> None:
    """Do as `wrappers.fail`, and keep the exception that is handled."""
    if w.failed[0]:
        return
    failures[:] = [sys.exc_info()[1]]
    w.failed[0] = 1 + (int(e) * MOST_FUNCTIONS + number) * NUM_KINDS + kind


def _describe_failure(game: Description, own: Any, failures: list[BaseException | None], failed: int) -> str:
    """Return the error message for `Arrays.failed`, with the exception if Python has run the function."""
    where, kind = divmod(failed - 1, NUM_KINDS)
    world, number = divmod(where, MOST_FUNCTIONS)
    name = game.names[number]
    code = game.functions.get(name, next(iter(game.functions.values()))).__code__
    line, error = code.co_firstlineno, failures.pop() if failures else None
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno or line for frame in frames if frame.filename == code.co_filename), line)
    what = describe_write(error, own) or f"has raised {'an exception' if error is None else repr(error)}"
    what = what if kind == RAISED else "has left an agent or a target where none can be"
    hint = "" if error is not None or kind == MISPLACED else "; with MULTIGRID_CHECK=1, the message says which one"
    return f"{game.name}.{name} {what}, in world {world} (file {code.co_filename}, line {line}){hint}"


def identify(game: Description) -> str:
    """Return `digest_functions` of a game's functions, its arrays, and the types of its options."""
    return digest_functions(game.functions.values(), _describe_table(game))


@functools.lru_cache(64)
def _describe_table(game: Description) -> str:
    declared = game.game.targets, game.game.moves, game.game.idle, game.actions
    return repr((tuple(game.functions), make_table(game).rows, *declared))


@functools.lru_cache(64)
def make_table(game: Description, *, has_levels: bool = False) -> Table[OwnState]:
    """Return the table of a game's own arrays and options; raise TypeError or ValueError for arrays of another form.

    With levels, those of `State` are there two times more: as the episode began, and those of the next one's level.
    """
    rows = {name: row for state in game.states for name, row in _read_fields(game, state).items()}
    parts = {f"{name}_part": make_part_row("E N", spec) for name, spec in game.parts.items()}
    parts |= {f"{name}_info": make_part_row("E N", spec)._replace(shape="E N") for name, spec in game.infos.items()}
    for name in rows.keys() & parts.keys():
        raise ValueError(f"{game.name}.State has {name!r}, the array of one of its parts or infos; choose another name")
    rows |= parts
    kinds = {name: type(value) for name, value in game.options.items() if is_number(value)}
    numbers = {name: Row(_KINDS.get(kind, _KINDS[int]), "") for name, kind in kinds.items()}
    for name in rows.keys() & game.options.keys():
        raise ValueError(f"{game.name}.State has {name!r}, and so have its options; choose another name")
    for name in game.options.keys() & set(_TAKEN):
        raise ValueError(f"{game.name}.options has {name!r}, which pictures have; choose another name")
    name, rows = game.game.__qualname__, rows | numbers
    if has_levels:
        state = [(name, row) for name, row in rows.items() if row.shape and row.mark in {None, KEPT}]
        rows |= {f"{FIRST} {name}": row._replace(mark=FIRST) for name, row in state}
        rows |= {f"{NEXT} {name}": row._replace(mark=NEXT) for name, row in state}
        name += " with levels"
    return Table(name, OwnState, rows)


def _read_fields(game: Description, state: Any) -> dict[str, Row]:
    if not isinstance(state, type) or not issubclass(state, tuple) or not hasattr(state, "_fields"):
        raise TypeError(f"{game.name}.State is {shorten(state)}; expected a NamedTuple class")
    with name_errors(f"{game.name}.State"):
        rows = read_rows(state)
    for name in dict.fromkeys([*state._fields, *rows]):
        where = f"{game.name}.State.{name}"
        if name in ARRAYS.rows or name in _TAKEN:
            raise ValueError(f"{game.name}.State has {name!r}, which the rules have; choose another name")
        if name not in rows:
            hint = shorten(state.__annotations__.get(name))
            raise TypeError(f'{where} is {hint}; expected Annotated[NDArray[dtype], "E ..."]')
        mark: Any = rows[name].mark
        is_known = mark is None or mark is SCRATCH or (isinstance(mark, str) and mark == KEPT)
        if not isinstance(rows[name].shape, str) or not is_known:
            problem, marks = shorten((rows[name].shape, mark)), "games.KEPT or games.SCRATCH"
            raise TypeError(f"{where} has {problem} beside its dtype; expected a shape, 'E ...', and maybe {marks}")
        extents, shape = rows[name].shape.split(), shorten(rows[name].shape)
        if extents and extents[0] != "E" and game.is_prepared and mark is None:
            rows[name] = rows[name]._replace(mark=PREPARED)
        elif extents[:1] != ["E"]:
            raise ValueError(f"{where} has the shape {shape}; expected the worlds first, 'E ...'")
        is_known = game.is_prepared or all(
            one.isdigit() or one in _EXTENTS for one in re.split(r"[ *]", " ".join(extents))
        )
        if not is_known:
            raise ValueError(f"{where} has the shape {shape}; expected numbers, or out of E, N, W, H")
        check_dtype(where, rows[name].dtype, "iufb", "integers, floats or bools")
    return rows


def _make_tools(table: Table[OwnState]) -> dict[str, Any]:
    """Return what the guards use of the own state."""

    def clear_world(own: Any, e: int) -> None:
        for name in table.cleared:
            getattr(own, name)[e] = 0

    def make_copy(pairs: list[tuple[str, str]]) -> Any:
        def copy_world(own: Any, e: int, given: Any, k: int) -> None:
            for name, source in pairs:
                getattr(own, name)[e] = getattr(given, source)[k]

        return Function(copy_world, functools.partial(make, "make_copy_world", table, pairs))

    def make(name: str, *arguments: Any) -> Any:
        return getattr(importlib.import_module("multigrid.runtime.table_types"), name)(*arguments)

    return {
        "own": Function(lambda w: w.own, functools.partial(make, "make_follow", ARRAYS, table)),
        "clear_world": Function(clear_world, functools.partial(make, "make_clear_world", table)),
        "copy_world": make_copy([(name, name) for name in table.saved]),
        "keep_first": make_copy([(f"{FIRST} {name}", name) for name in table.state]),
        "take_next": make_copy([(name, f"{NEXT} {name}") for name in table.state]),
    }
