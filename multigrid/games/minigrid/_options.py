"""The options of Minigrid, checked; the missions of its tasks; and observations in Gymnasium's form."""

from __future__ import annotations

import functools
import string
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid._checks import check_int, check_size, shorten
from multigrid.games.minigrid._grid import BALL, BOX, KEY, LAVA, NUM_COLOURS, WALL
from multigrid.games.minigrid._pictures import NUM_TILES, draw_tiles
from multigrid.games.minigrid._tasks import Image, Missions, Task

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
THINGS = {KEY: "key", BALL: "ball", BOX: "box"}
_NUM_CHANNELS = 11 + NUM_COLOURS + 3
_LARGEST_VIEW = 61
_LARGEST_SIDE = 2**12
_SEEN_THROUGH = {
    *(Task.EMPTY, Task.DYNAMIC_OBSTACLES, Task.DIST_SHIFT, Task.FETCH, Task.GO_TO_DOOR, Task.GO_TO_OBJECT),
    Task.PUT_NEAR,
}
_OWN_MISSIONS = (Task.FETCH, Task.GO_TO_DOOR, Task.GO_TO_OBJECT, Task.PUT_NEAR)
_SYNTAXES = ("get a", "go get a", "fetch a", "go fetch a", "you must fetch a")
# The smallest sides with which a task can be drawn.
_SMALLEST = {
    Task.DOOR_KEY: 5,
    Task.CROSSING: 7,
    Task.LAVA_GAP: 5,
    Task.DIST_SHIFT: 7,
    Task.GO_TO_DOOR: 5,
    Task.MEMORY: 7,
    Task.FOUR_ROOMS: 7,
    Task.MULTI_ROOM: 7,
}
_ONLY_SIZES = {Task.LOCKED_ROOM: (19, 19), Task.PLAYGROUND: (19, 19)}
_MOST_ROWS = 20
_FIXED_MISSIONS = {
    Task.EMPTY: "get to the green goal square",
    Task.DYNAMIC_OBSTACLES: "get to the green goal square",
    Task.DOOR_KEY: "use the key to open the door and then get to the goal",
    Task.FOUR_ROOMS: "reach the goal",
    Task.MULTI_ROOM: "traverse the rooms to get to the goal",
    Task.LAVA_GAP: "avoid the lava and get to the green goal square",
    Task.DIST_SHIFT: "get to the green goal square",
    Task.MEMORY: "go to the matching object at the end of the hallway",
    Task.RED_BLUE_DOORS: "open the red door then the blue door",
    Task.PLAYGROUND: "",
    Task.UNLOCK: "open the door",
    Task.OBSTRUCTED_MAZE_1D: "pick up the blue ball",
    Task.OBSTRUCTED_MAZE: "pick up the blue ball",
}

# The words of missions in the order of their numbers, from 1 on, and the letters, from 0 on.
_WORDS = (
    "red green blue yellow purple grey unseen empty wall floor box key ball door goal agent lava pick avoid get find "
    "put use open go fetch reach unlock traverse up the a at , square and then to of rooms near opening must you "
    "matching end hallway object from room"
)
_LETTERS = string.ascii_lowercase + " ,"
_MOST_WORDS, _MOST_LETTERS = 50, 96
_DEADLY = {"lava": LAVA, "ball": BALL, "wall": WALL}


def list_missions(c: Any) -> list[str]:
    """Return the missions that a task may have, in the order of their numbers."""
    task = Task(c.task)
    if task == Task.CROSSING:
        return [_FIXED_MISSIONS[Task.LAVA_GAP] if c.lava else "find the opening and get to the green goal square"]
    if task in _FIXED_MISSIONS:
        return [_FIXED_MISSIONS[task]]
    things = [f"{colour} {thing}" for thing in THINGS.values() for colour in COLOURS]
    if task == Task.FETCH:
        return [f"{syntax} {thing}" for thing in things[: 2 * NUM_COLOURS] for syntax in _SYNTAXES]
    if task == Task.GO_TO_DOOR:
        return [f"go to the {colour} door" for colour in COLOURS]
    if task == Task.GO_TO_OBJECT:
        return [f"go to the {thing}" for thing in things]
    if task == Task.PUT_NEAR:
        return [f"put the {moved} near the {other}" for other in things for moved in things]
    if task == Task.LOCKED_ROOM:
        return [
            f"get the {locked} key from the {room} room, unlock the {locked} door and go to the goal"
            for room in COLOURS
            for locked in COLOURS
        ]
    thing = "ball" if task == Task.KEY_CORRIDOR else "box"
    return [f"pick up the {colour} {thing}" for colour in COLOURS]


def _find_size(c: Any, task: Task) -> tuple[int, int]:
    """Return the size of the grid, which some tasks have by their other options."""
    if task >= Task.UNLOCK:
        columns, rows = (2, 1) if task not in {Task.KEY_CORRIDOR, Task.OBSTRUCTED_MAZE} else (3, 3)
        if task == Task.KEY_CORRIDOR:
            rows = check_int("rows", c.rows, 1, most=_MOST_ROWS)
        least = 3 if task == Task.KEY_CORRIDOR else 5
        side = check_int("room_size", c.room_size, least, most=_LARGEST_SIDE // 3) - 1
        return columns * side + 1, rows * side + 1
    size = np.broadcast_to(check_size(8 if c.size is None else c.size), 2).tolist()
    least, only = _SMALLEST.get(task, 4), _ONLY_SIZES.get(task)
    is_odd = task in {Task.CROSSING, Task.MEMORY}
    if (only and tuple(size) != only) or (is_odd and min(size[0] % 2, size[1] % 2) == 0):
        expected = f"({only[0]}, {only[1]})" if only else "odd sides"
        raise ValueError(f"size is {shorten(c.size)}; expected {expected} for {task.name}")
    if task == Task.RED_BLUE_DOORS and size[0] != 2 * size[1]:
        raise ValueError(f"size is {shorten(c.size)}; expected a width of twice the height for {task.name}")
    if task == Task.PUT_NEAR and max(size) <= 5:
        raise ValueError(f"size is {shorten(c.size)}; expected a side of at least 6 for {task.name}")
    if min(size) < least or max(size) > _LARGEST_SIDE:
        raise ValueError(f"size is {shorten(c.size)}; expected sides from {least} to {_LARGEST_SIDE} for {task.name}")
    if task == Task.MULTI_ROOM:
        check_int("room_size", c.room_size, 4, most=min(size))
    return size[0], size[1]


def prepare(c: Any) -> dict[str, Any]:
    """Check the options; return the limit of steps, the extents and the constants."""
    task = Task(c.task)
    width, height = _find_size(c, task)
    num_agents = 2 if c.num_agents is None else c.num_agents
    view = check_int("agent_view_size", c.agent_view_size, 3, most=_LARGEST_VIEW)
    if view % 2 == 0:
        raise ValueError(f"agent_view_size is {view}; expected an odd number, for the agent is in the middle")
    if c.missions == Missions.OWN and task not in _OWN_MISSIONS:
        expected = ", ".join(one.name for one in _OWN_MISSIONS)
        raise ValueError(
            f"missions is OWN, but in {task.name} all agents have one; expected ONE, or a task of {expected}"
        )
    check_int("tile_size", c.tile_size, 1, most=512)
    check_int("start_column", c.start_column, 0, most=2)
    check_int("visited", c.visited, 1)
    count = _check_count(c, task, width, height)
    _check_agents(c, task, width, height, num_agents)
    through = task in _SEEN_THROUGH if c.see_through_walls is None else bool(c.see_through_walls)
    num_objects = {Task.FETCH: count, Task.GO_TO_OBJECT: count, Task.PUT_NEAR: count, Task.GO_TO_DOOR: 4}.get(task, 0)
    if task == Task.DYNAMIC_OBSTACLES:
        num_objects = count if count <= width / 2 + 1 else width // 2
    num_rooms = max(count, 1) if task == Task.MULTI_ROOM else 1
    if task >= Task.UNLOCK:
        num_rooms = ((width - 1) // (c.room_size - 1)) * ((height - 1) // (c.room_size - 1))
    num_missions = len(list_missions(c))
    size, is_rgb = check_int("tile_pixels", c.tile_pixels, 1, most=512), c.image >= Image.RGB
    images = {
        Image.PARTIAL: (view, view, 3),
        Image.FULL: (width, height, 3),
        Image.ONEHOT: (view, view, _NUM_CHANNELS + (num_agents > 1)),
        Image.RGB: (size * view, size * view, 3),
        Image.RGB_FULL: (size * height, size * width, 3),
    }
    image, num_colours = images[c.image], min(num_agents, NUM_COLOURS)
    if c.mission not in {"text", "number", "words", "letters"}:
        raise ValueError(f"mission is {shorten(c.mission)}; expected 'text', 'number', 'words' or 'letters'")
    if not 0 <= c.action_probability <= 1:
        raise ValueError(f"action_probability is {c.action_probability}; expected a number from 0 to 1")
    if not isinstance(c.no_death, tuple) or not set(c.no_death) <= _DEADLY.keys():
        raise ValueError(f"no_death is {shorten(c.no_death)}; expected a tuple of some of {', '.join(_DEADLY)}")
    if not np.isfinite(c.death_cost):
        raise ValueError(f"death_cost is {c.death_cost}; expected a finite number")
    return {
        "size": (width, height),
        "max_cycles": _find_limit(c, task, width, height),
        "observe": ("image", "direction", "mission"),
        "actions": 3 if task == Task.DYNAMIC_OBSTACLES else 7,
        "OBJECTS": num_objects,
        "ROOMS": num_rooms,
        "LENGTH": 64 + 2 * (width + height),
        "X": image[0],
        "Y": image[1],
        "Z": image[2],
        "MISSIONS": num_missions,
        "VIEW": view,
        "SEEN": 3 * view * view if c.image in {Image.ONEHOT, Image.RGB} else 0,
        "SHOWN": {Image.RGB: view * view, Image.RGB_FULL: width * height}.get(c.image, 0),
        "LOOKS": 2 * (1 + 4 * num_colours) if is_rgb else 0,
        "THINGS": NUM_TILES if is_rgb else 0,
        "PIXELS": 3 * size * size if is_rgb else 0,
        "tiles": draw_tiles(size, num_colours) if is_rgb else np.zeros((0, 0, 0), np.uint8),
        "through": np.array([through], np.uint8),
        "harmless": np.array([sum(1 << _DEADLY[name] for name in set(c.no_death))]),
        "num_missions": np.array([num_missions]),
    }


def _check_count(c: Any, task: Task, width: int, height: int) -> int:
    """Check what the option `count` counts in a task, and return it."""
    inner = (width - 2) * (height - 2)
    ranges = {
        Task.DYNAMIC_OBSTACLES: (0, inner - 2),
        Task.MULTI_ROOM: (2, max(2, width * height // 64)),
        Task.CROSSING: (1, (width - 3) // 2 + (height - 3) // 2),
        Task.DIST_SHIFT: (1, height - 2),
        Task.FETCH: (1, inner - 1),
        Task.GO_TO_OBJECT: (1, min(3 * NUM_COLOURS, inner - 1)),
        # Each thing keeps the others out of at most three columns and three rows.
        Task.PUT_NEAR: (2, min(3 * NUM_COLOURS, (inner - 1) // (3 * min(width - 2, height - 2, 3)) + 1)),
        Task.OBSTRUCTED_MAZE: (1, 4),
    }
    least, most = ranges.get(task, (c.count, c.count))
    if not least <= c.count <= most:
        where = f"for {task.name} on {width} x {height} cells"
        raise ValueError(f"count is {c.count}; expected an integer from {least} to {most} {where}")
    return int(c.count)


def _check_agents(c: Any, task: Task, width: int, height: int, num_agents: int) -> None:
    """Raise ValueError for more agents than have room where they begin, whatever is drawn."""
    inner, count, side = (width - 2) * (height - 2), c.count, c.room_size - 2
    rooms = {
        Task.DYNAMIC_OBSTACLES: inner - 1 - count,
        Task.DOOR_KEY: height - 3,
        Task.FOUR_ROOMS: inner - width - height,
        Task.MULTI_ROOM: 4,
        Task.CROSSING: width + height - 6 - count,
        Task.LAVA_GAP: height - 2,
        Task.DIST_SHIFT: 2 * (height - 2),
        Task.FETCH: inner - count,
        Task.GO_TO_OBJECT: inner - count,
        Task.PUT_NEAR: inner - count,
        Task.GO_TO_DOOR: 9,
        Task.MEMORY: 9 if c.random_length else width + 2,
        Task.RED_BLUE_DOORS: (height - 2) ** 2,
        Task.LOCKED_ROOM: 3 * (height - 2),
        Task.PLAYGROUND: inner - 2 * (width + height) - 12,
        Task.UNLOCK: side**2 - 1,
        Task.UNLOCK_PICKUP: side**2 - 1,
        Task.BLOCKED_UNLOCK_PICKUP: side**2 - 2,
        Task.KEY_CORRIDOR: side * (height - 2),
        Task.OBSTRUCTED_MAZE_1D: side**2 - 2,
        Task.OBSTRUCTED_MAZE: side**2 - 4,
    }
    room = rooms.get(task, inner - 1)
    if num_agents > room:
        size = f"{width} x {height} cells"
        raise ValueError(
            f"num_agents is {num_agents}, but where agents begin in {task.name} on {size} there may be room for {room} "
            "only; use fewer agents or a larger grid"
        )


def _find_limit(c: Any, task: Task, width: int, height: int) -> int:
    """Return the limit of steps of a task."""
    longest = max(width, height)
    squares = {Task.DOOR_KEY: 10, Task.FETCH: 5, Task.GO_TO_OBJECT: 5, Task.MEMORY: 5}
    fixed = {
        Task.FOUR_ROOMS: 100,
        Task.PLAYGROUND: 100,
        Task.MULTI_ROOM: 20 * c.count,
        Task.DIST_SHIFT: 4 * width * height,
        Task.PUT_NEAR: 5 * longest,
        Task.RED_BLUE_DOORS: 20 * height**2,
        Task.LOCKED_ROOM: 10 * width,
        Task.UNLOCK: 8 * c.room_size**2,
        Task.UNLOCK_PICKUP: 8 * c.room_size**2,
        Task.BLOCKED_UNLOCK_PICKUP: 16 * c.room_size**2,
        Task.KEY_CORRIDOR: 30 * c.room_size**2,
        Task.OBSTRUCTED_MAZE_1D: 8 * c.room_size**2,
        Task.OBSTRUCTED_MAZE: 4 * c.visited * c.room_size**2,
    }
    return max(1, fixed[task] if task in fixed else squares.get(task, 4) * longest**2)


def make_space(c: Any) -> spaces.Dict:
    """Return the space of an observation, its keys in the order of Gymnasium's dicts."""
    mission: dict[str, spaces.Space[Any]] = {
        "number": spaces.Discrete(c.MISSIONS),
        "text": spaces.Text(max(1, *map(len, list_missions(c))), min_length=0, charset=_LETTERS),
        "words": spaces.Box(0, len(_WORDS.split()), (_MOST_WORDS,), np.int64),
        "letters": spaces.Box(0, 1, (_MOST_LETTERS * len(_LETTERS),), np.uint8),
    }
    return spaces.Dict(
        direction=spaces.Discrete(4), image=spaces.Box(0, 255, (c.X, c.Y, c.Z), np.uint8), mission=mission[c.mission]
    )


def make_observations(c: Any, parts: Any) -> dict[str, Any]:
    """Return the observations of some agents: numbers for directions, and missions in the form that was chosen."""
    names = [name for name in ("direction", "image", "mission") if name in parts]
    made: dict[str, Any] = {name: parts[name] if name == "image" else parts[name][:, 0] for name in names}
    if "mission" in made and c.mission == "text":
        missions = list_missions(c)
        made["mission"] = tuple(missions[number] for number in made["mission"].tolist())
    elif "mission" in made and c.mission != "number":
        made["mission"] = _encode(tuple(list_missions(c)), c.mission)[made["mission"]]
    return made


@functools.cache
def _encode(missions: tuple[str, ...], form: str) -> NDArray[Any]:
    """Return missions as the numbers of their words, int64 (M, 50), or as zeros and ones, uint8 (M, 2688).

    The latter have a row of 28 for each letter, in which that of the letter is 1.
    """
    if form == "words":
        known, numbers = _WORDS.split(), np.zeros((len(missions), _MOST_WORDS), np.int64)
        for row, mission in zip(numbers, missions, strict=True):
            words = mission.replace(",", " ,").split()
            row[: len(words)] = [1 + known.index(word) for word in words]
        return numbers
    letters = np.zeros((len(missions), _MOST_LETTERS, len(_LETTERS)), np.uint8)
    for one, mission in zip(letters, missions, strict=True):
        one[np.arange(len(mission)), [_LETTERS.index(letter) for letter in mission]] = 1
    return letters.reshape(len(missions), -1)
