"""Games for tests: a key and a door on top of path finding, and one in which hardly a rule of path finding is left."""

import enum
from typing import Annotated, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid import Delays, Game, PartSpec, games
from multigrid.games.foraging import Foraging
from multigrid.games.robotic_warehouse import RoboticWarehouse
from multigrid.maps import Mazes, RandomWalls

NOBODY = -1
PICK_UP = 5


class KeyAndDoor(Game):
    """An agent picks up the key; the door lets in its carrier alone, and pays 5."""

    actions = ("pick_up",)
    options = {"penalty": 0.01, "opens": True}
    parts = {
        "has_key": PartSpec(np.uint8, "1", 0, 1, "1 if it carries the key."),
        "key": PartSpec(np.int64, "2", 0, 9, "the key's cell."),
    }

    class State(NamedTuple):
        key: Annotated[NDArray[np.int64], "E 2"]
        door: Annotated[NDArray[np.int64], "E 2"]
        carrier: Annotated[NDArray[np.int64], "E"]
        visits: Annotated[NDArray[np.int32], "E N"]

    def begin(w, s, e):
        s.key[e, 0], s.key[e, 1] = games.draw_free_cell(w, e)
        s.door[e] = s.key[e]
        while s.door[e, 0] == s.key[e, 0] and s.door[e, 1] == s.key[e, 1]:
            s.door[e, 0], s.door[e, 1] = games.draw_free_cell(w, e)
        s.carrier[e] = NOBODY

    def may_enter(w, s, e, i, x, y):
        return x != s.door[e, 0] or y != s.door[e, 1] or (s.opens and s.carrier[e] == i)

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            x, y = w.location[e, i]
            w.rewards[e, i] -= s.penalty
            at_key = x == s.key[e, 0] and y == s.key[e, 1]
            s.visits[e, i] += at_key
            if w.actions[e, i] == PICK_UP and s.carrier[e] == NOBODY and at_key:
                s.carrier[e] = i
            if s.carrier[e] == i and x == s.door[e, 0] and y == s.door[e, 1]:
                w.rewards[e, i] += 5
                games.end_episode(w, e)

    def write_has_key(w, s, e, i, out):
        out[0] = s.carrier[e] == i

    def write_key(w, s, e, i, out):
        out[0], out[1] = s.key[e, 0], s.key[e, 1]

    def legal(w, s, e, i, action):
        return s.carrier[e] == NOBODY

    def metric_visits(w, s, e):
        return s.visits[e].sum()

    def check(w, s, e):
        return NOBODY <= s.carrier[e] < w.location.shape[1]


class Hop(Game):
    """Agents without targets move two cells at a time or jump anywhere; the lowest index wins; one leaves each time."""

    actions = ("wait", "jump")
    options = {"chance": 0.5, "last": 12}
    targets = False

    class State(NamedTuple):
        order: Annotated[NDArray[np.int64], "E N"]
        luck: Annotated[NDArray[np.float64], "E"]

    def place(w, s, e):
        for i in range(w.location.shape[1]):
            s.order[e, i] = i
        games.shuffle(w, e, s.order[e])
        for i in range(w.location.shape[1]):
            w.location[e, i, 0] = s.order[e, i]
            w.location[e, i, 1] = games.draw_integer(w, e, 0, w.components.shape[2])

    def begin(w, s, e):
        s.luck[e] = games.draw_float(w, e)

    def request(w, s, e, i):
        x, y, action = w.location[e, i, 0], w.location[e, i, 1], w.actions[e, i]
        if action == 6 and games.draw_float(w, e) < s.chance:
            return games.draw_free_cell(w, e)
        if action < 4:
            return x + 2 * (action - 1), y + action % 2
        return x, y

    def resolve(w, s, e):
        for i in range(w.location.shape[1]):
            for j in range(w.location.shape[1]):
                if w.outcomes[e, i] == 0 and j != i and w.status[e, j] != 2:
                    is_asked = w.requested[j] == w.requested[i] and j < i
                    if is_asked or w.own_cell[j] == w.requested[i]:
                        w.outcomes[e, i] = 4

    def after_moves(w, s, e):
        w.rewards[e, w.steps[e] % w.location.shape[1]] = s.luck[e]
        if w.steps[e] % 5 == 0:
            w.terminated[e, w.steps[e] // 5 % w.location.shape[1]] = True
        if w.steps[e] == s.last:
            games.end_episode(w, e)

    def metric_luck(w, s, e):
        return s.luck[e]


class Walk(Game):
    """The whole step is the game's own: agents go right, around the grid, through all; one at a border gets 1."""

    targets = False

    def step(w, s, e):
        for i in range(w.location.shape[1]):
            w.location[e, i, 0] = (w.location[e, i, 0] + w.actions[e, i]) % w.components.shape[1]
            w.rewards[e, i] = w.location[e, i, 0] == 0

    def metric_is_at_border(w, s, e):
        return w.location[e, 0, 0] == 0


class Wide(KeyAndDoor):
    """A game that inherits another one's state and rules, and has an option and a rule beside them."""

    options = {"bonus": 2}

    def after_moves(w, s, e):
        KEY_AND_DOOR(w, s, e)
        for i in range(w.location.shape[1]):
            w.rewards[e, i] += s.bonus


KEY_AND_DOOR = KeyAndDoor.after_moves


class Gems(Game):
    """Agents begin in cells that the game draws, and dig up a gem, which pays 1 and goes elsewhere, three times."""

    actions = ("dig",)
    targets = False
    parts = {
        "gem": PartSpec(np.int64, "2", 0, None, "the gem's cell."),
        "present": PartSpec(np.uint8, "N", 0, 1, "1 for each agent that is present."),
    }

    class State(NamedTuple):
        gem: Annotated[NDArray[np.int64], "E 2"]
        found: Annotated[NDArray[np.int64], "E N"]
        luck: Annotated[NDArray[np.float64], "E"]
        placed: Annotated[NDArray[np.int64], "E"]

    def place(w, s, e):
        s.luck[e] = games.draw_float(w, e)
        for i in range(w.location.shape[1]):
            if games.is_present(w, e, i):
                s.placed[e] += 1
                w.location[e, i, 0], w.location[e, i, 1] = games.draw_free_cell(w, e)

    def begin(w, s, e):
        s.gem[e, 0], s.gem[e, 1] = w.location[e, 0]

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            is_there = w.location[e, i, 0] == s.gem[e, 0] and w.location[e, i, 1] == s.gem[e, 1]
            if games.is_present(w, e, i) and is_there and w.actions[e, i] == 5:
                w.rewards[e, i] += 1
                s.found[e, i] += 1
                s.gem[e, 0], s.gem[e, 1] = games.draw_free_cell(w, e)
        if s.found[e].sum() >= 3:
            games.end_episode(w, e)

    def write_gem(w, s, e, i, out):
        out[:] = s.gem[e]

    def write_present(w, s, e, i, out):
        for j in range(out.shape[0]):
            out[j] = games.is_present(w, e, j)

    def metric_found(w, s, e):
        return s.found[e].sum()

    def check(w, s, e):
        x, y = s.gem[e]
        is_inside = 0 <= x < w.components.shape[1] and 0 <= y < w.components.shape[2]
        return is_inside and w.components[w.map_index[e], x, y] > 0

    def marks(scene):
        yield games.Mark(scene.gem, "#8e24aa", "G")


class Toll(Game):
    """Each step costs what its cell costs; the game writes for agents that take no part, too."""

    options = {"toll": 0.5}
    parts = {"here": PartSpec(np.int64, "1", 0, 3, "the price of the agent's cell.")}

    class State(NamedTuple):
        price: Annotated[NDArray[np.int64], "E W H"]
        paid: Annotated[NDArray[np.float64], "E"]

    def begin(w, s, e):
        for x in range(w.components.shape[1]):
            for y in range(w.components.shape[2]):
                s.price[e, x, y] = games.draw_integer(w, e, 0, 4)
        for i in range(w.location.shape[1]):
            if not games.is_present(w, e, i):
                w.location[e, i], w.target[e, i] = 10**9, -1

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            price = s.toll * s.price[e, w.location[e, i, 0], w.location[e, i, 1]]
            w.rewards[e, i] -= price
            if games.is_present(w, e, i):
                s.paid[e] += price
            if i >= w.num_agents[e]:
                w.location[e, i], w.target[e, i], w.outcomes[e, i] = -7, 10**9, 3

    def write_here(w, s, e, i, out):
        out[0] = s.price[e, w.location[e, i, 0], w.location[e, i, 1]]

    def metric_paid(w, s, e):
        return s.paid[e]


class Recall(Game):
    """Each agent sees its own cue in the first observation only, and gets 1 if its fourth action is the cue."""

    targets = False
    parts = {"cue": PartSpec(np.uint8, "1", 0, 2, "1 or 2 at the beginning, then 0.")}

    class State(NamedTuple):
        cue: Annotated[NDArray[np.int64], "E N"]

    def begin(w, s, e):
        for i in range(s.cue.shape[1]):
            s.cue[e, i] = games.draw_integer(w, e, 1, 3)

    def after_moves(w, s, e):
        if w.steps[e] == 4:
            for i in range(s.cue.shape[1]):
                w.rewards[e, i] = w.actions[e, i] == s.cue[e, i]
            games.end_episode(w, e)

    def write_cue(w, s, e, i, out):
        out[0] = s.cue[e, i] if w.steps[e] == 0 else 0


class Task(enum.IntEnum):
    """What pays in a kitchen."""

    TAKE = 0
    TURN = 1


LAYOUTS = {
    "wide": ("....#\n.....\n#....", (1, 2)),
    "split": (".....\n..#..\n.....", (3, 5)),
    "small": ("...\n...", (7, 8)),
}


class Kitchen(Game):
    """All that a game may have beside its rules: layouts with prices, tasks, scratch, infos, own spaces, pictures."""

    actions = ("turn", "take", "wave")
    targets = False
    options = {"layouts": ("wide", "split"), "task": Task.TAKE, "waves": False}
    parts = {
        "direction": PartSpec(np.int64, "1", 0, 3, "where it looks."),
        "reach": PartSpec(np.uint8, "W H", 0, 1, "1 where it can be after two steps."),
        "order": PartSpec(np.int64, "1", 0, 1, "the task."),
    }
    infos = {
        "shaped": PartSpec(np.float64, "1", 0, 99, "half of what it holds, and the price."),
        "held": PartSpec(np.int32, "1", 0, 99, "what it holds."),
    }

    class State(NamedTuple):
        direction: Annotated[NDArray[np.int64], "E N"]
        held: Annotated[NDArray[np.int64], "E N"]
        queue: Annotated[NDArray[np.int64], "E W*H 3", games.SCRATCH]
        price: Annotated[NDArray[np.float64], "M 2"]

    def prepare(c):
        maps, prices = zip(*(LAYOUTS[name] for name in c.layouts), strict=True)
        return {
            "walls": maps,
            "price": prices,
            "actions": 3 if c.waves else 2,
            "orders": ("take it", "turn"),
            "max_cycles": 25,
            "observe": ("direction", "reach", "order"),
        }

    def observation_space(c):
        reach = spaces.Box(0, 1, (5, 3) if len(c.layouts) > 1 else (3, 2), np.uint8)
        order = spaces.Text(7, charset="aeiknrtu ")
        return spaces.Dict(direction=spaces.Discrete(4), reach=reach, order=order, other=order)

    def make_observations(c, parts):
        made = dict(parts)
        if "direction" in parts:
            made["direction"] = parts["direction"][:, 0]
        if "order" in parts:
            made["order"] = made["other"] = np.array(c.orders)[parts["order"][:, 0]]
        return made

    def place(w, s, e):
        for i in range(w.location.shape[1]):
            w.location[e, i, 0], w.location[e, i, 1] = games.draw_free_cell(w, e)

    def begin(w, s, e):
        for i in range(w.location.shape[1]):
            s.direction[e, i] = games.draw_integer(w, e, 0, 4)

    def after_moves(w, s, e):
        price = s.price[w.map_index[e], s.task]
        if w.max_cycles > 0:
            price *= 1 - 0.9 * w.steps[e] / w.max_cycles
        for i in range(w.location.shape[1]):
            if w.actions[e, i] == 5:
                s.direction[e, i] = (s.direction[e, i] + 1) % 4
            if w.actions[e, i] == 6:
                s.held[e, i] += 1
            if (s.task == Task.TAKE and w.actions[e, i] == 6) or (s.task == Task.TURN and w.actions[e, i] == 5):
                w.rewards[e, i] = price
        if s.held[e].sum() >= 9:
            games.end_episode(w, e)

    def write_direction(w, s, e, i, out):
        out[0] = s.direction[e, i]

    def write_reach(w, s, e, i, out):
        out[:] = 0
        queue, height, last = s.queue[e], w.components.shape[2], 1
        queue[0, 0], queue[0, 1], queue[0, 2] = w.location[e, i, 0], w.location[e, i, 1], 0
        out[queue[0, 0] * height + queue[0, 1]] = 1
        first = 0
        while first < last:
            for k in range(4):
                x, y = queue[first, 0] + games.DIRECTIONS[k, 0], queue[first, 1] + games.DIRECTIONS[k, 1]
                is_inside = 0 <= x < w.components.shape[1] and 0 <= y < height
                if (
                    is_inside
                    and w.components[w.map_index[e], x, y] > 0
                    and out[x * height + y] == 0
                    and queue[first, 2] < 2
                ):
                    queue[last, 0], queue[last, 1], queue[last, 2] = x, y, queue[first, 2] + 1
                    out[x * height + y] = 1
                    last += 1
            first += 1

    def write_order(w, s, e, i, out):
        out[0] = s.task

    def write_info_shaped(w, s, e, i):
        return 0.5 * s.held[e, i] + s.price[w.map_index[e], s.task]

    def write_info_held(w, s, e, i):
        return s.held[e, i]

    def metric_total(w, s, e):
        return s.held[e].sum()

    def check(w, s, e):
        return s.direction[e].min() >= 0 and s.direction[e].max() < 4

    def marks(scene):
        yield games.Mark((0, 0) if scene.walls[4, 0] else (1, 1), "#c5e1a5", str(int(scene.price[0])))
        for i, direction in enumerate(scene.direction.tolist()):
            held = scene.held[i]
            yield games.Badge(i, direction, "#ffd54f" if held else "", str(held)[:2] if held else "")

    def colours(scene):
        return [("#0072b2", "#d55e00")[i % 2] for i in range(len(scene.agents))]

    def picture(scene):
        frame = np.full((scene.height, scene.width, 3), 255, np.uint8)
        frame[scene.walls.T] = 70
        if "reach" in scene.parts:
            frame[scene.parts["reach"][0].T == 1] = (200, 255, 200)
        frame[scene.agents[:, 1], scene.agents[:, 0]] = 0
        return frame.repeat(4, axis=0).repeat(4, axis=1)


class Crew(RoboticWarehouse):
    """The warehouse, in a class of another name."""


class Pickers(Foraging):
    """Foraging, in a class of another name."""


SETTINGS = {
    KeyAndDoor: {"size": (5, 4), "num_agents": 3, "on_target": "restart", "max_cycles": 40, "penalty": 0.25},
    Hop: {"size": (7, 5), "num_agents": 4, "observe": ("agent", "others", "action_mask"), "chance": 0.75},
    Walk: {"size": (4, 3), "num_agents": 2, "collisions": "none", "max_cycles": 9},
    Wide: {"size": (6, 3), "num_agents": 2, "on_target": "leave", "max_cycles": 30, "bonus": 7, "flatten": True},
    RoboticWarehouse: {"num_agents": 3, "shelf_rows": 2, "shelf_columns": 1, "column_height": 4, "max_steps": 30},
    Foraging: {"num_agents": 3, "size": (6, 5), "max_num_food": 3, "sight": 2, "max_episode_steps": 20, "penalty": 0.5},
    Kitchen: {"num_agents": 3, "task": "turn", "observe": ("order", "reach", "direction")},
    Gems: {
        "walls": RandomWalls(side=(4, 6), density=(0.1, 0.4)),
        "num_agents": 5,
        "least_agents": 2,
        "delays": Delays(0.2, (1, 3)),
        "max_cycles": 40,
        "observe": ("agent", "others", "view", "gem", "present", "action_mask"),
    },
    Toll: {
        "walls": Mazes(size=(5, 3), loops=0.5),
        "num_agents": 4,
        "least_agents": 1,
        "on_target": "leave",
        "delays": 0.3,
        "max_cycles": 25,
        "observe": ("agent", "target", "offset", "delayed", "here"),
    },
}
"""The games, and those of the package, with keywords for `multigrid.parallel_env`."""
SETTINGS |= {
    Crew: {**SETTINGS[RoboticWarehouse], "num_agents": 5, "least_agents": 2, "delays": 0.2},
    Pickers: {**SETTINGS[Foraging], "num_agents": 4, "least_agents": 1, "delays": (0.1, 1, 4)},
}
VARYING = (Gems, Toll, Crew, Pickers)
"""Those whose worlds vary: drawn maps, a drawn number of agents, delays."""


PAY = np.array([[4.0, 1.0], [0.0, 2.0]])
"""What each agent of `Payoffs` gets if agent_0 plays the action of the row, and agent_1 that of the column."""


class Payoffs(Game):
    """A matrix game of one step; agent_0 also gets a number from 0 to 6 that the seed decides."""

    moves = False
    targets = False
    actions = ("high", "low")
    parts = {"nothing": PartSpec(np.int64, "1", 0, 0, "0.")}

    class State(NamedTuple):
        bonus: Annotated[NDArray[np.int64], "E"]

    def begin(w, s, e):
        s.bonus[e] = games.draw_integer(w, e, 0, 7)

    def step(w, s, e):
        for i in range(w.num_agents[e]):
            w.rewards[e, i] = PAY[w.actions[e, 0], w.actions[e, 1]]
        w.rewards[e, 0] += s.bonus[e]
        games.end_episode(w, e)

    def write_nothing(w, s, e, i, out):
        out[0] = 0

    def metric_bonus(w, s, e):
        return s.bonus[e]


class Teamed(Payoffs):
    """The same with teams of its own."""

    def team(i):
        return int(i == 0)
