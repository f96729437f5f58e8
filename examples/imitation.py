"""Imitate a planner: PIBT labels the states of all rows of a vector environment, and a network learns its actions.

    pip install "multigrid-marl" torch tyro
    python -m examples.imitation

The expert reads the whole state, the network a window of it. After the first round the network plays, so that it learns
what to do in the states that it leads to (Ross, Gordon and Bagnell, AISTATS 2011).
"""

import dataclasses
from typing import Any

import torch
import tyro
from torch.nn import CrossEntropyLoss, LazyLinear, ReLU, Sequential

from multigrid import MultiGridEnv, evaluate, planning, vector_env
from multigrid.evaluation._estimates import Estimate
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.scenarios import find_world


def main(*, rounds: int = 20, num_worlds: int = 128, seed: int = 0, episodes: int = 200) -> dict[str, Estimate]:
    """Learn from the expert; return the metrics of held-out episodes, as `multigrid.evaluate` does."""
    torch.manual_seed(seed)
    world = find_world("delivery-17x13-8")
    config = dataclasses.replace(world, observe=("offset", "view"), view_radius=4, allow_stay=True)
    envs = vector_env(num_worlds, config)
    network = Sequential(LazyLinear(256), ReLU(), LazyLinear(256), ReLU(), LazyLinear(config.num_actions))
    adam = torch.optim.Adam(network.parameters(), 1e-3)

    def act(observations: Any) -> Any:
        return torch.multinomial(network(torch.as_tensor(observations)).softmax(-1), 1).flatten().numpy()

    def policy(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        return {agent: act(observations[agent]).item() for agent in env.agents}

    observations, infos = envs.reset(seed=FIRST_TRAINING_SEED + seed)
    for number in range(rounds):
        inputs, labels = [], []
        for _ in range(64):
            actions = planning.expert(envs)
            acts = infos["alive"] & ~envs.episode_over.repeat(config.num_agents)
            inputs.append(torch.as_tensor(observations)[acts])
            labels.append(torch.as_tensor(actions)[acts])
            observations, _, _, _, infos = envs.step(act(observations) if number else actions)
        all_inputs, all_labels, order = torch.cat(inputs), torch.cat(labels), torch.randperm(sum(map(len, labels)))
        for batch in (order[first : first + 2048] for first in range(0, len(order), 2048)):
            adam.zero_grad()
            CrossEntropyLoss()(network(all_inputs[batch]), all_labels[batch]).backward()
            adam.step()
        print(f"round {number + 1} of {rounds}")
    result = evaluate(config, policy, range(seed, seed + episodes))
    print(f"all agents arrive in {result['success'].mean:.1%} of {episodes} held-out episodes")
    return result


if __name__ == "__main__":
    tyro.cli(main)
