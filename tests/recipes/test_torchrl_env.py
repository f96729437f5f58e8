"""`MultiGridTorchRLEnv` with the newest TorchRL."""

import pytest

pytest.register_assert_rewrite("torchrl_contract")

from torchrl_contract import *  # noqa: E402, F403 - the tests themselves
