"""A few chosen actions instead of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from multigrid._checks import shown

__all__ = ["DiscreteActions"]


class DiscreteActions(gymnasium.ActionWrapper[Any, Any, Any], RecordConstructorArgs):
    """Restrict an env to a list of its actions, chosen by their position in the list.

    Args:
        env: any env.
        disc_to_cont: the actions of the env, by the number that is to stand for each.

    Raises:
        ValueError: the list is empty.

    >>> from multigrid import Action, GridWorldEnv
    >>> env = DiscreteActions(GridWorldEnv(), [Action.UP, Action.RIGHT])
    >>> env.action_space, env.action(0)
    (Discrete(2), <Action.UP: 1>)
    """

    def __init__(self, env: gymnasium.Env[Any, Any], disc_to_cont: Sequence[Any]) -> None:
        RecordConstructorArgs.__init__(self, disc_to_cont=disc_to_cont)
        gymnasium.ActionWrapper.__init__(self, env)
        if len(disc_to_cont) == 0:
            raise ValueError("disc_to_cont is empty; expected at least one action of the env")
        self.disc_to_cont = disc_to_cont
        self.action_space = Discrete(len(disc_to_cont))

    def action(self, action: Any) -> Any:
        """Return the env's action that a number stands for.

        Raises:
            ValueError: the number is not in the action space.
        """
        if not self.action_space.contains(action):
            raise ValueError(f"action is {shown(action)}; expected an integer from 0 to {len(self.disc_to_cont) - 1}")
        return self.disc_to_cont[action]
