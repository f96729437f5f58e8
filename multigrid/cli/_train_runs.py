"""The run folder, checkpoints, metrics, held-out evaluations, log and progress bar of a training.

A checkpoint is a folder RUN/checkpoints/STEPS, where STEPS is the number of steps trained, in twelve digits. It appears
when it is complete. A process that is killed loses the training since the last checkpoint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from rich.progress import TaskProgressColumn, TextColumn
from rich.text import Text
from stable_baselines3.common.callbacks import BaseCallback

from multigrid._files import create_folder, remove_unfinished
from multigrid.cli._files import WriteErrors, check_new, check_writable, make_folder, write_json, write_rows
from multigrid.cli._options import tell_expected
from multigrid.cli._progress import ProgressBar
from multigrid.cli._train_options import TrainOptions, describe, read_run
from multigrid.config import GridConfig
from multigrid.core.metrics import LABELS, make_lists
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.evaluation._playing import play_episodes
from multigrid.game import Game
from multigrid.games._files import game_flag
from multigrid.integrations.sb3 import Actor
from multigrid.integrations.training import SUMMED, list_metrics, map_parts

if TYPE_CHECKING:
    from rich.console import Console
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

# The columns of metrics.csv.
_COLUMNS = ("steps", "episodes", "success_rate", "mean_steps", "reward_per_step", "seconds")
KEPT = 3  # the number of checkpoints that stay
CHECKPOINTS = "checkpoints"
TENSORBOARD = "tensorboard"
"""The name of the log in the folder of the run."""

# (observations of K agents: an array (K, ...) or a dict of such arrays, their rows, generator) -> K actions
Act: TypeAlias = Callable[[Any, Any, np.random.Generator], list[int]]


def open_run(options: TrainOptions) -> Path:
    """Return the folder of a run, new or to be resumed, with a config.json that has the flags and the versions."""
    if options.resume is None:
        check_new(options.folder)
        check_writable("--folder", options.folder, parent="runs")
        folder = make_folder(options.folder)
        write_json(folder / "config.json", describe(options))
        return folder
    check_writable("--resume", options.resume)
    remove_unfinished(options.resume)
    remove_unfinished(options.resume / CHECKPOINTS)
    flags = dataclasses.replace(options, folder=None, resume=None, game=None, option=())
    if flags != read_run(options.resume, options.grid.game):
        write_json(options.resume / "config.json", describe(flags))
    return options.resume


def resume_command(folder: Path, game: type[Game] | None) -> str:
    """Return the command that continues a run."""
    return f"multigrid train --resume {shlex.quote(str(folder))}{game_flag(game)}"


def print_headline(console: Console, folder: Path, options: TrainOptions, steps: int, done: int) -> None:
    """Print the agents, the map, the number of steps and the folder of a training, and what a game says of it."""
    count, rest = options.grid.num_agents, f"{steps - done:,} more" if done else f"{steps:,}"
    line = f"training {count} agent{'s' * (count != 1)} on {options.world_name} for {rest} steps in {folder}"
    for text in filter(None, (line, "" if done else tell_expected(options.grid.game))):
        console.print(Text(text), soft_wrap=True)


@contextlib.contextmanager
def resumable(console: Console, folder: Path, game: type[Game] | None) -> Iterator[None]:
    """Print how to continue a run if an error, a signal or Ctrl-C ends it."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit):
        console.print(Text(f"to continue: {resume_command(folder, game)}"), soft_wrap=True)
        raise


def find_last(run: Path | None) -> tuple[Path | None, int]:
    """Return the last checkpoint of a run to resume, or None, and the steps trained until then."""
    last = None if run is None else max(_list(run / CHECKPOINTS), default=None)
    return last, 0 if last is None else int(last.name)


def _list(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir() and path.name.isdecimal())


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """The results of K episodes, each an array float64 (K,)."""

    steps: NDArray[np.float64]
    returns: NDArray[np.float64]  # the sum of an agent's rewards, averaged over agents
    metrics: Mapping[str, NDArray[np.float64]]  # those of `list_metrics` that are defined in all episodes

    def summary(self) -> dict[str, float]:
        """Return the number of episodes and the means, of the metrics of a game, too.

        Without targets and under *restart*, "success_rate" and "isr" are absent.
        """
        arrays = {name: values for name, values in self.metrics.items() if name not in LABELS}
        shares = {"success_rate": self.metrics.get("csr"), "isr": self.metrics.get("isr")}
        arrays |= {name: values for name, values in shares.items() if values is not None}
        arrays |= {"mean_steps": self.steps, "mean_return": self.returns}
        return {"episodes": len(self.steps), **{name: float(values.mean()) for name, values in arrays.items()}}


def play_held_out(config: GridConfig, seeds: range, act: Act, update: Callable[[int], object] | None = None) -> HeldOut:
    """Play one episode for each seed, side by side; the seeds also seed the generator that `act` gets.

    `act` is called at each step with the present agents of all episodes, `update` after it with the number of steps.
    """
    count, num_agents = len(seeds), config.num_agents
    envs: Any = MultiGridVectorEnv(config, count, autoreset_mode=AutoresetMode.DISABLED)
    generator = np.random.default_rng([*seeds, 2])
    actions = np.zeros(envs.num_envs, dtype=np.int64)
    running, present = np.ones(count, dtype=bool), np.ones(envs.num_envs, dtype=bool)
    names = list_metrics(config)[0 if config.has_targets else len(LABELS) :]
    steps, returns, metrics = np.zeros(count), np.zeros(count), {name: np.full(count, np.nan) for name in names}

    def choose(_: Any, observations: Any) -> NDArray[np.int64]:
        rows = np.flatnonzero(present & np.repeat(running, num_agents))
        batch = map_parts(lambda array: array[rows], observations)
        actions[rows] = act(batch, rows, generator)
        return actions

    own = np.full(count, num_agents)  # the number of agents in each episode
    for played, step, _ in play_episodes(envs, choose, seeds):
        if played is None:
            own[:] = envs.get_state().get("num_agents", num_agents)
            continue
        present[:] = step.infos["alive"] & ~step.terminations
        steps[running] += 1
        # The sum is in the order of the agents, as in a single env.
        returns[running] += step.rewards.reshape(count, num_agents).cumsum(axis=1)[running, -1] / own[running]
        ended = running & envs.episode_over
        if ended.any():
            for name, values in metrics.items():
                values[ended] = step.infos[name].reshape(count, num_agents)[ended, 0]
            running[ended] = False
        if update is not None:
            update(int(steps.max()))
    return HeldOut(steps, returns, {name: values for name, values in metrics.items() if np.isfinite(values).all()})


class Log:
    """Log the values of a training for TensorBoard, in its folder; without a folder, nothing.

    A value has its name and the steps that were trained, of all agents together:

    - ``evaluation/...``, over held-out episodes: ``csr``, ``isr``, ``sum_of_costs``, ``makespan`` and ``throughput``,
      the means of `multigrid.core.metrics`, ``mean_steps`` and ``mean_return``.
    - ``rollout/...``, over the training episodes that ended in a rollout: the same metrics, ``mean_steps`` and
      ``episodes``, their number; and ``reward_per_step``, over all steps of an agent.
    - ``learner/...``, of the last update of the weights: ``policy_loss``, ``value_loss``, ``entropy`` and
      ``explained_variance``.

    Undefined values are not logged: the throughput unless `on_target` is *restart*, the other metrics if it is, and the
    means of a rollout in which no episode ended. Earlier points of a resumed run, from `first` steps on, are hidden.
    """

    def __init__(self, folder: Path | None = None, first: int = 0) -> None:
        self._board: Any = None  # a writer of TensorBoard
        if folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / TENSORBOARD), purge_step=first)

    def evaluation(self, steps: int, held_out: HeldOut) -> None:
        """Log the results of held-out episodes."""
        arrays = {**held_out.metrics, "mean_steps": held_out.steps, "mean_return": held_out.returns}
        self.add(steps, "evaluation", {name: values.mean() for name, values in arrays.items()})

    def add(self, steps: int, section: str, values: Mapping[str, float]) -> None:
        """Log the values of a section: "evaluation", "rollout" or "learner"."""
        for name, value in values.items() if self._board is not None else ():
            if math.isfinite(value):
                self._board.add_scalar(f"{section}/{name}", value, steps)

    def flush(self) -> None:
        """Write all values to the disk, before a checkpoint from which a run may continue."""
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        """End the log."""
        if self._board is not None:
            self._board.close()


@dataclasses.dataclass
class Curve:
    """A row of numbers for each rollout, all with the same columns, and the steps and results of each evaluation."""

    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    evaluations: list[tuple[int, HeldOut]] = dataclasses.field(default_factory=list)

    def to_lists(self) -> dict[str, Any]:
        """Return the rows, and the steps and results of the evaluations, for JSON."""
        evaluations = [
            [steps, one.steps.tolist(), one.returns.tolist(), make_lists(one.metrics)]
            for steps, one in self.evaluations
        ]
        return {"rows": self.rows, "evaluations": evaluations}

    @classmethod
    def from_lists(cls, content: Mapping[str, Any]) -> Curve:
        """Return the curve whose `to_lists` returned this."""
        evaluations = [
            (trained, HeldOut(np.array(steps), np.array(returns), {name: np.array(one) for name, one in own.items()}))
            for trained, steps, returns, own in content["evaluations"]
        ]
        return cls(content["rows"], evaluations)


def training_bar(console: Console) -> ProgressBar:
    """Return the progress bar of a training, with figures of the policy beside it."""
    figures = TextColumn("{task.fields[figures]}", markup=False)
    return ProgressBar(console, TaskProgressColumn(), figures, is_logged=True)


class Training(BaseCallback):
    """A training in progress: its results so far, its log, its checkpoints and its bar.

    Stable-Baselines3 calls it at each step and rollout. `write_state` writes the files of a checkpoint to a folder.
    """

    def __init__(
        self,
        folder: Path,
        options: TrainOptions,
        bar: ProgressBar,
        model: OnPolicyAlgorithm,
        write_state: Callable[[Path], None],
    ) -> None:
        super().__init__()
        self.folder, self.options, self.bar, self._write_state = folder, options, bar, write_state
        self.model: OnPolicyAlgorithm = model
        self.log, self.curve, self.unwritten = Log(), Curve(), WriteErrors()
        self.lengths = np.zeros(options.copies, dtype=np.int64)  # the steps of the episode in each world
        self.last = 0  # the steps until the last checkpoint
        # Over the episodes that have ended in a rollout, NaN if unknown; "reward" and "agent_steps" over all its steps.
        self._sums: Any = Counter()
        self._evaluate_at: frozenset[int] = frozenset()
        self._hidden, self._began = () if options.grid.has_targets else ("success_rate",), 0.0
        self._update_bar: Callable[..., None] = lambda **_: None  # takes `completed`, the steps, and `figures`, a text

    def run(self, total: int, rollout: int) -> int:
        """Train until so many steps are trained, or until Ctrl-C, and evaluate; return the exit code, 130 after Ctrl-C.

        `rollout` is the number of steps of all agents between two updates.
        """
        parts, done, code = self.options.evaluations - 1, self.model.num_timesteps, 0
        self._evaluate_at = frozenset(rollout * round(total // rollout * part / parts) for part in range(1, parts))
        if not self.curve.evaluations:
            self._evaluate()
        # Seconds continue from those of the run before its resumption.
        self._began = time.perf_counter() - (self.curve.rows[-1]["seconds"] if self.curve.rows else 0.0)
        with self.bar.doing("training", total, done) as self._update_bar:
            self._update_bar(figures=self._describe())
            try:
                self.model.learn(total - done, self, reset_num_timesteps=done == 0)
                self._log_update()
            except KeyboardInterrupt:
                said = "interrupted: saving and evaluating what was learned; Ctrl-C again gives that up"
                self.bar.console.print(said)
                code = 130
        self._evaluate()
        return code

    def _on_step(self) -> bool:
        dones, infos, rewards = self.locals["dones"], self.locals["infos"], self.locals["rewards"]
        num_agents = self.options.grid.num_agents
        if self.options.grid.agents_can_leave or self.options.recurrent:
            buffer: Any = self.model.rollout_buffer
            buffer.alive = np.array([info.get("alive", True) for info in infos])
        self.lengths += 1
        # All rows of a world are done only at its end; those of agents that left earlier are done for the second time.
        for world in np.flatnonzero(dones.reshape(-1, num_agents).all(axis=1)).tolist():
            own = infos[world * num_agents : (world + 1) * num_agents]
            is_solved = not any(info["TimeLimit.truncated"] and info.get("alive", True) for info in own)
            self._sums.update(episodes=1, csr=int(is_solved), steps=int(self.lengths[world]))
            self._sums.update({name: own[0][name] for name in SUMMED})
            self.lengths[world] = 0
        self._sums.update(reward=float(rewards.sum()), agent_steps=len(rewards))
        self._update_bar(completed=self.num_timesteps)
        return True

    def _on_rollout_end(self) -> None:
        """Add a row to the metrics, and log the metrics that `on_target` defines; NaN if no episode has ended."""
        sums, config, steps = self._sums, self.options.grid, self.num_timesteps
        self._sums = Counter()
        means = {name: sums[name] / (sums["episodes"] or math.nan) for name in ("csr", *SUMMED, "steps")}
        reward = sums["reward"] / sums["agent_steps"]
        seconds = round(time.perf_counter() - self._began, 2)
        rounded = round(means["csr"], 4), round(means["steps"], 2), round(reward, 5)
        row = dict(zip(_COLUMNS, (steps, sums["episodes"], *rounded, seconds), strict=True))
        self.curve.rows.append({name: value for name, value in row.items() if name not in self._hidden})
        lifelong = config.on_target == "restart"
        defined = {name: means[name] for name in ("csr", *SUMMED) if (name == "throughput") == lifelong}
        others = {"episodes": sums["episodes"], "mean_steps": means["steps"], "reward_per_step": reward}
        self.log.add(steps, "rollout", (defined if config.has_targets else {}) | others)
        self._update_bar(completed=steps, figures=self._describe())

    def _on_rollout_start(self) -> None:
        # The weights have been updated with all steps so far. A resumed run was evaluated here before.
        self._log_update()
        steps, every = self.model.num_timesteps, self.options.checkpoint_every
        if steps in self._evaluate_at:
            self._evaluate()
        if every > 0 and steps // every > self.last // every:
            self.save()
        if self.options.fade_shaping > 0:
            least = (self.options.grid.options or {})["shaping"]
            weight = max(0.0, 1 - steps / (self.options.fade_shaping * self.options.steps))
            worlds: Any = self.training_env
            worlds.vector_env.shaping = least + (1 - least) * weight

    def _log_update(self) -> None:
        """Log the statistics of the last update, if there was one in this process."""
        values: Any = self.model.logger.name_to_value
        if "train/loss" in values:
            learner = {"policy_loss": values["train/policy_gradient_loss"], "value_loss": values["train/value_loss"]}
            learner |= {"entropy": -values["train/entropy_loss"]}
            learner |= {"explained_variance": values["train/explained_variance"]}
            self.log.add(self.model.num_timesteps, "learner", learner)

    def _evaluate(self) -> None:
        """Evaluate the policy, unless that has been done after so many steps."""
        options, steps, policy = self.options, self.model.num_timesteps, self.model.policy
        if self.curve.evaluations and self.curve.evaluations[-1][0] >= steps:
            return
        with self.bar.doing(f"evaluating after {steps:,} steps", options.grid.max_cycles) as update:
            actor = Actor(policy, options.episodes * options.grid.num_agents)
            held_out = play_held_out(options.grid, range(options.episodes), actor, update)
        self.curve.evaluations.append((steps, held_out))
        self.log.evaluation(steps, held_out)
        self._update_bar(figures=self._describe())

    def save(self) -> None:
        """Save the metrics and a checkpoint; delete checkpoints that are too old."""
        steps = self.model.num_timesteps
        if self.last == steps:
            return
        self.log.flush()
        path = self.folder / CHECKPOINTS / f"{steps:012}"
        with self.bar.doing(f"saving a checkpoint after {steps:,} steps"):
            try:
                with create_folder(path) as temporary:
                    self._write_state(temporary)
            except OSError as error:
                failed = f"the checkpoint {path} cannot be written, and the training has stopped: {error}"
                raise OSError(failed) from error
            self.last = steps
            for old in _list(path.parent)[:-KEPT]:
                # Renamed first, so that a process that is killed here leaves no incomplete checkpoint.
                hidden = old.with_name(f".{old.name}.old")
                with contextlib.suppress(OSError):
                    old.rename(hidden)
                shutil.rmtree(hidden, ignore_errors=True)
            self.write_rows()

    def write_rows(self) -> None:
        """Write metrics.csv."""
        names = [name for name in _COLUMNS if name not in self._hidden]
        write_rows(self.folder / "metrics.csv", names, self.curve.rows)

    def _describe(self) -> str:
        """Return the text beside the bar: the last evaluation, and the reward in the last rollout."""
        # Success in training is omitted: early on only short episodes end, and those are the successful ones.
        figures, rows = [], self.curve.rows
        summary = self.curve.evaluations[-1][1].summary() if self.curve.evaluations else {}
        if "isr" in summary:
            figures.append(f"success {summary['success_rate']:4.0%}  ISR {summary['isr']:4.0%}")
        if summary and self.options.grid.game is not None:
            figures.append(f"return {summary['mean_return']:.3f}")
        if rows:
            figures.append(f"reward/step {rows[-1]['reward_per_step']:.3f}")
        return "  ".join(figures)
