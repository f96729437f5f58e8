"""Short trainings in this process, and ways to stop them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sb3_contrib import RecurrentPPO
from stable_baselines3 import PPO

from multigrid.cli import main

# Killed after a third call of what it names, or with another number in the place of 3.
KILL = """
import os, signal, sys, time
from multigrid.cli import _train_sb3 as sb3, main

number, within, place = signal.Signals[sys.argv[1]], sys.argv[2], sb3 if sys.argv[2] == "write_state" else sb3.PPO
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)  # what runs the tests may ignore SIGHUP, as nohup does
calls, plain = [], getattr(place, within)

def killed(*arguments):
    plain(*arguments)
    calls.append(arguments)
    if len(calls) == 3:
        os.kill(os.getpid(), number)
        time.sleep(60)

setattr(place, within, killed)
sys.exit(main(["train", *sys.argv[3:]]))
"""


def load_model(folder: Path) -> PPO | RecurrentPPO:
    """The model of a run."""
    recurrent = json.loads((folder / "config.json").read_text())["recurrent"]
    return (RecurrentPPO if recurrent else PPO).load(folder / "model.zip", device="cpu")


def train(flags: str) -> int:
    """The exit code of a training."""
    return main(["train", *flags.split()])


def stop_in_update(number: int, reason: BaseException, flags: str) -> None:
    """Train until an error or a signal ends the update of the weights with this number, counted from 1."""
    calls, plain = [], {kind: kind.train for kind in (PPO, RecurrentPPO)}

    def update(model: PPO | RecurrentPPO) -> None:
        calls.append(model)
        if len(calls) == number:
            raise reason
        plain[PPO if isinstance(model, PPO) else RecurrentPPO](model)

    with pytest.MonkeyPatch.context() as patch:
        for kind in plain:
            patch.setattr(kind, "train", update)
        if isinstance(reason, KeyboardInterrupt):
            assert train(flags) == 130
        else:
            with pytest.raises(type(reason)):
                train(flags)
