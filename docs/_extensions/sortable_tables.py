"""Let readers sort long tables, keep figures and names whole, and load pictures when they come into view.

On a phone, the last column of a table of arguments, functions, options or parts stands below the others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx


# An interval, and a cell that is a number and its unit.
_TOGETHER = re.compile(r"\[[^]]*\]|^[\d.,]+ \w+$")
_PERCENTAGE = re.compile(r"(?<=\d) %")
# Longer words of code may break in a narrow column, and cells with more letters beside
# it are prose, which needs some room.
_LONGEST_WHOLE, _LONGEST_CELL = 20, 60
_EXPLAINED = ("argument", "function", "option", "part")


def _keep_percentages(_app: Sphinx, document: nodes.document) -> None:
    for text in list(document.findall(nodes.Text)):
        kept = _PERCENTAGE.sub("\N{NO-BREAK SPACE}%", text)
        if kept != text and not isinstance(text.parent, (nodes.literal, nodes.literal_block)):
            text.parent.replace(text, nodes.Text(kept))


def _keep_together(_app: Sphinx, document: nodes.document) -> None:
    for entry in document.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            kept = _TOGETHER.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
            if kept != text and not isinstance(text.parent, nodes.literal):
                text.parent.replace(text, nodes.Text(kept))


def _keep_names_whole(_app: Sphinx, document: nodes.document) -> None:
    for entry in document.findall(nodes.entry):
        letters = len(entry.astext())
        for code in entry.findall(nodes.literal):
            letters -= len(code.astext())
            if max(map(len, code.astext().split()), default=0) <= _LONGEST_WHOLE:
                code["classes"].append("whole")
            if len(code.astext()) <= _LONGEST_WHOLE:
                code["classes"].append("one-line")
        if letters > _LONGEST_CELL:
            entry["classes"].append("prose")


def _put_meanings_below(_app: Sphinx, document: nodes.document) -> None:
    for table in document.findall(nodes.table):
        if next(table.findall(nodes.entry)).astext() in _EXPLAINED:
            table["classes"].append("meanings")


def _load_lazily(_app: Sphinx, document: nodes.document) -> None:
    for image in document.findall(nodes.image):
        image.setdefault("loading", "lazy")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the script and its style."""
    app.add_js_file("sort_tables.js", loading_method="defer")
    app.add_css_file("sort_tables.css")
    app.connect("doctree-read", _keep_percentages)
    app.connect("doctree-read", _keep_together)
    app.connect("doctree-read", _keep_names_whole)
    app.connect("doctree-read", _put_meanings_below)
    app.connect("doctree-read", _load_lazily)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
