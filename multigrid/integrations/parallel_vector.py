"""Several PettingZoo ParallelEnvs as one Gymnasium VectorEnv, with a row for each agent of each env."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray
from pettingzoo import AECEnv

from multigrid._checks import check_seed, shorten

__all__ = ["ParallelVectorEnv"]


class ParallelVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A Gymnasium VectorEnv that steps ParallelEnvs one after the other; row = env * N + agent, for N possible agents.

    Agents may leave before the others, or join later. The row of an absent agent has an observation of zeros, a reward
    of 0 and the info ``alive`` False, and its action is ignored. When the env ends, the row is truncated, so that
    learners end its trajectory there. An env resets as a whole when it has no `agents` left: on the next step, which
    ignores its actions (NEXT_STEP), within the same step (SAME_STEP), or only by `reset` (DISABLED). Infos have the
    format of Gymnasium's `SyncVectorEnv`, with ``final_obs`` and ``final_info``.

    Args:
        env_fns: functions that each return a new ParallelEnv. All agents have equal spaces.
        autoreset_mode: a `gymnasium.vector.AutoresetMode`, or its value: "NextStep", "SameStep" or "Disabled".

    Raises:
        TypeError, ValueError: there is no such mode, or the envs do not fit together.
    """

    def __init__(self, env_fns: Sequence[Callable[[], Any]], autoreset_mode: AutoresetMode | str = "NextStep") -> None:
        mode: Any = autoreset_mode
        if not isinstance(mode, str | AutoresetMode):
            raise TypeError(f"autoreset_mode is of type {type(mode).__name__}; expected an AutoresetMode or its value")
        self.autoreset_mode = AutoresetMode(mode)
        self.envs, self.single_observation_space, self.single_action_space = _make_envs(env_fns)
        self.possible_agents = list(self.envs[0].possible_agents)
        self.num_envs = len(self.envs) * len(self.possible_agents)
        self.metadata = {**getattr(self.envs[0], "metadata", {}), "autoreset_mode": self.autoreset_mode}
        self.render_mode = getattr(self.envs[0], "render_mode", None)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        firsts = range(0, self.num_envs, len(self.possible_agents))
        self._rows = [list(enumerate(self.possible_agents, first)) for first in firsts]
        zeros: Any = create_empty_array(self.single_observation_space, n=self.num_envs)
        self._latest = list(iterate(self.observation_space, zeros))
        self._nothing = self._latest[0]
        self._started = np.zeros(len(self.envs), dtype=bool)

    def reset(self, *, seed: Any = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset every env, or those of a mask; return all observations, and the infos of the envs that were reset.

        Args:
            seed: an integer s seeds env k with s + k; a list has a seed or None for each env. None does not seed.
            options: ``"reset_mask"``, bool (num_envs,), equal over an env's rows, selects the envs to reset. Other
                options are passed to them.

        Raises:
            TypeError, ValueError: the seeds or the mask are invalid.
        """
        count, size = len(self.envs), len(self.possible_agents)
        if not isinstance(seed, Sequence | np.ndarray):
            seed = [None if seed is None else check_seed(seed) + k for k in range(count)]
        seeds = [None if one is None else check_seed(one) for one in seed]
        if len(seeds) != count:
            raise ValueError(f"there are {len(seeds)} seeds; expected one for each of {count} envs")
        others = None if options is None else {**options}
        mask = (others or {}).pop("reset_mask", np.ones(self.num_envs, dtype=bool))
        expected = f"expected a boolean array ({self.num_envs},), equal over each env's rows, with at least one True"
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] is {shorten(mask)}; {expected}")
        if mask.shape != (self.num_envs,) or not mask.any() or (mask != np.repeat(mask[::size], size)).any():
            raise ValueError(f"options['reset_mask'] is {mask}; {expected}")
        infos: dict[str, Any] = {}
        for k in np.flatnonzero(mask[::size]).tolist():
            infos = self._store(infos, k, *self.envs[k].reset(seed=seeds[k], options=others))
            self._started[k] = True
        return self._observations(), infos

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every env in turn; if one raises an error, the envs before it have moved.

        Raises:
            ResetNeeded: an env was never reset, or has ended and is not reset automatically.
            ValueError: there is not one action for each row.
        """
        waiting = [k for k, env in enumerate(self.envs) if not self._started[k] or not env.agents]
        if not self._started.all() or (waiting and self.autoreset_mode is AutoresetMode.DISABLED):
            raise ResetNeeded(f"envs {waiting} have no episode, or one that is over; call reset() first")
        row_actions = list(iterate(self.action_space, actions))
        if len(row_actions) != self.num_envs:
            raise ValueError(f"there are {len(row_actions)} actions; expected {self.num_envs}, one for each row")
        rewards, (terminated, truncated) = np.zeros(self.num_envs), np.zeros((2, self.num_envs), dtype=bool)
        infos: dict[str, Any] = {}
        for k, env in enumerate(self.envs):
            resets = k in waiting
            if not resets:
                acting = set(env.agents)
                acts = {agent: row_actions[row] for row, agent in self._rows[k] if agent in acting}
                observations, gained, ended, cut, agent_infos = env.step(acts)
                resets = not env.agents and self.autoreset_mode is AutoresetMode.SAME_STEP
                infos = self._store(infos, k, observations, agent_infos, acting, final=resets)
                for row, agent in self._rows[k]:
                    if agent in acting:
                        rewards[row], terminated[row], truncated[row] = gained[agent], ended[agent], cut[agent]
                    truncated[row] |= not (env.agents or terminated[row])
            if resets:
                infos = self._store(infos, k, *env.reset())
        return self._observations(), rewards, terminated, truncated, infos

    def _store(
        self, infos: Any, k: int, observations: Any, agent_infos: Any, acting: Any = (), *, final: bool = False
    ) -> Any:
        """Store the observations of the rows of env k, and return `infos` with the infos of these rows added."""
        present = {*acting, *self.envs[k].agents}
        for row, agent in self._rows[k]:
            alive = agent in present
            self._latest[row] = observations[agent] if alive else self._nothing
            info = {**agent_infos[agent], "alive": True} if alive else {"alive": False}
            if final:  # a copy, because an env may write to its arrays when it is reset
                info = {"final_obs": deepcopy(self._latest[row]), "final_info": info}
            infos = self._add_info(infos, info, row)
        return infos

    def _observations(self) -> Any:
        zeros: Any = create_empty_array(self.single_observation_space, n=self.num_envs)
        return concatenate(self.single_observation_space, self._latest, zeros)

    def render(self) -> tuple[Any, ...]:
        """Return, for each row, the frame of its env."""
        frames = [env.render() for env in self.envs]
        return tuple(frame for frame in frames for _ in self.possible_agents)

    def close_extras(self, **_kwargs: Any) -> None:
        """Close the envs."""
        for env in getattr(self, "envs", []):  # Gymnasium 1.1 also closes envs whose constructor failed
            env.close()


def _make_envs(env_fns: Sequence[Callable[[], Any]]) -> tuple[list[Any], Any, Any]:
    """Create the envs, check that they fit together, and return them with the spaces of their agents."""
    envs = [env_fn() for env_fn in env_fns]
    kinds = [type(env).__name__ for env in envs if isinstance(env, AECEnv) or not hasattr(env, "possible_agents")]
    if kinds:
        raise TypeError(f"env_fns made {kinds}; expected PettingZoo ParallelEnvs, as aec_to_parallel makes of AECEnvs")
    if not envs or len(set(map(id, envs))) < len(envs):
        raise ValueError("env_fns made no env, or one twice; expected functions that each make a new one")
    agents, *others = [list(env.possible_agents) for env in envs]
    if any(names != agents for names in others):
        raise ValueError(f"the envs have the possible_agents {[agents, *others]}; expected the same in all")
    pairs = [(env.observation_space(agent), env.action_space(agent)) for env in envs for agent in agents]
    unlike = {f"{agents[row % len(agents)]} (row {row})": pair for row, pair in enumerate(pairs) if pair != pairs[0]}
    if unlike:
        raise ValueError(f"all agents need the spaces of {agents[0]}, {pairs[0]}; pad those of {unlike}")
    return envs, *pairs[0]
