"""Complete the HTML of Sphinx and Furo where readers with a keyboard or a screen reader need more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


# A signature with a line for each parameter: Sphinx writes a list of definitions without terms.
_PARAMETERS = re.compile(r'<dl>\n((?:<dd><em class="sig-param">.*</dd>\n)+)</dl>')


def _complete(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None) -> None:
    """Give headings of the navigation their level, and let the keyboard reach what scrolls: code, tables, pictures."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )
    if "body" in context:
        body = re.sub(r'(<pre|<div class="(?:table-wrapper|wide-figure)[^>]*")>', r'\1 tabindex="0">', context["body"])
        context["body"] = _PARAMETERS.sub(_write_parameters, body)


def _write_parameters(match: re.Match[str]) -> str:
    lines = match[1].replace("<dd>", "<div>").replace("</dd>", "</div>")
    return f'<div class="sig-params">\n{lines}</div>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Follow Furo, which makes the navigation at the usual priority."""
    app.connect("html-page-context", _complete, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
