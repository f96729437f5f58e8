"""Overcooked, as the package overcooked_ai plays it: first in prose, then in code.

Players put onions and tomatoes into pots, cook soups, and serve them. *dynamics* is "new", as in overcooked_ai 1.1.0,
or "old", as it was before 1.0.

**Kitchen.** A cell is floor, a counter, a pot, a place that serves, or a supply of onions, tomatoes or dishes. Players
stand on floor, hold one thing at most, and face north, south, east or west; y - 1 is north. A thing is an onion, a
tomato, a dish or a soup. A counter holds one thing at most, and a pot one soup of one to three ingredients.

**Reset.** Players begin where the layout says, facing north, with empty hands, counters and pots, unless the layout has
a `start_state`. With *random_positions*, they begin in different cells, all joint positions equally likely. With
*random_objects* p > 0, each pot in reading order has, with probability p, a soup of 1 to 3 onions and 0 to 3 - onions
tomatoes, which cooks with probability p; then each player holds, with probability p, a dish (0.2), an onion (0.6), or
a soup like those that has cooked (0.2). The original draws with NumPy's global stream: here the states have the same
probabilities, but equal seeds give other states.

**Step.** Interacts come first, then moves, then cooking.

**Interact.** Players who interact do so in their order, each with the cell that it faces.

- Counter: puts down what it holds, or takes what is there.
- Supply: an empty hand takes one.
- Pot: an onion or a tomato goes in if the soup does not cook and has fewer than three. A dish takes a soup that is
  ready. An empty hand makes a soup of one to three cook, under the new dynamics.
- Serving: a soup is delivered.

Nothing else has an effect.

**Move.** A player turns to where it moves. It asks for the cell ahead if that is floor, else for its own. If two
players ask for one cell, or for each other's, nobody moves, not even players far away.

**Cook.** Under the old dynamics, soups of three begin to cook. Then all soups that cook, and are not ready, cook for
one step more. A soup is ready after its cook time.

**Values and times.** The value of a soup is *delivery_reward* of the layout, or the entry in *recipe_values*, or
*onion_value* times its onions plus *tomato_value* times its tomatoes, or 20. Its cook time is found in the same way,
from *cook_time*, *recipe_times*, or *onion_time* and *tomato_time*, or is 20. A layout without orders takes all nine
recipes.

**Reward.** All players get the values of the soups that are delivered, 0 for a soup that is not ordered, and
*order_bonus* times the value for a bonus order; orders stay. They also get *shaping* times their own shaped rewards: 3
for an ingredient placed into a pot, 5 for a soup taken from a pot, and 3 for a dish taken from the supply, or what
*rew_shaping_params* of the layout says. The dish pays only if there are two players, no dish is on a counter, and the
dishes in hands are fewer than the pots that, when the step began, cooked, were ready, or had one or two ingredients.
The infos *sparse* and *shaped* are each player's own rewards; *events* has the bit ``1 << k`` for each event
``EVENTS[k]`` of this step.

**End.** Episodes are truncated after `max_cycles` steps, 400 by default; the original calls this `done`.

**Observe.** The part *lossless* is the original's, see `multigrid.games.overcooked._lossless`;
*lossless_long* is the same for longer times, and *features* a vector, see `multigrid.games.overcooked._features`.

A player that is delayed plays *stay*. With several layouts, of as many players each, every episode has a random one;
smaller ones are filled up on the right and below.
"""

from __future__ import annotations

import numpy as np

from multigrid.actions import Outcome
from multigrid.core.draws import draw_float, draw_integer
from multigrid.games.overcooked._layouts import (
    AHEAD,
    COUNTER,
    DISH,
    DISHES,
    FLOOR,
    FULL,
    NOTHING,
    NUM_RECIPES,
    ONION,
    ONIONS,
    POT,
    SERVING,
    SOUP,
    TOMATO,
    TOMATOES,
    Dynamics,
)
from multigrid.maps._cells import WALL
from multigrid.runtime.compiled import function, inlined

_STAY, _INTERACT = 4, 5
_PLACING, _DISH, _TAKING = range(3)
"""The shaped rewards."""
_OLD = int(Dynamics.OLD)
_TURNS = np.arange(4)  # the direction of each move
_MOVED, _STAYED, _WALL = int(Outcome.MOVED), int(Outcome.STAYED), int(Outcome.WALL)
_CONTESTED = int(Outcome.CONTESTED)

EVENTS = (
    *("tomato_pickup", "useful_tomato_pickup", "tomato_drop", "useful_tomato_drop", "potting_tomato", "onion_pickup"),
    *("useful_onion_pickup", "onion_drop", "useful_onion_drop", "potting_onion", "dish_pickup", "useful_dish_pickup"),
    *("dish_drop", "useful_dish_drop", "soup_pickup", "soup_delivery", "soup_drop", "optimal_onion_potting"),
    *("optimal_tomato_potting", "viable_onion_potting", "viable_tomato_potting", "catastrophic_onion_potting"),
    *("catastrophic_tomato_potting", "useless_onion_potting", "useless_tomato_potting"),
)
"""The events that the original logs, in its order."""
# The first of the events of a thing by its code, and of the four kinds of potting; see `EVENTS`.
_PICKUP, _DROP, _POTTING = (-1, 5, 0, 10), (-1, 7, 2, 12), (-1, 9, 4)
_SOUP_PICKUP, _SOUP_DELIVERY, _SOUP_DROP = 14, 15, 16
_OPTIMAL, _VIABLE, _CATASTROPHIC, _USELESS = 17, 19, 21, 23


@function
def draw_apart(w, e, i):
    """Draw the cell of player i, and return whether no earlier player is in it."""
    x, y = draw_integer(w, e, 0, w.components.shape[1]), draw_integer(w, e, 0, w.components.shape[2])
    w.location[e, i, 0], w.location[e, i, 1] = x, y
    for j in range(i):
        if w.location[e, j, 0] == x and w.location[e, j, 1] == y:
            return False
    return True


@inlined
def draw_place(w, s, e, i):
    """Draw the cell of player i, and return whether it is floor without an earlier player."""
    is_apart, m = draw_apart(w, e, i), w.map_index[e]
    return is_apart and s.kind[m, w.location[e, i, 0], w.location[e, i, 1]] == FLOOR


@function
def begin(w, s, e):
    m = w.map_index[e]
    for i in range(w.num_agents[e]):
        s.direction[e, i], s.held[e, i] = s.start[m, i, 2], s.start[m, i, 3]
    for x in range(s.kind.shape[1]):
        for y in range(s.kind.shape[2]):
            s.thing[e, x, y] = s.start_thing[m, x, y]
    for p in range(s.pot.shape[1]):
        s.cooking[e, p] = s.start_cooking[m, p]
    if s.random_objects > 0:
        for p in range(s.pot.shape[1]):
            x, y = s.pot[m, p, 0], s.pot[m, p, 1]
            if x >= 0 and draw_float(w, e) < s.random_objects:
                s.thing[e, x, y] = _draw_soup(w, e)
                s.cooking[e, p] = int(draw_float(w, e) < s.random_objects)
        for i in range(w.num_agents[e]):
            if draw_float(w, e) < s.random_objects:
                drawn = draw_float(w, e)
                s.held[e, i] = DISH if drawn < 0.2 else ONION if drawn < 0.8 else _draw_soup(w, e)


@function
def _draw_soup(w, e):
    onions = draw_integer(w, e, 1, FULL + 1)
    return SOUP + 4 * onions + draw_integer(w, e, 0, FULL + 1 - onions)


@inlined
def interact(w, s, e):
    """Let players interact, in their order."""
    num_interacts = 0
    for i in range(w.num_agents[e]):
        s.sparse[e, i], s.shaped[e, i], s.events[e, i] = 0, 0, 0
        num_interacts += w.actions[e, i] == _INTERACT
    if num_interacts > 0:
        # Counted once, also for players who interact after others have changed a pot.
        num_waiting, num_full, num_pots = _count_pots(w, s, e)
        for i in range(w.num_agents[e]):
            if w.actions[e, i] == _INTERACT:
                _interact_one(w, s, e, i, num_waiting, num_full, num_pots)


@inlined
def _count_pots(w, s, e):
    """Return how many pots wait for a dish, have three ingredients or cook, and how many there are."""
    m, num_waiting, num_full, num_pots = w.map_index[e], 0, 0, 0
    for p in range(s.pot.shape[1]):
        x, y = s.pot[m, p, 0], s.pot[m, p, 1]
        if x >= 0:
            recipe, cooks = _read_recipe(s, e, x, y), s.cooking[e, p] > 0
            is_full = cooks or recipe // 4 + recipe % 4 == FULL
            num_pots += 1
            num_full += is_full
            num_waiting += cooks or (recipe > 0 and not is_full)
    return num_waiting, num_full, num_pots


@inlined
def _read_recipe(s, e, x, y):
    """Return 4 * onions + tomatoes of the soup in a pot, 0 without one."""
    return max(int(s.thing[e, x, y]) - SOUP, 0)


@function
def _interact_one(w, s, e, i, num_waiting, num_full, num_pots):
    """Let player i interact with the cell ahead."""
    m, direction, held = w.map_index[e], s.direction[e, i], s.held[e, i]
    x, y = w.location[e, i, 0] + AHEAD[direction, 0], w.location[e, i, 1] + AHEAD[direction, 1]
    kind, there = int(s.kind[m, x, y]), int(s.thing[e, x, y])
    if kind == COUNTER and (held == NOTHING) != (there == NOTHING):
        if there == NOTHING:
            _log(s, e, i, _SOUP_DROP if held >= SOUP else _DROP[held])
            if held < SOUP and _is_useful_drop(w, s, e, i, num_full, num_pots):
                _log(s, e, i, _DROP[held] + 1)
        else:
            _log_pickup(w, s, e, i, there, num_waiting, num_full == num_pots)
        s.held[e, i], s.thing[e, x, y] = there, held
    elif held == NOTHING and kind == TOMATOES:
        s.held[e, i] = TOMATO
    elif held == NOTHING and kind in {ONIONS, DISHES}:
        taken = ONION if kind == ONIONS else DISH
        if _log_pickup(w, s, e, i, taken, num_waiting, num_full == num_pots) and kind == DISHES:
            s.shaped[e, i] += s.bonus[m, _DISH]
        s.held[e, i] = taken
    elif kind == POT:
        p, recipe = s.pot_in[m, x, y], _read_recipe(s, e, x, y)
        cooking = s.cooking[e, p]
        if held in {ONION, TOMATO} and cooking == 0 and recipe // 4 + recipe % 4 < FULL:
            after = recipe + (4 if held == ONION else 1)
            s.thing[e, x, y], s.held[e, i] = SOUP + after, NOTHING
            s.shaped[e, i] += s.bonus[m, _PLACING]
            _log_potting(s, e, i, held, s.best[m, recipe], s.best[m, after])
        elif held == DISH and cooking > s.cook_time[m, recipe]:
            s.held[e, i], s.thing[e, x, y], s.cooking[e, p] = there, NOTHING, 0
            s.shaped[e, i] += s.bonus[m, _TAKING]
            _log(s, e, i, _SOUP_PICKUP)
        elif held == NOTHING and cooking == 0 and recipe > 0 and s.dynamics != _OLD:
            s.cooking[e, p] = 1
    elif kind == SERVING and held >= SOUP:
        s.sparse[e, i] += s.reward[m, held - SOUP]
        s.held[e, i] = NOTHING
        _log(s, e, i, _SOUP_DELIVERY)


@function
def _log(s, e, i, event):
    s.events[e, i] |= 1 << event
    s.count[e, event] += 1


@function
def _log_pickup(w, s, e, i, taken, num_waiting, all_full):
    """Note that player i takes something from a counter or a supply, and return whether that is useful."""
    if taken >= SOUP:
        _log(s, e, i, _SOUP_PICKUP)
        return False
    _log(s, e, i, _PICKUP[taken])
    is_useful = w.num_agents[e] == 2
    if is_useful and taken == DISH:
        num_dishes = 0
        for j in range(2):
            num_dishes += s.held[e, j] == DISH
        is_useful = num_dishes < num_waiting and not _has_dish_on_counter(s, e)
    elif is_useful:
        is_useful = not all_full or s.held[e, 1 - i] == DISH
    if is_useful:
        _log(s, e, i, _PICKUP[taken] + 1)
    return is_useful


@inlined
def _has_dish_on_counter(s, e):
    for x in range(s.thing.shape[1]):
        for y in range(s.thing.shape[2]):
            if s.thing[e, x, y] == DISH:
                return True
    return False


@function
def _is_useful_drop(w, s, e, i, num_full, num_pots):
    """Return whether the original calls it useful that player i puts down an ingredient or a dish."""
    if w.num_agents[e] != 2:
        return False
    of_other = s.held[e, 1 - i]
    if s.held[e, i] == DISH:
        return num_full == 0 and of_other != ONION
    return num_full == num_pots and of_other != DISH


@function
def _log_potting(s, e, i, held, before, after):
    """Note what the original says of an ingredient in a pot, given the best value before and after."""
    _log(s, e, i, _POTTING[held])
    later = held - ONION
    if before == after:
        _log(s, e, i, _OPTIMAL + later)
    if after > 0:
        _log(s, e, i, _VIABLE + later)
    if before > 0 and after == 0:
        _log(s, e, i, _CATASTROPHIC + later)
    if before == 0:
        _log(s, e, i, _USELESS + later)


@inlined
def ask(w, s, e, turns):
    """Turn players, and note the cells that they ask for; `turns` are the directions of the moves."""
    m, height, own_cell, requested = w.map_index[e], w.components.shape[2], w.own_cell, w.requested
    for i in range(w.num_agents[e]):
        x, y, action = w.location[e, i, 0], w.location[e, i, 1], w.actions[e, i]
        own_cell[i] = x * height + y
        requested[i], w.outcomes[e, i] = own_cell[i], _STAYED
        if action < _STAY:
            direction = turns[action]
            s.direction[e, i] = direction
            x, y = x + AHEAD[direction, 0], y + AHEAD[direction, 1]
            w.outcomes[e, i] = _WALL
            if w.components[m, x, y] != WALL:
                requested[i], w.outcomes[e, i] = x * height + y, _MOVED


@inlined
def move(w, s, e):
    """Turn and move players, or only turn them if two are in the way of each other."""
    num_agents, height, own_cell, requested = w.num_agents[e], w.components.shape[2], w.own_cell, w.requested
    ask(w, s, e, _TURNS)
    is_refused = False
    for i in range(num_agents):
        for j in range(i):
            is_swap = requested[i] == own_cell[j] and requested[j] == own_cell[i]
            is_refused |= is_swap or requested[i] == requested[j]
    for i in range(num_agents):
        if w.outcomes[e, i] == _MOVED and not is_refused:
            w.location[e, i, 0], w.location[e, i, 1] = requested[i] // height, requested[i] % height
        elif w.outcomes[e, i] == _MOVED:
            w.outcomes[e, i] = _CONTESTED


@inlined
def cook(w, s, e):
    m = w.map_index[e]
    for p in range(s.pot.shape[1]):
        if s.pot[m, p, 0] >= 0:
            recipe, cooking = _read_recipe(s, e, s.pot[m, p, 0], s.pot[m, p, 1]), s.cooking[e, p]
            if s.dynamics == _OLD and cooking == 0 and recipe // 4 + recipe % 4 == FULL:
                cooking = 1
            s.cooking[e, p] = cooking + (0 < cooking <= s.cook_time[m, recipe])


@function
def check(w, s, e):
    """Return whether things are where things can be, and soups have cooked no longer than they do."""
    m = w.map_index[e]
    for i in range(w.num_agents[e]):
        if not (0 <= s.direction[e, i] < 4 and _is_thing(s.held[e, i])):
            return False
        for j in range(i):
            if w.location[e, i, 0] == w.location[e, j, 0] and w.location[e, i, 1] == w.location[e, j, 1]:
                return False
    for x in range(s.kind.shape[1]):
        for y in range(s.kind.shape[2]):
            there = int(s.thing[e, x, y])
            if s.kind[m, x, y] == POT:
                cooking = s.cooking[e, s.pot_in[m, x, y]]
                least = 0 if there == NOTHING else SOUP + 1
                most = 0 if there == NOTHING else s.cook_time[m, _read_recipe(s, e, x, y)] + 1
                if not (there >= least and _is_thing(there) and 0 <= cooking <= most):
                    return False
            elif not _is_thing(there) or (there != NOTHING and s.kind[m, x, y] != COUNTER):
                return False
    for p in range(s.pot.shape[1]):
        if s.pot[m, p, 0] < 0 and s.cooking[e, p] != 0:
            return False
    return True


@inlined
def _is_thing(code):
    recipe = code - SOUP
    return 0 <= code <= DISH or (0 < recipe < NUM_RECIPES and recipe // 4 + recipe % 4 <= FULL)
