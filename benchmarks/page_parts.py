"""Pages with tables that programs write: each part stands between ``<!-- figures: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from multigrid._files import replace_file


def fill(text: str, parts: Mapping[str, str]) -> str:
    r"""Return the text of a page with new parts.

    >>> fill("# A\n\n<!-- figures: b -->\n\nold\n\n<!-- end -->\n", {"b": "new"})
    '# A\n\n<!-- figures: b -->\n\nnew\n\n<!-- end -->\n'
    """
    for name, part in parts.items():
        begin, end = f"<!-- figures: {name} -->\n\n", "\n\n<!-- end -->"
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise ValueError(f"the page has no place for {name}; expected {begin.strip()} and {end.strip()}")
        text = before + begin + part.strip("\n") + end + rest.partition(end)[2]
    return text


def fill_page(page: Path, parts: Mapping[str, str], target: Path | None = None) -> None:
    """Write a page with new parts, in its own place or another."""
    text = fill(page.read_text(encoding="utf-8"), parts)
    with replace_file(target or page) as temporary:
        temporary.write_text(text, encoding="utf-8")
