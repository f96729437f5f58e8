"""`--help` of the examples that are commands: it is shown, and nothing is trained."""

from __future__ import annotations

import pytest

from helpers import run_python


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["sb3_shaping", "sb3_her", "sb3_pixels", "custom_reward"])
def test_help_is_shown_instead_of_a_training(name: str) -> None:
    """The help lists the arguments of ``main``; an unknown flag is refused."""
    done = run_python("-m", f"multigrid.examples.{name}", "--help", timeout=120)
    assert done.returncode == 0, done.stderr
    assert all(flag in done.stdout for flag in ("--steps", "--seed", "--episodes"))
    assert done.stdout.startswith("usage:")
    assert run_python("-m", f"multigrid.examples.{name}", "--step-count", "3", timeout=120).returncode == 2
