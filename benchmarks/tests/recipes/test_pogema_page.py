"""The program of POGEMA in docs/coming_from prints what the page says."""

import pytest

from page_programs import programs_of_recipe


@pytest.mark.parametrize("program", programs_of_recipe("pogema"), ids=str)
def test_program_prints_what_the_page_says(program, tmp_path):
    """A program of POGEMA prints the text below it, to the letter."""
    program.check_here(tmp_path)
