"""Digests of functions of games: of the text of their files, or of their code, and of all values that they reach."""

from __future__ import annotations

import enum
import functools
import hashlib
import secrets
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


def digest_functions(functions: Iterable[Callable[..., Any]], beside: str = "") -> str:
    """Return a digest of functions, of all that they reach, and of a text: 16 characters, and maybe `LOCAL`.

    It differs after any edit of a file that one of the functions is in, and if a value that they reach is another one.
    A function that no file has, such as one of a notebook, counts by its code.
    """
    digest = _CodeDigest(beside)
    digest.add_functions(functions)
    is_known = not digest.unknown
    if not is_known:
        _UNKNOWN.update(digest.unknown)  # so that no other object gets the address of one
        digest.write(f"{_draw_token()} {sorted(digest.unknown)}")
    return digest.finish() + LOCAL * (not is_known)


@functools.cache
def _draw_token() -> str:
    return secrets.token_hex(8)


class Digest:
    """The digest of values, and of what functions reach; it is the same in each version of Python and of Numba.

    `unknown` has the values, by their ids, of which only the types are in the digest.
    """

    def __init__(self, text: str) -> None:
        self._texts = [text]
        self.unknown: dict[int, Any] = {}
        self.write = self._texts.append
        """Add a text."""

    def finish(self) -> str:
        """Return the digest, 16 characters."""
        return digest_text("\n".join(self._texts))[:16]

    def add_functions(self, functions: Iterable[Callable[..., Any]]) -> None:
        """Add functions and what they reach."""
        for function, name, value in walk(functions):
            self.write(name)
            if name:
                self.add(value)
            else:
                self.write(find_place(function.__code__) or _describe_code(function.__code__))

    def add(self, value: Any) -> None:
        """Add a value; of a function its name."""
        if type(value) in _SCALARS:
            self.write(repr(value))
        elif isinstance(value, types.FunctionType):
            self.write(value.__name__)
        elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
            content = hashlib.sha256(little.tobytes()).hexdigest()
            self.write(f"{np.lib.format.dtype_to_descr(little.dtype)} {value.shape} {content}")
        elif isinstance(value, enum.Enum):
            self.write(f"{type(value).__qualname__} {value.name}")
            self.add(value.value)
        elif isinstance(value, tuple | list):
            self.write(f"{type(value).__qualname__} {getattr(value, '_fields', '')} {len(value)}")
            for one in value:
                self.add(one)
        elif isinstance(value, frozenset | set):
            self.add(sorted(map(repr, value)))
        elif isinstance(value, Mapping):
            self.add(list(value.items()))
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, types.ModuleType):
            self.write("" if is_library_module(value) else digest_text(_read(getattr(value, "__file__", None) or "")))
        elif isinstance(value, np.dtype) or type(value).__module__.startswith("numba.core.types"):
            self.write(str(value))
        elif _is_function(value):
            self.write(value.__name__)
        else:
            self.write(type(value).__qualname__)
            self.unknown[id(value)] = value

    def _add_class(self, value: Any) -> None:
        if issubclass(value, np.generic):
            self.write(np.dtype(value).name)  # NumPy 2 has renamed some classes
            return
        self.write(f"{value.__qualname__} {getattr(value, '_fields', '')}")
        self.add(list(value) if isinstance(value, enum.EnumMeta) else ())
        if type(value).__module__.startswith("numba."):
            self.unknown[id(value)] = value


class _CodeDigest(Digest):
    """A digest for compiled code, which has Numba's options for functions, too."""

    def add(self, value: Any) -> None:
        """Add a value; of a function its name, and what the decorator got if that is known."""
        super().add(value)
        if isinstance(value, types.FunctionType | tuple | list) or not (functions := list_functions(value)):
            return
        options = getattr(value, "targetoptions", None)
        if isinstance(options, dict) and hasattr(value, "py_func"):
            self.write(repr({name: one for name, one in options.items() if type(one) in _SCALARS}))
        elif not all(find_place(function.__code__) for function in functions):
            self.unknown[id(value)] = value


def _is_function(value: Any) -> bool:
    """Return whether a value is a function, not a method of an object, or what a library has made of one."""
    library = type(value).__module__.partition(".")[0] in {"builtins", "multigrid", "numba", "numpy"}
    return library and callable(value) and hasattr(value, "__name__") and not isinstance(value, types.MethodType)


def find_place(code: types.CodeType) -> str:
    """Return where code is: a digest of the text of its file, and the place in it; "" if no file has it."""
    if id(code) not in _PLACES:
        text = _read(code.co_filename)
        # The file may have been edited since it was imported.
        place = _list_codes(text).get(code)
        _PLACES[id(code)] = code, f"{digest_text(text)} {place}" if place else ""
    return _PLACES[id(code)][1]


def digest_text(text: str) -> str:
    """Return the SHA-256 digest of a text."""
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
    constants = [
        _describe_code(one)
        if isinstance(one, types.CodeType)
        else sorted(map(repr, one))
        if isinstance(one, frozenset)
        else repr(one)
        for one in code.co_consts
    ]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    instructions = code.co_code, getattr(code, "co_exceptiontable", b"")
    return repr((code.co_name, arguments, names, instructions, constants))
