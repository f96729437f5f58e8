"""docs/coming_from: the programs of this package print what the pages say; those of the peers are run by recipes."""

import sys

import pytest

from helpers import AROUND
from page_programs import PAGES, PROGRAMS, find_programs

pytestmark = pytest.mark.heavy

SAME_OUTPUT = {"gymnasium.md", "pogema.md", "lb_foraging.md", "minigrid.md", "rware.md"}


@pytest.mark.parametrize("program", [program for program in PROGRAMS if not program.recipe], ids=str)
def test_program_prints_what_the_page_says(program, tmp_path):
    """A program that needs no recipe prints the text below it, to the letter."""
    program.check(sys.executable, cwd=tmp_path, env=AROUND)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_page_has_a_program_before_and_after(page):
    """A page has programs of theirs, each followed by one of ours, which prints the same in the same game."""
    programs = list(find_programs(page))
    assert len(programs) % 2 == 0 or not programs[-1].recipe
    for before, after in zip(programs[::2], programs[1::2], strict=False):
        imports_ours = "import multigrid" in after.source and "import multigrid" not in before.source
        assert imports_ours, f"{before} and {after} are no program before and after"
        assert not after.recipe
        is_first = before is programs[0]  # a later pair draws its maps
        assert (before.output == after.output) == (page.name in SAME_OUTPUT and is_first)


def test_an_output_belongs_to_all_programs_before_it(tmp_path):
    """An output is that of every program since the last output, and a program that prints something else fails."""
    page, one = tmp_path / "page.md", "```python recipe=a/b\nprint(1)\n```\n"
    page.write_text(f"{one}\n```python\nprint(2)\n```\n\n<!-- output -->\n```text\n1\n```\n")
    programs = list(find_programs(page))
    found = [(program.recipe, program.source, program.output, program.line) for program in programs]
    assert found == [("a/b", "print(1)\n", "1\n", 2), ("", "print(2)\n", "1\n", 6)]
    with pytest.raises(AssertionError, match="prints:\n2"):
        programs[1].check(sys.executable)
