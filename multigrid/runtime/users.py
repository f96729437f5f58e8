"""The functions of a user's game: compiled with the plain functions that they call, and told from other versions."""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from multigrid.runtime.compiled import Function, compile_function, find_plain

_LIBRARIES = {*sys.stdlib_module_names, "multigrid", "numba", "numpy"}
"""Packages of which Numba itself knows the functions that it knows, or whose functions are compiled already."""


def interpret_users(function: Any, known: dict[int, Any]) -> Any:
    """Return a user's function for Python to run: itself, or if it reaches a function compiled by Numba, a copy."""
    if isinstance(function, Function):
        return function
    plain = getattr(function, "py_func", function)
    if id(plain) not in known:
        known[id(plain)] = plain
        changed = _find_changed(plain, functools.partial(interpret_users, known=known), {})
        if changed:
            known[id(plain)] = _change_globals(plain, changed)
    return known[id(plain)]


def compile_users(function: Any, known: dict[int, Any]) -> Any:
    """Return a user's function, compiled, with all plain functions of the user that it calls.

    `known` has what was compiled for the same game, by the id of the function.
    """
    if not isinstance(function, types.FunctionType):
        return function
    if id(function) not in known:
        known[id(function)] = function  # a recursive one is left to Numba's own error
        changed = _find_changed(function, functools.partial(compile_users, known=known), {})
        copy = _change_globals(function, changed)
        # The cache of compiled functions tells them apart by their names.
        copy.__qualname__ += f"@{digest_functions([function])}"
        known[id(function)] = compile_function(_name_keywords(copy), forceinline=True)
    return known[id(function)]


def _find_changed(function: Any, change: Callable[[Any], Any], modules: dict[int, Any]) -> dict[str, Any]:
    """Return the globals of a function, by name, that `change` returns otherwise, also those of modules."""
    names = _list_names(function.__code__)

    def find(value: Any) -> Any:
        if isinstance(getattr(value, "py_func", value), types.FunctionType):
            return change(value)
        if not isinstance(value, types.ModuleType) or value.__name__.partition(".")[0] in _LIBRARIES:
            return value
        if id(value) not in modules:  # modules may import one another
            module = modules[id(value)] = types.ModuleType(value.__name__)
            vars(module).update(vars(value))
            vars(module).update({name: find(getattr(value, name)) for name in names if hasattr(value, name)})
        return modules[id(value)]

    values = {name: function.__globals__[name] for name in names if name in function.__globals__}
    found = {name: find(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not values[name]}


def _change_globals(function: Any, changed: Mapping[str, Any]) -> Any:
    scope = {**function.__globals__, **changed}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function)


def _name_keywords(function: Any) -> Any:
    """Let keyword-only arguments be given by position, too: Numba knows no others, and calls name them."""
    code, defaults, named = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
    count = code.co_kwonlyargcount
    if count and (len(named) == count or not (defaults or named)):
        function.__code__ = code.replace(co_argcount=code.co_argcount + count, co_kwonlyargcount=0)
        function.__defaults__, function.__kwdefaults__ = (*defaults, *named.values()) or None, None
        del function.__wrapped__  # whose signature Numba would take
    return function


def _list_names(code: types.CodeType) -> list[str]:
    """Return the names of globals and attributes in code, and up to Python 3.11 in that of its comprehensions."""
    inner = [name for one in code.co_consts if isinstance(one, types.CodeType) for name in _list_names(one)]
    return [*code.co_names, *inner]


def digest_functions(functions: Iterable[Callable[..., Any]], beside: str = "") -> str:
    """Return a digest, 16 characters, of functions' code, of all that they reach by global names, and of a text.

    It differs after an edit of a function, of one that it calls, of a constant that it reads, also through modules and
    classes; not after an edit of a comment.
    """
    digest = Digest(beside)
    for function in functions:
        digest.add(function)
    return digest.hash.hexdigest()[:16]


class Digest:
    """The digest of values, and of what functions reach, by their bytecode."""

    def __init__(self, text: str) -> None:
        self.hash = hashlib.sha256(text.encode())
        self._seen: set[int] = set()

    def add(self, value: Any) -> None:
        """Add a value: a number, a text, an array, a collection of values, a function, or else its name."""
        plain = find_plain(value)
        if isinstance(plain, types.FunctionType):
            if id(plain) not in self._seen:
                self._seen.add(id(plain))
                self.add_function(plain)
        elif isinstance(value, enum.Enum):
            self.add(value.value)
        elif isinstance(value, np.ndarray | np.generic):
            little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
            self.write(f"{value.dtype.name} {value.shape} {little.tobytes().hex()}")
        elif isinstance(value, frozenset | set):
            self.add(sorted(map(repr, value)))
        elif isinstance(value, tuple | list):
            self.write(f"{type(value).__name__} {len(value)}")
            for one in value:
                self.add(one)
        elif isinstance(value, bool | int | float | complex | str | bytes | slice | None):
            self.write(f"{type(value).__name__} {value!r}")
        elif isinstance(value, type) and issubclass(value, np.generic):
            self.write(np.dtype(value).name)  # NumPy 2 has renamed some classes
        else:
            # The repr of another object may have an address.
            self.write(getattr(value, "__name__", type(value).__name__))

    def write(self, text: str) -> None:
        """Add a text."""
        self.hash.update(f"{text}\n".encode())

    def add_function(self, function: types.FunctionType) -> None:
        """Add a function that was not added before."""
        self.write(f"function {function.__module__} {function.__qualname__}")
        self.add(function.__defaults__)
        self.add(list((function.__kwdefaults__ or {}).items()))
        self._add_code(function.__code__, function.__globals__)
        for cell in function.__closure__ or ():
            self.add(cell.cell_contents)

    def _add_code(self, code: types.CodeType, scope: Mapping[str, Any]) -> None:
        # The code has only indices into the names.
        self.write(repr(code.co_names))
        self.hash.update(code.co_code + getattr(code, "co_exceptiontable", b""))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, scope)
            else:
                self.add(constant)
        for name, *attributes in _list_chains(code):
            self.write(name)
            value = scope.get(name)
            for attribute in attributes:
                if isinstance(value, types.ModuleType | type):
                    self.write(attribute)
                    value = getattr(value, attribute, None)
            self.add(value)


def _list_chains(code: types.CodeType) -> Iterator[list[str]]:
    """Yield the global names that code reads, each with the attributes that it reads of them."""
    chain: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            if chain:
                yield chain
            chain = [str(instruction.argval)]
        elif chain and instruction.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            chain.append(str(instruction.argval))
        elif chain:
            yield chain
            chain = []
    if chain:
        yield chain
