"""``multigrid replay``: turn a recording, or two of one layout, into a page for the browser."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from multigrid._files import distinguish_paths, path_parts
from multigrid.cli._files import check_writable
from multigrid.cli._options import parse
from multigrid.games._files import find_game
from multigrid.scenarios._replay_page import show_episode


@dataclasses.dataclass(frozen=True)
class ReplayOptions:
    """Turn a recording into a page for the browser, a single file that needs no network.

    Two recordings of one layout are shown side by side, in step.
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """A recorded scenario, as multigrid.scenarios.save writes it, or the name of one of the suite."""
    other: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[OTHER]")] = None
    """Another one of the same layout: equal walls, starts, and targets or lists of targets."""
    output: Annotated[Path | None, tyro.conf.arg(metavar="PAGE")] = None
    """The page to write; by default FILE with .html in place of its suffix, or for two FILE-and-OTHER.html beside
    FILE."""
    game: Annotated[str | None, tyro.conf.arg(metavar="FILE.py:CLASS|MODULE:CLASS|NAME")] = None
    """The game of recordings of a game: FILE.py:CLASS, MODULE:CLASS, or an id of multigrid.register. A file or a module
    is code, and runs: name only what you trust. A recording has no code, and is of one version of its game."""
    svg: bool = False
    """Also write an animated SVG beside the page, for papers and READMEs."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, write the page, and return the exit code."""
    files = list(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
    if len(files) > 2:
        raise ValueError(f"{len(files)} recordings came: {', '.join(files)}; expected one, or two of one layout")
    options = parse(ReplayOptions, arguments, "multigrid replay")
    sources = [Path(file) for file in (options.file, options.other) if file is not None]
    parts = [path_parts(source) for source in sources]
    names = [parts[0][-1]] if len(parts) == 1 else distinguish_paths(*parts)
    page = options.output or sources[0].parent / f"{'-and-'.join(names).replace('/', '-')}.html"
    check_writable("--output", page.parent, page.name)
    if not page.name or page.is_dir() or not page.parent.is_dir():
        raise ValueError(f"--output is {page}; expected a file in a folder that is there")
    picture = page.with_suffix(".svg")
    for path in (page, picture) if options.svg else (page,):
        if path.exists() and any(source.is_file() and path.samefile(source) for source in sources):
            raise ValueError(f"{path} is the recording itself; expected another file to write to: use --output")
    if options.svg and picture == page:
        raise ValueError(f"--output is {page}, where --svg writes its picture; expected a name with the suffix .html")
    game, _ = find_game(options.game)
    episode = show_episode(options.file, options.other, game=game)
    episode.save(page)
    if options.svg:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            episode.save_svg(picture)
        sys.stderr.writelines(f"multigrid replay: {warning.message}\n" for warning in caught)
    sys.stdout.writelines(f"{path}\n" for path in ((page, picture) if options.svg else (page,)))
    return 0
