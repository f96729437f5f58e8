"""The native vector env as HARL's vector environment."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid._checks import check_name, check_seed, shorten
from multigrid.config import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.training import list_metrics
from multigrid.parts import MASK
from multigrid.wrappers import StandardVector

__all__ = ["MultiGridShareVecEnv"]

_ORIGINALS = ("original_obs", "original_state", "original_avail_actions")

_Views = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class MultiGridShareVecEnv:
    """The interface of HARL's ``ShareVecEnv``, with E worlds of N agents stepped by one call.

    Args:
        config: the world, a `multigrid.wrappers.standard_config`.
        num_worlds: E.
        seed: world i is seeded ``seed + i`` at the first reset.
        state_type: "EP", for all agents the state and the mean of their rewards; or "FP", for each agent the state with
            its observation, and its own reward.
        is_evaluation: whether each reset begins the same episodes, of which only the first of each world is reported:
            nobody is done in a later one. `results` has the metrics of the first ones, (E,) each.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> from examples.named_worlds import name_world
    >>> config = name_world("delivery-17x13-8")
    >>> envs = MultiGridShareVecEnv(config, 4, seed=0)
    >>> observations, states, masks = envs.reset()
    >>> observations.shape, states.shape, masks.shape
    ((4, 8, 95), (4, 8, 32), (4, 8, 4))
    >>> observations, states, rewards, dones, infos, masks = envs.step(np.zeros((4, 8, 1), np.int64))
    >>> rewards.shape, dones.shape, infos[3][7]
    ((4, 8, 1), (4, 8), {})
    """

    metadata: ClassVar[dict[str, Any]] = {"render.modes": []}

    def __init__(
        self, config: GridConfig, num_worlds: int, *, seed: int, state_type: str = "EP", is_evaluation: bool = False
    ) -> None:
        self._is_common = check_name("state_type", state_type, ("EP", "FP")) == "EP"
        self._worlds: MultiGridVectorEnv = MultiGridVectorEnv(config, num_worlds, autoreset_mode="Disabled")
        self._envs = StandardVector(self._worlds)
        self.num_envs, self.n_agents = self._worlds.num_worlds, config.num_agents
        one: Any = self._envs.single_observation_space
        state = self._envs.single_state_space
        if not self._is_common:
            own = one["observation"]
            low, high = np.concatenate([state.low, own.low]), np.concatenate([state.high, own.high])
            state = spaces.Box(low, high, dtype=np.float32)
        self.observation_space = [one["observation"]] * self.n_agents
        self.share_observation_space = [state] * self.n_agents
        # HARL seeds each agent's own space.
        self.action_space = [copy.deepcopy(self._envs.single_action_space) for _ in range(self.n_agents)]
        self._metric_names = list_metrics(config)
        self.results: dict[str, NDArray[np.float64]] = {}
        self._first_seed = check_seed(seed)
        self._seed: int | None = self._first_seed
        self._is_evaluation = bool(is_evaluation)
        self._is_reported = np.zeros(self.num_envs, dtype=bool)
        self._alive = np.ones((self.num_envs, self.n_agents), dtype=bool)
        self._actions: Any = None

    def reset(self) -> _Views:
        """Begin an episode in every world.

        Returns:
            Observations float32 (E, N, D), states float32 (E, N, S), and masks of the available actions int8 (E, N, A).
        """
        observations, _ = self._envs.reset(seed=self._first_seed if self._is_evaluation else self._seed)
        self._seed = None
        self._is_reported[:] = False
        self.results = {name: np.full(self.num_envs, math.nan) for name in self._metric_names}
        return self._view(observations)

    def step_async(self, actions: Any) -> None:
        """Store the actions of the next step, integers (E, N, 1)."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, ...]:
        """Play the step, and reset the worlds that it ends.

        Returns:
            As `reset`: the observations, states, rewards float32 (E, N, 1), dones bool (E, N), infos, and masks. The
            infos are a list for each world with a dict for each agent: at the end of an episode its metrics and
            ``bad_transition``, whether `max_cycles` has ended it, and for the first agent also the last
            ``original_obs``, ``original_state`` and ``original_avail_actions``.

        Raises:
            TypeError, ValueError: a bad action; no world is stepped then.
        """
        shape = (self.num_envs, self.n_agents)
        had_left = ~self._alive
        observations, rows, terminated, _, vector_infos = self._envs.step(np.asarray(self._actions).reshape(-1))
        shares = self._envs.team_rewards(rows) if self._is_common else rows.reshape(shape)
        rewards = shares[..., None].astype(np.float32)
        views = self._view(observations)
        over: NDArray[np.bool_] = self._worlds.episode_over
        dones = ~self._worlds.acting | over[:, None]
        infos: list[Any] = [[{} for _ in range(self.n_agents)] for _ in range(self.num_envs)]
        if over.any():
            limited = ~np.all(terminated.reshape(shape) | had_left, axis=1)
            for world in np.flatnonzero(over).tolist():
                last = {name: view[world] for name, view in zip(_ORIGINALS, views, strict=True)}
                info = {**self._metrics(vector_infos, world), "bad_transition": bool(limited[world])}
                infos[world] = [{**info, **last}, *(dict(info) for _ in range(1, self.n_agents))]
            observations, _ = self._envs.reset(options={"reset_mask": np.repeat(over, self.n_agents)})
            views = self._view(observations)
        if self._is_evaluation:
            dones[self._is_reported] = False
            self._report(np.flatnonzero(over & ~self._is_reported), infos)
        return views[0], views[1], rewards, dones, infos, views[2]

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Play one step of integers (E, N, 1), as `step_wait`."""
        self.step_async(actions)
        return self.step_wait()

    def render(self, mode: str = "human") -> None:
        """Refuse to render.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"render({shorten(mode)}): the worlds of a training are not drawn")

    def close(self) -> None:
        """Close the worlds."""
        self._envs.close()

    def _view(self, observations: dict[str, NDArray[Any]]) -> _Views:
        """Return what the agents and the critic see, and keep who is in the game."""
        shape = (self.num_envs, self.n_agents, -1)
        self._alive = self._envs.alive().astype(bool)
        own = observations["observation"].reshape(shape)
        states = np.repeat(self._envs.state()[:, None], self.n_agents, axis=1)
        if not self._is_common:
            states = np.concatenate([states, own], axis=2)
        return own, states, observations[MASK].reshape(shape)

    def _metrics(self, vector_infos: dict[str, Any], world: int) -> dict[str, float]:
        """Return the metrics of a world's episode, without those that are not defined."""
        values = {name: float(vector_infos[name][world * self.n_agents]) for name in self._metric_names}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def _report(self, worlds: NDArray[np.int64], infos: list[list[dict[str, Any]]]) -> None:
        """Store the metrics of the worlds' first episodes."""
        self._is_reported[worlds] = True
        for world in worlds:
            for name in self.results:
                self.results[name][world] = infos[world][0].get(name, math.nan)
