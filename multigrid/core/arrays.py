"""The arrays of E worlds, and their address table: the one pointer from which a kernel reads where they are."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from multigrid.parts import PARTS, Part
from multigrid.runtime.compiled import Function
from multigrid.runtime.tables import CONSTANT, Scratch, Table, read_rows

TRAVELLING, PARKED, LEFT = range(3)
"""The status of an agent."""

NOBODY = -1
"""The entry of a cell without an agent."""

(
    COLLISIONS,
    ON_TARGET,
    SHARED_REWARD,
    MAX_CYCLES,
    NUM_ACTIONS,
    AUTORESET,
    DELAY_EVENTS,
    LEAST_DELAY,
    LEAST_AGENTS,
    RADIUS,
) = range(10)
"""The indices of `Arrays.settings`; `LEAST_AGENTS` is the least number of agents of an episode, `RADIUS` of views."""

ABSENT = -1
"""Stands for the cells of an agent that takes no part in an episode."""

RANDOM = -1
"""Stands for the index of a random map."""

Int8: TypeAlias = NDArray[np.int8]
Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
UInt8: TypeAlias = NDArray[np.uint8]
UInt64: TypeAlias = NDArray[np.uint64]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Bool: TypeAlias = NDArray[np.bool_]


class Arrays(NamedTuple):
    """The arrays of E worlds; each line gives a dtype and named extents.

    N agents in each world, on one of M maps of W x H cells with up to C - 1 components; A actions, B with those of
    delayed agents; messages of b bits; S words of a random stream; a view of r cells each way; images of t pixels a
    cell; P parts of D numbers in a flat observation; L the longer side; lists of up to T targets. The arrays of parts
    that are not observed are empty, and so are `layouts` where the maps show no agents, and those of lists while no
    world has any. The parts *agent* and *target* are `location` and `target`.
    """

    # The description of the worlds.
    settings: Annotated[Int64, "10"]  # by the indices above
    components: Annotated[Int32, "M W H", CONSTANT]  # 0 at walls, else the number of the connected component
    component_sizes: Annotated[Int64, "M C", CONSTANT]  # cells by component; at least 2 in a game without targets
    moves: Annotated[Int8, "M W H B", CONSTANT]  # the outcome of each action in a cell, ignoring other agents
    blocked: Annotated[UInt8, "M W+2r H+2r", CONSTANT]  # 1 at walls and outside, for views
    map_options: Annotated[Float64, "G", CONSTANT]  # of a generator of maps, see `multigrid.core.drawn_maps`
    layouts: Annotated[Int64, "M N 4", CONSTANT]  # x, y, target x, target y of every episode on a map
    layout_lists: Annotated[Int64, "M N T 2", CONSTANT]  # their lists of targets, as `target_lists`
    delay_counts: Annotated[Float64, "K", CONSTANT]  # as `multigrid._delays.tabulate_counts`; none without delays
    delay_durations: Annotated[Float64, "U", CONSTANT]  # as `multigrid._delays.tabulate_durations`

    # The state, in full.
    streams: Annotated[UInt64, "E S"]  # see multigrid.runtime.pcg64
    map_index: Annotated[Int64, "E"]
    num_agents: Annotated[Int64, "E"]  # of this episode: the first so many of N; the others have left before it
    steps: Annotated[Int64, "E"]  # steps played in this episode; -1 before the first
    episode_over: Annotated[Bool, "E"]  # the episode has ended for everyone
    location: Annotated[Int64, "E N 2"]  # the last one for an agent that has left
    target: Annotated[Int64, "E N 2"]
    status: Annotated[Int8, "E N"]  # TRAVELLING, PARKED or LEFT
    arrivals: Annotated[Int64, "E N"]  # how often the agent has arrived in this episode
    arrival_step: Annotated[Int64, "E N"]  # the step of the last arrival; -1 before it, and under *stay* off the target
    target_lists: Annotated[Int64, "E N T 2"]  # each agent's targets in order, then rows of NO_TARGET
    list_lengths: Annotated[Int64, "E N"]  # how many targets that are; 0 without lists
    delay_streams: Annotated[UInt64, "E 6"]  # the streams that delays are drawn from; none without delays
    delay_left: Annotated[Int64, "E N"]  # steps of the agent's delay, that of the last step among them; 0 without one
    delayed_steps: Annotated[Int64, "E N"]  # steps of this episode in which the agent was delayed

    messages: Annotated[Int8, "E N b"]  # the bits of the last step, 0 of an agent that had left; none without messages

    beginnings: Annotated[Int64, "E N 4"]  # where maps are drawn, the layout at the beginning, or ABSENT

    level_ids: Annotated[Int64, "E"]  # the number of the episode's level, or ABSENT; see multigrid.core.drawn_maps
    next_cells: Annotated[Int64, "E N 4"]  # the layout of the level of the next episode; ABSENT for agent 0 without one
    next_walls: Annotated[Bool, "E W H"]
    next_ids: Annotated[Int64, "E"]
    next_own: Annotated[Bool, "E"]  # whether that level has the State of a game

    # The results of the last reset or step.
    rewards: Annotated[Float64, "E N"]
    terminated: Annotated[Bool, "E N"]
    truncated: Annotated[Bool, "E N"]
    num_ended: Annotated[Int64, "E"]  # how many agents were terminated or truncated
    outcomes: Annotated[Int64, "E N"]
    distances: Annotated[Float64, "E N"]  # L1, in cells
    arrived: Annotated[Int64, "E N"]  # 1 if the last step has raised `arrivals`, else 0

    # The observations, written by multigrid.core.observe; a part is a row of numbers for each agent.
    outdated: Annotated[Bool, "E"]  # the world has changed since its observations were written
    others_part: Annotated[NDArray[Any], "E N", PARTS["others"]]
    offset_part: Annotated[NDArray[Any], "E N", PARTS["offset"]]
    view_part: Annotated[NDArray[Any], "E N", PARTS["view"]]
    walls_part: Annotated[NDArray[Any], "E N", PARTS["walls"]]
    action_mask_part: Annotated[NDArray[Any], "E N", PARTS["action_mask"]]
    delayed_part: Annotated[NDArray[Any], "E N", PARTS["delayed"]]
    delay_left_part: Annotated[NDArray[Any], "E N", PARTS["delay_left"]]
    messages_part: Annotated[NDArray[Any], "E N", PARTS["messages"]]
    rgb_part: Annotated[NDArray[Any], "E N", PARTS["rgb"]]
    rgb_view_part: Annotated[NDArray[Any], "E N", PARTS["rgb_view"]]
    ground: Annotated[UInt8, "17 t 3*t", CONSTANT]  # of a cell in images, as `multigrid._tiles.paint_ground`
    sprites: Annotated[UInt8, "8 N t*t 4", CONSTANT]  # agents and targets, as `multigrid._tiles.paint_sprites`
    flat: Annotated[Float32, "E N D"]  # all parts but the action mask in one, instead of them
    written_parts: Annotated[Int64, "P", CONSTANT]  # which parts observations are written of, by index in PARTS
    flat_sizes: Annotated[Int64, "P", CONSTANT]  # the numbers in each part, where they are in one
    scaled: Annotated[Float32, "2 L", CONSTANT]  # each x, then each y, scaled to 0 .. 1

    actions: Annotated[Int64, "E N"]  # the caller's; with their messages until the step begins
    failed: Annotated[Int64, "1"]  # 0, or which hook of a game has raised an exception, see multigrid.core.hooks

    # In these, the cell (x, y) has the index x * H + y.
    occupant: Annotated[Int32, "W*H", Scratch(NOBODY)]  # the agent in a cell, or NOBODY
    first_requester: Annotated[Int32, "W*H", Scratch(NOBODY)]  # the first agent that asks for a cell, or NOBODY
    own_cell: Annotated[Int64, "N", Scratch(None)]  # the cell that an agent is in
    requested: Annotated[Int64, "N", Scratch(None)]  # the cell that an agent asks for

    agent_grid: Annotated[UInt8, "W+2r H+2r", Scratch(0)]  # 1 at agents, for views
    refusal_reason: Annotated[Int64, "N", Scratch(None)]  # why a request would be refused
    component_agents: Annotated[Int64, "C", Scratch(0)]  # agents placed in a component

    own: Any = None
    """The arrays and options of a user's game; no row of the table."""
    hooks: Any = None
    """The functions that differ between games, see `multigrid.core.hooks`; in compiled code, those of the table's
    type."""

    @property
    def max_cycles(self) -> int:
        """The number of steps after which episodes are truncated; 0 for never."""
        return int(self.settings[MAX_CYCLES])


LEVEL_ARRAYS = ("beginnings", "level_ids", "next_cells", "next_walls", "next_ids", "next_own")
"""The arrays of levels, which are empty unless maps are drawn."""
MAP_ARRAYS = ("components", "component_sizes", "moves", "blocked")
"""The arrays that belong to a map; where maps are drawn, each world has its own, map m is that of world m."""
STATE_PARTS: dict[Part, str] = {"agent": "location", "target": "target"}
"""The parts that are the state itself, with their arrays."""
PART_ARRAYS: dict[Part, str] = {part: f"{part}_part" for part in PARTS} | STATE_PARTS
"""The array of each part of an observation that is not flattened."""


# N, W and H are read from one array for all.
_SOURCES = {"N": ("location", 1), "W": ("components", 1), "H": ("components", 2)}
_ITEMS = {"max_cycles": ("settings", MAX_CYCLES)}
ARRAYS = Table("multigrid.core.arrays.Arrays", Arrays, read_rows(Arrays), _SOURCES, _ITEMS)
"""The table of `Arrays`."""


def pack(arrays: Arrays, own: Table[Any] | None = None) -> Any:
    """Return a table of the arrays' addresses and shapes for a kernel to `unpack`; then that of `Arrays.own`, if any.

    Passing forty arrays to compiled code takes two microseconds, more than a step. The table is valid while the arrays
    exist. Interpreted kernels take the arrays as they are.
    """
    cells = ARRAYS.write_addresses(arrays)
    if own is None:
        return cells
    return np.concatenate([cells.ravel(), own.write_addresses(arrays.own).ravel()])[np.newaxis]


def _make_unpack() -> Any:
    from multigrid.runtime.table_types import make_unpack

    return make_unpack(ARRAYS)


def _unpack(address_table: Any) -> Arrays:
    """Return the arrays."""
    return cast("Arrays", address_table)


unpack: Any = Function(_unpack, _make_unpack)
