"""The tasks of Minigrid and their ids, and what can be chosen."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any


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
    RGB = 3
    RGB_FULL = 4


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
