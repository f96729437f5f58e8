"""What the functions of a game reach: by globals, also through modules and classes, free variables, and defaults."""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from multigrid.runtime.sources import list_sources

_NUMBA = {"llvmlite", "numba", "numpy"}


class Reached(NamedTuple):
    """A value that a function reaches."""

    reader: types.FunctionType
    """The plain function that reads it, or that has it as a default."""
    name: str
    """Its name there, such as "helpers.PRICE"; "x=" for the default of x, and "" for the function itself."""
    value: Any


def walk(functions: Iterable[Callable[..., Any]]) -> Iterator[Reached]:
    """Yield functions, what they reach, and the functions of users among that with what they reach.

    Each function comes once. Of modules and classes, all attributes come whose name the function has anywhere, for they
    may have another name in it, or be read by `getattr`.

    >>> [(name, value) for _, name, value in walk([lambda: sys.maxsize])][1:]  # doctest: +ELLIPSIS
    [('sys', <module 'sys' (built-in)>), ('sys.maxsize', ...)]
    """
    overloads, to_do, known = _find_overloads(), list(functions)[::-1], set[int]()
    while to_do:
        function: Any = to_do.pop()
        if id(function) in known:
            continue
        known.add(id(function))
        yield Reached(function, "", function)
        found = [*overloads.get(id(function), ())]
        for attribute in overloads.keys() & set(list_names(function.__code__)[1]):
            found += overloads[attribute]
        for name, value in _read(function):
            yield Reached(function, name, value)
            found += [*list_functions(value), *overloads.get(id(value), ())]
        to_do += found[::-1]


def list_functions(value: Any) -> list[types.FunctionType]:
    """Return the plain functions of users that a value is, has in a collection, or was compiled from."""
    if isinstance(value, tuple | list):
        return [function for one in value for function in list_functions(one)]
    if isinstance(value, types.FunctionType):
        plain: Any = value
    elif not callable(value):
        return []
    else:  # Numba's ufuncs and intrinsics have the plain function as `__wrapped__`
        plain = getattr(value, "py_func", None) or getattr(value, "__dict__", {}).get("__wrapped__")
    if not isinstance(plain, types.FunctionType) or is_library(plain.__module__, plain.__code__.co_filename):
        return []
    return [plain]


def is_library(module: str | None, file: str | None) -> bool:
    """Return whether a module, of a file or None, is of Python, NumPy, Numba, or one that all kernels are made from."""
    top = (module or "").partition(".")[0]
    if top in _NUMBA or (file is not None and file in _own_files()):
        return True
    if top not in sys.stdlib_module_names:
        return False
    return file is None or file.startswith("<frozen") or _is_of_python(file)  # and not a user's module of that name


def is_library_module(module: Any) -> bool:
    """Return whether a module is one of a library, or of this package."""
    file = getattr(module, "__file__", None)
    return is_library(module.__name__, file) or str(file).startswith(f"{Path(__file__).parents[1]}{os.sep}")


@functools.cache
def _own_files() -> set[str]:
    return set(map(str, list_sources()))


@functools.lru_cache(1024)
def _is_of_python(file: str) -> bool:
    parts, home = Path(file).resolve().parts, Path(sysconfig.get_path("stdlib")).resolve().parts
    return parts[: len(home)] == home and "site-packages" not in parts


def _read(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code, scope = function.__code__, function.__globals__
    names, attributes = list_names(code)
    values = [(name, scope[name]) for name in names if name in scope]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # it has none yet
            values.append((name, cell.cell_contents))
    arguments, defaults = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
    values += [(f"{name}=", value) for name, value in zip(arguments[::-1], defaults[::-1], strict=False)]
    values += [(f"{name}=", value) for name, value in (function.__kwdefaults__ or {}).items()]
    attributes = [*attributes, *(value for _, value in values if isinstance(value, str))]  # for `getattr`
    for name, value in values:
        yield name, value
        if isinstance(value, types.ModuleType | type):
            yield from _open(name, value, attributes, ())


def _open(name: str, owner: Any, attributes: Iterable[str], outer: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a module, or of a class of a user, and what these have if they are such."""
    if isinstance(owner, types.ModuleType) and is_library_module(owner):
        # Some have attributes that warn, or that import what nobody reads.
        found = {one: vars(owner).get(one, sys.modules.get(f"{owner.__name__}.{one}")) for one in attributes}
    elif isinstance(owner, types.ModuleType) or not is_library_module(sys.modules.get(owner.__module__, owner)):
        found = {one: getattr(owner, one, None) for one in attributes}
    else:
        return
    outer = (*outer, owner)
    for one, value in found.items():
        if value is not None:
            yield f"{name}.{one}", value
        if isinstance(value, types.ModuleType | type) and value not in outer:  # modules may import one another
            yield from _open(f"{name}.{one}", value, attributes, outer)


@functools.lru_cache(1024)
def list_names(code: types.CodeType) -> tuple[list[str], list[str]]:
    """Return the names that code reads as globals, and those that it has of attributes, or may have as texts."""
    names, attributes, codes = set(), set(), [code]
    for one in codes:
        codes += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
        attributes |= {text for text in one.co_consts if isinstance(text, str) and text.isidentifier()}
        for instruction in dis.get_instructions(one):
            if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}:
                names.add(str(instruction.argval))
        attributes |= set(one.co_names)
    return sorted(names), sorted(attributes)


def _find_overloads() -> dict[int | str, list[types.FunctionType]]:
    """Return what users have given to `numba.extending.overload`, by the function's id or the attribute's name."""
    if "numba" not in sys.modules:
        return {}
    try:
        from multigrid.runtime.dispatchers import list_overloads
    except (ImportError, AttributeError):  # nothing that such a Numba compiles is kept
        return {}
    found: dict[int | str, list[types.FunctionType]] = {}
    for key, overload in list_overloads():
        if functions := list_functions(overload):
            found.setdefault(key, []).extend(functions)
    return found
