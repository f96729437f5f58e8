"""The environments that EPyMARL takes: tuples for its wrapper ``gymma``, and its own interface."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from examples.named_worlds import name_world
from multigrid._checks import check_seed, shorten
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.integrations.training import list_metrics
from multigrid.parts import MASK
from multigrid.wrappers import StandardParallel

__all__ = ["MaskedEnv", "TupleEnv"]


class TupleEnv(gymnasium.Env[Any, Any]):
    """A world as ``gymma`` takes it: tuples of observations and actions, a list of rewards, one end for all agents.

    An observation is a float32 vector (D,); that of an agent that has left before is zeros. The info of the last step
    has the metrics of the episode, and ``episode_limit``, whether `max_cycles` has ended it, so that EPyMARL's targets
    go on beyond it. Other infos are empty.

    Args:
        map_name: as for `examples.named_worlds.name_world`.
        render_mode: as for `multigrid.parallel_env`.
        **fields: fields of `GridConfig`.

    Raises:
        TypeError, OSError, ValueError: as `name_world`.

    >>> env = TupleEnv("warehouse-9x7-2")
    >>> observations, info = env.reset(seed=0)
    >>> observations, rewards, terminated, truncated, info = env.step([0, 3])
    >>> env.n_agents, len(observations), rewards, terminated, truncated, info
    (2, 2, [0.0, 0.0], False, False, {})
    """

    metadata: dict[str, Any] = MultiGridEnv.metadata

    def __init__(self, map_name: str | None = None, *, render_mode: str | None = None, **fields: Any) -> None:
        self._world: MultiGridEnv[Any] = MultiGridEnv(name_world(map_name, **fields), render_mode)
        self._env = StandardParallel(self._world)
        self.render_mode = render_mode
        self.config: GridConfig = self._world.config
        self.n_agents = self.config.num_agents
        first = self.config.agents[0]
        one: Any = self._env.observation_space(first)
        # There must be no attribute `state_size`: gymma would take it for the size of its own, concatenated state.
        self.observation_space = spaces.Tuple([one["observation"]] * self.n_agents)
        self.action_space = spaces.Tuple([self._env.action_space(first)] * self.n_agents)
        self._absent = np.zeros(one["observation"].shape, np.float32)
        self._single = [0] * (self.config.num_actions - 1) + [1]
        self.avail_actions: list[list[int]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, as `multigrid.MultiGridEnv.reset`.

        Raises:
            TypeError, ValueError: a bad seed or layout; the env is unchanged.
        """
        observations, _ = self._env.reset(seed=seed, options=options)
        return self._all_observations(observations), {}

    def step(self, actions: Sequence[Any]) -> tuple[Any, list[float], bool, bool, dict[str, Any]]:  # type: ignore[override]
        """Play one step.

        Args:
            actions: an action for each agent; those of agents that have left are ignored.

        Raises:
            TypeError, ValueError: a bad action, or not one for each agent; the env is unchanged.
            ResetNeeded: there was no reset yet, or the episode is over.
        """
        if len(actions) != self.n_agents:
            raise ValueError(f"there are {len(actions)} actions; expected {self.n_agents}, one for each agent")
        if not self._env.agents:
            raise ResetNeeded("there is no episode, or it is over; call reset() first")
        by_agent = dict(zip(self.config.agents, actions, strict=True))
        chosen = {agent: by_agent[agent] for agent in self._env.agents}
        observations, rewards, terminations, _, _ = self._env.step(chosen)
        over = not self._env.agents
        terminated = over and all(terminations.values())
        return (
            self._all_observations(observations),
            [rewards.get(agent, 0.0) for agent in self.config.agents],
            terminated,
            over and not terminated,
            self._last_info(limited=not terminated) if over else {},
        )

    def state(self) -> NDArray[np.float32]:
        """Return the true state, float32 (S,), as `multigrid.wrappers.StandardParallel.state`."""
        return self._env.state()

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state`."""
        return self._env.state_space

    def render(self) -> Any:
        """Return what `multigrid.MultiGridEnv.render` returns, which warns where there is no mode."""
        return self._env.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self._env.close()

    def _all_observations(self, observations: dict[str, Any]) -> tuple[NDArray[np.float32], ...]:
        """Return the observations of all agents, and keep their masks."""
        self.avail_actions = [
            observations[agent][MASK].tolist() if agent in observations else self._single.copy()
            for agent in self.config.agents
        ]
        return tuple(
            observations[agent]["observation"] if agent in observations else self._absent.copy()
            for agent in self.config.agents
        )

    def _last_info(self, *, limited: bool) -> dict[str, Any]:
        metrics = self._world.metrics()
        values = {name: float(metrics[name]) for name in list_metrics(self.config)}
        # EPyMARL adds up every info, so one NaN would be the mean of all episodes.
        return {name: value for name, value in values.items() if not math.isnan(value)} | {"episode_limit": limited}


class MaskedEnv:
    """The interface of EPyMARL's ``MultiAgentEnv``, with masks of the available actions and the true state.

    An action is available if it does not run into the grid's edge or a wall. An agent that has left or is parked, whose
    actions are ignored, has one available action, the last. The observation of one that has left before is zeros.

    Args:
        key: the map, as for `examples.named_worlds.name_world`; None for a world of the fields alone.
        time_limit: the world's `max_cycles`; None is what the map gives.
        seed: the seed of the first reset.
        common_reward: whether the reward is one number, the sum or the mean, or a list with one for each agent.
        reward_scalarisation: "sum" or "mean".
        **fields: fields of `GridConfig`, and ``render_mode``. ``pretrained_wrapper``, which EPyMARL's gymma.yaml has,
            must be None.

    Raises:
        TypeError: as `name_world`; or `common_reward` is neither True nor False.
        OSError: as `name_world`.
        ValueError: as `name_world`; an unknown `reward_scalarisation`; no time limit; or a `pretrained_wrapper`.

    >>> env = MaskedEnv(key="delivery-17x13-8", time_limit=64, common_reward=True, reward_scalarisation="sum", seed=3)
    >>> observations, info = env.reset()
    >>> env.get_env_info()["n_agents"], env.get_state().shape, env.get_avail_actions()[0]
    (8, (32,), [1, 0, 1, 0])
    >>> observations, reward, terminated, truncated, info = env.step([0] * 8)
    >>> reward, terminated, truncated
    (0.0, False, False)
    """

    def __init__(
        self,
        key: str | None = None,
        time_limit: int | None = None,
        seed: int | None = None,
        *,
        common_reward: bool = True,
        reward_scalarisation: str = "sum",
        **fields: Any,
    ) -> None:
        if fields.pop("pretrained_wrapper", None) is not None:
            raise ValueError("pretrained_wrapper is set, but no agents of multigrid come with EPyMARL; leave it null")
        if not isinstance(common_reward, bool):
            raise TypeError(f"common_reward is {shorten(common_reward)}; expected True or False")
        if reward_scalarisation not in ("sum", "mean"):
            raise ValueError(f"reward_scalarisation is {shorten(reward_scalarisation)}; expected 'sum' or 'mean'")
        if time_limit is not None:
            fields["max_cycles"] = time_limit
        self._env = TupleEnv(key, **fields)
        limit = self._env.config.max_cycles
        if limit is None:
            raise ValueError("the world has no max_cycles, but EPyMARL stores whole episodes; set time_limit")
        self.n_agents, self.episode_limit = self._env.n_agents, limit
        self._seed: int | None = None if seed is None else check_seed(seed)
        self._common_reward = common_reward
        self._divisor = self.n_agents if reward_scalarisation == "mean" else 1
        self._observations: list[NDArray[np.float32]] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[list[Any], dict[str, Any]]:
        """Begin an episode, and return the observations and an empty info.

        Raises:
            TypeError, ValueError: a bad seed or layout; the env is unchanged.
        """
        observations, info = self._env.reset(seed=self._seed if seed is None else seed, options=options)
        self._seed = None
        self._observations = list(observations)
        return self._observations, info

    def step(self, actions: Any) -> tuple[list[Any], float | list[float], bool, bool, dict[str, Any]]:
        """Play one step of integers (N,), which may be a tensor; return what ``gymma`` returns.

        Raises:
            TypeError, ValueError: a bad action, or not one for each agent; the env is unchanged.
            ResetNeeded: there was no reset yet, or the episode is over.
        """
        observations, rewards, terminated, truncated, info = self._env.step(
            [operator.index(action) for action in actions]
        )
        self._observations = list(observations)
        reward = sum(rewards) / self._divisor if self._common_reward else rewards
        return self._observations, reward, terminated, truncated, info

    def get_obs(self) -> list[NDArray[np.float32]]:
        """Return the observations of all agents, float32 (D,) each."""
        return self._observations

    def get_obs_agent(self, agent_id: int) -> NDArray[np.float32]:
        """Return the observation of an agent, float32 (D,).

        Raises:
            IndexError: there is no agent of this index.
        """
        return self._observations[agent_id]

    def get_obs_size(self) -> int:
        """Return D."""
        return int(self._env.observation_space[0].shape[0])  # type: ignore[index]

    def get_state(self) -> NDArray[np.float32]:
        """Return the true state, float32 (S,): the cells and targets of all agents, and of several maps the walls."""
        return self._env.state()

    def get_state_size(self) -> int:
        """Return S."""
        return int(self._env.state_space.shape[0])

    def get_avail_actions(self) -> list[list[int]]:
        """Return 1 for each available action of each agent, else 0: N lists of A."""
        return self._env.avail_actions

    def get_avail_agent_actions(self, agent_id: int) -> list[int]:
        """Return 1 for each available action of an agent, else 0.

        Raises:
            IndexError: there is no agent of this index.
        """
        return self._env.avail_actions[agent_id]

    def get_total_actions(self) -> int:
        """Return A, 4, or 5 with `allow_stay`."""
        return self._env.config.num_actions

    def get_env_info(self) -> dict[str, int]:
        """Return the sizes from which EPyMARL builds its buffers and networks."""
        return {
            "state_shape": self.get_state_size(),
            "obs_shape": self.get_obs_size(),
            "n_actions": self.get_total_actions(),
            "n_agents": self.n_agents,
            "episode_limit": self.episode_limit,
        }

    def get_stats(self) -> dict[str, Any]:
        """Return nothing: the metrics come with the info of the last step."""
        return {}

    def seed(self, seed: int | None = None) -> None:
        """Set the seed of the next reset; None continues the stream.

        Raises:
            TypeError, ValueError: `seed` is neither None nor an integer of at least 0.
        """
        self._seed = None if seed is None else check_seed(seed)

    def render(self) -> Any:
        """Return what `multigrid.MultiGridEnv.render` returns, which warns without a ``render_mode``."""
        return self._env.render()

    def save_replay(self) -> None:
        """Save nothing."""

    def close(self) -> None:
        """Close the window, if there is one."""
        self._env.close()
