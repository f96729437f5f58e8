"""The options of the warehouse, the map that they describe, and the spaces of its observations."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid._checks import check_int, shorten
from multigrid._options import MOST_BITS, find_member

NUM_DIRECTIONS = 4
NUM_OWN, NUM_CELL = 8, 7
"""How many numbers the part *vector* has of the agent itself, and of each cell without messages."""
_SHELF, _WAY, _GOAL = "x", ".", "g"


class RewardType(enum.IntEnum):
    """Who is paid for a delivery."""

    GLOBAL = 0
    INDIVIDUAL = 1
    TWO_STAGE = 2


class ObservationType(enum.IntEnum):
    """The form of observations."""

    DICT = 0
    FLATTENED = 1
    IMAGE = 2
    IMAGE_DICT = 3


class ImageLayer(enum.IntEnum):
    """A layer of the part *image*."""

    SHELVES = 0
    REQUESTS = 1
    AGENTS = 2
    AGENT_DIRECTION = 3
    AGENT_LOAD = 4
    GOALS = 5
    ACCESSIBLE = 6


_PARTS = {
    ObservationType.DICT: ("vector",),
    ObservationType.FLATTENED: "vector",
    ObservationType.IMAGE: "image",
    ObservationType.IMAGE_DICT: ("image", "features"),
}


def _read_layout(text: str) -> NDArray[np.str_]:
    """Return the characters of a layout, (W, H)."""
    if not isinstance(text, str):
        raise TypeError(f"layout is {shorten(text)}; expected lines of x (shelf), . (way) and g (goal), as a str")
    lines = [line.replace(" ", "").lower() for line in text.strip().splitlines()]
    if not lines or len(set(map(len, lines))) != 1 or set("".join(lines)) - {_SHELF, _WAY, _GOAL}:
        raise ValueError(f"layout is {shorten(text)}; expected lines of one length, of x (shelf), . (way) and g (goal)")
    found: NDArray[np.str_] = np.array([list(line) for line in lines]).T
    if not (found == _GOAL).any():
        raise ValueError(f"layout is {shorten(text)}, without a goal; expected at least one g")
    return found


def _build_layout(c: Any) -> NDArray[np.str_]:
    for name in ("shelf_columns", "shelf_rows", "column_height"):
        check_int(name, getattr(c, name), 1)
    if c.shelf_columns % 2 == 0:
        raise ValueError(
            f"shelf_columns is {c.shelf_columns}; expected an odd number, for the middle one has the goals"
        )
    width, height = 3 * c.shelf_columns + 1, (c.column_height + 1) * c.shelf_rows + 2
    x, y = np.ogrid[:width, :height]
    middle = (x == width // 2 - 1) | (x == width // 2)
    is_way = (x % 3 == 0) | (y % (c.column_height + 1) == 0) | (y == height - 1)
    is_way |= (y > height - c.column_height - 3) & middle
    found = np.where(is_way, _WAY, _SHELF)
    found[(middle & (y == height - 1))] = _GOAL
    return found


def prepare(c: Any) -> dict[str, Any]:
    """Check the options; return the map as arrays, and the extents."""
    for name in ("sensor_range", "msg_bits", "request_queue_size", "max_steps", "max_inactivity_steps"):
        check_int(name, getattr(c, name), 0, most=MOST_BITS if name == "msg_bits" else 2**31)
    layout = _build_layout(c) if c.layout is None else _read_layout(c.layout)
    num_agents, num_shelves = 2 if c.num_agents is None else c.num_agents, int((layout == _SHELF).sum())
    width, height = layout.shape
    if c.request_queue_size >= max(num_shelves, 1):
        raise ValueError(
            f"request_queue_size is {c.request_queue_size}, and there are {num_shelves} shelves; expected fewer, for "
            "one that is not requested takes the place of one that is delivered"
        )
    if num_agents > layout.size:
        raise ValueError(f"there are {num_agents} agents, but the map has {width} x {height} cells")
    if not isinstance(c.image_observation_layers, tuple) or not c.image_observation_layers:
        raise ValueError(
            f"image_observation_layers is {shorten(c.image_observation_layers)}; expected a list of layers"
        )
    layers = [find_member("a layer", layer, ImageLayer) for layer in c.image_observation_layers]
    transposed = {ImageLayer.AGENT_DIRECTION, ImageLayer.AGENT_LOAD} & set(layers)
    is_image = c.observation_type in {ObservationType.IMAGE, ObservationType.IMAGE_DICT}
    if is_image and transposed and width != height and not c.fixed:
        raise ValueError(
            f"the layer {min(transposed).name} is transposed, which a map of {width} x {height} cells has no room for; "
            "use fixed=True, or a square map"
        )
    numbers = np.zeros(layout.shape, np.int64)
    numbers.T[layout.T == _SHELF] = np.arange(num_shelves) + 1  # in reading order
    room = 2 ** (4 * (num_agents + 1)).bit_length()
    side = 2 * c.sensor_range + 1
    return {
        "size": (width, height),
        "max_cycles": c.max_steps + (not c.fixed) if c.max_steps else None,  # the game itself ends sooner
        "observe": _PARTS[c.observation_type],
        "R": c.request_queue_size,
        "IDS": num_shelves + 1,
        **({"message_bits": c.msg_bits} if c.msg_bits else {}),
        "G": int((layout == _GOAL).sum()),
        "ROOM": num_agents + 1 + 2 * room,
        "LAYERS": len(layers),
        "WINDOW": side,
        "LENGTH": NUM_OWN + side * side * (NUM_CELL + c.msg_bits),
        "shelves": numbers,
        "is_way": layout != _SHELF,
        "goal": np.argwhere(layout.T == _GOAL)[:, ::-1],
        "layer": np.array(layers),
    }


def make_space(c: Any) -> spaces.Space[Any]:
    kind, side = c.observation_type, c.WINDOW
    high = np.array([NUM_DIRECTIONS if layer == ImageLayer.AGENT_DIRECTION else 1 for layer in c.layer], np.float32)
    highs = np.broadcast_to(high[:, None, None], (c.LAYERS, side, side))
    image = spaces.Box(np.zeros_like(highs), highs)
    features = spaces.Box(-np.inf, np.inf, (6,), np.float32)
    if kind == ObservationType.FLATTENED:
        return spaces.Box(-np.inf, np.inf, (c.LENGTH,), np.float32)
    if kind != ObservationType.DICT:
        return image if kind == ObservationType.IMAGE else spaces.Dict([("image", image), ("features", features)])
    one, direction = spaces.MultiBinary(1), spaces.Discrete(NUM_DIRECTIONS)
    last, dtype = (1, np.float32) if c.normalised_coordinates else (max(c.size), np.int32)
    location = spaces.Box(0, last, (2,), dtype)
    own: dict[str, spaces.Space[Any]] = {
        "location": location,
        "carrying_shelf": one,
        "direction": direction,
        "on_highway": one,
    }
    cell: dict[str, spaces.Space[Any]] = {"has_agent": one, "direction": direction}
    cell |= {"local_message": spaces.MultiBinary(c.msg_bits)} if c.msg_bits else {}
    cell |= {"has_shelf": one, "shelf_requested": one}
    # Gymnasium sorts the keys of a dict; pairs keep the order.
    seen = spaces.Tuple([spaces.Dict(list(cell.items()))] * side**2)
    return spaces.Dict([("self", spaces.Dict(list(own.items()))), ("sensors", seen)])


def make_dicts(c: Any, vectors: NDArray[np.float32]) -> dict[str, Any]:
    """Return the observations of some agents, (n, LENGTH), as nested dicts of arrays (n, ...)."""
    bits = vectors.astype(np.int8)
    location = vectors[:, :2].astype(np.float32 if c.normalised_coordinates and c.fixed else np.int32)
    direction = bits[:, 3:7].argmax(axis=1)
    own = {"location": location, "carrying_shelf": bits[:, 2:3], "direction": direction, "on_highway": bits[:, 7:8]}
    sensors = []
    for cell in np.split(bits[:, NUM_OWN:], c.WINDOW**2, axis=1):
        seen = {"has_agent": cell[:, :1], "direction": cell[:, 1:5].argmax(axis=1)}
        seen |= {"local_message": cell[:, 5:-2]} if c.msg_bits else {}
        sensors.append(seen | {"has_shelf": cell[:, -2:-1], "shelf_requested": cell[:, -1:]})
    return {"self": own, "sensors": tuple(sensors)}
