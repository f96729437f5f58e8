"""The tasks of Minigrid, with their ids, sizes, limits and missions, and observations in Gymnasium's form."""

from __future__ import annotations

import string
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid._checks import check_int, check_size, shorten
from multigrid.games.minigrid._grid import BALL, BOX, KEY, NUM_COLOURS

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
THINGS = {KEY: "key", BALL: "ball", BOX: "box"}


class Task(IntEnum):
    """What the agents have to do; the tasks from UNLOCK on are grids of rooms."""

    EMPTY = 0
    DYNAMIC_OBSTACLES = 1
    DOOR_KEY = 2
    FOUR_ROOMS = 3
    MULTI_ROOM = 4
    CROSSING = 5
    LAVA_GAP = 6
    DIST_SHIFT = 7
    FETCH = 8
    GO_TO_DOOR = 9
    GO_TO_OBJECT = 10
    PUT_NEAR = 11
    MEMORY = 12
    RED_BLUE_DOORS = 13
    LOCKED_ROOM = 14
    PLAYGROUND = 15
    UNLOCK = 16
    UNLOCK_PICKUP = 17
    BLOCKED_UNLOCK_PICKUP = 18
    KEY_CORRIDOR = 19
    OBSTRUCTED_MAZE_1D = 20
    OBSTRUCTED_MAZE = 21


class Image(IntEnum):
    """What the part *image* shows: the cells of the agent's view or of the whole grid, as numbers or in pixels."""

    PARTIAL = 0
    FULL = 1
    ONEHOT = 2


class Order(IntEnum):
    """In which order agents act in a step: drawn at its beginning, or that of their indices."""

    RANDOM = 0
    INDEX = 1


class Ends(IntEnum):
    """Whom a success ends: any success ends the episode, or each agent ends with its own."""

    ANY = 0
    EACH = 1


class Missions(IntEnum):
    """Whether agents have one mission, or each draws its own."""

    ONE = 0
    OWN = 1


NUM_CHANNELS = 11 + NUM_COLOURS + 3
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
    Task.GO_TO_DOOR: 5,
    Task.MEMORY: 7,
    Task.FOUR_ROOMS: 7,
}
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


def list_missions(c: Any) -> list[str]:
    """Return the missions that a task may have, in the order of their numbers."""
    task = Task(c.task)
    if task == Task.CROSSING:
        return ["avoid the lava and get to the green goal square" if c.lava else _CROSS_WALLS]
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


_CROSS_WALLS = "find the opening and get to the green goal square"


def _find_size(c: Any, task: Task) -> tuple[int, int]:
    """Return the size of the grid, which some tasks have by their other options."""
    if task >= Task.UNLOCK:
        columns, rows = 2, 1
        if task in {Task.KEY_CORRIDOR, Task.OBSTRUCTED_MAZE}:
            columns, rows = 3, check_int("rows", c.rows, 1, most=20)
        side = check_int("room_size", c.room_size, 3, most=_LARGEST_SIDE // 3) - 1
        return columns * side + 1, rows * side + 1
    size = np.broadcast_to(check_size(8 if c.size is None else c.size), 2).tolist()
    least = _SMALLEST.get(task, 4)
    if min(size) < least or max(size) > _LARGEST_SIDE:
        raise ValueError(f"size is {shorten(c.size)}; expected sides from {least} to {_LARGEST_SIDE} for {task.name}")
    return size[0], size[1]


def prepare(c: Any) -> dict[str, Any]:
    """Check the options; return the limit of steps, the extents and the constants."""
    task = Task(c.task)
    width, height = _find_size(c, task)
    view = check_int("agent_view_size", c.agent_view_size, 3, most=_LARGEST_VIEW)
    if view % 2 == 0:
        raise ValueError(f"agent_view_size is {view}; expected an odd number, for the agent is in the middle")
    if c.missions == Missions.OWN and task not in _OWN_MISSIONS:
        expected = ", ".join(one.name for one in _OWN_MISSIONS)
        raise ValueError(
            f"missions is OWN, but in {task.name} all agents have one; expected ONE, or a task of {expected}"
        )
    check_int("tile_size", c.tile_size, 1, most=512)
    count = check_int("count", c.count, 0, most=2**10)
    through = task in _SEEN_THROUGH if c.see_through_walls is None else bool(c.see_through_walls)
    num_objects = {Task.FETCH: count, Task.GO_TO_OBJECT: count, Task.PUT_NEAR: count, Task.GO_TO_DOOR: 4}.get(task, 0)
    if task == Task.DYNAMIC_OBSTACLES:
        num_objects = count if count <= width / 2 + 1 else width // 2
    num_rooms = max(count, 1) if task == Task.MULTI_ROOM else 1
    if task >= Task.UNLOCK:
        num_rooms = ((width - 1) // (c.room_size - 1)) * ((height - 1) // (c.room_size - 1))
    num_missions = len(list_missions(c))
    image = {Image.FULL: (width, height, 3), Image.ONEHOT: (view, view, NUM_CHANNELS)}.get(c.image, (view, view, 3))
    if c.mission not in {"text", "number"}:
        raise ValueError(f"mission is {shorten(c.mission)}; expected 'text' or 'number'")
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
        "SEEN": 3 * view * view if c.image == Image.ONEHOT else 0,
        "through": np.array([through], np.uint8),
        "num_missions": np.array([num_missions]),
    }


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
    missions = list_missions(c)
    letters = max(len(one) for one in missions)
    mission: spaces.Space[Any] = spaces.Discrete(c.MISSIONS)
    if c.mission == "text":
        mission = spaces.Text(max(letters, 1), min_length=0, charset=string.ascii_lowercase + " ,")
    return spaces.Dict(
        direction=spaces.Discrete(4), image=spaces.Box(0, 255, (c.X, c.Y, c.Z), np.uint8), mission=mission
    )


def make_observations(c: Any, parts: Any) -> dict[str, Any]:
    """Return the observations of some agents: numbers for directions, and words or numbers for missions."""
    made: dict[str, Any] = {}
    for name in ("direction", "image", "mission"):
        if name in parts:
            made[name] = parts[name] if name == "image" else parts[name][:, 0]
    if "mission" in made and c.mission == "text":
        missions = list_missions(c)
        made["mission"] = tuple(missions[number] for number in made["mission"].tolist())
    return made


def _name(kind: str, sizes: Iterable[int], **options: Any) -> dict[str, dict[str, Any]]:
    return {f"{kind}-{n}x{n}-v0": {"size": (n, n), **options} for n in sizes}


def list_ids() -> dict[str, dict[str, Any]]:
    """Return the options of each id of minigrid 3.2.0 that is neither of BabyAI nor of WFC, without ``MiniGrid-``."""
    ids: dict[str, dict[str, Any]] = {}

    def add(task: Task, found: dict[str, dict[str, Any]]) -> None:
        ids.update({name: {"task": task, **options} for name, options in found.items()})

    add(Task.EMPTY, _name("Empty", (5, 6, 8, 16)) | _name("Empty-Random", (5, 6), random_start=True))
    add(Task.DOOR_KEY, _name("DoorKey", (5, 6, 8, 16)))
    add(Task.FOUR_ROOMS, {"FourRooms-v0": {"size": (19, 19)}})
    chains = {"N2-S4-v0": (2, 4), "N4-S5-v0": (6, 5), "N4-S5-v1": (4, 5), "N6-v0": (6, 10)}
    for name, (count, most) in chains.items():
        add(Task.MULTI_ROOM, {f"MultiRoom-{name}": {"size": (25, 25), "count": count, "room_size": most}})
    for n, count in ((5, 2), (6, 3), (8, 4), (16, 8)):
        add(Task.DYNAMIC_OBSTACLES, _name("Dynamic-Obstacles", (n,), count=count))
        if n < 8:
            add(Task.DYNAMIC_OBSTACLES, _name("Dynamic-Obstacles-Random", (n,), count=count, random_start=True))
    for n, count in ((9, 1), (9, 2), (9, 3), (11, 5)):
        for kind in ("Lava", "Simple"):
            options = {"size": (n, n), "count": count, "lava": kind == "Lava"}
            add(Task.CROSSING, {f"{kind}CrossingS{n}N{count}-v0": options})
    for n in (5, 6, 7):
        add(Task.LAVA_GAP, {f"LavaGapS{n}-v0": {"size": (n, n)}})
    for number, row in ((1, 2), (2, 5)):
        add(Task.DIST_SHIFT, {f"DistShift{number}-v0": {"size": (9, 7), "count": row}})
    for n, count in ((5, 2), (6, 2), (8, 3)):
        add(Task.FETCH, {f"Fetch-{n}x{n}-N{count}-v0": {"size": (n, n), "count": count}})
    add(Task.GO_TO_DOOR, _name("GoToDoor", (5, 6, 8)))
    for n, count in ((6, 2), (8, 2)):
        add(Task.GO_TO_OBJECT, {f"GoToObject-{n}x{n}-N{count}-v0": {"size": (n, n), "count": count}})
    for n, count in ((6, 2), (8, 3)):
        add(Task.PUT_NEAR, {f"PutNear-{n}x{n}-N{count}-v0": {"size": (n, n), "count": count}})
    for n, kind in ((7, ""), (9, ""), (11, ""), (13, ""), (13, "Random"), (17, "Random")):
        add(Task.MEMORY, {f"MemoryS{n}{kind}-v0": {"size": (n, n), "random_length": bool(kind)}})
    for n in (6, 8):
        add(Task.RED_BLUE_DOORS, {f"RedBlueDoors-{n}x{n}-v0": {"size": (2 * n, n)}})
    add(Task.LOCKED_ROOM, {"LockedRoom-v0": {"size": (19, 19)}})
    add(Task.PLAYGROUND, {"Playground-v0": {"size": (19, 19)}})
    for task, name in ((Task.UNLOCK, "Unlock"), (Task.UNLOCK_PICKUP, "UnlockPickup")):
        add(task, {f"{name}-v0": {}})
    add(Task.BLOCKED_UNLOCK_PICKUP, {"BlockedUnlockPickup-v0": {}})
    for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3)):
        add(Task.KEY_CORRIDOR, {f"KeyCorridorS{size}R{rows}-v0": {"room_size": size, "rows": rows}})
    hard = {"in_box": True, "blocked": True}
    mazes: dict[str, dict[str, Any]] = {"l": {}, "lh": {"in_box": True}, "lhb": hard}
    for kind, options in mazes.items():
        add(Task.OBSTRUCTED_MAZE_1D, {f"ObstructedMaze-1D{kind}-v0": options})
        maze = {"count": 1, "start_column": 2, "visited": 4, **options}
        add(Task.OBSTRUCTED_MAZE, {f"ObstructedMaze-2D{kind}-v0": maze})
    quarters = {"1Q": (1, 1, 5), "2Q": (2, 2, 11), "Full": (4, 1, 25)}
    for kind, (count, column, visited) in quarters.items():
        maze = {"count": count, "start_column": column, "visited": visited, **hard}
        add(Task.OBSTRUCTED_MAZE, {f"ObstructedMaze-{kind}-v0": maze})
    for kind in ("2Dlhb", *quarters):
        options = {**ids[f"ObstructedMaze-{kind}-v0"], "keys_last": True}
        add(Task.OBSTRUCTED_MAZE, {f"ObstructedMaze-{kind}-v1": options})
    return ids


def read_missions(c: Any, numbers: NDArray[np.int64]) -> list[str]:
    """Return the missions of numbers."""
    missions = list_missions(c)
    return [missions[number] for number in np.asarray(numbers).ravel().tolist()]
