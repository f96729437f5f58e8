"""Restrict an env to a subset of its actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from multigrid._checks import shorten


class DiscreteActions(gymnasium.ActionWrapper[Any, Any, Any], RecordConstructorArgs):
    """Restrict an env to a list of its actions; an action is an index of the list.

    Args:
        env: any env.
        disc_to_cont: the env's action for each index.

    Raises:
        TypeError: `disc_to_cont` is not a list of actions.
        ValueError: the list is empty, or later an index is not in the action space.

    >>> from multigrid import Action, GridWorldEnv
    >>> env = DiscreteActions(GridWorldEnv(), [Action.UP, Action.RIGHT])
    >>> env.action_space, env.action(0)
    (Discrete(2), <Action.UP: 1>)
    """

    def __init__(self, env: gymnasium.Env[Any, Any], disc_to_cont: Sequence[Any]) -> None:
        RecordConstructorArgs.__init__(self, disc_to_cont=disc_to_cont)
        gymnasium.ActionWrapper.__init__(self, env)
        if not isinstance(disc_to_cont, Sequence | np.ndarray):
            raise TypeError(f"disc_to_cont is {shorten(disc_to_cont)}; expected a list of the env's actions")
        if len(disc_to_cont) == 0:
            raise ValueError("disc_to_cont is empty; expected at least one action of the env")
        self.disc_to_cont = disc_to_cont
        self.action_space = Discrete(len(disc_to_cont))

    def action(self, action: Any) -> Any:
        """Return the env's action for an index."""
        if not self.action_space.contains(action):
            raise ValueError(f"action is {shorten(action)}; expected an integer from 0 to {len(self.disc_to_cont) - 1}")
        return self.disc_to_cont[action]
