"""The multi-robot warehouse, as the package rware 2.0.0 plays it, draw for draw: first in prose, then in code.

Agents carry shelves that are requested to goals, and other shelves take their places in the queue of requests.

**Map.** Each cell is a way, a goal, which is a way too, or a place of a shelf. Shelves stand in *shelf_rows* times
*shelf_columns* blocks, each two cells wide and *column_height* cells high, with ways around them; the middle column of
the last row of blocks is a way down to two goals. A *layout* in text says it cell by cell: ``x`` for a shelf, ``.`` for
a way, ``g`` for a goal.

**Reset.** Different cells are drawn for the agents, then the direction of each, then the shelves that are requested.

**Step.** First the agents' messages change. Then each agent asks for a cell: the one ahead for *forward*, its own at
the edge of the map, and for all other actions. One that carries a shelf asks for its own cell if another shelf is
ahead, but not if an agent ahead carries it. An arrow from each agent's cell to the cell that it asks for joins cells.
Where arrows form a cycle of three or more, its agents move. Two that ask for each other's cells stay. So do all agents
whose arrows lead into a cycle, or to an agent that asks for its own cell. Otherwise a chain leads into an empty cell:
of the chains that lead there, the agents of the longest move, and all others stay. If chains of equally many agents
lead into one cell, `multigrid.games._ties.find_first` says which of the agents that ask for it comes first, and its
chain moves. Then agents act in their order. *Left* and *right* turn; *load* takes the shelf in the agent's cell, or
puts down the one that it carries, but not on a way. Then each goal with a requested shelf is a delivery, in the order
of goals: one of the shelves that are not requested takes the shelf's place in the queue.

**Reward.** A delivery pays 1: *individual* to the agent on the goal, *global* to all. With *two_stage* it pays the
agent .5, and another .5 when it puts down its shelf.

**End.** All agents terminate after *max_steps*, and after *max_inactivity_steps* without a delivery; 0 is no limit.

**Observe.** The part *vector* has the agent's own column, row, load, direction (one-hot: up, down, left, right), and
whether it is on a way; then for each cell of the square of *sensor_range* cells each way, row by row: agent, its
direction (as up if there is none), its message, shelf, requested shelf. The part *image* has layers of the square, with
*image_observation_directional* turned so that ahead is up. The part *features* has direction, way and load.

An agent that is delayed plays *none*.

With *fixed*, *max_steps* truncates, layers of directions and loads are not transposed, and the observations of type
*dict* have normalised locations as floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS, Action, Outcome
from multigrid.core.arrays import NOBODY
from multigrid.core.draws import choose, draw_integer
from multigrid.core.hooks import end_episode
from multigrid.game import Game
from multigrid.games._ties import find_first
from multigrid.games._warehouse_options import (
    NUM_CELL,
    NUM_DIRECTIONS,
    NUM_OWN,
    ImageLayer,
    ObservationType,
    RewardType,
    make_dicts,
    make_space,
    prepare,
)
from multigrid.games._words import describe_warehouse
from multigrid.parts import PartSpec
from multigrid.rendering._scene import Mark
from multigrid.runtime.compiled import inlined, kernel

if TYPE_CHECKING:
    from gymnasium import spaces

NONE, FORWARD, LEFT, RIGHT, LOAD = range(5)
UP, DOWN, WEST, EAST = range(4)
# There, y - 1 is up.
_AHEAD = DIRECTIONS[[Action.DOWN, Action.UP, Action.LEFT, Action.RIGHT]]
_TURNED = np.array([[WEST, EAST, DOWN, UP], [EAST, WEST, UP, DOWN]])  # left, right
_MOVED, _EDGE = int(Outcome.MOVED), int(Outcome.EDGE)
_OCCUPIED, _CONTESTED, _SWAP = int(Outcome.OCCUPIED), int(Outcome.CONTESTED), int(Outcome.SWAP)


_GLOBAL, _TWO_STAGE = int(RewardType.GLOBAL), int(RewardType.TWO_STAGE)
_SHELVES, _REQUESTS, _AGENTS, _AGENT_DIRECTION, _AGENT_LOAD, _GOALS, _ACCESSIBLE = map(int, ImageLayer)


class RoboticWarehouse(Game):
    """The multi-robot warehouse."""

    moves = False
    targets = False
    walls = False
    departures = False
    idle = "none"
    actions = ("none", "forward", "left", "right", "load")
    options: ClassVar[Mapping[str, Any]] = {
        "shelf_columns": 3,
        "column_height": 8,
        "shelf_rows": 1,
        "sensor_range": 1,
        "request_queue_size": 2,
        "msg_bits": 0,
        "max_inactivity_steps": 0,
        "max_steps": 500,
        "reward_type": RewardType.INDIVIDUAL,
        "layout": None,
        "observation_type": ObservationType.FLATTENED,
        "image_observation_layers": ("SHELVES", "REQUESTS", "AGENTS", "GOALS", "ACCESSIBLE"),
        "image_observation_directional": True,
        "normalised_coordinates": False,
        "fixed": False,
    }
    training: ClassVar[Mapping[str, Any]] = {
        "normalised_coordinates": True,
        "steps": 8_000_000,
        "copies": 128,
        "rollout": 32,
        "hidden": (128, 128),
        "learning_rate": 5e-4,
        "gamma": 0.99,
        "entropy": 0.01,
        "epochs": 4,
        "batch_size": 2048,
        "expect": "about eleven minutes on one core; in rware-tiny-2ag-v2, one training delivered 12.6 shelves an "
        "episode. Larger warehouses take longer.",
    }
    parts: ClassVar[Mapping[str, PartSpec]] = {
        "vector": PartSpec(np.float32, "LENGTH", None, np.inf, "the agent itself, and the cells around it."),
        "image": PartSpec(np.float32, "LAYERS WINDOW WINDOW", 0, 4, "layers of the cells around the agent."),
        "features": PartSpec(np.float32, "6", None, np.inf, "direction (one-hot), on a way, and load."),
    }

    class State(NamedTuple):
        """Shelves have numbers from 1 on, in reading order of their first places; 0 is none."""

        direction: Annotated[NDArray[np.int64], "E N"]
        load: Annotated[NDArray[np.int64], "E N"]  # the shelf that an agent carries
        delivered: Annotated[NDArray[np.uint8], "E N"]  # 1 if an agent is paid for putting down its shelf
        shelf_in: Annotated[NDArray[np.int32], "E W H"]
        request: Annotated[NDArray[np.int64], "E R"]
        is_wanted: Annotated[NDArray[np.uint8], "E IDS"]  # 1 for a shelf in the queue
        idle: Annotated[NDArray[np.int64], "E"]  # steps since a delivery
        deliveries: Annotated[NDArray[np.int64], "E"]
        scratch: Annotated[NDArray[np.int64], "E ROOM"]
        shelves: Annotated[NDArray[np.int32], "W H"]  # the shelf that is in a cell at first
        is_way: Annotated[NDArray[np.uint8], "W H"]
        goal: Annotated[NDArray[np.int64], "G 2"]
        layer: Annotated[NDArray[np.int64], "LAYERS"]

    def prepare(c: Any) -> dict[str, Any]:
        return prepare(c)

    def observation_space(c: Any) -> spaces.Space[Any]:
        return make_space(c)

    def make_observations(c: Any, parts: Any) -> Any:
        return make_dicts(c, parts["vector"]) if "vector" in parts else parts

    def place(w, s, e):
        width, cells = w.components.shape[1], w.own_cell
        choose(w, e, cells[: w.num_agents[e]], width * w.components.shape[2])
        for i in range(w.num_agents[e]):
            w.location[e, i, 0], w.location[e, i, 1] = cells[i] % width, cells[i] // width

    def begin(w, s, e):
        for i in range(w.num_agents[e]):
            s.direction[e, i] = draw_integer(w, e, 0, NUM_DIRECTIONS)
        for x in range(w.components.shape[1]):
            for y in range(w.components.shape[2]):
                s.shelf_in[e, x, y] = s.shelves[x, y]
        choose(w, e, s.request[e], s.is_wanted.shape[1] - 1)
        for k in range(s.request.shape[1]):
            s.request[e, k] += 1
            s.is_wanted[e, s.request[e, k]] = 1

    def step(w, s, e):
        _resolve(w, s, e)
        _act(w, s, e)
        _deliver(w, s, e)
        is_idle = s.max_inactivity_steps > 0 and s.idle[e] >= s.max_inactivity_steps
        if is_idle or (s.max_steps > 0 and w.steps[e] >= s.max_steps and not s.fixed):
            end_episode(w, e)

    def write_vector(w, s, e, i, out):
        x, y, radius, bits = w.location[e, i, 0], w.location[e, i, 1], s.sensor_range, s.msg_bits
        width, height, size = w.components.shape[1], w.components.shape[2], NUM_CELL + bits
        out[:] = 0
        out[0], out[1], out[2] = x, y, s.load[e, i] > 0
        if s.normalised_coordinates:
            out[0], out[1] = x / max(width - 1, 1), y / max(height - 1, 1)
        out[3 + s.direction[e, i]] = 1
        out[7] = s.is_way[x, y]
        at = NUM_OWN
        for to_y in range(y - radius, y + radius + 1):
            for to_x in range(x - radius, x + radius + 1):
                out[at + 1] = 1
                if 0 <= to_x < width and 0 <= to_y < height:
                    shelf = s.shelf_in[e, to_x, to_y]
                    out[at + size - 2], out[at + size - 1] = shelf > 0, s.is_wanted[e, shelf]
                at += size
        for j in range(w.num_agents[e]):
            column, row = w.location[e, j, 0] - x + radius, w.location[e, j, 1] - y + radius
            if 0 <= column <= 2 * radius and 0 <= row <= 2 * radius:
                at = NUM_OWN + (row * (2 * radius + 1) + column) * size
                out[at], out[at + 1] = 1, 0
                out[at + 1 + s.direction[e, j]] = 1
                for bit in range(bits):
                    out[at + 5 + bit] = w.messages[e, j, bit]

    def write_image(w, s, e, i, out):
        x, y, radius = w.location[e, i, 0], w.location[e, i, 1], s.sensor_range
        width, height, side = w.components.shape[1], w.components.shape[2], 2 * s.sensor_range + 1
        direction = s.direction[e, i] if s.image_observation_directional else UP
        out[:] = 0
        for k in range(s.layer.shape[0]):
            layer = s.layer[k]
            for to_y in range(max(y - radius, 0), min(y + radius + 1, height)):
                for to_x in range(max(x - radius, 0), min(x + radius + 1, width)):
                    value = _look(w, s, e, layer, to_x, to_y)
                    at = _turn(to_y - y + radius, to_x - x + radius, side, direction)
                    out[k * side * side + at] = value

    def write_features(w, s, e, i, out):
        out[:] = 0
        out[s.direction[e, i]] = 1
        out[4], out[5] = s.is_way[w.location[e, i, 0], w.location[e, i, 1]], s.load[e, i] > 0

    def metric_deliveries(w, s, e):
        return s.deliveries[e]

    def check(w, s, e):
        return _check(w, s, e)

    def paint(w, s, e, i, x, y):
        colour, shelf = 0xFFFFFF, s.shelf_in[e, x, y]
        for k in range(s.goal.shape[0]):
            if s.goal[k, 0] == x and s.goal[k, 1] == y:
                colour = 0x90A4AE
        if shelf > 0:
            colour = 0xFFCC80 if s.is_wanted[e, shelf] else 0xB0BEC5
        for j in range(w.num_agents[e]):
            dx, dy = _AHEAD[s.direction[e, j]]
            if w.location[e, j, 0] + dx == x and w.location[e, j, 1] + dy == y:
                return (colour & 0xFEFEFE) >> 1  # half as bright, where an agent looks
        return -1 if colour == 0xFFFFFF else colour

    def marks(scene: Any) -> Iterator[Mark]:
        ground = {tuple(cell): ("#90a4ae", "G") for cell in scene.goal.tolist()}
        for x, y in np.argwhere(scene.shelf_in).tolist():
            ground[x, y] = ("#ffcc80" if scene.is_wanted[scene.shelf_in[x, y]] else "#b0bec5", "")
        # An arrow in the cell ahead of each agent.
        ahead, directions = (scene.agents + _AHEAD[scene.direction])[scene.present], scene.direction[scene.present]
        for (x, y), direction in zip(ahead.tolist(), directions, strict=True):
            if 0 <= x < scene.width and 0 <= y < scene.height:
                ground[x, y] = (ground.get((x, y), ("#ffffff", ""))[0], "^v<>"[direction])
        for cell, (colour, letter) in ground.items():
            yield Mark(cell, colour, letter)

    def describe(scene: Any, i: int) -> str:
        return describe_warehouse(scene)


@inlined
def _resolve(w, s, e):
    """Set whether each agent moves."""
    num_agents, width, height = w.num_agents[e], w.components.shape[1], w.components.shape[2]
    own_cell, requested, occupant = w.own_cell, w.requested, w.occupant
    for i in range(num_agents):
        own_cell[i] = w.location[e, i, 0] * height + w.location[e, i, 1]
        occupant[own_cell[i]] = i
    for i in range(num_agents):
        requested[i], w.refusal_reason[i] = own_cell[i], 0
        if w.actions[e, i] == FORWARD:
            x = w.location[e, i, 0] + _AHEAD[s.direction[e, i], 0]
            y = w.location[e, i, 1] + _AHEAD[s.direction[e, i], 1]
            if x < 0 or y < 0 or x >= width or y >= height:
                w.outcomes[e, i] = _EDGE
                continue
            ahead = occupant[x * height + y]
            is_carried = ahead != NOBODY and s.load[e, ahead] > 0
            if s.load[e, i] > 0 and s.shelf_in[e, x, y] > 0 and not is_carried:
                w.outcomes[e, i] = _OCCUPIED
            else:
                requested[i] = x * height + y
    for i in range(num_agents):
        if requested[i] != own_cell[i]:
            w.outcomes[e, i] = _follow_chain(w, i)
    for i in range(num_agents):
        if w.outcomes[e, i] == _CONTESTED and occupant[requested[i]] == NOBODY:
            _move_longest_chain(w, s, e, requested[i])
    for i in range(num_agents):
        occupant[own_cell[i]] = NOBODY


@inlined
def _follow_chain(w, i):
    """Return the outcome of a request: _CONTESTED for a chain into an empty cell, as long as no chain is chosen.

    `Arrays.refusal_reason` has the length of the longest chain behind each agent.
    """
    j, length, occupant, own_cell, requested = i, 0, w.occupant, w.own_cell, w.requested
    while length <= own_cell.shape[0]:
        length += 1
        ahead = occupant[requested[j]]
        if ahead == NOBODY:
            return _CONTESTED
        if ahead == i:
            return _SWAP if length == 2 else _MOVED
        if requested[ahead] == own_cell[ahead]:
            return _OCCUPIED
        w.refusal_reason[ahead] = max(w.refusal_reason[ahead], length)
        j = ahead
    return _OCCUPIED


@inlined
def _move_longest_chain(w, s, e, cell):
    follower = 0
    while follower != NOBODY:
        follower, num_best = NOBODY, 0
        for j in range(w.num_agents[e]):
            if w.requested[j] == cell and w.own_cell[j] != cell:
                if w.outcomes[e, j] == _MOVED:
                    # This chain has been chosen before, for another one that leads into the cell.
                    return
                behind = -1 if follower == NOBODY else w.refusal_reason[follower]
                if w.refusal_reason[j] > behind:
                    follower, num_best = j, 1
                elif w.refusal_reason[j] == behind:
                    num_best += 1
        if num_best > 1:
            follower = find_first(w, w.num_agents[e], s.scratch[e], cell, w.refusal_reason[follower])
            s.scratch[e] = 0
        if follower != NOBODY:
            w.outcomes[e, follower] = _MOVED
            cell = w.own_cell[follower]


@inlined
def _act(w, s, e):
    for i in range(w.num_agents[e]):
        action, x, y = w.actions[e, i], w.location[e, i, 0], w.location[e, i, 1]
        if action == FORWARD and w.outcomes[e, i] == _MOVED:
            direction, shelf = s.direction[e, i], s.load[e, i]
            # The next agent in this cell may have brought another shelf.
            if shelf > 0 and s.shelf_in[e, x, y] == shelf:
                s.shelf_in[e, x, y] = 0
            x, y = x + _AHEAD[direction, 0], y + _AHEAD[direction, 1]
            w.location[e, i, 0], w.location[e, i, 1] = x, y
            if shelf > 0:
                s.shelf_in[e, x, y] = shelf
        elif action == LEFT or action == RIGHT:
            s.direction[e, i] = _TURNED[action - LEFT, s.direction[e, i]]
        elif action == LOAD and s.load[e, i] == 0:
            s.load[e, i] = s.shelf_in[e, x, y]
        elif action == LOAD and not s.is_way[x, y]:
            s.load[e, i] = 0
            if s.delivered[e, i] and s.reward_type == _TWO_STAGE:
                w.rewards[e, i] += 0.5
            s.delivered[e, i] = 0


@inlined
def _deliver(w, s, e):
    s.idle[e] += 1
    for k in range(s.goal.shape[0]):
        x, y = s.goal[k, 0], s.goal[k, 1]
        shelf = s.shelf_in[e, x, y]
        if shelf == 0 or not s.is_wanted[e, shelf]:
            continue
        s.idle[e] = 0
        s.deliveries[e] += 1
        _replace_request(w, s, e, shelf)
        for i in range(w.num_agents[e]):
            is_there = w.location[e, i, 0] == x and w.location[e, i, 1] == y
            if s.reward_type == _GLOBAL or is_there:
                w.rewards[e, i] += 0.5 if s.reward_type == _TWO_STAGE else 1.0
            if is_there and s.reward_type == _TWO_STAGE:
                s.delivered[e, i] = 1


@inlined
def _replace_request(w, s, e, shelf):
    """Draw another shelf into the place in the queue of one that was delivered."""
    num_shelves = s.is_wanted.shape[1] - 1
    drawn = draw_integer(w, e, 0, num_shelves - s.request.shape[1])
    new = 0
    while drawn >= 0:
        new += 1
        drawn -= int(not s.is_wanted[e, new])
    for k in range(s.request.shape[1]):
        if s.request[e, k] == shelf:
            s.request[e, k] = new
            break
    s.is_wanted[e, shelf], s.is_wanted[e, new] = 0, 1


@kernel
def _look(w, s, e, layer, x, y):
    """Return what a layer has in a cell."""
    if layer == _SHELVES or layer == _REQUESTS:
        shelf = s.shelf_in[e, x, y]
        return int(shelf > 0 if layer == _SHELVES else s.is_wanted[e, shelf] > 0)
    if layer == _GOALS:
        for k in range(s.goal.shape[0]):
            if s.goal[k, 0] == x and s.goal[k, 1] == y:
                return 1
        return 0
    if not s.fixed and (layer == _AGENT_DIRECTION or layer == _AGENT_LOAD):
        x, y = y, x
    for j in range(w.num_agents[e]):
        if w.location[e, j, 0] == x and w.location[e, j, 1] == y:
            if layer == _AGENT_DIRECTION:
                return s.direction[e, j] + 1
            return int(layer == _AGENTS or (layer == _AGENT_LOAD and s.load[e, j] > 0))
    return int(layer == _ACCESSIBLE)


@inlined
def _turn(row, column, side, direction):
    """Return the index of a cell of the square once what is ahead is up."""
    if direction == DOWN:
        row, column = side - 1 - row, side - 1 - column
    elif direction == WEST:
        row, column = column, side - 1 - row
    elif direction == EAST:
        row, column = side - 1 - column, row
    return row * side + column


@kernel
def _check(w, s, e):
    """Return whether play can lead to these shelves, loads and requests."""
    num_agents, num_shelves, num_requested = w.num_agents[e], s.is_wanted.shape[1] - 1, 0
    for shelf in range(1, num_shelves + 1):
        if s.is_wanted[e, shelf] > 1 or not _is_in_one_cell(w, s, e, shelf):
            return False
        num_requested += int(s.is_wanted[e, shelf])
    for k in range(s.request.shape[1]):
        if not 0 < s.request[e, k] <= num_shelves or not s.is_wanted[e, s.request[e, k]]:
            return False
        for j in range(k):
            if s.request[e, j] == s.request[e, k]:
                return False
    for i in range(num_agents):
        if not 0 <= s.direction[e, i] < NUM_DIRECTIONS or s.delivered[e, i] > 1:
            return False
        if s.load[e, i] != 0 and s.shelf_in[e, w.location[e, i, 0], w.location[e, i, 1]] != s.load[e, i]:
            return False
        for j in range(i):
            if w.location[e, i, 0] == w.location[e, j, 0] and w.location[e, i, 1] == w.location[e, j, 1]:
                return False
    is_whole = num_requested == s.request.shape[1] and s.is_wanted[e, 0] == 0
    return is_whole and 0 <= s.idle[e] <= w.steps[e] and s.deliveries[e] >= 0


@kernel
def _is_in_one_cell(w, s, e, shelf):
    """Return whether a shelf is in exactly one cell, and carried if that is a way."""
    count = 0
    for x in range(w.components.shape[1]):
        for y in range(w.components.shape[2]):
            if s.shelf_in[e, x, y] == shelf:
                count += 1
                is_carried = False
                for i in range(w.num_agents[e]):
                    is_there = w.location[e, i, 0] == x and w.location[e, i, 1] == y
                    is_carried = is_carried or (is_there and s.load[e, i] == shelf)
                if s.is_way[x, y] and not is_carried:
                    return False
    return count == 1
