"""Labels that take little time, for tests of what a training does with them."""

from typing import Any

import pytest

from tools.pretraining import labels


def write_few_labels(*arguments: Any, **options: Any) -> None:
    """As `write_labels`, in the process that produces labels, but worlds are played for a few steps only."""
    labels._STEPS = 6
    labels.write_labels(*arguments, **options)


def produce_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings produce such labels."""
    monkeypatch.setattr("tools.pretraining.imitation.write_labels", write_few_labels)
