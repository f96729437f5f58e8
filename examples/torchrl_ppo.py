"""Train PPO with TorchRL's collector and loss: shared weights for agents that leave one after the other.

Install: ``pip install "multigrid-marl" "torchrl==0.14.1" "tensordict<0.15"``. Run:
``python -m examples.torchrl_ppo``.

The environment is `multigrid.integrations.torchrl.MultiGridTorchRLEnv`, many worlds in one. Every ``on_target`` works;
here it is "leave": an agent that has left keeps a row of zeros, where ``("agents", "mask")`` is False, and
``loss_mask_key`` excludes these rows from the loss. It does not exclude them when it standardises the advantages, so
`add_advantages` does that before.

The critic's input is each agent's own observation. Rewards are individual, and a critic of MultiAgentMLP that is both
centralised and shared would return the same value for all agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", "tensordict", "torchrl", text=__doc__)

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import ExplorationType, set_exploration_type
from torchrl.modules import MultiAgentMLP, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.torchrl import MultiGridTorchRLEnv
from multigrid.integrations.training import FIRST_TRAINING_SEED

if TYPE_CHECKING:
    from tensordict import TensorDict

__all__ = ["add_advantages", "arrival_rate", "main", "make_nets", "make_objectives", "train"]


def make_nets(env: MultiGridTorchRLEnv) -> tuple[ProbabilisticActor, TensorDictModule]:
    """Return an actor and a critic, each with the same weights for all agents."""
    _, num_agents, width = env.observation_spec["agents", "observation"].shape

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

    action_spec = env.full_action_spec["agents", "action"]
    actor = ProbabilisticActor(
        TensorDictModule(
            net(action_spec.space.n), in_keys=[("agents", "observation")], out_keys=[("agents", "logits")]
        ),
        in_keys=[("agents", "logits")],
        out_keys=[("agents", "action")],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
    critic = TensorDictModule(net(1), in_keys=[("agents", "observation")], out_keys=[("agents", "state_value")])
    return actor, critic


def make_objectives(actor: ProbabilisticActor, critic: TensorDictModule) -> tuple[GAE, ClipPPOLoss]:
    """Return the advantage estimator and the loss, with the keys of the agents' data and of the mask."""
    gae = GAE(gamma=0.95, lmbda=0.9, value_network=critic)
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)
    loss.loss_mask_key = ("agents", "mask")
    both = {name: ("agents", name) for name in ("reward", "done", "terminated", "advantage", "value_target")}
    gae.set_keys(**both, value=("agents", "state_value"))
    loss.set_keys(
        **both,
        value=("agents", "state_value"),
        action=("agents", "action"),
        sample_log_prob=("agents", "action_log_prob"),
    )
    return gae, loss


def add_advantages(gae: GAE, data: TensorDict) -> None:
    """Add the advantages to the collected data, with mean 0 and deviation 1 over the agents that are present."""
    with torch.no_grad():
        gae(data)
    advantages = data["agents", "advantage"]
    there = advantages[data["agents", "mask"]]
    data["agents", "advantage"] = (advantages - there.mean()) / there.std().clamp(min=1e-6)


def arrival_rate(actor: ProbabilisticActor, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive; actions are sampled."""
    env = MultiGridTorchRLEnv(config, episodes, seed=0)
    # By default an actor outside a collector takes the likeliest action, so agents may block each other for ever.
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        data = env.rollout(config.max_cycles, actor, break_when_any_done=False)
    first = data["next", "done"].int().argmax(1)[:, 0]
    rate: float = data["next", "metrics", "csr"][torch.arange(episodes), first].mean().item()
    return rate


def train(env: MultiGridTorchRLEnv, actor: ProbabilisticActor, critic: TensorDictModule, steps: int) -> None:
    """Train both nets for a number of steps of all worlds together, a multiple of 500."""
    gae, loss = make_objectives(actor, critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(500), sampler=SamplerWithoutReplacement(), batch_size=125)
    collector = Collector(env, actor, frames_per_batch=500, total_frames=steps, auto_register_policy_transforms=False)
    for data in collector:
        add_advantages(gae, data)
        buffer.extend(data.reshape(-1))
        for _ in range(8 * 4):  # 8 times over the 500 steps, in 4 parts
            losses = loss(buffer.sample())
            optimizer.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
            torch.nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimizer.step()
    collector.shutdown()


def main(*, steps: int = 6000, seed: int = 0, on_target: OnTarget = "leave", episodes: int = 200) -> dict[str, float]:
    """Train two agents on a small grid, and measure how often both arrive within 20 steps, before and after.

    Args:
        steps: number of steps of all 20 worlds together, a multiple of 500.
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
    config = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target=on_target, max_cycles=20)
    env = MultiGridTorchRLEnv(config, 20, seed=FIRST_TRAINING_SEED + seed)
    actor, critic = make_nets(env)
    before = arrival_rate(actor, config, episodes)
    train(env, actor, critic, steps)
    after = arrival_rate(actor, config, episodes)
    print(f"both agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
