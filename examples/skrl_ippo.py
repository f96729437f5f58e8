"""Train independent PPO (IPPO) with skrl: each agent has its own policy and value, with skrl's agents and trainer.

Install: ``pip install "multigrid-marl" "skrl==2.1.1" torch``. Run: ``python -m examples.skrl_ippo``.

skrl trains with ``on_target`` "park", "stay" or "restart". Not with "leave": skrl's environment wrapper accepts it, but
`IPPO` needs an observation of every possible agent at every step (found here, in 2.1.1: KeyError in ``IPPO.act`` one
step after the first arrival). `main` accepts "park" and "stay", whose success it can measure.

Bugs worked around (found here, in 2.1.1):

- ``IPPO_CFG()``, all defaults, raises ValueError: "Specified keys (set()) do not match possible agents". It reads
  settings that are empty dicts by default as dicts by agent without any agent; so each agent gets an empty dict.
- Without ``time_limit_bootstrap=True``, advantages continue from one episode into the next across a time limit. With
  it, an agent that arrives in the last step before the limit also gets the value of its last observation. This happens
  rarely and is not worked around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("skrl", "torch", text=__doc__)

import torch
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.multi_agents.torch import ExperimentCfg
from skrl.multi_agents.torch.ippo import IPPO, IPPO_CFG
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from skrl.utils.model_instantiators.torch import categorical_model, deterministic_model

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.training import FIRST_TRAINING_SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from skrl.models.torch import Model

__all__ = ["arrival_rate", "main", "make_models", "make_trainer"]

_EMPTY_BY_DEFAULT = (
    "learning_rate_scheduler_kwargs",
    "observation_preprocessor_kwargs",
    "state_preprocessor_kwargs",
    "value_preprocessor_kwargs",
)


def make_models(config: multigrid.GridConfig) -> dict[str, dict[str, Model]]:
    """Return a policy and a value for each agent; their input is the agent's own observation.

    >>> models = make_models(multigrid.GridConfig(num_agents=3, flatten=True))
    >>> list(models), models["agent_0"]["policy"] is models["agent_1"]["policy"]
    (['agent_0', 'agent_1', 'agent_2'], False)
    """
    env = multigrid.parallel_env(config)
    layers = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "tanh"}]

    def model(kind: Callable[..., Model], output: str, agent: str) -> Model:
        spaces = {"observation_space": env.observation_space(agent), "action_space": env.action_space(agent)}
        return kind(**spaces, network=layers, output=output)

    return {
        agent: {"policy": model(categorical_model, "ACTIONS", agent), "value": model(deterministic_model, "ONE", agent)}
        for agent in env.possible_agents
    }


def make_trainer(config: multigrid.GridConfig, models: dict[str, dict[str, Model]], steps: int) -> SequentialTrainer:
    """Return a trainer that plays `steps` steps of one world, and learns after every 500."""
    env = wrap_env(multigrid.parallel_env(config), verbose=False)
    agents = env.possible_agents
    learner = IPPO(
        possible_agents=agents,
        models=models,
        memories={agent: RandomMemory(memory_size=500) for agent in agents},
        observation_spaces=env.observation_spaces,
        state_spaces=env.state_spaces,
        action_spaces=env.action_spaces,
        cfg=IPPO_CFG(
            rollouts=500,
            learning_epochs=8,
            mini_batches=4,
            discount_factor=0.95,
            gae_lambda=0.9,
            learning_rate=1e-3,
            entropy_loss_scale=0.01,
            value_loss_scale=0.5,
            time_limit_bootstrap=True,
            experiment=ExperimentCfg(write_interval=0, checkpoint_interval=0),  # no files
            **{name: {agent: {} for agent in agents} for name in _EMPTY_BY_DEFAULT},
        ),
    )
    quietly = {"headless": True, "disable_progressbar": True, "close_environment_at_exit": False}
    return SequentialTrainer(env=env, agents=learner, cfg={"timesteps": steps, **quietly})


def arrival_rate(models: dict[str, dict[str, Model]], config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive; actions are sampled."""

    @torch.no_grad()
    def policy(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        rows = {agent: torch.from_numpy(observations[agent])[None] for agent in env.agents}
        return {agent: int(models[agent]["policy"].act({"observations": row})[0]) for agent, row in rows.items()}

    return multigrid.evaluate(config, policy, range(episodes))["success"].mean


def main(*, steps: int = 8000, seed: int = 0, on_target: OnTarget = "park", episodes: int = 200) -> dict[str, float]:
    """Train two agents on a small grid, and measure how often both arrive within 20 steps, before and after.

    Args:
        steps: number of steps of the world; learning takes place after every 500.
        seed: of the nets, of the sampled actions, and of the worlds.
        on_target: "park" or "stay".
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "before" and "after": the fractions of held-out episodes in which both agents arrive.

    Raises:
        ValueError: `on_target` is another one.
    """
    if on_target not in ("park", "stay"):
        raise ValueError(
            f"on_target is {on_target!r}; expected 'park' or 'stay', for skrl's IPPO needs every agent at every step, "
            "and under 'restart' nobody has arrived for good"
        )
    torch.set_num_threads(1)
    set_seed(FIRST_TRAINING_SEED + seed)  # torch's, and that of the environment's first reset
    config = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target=on_target, flatten=True, max_cycles=20)
    models = make_models(config)
    trainer = make_trainer(config, models, steps)

    before = arrival_rate(models, config, episodes)
    trainer.train()
    after = arrival_rate(models, config, episodes)
    print(f"both agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
