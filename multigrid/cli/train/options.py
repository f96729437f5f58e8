"""Define and check the flags of ``multigrid train``, common to both engines and of each engine."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import multigrid
from multigrid.cli._options import WorldOptions, check_flags, check_map
from multigrid.cli.rollout.models import check_hidden
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.scenarios.stored_config import grid_fields, make_grid, read_config

__all__ = [
    "RLLIB_PROGRAM",
    "RLlibOptions",
    "SB3Options",
    "TrainOptions",
    "check_rllib",
    "check_sb3",
    "describe",
    "read_rllib_options",
]

RLLIB_PROGRAM = "multigrid train --engine rllib"
# The options that must equal those of the run that saved a checkpoint.
_FIXED = ("grid", "shared", "hidden")


@dataclasses.dataclass(frozen=True)
class TrainOptions(WorldOptions):
    """The flags of both engines."""

    engine: Literal["sb3", "rllib"] = "sb3"
    """What trains: Stable-Baselines3; or Ray RLlib, on one machine or a cluster, with flags of its own, which
    `multigrid train --engine rllib --help` lists."""
    steps: int = 300_000
    """Steps of all agents together to train for, rounded up to whole rollouts."""
    folder: Path | None = None
    """A folder that does not exist yet; by default runs/DATE-TIME."""
    seed: int = 0
    """Two runs with equal seeds and flags end with equal weights, with either vectorizer."""
    copies: int = 64
    """Worlds played side by side."""
    episodes: int = 200
    """Held-out episodes in each evaluation."""
    evaluations: int = 6
    """How often to evaluate: before, after, and evenly in between."""
    learning_rate: float = 1e-3
    """The learning rate at the start; it decreases linearly to 0."""
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


@dataclasses.dataclass(frozen=True)
class SB3Options(TrainOptions):
    """Train one shared policy for all agents, with Stable-Baselines3's PPO.

    The run folder gets model.zip, config.json, metrics.csv, evaluation.json, curve.png, heat.png and evaluation.gif.
    `multigrid rollout --policy FOLDER` reads only the weights of model.zip; Stable-Baselines3's own PPO.load unpickles
    it, which can run any code: give that only files that you trust.
    Ctrl-C stops the training; the model is still saved and evaluated.
    """

    vectorizer: Literal["native", "supersuit"] = "native"
    """The vector env: this package's own, or SuperSuit's. Both play the same episodes."""
    num_threads: int = 1
    """Threads of the native vectorizer; more than one is faster only with thousands of worlds."""
    num_cpus: int = 0
    """Worker processes of SuperSuit; 0 plays the worlds in this process, which is nearly always faster."""


@dataclasses.dataclass(frozen=True)
class RLlibOptions(TrainOptions):
    """Train agents with Ray RLlib's PPO, on this machine or on a Ray cluster.

    To start a cluster, run `ray start --head` on one machine and `ray start --address=HEAD:6379` on the others, then
    train with `--address auto` on one of them. All of them need multigrid and ray[rllib].

    The run folder gets config.json, metrics.csv, evaluation.json, curve.png and a folder checkpoints. Ctrl-C stops the
    training; the model is still saved and evaluated. `multigrid train --help` lists the flags of the other engine,
    Stable-Baselines3.
    """

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(
        default_factory=lambda: GridConfig(flatten=True)
    )
    """The world; RLlib takes flat observations only."""
    engine: Literal["rllib"] = "rllib"
    """What trains."""
    steps: int = 300_000
    """Steps of all agents together to train for, including those of a resumed run, rounded up to whole rollouts."""
    seed: int = 0
    """The seed of the initial weights, of the worlds, and of the sampled actions."""
    copies: int = 64
    """Worlds played side by side, divided equally among the env runners, rounded up."""
    resume: Path | None = None
    """The folder of an earlier run: continue from its last checkpoint, in a new folder; its flags are the defaults of
    this run's. RLlib's checkpoints are pickles, which can run any code when they are loaded: resume only folders that
    you trust."""
    address: str | None = None
    """HOST:PORT of a Ray cluster that is running, or "auto" on one of its nodes; by default Ray is started on this
    machine."""
    num_env_runners: int = 2
    """Processes that play the worlds, on any node, each on one CPU; 0 plays the worlds in this process."""
    shared: bool = True
    """One policy for all agents, or a policy for each agent."""
    checkpoint_every: int = 0
    """The number of rollouts between checkpoints; 0 saves only one, at the end."""


def _check_both(options: TrainOptions, **least: int) -> None:
    """Check the flags of both engines; `least` has the least values of the engine's own flags."""
    both = {"steps": 1, "seed": 0, "copies": 1, "episodes": 1, "evaluations": 2}
    check_flags(options, **both, rollout=2, batch_size=2, epochs=1, **least)
    if not options.learning_rate > 0:
        raise ValueError(f"--learning-rate is {options.learning_rate}; expected more than 0")
    if not 0 <= options.gamma <= 1:
        raise ValueError(f"--gamma is {options.gamma}; expected a number from 0 to 1")
    if min(options.hidden, default=1) < 1:
        raise ValueError(f"--hidden is {' '.join(map(str, options.hidden))}; expected layers of at least 1")
    check_map(options)
    if options.grid.max_cycles is None:
        raise ValueError("--max-cycles is None, but evaluations play every episode to its end; expected a number")


def describe(options: TrainOptions, *packages: str) -> dict[str, Any]:
    """Return the content of config.json: all flags, and the versions of the rules, of `packages` and of others."""
    flags = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    flags["grid"] = grid_fields(options.grid)
    named = ("gymnasium", "pettingzoo", *packages, "torch", "numpy")
    versions = {package: importlib.metadata.version(package) for package in named}
    return {
        **{name: str(value) if isinstance(value, Path) else value for name, value in flags.items()},
        "rules": RULES_VERSION,
        "versions": {**versions, "multigrid-marl": multigrid.__version__},
    }


def check_sb3(options: SB3Options) -> None:
    """Raise a ValueError if an option is out of range, or two exclude one another."""
    _check_both(options, num_threads=1, num_cpus=0)
    if options.engine != "sb3":
        raise ValueError(f"--engine is {options.engine}, whose trainings multigrid.cli.train.rllib runs; use that")
    if options.vectorizer == "native" and options.num_cpus > 0:
        raise ValueError(
            f"--num-cpus is {options.num_cpus}, but only SuperSuit has worker processes: use --vectorizer supersuit, "
            "or --num-threads"
        )
    if options.vectorizer == "supersuit" and options.num_threads > 1:
        raise ValueError(f"--num-threads is {options.num_threads}, but SuperSuit has none: use --vectorizer native")


def read_rllib_options(folder: Path) -> RLlibOptions:
    """Return the options of an earlier run, without its folders; raise errors as `read_config` does."""

    def convert(content: dict[str, Any]) -> RLlibOptions:
        content = {"map": [], **content}  # of runs of earlier versions
        flags = {field.name: content[field.name] for field in dataclasses.fields(RLlibOptions)}
        flags |= {"grid": make_grid(flags["grid"]), "hidden": check_hidden(flags["hidden"])}
        flags |= {"map": tuple(map(str, flags["map"]))}
        flags |= {"folder": None, "resume": None}
        for name, value in flags.items():
            _check_type(name, value)
        return RLlibOptions(**flags)

    return read_config(folder, convert, RLLIB_PROGRAM)


def _check_type(name: str, value: Any) -> None:
    """Raise a TypeError if a value is not of the flag's type."""
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str | None": (str,)}
    kind = str(RLlibOptions.__dataclass_fields__[name].type)
    fits = type(value) in kinds.get(kind, (type(value),)) or (value is None and kind.endswith("None"))
    if not fits:
        raise TypeError(f"{name} is {value!r}; expected {kind}")


def check_rllib(options: RLlibOptions) -> None:
    """Raise a ValueError if an option is out of range, or does not fit the weights of the earlier run."""
    _check_both(options, num_env_runners=0, checkpoint_every=0)
    if not options.grid.flatten:
        raise ValueError("--no-flatten, but RLlib's networks take one vector an agent; leave it out")
    if options.grid.observation_keys:
        raise ValueError(
            "--observe has action_mask, which comes beside the vector, but RLlib's networks take one vector an agent; "
            "leave it out"
        )
    if options.address not in (None, "auto") and not re.fullmatch(r"[^/]+:\d+", str(options.address)):
        raise ValueError(f"--address is {options.address}; expected HOST:PORT, as `ray start` prints it, or auto")
    if options.resume is not None:
        saved = read_rllib_options(options.resume)
        for name in _FIXED:
            then, now = getattr(saved, name), getattr(options, name)
            if then != now:
                raise ValueError(
                    f"--resume is {options.resume}, trained with {name} {then}, not {now}; leave that flag out"
                )
