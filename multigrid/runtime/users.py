"""The functions of a user's game, compiled with the plain functions that they call."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from multigrid.runtime.compiled import Function, compile_function
from multigrid.runtime.digests import digest_functions
from multigrid.runtime.reached import is_library_module, list_names

_MODULE = "multigrid.game"
"""The module that compiled functions say they are of, for the cache: a game's may be imported, a script, or a file."""


def interpret_users(function: Any, known: dict[int, Any]) -> Any:
    """Return a copy of a user's function for Python to run: its globals stay as they are, as those of compiled code."""
    if isinstance(function, Function):
        return function
    plain = getattr(function, "py_func", function)
    if id(plain) not in known:
        known[id(plain)] = plain
        changed = _find_changed(plain, functools.partial(interpret_users, known=known), {})
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
        copy.__module__ = _MODULE
        known[id(function)] = compile_function(_name_keywords(copy), forceinline=True)
    return known[id(function)]


def _find_changed(function: Any, change: Callable[[Any], Any], modules: dict[int, Any]) -> dict[str, Any]:
    """Return the globals of a function, by name, that `change` returns otherwise, also those of modules."""
    names = {name for kind in list_names(function.__code__) for name in kind}

    def find(value: Any) -> Any:
        if isinstance(getattr(value, "py_func", value), types.FunctionType):
            return change(value)
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.setflags(write=False)
        if not isinstance(value, types.ModuleType) or is_library_module(value):
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
