"""Digests of functions of games: of the text of their files, or of their code, and of all values that they reach."""

from __future__ import annotations

import enum
import functools
import hashlib
import secrets
import sys
import tokenize
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from multigrid.runtime.reached import is_library_module, list_functions, walk

LOCAL = "~"
"""What a digest ends with if it is for this process alone, for it has a value whose content is not known."""
_SCALARS = {bool, int, float, complex, str, bytes, slice, type(None), type(...)}
_PLACES: dict[int, tuple[types.CodeType, str]] = {}
_UNKNOWN: dict[int, Any] = {}


def digest_functions(functions: Iterable[Callable[..., Any]], beside: str = "", *, is_key: bool = True) -> str:
    """Return a digest of functions, of all that they reach, and of a text: 16 characters, and maybe `LOCAL`.

    It differs after any edit of a file that has one of the functions, and if a value that they reach is another one. A
    function that no file has, such as one of a notebook, counts by its code. Unless it is a key of compiled code, it is
    the same in each version of Python and of Numba, and of a value whose content is not known it has the type alone.
    """
    unknown, texts = dict[int, Any]() if is_key else None, [beside]
    for function, name, value in walk(functions):
        code = function.__code__
        texts += [name, _describe(value, unknown) if name else _find_place(code) or _describe_code(code)]
    if unknown:
        _UNKNOWN.update(unknown)  # so that no other object gets the address of one
        texts.append(f"{_draw_token()} {sorted(unknown)}")
    return _digest_text("\n".join(texts))[:16] + LOCAL * bool(unknown)


@functools.cache
def _draw_token() -> str:
    return secrets.token_hex(8)


def _describe(value: Any, unknown: dict[int, Any] | None) -> str:
    """Return what a value is, of a function its name; for a key, add objects that are not known to a dict by ids."""
    kind, text, is_known = type(value), "", True
    if kind in _SCALARS:
        text = repr(value)
    elif isinstance(value, types.FunctionType):
        text = value.__name__
    elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        content = hashlib.sha256(little.tobytes()).hexdigest()
        text = f"{np.lib.format.dtype_to_descr(little.dtype)} {value.shape} {content}"
    elif isinstance(value, enum.Enum):
        text = f"{kind.__qualname__}.{value.name} {_describe(value.value, unknown)}"
    elif isinstance(value, tuple | list):
        text = f"{kind.__qualname__} {getattr(value, '_fields', '')} {[_describe(one, unknown) for one in value]}"
    elif isinstance(value, frozenset | set):
        text = repr(sorted(map(repr, value)))
    elif isinstance(value, Mapping):
        text = _describe(list(value.items()), unknown)
    elif isinstance(value, types.ModuleType):
        text = "" if is_library_module(value) else _digest_text(_read(getattr(value, "__file__", None) or ""))
    elif isinstance(value, np.dtype) or _is_numba_type(value):
        text = str(value)
    elif isinstance(value, type) and issubclass(value, np.generic):
        text = np.dtype(value).name  # NumPy 2 has renamed some classes
    elif isinstance(value, type):
        members = [*value] if isinstance(value, enum.EnumMeta) else []
        text = f"{value.__qualname__} {getattr(value, '_fields', '')} {_describe(members, unknown)}"
        is_known = not kind.__module__.startswith("numba.")
    elif (functions := list_functions(value)) and hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        text = f"{value.__name__} {'' if unknown is None else sorted(value.targetoptions.items())}"
    else:
        # What a library has made of a function; a method may be of any object.
        is_named = kind.__module__.partition(".")[0] in {"builtins", "multigrid", "numba", "numpy"}
        is_named = is_named and hasattr(value, "__name__") and not isinstance(value, types.MethodType)
        text = value.__name__ if is_named else kind.__qualname__
        is_known = is_named and all(_find_place(function.__code__) for function in functions)
    if unknown is not None and not is_known:
        unknown[id(value)] = value
    return text


def _is_numba_type(value: Any) -> bool:
    numba = sys.modules.get("numba")
    return numba is not None and isinstance(value, numba.types.Type)


def _find_place(code: types.CodeType) -> str:
    """Return where code is: a digest of the text of its file, and the place in it; "" if no file has it."""
    if id(code) not in _PLACES:
        text = _read(code.co_filename)
        # The file may have been edited since it was imported.
        place = _list_codes(text).get(code)
        _PLACES[id(code)] = code, f"{_digest_text(text)} {place}" if place else ""
    return _PLACES[id(code)][1]


def _digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(file: str) -> str:
    try:
        with tokenize.open(file) as stream:
            return stream.read()
    except (OSError, SyntaxError, ValueError):
        return ""


@functools.lru_cache(16)
def _list_codes(text: str) -> dict[types.CodeType, str]:
    """Return the code of the functions of a module, each with its name, line, and number among those of that line."""
    try:
        codes = [compile(text, "", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return {}
    found: dict[types.CodeType, str] = {}
    lines: dict[tuple[str, int], int] = {}
    for code in codes:
        line = code.co_name, code.co_firstlineno
        lines[line] = lines.get(line, 0) + 1
        found.setdefault(code, f"{line} {lines[line]}")
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return found


def _describe_code(code: types.CodeType) -> str:
    """Return what code does, without its place in a file."""
    constants = [_describe_code(one) if isinstance(one, types.CodeType) else repr(one) for one in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    instructions = code.co_code, getattr(code, "co_exceptiontable", b"")
    return repr((code.co_name, arguments, names, instructions, constants))
