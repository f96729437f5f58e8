"""An environment of several agents in the form of rware and lbforaging: Gymnasium's, with tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from multigrid._checks import shorten
from multigrid.actions import check_action
from multigrid.envs import spaces
from multigrid.envs._agent_dicts import pick_row
from multigrid.envs._env_base import HasShaping, one_at_a_time
from multigrid.envs._one_world import OneWorld
from multigrid.games._registry import find_config


class TupleEnv(HasShaping, OneWorld, gymnasium.Env[Any, Any]):
    """A registered game in the form of the packages rware and lbforaging.

    Observations and actions are tuples with one entry for each agent, rewards are a list, and the two flags are those
    of the episode. Infos are empty. As there, steps after the end go on. Where the number of agents is drawn, the
    others have observations of zeros, no reward, and actions that are ignored.

    >>> env = gymnasium.make("multigrid/Foraging-8x8-2p-2f-v3")
    >>> observations, info = env.reset(seed=1)
    >>> observations, rewards, terminated, truncated, info = env.step((1, 2))
    >>> len(observations), rewards, terminated
    (2, [0.0, 0.0], False)
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 5}

    def __init__(self, game_id: str, render_mode: str | None = None, **options: Any) -> None:
        config = find_config(game_id, **options)
        OneWorld.__init__(self, config, render_mode)
        if not (config.options or {}).get("fixed", True):
            self._worlds.max_cycles = None  # the game has its own limit, after which steps go on
        self.n_agents = config.num_agents
        self.observation_space = gymnasium.spaces.Tuple([spaces.observation_space(config)] * self.n_agents)
        self.action_space = gymnasium.spaces.Tuple([spaces.action_space(config)] * self.n_agents)

    def _bind_arrays(self) -> None:
        arrays = self._worlds.arrays
        self._actions, self._rewards = arrays.actions[0], arrays.rewards[0]
        self._terminated, self._truncated = arrays.terminated[0], arrays.truncated[0]
        self._observed = [part[0] for part in self._worlds.observation_arrays]
        self._form = spaces.find_form(self._worlds.config)

    def _observe(self) -> tuple[Any, ...]:
        arrays, present = [part.copy() for part in self._observed], self._worlds.arrays.num_agents[0]
        for array in arrays:
            array[present:] = 0
        if self._form is None and not self._worlds.config.observation_keys:
            return tuple(arrays[0])
        config = self._worlds.config
        named: Any = dict(zip(config.observation_keys if self._form is None else config.parts, arrays, strict=True))
        batch = named if self._form is None else self._form(named)
        return tuple(pick_row(batch, row) for row in range(self.n_agents))

    @one_at_a_time
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Begin an episode; None as the seed continues the random stream. Raises as `MultiGridEnv.reset`."""
        self._reset_world(seed, options)
        self._update_window()
        return self._observe(), {}

    @one_at_a_time
    def step(  # type: ignore[override]
        self, actions: Sequence[Any]
    ) -> tuple[tuple[Any, ...], list[float], bool, bool, dict[str, Any]]:
        """Play a step, given an action for each agent.

        Raises:
            TypeError, ValueError: a bad action, or another number of them; the env is unchanged.
            ResetNeeded: there was no reset yet.
        """
        self._check_started()
        if isinstance(actions, Mapping | set | str) or not getattr(actions, "ndim", hasattr(actions, "__len__")):
            expected = f"expected a tuple of {self.n_agents}, one for each agent"
            raise TypeError(f"actions is {shorten(actions)} of type {type(actions).__name__}; {expected}")
        if len(actions) != self.n_agents:
            raise ValueError(f"there are {len(actions)} actions; expected {self.n_agents}, one for each agent")
        limit, bits = self.config.num_actions, self.config.message_bits
        present = int(self._worlds.arrays.num_agents[0])
        checked = [check_action(one, limit, f"agent {i}", bits) for i, one in enumerate(actions[:present])]
        self._actions[:present] = checked
        self._worlds.step()
        self._update_window()
        rewards: list[float] = self._rewards.tolist()
        return self._observe(), rewards, bool(self._terminated.any()), bool(self._truncated.any()), {}

    @one_at_a_time
    def render(self) -> Any:
        """Return what `MultiGridEnv.render` returns."""
        return self._render_by_mode()
