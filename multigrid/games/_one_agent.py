"""A game of one agent, as a Gymnasium environment."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.game import Game
from multigrid.games._registry import load_game, make_config
from multigrid.maps._levels import Level


class OneAgentEnv(gymnasium.Env[Any, Any]):
    """A world of one agent that plays a game: `MultiGridEnv` without the dicts of agents.

    `game` is a class, or its name, as `load_game` takes it; `options` are fields of `GridConfig` and the game's.
    Raises TypeError or ValueError as `GridConfig`, and ValueError for several agents.

    >>> env = OneAgentEnv(Game, size=(4, 3))
    >>> observation, info = env.reset(seed=0)
    >>> observation["agent"].tolist(), info["distance"]
    ([3, 1], 2.0)
    """

    metadata = copy.deepcopy(MultiGridEnv.metadata)

    def __init__(self, game: type[Game] | str, render_mode: str | None = None, **options: Any) -> None:
        config = make_config(load_game(game) if isinstance(game, str) else game, {"num_agents": 1, **options})
        if config.num_agents != 1:
            raise ValueError(f"num_agents is {config.num_agents}; expected 1, or multigrid.parallel_env for several")
        self._env: MultiGridEnv[Any] = MultiGridEnv(config, render_mode)
        self._agent = config.agents[0]
        self.render_mode = render_mode
        self.observation_space = self._env.observation_space(self._agent)
        self.action_space = self._env.action_space(self._agent)

    @property
    def config(self) -> GridConfig:
        """The configuration."""
        return self._env.config

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the world, as that of `MultiGridEnv`."""
        return self._env.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._env.np_random = value

    # What Gymnasium's checks read.
    _np_random = np_random

    @property
    def np_random_seed(self) -> int:
        """The seed, or -1 if it is not known."""
        return self._env.np_random_seed

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, as `MultiGridEnv.reset`; return the observation and the info."""
        observations, infos = self._env.reset(seed=seed, options=options)
        return observations[self._agent], dict(infos[self._agent])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a step, as `MultiGridEnv.step`; return observation, reward, terminated, truncated and info."""
        observations, rewards, terminated, truncated, infos = self._env.step({self._agent: action})
        agent = self._agent
        return observations[agent], rewards[agent], terminated[agent], truncated[agent], dict(infos[agent])

    def render(self) -> Any:
        """Return what `MultiGridEnv.render` returns."""
        return self._env.render()

    def close(self) -> None:
        """Close the window."""
        self._env.close()

    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the metrics of the episode so far, as `MultiGridEnv.metrics`."""
        return self._env.metrics(as_lists=as_lists)

    def get_level(self) -> Level:
        """Return what the episode began with, as `MultiGridEnv.get_level`."""
        return self._env.get_level()

    def get_state(self) -> Any:
        """Return the whole state, as `MultiGridEnv.get_state`."""
        return self._env.get_state()

    def set_state(self, state: Any) -> None:
        """Set the whole state, as `MultiGridEnv.set_state`."""
        self._env.set_state(state)
