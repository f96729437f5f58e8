"""``multigrid train``: one shared policy for N agents, with Stable-Baselines3's PPO.

A checkpoint contains the state between two rollouts, so that the training continues bit for bit: weights, optimizer,
random generators, worlds, last observations, and the curve so far. At its end, evaluations, figures and films are
written, and the results are printed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import math
import random
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from rich.text import Text
from stable_baselines3 import PPO
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.utils import LinearSchedule, set_random_seed

from multigrid._checks import shorten
from multigrid._files import open_file, read_bytes, replace_file
from multigrid.cli import _train_runs as runs
from multigrid.cli._episodes import is_supported, play_episode
from multigrid.cli._figures import HeatMaps, Panel, curve_figure, heat_figure, write_figure
from multigrid.cli._files import write_json
from multigrid.cli._films import fit_frames, write_gif
from multigrid.cli._models import make_policy_factory
from multigrid.cli._train_options import TrainOptions, check_options
from multigrid.cli._train_runs import TENSORBOARD, Curve, HeldOut, Log, Training, resume_command
from multigrid.config import GridConfig
from multigrid.envs.spaces import observation_space
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.evaluation._estimates import Estimate, bootstrap, wilson
from multigrid.game import describe
from multigrid.games._files import game_flag
from multigrid.integrations._sb3_policies import find_network
from multigrid.integrations.sb3 import Actor, MultiGridVecEnv, to_sb3
from multigrid.integrations.sb3_buffers import AliveDictRolloutBuffer, AliveRolloutBuffer
from multigrid.integrations.training import training_seed
from multigrid.policies import Trained
from multigrid.rendering.svg import compare_svg
from multigrid.scenarios import save
from multigrid.scenarios._worlds import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

_VERSION = 3  # of the format of checkpoints
_TENSORS, _ARRAYS, _NUMBERS = "tensors.pth", "arrays.npz", "numbers.json"
_SEEN, _WORLD, _MEMORY = "observation.", "world.", "memory."
# Pairs of the steps trained so far and the results, from before the training to after it.
Evaluations: TypeAlias = Sequence[tuple[int, HeldOut]]

_PIXELS = 960  # the longer side of films, for a projector
_EPISODES = 20
_MOST_PANELS = 4
"""The most metrics of a game in the curve, of those that are not always 0."""


def train(options: TrainOptions, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder, or continue a run; return 0, or 130 after Ctrl-C."""
    _check_spaces(options.grid)
    check_options(options)
    if options.log is not None:
        importlib.import_module("torch.utils.tensorboard")  # a missing library is named before anything is written
    if options.recurrent:
        importlib.import_module("sb3_contrib")
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    set_random_seed(options.seed)
    # Stable-Baselines3 plays whole rollouts only.
    rollout = options.rollout * options.copies * options.grid.num_agents
    total = math.ceil(options.steps / rollout) * rollout
    checkpoint, steps = runs.find_last(options.resume)
    if options.resume is not None and steps >= total:
        line = f"{options.resume} is finished: it has had its {steps:,} steps; a larger --steps continues it"
        console.print(Text(line), soft_wrap=True)
        _print_files(console, options.resume, options.grid, steps, finished=True)
        return 0
    bar = runs.training_bar(console)
    worlds = MultiGridVectorEnv(
        options.grid, options.copies, autoreset_mode="SameStep", num_threads=options.num_threads
    )
    with bar.shown(), contextlib.closing(to_sb3(worlds)) as vec_env:
        folder = runs.open_run(options)
        runs.print_headline(console, folder, options, total, steps)
        with runs.resumable(console, folder, options.grid.game):
            model = _make_model(vec_env, options, total // rollout)
            training = Training(folder, options, bar, model, lambda to: write_state(to, vec_env, training))
            if checkpoint is not None:
                # Nothing random may happen between this call and the training.
                try:
                    training.curve, training.lengths = _read_state(checkpoint, model, vec_env)
                except Exception as error:
                    # Libraries raise a dozen kinds of errors for malformed bytes.
                    raise ValueError(
                        f"{checkpoint} cannot be restored: {type(error).__name__}: {one_line(error)}. "
                        "Delete this folder to continue from the checkpoint before it"
                    ) from error
                training.last = steps
            first = 0 if checkpoint is None else steps + 1
            with contextlib.closing(Log(None if options.log is None else folder, first)) as training.log:
                code = training.run(total, rollout)
                with bar.doing("writing the model and the curve"):
                    with training.unwritten.noting("model.zip"), replace_file(folder / "model.zip") as temporary:
                        model.save(temporary)
                    write_evaluations(training)
                write_films(training)
                if code == 0:
                    # The checkpoint is last, because it marks the run as finished.
                    training.save()
    return report(training, console, code)


def _check_spaces(config: GridConfig) -> None:
    """Raise a ValueError if the network, which has neither convolutions nor several outputs, cannot observe or act."""
    space = observation_space(config)
    for name, part in getattr(space, "spaces", {"an observation": space}).items():
        if not isinstance(part, Box) or is_image_space(part):
            came = f"{name} is {'an image' if isinstance(part, Box) else 'no Box'}, {shorten(part)}"
            raise ValueError(f"{came}; `multigrid train` learns from vectors: expected other parts in --observe")
    if config.message_bits:
        came = f"an action has {config.message_bits} bits of messages"
        raise ValueError(f"{came}; `multigrid train` learns actions that are one number: expected none")


def _make_model(vec_env: MultiGridVecEnv, options: TrainOptions, rollouts: int) -> OnPolicyAlgorithm:
    in_parts, rate = bool(options.grid.observation_keys), options.learning_rate
    network, layers = find_network(options.hidden, in_parts=in_parts, recurrent=options.recurrent)
    settings: dict[str, Any] = {
        # The schedule is evaluated after each rollout, the last one included. A function would be saved as bytecode,
        # which only this version of Python can read.
        "learning_rate": LinearSchedule(start=rate * (1 + 1 / rollouts), end=rate / rollouts, end_fraction=1),
        "n_steps": options.rollout,
        "batch_size": options.batch_size,
        "n_epochs": options.epochs,
        "gamma": options.gamma,
        "ent_coef": options.entropy,
        "policy_kwargs": layers,
        # The seeds of a run's copies differ from those of another run's.
        "seed": training_seed(options.seed, worlds=options.copies),
        "device": "cpu",
    }
    if options.recurrent:
        from multigrid.integrations._sb3_recurrent import MaskedRecurrentPPO

        return MaskedRecurrentPPO(network, vec_env, **settings)
    buffer: Any = AliveDictRolloutBuffer if in_parts else AliveRolloutBuffer
    return PPO(network, vec_env, rollout_buffer_class=buffer if options.grid.agents_can_leave else None, **settings)


def write_state(folder: Path, vec_env: MultiGridVecEnv, training: Training) -> None:
    """Write the state of a training between two rollouts."""
    model = training.model
    tensors = {"policy": model.policy.state_dict(), "optimizer": model.policy.optimizer.state_dict()}
    buffer = io.BytesIO()
    torch.save({**tensors, "random": torch.get_rng_state()}, buffer)
    with replace_file(folder / _TENSORS) as temporary:
        temporary.write_bytes(buffer.getvalue())
    state: Any = vec_env.vector_env.get_state()
    arrays = {_WORLD + name: array for name, array in state.items()}
    seen: Any = model._last_obs  # noqa: SLF001 - Stable-Baselines3 has no other name for it
    arrays |= {_SEEN + part: rows for part, rows in (seen if isinstance(seen, dict) else {"": seen}).items()}
    arrays |= {f"{_MEMORY}{index}": state.numpy() for index, state in enumerate(_memory(model))}
    arrays |= {"lengths": training.lengths, "begins": np.asarray(model._last_episode_starts)}  # noqa: SLF001 - as above
    with replace_file(folder / _ARRAYS) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    version, words, gauss = random.getstate()
    numpy: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - Stable-Baselines3 shuffles with it
    numpy = {**numpy, "state": {"key": numpy["state"]["key"].tolist(), "pos": int(numpy["state"]["pos"])}}
    actions = model.action_space.np_random.bit_generator.state
    generators = {"python": [version, list(words), gauss], "numpy": numpy, "actions": actions}
    updates = model._n_updates  # noqa: SLF001 - as above
    numbers = {"version": _VERSION, "steps": model.num_timesteps, "updates": updates, "random": generators}
    numbers["curve"] = training.curve.to_lists()
    write_json(folder / _NUMBERS, numbers)


def _read_state(folder: Path, model: OnPolicyAlgorithm, vec_env: MultiGridVecEnv) -> tuple[Curve, NDArray[np.int64]]:
    """Restore the state of a new model and its vec env; return the curve and the lengths. No code in files is run.

    The lengths, int64 (K,), count the steps of each episode.
    """
    numbers = json.loads(read_bytes(folder / _NUMBERS))
    if numbers["version"] != _VERSION:
        raise ValueError(f"version is {numbers['version']!r}; expected {_VERSION}, that of this multigrid")
    with open_file(folder / _TENSORS) as file:
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    # The file is opened here, because np.load does not close a malformed file.
    with open_file(folder / _ARRAYS) as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    curve = Curve.from_lists(numbers["curve"])
    model.policy.load_state_dict(tensors["policy"])
    model.policy.optimizer.load_state_dict(tensors["optimizer"])
    model.num_timesteps = int(numbers["steps"])
    model._n_updates = int(numbers["updates"])  # noqa: SLF001 - Stable-Baselines3 has no other name for it
    vec_env.vector_env.set_state(_named(arrays, _WORLD))
    seen = _named(arrays, _SEEN)
    model._last_obs = seen.get("", seen)  # noqa: SLF001 - as above
    model._last_episode_starts = arrays["begins"]  # noqa: SLF001 - as above
    for index, state in enumerate(_memory(model)):
        state[:] = torch.from_numpy(arrays[f"{_MEMORY}{index}"])
    states = numbers["random"]
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    words = {**states["numpy"]["state"], "key": np.array(states["numpy"]["state"]["key"], dtype=np.uint32)}
    np.random.set_state({**states["numpy"], "state": words})  # noqa: NPY002 - Stable-Baselines3 shuffles with it
    model.action_space.np_random.bit_generator.state = states["actions"]
    torch.set_rng_state(tensors["random"])
    return curve, arrays["lengths"]


def _memory(model: OnPolicyAlgorithm) -> list[torch.Tensor]:
    """Return the states of the LSTMs of the policy and of the value function, none without a memory."""
    states: Any = getattr(model, "_last_lstm_states", ())
    return [state for pair in states for state in pair]


def _named(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


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
    own = () if config.game is None else describe(config.game).metrics
    shown = (name for name in own if name in before and name in after and (before[name], after[name]) != (0, 0))
    rows += [(name, name, ".3f", "") for name in shown]
    head = f"{before['episodes']} held-out episodes"
    width = max(map(len, [head, *(name for name, *_ in rows)]))
    lines = [f"{head:{width}}{'before':>10}{'after':>10}"]
    for name, key, form, meaning in rows:
        lines.append(f"{name:{width}}{before[key]:>10{form}}{after[key]:>10{form}}   {meaning}")
    console.print(Text("\n".join(lines)), soft_wrap=True)
    _print_files(console, folder, config, evaluations[-1][0], finished=finished)


def _print_files(console: Console, folder: Path, config: GridConfig, steps: int, *, finished: bool) -> None:
    """Print the files of a run and the next commands; after a whole training, one for as many steps again."""
    files = sorted(path.name for path in folder.glob("[!.]*"))
    run, flag = shlex.quote(str(folder)), game_flag(config.game)
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
    width = max(map(len, commands))
    lines = [f"files in {folder}: {', '.join(files)}", "next:"]
    lines += [f"  {command:{width}}  {what}" for command, what in commands.items()]
    console.print(Text("\n".join(lines)), soft_wrap=True)


def panels(config: GridConfig, evaluations: Evaluations) -> list[Panel]:
    """Return the panels of the curve; only the reward has a line of the training, too, as in the progress bar.

    The first metrics of a game have one each.
    """

    def estimates(estimate: Callable[[HeldOut], Estimate]) -> list[tuple[int, Estimate]]:
        return [(steps, estimate(held_out)) for steps, held_out in evaluations]

    reward = Panel("reward_per_step", "reward per step of an agent", [], bottom=0.0 if config.game is None else None)
    names = () if config.game is None else describe(config.game).metrics
    own = [
        Panel(None, name, estimates(lambda one, name=name: bootstrap(one.metrics[name])), bottom=None)  # type: ignore[misc]
        for name in names
        if all(name in held_out.metrics for _, held_out in evaluations)
        and any(held_out.metrics[name].any() for _, held_out in evaluations)
    ][:_MOST_PANELS]
    if config.has_targets and config.on_target == "restart":
        per_step = estimates(lambda one: bootstrap(one.returns / one.steps))
        return [dataclasses.replace(reward, evaluations=per_step), *own]
    first = Panel(None, "return of an agent", estimates(lambda one: bootstrap(one.returns)), bottom=None)
    if config.has_targets:
        success = estimates(lambda one: wilson(one.metrics["csr"]))
        first = Panel(None, "episodes in which all arrived", success, 1.05, is_share=True)
    steps = Panel(None, "steps of an episode", estimates(lambda one: bootstrap(one.steps)))
    return [first, *own, steps, reward]


def write_films(results: Training) -> None:
    """Write evaluation.gif, heat.png, comparison.svg and episode.json, of 20 layouts that no evaluation has played.

    The last two show the first layout that the trained agents solve and shortest paths do not, or else the first one.
    In a game, they show the first one in which random agents get less.
    """
    folder, config, first = results.folder, results.options.grid, results.options.episodes

    def trained(seed: int) -> Trained:
        make_actor = partial(Actor, results.model.policy)
        return Trained(make_actor, config, np.random.default_rng([seed, 1]), remembers=results.options.recurrent)

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
