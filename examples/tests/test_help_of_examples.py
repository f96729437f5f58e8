"""`--help` of the examples that are commands: it is shown, and nothing is trained."""

import json

import pytest

from helpers import run_python

OWN_LIBRARIES = {
    "agilerl_ippo": ("agilerl", "peft", "torch"),
    "momaland_wrappers": ("momaland", "requests"),
    "pufferlib_ppo": ("pufferlib", "torch"),
    "skrl_ippo": ("skrl", "torch"),
    "tianshou_dqn": ("tianshou", "torch"),
    "torchrl_ppo": ("tensordict", "torch", "torchrl"),
    "xuance_mappo": ("torch", "xuance"),
}
"""What examples import that no extra installs."""
LIBRARIES = OWN_LIBRARIES | {
    "custom_reward": ("torch", "tyro"),
    "games.train": ("matplotlib", "sb3_contrib", "stable_baselines3", "torch", "tyro"),
    "hydra_ppo": ("hydra", "torch"),
    "qmix": ("torch",),
    "rllib_ppo": ("ray", "torch", "tyro"),
    "sb3_algorithms": ("sb3_contrib", "stable_baselines3", "torch", "tyro"),
    **dict.fromkeys(["sb3_her", "sb3_pixels", "sb3_shaping"], ("stable_baselines3", "torch", "tyro")),
}
"""What examples import that the package does without."""

RUN = """
import contextlib, io, json, runpy, sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

class Stubs:
    def find_spec(self, name, *_):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in LIBRARIES else None
    def create_module(self, spec):
        return MagicMock(__path__=[])
    def exec_module(self, module):
        pass

*LIBRARIES, kind, name = sys.argv[1].split()
if kind == "missing":
    sys.modules.update(dict.fromkeys(LIBRARIES))
elif kind == "mocked":
    sys.meta_path.insert(0, Stubs())
results = []
for flags in sys.argv[2:]:
    sys.argv, code, out, error = [name, *flags.split()], 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            runpy.run_module(f"examples.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
    if isinstance(code, str):  # Python prints it, and exits with 1
        code = print(code, file=error) or 1
    results.append([code, out.getvalue(), error.getvalue()])
print(json.dumps(results))
"""
"""Runs an example several times, with other flags, where its libraries are there, missing, or replaced by mocks."""


def run_example(name, kind, *flags):
    """Run an example once for each string of flags; return the exit code and the two outputs of each run."""
    done = run_python("-c", RUN, " ".join([*LIBRARIES[name], kind, name]), *flags, timeout=120)
    assert done.returncode == 0, done.stderr
    return [(code, output, errors) for code, output, errors in json.loads(done.stdout)]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["sb3_shaping", "sb3_her", "sb3_pixels", "custom_reward"])
def test_help_is_shown_instead_of_a_training(name):
    """The help lists the arguments of ``main``; an unknown flag is refused."""
    (code, shown, errors), (refused, *_) = run_example(name, "there", "--help", "--step-count 3")
    assert (code, refused) == (0, 2), errors
    assert all(flag in shown for flag in ("--steps", "--seed", "--episodes"))
    assert shown.startswith("usage:")


@pytest.mark.parametrize("name", LIBRARIES)
def test_help_of_examples_without_their_libraries(name):
    """Without a library, an example says what it does and what to install; only who asks for help gets exit code 0."""
    (code, shown, errors), (refused, printed, complaint) = run_example(name, "missing", "--help", "--seed 1")
    assert (code, refused) == (0, 1)
    assert shown == printed
    assert 'pip install "multigrid-marl' in shown
    assert (errors, "Traceback" in complaint) == ("", False)
    assert all(library in complaint for library in LIBRARIES[name])


@pytest.mark.parametrize("name", OWN_LIBRARIES)
def test_flags_of_examples_with_libraries_of_their_own(name):
    """The help lists the arguments of ``main``; an unknown flag is refused before anything is trained."""
    (code, shown, errors), (refused, _, complaint) = run_example(name, "mocked", "--help", "--step-count 3")
    assert (code, refused) == (0, 2), errors + complaint
    assert all(flag in shown for flag in ("--seed", "--episodes"))
