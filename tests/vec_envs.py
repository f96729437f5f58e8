"""The two bridges to Stable-Baselines3 behind one call, and the play of single envs that they are judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv  # noqa: TC002 - beside the one that is needed

from helpers import frozen
from multigrid import GridConfig, MultiGridEnv, Outcome, vector_env
from multigrid.integrations import sb3, supersuit

# Neither square nor even: three agents on 4 x 3 cells, whose episodes are short.
SETTINGS: dict[str, Any] = {"size": (4, 3), "num_agents": 3, "max_cycles": 40}
WORLD = GridConfig(**SETTINGS)
POOL = np.array([
    [[False, False, True, False], [False, True, False, False], [False, False, False, False]],
    [[False, False, False, False], [True, False, False, True], [False, False, False, False]],
])  # fmt: skip


def make_native(config: GridConfig, num_worlds: int = 3, *, seed: Any = None, **arguments: Any) -> sb3.MultiGridVecEnv:
    """Return the native bridge over some worlds."""
    vec_env = sb3.to_sb3(vector_env(num_worlds, config, autoreset_mode="SameStep", **arguments))
    if seed is not None:
        vec_env.seed(seed)
    return vec_env


def make_supersuit(config: GridConfig, num_worlds: int = 3, **arguments: Any) -> supersuit.SuperSuitVecEnv:
    """Return SuperSuit's bridge over some worlds."""
    return supersuit.to_sb3(config, num_worlds, **arguments)


def rows_of(observations: Any) -> list[Any]:
    """Return the observation of each row."""
    if isinstance(observations, dict):
        number = len(next(iter(observations.values())))
        return [{part: rows[row] for part, rows in observations.items()} for row in range(number)]
    return list(observations)


def play(vec_env: VecEnv, steps: int) -> list[Any]:
    """Return everything that some steps of random play return, after a reset."""
    random = np.random.default_rng(4)
    told = [frozen(vec_env.reset()), frozen(vec_env.reset_infos)]
    return told + [frozen(vec_env.step(random.integers(0, 4, vec_env.num_envs))) for _ in range(steps)]


def learner(vec_env: VecEnv, **settings: Any) -> PPO:
    """Return a PPO with a small network."""
    policy = "MlpPolicy" if vec_env.observation_space.shape else "MultiInputPolicy"
    settings = {"n_steps": 32, "batch_size": 96, "n_epochs": 2, "seed": 7, **settings}
    return PPO(policy, vec_env, policy_kwargs={"net_arch": [32]}, device="cpu", **settings)


def blank(observation: Any) -> Any:
    """Return what is observed where nobody is."""
    if isinstance(observation, dict):
        return {part: np.zeros_like(array) for part, array in observation.items()}
    return np.zeros_like(observation)


class SingleEnvs:
    """ParallelEnvs one by one, in rows, as Stable-Baselines3's DummyVecEnv would play them."""

    def __init__(self, config: GridConfig, seeds: list[int], *, as_supersuit: bool = False) -> None:
        self.leaves, self.as_supersuit = config.on_target == "leave", as_supersuit
        self.envs = [MultiGridEnv(config) for _ in seeds]
        self.seeds: list[int | None] = list(seeds)
        self.reset_infos: list[Any] = [None] * len(seeds)
        self.ends: list[str] = []

    def begin(self, k: int) -> list[Any]:
        """Begin an episode of one world, and return the first observations."""
        seen, infos = self.envs[k].reset(seed=self.seeds[k])
        self.seeds[k] = None
        self.reset_infos[k] = [info | ({"alive": True} if self.leaves else {}) for info in infos.values()]
        return list(seen.values())

    def begin_all(self) -> list[Any]:
        """Begin an episode of every world."""
        return [shown for k in range(len(self.envs)) for shown in self.begin(k)]

    def all_reset_infos(self) -> list[Any]:
        """Return the infos of the last reset of each row."""
        return [info for infos in self.reset_infos for info in infos]

    def step(self, k: int, actions: list[int]) -> list[Any]:
        """Play a step of one world: observation, reward, done and info of each of its rows."""
        env = self.envs[k]
        live = list(env.agents)
        given = {agent: actions[i] for i, agent in enumerate(env.possible_agents) if agent in live}
        seen, rewards, terminated, truncated, infos = env.step(given)
        rows, nothing = [], blank(seen[live[0]])
        for i, agent in enumerate(env.possible_agents):
            if agent in live:
                final, info = seen[agent], infos[agent] | ({"alive": True} if self.leaves else {})
                done, out_of_time = agent not in env.agents, truncated[agent] and not terminated[agent]
                shown = nothing if done else final
            else:
                final, info = nothing, {"distance": 0.0, "outcome": int(Outcome.STAYED), "alive": False}
                done = out_of_time = not env.agents
                shown = nothing
            if done:
                info |= {"terminal_observation": final, "TimeLimit.truncated": out_of_time}
                self.ends.append("alone" if env.agents else "dead" if agent not in live else f"late {out_of_time}")
            if not env.agents and not self.as_supersuit:
                figures = env.metrics()
                info |= {name: value[i].item() if np.ndim(value) else value for name, value in figures.items()}
            rows.append([shown, np.float32(rewards.get(agent, 0)), np.bool_(done), info])
        if not env.agents:
            rows = [[shown, *row[1:]] for row, shown in zip(rows, self.begin(k), strict=True)]
            if self.as_supersuit:  # it tells the new episode's distance and outcome then
                rows = [[*row[:3], row[3] | info] for row, info in zip(rows, self.reset_infos[k], strict=True)]
        return rows
