"""Write the evaluations, the figures and the films of a training at its end, and print its results."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.text import Text

from multigrid._files import replace_file
from multigrid.cli._episodes import is_supported, play_episode
from multigrid.cli._figures import HeatMaps, Panel, curve_figure, heat_figure, write_figure
from multigrid.cli._files import write_json
from multigrid.cli._films import fit_frames, write_gif
from multigrid.cli._models import make_policy, make_policy_factory
from multigrid.cli._train_runs import CHECKPOINTS, KEPT, TENSORBOARD, HeldOut, Training, resume_command
from multigrid.config import GridConfig
from multigrid.evaluation._estimates import Estimate, bootstrap, wilson
from multigrid.game import describe
from multigrid.games._files import game_flag
from multigrid.policies import Policy
from multigrid.rendering.svg import compare_svg
from multigrid.scenarios import save

if TYPE_CHECKING:
    from rich.console import Console

# Pairs of the steps trained so far and the results, from before the training to after it.
Evaluations: TypeAlias = Sequence[tuple[int, HeldOut]]

_PIXELS = 960  # the longer side of films, for a projector
_EPISODES = 20
_FILES = {
    "curve.png": "success on held-out episodes over the steps of training",
    "evaluation.gif": "held-out episodes, played by the trained agents",
    "comparison.svg": "the trained agents beside shortest paths, on one layout",
    "episode.json": "a recording of it",
    "heat.png": "where they go and where they are blocked",
    "evaluation.json": "the evaluations in numbers",
    "metrics.csv": "the rollouts in numbers",
    "model.zip": "the weights",
    "config.json": "the flags and the versions",
    CHECKPOINTS: f"what --resume continues from, the last {KEPT}",
    TENSORBOARD: "the metrics for TensorBoard",
}
_FILES_OF_GAMES = {
    "curve.png": "rewards in held-out episodes over the steps of training",
    "comparison.svg": "the trained agents beside random ones, on one layout",
}


def write_evaluations(results: Training) -> None:
    """Write metrics.csv, evaluation.json and curve.png."""
    curve, folder = results.curve, results.folder
    with results.unwritten.noting("metrics.csv"):
        results.write_rows()
    with results.unwritten.noting("evaluation.json or curve.png"):
        during = [{"steps": steps, **held_out.summary()} for steps, held_out in curve.evaluations]
        before, after = (curve.evaluations[at][1].summary() for at in (0, -1))
        write_json(folder / "evaluation.json", {"before": before, "after": after, "during": during})
        write_figure(folder / "curve.png", curve_figure(curve.rows, panels(results.options.grid, curve.evaluations)))


def report(results: Training, console: Console, code: int) -> int:
    """Print the results, and return the exit code: that of the training, or 2 if a file could not be written."""
    folder, config = results.folder, results.options.grid
    print_report(console, folder, config, results.curve.evaluations, finished=code == 0)
    if results.unwritten:
        console.print(Text(f"{folder} has all files but {results.unwritten}"), soft_wrap=True)
        return 2
    return code


def print_report(
    console: Console, folder: Path, config: GridConfig, evaluations: Evaluations, *, finished: bool
) -> None:
    """Print the results before and after the training, the files of the run folder, and the next commands."""
    before, after = (evaluations[at][1].summary() for at in (0, -1))
    rows = [("success", "success_rate", ".1%", "all agents arrive"), ("ISR", "isr", ".1%", "agents that arrive")]
    rows.append(("steps", "mean_steps", ".1f", "of an episode"))
    if not config.has_targets:
        rows = rows[-1:]
    elif config.on_target == "restart":
        rows = [("arrivals", "mean_return", ".1f", "of an agent in an episode")] if config.game is None else []
    if config.game is not None:
        rows.insert(0, ("return", "mean_return", ".2f", "of an agent in an episode"))
    # A resumed run does not know what a game measured before.
    own = () if config.game is None else describe(config.game).metrics
    rows += [(name, name, ".3f", "") for name in own if name in before and name in after]
    head = f"{before['episodes']} held-out episodes"
    lines = [f"{head}{'before':>10}{'after':>10}"]
    for name, key, form, meaning in rows:
        lines.append(f"{name:{len(head)}}{before[key]:>10{form}}{after[key]:>10{form}}   {meaning}")
    console.print(Text("\n".join(lines)), soft_wrap=True)
    _print_files(console, folder, config, evaluations[-1][0], finished=finished)


def print_finished(console: Console, folder: Path, config: GridConfig, steps: int) -> int:
    """Print that no steps of a run to resume are left, and return the exit code 0."""
    line = f"{folder} is finished: it has had its {steps:,} steps; a larger --steps continues it"
    console.print(Text(line), soft_wrap=True)
    _print_files(console, folder, config, steps, finished=True)
    return 0


def _print_files(console: Console, folder: Path, config: GridConfig, steps: int, *, finished: bool) -> None:
    """Print the files of a run and the next commands; after a whole training, one for as many steps again."""
    files = {name: what for name, what in _FILES.items() if (folder / name).exists()}
    run, flag = shlex.quote(str(folder)), game_flag(config.game)
    if flag:
        files |= {name: what for name, what in _FILES_OF_GAMES.items() if name in files}
    can_plan = is_supported(dataclasses.replace(config, allow_stay=True))
    commands = {resume_command(folder, config.game) + f" --steps {2 * steps}" * finished: "train on"}
    others = "random" if flag else f"pretrained {'pibt' if can_plan else 'shortest-path'}"
    if "model.zip" in files:
        commands |= {
            f"multigrid evaluate {run} {others}{flag}": "compare",
            f"multigrid rollout --policy {run} --gif{flag}": "more films",
            f"multigrid replay {shlex.quote(str(folder / 'episode.json'))}{flag}": "in a browser",
            f"multigrid play --map {run}{flag}": "join in",
        }
    if (folder / TENSORBOARD).is_dir():
        commands[f"tensorboard --logdir {shlex.quote(str(folder.parent))}"] = "all metrics"
    for head, table in {f"files in {folder}:": files, "next:": commands}.items():
        width = max(map(len, table), default=0)
        lines = [head, *(f"  {name:{width}}  {what}" for name, what in table.items())]
        console.print(Text("\n".join(lines)), soft_wrap=True)


def panels(config: GridConfig, evaluations: Evaluations) -> list[Panel]:
    """Return the panels of the curve; only the reward has a line of the training, too, as in the progress bar."""

    def estimates(estimate: Callable[[HeldOut], Estimate]) -> list[tuple[int, Estimate]]:
        return [(steps, estimate(held_out)) for steps, held_out in evaluations]

    reward = Panel("reward_per_step", "reward per step of an agent", [], bottom=0.0 if config.game is None else None)
    if config.has_targets and config.on_target == "restart":
        per_step = estimates(lambda one: bootstrap(one.returns / one.steps))
        return [dataclasses.replace(reward, evaluations=per_step)]
    first = Panel(None, "return of an agent", estimates(lambda one: bootstrap(one.returns)), bottom=None)
    if config.has_targets:
        success = estimates(lambda one: wilson(one.success.astype(np.float64)))
        first = Panel(None, "episodes in which all arrived", success, 1.05, is_share=True)
    return [first, Panel(None, "steps of an episode", estimates(lambda one: bootstrap(one.steps))), reward]


def write_films(results: Training) -> None:
    """Write evaluation.gif, heat.png, comparison.svg and episode.json, of 20 layouts that no evaluation has played.

    The last two show the first layout that the trained agents solve and shortest paths do not, or else the first one.
    In a game, they show the first one in which random agents get less.
    """
    folder, config, first = results.folder, results.options.grid, results.options.episodes

    def trained(seed: int) -> Policy:
        return make_policy(results.model.policy, np.random.default_rng([seed, 1]))

    other, measure = ("shortest-path", "success") if config.game is None else ("random", "return")
    pairs: list[Any] = []
    with results.bar.doing("playing episodes for the films", 2 * _EPISODES) as update:
        for seed in range(first, first + _EPISODES):
            pairs.append([])
            for policy in (trained, make_policy_factory(other)):
                pairs[-1].append(play_episode("held-out", config, policy, seed, watch=True, record=True))
                update(advance=1)
    noting = results.unwritten.noting
    with results.bar.doing("drawing films and figures"):
        episodes, heat = [mine.episode for mine, _ in pairs], HeatMaps()
        with noting("evaluation.gif"):
            write_gif(folder / "evaluation.gif", fit_frames(episodes[:6], max_frames=160), 4, pixels=_PIXELS)
        for episode in episodes:
            heat.add(episode)
        title = f"after {results.model.num_timesteps:,} steps of training, {_EPISODES} held-out episodes"
        with noting("heat.png"):
            write_figure(folder / "heat.png", heat_figure(heat.most_played(), title))
        alone = (pair for pair in pairs if pair[0].measures[measure] > pair[1].measures[measure])
        mine, theirs = next(alone, pairs[0])
        named = {"trained": mine.episode, other.replace("-path", " paths"): theirs.episode}
        with noting("comparison.svg"), replace_file(folder / "comparison.svg") as temporary:
            svg = compare_svg({f"{name}: {episode.verdict.text}": episode for name, episode in named.items()})
            temporary.write_text(svg, encoding="utf-8")
        with noting("episode.json"):
            save(mine.recording, folder / "episode.json")
