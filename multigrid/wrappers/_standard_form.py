"""Convert observations and states to the form that frameworks for several agents expect.

An observation is ``{"observation": float32 (D,), "action_mask": int8 (A,)}``, as with ``flatten=True`` and
"action_mask" in the argument ``observe`` of `GridConfig`. The state is one float32 vector: x, y, target x, target y of
each agent in index order, scaled to 0 .. 1, or four times -1 for an agent that has left. With several maps, or maps
drawn at every reset, the state ends with the walls of the current map, (W, H) flattened: 1 for a wall, 0 for a free
cell. In a game, the numbers of its own arrays follow as they are.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from multigrid._checks import shorten
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.parts import MASK
from multigrid.wrappers._vector_reward import WorldsWrapper

_Floats: TypeAlias = NDArray[np.float32]
_Bools: TypeAlias = NDArray[np.bool_]

# Of coordinates, of walls, and of the numbers of a game's own arrays.
_BOUNDS = (-1, 0, -math.inf), (1, 1, math.inf)


def standard_config(config: GridConfig) -> GridConfig:
    """Return a config with flattened observations and an action mask, and otherwise equal fields.

    Raises:
        TypeError: `config` is not a GridConfig.
        ValueError: the grid is too large for flattened coordinates, or observations need too much memory.

    >>> standard_config(GridConfig(size=(5, 3), num_agents=2)).parts
    ('agent', 'target', 'others', 'action_mask')
    """
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is {shorten(config)}, of type {type(config).__name__}; expected a GridConfig")
    parts = config.parts if MASK in config.parts else (*config.parts, MASK)
    return dataclasses.replace(config, observe=parts, flatten=True)


class StandardParallel(BaseParallelWrapper[str, Any, Any]):
    """A ParallelEnv whose state is one float32 vector, as the module describes.

    The mask of an agent whose actions are ignored allows only the action with the highest index, as in
    `StandardVector`.

    Args:
        env: a `multigrid.parallel_env` of a `standard_config`; it may be wrapped.

    Raises:
        TypeError: `env` is not a ParallelEnv of multigrid.
        ValueError: its observations are not of the standard form.
        TypeError, ValueError, ResetNeeded: a method of the wrapped env raises it.

    >>> import multigrid
    >>> config = GridConfig(size=(5, 3), num_agents=2, observe=("offset",))
    >>> env = StandardParallel(multigrid.parallel_env(standard_config(config)))
    >>> observations, infos = env.reset(seed=0)
    >>> observations["agent_0"]
    {'observation': array([-0.5, -0.5], dtype=float32), 'action_mask': array([0, 1, 1, 1], dtype=int8)}
    >>> env.state()
    array([1.  , 0.5 , 0.5 , 0.  , 0.25, 0.  , 0.  , 0.  ], dtype=float32)
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        given: Any = env
        if not isinstance(given, ParallelEnv) or not isinstance(given.unwrapped, MultiGridEnv):
            came = f"env is {shorten(given)}, of type {type(given).__name__}"
            raise TypeError(f"{came}; expected what multigrid.parallel_env(...) returns")
        _check_form(given.unwrapped.config)
        super().__init__(env)
        self._world: MultiGridEnv[Any] = given.unwrapped
        self._state_space = _state_space(self._world.config)

    def step(self, actions: Any) -> tuple[Any, dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play one step, as `multigrid.MultiGridEnv.step`."""
        observations, *results = self.env.step(actions)
        for agent, acts in zip(self._world.possible_agents, self._world.acting.tolist(), strict=True):
            if not acts and agent in observations:
                _allow_only_last(observations[agent][MASK], ...)
        return observations, *results  # type: ignore[return-value]

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state`: float32 (S,)."""
        return self._state_space

    def state(self) -> _Floats:
        """Return the state: float32 (S,)."""
        return _vectors(self._world, self._world.state()[None]).ravel()

    def alive(self) -> NDArray[np.int8]:
        """Return 1 for each agent in the grid, and 0 for one that has left: int8 (N,)."""
        return _find_alive(self._world.state()[None], self._world.config.num_agents).ravel()


class StandardVector(WorldsWrapper):
    """A vector env with the state of each world as one float32 vector, as the module describes.

    Each agent of each world is a row: ``num_envs`` is num_worlds * N. The actions of an agent that has left, or has
    parked on its target, are ignored. The agent's mask allows only the action with the highest index, so that a masked
    policy adds no gradient and no entropy for it; that of an agent that has left does so in final observations, too.
    After an agent leaves, it observes zeros.

    Args:
        env: a `multigrid.vector_env` of a `standard_config`; it may be wrapped.

    Raises:
        TypeError: `env` is not a vector env of multigrid.
        ValueError: its observations are not of the standard form.
        TypeError, ValueError, ResetNeeded: a method of the wrapped env raises it; the worlds are unchanged.

    >>> import multigrid
    >>> config = GridConfig(size=(5, 3), num_agents=2, observe=("offset",))
    >>> envs = StandardVector(multigrid.vector_env(3, standard_config(config)))
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["observation"].shape, observations["action_mask"].shape, envs.state().shape
    ((6, 2), (6, 4), (3, 8))
    """

    def __init__(self, env: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        _check_form(self.config)
        self.single_state_space = _state_space(self.config)
        self.state_space = batch_space(self.single_state_space, self._worlds.num_worlds)
        self._agents_leave = self.config.agents_can_leave

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every world, or in those of a mask, as `multigrid.MultiGridVectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._mask_idle(observations), infos

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """Play one step of every world, as `multigrid.MultiGridVectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        observations = self._mask_idle(observations)
        if self._agents_leave and "final_info" in infos:
            left = ~infos["final_info"]["alive"] | terminations
            for row in np.flatnonzero(infos["_final_info"] & left):
                _allow_only_last(infos["final_obs"][row][MASK], ...)
        return observations, rewards, terminations, truncations, infos

    def _mask_idle(self, observations: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        if not observations[MASK].flags.writeable:  # an env with copy=False
            observations = observations | {MASK: observations[MASK].copy()}
        _allow_only_last(observations[MASK], ~self._worlds.acting.ravel())
        return observations

    def state(self) -> _Floats:
        """Return the state of each world: float32 (num_worlds, S)."""
        return _vectors(self._worlds, self._worlds.state())

    def team_rewards(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean reward of each world, which includes agents that have left, once for each agent.

        Learners with one value for the team need this mean. With ``reward="shared"`` and ``on_target="leave"``, the env
        averages only over the agents that had not left before the step. `rewards` is the array that `step` returned,
        float64 (num_envs,); the result is float64 (num_worlds, N).
        """
        given: Any = rewards
        if not isinstance(given, np.ndarray) or given.shape != (self.num_envs,) or given.dtype.kind not in "iuf":
            raise ValueError(f"rewards are {shorten(given)}; expected what step returned, float64 ({self.num_envs},)")
        means = rewards.reshape(self._worlds.num_worlds, -1).mean(axis=1, keepdims=True)
        return np.repeat(means, self.config.num_agents, axis=1)

    def alive(self) -> NDArray[np.int8]:
        """Return 1 for each agent in the grid, and 0 for one that has left: int8 (num_worlds, N).

        After the step in which an agent leaves, this is 0, but ``infos["alive"]`` is True, for it has played that step.
        """
        return _find_alive(self._worlds.state(), self.config.num_agents)


def _allow_only_last(masks: NDArray[np.int8], rows: Any) -> None:
    """Let the masks of some rows, or with ``...`` all, allow only the action with the highest index."""
    masks[rows] = 0
    masks[rows, -1] = 1


def _check_form(config: GridConfig) -> None:
    if config.observation_keys != ("observation", MASK):
        came = f"the env has observe={config.parts} and flatten={config.flatten}"
        raise ValueError(f"{came}; expected the config that standard_config(config) returns")
    if config.message_bits:
        raise ValueError(f"an action has {config.message_bits} bits of a message; expected none: leave out the bits")


def _has_maps(config: GridConfig) -> bool:
    """Return whether episodes have different maps."""
    return config.num_maps > 1 or config.draws_maps


def _state_space(config: GridConfig) -> spaces.Box:
    coordinates, cells = 4 * config.num_agents, config.width * config.height * _has_maps(config)
    own = 0 if config.game is None else math.prod(MultiGridEnv(config).state_space.shape) - coordinates
    low, high = (np.repeat(np.array(bounds, np.float32), [coordinates, cells, own]) for bounds in _BOUNDS)
    return spaces.Box(low, high, dtype=np.float32)


def _vectors(env: MultiGridEnv[Any] | MultiGridVectorEnv, states: NDArray[Any]) -> _Floats:
    """Return float32 (E, S) from the global states: int64 (E, N, 4), or in a game with own arrays float64 (E, D)."""
    config, states = env.config, states.reshape(len(states), -1)
    last = np.maximum(np.tile([config.width, config.height], 2 * config.num_agents) - 1, 1)
    cells, own = states[:, : len(last)], states[:, len(last) :]
    maps = [env.map_walls.reshape(len(states), -1)] if _has_maps(config) else []
    return np.concatenate([np.where(cells < 0, -1, cells / last), *maps, own], axis=1, dtype=np.float32)


def _find_alive(states: NDArray[Any], num_agents: int) -> NDArray[np.int8]:
    """Return int8 (E, N), 1 for each agent in the grid, from the global states."""
    is_there: NDArray[np.bool_] = states.reshape(len(states), -1)[:, : 4 * num_agents : 4] >= 0
    return is_there.astype(np.int8)
