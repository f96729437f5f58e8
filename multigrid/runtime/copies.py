"""Copies of kernels in which some functions are replaced by others: how the functions of a user's game get in.

Only the functions that reach a replaced one are copied; all others are shared with the original.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from multigrid.runtime import arrays, atomics, compiled
from multigrid.runtime.compiled import (
    JUST_IN_TIME,
    compile_copy,
    compiles_games,
    copy_module,
    find_plain,
    is_own,
    list_names,
)


class Copies:
    """Copies of kernels for one game.

    `identity` tells these copies from others in the cache of compiled kernels: what is compiled, and a digest.
    """

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._copies: dict[int, Any] = {}
        self._shared: set[int] = set()
        # Kernels that the wheel brings cannot be called by what Numba compiles.
        self._shares = JUST_IN_TIME or not compiles_games()
        if not self._shares:
            from multigrid.runtime import intrinsics
            from multigrid.runtime.table_types import make_unpack

            self.replace(arrays.unpack, make_unpack(arrays.ARRAYS))
            for module, names in ((atomics, atomics.__all__), (compiled, ("signed", "unsigned"))):
                for name in names:
                    self.replace(getattr(module, name), getattr(intrinsics, name))

    def replace(self, function: Any, by: Any) -> None:
        """Let what is copied from now on call another function in the place of one."""
        self._copies[id(function)] = by
        self._shared.clear()

    def find(self, function: Any) -> Any:
        """Return what stands for a function, or the function."""
        return self._copies.get(id(function), function)

    def copy(self, function: Any) -> Any:
        """Return the copy of a kernel, or the kernel itself if it reaches nothing that is replaced."""
        if id(function) in self._copies or id(function) in self._shared:
            return self._copies.get(id(function), function)
        plain = find_plain(function)
        called = _list_called(plain, lambda found: is_own(find_plain(found)) or id(found) in self._copies)
        copied = {name: self.copy(found) for name, found in called.items()}
        if self._shares and all(copied[name] is called[name] for name in copied):
            self._shared.add(id(function))
            return function
        self._copies[id(function)] = self._compile(function, plain, copied)
        return self._copies[id(function)]

    def fill(self, template: Callable[..., Any], called: Mapping[str, Any], name: str = "", like: Any = None) -> Any:
        """Return a copy of a plain function, with other functions under some names.

        `name` tells copies of one template from each other. It is compiled as `like`, or if that is None, inlined.
        """
        copied = {
            name: self.copy(found)
            for name, found in _list_called(template, lambda found: is_own(find_plain(found))).items()
        }
        return self._compile(like, template, copied | dict(called), name)

    def compile_users(self, function: Callable[..., Any]) -> Any:
        """Return a user's function, compiled, with all plain functions of the user that it calls."""
        if id(function) not in self._copies:
            self._copies[id(function)] = function  # a recursive one is left to Numba's own error
            names, scope = list_names(function), function.__globals__
            copied = {name: self._bring(scope[name], names) for name in names if name in scope}
            self._copies[id(function)] = self._compile(None, function, copied, digest_functions([function]))
        return self._copies[id(function)]

    def _bring(self, found: Any, names: Collection[str]) -> Any:
        """Return what a user's function gets for something that it reads, given all names in its code."""
        if is_own(find_plain(found)):
            return self.copy(found)
        if isinstance(found, types.FunctionType):
            return self.compile_users(found)
        return copy_module(found, names, self._bring, {})

    def _compile(self, original: Any, plain: Callable[..., Any], called: Mapping[str, Any], name: str = "") -> Any:
        scope, code, defaults = {**plain.__globals__, **called}, plain.__code__, plain.__defaults__ or ()
        named, num_named = plain.__kwdefaults__ or {}, code.co_kwonlyargcount
        if num_named and (len(named) == num_named or not (defaults or named)):
            # Numba knows no keyword-only arguments; calls name them.
            code = code.replace(co_argcount=code.co_argcount + num_named, co_kwonlyargcount=0)
            defaults = (*defaults, *named.values())
        copy = types.FunctionType(code, scope, plain.__name__, defaults or None, plain.__closure__)
        copy.__module__, copy.__qualname__ = plain.__module__, f"{plain.__qualname__}{name}@{self._identity}"
        copy.__annotations__ = plain.__annotations__
        return compile_copy(copy, original) if compiles_games() else copy


def _list_called(plain: Callable[..., Any], is_wanted: Callable[[Any], bool]) -> dict[str, Any]:
    """Return the functions that a function calls by a global name, by that name, in the order of its code."""
    scope = plain.__globals__
    return {name: scope[name] for name in list_names(plain) if name in scope and is_wanted(scope[name])}


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
        for name, value in (function.__kwdefaults__ or {}).items():
            self.add((name, value))
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
