"""`--help` of the examples that are commands: it is shown, and nothing is trained."""

from __future__ import annotations

import re

import pytest

from helpers import run_python

OWN_LIBRARIES = {
    "agilerl_ippo": ("agilerl", "peft", "torch"),
    "momaland_wrappers": ("momaland", "requests"),
    "skrl_ippo": ("skrl", "torch"),
    "tianshou_dqn": ("tianshou", "torch"),
    "torchrl_ppo": ("tensordict", "torch", "torchrl"),
}
"""What examples import that no extra installs."""
LIBRARIES = OWN_LIBRARIES | {
    "custom_reward": ("torch", "tyro"),
    "ppo": ("torch", "tyro"),
    "qmix": ("torch",),
    "sb3_algorithms": ("sb3_contrib", "stable_baselines3", "torch", "tyro"),
    "sb3_her": ("stable_baselines3", "torch", "tyro"),
    "sb3_pixels": ("stable_baselines3", "torch", "tyro"),
    "sb3_shaping": ("stable_baselines3", "torch", "tyro"),
}
"""What examples import that the package does without."""

RUN = """
import runpy, sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

class Stubs:
    def find_spec(self, name, *_):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in LIBRARIES else None
    def create_module(self, spec):
        return MagicMock(__path__=[])
    def exec_module(self, module):
        pass

*LIBRARIES, kind, name = sys.argv.pop(1).split()
if kind == "missing":
    sys.modules.update(dict.fromkeys(LIBRARIES))
    for sys.argv[1:] in (["--help"], ["--seed", "1"]):
        try:
            runpy.run_module(f"multigrid.examples.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            print("exit code:", ended.code)
else:
    sys.meta_path.insert(0, Stubs())
    runpy.run_module(f"multigrid.examples.{name}", run_name="__main__", alter_sys=True)
"""
"""Runs an example with its libraries replaced by mocks; or where they are missing, with two command lines."""


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["sb3_shaping", "sb3_her", "sb3_pixels", "custom_reward"])
def test_help_is_shown_instead_of_a_training(name: str) -> None:
    """The help lists the arguments of ``main``; an unknown flag is refused."""
    done = run_python("-m", f"multigrid.examples.{name}", "--help", timeout=120)
    assert done.returncode == 0, done.stderr
    assert all(flag in done.stdout for flag in ("--steps", "--seed", "--episodes"))
    assert done.stdout.startswith("usage:")
    assert run_python("-m", f"multigrid.examples.{name}", "--step-count", "3", timeout=120).returncode == 2


@pytest.mark.parametrize("name", LIBRARIES)
def test_help_of_examples_without_their_libraries(name: str) -> None:
    """Without a library, an example says what it does and what to install; only who asks for help gets exit code 0."""
    done = run_python("-c", RUN, " ".join([*LIBRARIES[name], "missing", name]))
    text, code, again, other_code = re.split(r"exit code: (.*)\n", done.stdout)[:4]
    assert text == again
    assert 'pip install "multigrid-marl' in text
    message, _, missing = other_code.partition(": ")
    assert (code, message, {*missing.split(", ")}, done.stderr) == ("0", "not installed", {*LIBRARIES[name]}, "")


@pytest.mark.parametrize("name", OWN_LIBRARIES)
def test_flags_of_examples_with_libraries_of_their_own(name: str) -> None:
    """The help lists the arguments of ``main``; an unknown flag is refused before anything is trained."""
    words = " ".join([*OWN_LIBRARIES[name], "there", name])
    shown, refused = (run_python("-c", RUN, words, *flags) for flags in (["--help"], ["--step-count", "3"]))
    assert (shown.returncode, refused.returncode) == (0, 2), shown.stderr + refused.stderr
    assert all(flag in shown.stdout for flag in ("--seed", "--episodes"))
