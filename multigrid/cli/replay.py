"""``multigrid replay``: turn a recording into a page for the browser."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from multigrid.cli._options import wrap_help
from multigrid.scenarios.replay_page import show_episode

__all__ = ["ReplayOptions", "main"]


@dataclasses.dataclass(frozen=True)
class ReplayOptions:
    """Turn a recording into a page for the browser, a single file that needs no network."""

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """A recorded scenario, as multigrid.scenarios.save writes it, or the name of one of the suite."""
    output: Path | None = None
    """The page to write; by default FILE with .html in place of its suffix."""
    svg: bool = False
    """Also write an animated SVG beside the page, for papers and READMEs."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, write the page, and return the exit code."""
    description = wrap_help(inspect.getdoc(ReplayOptions) or "")
    for path in _write(tyro.cli(ReplayOptions, args=list(arguments), prog="multigrid replay", description=description)):
        sys.stdout.write(f"{path}\n")
    return 0


def _write(options: ReplayOptions) -> list[Path]:
    """Write the page, and with ``--svg`` the picture, and return their paths."""
    source = Path(options.file)
    # The name of a scenario of the suite may contain dots, but has no suffix.
    page = options.output or (source.with_suffix(".html") if source.is_file() else Path(f"{options.file}.html"))
    if not page.name or page.is_dir() or not page.parent.is_dir():
        raise ValueError(f"--output is {page}; expected a file in a folder that is there")
    picture = page.with_suffix(".svg")
    for path in (page, picture) if options.svg else (page,):
        if path.exists() and source.is_file() and path.samefile(source):
            raise ValueError(f"{path} is the recording itself; expected another file to write to: use --output")
    if options.svg and picture == page:
        raise ValueError(f"--output is {page}, where --svg writes its picture; expected a name with the suffix .html")
    episode = show_episode(options.file)
    episode.save(page)
    if not options.svg:
        return [page]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        episode.save_svg(picture)
    for warning in caught:
        sys.stderr.write(f"multigrid replay: {warning.message}\n")
    return [page, picture]
