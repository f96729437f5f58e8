"""``multigrid docs``: open the site that the checkout has built."""

from __future__ import annotations

import dataclasses
import difflib
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from multigrid.cli._options import parse

__all__ = ["DocsOptions", "main"]

_ROOT = Path(__file__).parents[2]
_BUILD = 'pip install -c constraints.txt -e ".[docs]" && sphinx-build -W docs site'
_CLOSEST = 3


@dataclasses.dataclass(frozen=True)
class DocsOptions:
    """Open the site in the browser."""

    page: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[PAGE]")] = "index"
    """A page by its path in the site, such as reference/environments, or by the end of that path."""
    print: bool = False
    """Print the path of the page instead of opening it."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, open or print the page, and return the exit code: 1 if there is no site."""
    options = parse(DocsOptions, arguments, "multigrid docs")
    site = _ROOT / "site"
    if not (_ROOT / "docs" / "conf.py").is_file():
        sys.stderr.write("multigrid docs: the site comes with the source of multigrid; this is an installed package\n")
        return 1
    if not (site / "index.html").is_file():
        sys.stderr.write(f"multigrid docs: the site is not built; in {_ROOT}, this builds it:\n{_BUILD}\n")
        return 1
    page = _find(site, options.page)
    if options.print or not webbrowser.open(page.as_uri()):
        sys.stdout.write(f"{page}\n")
    return 0


def _find(site: Path, name: str) -> Path:
    """Return the file of a page."""
    files = [page.relative_to(site) for page in sorted(site.rglob("*.html"))]
    pages = {file.with_suffix("").as_posix(): site / file for file in files if not file.parts[0].startswith("_")}
    wanted = name.removesuffix(".html").removesuffix(".md").strip("/")
    exact = [page for page in (wanted, f"{wanted}/index") if page in pages]
    ends = exact or [page for page in pages if page.endswith(f"/{wanted}")]
    if len(ends) == 1:
        return pages[ends[0]]
    if ends:
        raise ValueError(f"there are several pages {name!r}; expected one of {', '.join(ends)}")
    closest = difflib.get_close_matches(wanted[:100], pages, n=_CLOSEST, cutoff=0)
    raise ValueError(f"there is no page {name!r}; the closest are {', '.join(closest)}")
