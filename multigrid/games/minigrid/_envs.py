"""Minigrid with one agent, as Gymnasium makes it: one environment, or many worlds."""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid._checks import shorten
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.games._one_agent import OneAgentEnv
from multigrid.games._registry import find_config, find_keywords
from multigrid.games.minigrid import Minigrid
from multigrid.games.minigrid._options import list_missions

_VECTOR_OPTIONS = ("autoreset_mode", "render_mode", "copy", "num_threads", "metrics")


class MinigridEnv(OneAgentEnv):
    """A task of Minigrid in the form of the package minigrid: missions in words, ints as rewards of 0 and -1, no infos.

    >>> import gymnasium
    >>> env = gymnasium.make("multigrid/MiniGrid-Empty-5x5-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation["image"].shape, observation["direction"], observation["mission"]
    ((7, 7, 3), np.int64(0), 'get to the green goal square')
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 10}

    def __init__(self, game_id: str, render_mode: str | None = None, **options: Any) -> None:
        game, keywords = find_keywords(game_id, {"mission": "text", **options})
        super().__init__(game, render_mode, **keywords)

    @property
    def agent_pos(self) -> tuple[int, int]:
        """The agent's cell, (x, y)."""
        x, y = self.get_state()["location"][0].tolist()
        return x, y

    @property
    def agent_dir(self) -> int:
        """The agent's direction: 0 right, 1 down, 2 left, 3 up."""
        own: Any = self.get_state()
        return int(own["direction"][0])

    @property
    def step_count(self) -> int:
        """The number of steps of this episode."""
        return int(self.get_state()["steps"])

    @property
    def max_steps(self) -> int | None:
        """The limit of steps; None for none."""
        return self._worlds.max_cycles

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        return super()._observe()[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a step, as `OneAgentEnv.step`."""
        observation, reward, *rest = super().step(action)
        return observation, int(reward) if reward.is_integer() and reward < 1 else reward, *rest


class MinigridVectorEnv(MultiGridVectorEnv[Any]):
    """Many worlds of a task of Minigrid with one agent each; missions are numbers unless ``mission="text"``.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("multigrid/MiniGrid-Fetch-5x5-N2-v0", num_envs=3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["mission"].tolist()
    [11, 19, 38]
    """

    def __init__(self, num_envs: int = 1, *, game_id: str, **options: Any) -> None:
        own = {name: options.pop(name) for name in _VECTOR_OPTIONS if name in options}
        super().__init__(find_config(game_id, **{"num_agents": 1, **options}), num_envs, **own)


def missions(game_id: str, numbers: Any, **options: Any) -> list[str]:
    """Return the missions of Minigrid in words, given their numbers in observations, an array of integers of any shape.

    Raises ValueError for another game, and for a number that is no mission of this one.

    >>> missions("MiniGrid-Fetch-5x5-N2-v0", [51, 2])
    ['go get a yellow ball', 'fetch a red key']
    """
    config = find_config(game_id, **options)
    if config.game is not Minigrid:
        raise ValueError(f"the game is {shorten(game_id)}; expected an id of Minigrid, for others have no missions")
    known, found = list_missions(config.game_options), np.asarray(numbers).ravel()
    if found.dtype.kind not in "iu" or ((found < 0) | (found >= len(known))).any():
        raise ValueError(f"numbers is {shorten(numbers)}; expected integers from 0 to {len(known) - 1}")
    return [known[number] for number in found.tolist()]
