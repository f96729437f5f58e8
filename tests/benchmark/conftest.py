"""The clone that the tests read, and the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_clone import trust, write_clone

REAL = Path(__file__).parents[3] / "shared" / "pogema-benchmark"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a set of two puzzles, whose sums are known."""
    folder = write_clone(tmp_path / "clone")
    trust(folder, monkeypatch)
    return folder


@pytest.fixture
def real() -> Path:
    """The benchmark's own files, which lie beside some checkouts."""
    if not REAL.is_dir():
        pytest.skip("the benchmark's files are not beside this checkout")
    return REAL
