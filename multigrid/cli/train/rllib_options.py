"""What `multigrid train --engine rllib` can be told, alone or by the folder of an earlier run."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import multigrid
from multigrid.cli.rollout.models import MALFORMED, stored_grid
from multigrid.cli.train.report import check_flags
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION

__all__ = ["PROGRAM", "RLlibOptions", "check", "description", "saved_options"]

PROGRAM = "multigrid train --engine rllib"
# What a checkpoint fits to.
_FIXED = ("grid", "shared", "hidden")


@dataclasses.dataclass(frozen=True)
class RLlibOptions:
    """Train agents with Ray RLlib's PPO, on this machine or on a Ray cluster.

    A cluster is begun with `ray start --head` on one machine and `ray start --address=HEAD:6379` on the others, all of
    which need multigrid and ray[rllib]; then give `--address auto` on one of them.

    The run folder gets config.json, metrics.csv, evaluation.json, curve.png and a folder checkpoints. Ctrl-C stops the
    training, and what was learned until then is saved and evaluated all the same. `multigrid train --help` lists the
    flags of the other engine, Stable-Baselines3.
    """

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(
        default_factory=lambda: GridConfig(flatten=True)
    )
    """The world; RLlib takes flat observations only."""
    engine: Literal["rllib"] = "rllib"
    """What trains."""
    steps: int = 300_000
    """Steps of all agents together to train for, those before `--resume` counted, rounded up to whole rollouts."""
    folder: Path | None = None
    """A folder that does not exist yet; by default runs/DATE-TIME."""
    resume: Path | None = None
    """The folder of an earlier run: go on from its last checkpoint, in a new folder, with its flags where no others are
    given. RLlib's checkpoints are pickles, which can run any code when they are loaded: resume only folders that you
    trust."""
    seed: int = 0
    """Of the first weights, of the worlds, and of the draws."""
    address: str | None = None
    """HOST:PORT of a Ray cluster that is running, or "auto" on one of its nodes; by default Ray is started on this
    machine."""
    num_env_runners: int = 2
    """Processes that play the worlds, on whatever nodes there are, each on one CPU; 0 plays them in this one."""
    shared: bool = True
    """One policy for all agents, or each agent its own."""
    copies: int = 64
    """Worlds played side by side, divided among the env runners, the same number, rounded up, for each."""
    checkpoint_every: int = 0
    """Save a checkpoint after every so many rollouts; 0 saves one at the end only."""
    episodes: int = 200
    """Held-out episodes in each evaluation."""
    evaluations: int = 6
    """How often to evaluate: before, after, and evenly in between."""
    learning_rate: float = 1e-3
    """PPO's, falling linearly to 0."""
    rollout: int = 32
    """Steps of each world between two updates."""
    batch_size: int = 1024
    """Transitions in a minibatch."""
    epochs: int = 8
    """Passes over a rollout in an update."""
    gamma: float = 0.95
    """The discount."""
    entropy: float = 0.01
    """The weight of the entropy bonus."""
    hidden: tuple[int, ...] = (128, 128)
    """The sizes of the hidden layers, of the policy and of the value function."""


def saved_options(folder: Path) -> RLlibOptions:
    """Return the options of an earlier run, but for its folder.

    Raises:
        ValueError: its config.json is something else, or was written under other rules.
    """
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        rules = content["rules"]
        flags = {field.name: content[field.name] for field in dataclasses.fields(RLlibOptions)}
        flags |= {"grid": stored_grid(flags["grid"]), "hidden": tuple(flags["hidden"]), "folder": None, "resume": None}
        for field in dataclasses.fields(RLlibOptions):
            _check_kind(field.name, flags[field.name])
    except (*MALFORMED, OSError) as error:
        said = f"{type(error).__name__}: {error}"
        raise ValueError(f"--resume is {folder}, whose config.json is not one of {PROGRAM}: {said}") from error
    if rules != RULES_VERSION:
        raise ValueError(
            f"--resume is {folder}, trained under version {rules} of the rules, but this multigrid has version "
            f"{RULES_VERSION}; use the multigrid that trained it, or train anew"
        )
    return RLlibOptions(**flags)


def _check_kind(name: str, value: Any) -> None:
    """Refuse a value of another type than the flag has."""
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str | None": (str,)}
    kind = str(RLlibOptions.__dataclass_fields__[name].type)
    fits = type(value) in kinds.get(kind, (type(value),)) or (value is None and kind.endswith("None"))
    if name == "hidden":
        fits = all(type(size) is int for size in value)
    if not fits:
        raise TypeError(f"{name} is {value!r}; expected {kind}")


def check(options: RLlibOptions) -> None:
    """Refuse what is out of range, and what an earlier run's weights do not fit.

    Raises:
        ValueError: either.
    """
    check_flags(options, num_env_runners=0, checkpoint_every=0)
    if not options.grid.flatten:
        raise ValueError("--no-flatten, but RLlib's networks take one vector an agent; leave it out")
    if options.address not in (None, "auto") and not re.fullmatch(r"[^/]+:\d+", str(options.address)):
        raise ValueError(f"--address is {options.address}; expected HOST:PORT, as `ray start` has told it, or auto")
    if options.resume is not None:
        saved = saved_options(options.resume)
        for name in _FIXED:
            then, now = getattr(saved, name), getattr(options, name)
            if then != now:
                raise ValueError(
                    f"--resume is {options.resume}, trained with {name} {then}, not {now}; leave that flag out"
                )


def description(options: RLlibOptions) -> dict[str, Any]:
    """Return what a run was made with: all flags, the version of the rules, and the versions that matter."""
    packages = ["gymnasium", "pettingzoo", "ray", "torch", "numpy"]
    versions = {package: importlib.metadata.version(package) for package in packages}
    versions["multigrid-marl"] = multigrid.__version__
    paths = {name: None if (path := getattr(options, name)) is None else str(path) for name in ("folder", "resume")}
    return {**dataclasses.asdict(options), **paths, "rules": RULES_VERSION, "versions": versions}
