"""Train with Ray RLlib: an env registered with Ray, a PPO configuration, and trained modules as a policy.

This module uses RLlib's new API stack and its ``ParallelPettingZooEnv``. Every node of a cluster needs the same
versions of this package and of ``ray[rllib]``. All modes of `GridConfig.on_target` work, including *leave*.

`RLlibEnv` works around three bugs of RLlib (found here, in 2.60.0):

- ``MultiAgentEpisode.add_env_step`` treats a time limit that ends the episode of all agents as termination, so that
  learners do not bootstrap from the value of the last observation.
- Env runner w seeds its env i with seed + w + i, so that several runners play the same episodes.
- ``ParallelPettingZooEnv`` keeps the agents' names in a set, so that their order differs between processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.integrations.extras import missing_library
from multigrid.integrations.training import list_metrics, sample_rows, training_seed
from multigrid.policies import Policy

try:
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.callbacks.callbacks import RLlibCallback
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
    from ray.tune.registry import register_env
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "rllib") from error

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.core.rl_module.rl_module import RLModule
    from ray.rllib.env.env_context import EnvContext

__all__ = ["NAME", "RLlibEnv", "agent_modules", "ppo_config", "register", "sample_actions", "trained_policy"]

NAME = "multigrid"
"""The name under which the env is registered."""


class RLlibEnv(ParallelPettingZooEnv):  # type: ignore[misc] # mypy has no types of Ray
    """The env that RLlib's env runners play.

    Its seeds are training seeds: its episodes differ from those of ``MultiGridEnv.reset`` with seeds below 1,000,000.

    Args:
        context: the fields of a `GridConfig` with ``flatten=True`` and without the part "action_mask"; RLlib adds the
            index of the env runner.

    Raises:
        TypeError, ValueError: as for `GridConfig`; or ``flatten`` is not True, or "action_mask" is observed.

    >>> env = RLlibEnv({"num_agents": 3, "flatten": True})
    >>> observations, _ = env.reset(seed=0)
    >>> observations["agent_2"].shape
    (8,)
    """

    def __init__(self, context: EnvContext | dict[str, Any]) -> None:
        config = GridConfig(**context)
        _check_flat(config)
        env = MultiGridEnv(config)
        super().__init__(env)
        self.agents = self.possible_agents = list(config.agents)
        # RLlib takes the agents of one episode for all that there are.
        self.observation_space = spaces.Dict({agent: env.observation_space(agent) for agent in config.agents})
        self.action_space = spaces.Dict({agent: env.action_space(agent) for agent in config.agents})
        self._runner = int(getattr(context, "worker_index", 0) or 0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the env; equal seeds give different episodes on different env runners."""
        return super().reset(seed=None if seed is None else training_seed(seed, self._runner), options=options)

    def step(self, action_dict: Mapping[str, Any]) -> Any:
        """Play a step; truncation is set only for ``__all__``, which RLlib handles correctly."""
        observations, rewards, terminated, truncated, infos = super().step(action_dict)
        if truncated["__all__"]:
            truncated = {"__all__": True}
        return observations, rewards, terminated, truncated, infos


class CountEpisodes(RLlibCallback):  # type: ignore[misc] # mypy has no types of Ray
    """Add sums over an iteration to its results, under ``env_runners`` / ``multigrid``.

    Over the episodes that ended: ``episodes``, ``successes`` (all agents arrived), ``steps``, and the defined metrics
    in `multigrid.integrations.training.SUMMED`, and those of a game. Over all steps: ``agent_steps`` and ``reward``.
    """

    def on_episode_end(self, *, episode: Any, metrics_logger: Any, env: Any, env_index: int, **_: Any) -> None:
        """Count an episode."""
        world = env.envs[env_index].unwrapped.par_env
        metrics = {name: value for name, value in world.metrics().items() if name in list_metrics(world.config)}
        defined = {name: value for name, value in metrics.items() if name != "csr" and np.isfinite(value)}
        _count(metrics_logger, episodes=1, successes=int(episode.is_terminated), steps=episode.env_t, **defined)

    def on_sample_end(self, *, samples: Any, metrics_logger: Any, **_: Any) -> None:
        """Count the steps of a sample, whether or not their episodes have ended."""
        for episode in samples:
            by_agent = episode.agent_episodes.values()
            reward = sum(float(one.get_return()) for one in by_agent)
            _count(metrics_logger, agent_steps=sum(len(one) for one in by_agent), reward=reward)


def register() -> str:
    """Register the env with Ray under `NAME`, and return the name; `ppo_config` also does this.

    Call this function before you load a checkpoint in another process. RLlib's checkpoints are pickles, which can run
    any code when they are loaded: load only those that you trust.
    """
    register_env(NAME, RLlibEnv)
    return NAME


def ppo_config(config: GridConfig, *, shared: bool = True, hidden: Sequence[int] = (128, 128)) -> PPOConfig:
    """Return a PPO configuration for a world; RLlib's own methods can change it further.

    An env runner that fails, alone or with its node, is restarted where a CPU is free; the others continue.

    Args:
        config: the world, with ``flatten=True`` and without the part "action_mask".
        shared: whether all agents share one policy; else each agent has its own.
        hidden: the sizes of the hidden layers, equal for the policy and the value function.

    Raises:
        TypeError: `config` is not a `GridConfig`.
        ValueError: `config.flatten` is False, or "action_mask" is observed.

    >>> settings = ppo_config(GridConfig(num_agents=3, flatten=True), shared=False)
    >>> sorted(settings.policies)
    ['agent_0', 'agent_1', 'agent_2']
    >>> algorithm = settings.env_runners(num_env_runners=8).training(lr=3e-4)  # .build_algo() comes next
    """
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is of type {type(config).__name__}; expected a GridConfig")
    model = DefaultModelConfig(fcnet_hiddens=list(hidden), fcnet_activation="tanh", vf_share_layers=False)
    policies = {"shared"} if shared else set(config.agents)
    return (
        PPOConfig()
        .environment(register(), env_config=_check_flat(config))
        .multi_agent(policies=policies, policy_mapping_fn=_all_share if shared else _each_its_own)
        .rl_module(model_config=model)
        .training(lr=1e-3, gamma=0.95, lambda_=0.95, entropy_coeff=0.01, vf_loss_coeff=0.5, use_kl_loss=False)
        .training(clip_param=0.2, grad_clip=0.5, num_epochs=8, minibatch_size=1024, train_batch_size_per_learner=2048)
        .fault_tolerance(restart_failed_env_runners=True)
        .callbacks(CountEpisodes)
    )


def agent_modules(algorithm: Algorithm) -> dict[str, RLModule]:
    """Return the module that plays each agent."""
    settings = algorithm.config
    names = GridConfig(**settings.env_config).agents
    return {agent: algorithm.get_module(settings.policy_mapping_fn(agent, None)) for agent in names}


def trained_policy(modules: Mapping[str, RLModule], generator: np.random.Generator) -> Policy:
    """Return a policy, as defined in `multigrid.policies`, that samples actions from trained modules.

    With ``policy = trained_policy(agent_modules(algorithm), np.random.default_rng(0))``, ``policy(env, observations)``
    returns an action for each agent in ``env.agents``. A ValueError refuses actions with bits of messages, which RLlib
    trains.
    """
    for module in modules.values():
        if module.action_space.shape:
            raise ValueError(f"the actions are {module.action_space}; expected single numbers, not bits of messages")

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        actions = sample_actions(modules, env.agents, [observations[agent] for agent in env.agents], generator)
        return dict(zip(env.agents, actions, strict=True))

    return choose


def sample_actions(
    modules: Mapping[str, RLModule],
    agents: Sequence[str],
    observations: Sequence[NDArray[np.float32]] | NDArray[np.float32],
    generator: np.random.Generator,
) -> list[int]:
    """Sample an action for each of K named agents from K observations, float32 (D,), or a single array (K, D)."""
    stacked = torch.from_numpy(np.asarray(observations))
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


def _check_flat(config: GridConfig) -> dict[str, Any]:
    """Return the fields of a configuration, or raise a ValueError if RLlib's networks cannot take its observations."""
    if not config.flatten:
        raise ValueError(
            "config has flatten=False, but RLlib's networks take one float32 vector an agent; "
            "use GridConfig(..., flatten=True), or dataclasses.replace(config, flatten=True)"
        )
    if config.observation_keys:
        raise ValueError(
            f"config observes {config.parts}, of which 'action_mask' comes beside the vector, in a Dict, but RLlib's "
            "networks take one float32 vector an agent; leave 'action_mask' out of observe"
        )
    return config.given


# Functions at module level, so that a checkpoint contains their names and not their bytecode.
def _all_share(agent: str, episode: Any, **_: Any) -> str:  # noqa: ARG001 - RLlib's signature
    return "shared"


def _each_its_own(agent: str, episode: Any, **_: Any) -> str:  # noqa: ARG001 - RLlib's signature
    return agent


def _count(metrics_logger: Any, **amounts: float) -> None:
    for name, amount in amounts.items():
        metrics_logger.log_value((NAME, name), amount, reduce="sum")
