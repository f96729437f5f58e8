"""A plugin of pytest for `mutants.py`: a kernel is compiled anew only if a mutant changes what it is made from.

After an edit, the package's own cache compiles all kernels anew, for a wrong one would be used for months. Here the key
of a kernel is its code and that of all it reaches, so that mutants share the kernels that they do not change.
"""

import hashlib
import types
from pathlib import Path

import numpy as np

from multigrid.runtime import kernel_cache

kernel_cache.digest_sources = lambda _: "mutants"  # before a cache is created

from multigrid.runtime import arrays  # noqa: E402

# Intrinsics, and the types of arrays, are no part of a kernel's code.
FILES = [Path(arrays.__file__).parents[1] / name for name in ("runtime", "planning/_kernels.py")]
SUPPORT = [path.read_text() for path in FILES[0].glob("*.py") if "intrinsic" in path.read_text()]
SUPPORT += [FILES[1].read_text()]


def describe(value, names, seen):
    """Yield what compiled code takes from a value: of a function, all that it reaches by the names in its code."""
    plain = getattr(value, "py_func", value)
    if isinstance(plain, types.ModuleType) and plain.__name__.startswith("multigrid"):
        for name in sorted(vars(plain).keys() & set(names)):
            yield from describe(vars(plain)[name], names, seen)
    elif isinstance(plain, np.ndarray):
        yield f"{plain.dtype}{plain.shape}{plain.tobytes()}"
    elif not isinstance(plain, types.FunctionType):
        yield repr(plain).partition(" at 0x")[0]
    elif plain not in seen:
        seen.add(plain)
        code = plain.__code__
        yield f"{plain.__module__}{plain.__qualname__}{code.co_code}{code.co_consts}{code.co_names}{plain.__defaults__}"
        for name in code.co_names:
            yield from describe(plain.__globals__.get(name), code.co_names, seen)


def make_key(self, signature):
    """Return what identifies the compiled code of a function."""
    parts = [*SUPPORT, str(signature), kernel_cache._machine(), *describe(self._dispatcher, (), set())]
    return hashlib.sha256("\n".join(parts).encode()).digest()


kernel_cache._FunctionCache._key = make_key
