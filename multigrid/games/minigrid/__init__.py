"""Minigrid for several agents; with one, as the package minigrid 3.2.0 plays it, draw for draw: in prose, then in code.

Agents turn, walk, carry things and open doors on a grid, of which they see what is ahead of them.

**Cells.** A cell has a type, a colour and a state, with the numbers of `multigrid.games.minigrid._grid`. Types are
empty, wall, floor, door, key, ball, box, goal and lava. A door is open, closed or locked; all else has the state 0. A
box may hold a key, which is not seen.

**Draws.** Random integers, one after the other, from the stream of the world. A thing is placed by drawing x and then y
in a rectangle until the cell is empty and has no agent; an agent likewise, and then its direction. Colours are drawn in
the order of their names. `_worlds` says which tasks draw what, in the order of their draws; `_one_room` and `_rooms`
have the tasks.

**Several agents.** The world and agent 0 are drawn first, as if it were alone, so that they do not depend on the number
of agents. Then the others are placed in turn. They begin in the rectangle that agent 0 was placed in. Where its start
is fixed they begin anywhere in EMPTY and DYNAMIC_OBSTACLES, before the lava in LAVA_GAP and DIST_SHIFT, in the room or
the corridor in MEMORY, and in CROSSING in one of the parts that the path leads through, which is drawn. In KEY_CORRIDOR
they begin anywhere in the corridor.

**Step.** With an *action_probability* below 1, a number is drawn for each agent, and if it is not below that, a random
action, which the agent then plays. Agents act one after the other, in an order that is drawn at the beginning of each
step, or with ``order="index"`` in that of their indices. F is the cell ahead of an agent; outside the grid it is a
wall.

- *left*, *right*: the agent turns by a quarter.
- *forward*: it moves to F if that is empty, a goal, floor, lava or an open door, and has no agent, unless *overlap*
  allows it. On a goal it succeeds, in lava it fails.
- *pickup*: it takes a key, ball or box from F, unless it carries something. A box keeps its content.
- *drop*: it puts what it carries into F, if that is empty and has no agent.
- *toggle*: it opens a closed door in F, or a locked one if it carries a key of the door's colour, which it keeps. It
  closes an open door in which no agent stands. A box is replaced by what it holds, or by nothing.
- *done*: nothing.

The actions of DYNAMIC_OBSTACLES are the first three. There, before agents act, each ball in turn is placed in the
square of three cells around it; it stays if that fails 101 times. An agent fails, with a reward of -1, if it plays
*forward* and F was neither empty nor a goal before the balls moved, even if the ball has left and the agent moves.

**Rules of tasks**, after an agent's action:

- FETCH: if it carries something it ends, with success if that has the type and the colour of the mission.
- GO_TO_DOOR, GO_TO_OBJECT: it fails with *toggle*. With *done* it ends: it succeeds if it is directly beside the door,
  or beside the cell in which the object lay when the episode began, and fails otherwise.
- PUT_NEAR: it fails if it picks up another thing than the one to be moved. If it plays *drop* with a thing, it ends:
  with success if the thing lies at most one cell from that in which the other one lay when the episode began, also
  diagonally.
- MEMORY: *pickup* acts as *toggle*. It succeeds in the cell beside the matching object, and fails in that beside the
  other.
- RED_BLUE_DOORS: if it opens the blue door it ends, with success if the red one is open. If it opens the red one while
  the blue one is open, it fails.
- UNLOCK: it succeeds if it toggles with the door open.
- UNLOCK_PICKUP, BLOCKED_UNLOCK_PICKUP, KEY_CORRIDOR, OBSTRUCTED_MAZE: it succeeds if it picks up the box or the ball of
  the mission.

**Reward.** Success in step t pays 1 - 0.9 t / T, where T is the limit of steps, or 1 without a limit. With *pays_all*,
which is ``reward="all"`` of an id, every agent that has not left gets as much.

**End.** A failure ends the episode for the agent that fails, unless it enters lava, or in DYNAMIC_OBSTACLES runs into a
ball or a wall, that *no_death* names; then it is paid *death_cost* in addition. With ``ends="any"`` a success ends it
for all, with "each" for the agent that succeeds. An agent that has ended is gone: what it carries is put into its cell,
if that is empty and has no agent. After T steps the episode is truncated.

**View.** An agent sees a square of cells, itself in the middle of the last row, what is ahead of it being up. Cells
outside the grid are grey walls. Unless *see_through_walls*, sight starts from its own cell, and goes row by row: to
the right, then to the left, from cells that are visible to the next one, the one before that and the one straight
ahead; walls and doors that are not open let none through. Hidden cells are (0, 0, 0). Another agent is (10, colour,
direction), the colour being its index modulo 6, over what is in the cell; agents hide nothing. The agent's own cell
shows what it carries, or is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.game import Game
from multigrid.games.minigrid._options import make_observations, make_space, prepare
from multigrid.games.minigrid._pictures import draw_frame, list_colours, list_marks
from multigrid.games.minigrid._pixels import write_image
from multigrid.games.minigrid._play import play
from multigrid.games.minigrid._tasks import Ends, Image, Missions, Order, Task
from multigrid.games.minigrid._words import describe
from multigrid.games.minigrid._worlds import begin_world, check
from multigrid.parts import PartSpec
from multigrid.rendering._scene import Badge, Mark
from multigrid.runtime.tables import SCRATCH

if TYPE_CHECKING:
    from gymnasium import spaces

__all__ = ["Ends", "Image", "Minigrid", "Missions", "Order", "Task"]


class Minigrid(Game):
    """Agents carry keys and open doors on a grid."""

    moves = False
    targets = False
    walls = False
    actions = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
    options: ClassVar[Mapping[str, Any]] = {
        "task": Task.EMPTY,
        "count": 1,
        "room_size": 6,
        "rows": 3,
        "random_start": False,
        "random_length": False,
        "lava": False,
        "in_box": False,
        "blocked": False,
        "keys_last": False,
        "start_column": 1,
        "visited": 25,
        "agent_view_size": 7,
        "see_through_walls": None,
        "order": Order.RANDOM,
        "overlap": False,
        "ends": Ends.ANY,
        "pays_all": False,
        "missions": Missions.ONE,
        "action_probability": 1.0,
        "no_death": (),
        "death_cost": -1.0,
        "image": Image.PARTIAL,
        "mission": "number",
        "tile_pixels": 8,
        "tile_size": 32,
        "highlight": True,
        "agent_pov": False,
    }
    parts: ClassVar[Mapping[str, PartSpec]] = {
        "image": PartSpec(np.uint8, "X Y Z", 0, 255, "the cells that the agent sees, or all."),
        "direction": PartSpec(np.int64, "1", 0, 3, "where the agent looks: right, down, left, up."),
        "mission": PartSpec(np.int64, "1", 0, 2**20, "the number of its mission."),
    }

    training: ClassVar[Mapping[str, Any]] = {
        "image": Image.ONEHOT,
        "pays_all": True,
        "steps": 1_600_000,
        "copies": 32,
        "rollout": 128,
        "batch_size": 512,
        "epochs": 4,
        "learning_rate": 7e-4,
        "gamma": 0.99,
        "entropy": 0.02,
        "hidden": (64, 64),
        "expect": "three minutes on one core; two agents in DoorKey-8x8 earned 0.45 to 0.97 after half of the steps. "
        "In Empty-8x8, 200,000 steps were enough, with minibatches of 256.",
    }

    class State(NamedTuple):
        """Cells are type, colour and state, as Minigrid encodes them; things that are carried have 0 as their type."""

        cells: Annotated[NDArray[np.uint8], "E W H 3"]
        inside: Annotated[NDArray[np.uint8], "E W H"]  # 1 + the colour of the key in a box
        direction: Annotated[NDArray[np.int64], "E N"]
        carried: Annotated[NDArray[np.uint8], "E N 3"]  # type, colour, and what `inside` has for a box
        mission_number: Annotated[NDArray[np.int64], "E N"]
        aim: Annotated[NDArray[np.int64], "E N 6"]  # type, colour and cell of what is to be reached, and another cell
        ended: Annotated[NDArray[np.bool_], "E N"]
        objects: Annotated[NDArray[np.int64], "E OBJECTS 4"]  # first cell, type, colour; of obstacles their cells now
        made: Annotated[NDArray[np.bool_], "E"]
        through: Annotated[NDArray[np.uint8], "1"]
        harmless: Annotated[NDArray[np.int64], "1"]
        num_missions: Annotated[NDArray[np.int64], "1"]
        area: Annotated[NDArray[np.int64], "E 4", SCRATCH]
        rooms: Annotated[NDArray[np.int64], "E ROOMS 6", SCRATCH]
        scratch: Annotated[NDArray[np.int64], "E LENGTH", SCRATCH]
        standing: Annotated[NDArray[np.int64], "E N 2", SCRATCH]
        visible: Annotated[NDArray[np.int64], "E VIEW", SCRATCH]
        seen: Annotated[NDArray[np.uint8], "E SEEN", SCRATCH]
        shown: Annotated[NDArray[np.int64], "E SHOWN", SCRATCH]
        tiles: Annotated[NDArray[np.uint8], "LOOKS THINGS PIXELS"]

    def prepare(c: Any) -> dict[str, Any]:
        return prepare(c)

    def observation_space(c: Any) -> spaces.Space[Any]:
        return make_space(c)

    def make_observations(c: Any, parts: Any) -> Any:
        return make_observations(c, parts)

    def place(w, s, e):
        # Any cells: `begin` draws the world and the agents in one.
        for i in range(w.num_agents[e]):
            w.location[e, i, 0], w.location[e, i, 1] = i % s.cells.shape[1], i // s.cells.shape[1]
        s.made[e] = True

    def begin(w, s, e):
        begin_world(w, s, e)

    def step(w, s, e):
        play(w, s, e)

    def write_image(w, s, e, i, out):
        write_image(w, s, e, i, out)

    def write_direction(w, s, e, i, out):
        out[0] = s.direction[e, i]

    def write_mission(w, s, e, i, out):
        out[0] = s.mission_number[e, i]

    def check(w, s, e):
        return check(w, s, e)

    def marks(scene: Any) -> Iterator[Mark | Badge]:
        return list_marks(scene)

    def colours(scene: Any) -> list[str]:
        return list_colours(len(scene.agents))

    def picture(scene: Any) -> NDArray[np.uint8]:
        return draw_frame(scene)

    def describe(scene: Any, i: int) -> str:
        return describe(scene, i)
