"""What tests of learners share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread: networks this small only wait for more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def closing() -> Iterator[Callable[[Any], Any]]:
    """A function that returns a VecEnv, which is closed, twice, at the end of the test."""
    made: list[Any] = []
    yield lambda vec_env: made.append(vec_env) or vec_env
    for vec_env in made * 2:
        vec_env.close()
