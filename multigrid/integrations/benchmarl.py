"""Tasks for BenchMARL: any world, on the native vector env, with BenchMARL's algorithms, models and reports.

``Experiment(task=MultiGridTask("delivery-17x13-8"), ...)`` trains on a scenario of the suite,
``MultiGridTask("rware-tiny-2ag-v2")`` on a game, and ``MultiGridTask("mine", GridConfig(...))`` on any other world.
All of BenchMARL's algorithms for discrete actions get the action masks; MAPPO's critic and QMIX's mixer get the state.

BenchMARL seeds the worlds of training and of evaluation alike. Here an experiment with seed s trains on seeds of
`multigrid.integrations.training`. With `LogMetrics`, world i of the first evaluation plays seed s + i, which training
never plays; with ``evaluation_static=True`` every evaluation plays these seeds. `LogMetrics` also logs success rates
and costs of evaluations, and locks the specs of the environments, so that TorchRL steps them faster.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from multigrid._checks import shorten
from multigrid.config import GridConfig
from multigrid.games._registry import find_config, is_game
from multigrid.integrations.extras import missing_library
from multigrid.integrations.torchrl import MultiGridTorchRLEnv
from multigrid.integrations.training import training_seed
from multigrid.scenarios import find_world

try:
    import torch
    from benchmarl.environments import TaskClass
    from benchmarl.experiment import Callback
    from torchrl.data import Composite
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "benchmarl") from error

if TYPE_CHECKING:
    from tensordict import TensorDictBase
    from torchrl.envs.utils import MarlGroupMapType

__all__ = ["LogMetrics", "MultiGridTask", "final_metrics", "find_task"]


class MultiGridTask(TaskClass):  # type: ignore[misc] # mypy has no types of BenchMARL
    """A world as a BenchMARL task.

    Args:
        name: the name in BenchMARL's reports. Without a config it is also what `multigrid.scenarios.find_world` finds:
            a scenario of the suite, a file, or a generator; or the id of a game, as for `multigrid.games.config`.
        config: the world, as a `GridConfig` or a dict of its fields; ``max_cycles`` must not be None.
        group_map: as for `MultiGridTorchRLEnv`.

    Attributes:
        config: a dict of the fields, as numbers, text, lists, and the class of a game; environments are made from it.

    Raises:
        OSError, TypeError, ValueError: there is no such world, or its episodes have no limit.

    >>> task = MultiGridTask("corridor", GridConfig(size=(5, 3), num_agents=2, max_cycles=50))
    >>> task.get_env_fun(num_envs=8, continuous_actions=False, seed=0, device="cpu")().batch_size
    torch.Size([8])
    """

    def __init__(
        self,
        name: str,
        config: GridConfig | dict[str, Any] | None = None,
        *,
        group_map: MarlGroupMapType | Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if config is None or isinstance(config, dict):
            config = find_task(name) if config is None else GridConfig(**config)
        elif not isinstance(config, GridConfig):
            raise TypeError(f"config is {shorten(config)}; expected a GridConfig, a dict of its fields, or None")
        if config.max_cycles is None:
            raise ValueError("max_cycles is None; expected a number of steps, for BenchMARL's evaluations end there")
        # A pickle finds a class by its name.
        game = {} if config.game is None else {"game": config.game}
        super().__init__(name, {**config.to_dict(), "max_cycles": config.max_cycles, **game})
        self._groups = group_map

    @override
    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], MultiGridTorchRLEnv]:
        """Return a function that returns an environment of `num_envs` worlds; continuous actions raise a ValueError."""
        if continuous_actions:
            raise ValueError("continuous_actions is True; expected False, for actions are discrete")
        # BenchMARL passes one seed for training and for evaluation; `LogMetrics` sets another one for evaluation.
        seed = None if seed is None else training_seed(seed, num_envs, worlds=num_envs)
        config = GridConfig.from_dict(self.config, self.config.get("game"))
        make = functools.partial(MultiGridTorchRLEnv, config, num_envs)
        return functools.partial(make, group_map=self._groups, seed=seed, device=device)

    @override
    def supports_continuous_actions(self) -> bool:
        return False

    @override
    def supports_discrete_actions(self) -> bool:
        return True

    @override
    def max_steps(self, env: Any) -> int:
        return int(self.config["max_cycles"])

    @override
    def has_render(self, env: Any) -> bool:
        """Return True: the film of an evaluation shows its first world."""
        return True

    @override
    def group_map(self, env: Any) -> dict[str, list[str]]:
        return dict(env.group_map)

    @override
    def observation_spec(self, env: Any) -> Composite:
        return self._select(env, "observation")

    @override
    def action_mask_spec(self, env: Any) -> Composite:
        return self._select(env, "action_mask")

    @override
    def action_spec(self, env: Any) -> Composite:
        return env.full_action_spec_unbatched

    @override
    def state_spec(self, env: Any) -> Composite:
        return Composite(state=env.full_observation_spec_unbatched["state"].clone())

    @override
    def info_spec(self, env: Any) -> None:
        """Return None, because the metrics describe the world and not its agents."""

    def _select(self, env: Any, name: str) -> Composite:
        spec, groups = env.full_observation_spec_unbatched.clone(), env.group_map.items()
        return Composite({group: Composite({name: spec[group, name]}, shape=(len(names),)) for group, names in groups})

    @staticmethod
    @override
    def env_name() -> str:
        return "multigrid"

    @staticmethod
    @override
    def log_info(batch: TensorDictBase) -> dict[str, float]:
        """Return the mean metrics of the episodes that ended in a batch, under "collection/metrics/NAME"."""
        ended = batch["next", "done"].squeeze(-1)
        return _means(batch["next", "metrics"][ended], "collection")


class LogMetrics(Callback):  # type: ignore[misc] # mypy has no types of BenchMARL
    """Log the mean metrics of each evaluation, under "eval/metrics/NAME", and keep them.

    Attributes:
        history: for each evaluation, {"frames": steps collected so far, NAME: mean over the episodes}.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: list[dict[str, float]] = []

    @override
    def on_setup(self) -> None:
        """Seed the worlds of evaluation with the experiment's own seed, below those of training; lock the specs."""
        experiment = self.experiment
        experiment.test_env.set_seed(experiment.seed)
        # Without the lock, TorchRL derives constants from the specs in every step.
        experiment.test_env.set_spec_lock_()
        (experiment.rollout_env if experiment.config.collect_with_grad else experiment.collector.env).set_spec_lock_()

    @override
    def on_evaluation_end(self, rollouts: list[TensorDictBase]) -> None:
        """Log and keep the mean metrics of the evaluation's episodes."""
        means = _means(final_metrics(rollouts), "eval")
        self.experiment.logger.log(means, step=self.experiment.n_iters_performed)
        by_name = {name.rpartition("/")[2]: mean for name, mean in means.items()}
        self.history.append({"frames": self.experiment.total_frames, **by_name})


def find_task(name: str) -> GridConfig:
    """Return the configuration of the id of a game, or of what `multigrid.scenarios.find_world` finds."""
    return find_config(name) if is_game(name) else find_world(name)


def final_metrics(rollouts: Sequence[TensorDictBase]) -> TensorDictBase:
    """Return the metrics of the first episode of each rollout, of batch size (T,), as a TensorDict (rollouts,)."""
    first = [int(rollout["next", "done"].flatten().int().argmax()) for rollout in rollouts]
    return torch.stack([rollout["next", "metrics"][end] for rollout, end in zip(rollouts, first, strict=True)])


def _means(metrics: TensorDictBase, prefix: str) -> dict[str, float]:
    """Return the means of the metrics that are defined, by ``PREFIX/metrics/NAME``."""
    means = {name: float(values.mean()) for name, values in metrics.items()}
    return {f"{prefix}/metrics/{name}": mean for name, mean in means.items() if not math.isnan(mean)}
