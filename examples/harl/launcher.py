"""Train HARL's algorithms on worlds of multigrid."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from examples.harl.vector import MultiGridShareVecEnv
from examples.named_worlds import name_world
from multigrid._files import read_bytes
from multigrid.config import GridConfig
from multigrid.integrations.training import training_seed

__all__ = ["add_to_harl", "main"]

_PACKAGE = "examples.harl"
_ENV = "multigrid"
_FIELDS = frozenset(field.name for field in dataclasses.fields(GridConfig))


def add_to_harl() -> None:
    """Let an importable HARL train on the environment "multigrid", before anything imports ``harl.runners``.

    HARL chooses environments by chains of ``if``, which no registry extends. Replaced are, in the modules of this
    process alone:

    - ``make_train_env`` and ``make_eval_env`` of ``harl.utils.envs_tools``, which would start a process for each world;
      ``make_render_env``, which raises an error, for there is no rendering;
    - ``get_num_agents`` there, and ``get_task_name`` of ``harl.utils.configs_tools``, which know HARL's environments;
    - ``numpy.int``, which HARL's off-policy evaluation needs, and NumPy has not had since 1.24.

    ``harl.envs.LOGGER_REGISTRY`` gets a logger that adds the metrics of the evaluated episodes.

    Raises:
        ModuleNotFoundError: HARL, or a library that it needs, cannot be imported.
    """
    tools: Any = importlib.import_module("harl.utils.envs_tools")
    configs: Any = importlib.import_module("harl.utils.configs_tools")
    tools.make_train_env = _make_train_env
    tools.make_eval_env = _make_eval_env
    tools.make_render_env = _make_render_env
    tools.get_num_agents = lambda _env, _env_args, envs: envs.n_agents
    configs.get_task_name = lambda _env, env_args: _task_name(env_args)
    base = importlib.import_module("harl.common.base_logger").BaseLogger
    importlib.import_module("harl.envs").LOGGER_REGISTRY[_ENV] = type("MultiGridLogger", (_MetricLogger, base), {})
    if not hasattr(np, "int"):
        setattr(np, "int", int)  # noqa: B010 (a type checker knows that it is not there)


class _MetricLogger:
    """What HARL's BaseLogger lacks: the name of the task, and the metrics of evaluated episodes."""

    env_args: dict[str, Any]
    eval_infos: list[list[dict[str, Any]]]
    total_num_steps: int
    log_env: Any

    def get_task_name(self) -> str:
        return _task_name(self.env_args)

    def eval_init(self) -> None:
        super().eval_init()  # type: ignore[misc]
        self._ended: list[dict[str, Any]] = []

    def eval_thread_done(self, tid: int) -> None:
        super().eval_thread_done(tid)  # type: ignore[misc]
        self._ended.append(self.eval_infos[tid][0])

    def eval_log(self, eval_episode: int) -> None:
        super().eval_log(eval_episode)  # type: ignore[misc]
        # The metrics are floats, all else in the infos is not.
        names = [name for name, value in self._ended[0].items() if type(value) is float]
        self.log_env({f"eval_{name}": [info[name] for info in self._ended] for name in names})
        means = (f"{name} {np.mean([info[name] for info in self._ended]):.3f}" for name in names)
        sys.stdout.write(f"Evaluation at step {self.total_num_steps}: {', '.join(means)}\n\n")


def _task_name(env_args: dict[str, Any]) -> str:
    name = env_args["map_name"]
    return "grid" if name is None else Path(name).name


def _make_envs(env_args: dict[str, Any], num_worlds: int, seed: int, *, is_evaluation: bool) -> MultiGridShareVecEnv:
    fields = {name: value for name, value in env_args.items() if name in _FIELDS}
    config = name_world(env_args["map_name"], **fields)
    return MultiGridShareVecEnv(
        config, num_worlds, seed=seed, state_type=env_args["state_type"], is_evaluation=is_evaluation
    )


def _make_train_env(_name: str, seed: int, n_threads: int, env_args: dict[str, Any]) -> MultiGridShareVecEnv:
    return _make_envs(env_args, n_threads, training_seed(seed, worlds=n_threads), is_evaluation=False)


def _make_eval_env(_name: str, _seed: int, n_threads: int, env_args: dict[str, Any]) -> MultiGridShareVecEnv:
    # Seeds from 0 on are for evaluation.
    return _make_envs(env_args, n_threads, 0, is_evaluation=True)


def _make_render_env(*_: Any) -> MultiGridShareVecEnv:
    raise NotImplementedError("use_render is True, but worlds of multigrid are not rendered by HARL; leave it False")


def main(arguments: Sequence[str] | None = None) -> dict[str, tuple[float, float]]:
    """Train an algorithm of HARL, as its ``examples/train.py`` does, and evaluate it before and after.

    Args:
        arguments: the folder of the checkout, and flags; the command line by default.

    Returns:
        The mean of each metric over the held-out episodes, before and after; empty with ``--use_eval False``.

    Raises:
        SystemExit: there is no checkout in the folder, a flag is not known, or help is asked for.
        TypeError, OSError, ValueError: as `examples.named_worlds.name_world`.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or {"-h", "--help"} & set(given):
        sys.stdout.write(f"{(sys.modules['examples.harl'].__doc__ or '').strip()}\n")
        sys.exit(0 if given else 2)
    checkout = Path(given[0]).resolve()
    if not (checkout / "harl" / "runners").is_dir():
        sys.exit(f"there is no harl/runners in {checkout}; expected the folder of a checkout of HARL")
    sys.path.insert(0, str(checkout))
    add_to_harl()
    args, algo_args, env_args = _parse(given[1:], checkout)
    # One episode for each world, see the module's text.
    algo_args["eval"]["n_eval_rollout_threads"] = algo_args["eval"]["eval_episodes"]
    runner = importlib.import_module("harl.runners").RUNNER_REGISTRY[args["algo"]](args, algo_args, env_args)
    if not env_args["greedy_evaluation"]:
        for actor in {id(actor): actor for actor in runner.actor}.values():
            _sample_in_evaluation(actor)
    before = _evaluate(runner, 0)
    runner.run()
    after = _evaluate(runner, algo_args["train"]["num_env_steps"])
    runner.save()
    runner.close()
    for name, value in after.items():
        sys.stdout.write(f"{name}: {before[name]:.3f} before training, {value:.3f} after\n")
    return {name: (before[name], value) for name, value in after.items()}


def _parse(words: list[str], checkout: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the three dicts of settings from which HARL's runners are made."""
    if len(words) % 2 or not all(word.startswith("--") for word in words[::2]):
        sys.exit(f"the flags are {' '.join(words)}; expected pairs of --NAME VALUE")
    flags: dict[str, Any] = {word[2:]: _read(value) for word, value in zip(words[::2], words[1::2], strict=True)}
    args = {"algo": flags.pop("algo", "mappo"), "env": _ENV, "exp_name": str(flags.pop("exp_name", "multigrid"))}
    path = checkout / "harl" / "configs" / "algos_cfgs" / f"{args['algo']}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in path.parent.glob("*.yaml")))
        sys.exit(f"algo is {args['algo']}; expected one of {known}")
    import yaml

    algo_args: dict[str, dict[str, Any]] = yaml.safe_load(read_bytes(path))
    env_args: dict[str, Any] = {"map_name": None, "state_type": "EP", "greedy_evaluation": False}
    for name, value in flags.items():
        groups = [group for group in algo_args.values() if name in group]
        for group in groups:
            group[name] = value
        if name in env_args or name in _FIELDS:
            env_args[name] = value
        elif not groups:
            names = sorted({*env_args, *_FIELDS, *(key for group in algo_args.values() for key in group)})
            sys.exit(f"there is no flag --{name}; expected some of {', '.join(names)}")
    return args, algo_args, env_args


def _read(text: str) -> Any:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _sample_in_evaluation(actor: Any) -> None:
    """Let an on-policy actor sample where HARL asks for its most probable actions, in evaluation alone."""
    act = getattr(actor, "act", None)
    if act is not None:
        actor.act = lambda *args, **kwargs: act(*args, **{**kwargs, "deterministic": False})


def _evaluate(runner: Any, step: int) -> dict[str, float]:
    """Evaluate on the held-out episodes, and return the mean of each metric."""
    if runner.eval_envs is None:
        return {}
    if hasattr(runner, "logger"):
        runner.prep_rollout()
        # HARL numbers its evaluations by rollouts, of which none has begun yet.
        runner.logger.episode = getattr(runner.logger, "episode", 0)
        runner.eval()
    else:
        runner.eval(step)
    means = {name: float(values.mean()) for name, values in runner.eval_envs.results.items()}
    return {name: value for name, value in means.items() if not math.isnan(value)}
