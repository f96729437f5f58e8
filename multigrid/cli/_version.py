"""``multigrid --version``: what a bug report needs."""

from __future__ import annotations

import platform

from multigrid._version import __version__
from multigrid.integrations.extras import list_versions

_ALWAYS = ("numpy", "numba", "gymnasium", "pettingzoo")
_EITHER = ("pygame-ce", "pygame")


def describe() -> str:
    """Return the versions of this package, of Python and of libraries, and how kernels are compiled, in lines.

    >>> print(describe())  # doctest: +ELLIPSIS
    multigrid 0.1.0
    Python 3...
    numpy ...
    """
    found = list_versions(*_ALWAYS, *_EITHER)
    lines = [f"multigrid {__version__}", f"Python {platform.python_version()}, {platform.platform()}"]
    lines += [f"{name} {found.get(name, 'is not installed')}" for name in _ALWAYS]
    lines += [f"{name} {found[name]}" for name in _EITHER if name in found] or ["pygame is not installed"]
    return "\n".join([*lines, f"kernels: {_kernels()}", ""])


def _kernels() -> str:
    try:
        from multigrid.runtime.compiled import KERNELS
    except Exception as error:  # noqa: BLE001 - a broken library is what the report is about
        return f"unknown, for {type(error).__name__}: {error}"
    return KERNELS if KERNELS == "interpreted" else f"compiled {KERNELS}"
