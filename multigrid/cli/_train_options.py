"""Define and check the flags of ``multigrid train``."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import math
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import tyro

import multigrid
from multigrid._memory import check_memory
from multigrid.cli._options import LARGEST_SEED, Range, WorldOptions, check_numbers
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.game import Game
from multigrid.integrations.training import check_hidden, count_weights
from multigrid.scenarios._worlds import find_world, grid_fields, make_grid, name_grid, read_config

_TASK = "delivery-17x13-8"
# A run folder stores what its game is, in its grid, and not where its code is.
_OF_GAME = ("game", "option")
# A resumed run may change these flags, besides the folders: earlier learning does not depend on them.
_CHANGEABLE = ("steps", "checkpoint_every", "log", "num_threads")
_KEPT_NUMBERS = 6  # of a transition besides its observation: the action, the reward, the value and others


@functools.cache
def _find_task() -> GridConfig:
    return find_world(_TASK)


@dataclasses.dataclass(frozen=True)
class TrainOptions(WorldOptions):
    """Train agents by PPO, with Stable-Baselines3: one policy for all of them.

    The default task is the scenario delivery-17x13-8: eight agents in a warehouse, who leave when they arrive. --map
    names another one, and --game a game of your own. With --size or --game, and without --map, the grid is empty, and
    the defaults of its other flags are those of multigrid.GridConfig, not those below; a game may have defaults of its
    own for all flags. With --game, --help shows them.

    The run folder gets config.json, metrics.csv, evaluation.json, curve.png, heat.png, evaluation.gif, comparison.svg,
    episode.json, model.zip and a folder checkpoints. `multigrid rollout --policy FOLDER` reads only the weights of
    model.zip; Stable-Baselines3's own PPO.load unpickles it, which can run any code: give that only files that you
    trust. Ctrl-C stops the training; the model is still saved and evaluated. However a run was stopped, --resume
    continues it from its last checkpoint, and it ends with the weights of a run that was not stopped.

    Ray RLlib trains, on one machine or a cluster, by `python -m examples.rllib_ppo` in a checkout of the source.
    """

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=_find_task)
    """The world."""
    steps: Annotated[int, Range(1, 10**15)] = 800_000
    """Steps of all agents together to train for, rounded up to whole rollouts."""
    folder: Path | None = None
    """A folder that does not exist yet; by default runs/DATE-TIME."""
    resume: Path | None = None
    """The folder of a run that was stopped: continue in it from its last checkpoint, with its flags. Only --steps, for
    a longer training, and flags of the machine may differ."""
    checkpoint_every: Annotated[int, Range(0, 10**15)] = 100_000
    """Steps of all agents together between checkpoints, from which --resume continues, rounded up to whole rollouts;
    0 saves only one, at the end. The last three are kept."""
    log: Literal["tensorboard"] | None = None
    """Log the metrics for TensorBoard, to the folder tensorboard of the run."""
    seed: Annotated[int, Range(0, LARGEST_SEED)] = 0
    """Two runs with equal seeds and flags end with equal weights."""
    copies: Annotated[int, Range(1, 10**9)] = 64
    """Worlds played side by side."""
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
    fade_shaping: Annotated[float, Range(0, 1)] = 0.0
    """In a game with an option shaping: the share of the training in which the weight of shaped rewards decreases
    linearly from 1 to that option, which evaluations always have. 0 trains with it from the beginning. If a larger
    --steps continues a run, the share is of all its steps."""
    hidden: Annotated[tuple[int, ...], Range(1, 10**9)] = (128, 128)
    """The sizes of the hidden layers, of the policy and of the value function."""
    recurrent: bool = False
    """Train agents that remember, with sb3-contrib's RecurrentPPO: the first hidden layers are LSTMs, whose states
    begin at zero in each episode. It takes about six times as long."""
    num_threads: Annotated[int, Range(1, 1024)] = 1
    """Threads that play the worlds; more than one is faster only with thousands of worlds."""
    trains: ClassVar[bool] = True

    @property
    def world_name(self) -> str:
        """The kind of the map, its size and the number of agents.

        >>> TrainOptions().world_name, TrainOptions(grid=GridConfig(size=(6, 4))).world_name
        ('delivery-17x13-8', 'grid-6x4-2')
        """
        is_known = not self.map and not self.grid.draws_maps
        is_task = is_known and np.array_equal(self.grid.is_wall, _find_task().is_wall)
        return name_grid((_TASK,) if is_task else self.map_names, self.grid)


_STORED = tuple(field.name for field in dataclasses.fields(TrainOptions) if field.name not in _OF_GAME)


def check_options(options: TrainOptions) -> None:
    """Raise a ValueError if an option is out of range, excludes another one, or needs more memory than there is."""
    check_numbers(options)
    check_hidden(list(options.hidden), recurrent=options.recurrent)
    # The weights, their gradients, and two averages of Adam.
    check_memory(
        f"--hidden is {' '.join(map(str, options.hidden))}: the training of such a network",
        16 * count_weights(options.grid, options.hidden, recurrent=options.recurrent),
        "use smaller layers",
    )
    numbers = sum(math.prod(shape) for shape in options.grid.part_shapes.values())
    numbers += 4 * options.hidden[0] if options.recurrent else 0  # the states of two LSTMs
    check_memory(
        f"--rollout is {options.rollout}: with --copies {options.copies}, what is kept between two updates",
        options.rollout * options.copies * options.grid.num_agents * 4 * (numbers + _KEPT_NUMBERS),
        "use a shorter rollout, or fewer copies",
    )
    if options.fade_shaping > 0 and "shaping" not in (options.grid.options or {}):
        raise ValueError(
            f"--fade-shaping is {options.fade_shaping}, but the game has no option shaping; leave out that flag"
        )
    if options.grid.max_cycles is None:
        raise ValueError("--max-cycles is None, but evaluations play every episode to its end; expected a number")
    if options.log not in (None, "tensorboard"):
        raise ValueError(f"log is {options.log!r}; expected 'tensorboard' or None")  # in a config.json
    folder = options.resume
    if folder is None:
        return
    if options.folder not in (None, folder):
        raise ValueError(f"--folder is {options.folder}, but --resume continues in {folder}; leave out one of them")
    saved = read_run(folder, options.grid.game)
    for name in _STORED:
        then, now = getattr(saved, name), getattr(options, name)
        if then != now and name not in ("folder", "resume", *_CHANGEABLE):
            raise ValueError(f"--resume is {folder}, trained with {name} {then}, not {now}; leave that flag out")
    if options.steps < saved.steps:
        raise ValueError(f"--steps is {options.steps}, but {folder} is a run of {saved.steps}; expected no fewer")


def describe(options: TrainOptions) -> dict[str, Any]:
    """Return the content of config.json: all flags, and the versions of the rules and of libraries."""
    flags = {name: getattr(options, name) for name in _STORED}
    flags = {name: str(value) if isinstance(value, Path) else value for name, value in flags.items()}
    named = ["gymnasium", "pettingzoo", "stable-baselines3", "torch", "numpy", *["sb3-contrib"] * options.recurrent]
    versions = {package: importlib.metadata.version(package) for package in named}
    versions["multigrid-marl"] = multigrid.__version__
    return {**flags, "grid": grid_fields(options.grid), "rules": RULES_VERSION, "versions": versions}


def read_run(folder: Path, game: type[Game] | None = None) -> TrainOptions:
    """Return the flags in the config.json of a run, without its folders; one that was trained in a game needs it."""

    def convert(content: dict[str, Any]) -> TrainOptions:
        flags = {name: content[name] for name in _STORED}
        hidden = check_hidden(flags["hidden"], recurrent=flags["recurrent"])
        flags |= {"grid": make_grid(flags["grid"], game), "hidden": hidden}
        flags |= {"map": tuple(map(str, flags["map"])), "folder": None, "resume": None}
        usual = TrainOptions()
        for name, value in flags.items():
            expected = type(getattr(usual, name))
            if type(value) not in {float: (float, int), type(None): (type(None), str)}.get(expected, (expected,)):
                raise TypeError(f"{name} is {value!r}; expected {getattr(usual, name)!r} or the like")
        return TrainOptions(**flags)

    return read_config(folder, convert)
