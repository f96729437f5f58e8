"""The potential of a kitchen, as overcooked_ai's `potential_function`: an estimate of the value of a state.

Each player is taken to go on alone, greedily, and what it will get is discounted by gamma for each step until then. The
potential is the sum of

- the value of making the best soup again and again, for ever;
- for each player with a soup, its value, discounted by the steps to a place that serves;
- for each soup that cooks or is ready, its value, discounted by what it still cooks, or by the steps of a player with a
  dish to its pot if these are more, and by 10 steps for the delivery;
- for each other soup in a pot, from the best to the worst, the value of the best soup that can become of it, discounted
  by its cook time, by 10 steps for the delivery, and by the steps of the nearest players with what it lacks or, if it
  lacks nothing, of the nearest player with empty hands;
- for each onion or tomato that is then left in a hand, its value, discounted by the steps to an empty pot and by 20.

A way is at most 10 steps long, also where there is none. A soup in a pot or in a hand is worth at least 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_real, shorten
from multigrid.games.overcooked._features import count_actions
from multigrid.games.overcooked._game import Overcooked
from multigrid.games.overcooked._layouts import DISH, FULL, NOTHING, ONION, SERVING, SOUP, TOMATO

_LONGEST = 10
"""The most steps that a way counts."""


def potential(env: Any, gamma: float = 0.99) -> float | NDArray[np.float64]:
    """Return the potential of an environment's state, of many worlds float64 (E,); inf if a soup pays inf.

    With it, ``gamma * after - before`` is a shaped reward under which the best policies stay the best.

    Args:
        env: an environment of the game Overcooked, which has been reset.
        gamma: the discount, between 0 and 1.

    Raises:
        TypeError, ValueError: `env` is of another game, or `gamma` is not between 0 and 1.

    >>> from multigrid import games
    >>> env = games.parallel_env("Overcooked-cramped_room-v0")
    >>> observations, infos = env.reset(seed=0)
    >>> round(potential(env), 3)
    30.634
    """
    given, env = env, getattr(env, "unwrapped", None)
    game = getattr(getattr(env, "config", None), "game", None)
    if game is None or not issubclass(game, Overcooked):
        raise TypeError(f"env is {shorten(given)}; expected an environment of the game Overcooked")
    if not is_real(gamma) or not 0 < gamma < 1:
        raise ValueError(f"gamma is {shorten(gamma)}; expected a number between 0 and 1")
    state = env.get_state()
    kitchens = [_find_kitchen(env.config.prepared, m, gamma) for m in range(env.config.num_maps)]
    if np.ndim(state["map_index"]) == 0:
        return kitchens[int(state["map_index"])].estimate(state)
    worlds = ({name: state[name][e] for name in _READ} for e in range(len(state["map_index"])))
    return np.array([kitchens[int(world["map_index"])].estimate(world) for world in worlds])


_READ = ("map_index", "location", "direction", "held", "thing", "cooking")
_FIXED = ("reward", "cook_time", "ingredient_value", "pot", "kind")
_KITCHENS: dict[Any, _Kitchen] = {}
"""The last kitchens, by gamma and the bytes of the layout: a kitchen takes longer than a potential."""
_MOST_KITCHENS = 64


def _find_kitchen(prepared: Any, m: int, gamma: float) -> _Kitchen:
    layout = {name: prepared[name][m] for name in _FIXED}
    key = gamma, layout["kind"].shape, *(array.tobytes() for array in layout.values())
    if key not in _KITCHENS:
        if len(_KITCHENS) == _MOST_KITCHENS:
            del _KITCHENS[next(iter(_KITCHENS))]
        _KITCHENS[key] = _Kitchen(layout, gamma)
    return _KITCHENS[key]


class _Kitchen:
    """A layout, and what its soups are worth."""

    def __init__(self, layout: dict[str, Any], gamma: float) -> None:
        self.reward, self.time = layout["reward"].tolist(), layout["cook_time"].tolist()
        self.each, self.gamma = layout["ingredient_value"].tolist(), gamma
        self.pots = [tuple(cell) for cell in layout["pot"].tolist() if cell[0] >= 0]
        kind = layout["kind"]
        # Steps until after the interact.
        self.to_pot = dict(zip(self.pots, count_actions(kind, np.array(self.pots)) + 1, strict=True))
        self.to_serving = count_actions(kind, np.argwhere(kind == SERVING)).min(axis=0) + 1

    def find_best(self, start: int) -> tuple[int, float]:
        """Return the best recipe that can become of another one, or of 0, and its discounted value."""
        best, value = start, 0.0
        stack, seen = [start] if start else [4, 1], set[int]()
        # In the order of the original, which decides between recipes of equal value.
        while stack:
            recipe = stack.pop()
            if recipe in seen:
                continue
            seen.add(recipe)
            onions, tomatoes = recipe // 4 - start // 4, recipe % 4 - start % 4
            found = self.gamma ** self.time[recipe] * self.gamma ** (_LONGEST * onions)
            found = found * self.gamma ** (_LONGEST * tomatoes) * self.reward[recipe]
            if found > value:
                best, value = recipe, found
            stack += [recipe + 4, recipe + 1] if sum(divmod(recipe, 4)) < FULL else []
        return best, value

    def estimate(self, state: Any) -> float:
        """Return the potential of a state of one world."""
        gamma, total = self.gamma, 0.0
        best, discounted = self.find_best(0)
        if discounted == np.inf:
            return discounted
        if discounted > 0:
            discount = discounted / self.reward[best]
            total = discount / (1 - discount) * self.reward[best]
        players = zip(state["location"].tolist(), state["direction"].tolist(), state["held"].tolist(), strict=True)
        places: dict[int, list[Any]] = {thing: [] for thing in (NOTHING, ONION, TOMATO, DISH)}
        for (x, y), direction, held in players:
            if held > SOUP:
                total += self.discount(self.to_serving[x, y, direction]) * self.worth(held - SOUP)
            else:
                places[held].append((x, y, direction))
        cooking, idle, empty = self.read_pots(state)
        values = [gamma ** (_LONGEST + max(_LONGEST, left)) * self.worth(recipe) for _, recipe, left in cooking]
        for place in places[DISH]:
            # What each soup is worth to this player, who goes for the best one.
            ways = [float(self.to_pot[pot][place]) for pot, _, _ in cooking]
            found = [
                gamma ** max(left, min(way, _LONGEST)) * gamma**_LONGEST * self.worth(recipe) if way < np.inf else 0.0
                for way, (_, recipe, left) in zip(ways, cooking, strict=True)
            ]
            if any(found):
                k = found.index(max(found))
                values[k] = max(values[k], found[k])
        total += sum(values)
        for pot, recipe in sorted(idle, key=lambda one: -self.find_best(one[1])[1]):
            total += self.estimate_soup(pot, recipe, places)
        for thing, value in zip((TOMATO, ONION), self.each[::-1], strict=True):
            for place in places[thing]:
                way = min((float(self.to_pot[pot][place]) for pot in empty), default=np.inf)
                total += self.discount(way) * gamma ** (2 * _LONGEST) * value if way < np.inf else 0.0
        return float(total)

    def discount(self, way: float) -> float:
        """Return the discount of a way."""
        return float(self.gamma ** min(way, _LONGEST))

    def worth(self, recipe: int) -> float:
        """Return the value of a soup that is there, at least 1."""
        return float(max(self.reward[recipe], 1))

    def read_pots(self, state: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return soups that cook or are ready, with pot, recipe and steps left; others, without steps; empty pots."""
        cooking, ready, full, partial, empty = (list[Any]() for _ in range(5))
        for pot, cooked in zip(self.pots, state["cooking"].tolist(), strict=False):
            recipe = int(state["thing"][pot]) - SOUP
            if recipe < 0:
                empty.append(pot)
            elif cooked:
                left = self.time[recipe] + 1 - cooked
                (cooking if left > 0 else ready).append((pot, recipe, left))
            else:
                (full if sum(divmod(recipe, 4)) == FULL else partial).append((pot, recipe))
        # The original goes through the cells of these in the order of a set, those of one ingredient put in first.
        of_pot = dict(sorted(partial, key=lambda one: sum(divmod(one[1], 4))))
        return cooking + ready, full + [(pot, of_pot[pot]) for pot in set(iter(of_pot))], empty

    def estimate_soup(self, pot: Any, recipe: int, places: dict[int, list[Any]]) -> float:
        """Return the discounted value of a soup that does not cook, and take players who bring something from it."""
        best, _ = self.find_best(recipe)
        value: float = self.gamma ** (max(_LONGEST, self.time[best]) + _LONGEST) * self.worth(best)
        missing = [ONION] * (best // 4 - recipe // 4) + [TOMATO] * (best % 4 - recipe % 4)
        for thing in missing:
            ways = [float(self.to_pot[pot][place]) for place in places[thing]]
            nearest = min(ways, default=np.inf)
            value *= self.discount(nearest)
            if nearest < np.inf:
                del places[thing][ways.index(nearest)]
        if missing:
            return value * self.gamma
        ways = [float(self.to_pot[pot][place]) for place in places[NOTHING]]
        return value * self.discount(min(ways, default=np.inf))
