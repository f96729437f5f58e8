"""The parts of the Rules page that come from the code: its prose, the table of outcomes, and the explorer.

`rules-prose` is the docstring of a module, with an anchor at each section; `outcomes` the table of what each outcome
means; `rules-explorer` the interactive part, whose files are built into the site's static folder.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from sphinx.util.display import progress_message
from sphinx.util.docutils import SphinxDirective

from multigrid import Outcome
from multigrid._palette import Colour, colours, contrast, hexadecimal, legible, rim
from multigrid.rendering.replay import FLOORS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SOURCES = Path(__file__).parents[1] / "rules"
SCRIPTS = ("lookup.js", "situation.js", "board.js", "controls.js", "explorer.js")
FILES = ("rules-explorer-table.js", "rules-explorer.js", "rules-explorer.css")
_SECTION = re.compile(r"\*\*(\w+)\.\*\*")


@functools.cache
def _tools() -> dict[str, Any]:
    return runpy.run_path(str(SOURCES / "make_table.py"))


@functools.cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = _tools()["make_table"]()
    return table


class RulesProse(SphinxDirective):
    """The docstring of a module, as reStructuredText.

    A paragraph that begins with **Word.** has the anchor rules-word.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the docstring."""
        module = importlib.import_module(self.arguments[0])
        self.env.note_dependency(str(module.__file__))
        document = new_document(str(module.__file__), self.state.document.settings)
        Parser().parse(inspect.cleandoc(module.__doc__ or ""), document)
        for paragraph in document.findall(nodes.paragraph):
            if section := _SECTION.match(paragraph.rawsource):
                paragraph["ids"].append(f"rules-{section[1].lower()}")
        return [nodes.container("", *document.children, classes=["rules-prose"])]


class Outcomes(SphinxDirective):
    """The outcomes, with what they mean, and the rest of their class's docstring up to its examples."""

    def run(self) -> list[nodes.Node]:
        """Make the table, and the paragraphs below it."""
        rows = [
            (str(number), outcome["name"].upper(), outcome["meaning"])
            for number, outcome in enumerate(_table()["outcomes"])
        ]
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (10, 15, 75)), cols=3)
        group += nodes.thead("", _row("number", "outcome", "meaning"))
        group += nodes.tbody("", *(_row(number, name, meaning, literal=True) for number, name, meaning in rows))
        _, *more = inspect.cleandoc(Outcome.__doc__ or "").partition("\n\n>>>")[0].split("\n\n")
        return [nodes.table("", group, classes=["outcomes"]), *(nodes.paragraph(text=text) for text in more)]


def _row(number: str, name: str, meaning: str, *, literal: bool = False) -> nodes.row:
    cells = [nodes.Text(number), nodes.literal(text=name) if literal else nodes.Text(name), nodes.Text(meaning)]
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


class RulesExplorer(SphinxDirective):
    """The place of the explorer, which its scripts fill."""

    def run(self) -> list[nodes.Node]:
        """Make the place, and have the page load the files."""
        place = (
            f"<style>{_hues()}</style>"
            '<div id="rules-explorer"><noscript><p>The explorer needs JavaScript.</p></noscript></div>'
        )
        self.env.metadata[self.env.docname]["rules_explorer"] = True
        return [nodes.raw("", place, format="html")]


def _hues() -> str:
    agents = list(enumerate(colours(_table()["mostAgents"])))
    light, dark = (
        "".join(_hue(agent, legible(colour, floor)) for agent, colour in agents) + f"--floor:{hexadecimal(floor)};"
        for floor in (FLOORS["light"], FLOORS["dark"])
    )
    classes = "".join(
        f"#rules-explorer .agent-{agent}{{--hue:var(--hue-{agent});--ink:var(--ink-{agent});--rim:var(--rim-{agent})}}"
        for agent, _ in agents
    )
    return (
        f"#rules-explorer{{{light}}}body[data-theme=dark] #rules-explorer{{{dark}}}"
        "@media(prefers-color-scheme:dark){body:not([data-theme=light]) #rules-explorer{" + dark + "}}" + classes
    )


def _hue(agent: int, colour: Colour) -> str:
    names = {"hue": colour, "ink": contrast(colour), "rim": rim(colour)}
    return "".join(f"--{name}-{agent}:{hexadecimal(shade)};" for name, shade in names.items())


def _write_files(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    with progress_message("playing every situation of the rules explorer"):
        _table()
    folder = Path(app.doctreedir) / "rules-explorer"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [(SOURCES / "explorer" / name).read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    style = (SOURCES / "explorer" / "explorer.css").read_text(encoding="utf-8")
    for name, text in zip(FILES, (_tools()["script"](_table()), script, style), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    app.config.html_static_path.append(str(folder))


def _load_files(app: Sphinx, pagename: str, _template: str, _context: dict[str, Any], _doctree: Any) -> None:
    if app.env.metadata.get(pagename, {}).get("rules_explorer"):
        table, script, style = FILES
        app.add_css_file(style)
        app.add_js_file(table, loading_method="defer")
        app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("rules-prose", RulesProse)
    app.add_directive("outcomes", Outcomes)
    app.add_directive("rules-explorer", RulesExplorer)
    app.connect("builder-inited", _write_files)
    app.connect("html-page-context", _load_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
