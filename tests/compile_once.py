"""A plugin of pytest for `mutants.py`: mutants share the compiled kernels that they do not change.

After any edit, the package itself compiles all kernels again, to be safe. Here a kernel is compiled again only if its
code, a function that it calls or a constant that it uses changes.
"""

import hashlib
import types
from pathlib import Path

import numpy as np

from multigrid.runtime import kernel_cache

kernel_cache.digest_sources = lambda _: "mutants"  # must precede any cache

import multigrid.core.hooks  # noqa: E402, F401 - the built-in rules
from multigrid.runtime.tables import RULES  # noqa: E402

# Whole files with intrinsics and types, on which kernels depend and which their code does not show.
PACKAGE = Path(kernel_cache.__file__).parents[1]
FILES = [*sorted((PACKAGE / "runtime").glob("*.py")), PACKAGE / "planning" / "_kernels.py"]
SUPPORT = [path.read_text() for path in FILES if "intrinsic" in path.read_text()]


def describe(value, names, hooks, seen):
    """Yield a text for each function and constant: the value itself, and all that its code names, hooks included."""
    plain = getattr(value, "py_func", value)
    if isinstance(plain, types.ModuleType) and plain.__name__.startswith("multigrid"):
        for name in sorted(vars(plain).keys() & set(names)):
            yield from describe(vars(plain)[name], names, hooks, seen)
    elif isinstance(plain, np.ndarray):
        yield f"{plain.dtype}{plain.shape}{plain.tobytes()}"
    elif not isinstance(plain, types.FunctionType):
        yield repr(plain).partition(" at 0x")[0]  # without the address
    elif plain not in seen:
        seen.add(plain)
        code = plain.__code__
        yield f"{plain.__module__}{plain.__qualname__}{code.co_code}{code.co_consts}{code.co_names}{plain.__defaults__}"
        for name in code.co_names:
            yield from describe(plain.__globals__.get(name), code.co_names, hooks, seen)
            yield from describe(hooks.get(name), code.co_names, hooks, seen)


def make_key(self, signature):
    """Return what identifies compiled code, in the place of `_FunctionCache._key`."""
    # The type of the arrays names the set of rules.
    hooks = RULES[next((name for name in RULES if name and f"@{name}" in str(signature)), "")]
    parts = [*SUPPORT, str(signature), kernel_cache._machine(), *describe(self._dispatcher, (), hooks, set())]
    return hashlib.sha256("\n".join(parts).encode()).digest()


kernel_cache._FunctionCache._key = make_key
