"""Ray RLlib: the env registered for Tune, a configuration of PPO to begin with, and trained modules as a policy.

On RLlib's new API stack, through its own ``ParallelPettingZooEnv``. Every node of a cluster needs this package and
``ray[rllib]``, of the same versions. All modes of `GridConfig.on_target` work, *leave* too.

Three bugs of RLlib (all found here, in 2.60.0) are worked around in `RLlibEnv`:

- ``MultiAgentEpisode.add_env_step`` takes the time limit, where it ends the episode of all agents, for termination, so
  that learners do not go on from the value of the last observation.
- Env runner w seeds its env i with seed + w + i, so that runners play the same episodes.
- ``ParallelPettingZooEnv`` keeps the agents' names in a set, so that their order changes from process to process.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.integrations.training import sample_rows, training_seed
from multigrid.policies import Policy

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.core.rl_module.rl_module import RLModule
    from ray.rllib.env.env_context import EnvContext

__all__ = ["NAME", "RLlibEnv", "agent_modules", "ppo_config", "register", "sample_actions", "trained_policy"]

NAME = "multigrid"
"""The name under which the env is registered."""

_SHARED = "shared"


class RLlibEnv(ParallelPettingZooEnv):  # type: ignore[misc] # mypy sees nothing of Ray
    """The env that RLlib's env runners play.

    Seeds are for training: none of them gives an episode that ``MultiGridEnv.reset`` gives for a seed below 1,000,000.

    Args:
        context: the fields of a `GridConfig`, of which ``flatten`` is True; RLlib adds the index of the env runner.

    Raises:
        TypeError, ValueError: as `GridConfig`, and without ``flatten``.

    >>> env = RLlibEnv({"num_agents": 3, "flatten": True})
    >>> observations, _ = env.reset(seed=0)
    >>> observations["agent_2"].shape
    (8,)
    """

    def __init__(self, context: EnvContext | dict[str, Any]) -> None:
        config = _check_flat(GridConfig(**context))
        super().__init__(MultiGridEnv(config))
        self.agents = self.possible_agents = list(config.agents)
        self._runner = int(getattr(context, "worker_index", 0) or 0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the env; the same seed gives other episodes on other env runners."""
        if seed is not None:
            seed = training_seed(seed, self._runner)
        return super().reset(seed=seed, options=options)

    def step(self, action_dict: Mapping[str, Any]) -> Any:
        """Play a step; set truncation for ``__all__`` only, which RLlib handles correctly."""
        observations, rewards, terminated, truncated, infos = super().step(action_dict)
        if truncated["__all__"]:
            truncated = {"__all__": True}
        return observations, rewards, terminated, truncated, infos


class CountEpisodes(RLlibCallback):  # type: ignore[misc] # mypy sees nothing of Ray
    """Adds to the results, under ``env_runners`` / ``multigrid``, sums over what an iteration has sampled.

    ``episodes``, ``successes`` (by termination: all agents arrived) and ``steps`` of episodes that ended;
    ``agent_steps`` and their ``reward`` of all steps.
    """

    def on_episode_end(self, *, episode: Any, metrics_logger: Any, **_: Any) -> None:
        """Count an episode."""
        _count(metrics_logger, episodes=1, successes=int(episode.is_terminated), steps=episode.env_t)

    def on_sample_end(self, *, samples: Any, metrics_logger: Any, **_: Any) -> None:
        """Count the steps of a sample, whether or not their episodes have ended."""
        for episode in samples:
            by_agent = episode.agent_episodes.values()
            reward = sum(float(one.get_return()) for one in by_agent)
            _count(metrics_logger, agent_steps=sum(len(one) for one in by_agent), reward=reward)


def register() -> str:
    """Register the env with Ray under `NAME`, and return that; ``env_config`` are fields of a `GridConfig`.

    `ppo_config` does so itself. Whoever only loads a checkpoint needs it first. RLlib's checkpoints are pickles, which
    can run any code when they are loaded: load only those that you trust.
    """
    register_env(NAME, RLlibEnv)
    return NAME


def ppo_config(config: GridConfig, *, shared: bool = True, hidden: Sequence[int] = (128, 128)) -> PPOConfig:
    """Return a configuration of PPO for a world, to be changed further by RLlib's own methods.

    An env runner that is lost, with its node or alone, is replaced where there is room; the others go on.

    Args:
        config: the world, with ``flatten=True``.
        shared: one policy for all agents, or each agent its own.
        hidden: the sizes of the hidden layers, of the policy and of the value function.

    Raises:
        TypeError: it is something else than a `GridConfig`.
        ValueError: its observations are not flat.

    >>> settings = ppo_config(GridConfig(num_agents=3, flatten=True), shared=False)
    >>> sorted(settings.policies)
    ['agent_0', 'agent_1', 'agent_2']
    >>> algorithm = settings.env_runners(num_env_runners=8).training(lr=3e-4)  # .build_algo() comes next
    """
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is of type {type(config).__name__}; expected a GridConfig")
    model = DefaultModelConfig(fcnet_hiddens=list(hidden), fcnet_activation="tanh", vf_share_layers=False)
    return (
        PPOConfig()
        .environment(register(), env_config=_fields(_check_flat(config)))
        .multi_agent(
            policies={_SHARED} if shared else set(config.agents),
            policy_mapping_fn=_all_share if shared else _each_its_own,
        )
        .rl_module(model_config=model)
        .training(
            lr=1e-3,
            gamma=0.95,
            lambda_=0.95,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            clip_param=0.2,
            grad_clip=0.5,
            num_epochs=8,
            minibatch_size=1024,
            train_batch_size_per_learner=2048,
        )
        .fault_tolerance(restart_failed_env_runners=True)
        .callbacks(CountEpisodes)
    )


def agent_modules(algorithm: Algorithm) -> dict[str, RLModule]:
    """Return the module that plays each agent."""
    settings = algorithm.config
    names = GridConfig(**settings.env_config).agents
    return {agent: algorithm.get_module(settings.policy_mapping_fn(agent, None)) for agent in names}


def trained_policy(modules: Mapping[str, RLModule], generator: np.random.Generator) -> Policy:
    """Return trained modules as a policy like those of `multigrid.policies`, which plays any `MultiGridEnv`.

    With ``policy = trained_policy(agent_modules(algorithm), np.random.default_rng(0))``, ``policy(env, observations)``
    is an action for each agent, sampled from the modules' distributions.
    """

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        rows = [observations[agent] for agent in env.agents]
        return dict(zip(env.agents, sample_actions(modules, env.agents, rows, generator), strict=True))

    return choose


def sample_actions(
    modules: Mapping[str, RLModule],
    agents: Sequence[str],
    observations: Sequence[NDArray[np.float32]],
    generator: np.random.Generator,
) -> list[int]:
    """Sample an action for each of K agents, of one world or of several, from their names and observations.

    The observations are K arrays, float32 (D,). There is a module for each name.
    """
    stacked = torch.from_numpy(np.stack(observations))
    owners = np.array([id(modules[agent]) for agent in agents])
    order, parts = [], []
    for module in {id(module): module for module in modules.values()}.values():
        rows = np.flatnonzero(owners == id(module))
        if len(rows):
            with torch.no_grad():
                logits = module.forward_inference({Columns.OBS: stacked[rows]})[Columns.ACTION_DIST_INPUTS]
            order.append(rows)
            parts.append(torch.softmax(logits.double(), dim=1).numpy())
    return sample_rows(np.concatenate(parts)[np.argsort(np.concatenate(order))], generator)


def _check_flat(config: GridConfig) -> GridConfig:
    if not config.flatten:
        raise ValueError(
            "config has flatten=False, but RLlib's networks take one float32 vector an agent; "
            "use GridConfig(..., flatten=True), or dataclasses.replace(config, flatten=True)"
        )
    return config


def _fields(config: GridConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}


# Functions of this module, not of another one: a checkpoint then holds their names, and no bytecode of theirs.
def _all_share(agent: str, episode: Any, **_: Any) -> str:  # noqa: ARG001 - RLlib's signature
    return _SHARED


def _each_its_own(agent: str, episode: Any, **_: Any) -> str:  # noqa: ARG001 - RLlib's signature
    return agent


def _count(metrics_logger: Any, **amounts: float) -> None:
    for name, amount in amounts.items():
        metrics_logger.log_value((NAME, name), amount, reduce="sum")
