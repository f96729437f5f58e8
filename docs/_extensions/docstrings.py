"""Read docstrings as this package writes them: four things that autodoc and napoleon do otherwise.

- Types stand in annotations, so a colon in the sentence after ``Returns:``, or in that of a property, is part of it.
- A sentence that names a page by its title and its file becomes a link to that page, which must exist.
- In a signature, a name of `autodoc_type_aliases` is written as that name also where it is part of a union.
- Data of a subpackage has its docstring below its assignment, in the module from which the subpackage imports it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LOGGER = logging.getLogger(__name__)
_ALIAS = re.compile(r"[~\w.]*TypeAliasForwardRef\('([^']+)'\)")
_COLON = "\ue000"  # stands for a colon while napoleon reads


def _find(_app: Sphinx, what: str, name: str, _value: object, _options: Any, lines: list[str]) -> None:
    """Replace the docstring of the type of data by its own."""
    if what != "data":
        return
    module, _, name = name.rpartition(".")
    found = ModuleAnalyzer.for_module(_origin(module, name)).find_attr_docs().get(("", name))
    if found is None:
        _LOGGER.warning("%s.%s has no docstring: write one below its assignment", module, name)
    else:
        lines[:] = found


def _origin(module: str, name: str) -> str:
    """Return the module from which another imports a name, or the module itself."""
    for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return _origin(str(node.module), name)
    return module


def _hide_colons(_app: Sphinx, what: str, _name: str, _value: object, _options: Any, lines: list[str]) -> None:
    for index, line in enumerate(lines):
        is_returned = index > 0 and lines[index - 1].strip() in ("Returns:", "Yields:")
        if is_returned or (index == 0 and what in ("attribute", "data", "property")):
            lines[index] = re.sub(r":(?=\s|$)", _COLON, line)


def _link_pages(_app: Sphinx, _what: str, _name: str, _value: object, _options: Any, lines: list[str]) -> None:
    text = "\n".join(lines)
    lines[:] = re.sub(r'See the page "[^"]+" \(docs/(\S+)\.md in the source\)', r"See :doc:`/\1`", text).split("\n")


def _name_aliases(
    _app: Sphinx, _what: str, _name: str, _value: object, _options: Any, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    arguments, returned = (text and _ALIAS.sub(r"\1", text) for text in (arguments, returned))
    return arguments, returned


def _restore_colons(_app: Sphinx, _what: str, _name: str, _value: object, _options: Any, lines: list[str]) -> None:
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Put these around napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _find, priority=400)
    app.connect("autodoc-process-docstring", _hide_colons, priority=450)
    app.connect("autodoc-process-docstring", _restore_colons, priority=550)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("autodoc-process-signature", _name_aliases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
