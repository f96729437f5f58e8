"""Warn, which fails a build with `-W`, if the reference lacks a public name.

A name is public if a public module lists it in ``__all__``. Public modules are the package itself, the subpackages that
its ``__all__`` lists, each module of ``multigrid.integrations`` without an underscore, and those in `_OTHER_MODULES`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

import multigrid
import multigrid.integrations

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_LOGGER = logging.getLogger(__name__)
_OTHER_MODULES = (
    *("multigrid.rendering.svg", "multigrid.rendering.replay", "multigrid.scenarios.tracing"),
    "benchmarks.pogema",  # beside the package
)


def public_modules() -> Iterator[str]:
    """Yield the names of the public modules."""
    yield "multigrid"
    for name in multigrid.__all__:
        if inspect.ismodule(getattr(multigrid, name)):
            yield f"multigrid.{name}"
    for folder in map(Path, multigrid.integrations.__path__):
        names = [module.name for module in pkgutil.iter_modules([str(folder)])]
        yield from (f"multigrid.integrations.{name}" for name in names if not name.startswith("_"))
    yield from _OTHER_MODULES


def find_missing(env: BuildEnvironment) -> list[str]:
    """Return the public names that no page describes."""
    described = env.domains["py"].objects
    with mock(env.config.autodoc_mock_imports):
        names = [f"{name}.{entry}" for name in public_modules() for entry in importlib.import_module(name).__all__]
    return [name for name in names if name not in described]


def _check(_app: Sphinx, env: BuildEnvironment) -> None:
    missing = find_missing(env)
    if missing:
        _LOGGER.warning("docs/reference has no entry for %s", ", ".join(missing))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the check."""
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
