"""The programs of docs/coming_from, and what the pages say that they print."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from benchmarks.peers.processes import python_path

PAGES = sorted((Path(__file__).parents[1] / "docs" / "coming_from").glob("*.md"))


@dataclass(frozen=True)
class Program:
    """A program: its page, the line it starts on, the recipe that has what it imports, if any, and its output."""

    page: Path
    line: int
    recipe: str
    source: str
    output: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    def check_here(self, folder: Path) -> None:
        """Run it in a folder, in the recipe's environment that these tests run in, or in that inside it."""
        self.check(python_path(Path(sys.prefix, *self.recipe.split("/")[1:])), "-E", "-s", cwd=folder)

    def check(self, *python: str | Path, **keywords: Any) -> None:
        """Run it by an interpreter, given with its flags, and compare what it prints."""
        keywords |= {"capture_output": True, "text": True, "timeout": 300}
        done = subprocess.run([*python, "-c", self.source], check=False, **keywords)
        assert done.returncode == 0, f"{self}:\n{done.stderr}"
        assert done.stdout == self.output, f"{self} prints:\n{done.stdout}"


def find_programs(page: Path) -> Iterator[Program]:
    """Yield the Python programs of a page.

    The fence of a program that needs a recipe is ``python recipe=NAME``, or ``NAME/VENV`` for an environment inside the
    recipe's own. A text block after ``<!-- output -->`` is the output of each program since the last such block.
    """
    comment, waiting = "", []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            comment = token.content.strip().removeprefix("<!--").removesuffix("-->").strip()
            continue
        if token.type == "fence" and token.info.split()[0] == "python":
            assert token.map is not None
            waiting.append((token.map[0] + 2, token.info.partition("recipe=")[2], token.content))
        if token.type == "fence" and comment == "output":
            assert token.info == "text"
            assert waiting, f"{page.name} has an output of no program"
            yield from (Program(page, *one, token.content) for one in waiting)
            waiting = []
        comment = ""
    assert not waiting, f"{page.name}: no output after the program in line {waiting[0][0]}"


PROGRAMS = [program for page in PAGES for program in find_programs(page)]


def programs_of_recipe(name: str) -> list[Program]:
    """Return the programs that a recipe runs."""
    return [program for program in PROGRAMS if program.recipe.partition("/")[0] == name]
