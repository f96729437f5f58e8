"""Three scripted cooks to play with: one who brings onions, one who serves, and one who does all by itself.

They are the heuristic teammates of JaxAHT (LARG/jax-aht), written anew. Run: ``python -m examples.overcooked_partners``
prints what pairs of them earn.

- *onion* brings onions to pots, and nothing else.
- *plate* takes plates, serves soups that are ready, and nothing else.
- *independent* does both: brings onions while a pot wants some, else serves.

With probability `spare`, what a cook takes goes to a counter instead. A cook goes to the nearest place by a shortest
path, as if it were alone. If something was in its way, or there is nothing to do, every other move is random, so that
nobody is blocked for ever. The kitchens are those of ``dynamics="old"``, where a full pot cooks by itself, and soups of
onions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import multigrid
from multigrid import games
from multigrid.games.overcooked import LAYOUTS

NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(6)
_AHEAD = np.array([[0, -1], [0, 1], [1, 0], [-1, 0]])
_EMPTY, _ONION, _DISH, _SOUP = 0, 1, 3, 16
_FULL = _SOUP + 4 * 3
_READY = 21


class Cook:
    """A scripted cook, as a policy of one world or, by `act`, of many; it plays any of the agents.

    Args:
        task: what it does.
        spare: the probability that something goes to a counter.
        seed: of its random choices.
    """

    def __init__(self, task: Literal["onion", "plate", "independent"], spare: float = 0.0, seed: int = 0) -> None:
        self.task, self.spare, self.random = task, spare, np.random.default_rng(seed)
        self._kitchen: tuple[Any, Kitchen] | None = None
        self._spares, self._before = np.zeros(0, bool), np.zeros((0, 2), np.int64)

    def __call__(self, env: Any, observations: Mapping[str, Any]) -> dict[str, int]:
        """Return an action for each agent."""
        state = {
            name: np.asarray(env.get_state()[name])[None]
            for name in ("location", "direction", "held", "thing", "cooking")
        }
        del observations
        return dict(zip(env.possible_agents, self._choose(env.config, state).tolist(), strict=True))

    def act(self, vector_env: Any, observations: Any) -> NDArray[np.int64]:
        """Return the actions of all agents of all worlds."""
        del observations
        return self._choose(vector_env.config, vector_env.get_state())

    def _choose(self, config: Any, state: Any) -> NDArray[np.int64]:
        if self._kitchen is None or self._kitchen[0] is not config:
            self._kitchen = config, Kitchen(config.options["layout"])
        kitchen = self._kitchen[1]
        cells = state["location"].reshape(-1, 2)
        held, direction = state["held"].ravel(), state["direction"].ravel()
        if len(cells) != len(self._before):
            self._spares, self._before = np.zeros(len(cells), bool), np.full_like(cells, -1)
        # While hands are empty, it is open where the next thing goes.
        self._spares = np.where(held == _EMPTY, self.random.random(len(cells)) < self.spare, self._spares)
        wanted = self._want(kitchen, state, held, np.repeat(np.arange(len(state["held"])), state["held"].shape[1]))
        actions = kitchen.lead(wanted, cells, direction)
        moves = actions < STAY
        wanders = (cells == self._before).all(axis=1) | (actions == STAY)
        self._before = np.where(moves[:, None], cells, -1)
        wanders &= (actions != INTERACT) & (self.random.random(len(cells)) < 0.5)
        return np.where(wanders, self.random.integers(STAY, size=len(cells)), actions)

    def _want(self, kitchen: Kitchen, state: Any, held: NDArray[Any], worlds: NDArray[Any]) -> NDArray[np.bool_]:
        """Return at which places each cook would like to interact, bool (R, G)."""
        thing = state["thing"][worlds][:, kitchen.places[:, 0], kitchen.places[:, 1]].astype(np.int64)
        cooking = state["cooking"][worlds]
        is_pot, is_counter = kitchen.kind == "P", kitchen.kind == "X"
        cooked = np.where(is_pot, cooking[:, np.maximum(kitchen.number, 0)], 0)
        open_pot = is_pot & (thing < _FULL) & (cooked == 0)
        ready = is_pot & (cooked >= _READY)
        free = is_counter & (thing == _EMPTY)
        brings = np.full(len(held), self.task != "plate")
        serves = np.full(len(held), self.task != "onion")
        if self.task == "independent":
            brings = open_pot.any(axis=1) & ~ready.any(axis=1)
            serves = ~brings
        # Who does both puts down what another cook has made useless, so that its hands are free for the other task.
        useless = np.where(held == _ONION, ~open_pot.any(axis=1), (cooked == 0).all(axis=1)) & (
            self.task == "independent"
        )
        by_hand = [
            ((held == _EMPTY) & brings, (kitchen.kind == "O") | (is_counter & (thing == _ONION))),
            ((held == _EMPTY) & serves, (kitchen.kind == "D") | (is_counter & (thing == _DISH))),
            ((held == _ONION) & ~self._spares, open_pot),
            ((held == _DISH) & ~self._spares, ready),
            (np.isin(held, [_ONION, _DISH]) & (self._spares | useless), free),
            (held >= _SOUP, kitchen.kind == "S"),
        ]
        wanted = np.zeros(thing.shape, dtype=bool)
        for whose, where in by_hand:
            wanted |= whose[:, None] & where
        return wanted


class Kitchen:
    """The places of a layout where cooks interact, and shortest ways to them."""

    def __init__(self, layout: str) -> None:
        rows = [row.strip() for row in str(LAYOUTS[layout]["grid"]).strip("\n").split("\n")]
        grid = np.array([list(row) for row in rows]).T
        floor = ~np.isin(grid, list("XPOTDS"))
        self.places = np.argwhere(~floor.T)[:, ::-1]  # (G, 2), in reading order
        self.kind = grid[self.places[:, 0], self.places[:, 1]]
        self.number = np.where(self.kind == "P", np.cumsum(self.kind == "P") - 1, -1)  # of pots
        self.distance = np.full((len(self.places), *grid.shape), np.inf)  # of cells from where a place is faced
        self.step = np.full((len(self.places), *grid.shape), STAY)  # the first action on the way
        for g, place in enumerate(self.places):
            reached = []
            for move, ahead in enumerate(_AHEAD):
                cell = place - ahead
                if (cell >= 0).all() and (cell < grid.shape).all() and floor[tuple(cell)]:
                    self.distance[g][tuple(cell)], self.step[g][tuple(cell)] = 0, move
                    reached.append(cell)
            for cell in reached:
                for move, ahead in enumerate(_AHEAD):
                    before = tuple(cell - ahead)
                    if floor[before] and np.isinf(self.distance[g][before]):
                        self.distance[g][before], self.step[g][before] = self.distance[g][tuple(cell)] + 1, move
                        reached.append(np.array(before))

    def lead(self, wanted: NDArray[np.bool_], cells: NDArray[Any], direction: NDArray[Any]) -> NDArray[np.int64]:
        """Return the actions of cooks on their way to the nearest places that they want."""
        x, y = cells.T
        distance = np.where(wanted, self.distance[:, x, y].T, np.inf)
        nearest = distance.argmin(axis=1)
        rows = np.arange(len(cells))
        step = self.step[nearest, x, y]
        faces = (distance[rows, nearest] == 0) & (step == direction)
        return np.where(np.isinf(distance[rows, nearest]), STAY, np.where(faces, INTERACT, step))


def main() -> None:
    """Print what each cook earns with each other one in cramped room."""
    cooks = {name: Cook(name, seed=k) for k, name in enumerate(("onion", "plate", "independent"))}  # type: ignore[arg-type]
    config = games.config("Overcooked-cramped_room-v0", dynamics="old", observe="features")
    print(multigrid.cross_play(config, cooks, seeds=range(50), metric="score"))


if __name__ == "__main__":
    main()
