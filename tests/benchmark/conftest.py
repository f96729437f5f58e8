"""The real clone of the benchmark."""

from pathlib import Path

import pytest

REAL = Path(__file__).parents[3] / "shared" / "pogema-benchmark"


@pytest.fixture
def real():
    """The benchmark's own files, which lie beside some checkouts."""
    if not REAL.is_dir():
        pytest.skip("the benchmark's files are not beside this checkout")
    return REAL
