"""Train MAPPO with XuanCe: shared weights, action masks, and a critic that sees the global state.

Install: ``pip install "multigrid-marl" "xuance==1.4.4" torch`` in an environment of its own, for XuanCe needs NumPy
below 2. Run: ``python -m examples.xuance_mappo``.

`World` is all that XuanCe needs of an environment; every ``on_target`` trains with it. XuanCe reads a row of every
agent in each step. So an agent that has left keeps a row of zeros, which the losses exclude.

Settings that matter (found here, in 1.4.4):

- ``use_global_state=True`` makes the critic's input the state; by default it is all observations side by side.
- XuanCe reads `agent_mask` after the step, for the transition of that step: who leaves in a step has acted in it.
- XuanCe writes logs of TensorBoard in any case; here they go to a folder that is deleted at the end.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", "xuance", text=__doc__)

import torch
from xuance.common import get_arguments
from xuance.environment import DummyVecMultiAgentEnv, RawMultiAgentEnv, XuanCeMultiAgentEnvWrapper
from xuance.torch.agents import MAPPO_Agents

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.wrappers import StandardParallel, standard_config

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["World", "arrival_rate", "main", "make_agents"]


class World(RawMultiAgentEnv):  # type: ignore[misc] # mypy has no types of XuanCe
    """A world as an environment of XuanCe, whose agents get a row in every step, also when they have left.

    >>> world = World(multigrid.GridConfig(size=(5, 4), num_agents=2), seed=0)
    >>> observations, _ = world.reset()
    >>> observations["agent_1"].shape, world.state().shape, world.avail_actions()["agent_1"].tolist()
    ((6,), (8,), [True, True, True, False])
    """

    def __init__(self, config: multigrid.GridConfig, seed: int) -> None:
        super().__init__()
        self._masks: dict[str, NDArray[np.bool_]] = {}
        self.env = cast("Any", StandardParallel(multigrid.parallel_env(standard_config(config))))
        self.agents, self.num_agents = list(config.agents), config.num_agents
        self.agent_groups, self.max_episode_steps = [self.agents], config.max_cycles
        self.observation_space = {agent: self.env.observation_space(agent)["observation"] for agent in self.agents}
        self.action_space = {agent: self.env.action_space(agent) for agent in self.agents}
        self.state_space = self.env.state_space
        self._seed: int | None = seed

    def reset(self, **_: Any) -> tuple[dict[str, NDArray[np.float32]], dict[str, Any]]:
        """Begin an episode; the first one has the seed."""
        observations, infos = self.env.reset(seed=self._seed)
        self._seed = None
        self._acted = dict.fromkeys(self.agents, True)
        return self.rows(observations), {"infos": infos}

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        """Play a step: rows of observations, rewards and terminations of all agents, and one flag of truncation."""
        self._acted = {agent: agent in self.env.agents for agent in self.agents}
        played = {agent: int(actions[agent]) for agent in self.env.agents}
        observations, rewards, terminations, truncations, infos = self.env.step(played)
        earned = {agent: rewards.get(agent, 0.0) for agent in self.agents}
        ended = {agent: terminations.get(agent, True) for agent in self.agents}
        return self.rows(observations), earned, ended, any(truncations.values()), {"infos": infos}

    def rows(self, observations: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
        """Return an observation of every agent, zeros for one that has left; keep the masks for `avail_actions`."""
        here = {agent: observations[agent] for agent in self.agents if agent in observations}
        # The last mask of an agent that leaves, which stays, allows a single action.
        self._masks |= {agent: here[agent]["action_mask"].astype(bool) for agent in here}
        zeros = {agent: np.zeros(space.shape, space.dtype) for agent, space in self.observation_space.items()}
        return zeros | {agent: here[agent]["observation"] for agent in here}

    def avail_actions(self) -> dict[str, NDArray[np.bool_]]:
        """Return the mask of each agent's actions: for one that has left, a single action, which is ignored."""
        return dict(self._masks)

    def agent_mask(self) -> dict[str, bool]:
        """Return whether each agent has acted in the last step."""
        return self._acted

    def state(self) -> Any:
        """Return the global state, float32 (S,)."""
        return self.env.state()

    def render(self, *_: Any) -> Any:
        """Return a frame."""
        return self.env.render()

    def close(self) -> None:
        """Close the world."""
        self.env.close()


def make_agents(config: multigrid.GridConfig, seed: int, worlds: int, logs: str) -> MAPPO_Agents:
    """Return MAPPO's agents with their worlds; the settings are XuanCe's for MPE, but with masks and the state."""

    def make_world(env_seed: int) -> XuanCeMultiAgentEnvWrapper:
        return XuanCeMultiAgentEnvWrapper(World(config, env_seed))

    changed = argparse.Namespace(
        policy="Categorical_MAAC_Policy",
        use_actions_mask=True,
        use_global_state=True,
        parallels=worlds,
        buffer_size=32 * worlds,
        n_epochs=8,
        n_minibatch=4,
        gamma=0.95,
        seed=seed,
        log_dir=logs,
        model_dir=logs,
    )
    settings = get_arguments("mappo", "mpe", "simple_spread_v3", parser_args=changed)
    return MAPPO_Agents(settings, DummyVecMultiAgentEnv([make_world] * worlds, FIRST_TRAINING_SEED + seed * worlds))


def arrival_rate(agents: MAPPO_Agents, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive; actions are sampled."""
    world = World(config, 0)

    def policy(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        rows, masks = world.rows(observations), world.avail_actions()
        with torch.no_grad():
            actions = agents.get_actions(obs_dict=[rows], avail_actions_dict=[masks], test_mode=True)["actions"][0]
        return {agent: int(actions[agent]) for agent in env.agents}

    return multigrid.evaluate(standard_config(config), policy, range(episodes))["success"].mean


def main(*, steps: int = 1500, seed: int = 0, on_target: OnTarget = "park", episodes: int = 200) -> dict[str, float]:
    """Train two agents on a small grid, and measure how often both arrive within 20 steps, before and after.

    Args:
        steps: number of steps of each of 16 worlds.
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
    config = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target=on_target, max_cycles=20)
    with tempfile.TemporaryDirectory() as logs:
        agents = make_agents(config, seed, worlds=16, logs=logs)
        before = arrival_rate(agents, config, episodes)
        agents.train(steps)
        after = arrival_rate(agents, config, episodes)
        agents.finish()
    print(f"both agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
