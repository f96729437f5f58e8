"""The two bridges to Stable-Baselines3 behind one call, and the play of single envs that they are judged by."""

import functools

import numpy as np
from stable_baselines3 import PPO

from helpers import frozen
from multigrid import GridConfig, MultiGridEnv, vector_env
from multigrid.integrations import sb3, supersuit
from single_envs import METRICS, SingleEnvs, exact

# Neither square nor even: three agents on 4 x 3 cells, whose episodes are short.
SETTINGS = {"size": (4, 3), "num_agents": 3, "max_cycles": 40}
WORLD = GridConfig(**SETTINGS)
POOL = np.array([
    [[False, False, True, False], [False, True, False, False], [False, False, False, False]],
    [[False, False, False, False], [True, False, False, True], [False, False, False, False]],
])  # fmt: skip


def make_native(config, num_worlds=3, *, seed=None, **arguments):
    """Return the native bridge over some worlds."""
    vec_env = sb3.to_sb3(vector_env(num_worlds, config, autoreset_mode="SameStep", **arguments))
    if seed is not None:
        vec_env.seed(seed)
    return vec_env


# By name, functions of a config, the number of worlds, a seed and a render mode.
BRIDGES = {
    "native": make_native,
    "native without copies": functools.partial(make_native, copy=False, num_threads=2),
    "supersuit": lambda config, copies=3, **more: supersuit.to_sb3(config, copies, **more),
    "supersuit with processes": lambda config, copies=3, **more: supersuit.to_sb3(config, copies, num_cpus=2, **more),
}


def rows_of(observations):
    """Return the observation of each row."""
    if not isinstance(observations, dict):
        return list(observations)
    return [dict(zip(observations, row, strict=True)) for row in zip(*observations.values(), strict=True)]


def returned_rows(returned):
    """Return what `step` returned, in the form of `SingleRows`."""
    observations, rewards, dones, infos = returned
    assert (rewards.dtype, dones.dtype) == (np.float32, bool)
    infos = [{k: exact(v) if k == "terminal_observation" else v for k, v in info.items()} for info in infos]
    return [list(row) for row in zip(map(exact, rows_of(observations)), rewards, dones, infos, strict=True)]


def play(vec_env, steps):
    """Return everything that some steps of random play return, after a reset."""
    random = np.random.default_rng(4)
    returned = [frozen(vec_env.reset()), frozen(vec_env.reset_infos)]
    return returned + [frozen(vec_env.step(random.integers(0, 4, vec_env.num_envs))) for _ in range(steps)]


def learner(vec_env, **settings):
    """Return a PPO with a small network."""
    policy = "MlpPolicy" if vec_env.observation_space.shape else "MultiInputPolicy"
    settings = {"n_steps": 32, "batch_size": 96, "n_epochs": 2, "seed": 7, **settings}
    return PPO(policy, vec_env, policy_kwargs={"net_arch": [32]}, device="cpu", **settings)


class SingleRows:
    """Single envs in rows, in the form in which Stable-Baselines3's VecEnvs return them."""

    def __init__(self, config, seeds, *, as_supersuit=False):
        self.has_leaves, self.as_supersuit = config.on_target == "leave", as_supersuit
        self.singles = SingleEnvs([MultiGridEnv(config) for _ in seeds], "SameStep")
        self.seeds = seeds
        self.reset_infos = []
        self.ends = []

    def reset(self):
        """Reset all envs, and return the observation of each row."""
        rows = self.singles.reset(self.seeds)
        self.reset_infos = [self.info(info, first=True) for _, info in rows]
        return [observation for observation, _ in rows]

    def info(self, info, *, first=False):
        """Return an info as it is returned: with the metrics but for SuperSuit, with `alive` where agents leave.

        Through SuperSuit the first infos of an episode lack `alive`, and those of agents that have left all else.
        """
        if self.as_supersuit and not info["alive"]:
            return {"alive": False}
        left_out = set(METRICS) if self.as_supersuit else set()
        left_out |= set() if self.has_leaves and not (self.as_supersuit and first) else {"alive"}
        return {name: value for name, value in info.items() if name not in left_out | {"final_obs", "final_info"}}

    def step(self, actions):
        """Play a step: observation, reward, done and info of each row."""
        rows = []
        for row, (observation, reward, terminated, truncated, info) in enumerate(self.singles.step(actions)):
            is_over, done = "final_info" in info, terminated or truncated
            final, last = (info["final_obs"], info["final_info"]) if is_over else (observation, info)
            shown = self.info(last)
            if is_over:
                self.reset_infos[row] = self.info(info, first=True)
                # SuperSuit tells the new episode's distance and outcome then.
                shown |= self.reset_infos[row] if self.as_supersuit else {}
            is_alone = done and not is_over
            if done:
                shown |= {"terminal_observation": final, "TimeLimit.truncated": truncated and not terminated}
                self.ends.append("alone" if is_alone else "with others" if last["alive"] else "dead")
            rows.append([self.singles.zeros if is_alone else observation, np.float32(reward), np.bool_(done), shown])
        return rows
