"""What tests of learners share."""

import pytest


@pytest.fixture
def one_thread():
    """Let torch compute in one thread: networks this small only wait for more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def closing():
    """A function that returns a VecEnv, which is closed, twice, at the end of the test."""
    made = []
    yield lambda vec_env: made.append(vec_env) or vec_env
    for vec_env in made * 2:
        vec_env.close()
