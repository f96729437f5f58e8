"""Define and check the flags of ``multigrid train``, common to both engines and of each engine."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import tyro

import multigrid
from multigrid._memory import check_memory
from multigrid.cli._options import LARGEST_SEED, Range, WorldOptions, check_map, check_numbers, flag, read_given
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.game import Game
from multigrid.games._files import find_game
from multigrid.integrations.training import check_hidden, count_weights
from multigrid.scenarios._stored_config import grid_fields, make_grid, read_config
from multigrid.scenarios._worlds import find_world, name_grid

Logger: TypeAlias = Literal["tensorboard", "wandb"]

_TASK = "delivery-17x13-8"
# A run folder stores what its game is, in its grid, and not where its code is.
_OF_GAME = ("game", "option")
_KEPT_NUMBERS = 6  # of a transition besides its observation: the action, the reward, the value and others


@functools.cache
def _find_task() -> GridConfig:
    return find_world(_TASK)


@dataclasses.dataclass(frozen=True)
class TrainOptions(WorldOptions):
    """The flags of both engines."""

    program: ClassVar[str] = "multigrid train"
    extra: ClassVar[str] = "train"
    library: ClassVar[str] = "Stable-Baselines3"
    changeable: ClassVar[frozenset[str]] = frozenset({"steps", "checkpoint_every", "log"})
    """The flags that a resumed run may change, besides the folders: earlier learning does not depend on them."""

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=_find_task)
    """The world."""
    engine: Literal["sb3", "rllib"] = "sb3"
    steps: Annotated[int, Range(1, 10**15)] = 800_000
    """Steps of all agents together to train for, rounded up to whole rollouts."""
    folder: Path | None = None
    """A folder that does not exist yet; by default runs/DATE-TIME."""
    resume: Path | None = None
    """The folder of a run that was stopped: continue in it from its last checkpoint, with its flags. Only --steps, for
    a longer training, and flags of the machine may differ. RLlib's checkpoints are pickles, which can run any code when
    they are loaded: resume only folders that you trust."""
    checkpoint_every: Annotated[int, Range(0, 10**15)] = 100_000
    """Steps of all agents together between checkpoints, from which --resume continues, rounded up to whole rollouts;
    0 saves only one, at the end. The last three are kept."""
    log: tuple[Logger, ...] = ()
    """Log the metrics for TensorBoard, to the folder tensorboard of the run, for Weights & Biases, or for both."""
    seed: Annotated[int, Range(0, LARGEST_SEED)] = 0
    """Two runs of Stable-Baselines3 with equal seeds and flags end with equal weights, with either vectorizer. With
    RLlib, it is the seed of the initial weights, of the worlds, and of the sampled actions."""
    copies: Annotated[int, Range(1, 10**9)] = 64
    """Worlds played side by side; RLlib divides them equally among its env runners, rounded up."""
    episodes: Annotated[int, Range(1, 10**6)] = 200
    """Held-out episodes in each evaluation."""
    evaluations: Annotated[int, Range(2, 10**6)] = 11
    """How often to evaluate: before, after, and evenly in between."""
    learning_rate: Annotated[float, Range(1e-12, 1)] = 1e-3
    """The learning rate at the start; it decreases linearly to 0."""
    rollout: Annotated[int, Range(2, 10**9)] = 32
    """Steps of each world between two updates."""
    batch_size: Annotated[int, Range(2, 10**9)] = 1024
    """Transitions in a minibatch."""
    epochs: Annotated[int, Range(1, 10**6)] = 8
    """Passes over a rollout in an update."""
    gamma: Annotated[float, Range(0, 1)] = 0.95
    """The discount."""
    entropy: Annotated[float, Range(0, 1000)] = 0.005
    """The weight of the entropy bonus."""
    hidden: Annotated[tuple[int, ...], Range(1, 10**9)] = (128, 128)
    """The sizes of the hidden layers, of the policy and of the value function."""

    @property
    def world_name(self) -> str:
        """The kind of the map, its size and the number of agents.

        >>> TrainOptions().world_name, TrainOptions(grid=GridConfig(size=(6, 4))).world_name
        ('delivery-17x13-8', 'grid-6x4-2')
        """
        is_known = not self.map and not self.grid.draws_maps
        is_task = is_known and np.array_equal(self.grid.is_wall, _find_task().is_wall)
        return name_grid((_TASK,) if is_task else self.map_names, self.grid)


@dataclasses.dataclass(frozen=True)
class SB3Options(TrainOptions):
    """The flags of a training with Stable-Baselines3."""

    changeable: ClassVar[frozenset[str]] = TrainOptions.changeable | {"num_threads", "num_cpus"}

    vectorizer: Literal["native", "supersuit"] = "native"
    """The vector env of Stable-Baselines3: this package's own, or SuperSuit's. Both play the same episodes."""
    num_threads: Annotated[int, Range(1, 1024)] = 1
    """Threads of the native vectorizer; more than one is faster only with thousands of worlds."""
    num_cpus: Annotated[int, Range(0, 1024)] = 0
    """Worker processes of SuperSuit; 0 plays the worlds in this process, which is nearly always faster."""


@dataclasses.dataclass(frozen=True)
class RLlibOptions(TrainOptions):
    """The flags of a training with Ray RLlib."""

    program: ClassVar[str] = "multigrid train --engine rllib"
    extra: ClassVar[str] = "rllib"
    library: ClassVar[str] = "Ray RLlib"
    empty_grid: ClassVar[GridConfig] = GridConfig(flatten=True)
    changeable: ClassVar[frozenset[str]] = TrainOptions.changeable | {"num_env_runners", "address"}

    engine: Literal["sb3", "rllib"] = "rllib"
    address: str | None = None
    """With RLlib, HOST:PORT of a Ray cluster that is running, or "auto" on one of its nodes; by default Ray is started
    on this machine."""
    num_env_runners: Annotated[int, Range(0, 10**6)] = 2
    """Processes of RLlib that play the worlds, on any node, each on one CPU; 0 plays them in this process."""
    shared: bool = True
    """With RLlib, one policy for all agents, or a policy for each agent."""


@dataclasses.dataclass(frozen=True)
class _Flags(RLlibOptions, SB3Options):
    """Train agents by PPO: one shared policy, with Stable-Baselines3; or, with --engine rllib, with Ray RLlib.

    The default task is the scenario delivery-17x13-8: eight agents in a warehouse, who leave when they arrive. --map
    names another one, and --game a game of your own. With --size or --game, and without --map, the grid is empty, and
    the defaults of its other flags are those of multigrid.GridConfig, not those below; RLlib needs --flatten, which is
    then its default.

    The run folder gets config.json, metrics.csv, evaluation.json, curve.png and a folder checkpoints;
    Stable-Baselines3's also model.zip, heat.png, evaluation.gif, comparison.svg and episode.json. `multigrid rollout
    --policy FOLDER` reads only the weights of model.zip; Stable-Baselines3's own PPO.load unpickles it, which can run
    any code: give that only files that you trust.
    Ctrl-C stops the training; the model is still saved and evaluated. However a run was stopped, --resume continues it
    from its last checkpoint; with the native vectorizer it ends with the weights of a run that was not stopped.

    For RLlib on a cluster, run `ray start --head` on one machine and `ray start --address=HEAD:6379` on the others,
    then train with `--engine rllib --address auto` on one of them. All of them need multigrid and ray[rllib].
    """

    engine: Literal["sb3", "rllib"] = "sb3"
    """What trains: Stable-Baselines3; or Ray RLlib, on one machine or a cluster."""


_Either: TypeAlias = SB3Options | RLlibOptions
_ENGINES: dict[str, type[_Either]] = {"sb3": SB3Options, "rllib": RLlibOptions}


def read_train(arguments: Sequence[str]) -> tuple[type[_Either], dict[str, Any], _Either | None]:
    """Return the class of the options, the given flags, and the flags of a run to resume, which fill the others."""
    given = read_given(_Flags, arguments, "multigrid train")
    folder, engine = given.get("resume"), given.get("engine")
    start = None if folder is None else read_run(folder, engine, find_game(given.get("game"))[0])
    kind = _ENGINES[engine or "sb3"] if start is None else type(start)
    for name in given.keys() - {field.name for field in dataclasses.fields(kind)}:
        raise ValueError(f"{flag(name)} is no flag of --engine {kind.engine}; leave it out")
    return kind, given, start


def _check_both(options: TrainOptions) -> None:
    """Check the flags of both engines, and that the network and the transitions of a rollout fit into memory."""
    check_numbers(options)
    # The weights, their gradients, and two averages of Adam.
    check_memory(
        f"--hidden is {' '.join(map(str, options.hidden))}: the training of such a network",
        16 * count_weights(options.grid, options.hidden),
        "use smaller layers",
    )
    numbers = sum(math.prod(shape) for shape in options.grid.part_shapes.values())
    check_memory(
        f"--rollout is {options.rollout}: with --copies {options.copies}, what is kept between two updates",
        options.rollout * options.copies * options.grid.num_agents * 4 * (numbers + _KEPT_NUMBERS),
        "use a shorter rollout, or fewer copies",
    )
    _check_log(options.log)
    check_map(options)
    if options.grid.max_cycles is None:
        raise ValueError("--max-cycles is None, but evaluations play every episode to its end; expected a number")
    folder = options.resume
    if folder is None:
        return
    if options.folder not in (None, folder):
        raise ValueError(f"--folder is {options.folder}, but --resume continues in {folder}; leave out one of them")
    saved = read_run(folder, options.engine, options.grid.game)
    for name in (
        field.name for field in dataclasses.fields(options) if field.name not in ("folder", "resume", *_OF_GAME)
    ):
        then, now = getattr(saved, name), getattr(options, name)
        if then != now and name not in options.changeable:
            raise ValueError(f"--resume is {folder}, trained with {name} {then}, not {now}; leave that flag out")
    if options.steps < saved.steps:
        raise ValueError(f"--steps is {options.steps}, but {folder} is a run of {saved.steps}; expected no fewer")


def describe(options: TrainOptions, *packages: str) -> dict[str, Any]:
    """Return the content of config.json: all flags, and the versions of the rules, of `packages` and of others."""
    names = [field.name for field in dataclasses.fields(options) if field.name not in _OF_GAME]
    flags = {name: getattr(options, name) for name in names}
    flags = {name: str(value) if isinstance(value, Path) else value for name, value in flags.items()}
    named = ("gymnasium", "pettingzoo", *packages, "torch", "numpy")
    versions = {package: importlib.metadata.version(package) for package in named}
    versions["multigrid-marl"] = multigrid.__version__
    return {**flags, "grid": grid_fields(options.grid), "rules": RULES_VERSION, "versions": versions}


def check_sb3(options: SB3Options) -> None:
    """Raise a ValueError if an option is out of range, or two exclude one another."""
    _check_both(options)
    if options.vectorizer not in ("native", "supersuit"):
        raise ValueError(f"--vectorizer is {options.vectorizer!r}; expected native or supersuit")
    if options.vectorizer == "native" and options.num_cpus > 0:
        raise ValueError(
            f"--num-cpus is {options.num_cpus}, but only SuperSuit has worker processes: use --vectorizer supersuit, "
            "or --num-threads"
        )
    if options.vectorizer == "supersuit" and options.num_threads > 1:
        raise ValueError(f"--num-threads is {options.num_threads}, but SuperSuit has none: use --vectorizer native")


def read_run(folder: Path, engine: str | None, game: type[Game] | None = None) -> _Either:
    """Return the flags in the config.json of a run, without its folders; `engine` None is the one that it names.

    A run that was trained in a game needs the game.
    """

    def convert(content: dict[str, Any]) -> _Either:
        kind = _ENGINES[engine or content["engine"]]
        names = [field.name for field in dataclasses.fields(kind) if field.name not in _OF_GAME]
        flags = {name: content[name] for name in names}
        flags |= {"grid": make_grid(flags["grid"], game), "hidden": check_hidden(flags["hidden"])}
        flags |= {"map": tuple(map(str, flags["map"])), "log": _check_log(flags["log"])}
        flags |= {"folder": None, "resume": None}
        usual = kind()
        for name, value in flags.items():
            expected = type(getattr(usual, name))
            fits = type(value) in ({float: (float, int), type(None): (type(None), str)}.get(expected, (expected,)))
            if not fits or (name == "engine" and value != usual.engine):
                raise TypeError(f"{name} is {value!r}; expected {getattr(usual, name)!r} or the like")
        return kind(**flags)

    return read_config(folder, convert, _ENGINES[engine or "sb3"].program)


def _check_log(names: Sequence[str]) -> tuple[Logger, ...]:
    """Return the names of loggers in one order, or raise a ValueError if one is unknown or comes twice."""
    known: tuple[Logger, ...] = get_args(Logger)
    if len(set(names)) < len(names) or not set(names) <= set(known):
        raise ValueError(f"--log is {' '.join(map(str, names))}; expected {', '.join(known)}, each once")
    return tuple(one for one in known if one in names)


def check_rllib(options: RLlibOptions) -> None:
    """Raise a ValueError if an option is out of range, or differs from that of the run to resume."""
    _check_both(options)
    if not options.grid.flatten:
        raise ValueError("--no-flatten, but RLlib's networks take one vector an agent; leave it out")
    if options.grid.observation_keys:
        raise ValueError(
            "--observe has action_mask, which comes beside the vector, but RLlib's networks take one vector an agent; "
            "leave it out"
        )
    if options.address not in (None, "auto") and not re.fullmatch(r"[^/]+:\d+", str(options.address)):
        raise ValueError(f"--address is {options.address}; expected HOST:PORT, as `ray start` prints it, or auto")
