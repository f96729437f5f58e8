"""Train PPO with TorchRL's collector and loss: shared weights for agents that leave one after the other.

Install: ``pip install "multigrid-marl" "torchrl==0.14.1" "tensordict<0.15"``. Run:
``python -m multigrid.examples.torchrl_ppo``.

Every ``on_target`` works; here it is "leave", which needs three settings:

- ``done_on_any=False``: by default `PettingZooWrapper` begins a new episode as soon as one agent is done.
- ``use_mask=True``: an agent that has left keeps a row of zeros, where ``("agent", "mask")`` is False.
- ``loss_mask_key``: the loss excludes these rows. It does not exclude them when it standardises the advantages, so
  `add_advantages` does that before.

The critic's input is each agent's own observation. Rewards are individual, and a critic of MultiAgentMLP that is both
centralised and shared would return the same value for all agents.

Bug worked around (found here, in 0.14.1): each new wrapper warns that TorchRL is tested with PettingZoo 1.24.3 only,
which is older than multigrid requires; the warning is ignored.
"""

from __future__ import annotations

import warnings
from typing import Any

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", "tensordict", "torchrl", text=__doc__)

import numpy as np
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import ExplorationType, set_exploration_type
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MultiAgentMLP, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.training import FIRST_TRAINING_SEED

__all__ = ["add_advantages", "arrival_rate", "main", "make_env", "make_nets", "make_objectives"]


def make_env(config: multigrid.GridConfig, seed: int) -> PettingZooWrapper:
    """Return a world as a TorchRL environment, which ends when its last agent has left or at the time limit.

    >>> world = make_env(multigrid.GridConfig(num_agents=3, on_target="leave", flatten=True), seed=0)
    >>> world.group_map, tuple(world.reset()["agent", "observation"].shape)
    ({'agent': ['agent_0', 'agent_1', 'agent_2']}, (3, 8))
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PettingZoo in TorchRL is tested using version")
        return PettingZooWrapper(multigrid.parallel_env(config), use_mask=True, done_on_any=False, seed=seed)


def make_nets(env: PettingZooWrapper) -> tuple[ProbabilisticActor, TensorDictModule]:
    """Return an actor and a critic, each with the same weights for all agents."""
    num_agents, width = env.observation_spec["agent", "observation"].shape

    def net(outputs: int) -> MultiAgentMLP:
        return MultiAgentMLP(
            n_agent_inputs=width,
            n_agent_outputs=outputs,
            n_agents=num_agents,
            centralized=False,
            share_params=True,
            depth=2,
            num_cells=64,
            activation_class=torch.nn.Tanh,
        )

    action_spec = env.full_action_spec["agent", "action"]
    actor = ProbabilisticActor(
        TensorDictModule(net(action_spec.space.n), in_keys=[("agent", "observation")], out_keys=[("agent", "logits")]),
        in_keys=[("agent", "logits")],
        out_keys=[("agent", "action")],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
    critic = TensorDictModule(net(1), in_keys=[("agent", "observation")], out_keys=[("agent", "state_value")])
    return actor, critic


def make_objectives(actor: ProbabilisticActor, critic: TensorDictModule) -> tuple[GAE, ClipPPOLoss]:
    """Return the advantage estimator and the loss, with the keys of the agents' data and of the mask."""
    gae = GAE(gamma=0.95, lmbda=0.9, value_network=critic)
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)
    loss.loss_mask_key = ("agent", "mask")
    both = {name: ("agent", name) for name in ("reward", "done", "terminated", "advantage", "value_target")}
    gae.set_keys(**both, value=("agent", "state_value"))
    loss.set_keys(
        **both, value=("agent", "state_value"), action=("agent", "action"), sample_log_prob=("agent", "action_log_prob")
    )
    return gae, loss


def add_advantages(gae: GAE, data: TensorDict) -> None:
    """Add the advantages to the collected data, with mean 0 and deviation 1 over the agents that are present."""
    with torch.no_grad():
        gae(data)
    advantages = data["agent", "advantage"]
    there = advantages[data["agent", "mask"]]
    data["agent", "advantage"] = (advantages - there.mean()) / there.std().clamp(min=1e-6)


def arrival_rate(actor: ProbabilisticActor, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive; actions are sampled."""

    def policy(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        # The net needs a row for every agent: zeros for one that has left.
        zeros = np.zeros_like(observations[env.agents[0]])
        rows = np.stack([observations.get(agent, zeros) for agent in config.agents])
        # By default an actor outside a collector takes the likeliest action, so agents may block each other for ever.
        with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
            output = actor(TensorDict({"agent": {"observation": torch.from_numpy(rows)}}))
        actions = dict(zip(config.agents, output["agent", "action"].tolist(), strict=True))
        return {agent: actions[agent] for agent in env.agents}

    return multigrid.evaluate(config, policy, range(episodes))["success"].mean


def main(*, steps: int = 6000, seed: int = 0, on_target: OnTarget = "leave", episodes: int = 200) -> dict[str, float]:
    """Train two agents on a small grid, and measure how often both arrive within 20 steps, before and after.

    Args:
        steps: number of steps of the world, a multiple of 500.
        seed: of the nets, of the sampled actions, and of the worlds.
        on_target: "park", "leave" or "stay".
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "before" and "after": the fractions of held-out episodes in which both agents arrive.

    Raises:
        ValueError: `on_target` is another one.
    """
    if on_target not in ("park", "leave", "stay"):
        raise ValueError(
            f"on_target is {on_target!r}; expected 'park', 'leave' or 'stay', for under 'restart' nobody has arrived "
            "for good"
        )
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    config = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target=on_target, flatten=True, max_cycles=20)
    env = make_env(config, FIRST_TRAINING_SEED + seed)
    actor, critic = make_nets(env)
    gae, loss = make_objectives(actor, critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(500), sampler=SamplerWithoutReplacement(), batch_size=125)
    collector = Collector(env, actor, frames_per_batch=500, total_frames=steps, auto_register_policy_transforms=False)

    before = arrival_rate(actor, config, episodes)
    for data in collector:
        add_advantages(gae, data)
        buffer.extend(data)
        for _ in range(8 * 4):  # 8 times over the 500 steps, in 4 parts
            losses = loss(buffer.sample())
            optimizer.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
            torch.nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimizer.step()
    collector.shutdown()
    after = arrival_rate(actor, config, episodes)
    print(f"both agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
