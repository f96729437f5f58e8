"""The programs of rware, lb-foraging, Minigrid and ini/multigrid in docs/coming_from print what the pages say."""

import pytest

from page_programs import programs_of_recipe


@pytest.mark.parametrize("program", programs_of_recipe("peers"), ids=str)
def test_program_prints_what_the_page_says(program, tmp_path):
    """A program of a peer prints the text below it, to the letter."""
    program.check_here(tmp_path)
