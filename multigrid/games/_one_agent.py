"""A game of one agent, as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium

from multigrid.actions import check_action
from multigrid.envs import spaces
from multigrid.envs._agent_dicts import infos_by_agent, observations_by_agent, pick_row
from multigrid.envs._env_base import HasShaping, one_at_a_time
from multigrid.envs._one_world import OneWorld
from multigrid.game import Game
from multigrid.games._registry import load_game, make_config

_AGENT = "agent_0"


class OneAgentEnv(HasShaping, OneWorld, gymnasium.Env[Any, Any]):
    """A world of one agent that plays a game: `multigrid.MultiGridEnv` without the dicts of agents.

    `game` is a class, or its name, as `load_game` takes it; `options` are fields of `GridConfig` and the game's.
    Steps after the end go on. Raises TypeError or ValueError as `GridConfig`, and ValueError for several agents.

    >>> env = OneAgentEnv(Game, size=(4, 3))
    >>> observation, info = env.reset(seed=0)
    >>> observation["agent"].tolist(), info["distance"]
    ([3, 1], 2.0)
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 4}
    _np_random: Any = OneWorld.np_random  # which Gymnasium's checks read

    def __init__(self, game: type[Game] | str, render_mode: str | None = None, **options: Any) -> None:
        config = make_config(load_game(game) if isinstance(game, str) else game, {"num_agents": 1, **options})
        if config.num_agents != 1:
            raise ValueError(f"num_agents is {config.num_agents}; expected 1, or multigrid.parallel_env for several")
        OneWorld.__init__(self, config, render_mode)
        self.observation_space, self.action_space = spaces.observation_space(config), spaces.action_space(config)
        self._keys, self._num_actions, self._bits = config.observation_keys, config.num_actions, config.message_bits

    def _bind_arrays(self) -> None:
        arrays = self._worlds.arrays
        self._actions, self._ends = arrays.actions[0], (arrays.rewards[0], arrays.terminated[0], arrays.truncated[0])
        figures = arrays.distances[0], arrays.outcomes[0], arrays.arrived[0]
        self._figures: Any = figures if self.config.has_targets else figures[1:2]
        self._own_infos = {name: array[0] for name, array in self._worlds.own_infos.items()}
        self._observed = [part[0] for part in self._worlds.observation_arrays]
        self._form = spaces.find_form(self.config)

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        info: Any = infos_by_agent([_AGENT], self._figures, None, self._own_infos)[_AGENT]
        if self._form is None:
            return observations_by_agent([_AGENT], self._keys, self._observed)[_AGENT], info
        copies = (part.copy() for part in self._observed)
        return pick_row(self._form(dict(zip(self.config.parts, copies, strict=True))), 0), info

    @one_at_a_time
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, as `multigrid.MultiGridEnv.reset`; return the observation and the info."""
        self._reset_world(seed, options)
        self._update_window()
        return self._observe()

    @one_at_a_time
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a step; return observation, reward, terminated, truncated and info.

        Raises:
            TypeError, ValueError: a bad action; the env is unchanged.
            ResetNeeded: there was no reset yet.
        """
        self._check_started()
        is_plain = type(action) is int and 0 <= action < self._num_actions
        self._actions[0] = action if is_plain else check_action(action, self._num_actions, _AGENT, self._bits)
        self._worlds.step()
        self._update_window()
        reward, terminated, truncated = self._ends
        observation, info = self._observe()
        return observation, reward.item(), terminated.item(), truncated.item(), info

    @one_at_a_time
    def render(self) -> Any:
        """Return what `multigrid.MultiGridEnv.render` returns."""
        return self._render_by_mode()
