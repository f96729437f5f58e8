"""What the functions of a game reach: by globals, also through modules and classes, free variables, and defaults."""

from __future__ import annotations

import contextlib
import dis
import functools
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
        for attribute in _list_names(function.__code__)[1]:
            found += overloads.get(attribute, ())
        for name, value in _read(function):
            yield Reached(function, name, value)
            found += [*list_functions(value), *overloads.get(id(value), ())]
        to_do += found[::-1]


def list_functions(value: Any) -> list[types.FunctionType]:
    """Return the plain functions of users that a value is, has in a collection, or was compiled from."""
    if isinstance(value, tuple | list):
        return [function for one in value for function in list_functions(one)]
    # Numba's ufuncs and intrinsics have the plain function as `__wrapped__`.
    plain = getattr(value, "py_func", value if isinstance(value, types.FunctionType) else _find_wrapped(value))
    if not isinstance(plain, types.FunctionType) or is_library(plain.__module__, plain.__code__.co_filename):
        return []
    return [plain]


def _find_wrapped(value: Any) -> Any:
    return vars(value).get("__wrapped__") if hasattr(value, "__dict__") else None


def is_library(module: str | None, file: str | None) -> bool:
    """Return whether a module, of a file or None, is of Python, NumPy, Numba, or one that all kernels are made from."""
    top = (module or "").partition(".")[0]
    if top in _NUMBA or (file is not None and file in _own_files()):
        return True
    if top not in sys.stdlib_module_names:
        return False
    return file is None or file.startswith("<frozen") or _is_of_python(file)  # and not a user's module of that name


@functools.cache
def _own_files() -> set[str]:
    return set(map(str, list_sources()))


@functools.lru_cache(1024)
def _is_of_python(file: str) -> bool:
    parts, home = Path(file).resolve().parts, Path(sysconfig.get_path("stdlib")).resolve().parts
    return parts[: len(home)] == home and "site-packages" not in parts


def _read(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code, scope = function.__code__, function.__globals__
    names, attributes = _list_names(code)
    values = {name: scope[name] for name in names if name in scope}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # it has none yet
            values[name] = cell.cell_contents
    arguments, defaults = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
    values |= {f"{name}=": value for name, value in zip(arguments[::-1], defaults[::-1], strict=False)}
    values |= {f"{name}=": value for name, value in (function.__kwdefaults__ or {}).items()}
    for name in sorted(values):
        yield from _open(name, values[name], attributes, set())


def _open(name: str, value: Any, attributes: Iterable[str], owners: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield a value and, if it is a module or a class of a user, those of its attributes."""
    yield name, value
    is_module = isinstance(value, types.ModuleType)
    if id(value) in owners or not (is_module or isinstance(value, type)):
        return
    owners = owners | {id(value)}  # modules may import one another
    if is_module and is_library(value.__name__, getattr(value, "__file__", None)):
        # Some have attributes that warn, or that import what nobody reads.
        inside = {one: sys.modules.get(f"{value.__name__}.{one}") for one in attributes}
        found = {one: vars(value).get(one, inside[one]) for one in attributes}
    elif is_module or not is_library(value.__module__, getattr(sys.modules.get(value.__module__), "__file__", None)):
        found = {one: getattr(value, one, None) for one in attributes}
    else:
        return
    for one, attribute in found.items():
        if attribute is not None:
            yield from _open(f"{name}.{one}", attribute, attributes, owners)


@functools.lru_cache(1024)
def _list_names(code: types.CodeType) -> tuple[list[str], list[str]]:
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
    templates = sys.modules.get("numba.core.typing.templates")
    found: dict[int | str, list[types.FunctionType]] = {}
    if templates is not None:
        registry = templates.builtin_registry
        known = [(id(value), one) for value, kind in registry.globals for one in getattr(kind, "templates", ())]
        known += [(one._attr, one) for one in registry.attributes if hasattr(one, "_attr")]  # noqa: SLF001
        for key, template in known:
            if functions := list_functions(getattr(template, "_overload_func", None)):
                found.setdefault(key, []).extend(functions)
    return found
