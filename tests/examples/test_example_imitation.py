"""The recipe of imitation."""

from pathlib import Path

import pytest

from examples import imitation

pytestmark = pytest.mark.heavy


def test_it_learns_from_the_expert():
    """After a few rounds more agents arrive in held-out episodes than before."""
    before, after = (imitation.main(rounds=rounds, num_worlds=32, episodes=20) for rounds in (0, 5))
    assert after["isr"].low > before["isr"].high + 0.2


def test_it_stays_a_short_file():
    """A file to copy has fewer than 60 lines."""
    assert len(Path(imitation.__file__).read_text().splitlines()) < 60
