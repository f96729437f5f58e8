"""OvercookedV2, as JaxMARL 0.2.0 plays it: first in prose, then in code.

Players cook a recipe that they may not know, of three ingredients out of up to ten.

**Kitchen.** A cell is floor, a counter, a goal, a pot, a pile of plates or of one ingredient, an indicator that shows
the recipe, or a button that shows it for a while. A thing is a number: 1 for a plate, 2 for cooked, and 4 ** (k + 1)
for each piece of ingredient k. A recipe is the sum of its ingredients.

**Reset.** Players begin where the layout says, looking up, with empty hands. A recipe is drawn from the possible ones,
unless ``reset(options={"recipe": (0, 0, 1)})`` names the first one.
With *random_agent_positions*, each begins in a random cell of its room, with a random direction. With *random_reset*,
they do so too, and hold a plate (0.1), an ingredient (0.25) or a dish (0.15); counters have a plate (0.1), an
ingredient (0.3) or a dish (0.1); pots have one to three ingredients (0.35), cook (0.15), or have cooked (0.1). JaxMARL
draws with other random numbers: here the states have the same probabilities, but equal seeds give other states.

**Step.** Players move, then interact, then time passes.

**Move.** A player turns to where it moves, and goes to the cell ahead if that is floor. All players that would share a
cell stay in theirs, again and again until none do. Then those that have changed places go back.

**Interact.** Players who interact do so in their order, each with the cell that it faces.

- Counter: puts down what it holds, or takes what is there.
- Pile: an empty hand takes a plate or an ingredient.
- Pot that does not cook and has not cooked: an ingredient goes in if there are fewer than three. With three, the pot
  begins to cook for 20 steps. With *start_cooking_interaction* it does so, with any number, when a player with empty
  hands interacts.
- Pot that has cooked: a plate takes the dish.
- Goal: whatever has cooked is delivered.
- Button: an empty hand makes it show the recipe for 10 steps, at a cost of 5.

**Time.** Pots that cook and buttons that show count down by one step. After a correct delivery,
*sample_recipe_on_delivery* draws a new recipe.

**Reward.** All players get 20 for each delivery of the recipe, with *negative_rewards* -20 for another dish, and -5 for
each button. They also get *shaping* times their own shaped rewards: 3 for an ingredient of which the recipe has more
than the pot had, 5 for taking the recipe's dish from a pot, 5 for starting to cook the recipe by hand, and 3 for a
plate from a pile if no plate lies anywhere and fewer plates were in hands, before all interacts, than pots are not
empty. The info *shaped* is each player's own.

**End.** Episodes are truncated after `max_cycles` steps, 400 by default, which JaxMARL calls `max_steps` and `done`.

**Observe.** The part *grid* is uint8 (rows, columns, layers), of the whole kitchen, or with *agent_view_size* r of 2 r
+ 1 rows and columns around the player, zeros outside. Layers, for n ingredients: the player's cell, its directions up,
down, right and left, plate, cooked and n numbers of what it holds; the same of all others together; counters, goals,
pots, indicators, buttons, plates; n piles; plate, cooked and n numbers of things; the same of the recipe at indicators
and buttons that show it; steps that pots still cook; and with *indicate_successful_delivery* goals after a correct
delivery.

A player that is delayed plays *stay*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, is_int, shorten
from multigrid.actions import Outcome
from multigrid.core.draws import draw_float, draw_integer
from multigrid.game import Game
from multigrid.games.overcooked._layouts import AHEAD, TRAINING
from multigrid.games.overcooked._pictures import draw_picture, list_marks, read_v2_kitchen
from multigrid.games.overcooked._rules import ask, draw_apart
from multigrid.games.overcooked._v2_grid import write_grid
from multigrid.games.overcooked._v2_layouts import (
    BUTTON,
    COOK_TIME,
    COOKED,
    COUNTER,
    FLOOR,
    FULL,
    GOAL,
    PILE,
    PLATE,
    PLATES,
    POT,
    add_ingredients,
    check_recipes,
    read_layout,
)
from multigrid.games.overcooked._words import describe_v2
from multigrid.parts import PartSpec
from multigrid.runtime.compiled import function, inlined
from multigrid.runtime.tables import KEPT

_STAY, _INTERACT = 4, 5
_TURNS = np.array([2, 1, 3, 0])  # the direction of each move
_SHOW_TIME, _SHOW_COST, _DELIVERY = 10, 5, 20
_PLACING, _STARTING, _TAKING, _PLATING = 3, 5, 5, 3
_MOVED, _STAYED, _WALL = int(Outcome.MOVED), int(Outcome.STAYED), int(Outcome.WALL)
_CONTESTED, _SWAP = int(Outcome.CONTESTED), int(Outcome.SWAP)


class OvercookedV2(Game):
    """OvercookedV2, on a layout given by its name or as text."""

    moves = False
    targets = False
    departures = False
    actions = ("right", "down", "left", "up", "stay", "interact")
    idle = "stay"
    options: ClassVar[Mapping[str, Any]] = {
        "layout": "cramped_room",
        "possible_recipes": None,
        "agent_view_size": None,
        "random_reset": False,
        "random_agent_positions": False,
        "start_cooking_interaction": False,
        "negative_rewards": False,
        "sample_recipe_on_delivery": False,
        "indicate_successful_delivery": False,
        "shaping": 0.0,
    }
    training: ClassVar[Mapping[str, Any]] = TRAINING | {
        "flatten": True,
        "expect": "about ten minutes on one core; in cramped_room, two cooks delivered 12 soups an episode.",
    }
    parts: ClassVar[Mapping[str, PartSpec]] = {
        "grid": PartSpec(np.uint8, "ROWS COLUMNS LAYERS", 0, 255, "the kitchen in layers.")
    }
    infos: ClassVar[Mapping[str, PartSpec]] = {
        "shaped": PartSpec(np.float64, "1", 0, 5, "the player's shaped reward."),
    }

    class State(NamedTuple):
        """Things and recipes are numbers, as the prose says."""

        direction: Annotated[NDArray[np.int64], "E N"]
        held: Annotated[NDArray[np.int64], "E N"]
        thing: Annotated[NDArray[np.int32], "E W H"]
        timer: Annotated[NDArray[np.uint8], "E W H"]  # of pots and buttons
        recipe: Annotated[NDArray[np.int64], "E"]
        first_recipe: Annotated[NDArray[np.int64], "E", KEPT]  # of the next episode; 0 for a random one
        is_correct: Annotated[NDArray[np.uint8], "E"]  # whether the last step had a correct delivery
        shaped: Annotated[NDArray[np.float64], "E N"]  # of the last step
        deliveries: Annotated[NDArray[np.int64], "E"]  # correct ones in this episode
        kind: Annotated[NDArray[np.uint8], "W H"]
        start: Annotated[NDArray[np.int64], "N 2"]
        recipes: Annotated[NDArray[np.int64], "R"]
        sight: Annotated[NDArray[np.int64], "1"]  # how far players see, 0 for all
        num_ingredients: Annotated[NDArray[np.int64], "1"]

    def prepare(c: Any) -> dict[str, Any]:
        return _prepare(c)

    def reset(c: Any, options: Mapping[str, Any], num_worlds: int) -> dict[str, NDArray[Any]]:
        return _read_recipes(c, options, num_worlds)

    def place(w, s, e):
        for i in range(w.num_agents[e]):
            w.location[e, i, 0], w.location[e, i, 1] = s.start[i, 0], s.start[i, 1]
            while (s.random_reset or s.random_agent_positions) and not _draw_place(w, s, e, i):
                pass

    def begin(w, s, e):
        s.recipe[e] = s.recipes[draw_integer(w, e, 0, s.recipes.shape[0])]
        if s.first_recipe[e] > 0:
            s.recipe[e], s.first_recipe[e] = s.first_recipe[e], 0
        if s.random_reset or s.random_agent_positions:
            for i in range(w.num_agents[e]):
                s.direction[e, i] = draw_integer(w, e, 0, 4)
        if s.random_reset:
            _begin(w, s, e)

    def step(w, s, e):
        _move(w, s, e)
        reward = _interact(w, s, e)
        _pass_time(s, e)
        if s.is_correct[e] and s.sample_recipe_on_delivery:
            s.recipe[e] = s.recipes[draw_integer(w, e, 0, s.recipes.shape[0])]
        for i in range(w.num_agents[e]):
            w.rewards[e, i] = reward + s.shaping * s.shaped[e, i]

    def write_grid(w, s, e, i, out):
        write_grid(w, s, e, i, out)

    def write_info_shaped(w, s, e, i):
        return s.shaped[e, i]

    def metric_deliveries(w, s, e):
        return s.deliveries[e]

    def check(w, s, e):
        return _check(w, s, e)

    def marks(scene: Any) -> Iterator[Any]:
        return list_marks(scene, read_v2_kitchen(scene))

    def picture(scene: Any) -> NDArray[np.uint8]:
        return draw_picture(scene, read_v2_kitchen(scene))

    def describe(scene: Any, i: int) -> str:
        return describe_v2(scene, i)


def _prepare(c: Any) -> dict[str, Any]:
    layout = read_layout(c.layout, c.possible_recipes)
    if not 0 <= c.shaping < np.inf:
        raise ValueError(f"shaping is {shorten(c.shaping)}; expected a number of at least 0")
    columns, rows = layout.kind.shape
    if c.agent_view_size is not None:
        rows = columns = 2 * check_int("agent_view_size", c.agent_view_size, 1, most=max(columns, rows)) + 1
    num_ingredients = int(layout.kind.max()) - PILE + 1
    return {
        "walls": layout.kind != FLOOR,
        "num_agents": len(layout.cells),
        "max_cycles": 400,
        "observe": "grid",
        "ROWS": rows,
        "COLUMNS": columns,
        "LAYERS": 25 + 5 * num_ingredients + c.indicate_successful_delivery,
        "R": len(layout.recipes),
        "sight": np.array([c.agent_view_size or 0]),
        "num_ingredients": np.array([num_ingredients]),
        "kind": layout.kind,
        "start": layout.cells,
        "recipes": add_ingredients(layout.recipes),
    }


def _read_recipes(c: Any, options: Mapping[str, Any], num_worlds: int) -> dict[str, NDArray[Any]]:
    given = options.get("recipe")
    if given is None:
        return {}
    given = given.tolist() if isinstance(given, np.ndarray) else given
    is_one = isinstance(given, list | tuple) and len(given) > 0 and is_int(given[0])
    recipes = check_recipes("options['recipe']", [given] if is_one else given, int(c.num_ingredients[0]))
    if len(recipes) not in (1, num_worlds):
        raise ValueError(
            f"options['recipe'] has {len(recipes)} recipes; expected one, or one for each of {num_worlds} worlds"
        )
    return {"first_recipe": np.broadcast_to(add_ingredients(recipes), num_worlds)}


@function
def _draw_place(w, s, e, i):
    """Draw the cell of player i, and return whether it is in the room where it begins, without an earlier player."""
    is_apart, components = draw_apart(w, e, i), w.components[w.map_index[e]]
    x, y = w.location[e, i, 0], w.location[e, i, 1]
    return is_apart and components[x, y] == components[s.start[i, 0], s.start[i, 1]]


@function
def _begin(w, s, e):
    """Draw what players hold, and what is on counters and in pots."""
    for i in range(w.num_agents[e]):
        s.held[e, i] = _draw_thing(w, s, e, 0.25)
    for x in range(s.kind.shape[0]):
        for y in range(s.kind.shape[1]):
            if s.kind[x, y] == COUNTER:
                s.thing[e, x, y] = _draw_thing(w, s, e, 0.3)
            elif s.kind[x, y] == POT:
                drawn = draw_float(w, e)
                if drawn >= 0.4:
                    is_full = drawn >= 0.75 and not s.start_cooking_interaction
                    for _ in range(FULL if is_full else draw_integer(w, e, 1, FULL + 1)):
                        s.thing[e, x, y] += _draw_ingredient(w, s, e)
                if 0.75 <= drawn < 0.9:
                    s.timer[e, x, y] = draw_integer(w, e, 1, COOK_TIME + 1)
                elif drawn >= 0.9:
                    s.thing[e, x, y] += COOKED


@function
def _draw_ingredient(w, s, e):
    return 4 << 2 * draw_integer(w, e, 0, s.num_ingredients[0])


@function
def _draw_thing(w, s, e, share):
    """Draw nothing, a plate, with the given probability an ingredient, or a dish."""
    drawn = draw_float(w, e)
    if drawn < 0.5:
        return 0
    if drawn < 0.6:
        return PLATE
    if drawn < 0.6 + share:
        return _draw_ingredient(w, s, e)
    return s.recipes[draw_integer(w, e, 0, s.recipes.shape[0])] + PLATE + COOKED


@inlined
def _move(w, s, e):
    """Turn and move players."""
    num_agents, height, own_cell, requested = w.num_agents[e], s.kind.shape[1], w.own_cell, w.requested
    ask(w, s, e, _TURNS)
    is_settled = False
    while not is_settled:
        is_settled = True
        for i in range(num_agents):
            for j in range(num_agents):
                is_shared = i != j and requested[i] == requested[j]
                # All that share a cell now go back together, after the others have been looked at.
                if is_shared and w.outcomes[e, i] == _MOVED:
                    w.outcomes[e, i] = _CONTESTED
        for i in range(num_agents):
            if w.outcomes[e, i] == _CONTESTED and requested[i] != own_cell[i]:
                requested[i], is_settled = own_cell[i], False
    for i in range(num_agents):
        for j in range(num_agents):
            if i != j and requested[i] == own_cell[j] and requested[j] == own_cell[i]:
                w.outcomes[e, i] = _SWAP
    for i in range(num_agents):
        if w.outcomes[e, i] == _MOVED:
            w.location[e, i, 0], w.location[e, i, 1] = requested[i] // height, requested[i] % height


@inlined
def _interact(w, s, e):
    """Let players interact, in their order, and return the reward of all."""
    num_plates, reward = 0, 0.0
    s.is_correct[e] = 0
    for i in range(w.num_agents[e]):
        num_plates += s.held[e, i] == PLATE
    for i in range(w.num_agents[e]):
        s.shaped[e, i] = 0
        if w.actions[e, i] == _INTERACT:
            reward += _interact_one(w, s, e, i, num_plates)
    return reward


@function
def _interact_one(w, s, e, i, num_plates):
    """Let player i interact with the cell ahead, and return the reward of all."""
    direction, held, recipe = s.direction[e, i], s.held[e, i], s.recipe[e]
    x, y = w.location[e, i, 0] + AHEAD[direction, 0], w.location[e, i, 1] + AHEAD[direction, 1]
    kind, there = int(s.kind[x, y]), int(s.thing[e, x, y])
    if kind == POT:
        _interact_with_pot(s, e, i, x, y)
    elif kind == COUNTER and (held == 0) != (there == 0):
        s.held[e, i], s.thing[e, x, y] = there, held
    elif kind == PLATES and held == 0:
        if num_plates < _count_pots(s, e):
            s.shaped[e, i] += _PLATING
        s.held[e, i] = PLATE
    elif kind >= PILE and held == 0:
        s.held[e, i] = 4 << 2 * (kind - PILE)
    elif kind == GOAL and held & COOKED:
        s.held[e, i] = 0
        if held == recipe + PLATE + COOKED:
            s.is_correct[e] = 1
            s.deliveries[e] += 1
            return float(_DELIVERY)
        return -float(_DELIVERY) if s.negative_rewards else 0.0
    elif kind == BUTTON and held == 0:
        s.timer[e, x, y] = _SHOW_TIME
        return -float(_SHOW_COST)
    return 0.0


@function
def _interact_with_pot(s, e, i, x, y):
    held, there, recipe = s.held[e, i], int(s.thing[e, x, y]), s.recipe[e]
    if there & COOKED:
        if held == PLATE:
            if there + held == recipe + PLATE + COOKED:
                s.shaped[e, i] += _TAKING
            s.held[e, i], s.thing[e, x, y] = there + PLATE, 0
        return
    if s.timer[e, x, y] > 0:
        return
    if held > COOKED and not held & PLATE and _count_pieces(there) < FULL:
        # The two bits of its ingredient.
        bits = held | held << 1
        if there & bits < recipe & bits:
            s.shaped[e, i] += _PLACING
        there += held
        s.held[e, i], s.thing[e, x, y] = 0, there
    elif held == 0 and there > 0 and s.start_cooking_interaction:
        if there == recipe:
            s.shaped[e, i] += _STARTING
        s.timer[e, x, y] = COOK_TIME
    if not s.start_cooking_interaction and _count_pieces(there) == FULL:
        s.timer[e, x, y] = COOK_TIME


@function
def _count_pieces(thing):
    """Return how many pieces of ingredients a thing has."""
    count, left = 0, thing >> 2
    while left > 0:
        count, left = count + (left & 3), left >> 2
    return count


@function
def _count_pots(s, e):
    """Return how many pots are not empty, or 0 if a plate lies anywhere."""
    count = 0
    for x in range(s.kind.shape[0]):
        for y in range(s.kind.shape[1]):
            if s.thing[e, x, y] == PLATE:
                return 0
            count += s.kind[x, y] == POT and s.thing[e, x, y] != 0
    return count


@inlined
def _pass_time(s, e):
    for x in range(s.kind.shape[0]):
        for y in range(s.kind.shape[1]):
            if s.timer[e, x, y] > 0:
                s.timer[e, x, y] -= 1
                if s.timer[e, x, y] == 0 and s.kind[x, y] == POT:
                    s.thing[e, x, y] |= COOKED


@function
def _check(w, s, e):
    """Return whether players are one in a cell, and things and timers where they can be."""
    most = 4 << 2 * s.num_ingredients[0]
    for i in range(w.num_agents[e]):
        if not (0 <= s.direction[e, i] < 4 and 0 <= s.held[e, i] < most):
            return False
        for j in range(i):
            if w.location[e, i, 0] == w.location[e, j, 0] and w.location[e, i, 1] == w.location[e, j, 1]:
                return False
    for x in range(s.kind.shape[0]):
        for y in range(s.kind.shape[1]):
            kind, there, timer = s.kind[x, y], s.thing[e, x, y], s.timer[e, x, y]
            if not 0 <= there < most or (there != 0 and kind not in {COUNTER, POT}):
                return False
            if timer > (COOK_TIME if kind == POT else _SHOW_TIME if kind == BUTTON else 0):
                return False
    return 0 < s.recipe[e] < most and 0 <= s.first_recipe[e] < most
