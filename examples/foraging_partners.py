"""Three scripted foragers to play with: one with a list, one who is greedy, and one who feels entitled.

They are heuristic teammates as those of JaxAHT (LARG/jax-aht) for its foraging, written anew for this game. Run:
``python -m examples.foraging_partners`` prints what pairs of them collect.

- *sequential* goes for the first food of a fixed order: by rows, by columns, or either reversed.
- *greedy* goes for the food that is nearest to itself, to its teammate, or to both together.
- *entitled* waits until its teammate stands above or below the food that is nearest to the teammate, and then comes.

A forager loads when it stands beside its food. Else it comes nearer, around foods, and every fifth move is random, so
that nobody is blocked for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import multigrid
from multigrid import games

NONE, NORTH, SOUTH, WEST, EAST, LOAD = range(6)
_AHEAD = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])  # of rows and columns
_ORDERS = {"rows": (0, 1), "columns": (1, 0), "rows reversed": (0, 1), "columns reversed": (1, 0)}
_FAR = 10_000


class Forager:
    """A scripted forager, as a policy of one world or, by `act`, of many; it plays any of the agents.

    Args:
        task: an order, "rows", "columns", "rows reversed" or "columns reversed"; whose nearest food it goes for,
            "self", "teammate" or "both"; or "entitled".
        seed: of its random moves.
    """

    def __init__(self, task: str, seed: int = 0) -> None:
        self.task, self.random = task, np.random.default_rng(seed)

    def __call__(self, env: Any, observations: Mapping[str, Any]) -> dict[str, int]:
        """Return an action for each agent."""
        del observations
        state = env.get_state()
        actions = self._choose(
            env.config, {name: np.asarray(state[name])[None] for name in ("location", "food", "num_food")}
        )
        return dict(zip(env.possible_agents, actions.tolist(), strict=True))

    def act(self, vector_env: Any, observations: Any) -> NDArray[np.int64]:
        """Return the actions of all agents of all worlds."""
        del observations
        return self._choose(vector_env.config, vector_env.get_state())

    def _choose(self, config: Any, state: Any) -> NDArray[np.int64]:
        own = state["location"][..., ::-1].astype(np.int64)  # (E, N, 2), rows and columns
        foods = state["food"][:, None, :, :2]
        is_there = np.arange(foods.shape[2]) < state["num_food"][:, None, None]
        others = own[:, ::-1] if own.shape[1] == 2 else np.roll(own, 1, axis=1)
        mine, theirs = (np.abs(foods - cells[:, :, None]).sum(axis=3) for cells in (own, others))
        score = np.where(is_there, self._rate(foods, mine, theirs), np.inf)
        target = score.argmin(axis=2)
        goal = np.take_along_axis(foods, target[..., None, None], axis=2)[:, :, 0]
        goal = np.where(np.isinf(score.min(axis=2))[..., None], own, goal)
        actions = self._approach(config, own, goal, foods, is_there)
        if self.task == "entitled":
            offset = others - goal
            stands = (offset[..., 1] == 0) & (np.abs(offset[..., 0]) == 1)
            actions = np.where(stands, actions, NONE)
        wanders = (actions != LOAD) & (actions != NONE) & (self.random.random(actions.shape) < 0.2)
        return np.where(wanders, self.random.integers(NORTH, LOAD, actions.shape), actions).ravel()

    def _rate(self, foods: Any, mine: Any, theirs: Any) -> Any:
        """Return what the wanted food has least of, (E, N, F)."""
        if self.task in _ORDERS:
            major, minor = _ORDERS[self.task]
            order = foods[..., major] * _FAR + foods[..., minor]
            return np.broadcast_to(-order if "reversed" in self.task else order, mine.shape)
        return {"self": mine, "teammate": theirs, "both": mine + theirs, "entitled": theirs}[self.task]

    def _approach(self, config: Any, own: Any, goal: Any, foods: Any, is_there: Any) -> NDArray[np.int64]:
        """Return *load* beside the goal, and else a move that leads nearer to it and not into a food."""
        ahead = own[:, :, None] + _AHEAD  # (E, N, 4, 2)
        distance = np.abs(ahead - goal[:, :, None]).sum(axis=3).astype(float)
        in_food = ((ahead[:, :, :, None] == foods[:, :, None]).all(axis=4) & is_there[:, :, None]).any(axis=3)
        outside = (ahead < 0).any(axis=3) | (ahead >= [config.height, config.width]).any(axis=3)
        cost = np.where(in_food | outside, np.inf, distance + self.random.random(distance.shape) / 2)
        move = NORTH + cost.argmin(axis=2)
        away = np.abs(own - goal).sum(axis=2)
        return np.where(away == 1, LOAD, np.where(away == 0, NONE, move))


def main() -> None:
    """Print what each forager collects with each other one."""
    tasks = ("rows", "columns reversed", "self", "teammate", "both", "entitled")
    foragers = {task: Forager(task, seed=k) for k, task in enumerate(tasks)}
    config = games.config("Foraging-8x8-2p-2f-coop-v3")
    print(multigrid.cross_play(config, foragers, seeds=range(50)))


if __name__ == "__main__":
    main()
