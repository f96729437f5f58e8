"""Agents that leave, in SuperSuit's vector envs; and SuperSuit's vector env for Stable-Baselines3.

SuperSuit 3.11 expects that all agents stay until the episode is over. Its ``black_death_v3`` gives agents that have
left rows of zeros, but reports no end in the step in which an agent leaves: all rows end together, one step after the
last agent has left. `black_death` replaces it, and reports the end of each agent's episode in the step of that end.

Only `to_sb3` imports Stable-Baselines3. It replaces SuperSuit's wrapper for that library, which has these defects:

- Copies are pickles of one env, so copies of an env that has been reset play the same episodes; and with processes,
  worker w seeds its j-th copy with seed + w + j. Here the env is fresh, and copy k plays the episodes of seed + k.
- ``seed()`` does not exist, so ``PPO(seed=...)`` crashes.
- ``TimeLimit.truncated`` is never set, so learners treat the time limit as termination.
- With processes, ``reset()`` without a seed returns malformed infos, and Python does not exit before ``close()``.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from gymnasium.vector.utils import batch_space, create_empty_array, iterate
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.integrations.extras import missing_library

try:
    import supersuit
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "supersuit") from error

if TYPE_CHECKING:
    from multigrid.integrations.supersuit_sb3 import SuperSuitVecEnv

__all__ = ["black_death", "to_sb3"]


def black_death(env: ParallelEnv[str, Any, Any]) -> ParallelEnv[str, Any, Any]:
    """Return a ParallelEnv whose agents stay in `agents` until its episode is over, as SuperSuit's vector env expects.

    An agent that leaves before the others is terminated or truncated in that step, its last observation is in
    ``infos[agent]["terminal_observation"]``, and its observation is zeros. From then on it has observations of zeros,
    rewards of 0, and ``infos[agent]["alive"]`` False, and its actions are ignored. The end of the episode truncates it,
    so that learners end the trajectory there. Infos of agents that end also have ``TimeLimit.truncated``, from which
    Stable-Baselines3 distinguishes a time limit from a termination. Any other env raises a TypeError.

    >>> import multigrid
    >>> env = black_death(multigrid.parallel_env(size=(5, 3), num_agents=3, on_target="leave"))
    >>> envs = supersuit.concat_vec_envs_v1(supersuit.pettingzoo_env_to_vec_env_v1(env), 2)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["agent"].shape
    (6, 2)
    """
    if not isinstance(env, ParallelEnv):
        expected = "expected a PettingZoo ParallelEnv, as multigrid.parallel_env(...) returns"
        raise TypeError(f"env is of type {type(env).__name__}; {expected}")
    return _BlackDeath(env)


class _BlackDeath(BaseParallelWrapper[str, Any, Any]):
    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        super().__init__(env)
        self.agents: list[str] = []
        self._zeros = {}
        for agent in env.possible_agents:
            space = env.observation_space(agent)
            self._zeros[agent] = next(iter(iterate(batch_space(space, 1), create_empty_array(space, n=1))))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        observations, infos = self.env.reset(seed=seed, options=options)
        self.agents = list(self.env.possible_agents)
        # No `alive` here: SuperSuit overwrites the infos of an episode's last step by those of the reset after it.
        absent = {agent: deepcopy(self._zeros[agent]) for agent in self.agents if agent not in observations}
        return {**observations, **absent}, {**infos, **{agent: {} for agent in absent}}

    def step(self, actions: dict[str, Any]) -> Any:
        returned: Any = self.env.step({agent: actions[agent] for agent in self.env.agents})
        results = observations, rewards, terminations, truncations, infos = tuple(map(dict, returned))
        is_over = not self.env.agents
        for agent in self.agents:
            alive = agent in observations
            if not alive:
                observations[agent], rewards[agent] = deepcopy(self._zeros[agent]), 0.0
                terminations[agent], truncations[agent] = False, is_over
            infos[agent] = info = {**infos.get(agent, {}), "alive": alive}
            if terminations[agent] or truncations[agent]:
                info["TimeLimit.truncated"] = bool(truncations[agent] and not terminations[agent])
                if not is_over:  # else SuperSuit stores the last observation
                    info["terminal_observation"] = observations[agent]
                    observations[agent] = deepcopy(self._zeros[agent])
        if is_over:
            self.agents = []
        return results


def to_sb3(
    config: GridConfig, copies: int = 1, *, num_cpus: int = 0, seed: int | None = None, render_mode: str | None = None
) -> SuperSuitVecEnv:
    """Return a Stable-Baselines3 VecEnv of SuperSuit with copies of one world; row = copy * num_agents + agent.

    Under ``on_target="leave"`` the rows of agents that have left are those of `black_death`.

    Args:
        config: the world.
        copies: the number of worlds that are played side by side.
        num_cpus: the number of worker processes; 0 plays all copies in this process.
        seed: copy k plays the episodes of seed + k; None samples a seed. ``PPO(seed=...)`` replaces it.
        render_mode: as for `multigrid.parallel_env`.

    Raises:
        ModuleNotFoundError: Stable-Baselines3 is not installed.
        ValueError: there are fewer than one copy or fewer than zero processes.

    >>> vec_env = to_sb3(GridConfig(num_agents=3), copies=2, seed=0)
    >>> vec_env.num_envs
    6
    """
    from multigrid.integrations.supersuit_sb3 import SuperSuitVecEnv

    if copies < 1 or num_cpus < 0:
        raise ValueError(f"copies is {copies} and num_cpus {num_cpus}; expected at least 1 and at least 0")
    env: ParallelEnv[str, Any, Any] = MultiGridEnv(config, render_mode)
    untyped: Any = supersuit
    one = untyped.pettingzoo_env_to_vec_env_v1(black_death(env) if config.agents_can_leave else env)
    return SuperSuitVecEnv(untyped.concat_vec_envs_v1(one, copies, num_cpus=num_cpus), config, render_mode, seed)
