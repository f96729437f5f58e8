"""Break the rules of the game one at a time, and see that a test notices.

Usage: python tests/mutants.py [--only NUMBER ...] [--interpreted] [--jobs 2]

Every mutant is one line of the sources changed for another, in a private copy of the tree. The tests that should notice
are run on it until one fails; one that hangs or dies has noticed too. Kernels are compiled from nothing for each of
them; where a file has no kernels, its mutants are run interpreted, which is quicker. The command fails when a mutant
survives, when its line is no longer there, or when the tests fail on the unchanged copy.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

# By mutated file, in the order in which they are run: the quickest first.
TESTS = {
    "core/rules.py": [
        "core/test_rules.py",
        "core/test_worlds.py",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
        "core/test_compiled.py::test_scratch_is_left_clean",
        "envs/test_parallel.py",
        "envs/test_vector.py",
    ],
    "core/placement.py": [
        "core/test_compiled.py::test_scratch_is_left_clean",
        "core/test_worlds.py",
        "core/test_rules.py",
        "core/test_layout.py::test_a_grid_without_walls_equals_the_oracle",
        "core/test_layout.py::test_drawn_layouts_on_any_map_equal_the_oracle",
        "core/test_layout.py::test_drawn_layouts_equal_the_oracle",
        "core/test_layout.py::test_new_targets_under_restart",
    ],
    "core/observe.py": [
        "core/test_rules.py",
        "core/test_worlds.py",
        "core/test_compiled.py::test_scratch_is_left_clean",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
    ],
    "core/pcg64.py": ["core/test_pcg64.py", "envs/test_vector.py"],
    "core/metrics.py": ["core/test_worlds.py"],
    "core/invariants.py": [
        "envs/test_safety.py",
        "core/test_worlds.py",
        "envs/test_parallel.py",
        "envs/test_documented.py",
    ],
    "core/snapshots.py": [
        "envs/test_safety.py",
        "envs/test_parallel.py",
        "envs/test_documented.py",
        "envs/test_vector.py",
    ],
    "core/generators.py": ["envs/test_safety.py", "envs/test_documented.py"],
    "core/held.py": ["envs/test_safety.py", "envs/test_documented.py", "envs/test_vector.py"],
    "core/world.py": [
        "envs/test_safety.py",
        "core/test_worlds.py",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
        "core/test_compiled.py::test_a_snapshot_is_restored_with_what_is_seen",
        "envs/test_parallel.py",
        "envs/test_documented.py",
        "envs/test_vector.py",
    ],
    "maps/layouts.py": ["core/test_worlds.py", "envs/test_parallel.py", "core/test_layout.py"],
}
WITHOUT_KERNELS = {
    "core/metrics.py",
    "core/snapshots.py",
    "core/generators.py",
    "core/held.py",
    "core/world.py",
    "maps/layouts.py",
}

# The rule that is taken away, the line (or what is distinctive of it), and what stands there instead.
CHANGES = {
    "core/rules.py": """
        an action below the range is refused
        - is_bad = w.actions[e, i] < 0 or w.actions[e, i] >= num_actions
        + is_bad = w.actions[e, i] < -1 or w.actions[e, i] >= num_actions

        an action above the range is refused
        - is_bad = w.actions[e, i] < 0 or w.actions[e, i] >= num_actions
        + is_bad = w.actions[e, i] < 0 or w.actions[e, i] > num_actions

        a parked agent's action is examined
        - if is_bad and w.status[e, i] != LEFT and
        + if is_bad and w.status[e, i] == TRAVELLING and

        a departed agent's action is not examined
        - if is_bad and w.status[e, i] != LEFT and
        + if is_bad and

        only a world that is over begins anew
        - if w.over[e]:
        + if w.steps[e] > 0:

        an episode begins with step 0
        - w.steps[e] = 0
        + w.steps[e] += 0

        everyone travels when an episode begins
        - w.status[e, i] = TRAVELLING
        + w.status[e, i] += TRAVELLING

        arrivals are counted anew in each episode
        - w.arrivals[e, i] = 0
        + w.arrivals[e, i] += 0

        nobody has arrived when an episode begins
        - w.arrival_step[e, i] = NEVER
        + pass

        nobody is truncated when an episode begins
        - w.truncated[e, i] = False
        + pass

        everyone has stayed when an episode begins
        - w.outcomes[e, i] = _STAYED
        + pass

        the first distance is that of the layout
        - w.distances[e, i] = _distance(w, e, i)
        + pass

        the distance is the sum of both sides
        - abs(dx) + abs(dy)
        + max(abs(dx), abs(dy))

        two agents are in each other's way
        - if num_agents > 1 and w.settings[COLLISIONS] != NONE:
        + if num_agents > 2 and w.settings[COLLISIONS] != NONE:

        under none, agents pass through one another
        - if num_agents > 1 and w.settings[COLLISIONS] != NONE:
        + if num_agents > 1:

        who asks for its own cell is told that it stayed
        - if action == _STAY_ACTION:
        + if action > _STAY_ACTION:

        the lower edges stop
        - elif to_x < 0 or to_y < 0 or to_x >= width or to_y >= height:
        + elif to_x < 0 or to_y < -1 or to_x >= width or to_y >= height:

        each side's edge is its own
        - elif to_x < 0 or to_y < 0 or to_x >= width or to_y >= height:
        + elif to_x < 0 or to_y < 0 or to_x >= width or to_y >= min(width, height):

        the edge is told as the edge
        - w.moves[m, x, y, action] = _EDGE
        + w.moves[m, x, y, action] = _WALL

        a wall is told as a wall
        - w.moves[m, x, y, action] = _WALL
        + w.moves[m, x, y, action] = _EDGE

        walls stop
        - elif w.regions[m, to_x, to_y] == WALL:
        + elif w.regions[m, to_x, to_y] < WALL:

        walls are those of the map
        - moves = w.moves[unsigned(w.map_index[e])]
        + moves = w.moves[0]

        a parked agent stays
        - if status[i] == TRAVELLING:
        + if status[i] != LEFT:

        an agent that has left stays away
        - if status[i] == TRAVELLING:
        + if status[i] != PARKED:

        a parked agent is told that it is parked
        - outcomes[i] = _PARKED if status[i] == PARKED else _STAYED
        + outcomes[i] = _STAYED

        who is stopped asks for its own cell
        - step = int(outcomes[i] == _MOVED)
        + step = int(outcomes[i] != _WALL)

        an agent that has left is no obstacle
        - if status[i] != LEFT:
        + if status[i] <= LEFT:

        the first of two that ask for a cell is refused as the second is
        - refusal[unsigned(first)], refusal[i] = _CONTESTED, _CONTESTED
        + refusal[i] = _CONTESTED

        the second of two that ask for a cell is refused as the first is
        - refusal[unsigned(first)], refusal[i] = _CONTESTED, _CONTESTED
        + refusal[unsigned(first)] = _CONTESTED

        under soft, the lowest index is the claimant
        - refusal[unsigned(first)], refusal[i] = _CONTESTED, _CONTESTED
        + refusal[first], refusal[i], claimant[wish[i, 0], wish[i, 1]] = _CONTESTED, _CONTESTED, i

        two swap only if each asks for the very cell of the other, its y too
        - return one[i, 0] == other[j, 0] and one[i, 1] == other[j, 1]
        + return one[i, 0] == other[j, 0]

        two swap only if each asks for the very cell of the other, its x too
        - return one[i, 0] == other[j, 0] and one[i, 1] == other[j, 1]
        + return one[i, 1] == other[j, 1]

        nobody swaps
        - refusal[i] = _SWAP
        + refusal[i] = _OCCUPIED

        a swap is told as a swap
        - refusal[i] = _SWAP
        + refusal[i] = _CONTESTED

        under priority, agents move in turn
        - if rule == PRIORITY:
        + if rule > NONE:

        under symmetric, who stays holds up who follows
        - elif rule != BLOCK_BOTH:
        + elif rule == SOFT:

        under soft, who stays holds up who follows
        - elif rule != BLOCK_BOTH:
        + elif rule == SYMMETRIC:

        the claimant of a cell is forgotten after the step
        - _put(claimant, wish, i, NOBODY)
        + pass

        the occupant of a cell is forgotten after the step
        - _put(occupant, location, i, NOBODY)
        + pass

        under priority, who was granted a cell is forgotten after the step
        - _put(occupant, wish, i, NOBODY)
        + pass

        under soft, the first claimant keeps its request
        - if rule == SOFT and _find(w.claimant, w.wish, i) == i:
        + if rule == SOFT and _find(w.claimant, w.wish, i) != i:

        under soft, a claimant that would swap is refused
        - return bool(w.refusal[i] == _SWAP)
        + return False

        under block_both, a cell that was occupied is closed
        - if rule == BLOCK_BOTH and _find(w.occupant, w.wish, i) != NOBODY:
        + if rule == BLOCK_BOTH and _find(w.occupant, w.wish, i) == i:

        a swap is refused as a contest is
        - return bool(w.refusal[i] != _OCCUPIED)
        + return bool(w.refusal[i] == _CONTESTED)

        under priority, an occupied cell is closed
        - if _find(w.occupant, w.wish, i) == NOBODY:
        + if _find(w.occupant, w.wish, i) >= NOBODY:

        under priority, the cell that is left is open to those who come later
        - _put(w.occupant, w.location[e], i, NOBODY)
        + pass

        under priority, the cell that is entered is closed to those who come later
        - _put(w.occupant, w.wish, i, i)
        + _put(w.occupant, w.wish, i, NOBODY)

        an agent that has left holds nobody up
        - if outcomes[i] == _MOVED or status[i] == LEFT:
        + if outcomes[i] == _MOVED:

        the whole chain behind one who stays is held up
        - follower = _find(claimant, location, unsigned(follower))
        + follower = NOBODY

        who is held up is told its own reason
        - outcomes[unsigned(follower)] = w.refusal[unsigned(follower)]
        + outcomes[unsigned(follower)] = _OCCUPIED

        who is granted a cell goes there
        - location[i, 0], location[i, 1] = w.wish[i, 0], w.wish[i, 1]
        + location[i, 0] = w.wish[i, 0]

        a reward is told once
        - rewards[i] = 0.0
        + pass

        who has left has terminated once
        - terminated[i] = False
        + pass

        only the target itself is the target
        - if distances[i] != 0:
        + if distances[i] > 1:

        under stay, walking off undoes the arrival
        - arrival_step[i] = NEVER
        + pass

        a parked agent is rewarded once
        -         if status[i] == PARKED:
        +         if status[i] == LEFT:

        under restart, an arrival is rewarded
        - if rule != STAY:
        + if rule == PARK or rule == LEAVE:

        under stay, an arrival alone is not rewarded
        - if rule != STAY:
        + if rule >= PARK:

        under stay, the arrival is the first step of standing there
        - if arrival_step[i] == NEVER or rule == RESTART:
        + if w.steps[e] > 0:

        under restart, every arrival counts
        - if arrival_step[i] == NEVER or rule == RESTART:
        + if arrival_step[i] == NEVER:

        the metrics tell the step of arrival
        - arrival_step[i] = w.steps[e]
        + arrival_step[i] = w.steps[e] - 1

        an agent on its target parks
        - status[i] = PARKED
        + status[i] = TRAVELLING

        an agent on its target leaves
        - status[i] = LEFT
        + status[i] = PARKED

        who has left has ended
        - w.endings[e] += 1
        + w.endings[e] += 0

        an agent that arrives gets another target
        - draw_next_target(w, e, i)
        + pass

        the distance is that to the new target
        -             distances[i] = _distance(w, e, i)
        +             pass

        under restart, nobody terminates
        - w.over[e] = rule != RESTART and standing == here
        + w.over[e] = standing == here

        all must stand on their targets
        - w.over[e] = rule != RESTART and standing == here
        + w.over[e] = rule != RESTART and standing >= here - 1

        under park and stay, all terminate together
        - if w.over[e] and rule != LEAVE:
        + if w.over[e] and rule == STAY:

        who left earlier does not terminate again
        - if w.over[e] and rule != LEAVE:
        + if w.over[e]:

        who terminates together with all has ended
        - w.endings[e] = here
        + w.endings[e] += 0

        under stay, everyone is rewarded when all stand on their targets
        -                 rewards[i] = 1.0
        +                 rewards[i] = 1.0 / here

        individual rewards are not shared
        - if w.settings[SHARED_REWARD]:
        + if w.settings[SHARED_REWARD] >= 0:

        a shared reward is the mean over those who were there
        - w.rewards[e, i] = total / here
        + w.rewards[e, i] = total / w.location.shape[1]

        who leaves in this step has a share
        - if w.status[e, i] != LEFT or w.terminated[e, i]:
        + if w.status[e, i] != LEFT:

        the limit is the number of steps
        - if limit == NO_LIMIT or w.steps[e] < limit:
        + if limit == NO_LIMIT or w.steps[e] <= limit:

        without a limit nobody is truncated
        - if limit == NO_LIMIT or w.steps[e] < limit:
        + if w.steps[e] < limit:

        a limit that is lowered below the steps played ends the episode
        - if limit == NO_LIMIT or w.steps[e] < limit:
        + if limit == NO_LIMIT or w.steps[e] != limit:

        who terminates in the last step is truncated too
        - w.truncated[e, i] = w.status[e, i] != LEFT or w.terminated[e, i]
        + w.truncated[e, i] = w.status[e, i] != LEFT

        who is truncated has ended
        - w.endings[e] = w.location.shape[1]
        + w.endings[e] += 0

        the limit ends the episode
        - w.over[e] = True
        + pass
    """,
    "core/placement.py": """
        the map of a pool is drawn
        - return bounded(w.streams, e, w.regions.shape[0])
        + return bounded(w.streams, e, 1)

        a map with letters is its own layout
        - if w.layouts.shape[0] > 0:
        + if w.layouts.shape[0] > 1:

        the layout is that of the drawn map
        - w.location[e, i, axis] = w.layouts[w.map_index[e], i, axis]
        + w.location[e, i, axis] = w.layouts[0, i, axis]

        a cell that can reach no other is not used
        - or sizes[regions[x, y]] < 2 or
        + or sizes[regions[x, y]] < 1 or

        agents begin in cells of their own
        - < 2 or has_agent[x, y] != NOBODY:
        + < 2:

        the agents of a region are counted
        - w.region_agents[region] += 1
        + w.region_agents[region] += 0

        only the last cell without an agent can be forced
        - == 1 and sizes[region] - num_targets == 2
        + == 2 and sizes[region] - num_targets == 3

        where every cell has an agent, no cell is forced
        - == 1 and sizes[region] - num_targets == 2
        + <= 1 and sizes[region] - num_targets <= 2

        a crowded region's last cell without an agent becomes the target
        - forced = has_target[x, y] == NOBODY
        + forced = False

        a cell that already is a target is not forced
        - forced = has_target[x, y] == NOBODY
        + forced = True

        a target is in reach
        - while regions[x, y] != region or has_agent[x, y] == i
        + while regions[x, y] == WALL or has_agent[x, y] == i

        a target may be another agent's cell
        - while regions[x, y] != region or has_agent[x, y] == i
        + while regions[x, y] != region or has_agent[x, y] != NOBODY

        a target is not the agent's own cell
        - while regions[x, y] != region or has_agent[x, y] == i
        + while regions[x, y] != region

        no two have one target
        - or has_target[x, y] != NOBODY:
        + or False:

        no agent stays marked after placing
        - has_agent[x, y] = NOBODY
        + pass

        no target stays marked after placing
        - has_target[w.goal[e, i, 0], w.goal[e, i, 1]] = NOBODY
        + pass

        the counts of agents by region are undone
        - w.region_agents[regions[x, y]] = 0
        + pass

        x is drawn before y
        - y = bounded(w.streams, e, w.regions.shape[2])
        + x, y = bounded(w.streams, e, w.regions.shape[2]), x

        y is drawn from the height
        - y = bounded(w.streams, e, w.regions.shape[2])
        + y = bounded(w.streams, e, w.regions.shape[1])

        the forced cell has no agent
        - if regions[x, y] == region and w.occupant[x, y] == NOBODY:
        + if regions[x, y] == region and w.occupant[x, y] != NOBODY:

        the forced cell is in the agent's region
        - if regions[x, y] == region and w.occupant[x, y] == NOBODY:
        + if regions[x, y] != WALL and w.occupant[x, y] == NOBODY:

        a new target is in reach
        - while regions[x, y] != regions[here_x, here_y] or
        + while regions[x, y] == WALL or

        a new target is another cell
        - or (x == here_x and y == here_y):
        + or False:
    """,
    "core/observe.py": """
        who has left is not seen in the view
        - if status[i] != LEFT:
        + if status[i] <= LEFT:

        the marks of the view are taken away
        - _mark(w, e, 0)
        + pass

        the others come in index order
        - row = j if j < i else j - 1
        + row = j if j < i else w.location.shape[1] - 1 + i - j

        of who has left, the others see no cell
        - out[row, 0], out[row, 1] = _ABSENT, _ABSENT
        + out[row, 0], out[row, 1] = w.location[e, j, 0], w.location[e, j, 1]

        the view is one of the drawn map
        - blocked, seen = w.blocked[unsigned(w.map_index[e])], w.seen
        + blocked, seen = w.blocked[0], w.seen

        a view of radius 2 is whole
        - _copy_window(out, w, e, i, 5)
        + _copy_window(out, w, e, i, 4)

        a view of another radius is whole
        - _copy_window(out, w, e, i, side)
        + _copy_window(out, w, e, i, side - 1)

        the view's first axis is x
        - out[0, column, row] = blocked[unsigned(left + column), unsigned(low + row)]
        + out[0, row, column] = blocked[unsigned(left + column), unsigned(low + row)]

        an agent sees itself in its view
        - out[1, column, row] = seen[unsigned(left + column), unsigned(low + row)]
        + out[1, column, row] = seen[unsigned(left + column), unsigned(low + row)] * (column != 2 or row != 2)

        the target of the step before is gone from the view
        - out[2, column, row] = 0
        + pass

        a target beyond the window is on its near edge
        - column = min(max(w.goal[e, i, 0] - w.location[e, i, 0] + radius, 0), 2 * radius)
        + column = min(abs(w.goal[e, i, 0] - w.location[e, i, 0] + radius), 2 * radius)

        a target beyond the window is on its far edge
        - row = min(max(w.goal[e, i, 1] - w.location[e, i, 1] + radius, 0), 2 * radius)
        + row = max(w.goal[e, i, 1] - w.location[e, i, 1] + radius, 0) % (2 * radius + 1)

        the part walls is 1 at a wall
        - out[x, y] = regions[x, y] == WALL
        + out[x, y] = regions[x, y] != WALL

        the mask is that of the map
        - moves = w.moves[w.map_index[e], w.location
        + moves = w.moves[0, w.location

        the mask knows the edges
        - out[action] = moves[action] != _EDGE and moves[action] != _WALL
        + out[action] = moves[action] != _WALL

        the mask knows the walls
        - out[action] = moves[action] != _EDGE and moves[action] != _WALL
        + out[action] = moves[action] != _EDGE

        flat, the others are scaled
        - if part in (AGENT, TARGET, OTHERS):
        + if part in (AGENT, TARGET):

        flat, an absent coordinate is -1
        - if coordinates[k] != _ABSENT:
        + if coordinates[k] >= _ABSENT:

        flat, y is scaled by the height
        - coordinates[k] = w.scaled[k % 2,
        + coordinates[k] = w.scaled[0,
    """,
    "core/pcg64.py": """
        the product's middle is carried into its upper half
        - (cross_0 >> _32) + (cross_1 >> _32) + (middle >> _32)
        + (cross_0 >> _32) + (cross_1 >> _32)

        a sum of lower halves is carried
        - if new_low < product_low:
        + if new_low < _ZERO:

        the bits are turned by the highest six
        - turn = new_high >> _58
        + turn = (new_high >> _58) & (_63 >> _ONE)

        a half that is left over is used once
        - streams[e, HAS_HALF] = _ZERO
        + streams[e, HAS_HALF] = _ONE

        the upper half is left over
        - streams[e, HALF] = bits >> _32
        + streams[e, HALF] = bits & _MASK32

        the lower half comes first
        - return bits & _MASK32
        + return bits >> _32

        of one number nothing is drawn
        - if limit == 1:
        + if limit == 0:

        a draw is checked whenever it could favour a number
        - if product & _MASK32 < count:
        + if product & _MASK32 < (count >> _ONE):

        the threshold is 2**32 modulo the count
        - threshold = (_MASK32 + _ONE - count) % count
        + threshold = (_MASK32 - count) % count

        a draw at the threshold is taken
        - while product & _MASK32 < threshold:
        + while product & _MASK32 <= threshold:

        a half that is left over is loaded
        - state["has_uint32"], state["uinteger"]
        + 0, state["uinteger"]

        a half that is left over is stored
        - "has_uint32": has_half, "uinteger": half}
        + "has_uint32": 0, "uinteger": half}

        a seed's two words both count
        - words = [(seeds & _MASK32).astype(np.uint32), (seeds >> _32).astype(np.uint32)]
        + words = [(seeds & _MASK32).astype(np.uint32), (seeds & _MASK32).astype(np.uint32)]

        a seeded state's sum is carried
        - carry = _ONE if low < states[e, 1] else _ZERO
        + carry = _ONE if low < _ZERO else _ZERO
    """,
    "core/metrics.py": """
        an arrival in the first step is a success
        - success = arrival_step >= 0
        + success = arrival_step > 1

        who has not arrived costs all the steps
        - costs = np.where(success, arrival_step, steps[:, None])
        + costs = np.where(success, arrival_step, 0 * steps[:, None])

        csr asks for the success of all
        - success.all(axis=1)
        + success.any(axis=1)

        isr is the rate of success
        - success.mean(axis=1)
        + success.sum(axis=1) / 1.0

        soc is a sum
        - costs.sum(axis=1)
        + costs.mean(axis=1)

        the makespan is the largest cost
        - costs.max(axis=1)
        + costs.min(axis=1)

        the throughput counts all agents' arrivals
        - arrivals.sum(axis=1), steps,
        + arrivals.max(axis=1), steps,

        the throughput is by step
        - arrivals.sum(axis=1), steps,
        + arrivals.sum(axis=1), steps * 0 + 1,

        under restart, one arrival is a success
        - figures = (arrivals > 0,
        + figures = (arrivals > 1,
    """,
    "core/invariants.py": """
        a state's map is one of the pool
        - w.map_index[e] >= w.regions.shape[0]:
        + w.map_index[e] > w.regions.shape[0]:

        a state's stream has an odd increment
        - if not is_odd or w.streams
        + if w.streams

        a state's stream has a flag of 0 or 1
        - w.streams[e, pcg64.HAS_HALF] > _ONE or
        + w.streams[e, pcg64.HAS_HALF] > _LARGEST_HALF or

        a state's stream has a half of 32 bits
        - w.streams[e, pcg64.HALF] > _LARGEST_HALF:
        + w.streams[e, pcg64.HALF] < _ONE - _ONE:

        a state's steps are not negative
        - if w.steps[e] < 0 or
        + if

        a state's steps have a limit
        - or w.steps[e] > MOST_STEPS:
        + or w.steps[e] < 0:

        a state's cells are not below the grid
        - return bool(x >= 0 and y >= 0 and
        + return bool(

        a state's cells are not beyond the grid
        - and y < w.regions.shape[2])
        + and y <= w.regions.shape[2])

        a state's cells are no walls
        - if here == WALL or w.region_sizes[m, here] < 2:
        + if w.region_sizes[m, here] < 2 and here != WALL:

        a state's cells can reach another
        - if here == WALL or w.region_sizes[m, here] < 2:
        + if here == WALL:

        a state's targets are no walls
        - if there == WALL or w.region_sizes[m, there] < 2:
        + if w.region_sizes[m, there] < 0:

        a state's targets are in reach
        - if here != there:
        + if here != there and i > 98:

        nobody parks where on_target does not say so
        - (status == PARKED and on_target == PARK)
        + (status == PARKED)

        nobody leaves where on_target does not say so
        - (status == LEFT and on_target == LEAVE)
        + (status == LEFT)

        a state has no two agents in one cell
        - rule = 9
        + rule = SOUND

        under none, a state may have two agents in one cell
        - if w.settings[COLLISIONS] != NONE:
        + if w.settings[COLLISIONS] != 99:

        in a state, who has left shares its cell with anyone
        - if w.status[e, i] != LEFT:
        + if w.status[e, i] != 99:

        a state has no two equal targets
        - if w.claimant[x, y] != NOBODY and rule == SOUND:
        + if w.claimant[x, y] == 99:

        under restart, a state may have two equal targets
        - if w.settings[ON_TARGET] != RESTART:
        + if w.settings[ON_TARGET] != 99:

        who is parked stands on its target
        - and stands != (w.status[e, i] != TRAVELLING):
        + and stands and w.status[e, i] == TRAVELLING:

        arrivals are as many as on_target allows
        - arrivals > most or
        + arrivals > most + 2**62 or

        an arrival has its step
        - if has_step != (arrival_step != NEVER) or
        + if

        no arrival is to come
        - (arrival_step < arrivals or arrival_step > steps)
        + (arrival_step < arrivals)

        outcomes are such
        - or w.outcomes[e, i] > _LAST_OUTCOME:
        + or w.outcomes[e, i] > MOST_STEPS:

        distances are those of the cells
        - if w.distances[e, i] != dx + dy:
        + if w.distances[e, i] < 0:

        nobody terminates alone
        - if w.terminated[e, i] != terminates:
        + if not w.terminated[e, i] and terminates:

        nobody is truncated alone
        - if w.truncated[e, i] != (any_truncated and is_here)
        + if (w.truncated[e, i] and not is_here)

        an episode is over when all are done
        - if w.over[e] != (all_done or any_truncated):
        + if (all_done or any_truncated) and not w.over[e]:

        ends are counted
        - if w.endings[e] != (num_agents if any_truncated else num_terminated):
        + if w.endings[e] < 0:

        rewards are those of the arrivals
        - if w.rewards[e, i] != reward:
        + if w.rewards[e, i] < reward:

        shared, a reward is the mean
        - reward = total / here if is_here else 0.0
        + reward = total if is_here else 0.0
    """,
    "core/snapshots.py": """
        a state holds the arrivals' steps
        - "status", "arrivals", "arrival_step"),
        + "status", "arrivals"),

        a state holds the targets
        - "location", "goal", "status",
        + "location", "status",

        a state holds the steps played
        - *("map_index", "steps", "over",
        + *("map_index", "over",

        a state holds the last rewards
        - *("rewards", "terminated",
        + *("terminated",

        a state's fields have the world's shape
        - if not complaint and (array.shape != shape or array.dtype != dtype):
        + if not complaint and (array.ndim != len(shape) or array.dtype != dtype):

        a state's fields have the world's dtype
        - if not complaint and (array.shape != shape or array.dtype != dtype):
        + if not complaint and array.shape != shape:

        a bool of a state is 0 or 1
        - field[...] = array.view(np.uint8) != 0 if is_bool else array
        + field[...] = array

        a state's PCG64 is copied to the stream
        - generators.load(self.arrays.streams[0], bits)
        + pass
    """,
    "core/generators.py": """
        an increment is odd
        - % 2 == 0:
        + % 2 == 2:

        a plain state's increment is odd
        - and increment % 2 == 1
        + and increment >= 0

        a flag of a plain state is 0 or 1
        - and 0 <= has_half <= 1
        + and 0 <= has_half <= 2**40

        MT19937's position is in its key
        - ("state", "pos"): 624}
        + ("state", "pos"): 2**40}

        Philox's position is in its buffer
        - if not is_int(value) or not 0 <= int(value) <= largest:
        + if not is_int(value) or int(value) > largest:

        MT19937's key has a bit
        - if kind == "MT19937" and not
        + if kind == "MT20000" and not

        a generator's numbers are in range
        - if not is_int(value) or not 0 <= int(value) < limit:
        + if not is_int(value) or int(value) < 0:

        a generator's numbers are not negative
        - if not is_int(value) or not 0 <= int(value) < limit:
        + if not is_int(value) or int(value) >= limit:

        a subclass of Generator is asked itself
        - type(generator) is np.random.Generator and
        + isinstance(generator, np.random.Generator) and

        a bit generator of another kind is asked itself
        - and type(generator.bit_generator) is np.random.PCG64
        + and generator is not None
    """,
    "core/held.py": """
        a draw follows the generator that somebody holds
        - generators.load(self._streams[e], state)
        + pass

        the state of a generator of another kind is its own
        - return dict(held.generator.bit_generator.state)
        + return dict(pcg64.store(self._streams[e]))

        a generator that is not safe is not drawn from
        - _check(generator)
        + pass

        what was drawn outside is loaded
        - if state != held.known:
        + if held.known is None:
    """,
    "core/world.py": """
        the generator that somebody holds follows a draw
        - self._generators.store(compiled)
        + pass

        a seed forgets the generator
        - self._generators.forget(new)
        + pass

        what follows a commit is done
        - if commit == self.arrays.commits.item():
        + if commit < 0:

        what follows is not done without its commit
        - if commit == self.arrays.commits.item():
        + if commit >= 0:

        worlds that are half played are refused
        - self._is_torn = True
        + self._is_torn = False

        outside the grid, a view shows walls
        - (radius, radius)), constant_values=1)
        + (radius, radius)), constant_values=0)

        flat, the last cell of a side has the coordinate 1
        - scaled[:side] = np.arange(side) / max(side - 1, 1)
        + scaled[:side] = np.arange(side) / side

        flat, a side of one cell has the coordinate 0
        - scaled[:side] = np.arange(side) / max(side - 1, 1)
        + scaled[:side] = (np.arange(side) + (side == 1)) / max(side - 1, 1)

        the global state hides who has left
        - state[self.arrays.status[e] == LEFT] = -1
        + state[self.arrays.status[e] > LEFT] = -1
    """,
    "maps/layouts.py": """
        a cell by hand is not at the grid's far edge
        - if not (0 <= x < width and 0 <= y < height):
        + if not (0 <= x < width and 0 <= y <= height):

        a cell by hand is not negative
        - if not (0 <= x < width and 0 <= y < height):
        + if not (-1 <= x < width and 0 <= y < height):

        a cell by hand is no wall
        - if regions[x, y] == WALL:
        + if regions[x, y] < WALL:

        no two have one cell by hand
        - if earlier != index:
        + if earlier > index:

        an agent does not begin on its target
        - if start == goal:
        + if start is goal:

        a target by hand is in reach
        - if regions[tuple(start)] != regions[tuple(goal)]:
        + if regions[tuple(goal)] == WALL:

        cells by hand are integers
        - if array.size and array.dtype.kind not in "iu":
        + if array.size and array.dtype.kind not in "iuf":

        there is a cell by hand for each agent
        - if array.shape != (num_agents, 2):
        + if array.shape[1:] != (2,):
    """,
}
assert CHANGES.keys() == TESTS.keys()


class Mutant(NamedTuple):
    """A line of a file of the package, the line instead, and the rule that this takes away."""

    file: str
    old: str
    new: str
    rule: str

    def made_of(self, source: str) -> str:
        """The mutated source.

        Raises:
            ValueError: the line is not there, or not once.
        """
        if source.count(self.old) != 1:
            raise ValueError(f"the line occurs {source.count(self.old)} times: {self.old.strip()}")
        return source.replace(self.old, self.new)


def mutants_of(file: str, changes: str) -> list[Mutant]:
    """Read rule, line, line instead; spaces after the sign belong to the line."""
    lines = [line[8:] for line in changes.splitlines() if line.strip()]
    return [
        Mutant(file, old[2:], new[2:], rule)
        for rule, old, new in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    ]


MUTANTS = [mutant for file, changes in CHANGES.items() for mutant in mutants_of(file, changes)]

LIMIT = 120
# The watch of faulthandler ends a process that hangs inside a compiled kernel, too.
WATCH = f"""
import faulthandler

def pytest_runtest_logstart():
    faulthandler.dump_traceback_later({LIMIT}, exit=True)

pytest_runtest_logstart()
"""
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL}
PASSED, FAILED, INTERRUPTED = range(3)  # what pytest returns; 2 is also a test file that cannot be imported

running: set[subprocess.Popen[bytes]] = set()


def run(tree: Path, mutant: Mutant | None, tests: Iterable[str], interpreted: bool) -> str | None:
    """Run tests on a private copy of the tree until one fails; return which, and how, or None if all pass."""
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        home, cache, output = Path(folder) / "home", Path(folder) / "cache", Path(folder) / "output"
        shutil.copytree(tree, home)
        (home / "watch.py").write_text(WATCH)
        if mutant is not None:
            path = home / "multigrid" / mutant.file
            path.write_text(mutant.made_of(path.read_text()))
        cache.mkdir()
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        numba = {"NUMBA_DISABLE_JIT": "1"} if interpreted else {"NUMBA_CACHE_DIR": str(cache)}
        flags = ["-x", "-v", "--tb=no", "--hypothesis-seed=0", "-p", "no:cacheprovider", "-p", "watch"]
        with output.open("wb") as told:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *flags, *(f"tests/{test}" for test in tests)],
                cwd=home,
                env={**surroundings, "PYTHONPATH": str(home), **numba},
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            running.add(process)
            try:
                process.wait()
            finally:
                end(process)
                running.discard(process)
        return failure(process.returncode, output.read_text(errors="replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """End a run with all that it has started, also what a hanging test has left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def failure(returncode: int, output: str) -> str | None:
    """Return the test that failed, and how if it did not simply fail; None if none did.

    Raises:
        RuntimeError: that pytest ended in this way has nothing to do with the mutant.
    """
    if returncode == PASSED:
        return None
    begun = re.findall(r"^tests/(\S+?\.py::[^\s\[]+)(.*)", output, re.MULTILINE)
    name, rest = begun[-1] if begun else ("the import", " ERROR")
    if -returncode in CRASHES:
        return f"{name}, which died of {signal.Signals(-returncode).name}"
    if returncode == FAILED and not re.search(r" (FAILED|ERROR)\b", rest):
        return f"{name}, which took more than {LIMIT} s"
    if returncode not in (FAILED, INTERRUPTED):
        raise RuntimeError(f"pytest returned {returncode}")
    return name


def is_green(tree: Path, files: Iterable[str], interpreted: bool) -> bool:
    """Run the tests that mutants of these files must fail, without a mutant, and print how that went."""
    tests = list(dict.fromkeys(test for file in files for test in TESTS[file]))
    begun = time.monotonic()
    broken = run(tree, None, tests, interpreted)
    verdict = "all tests pass" if broken is None else f"FAILS in {broken}"
    say(f"unchanged, {'interpreted' if interpreted else 'compiled'}: {verdict}  ({time.monotonic() - begun:.0f} s)")
    return broken is None


def is_killed(tree: Path, number: int, mutant: Mutant, interpreted: bool) -> bool:
    """Run one mutant, print its line, and return whether a test has noticed."""
    begun = time.monotonic()
    try:
        noticed = run(tree, mutant, TESTS[mutant.file], interpreted or mutant.file in WITHOUT_KERNELS)
        verdict = "SURVIVED" if noticed is None else f"killed by {noticed}"
    except (ValueError, RuntimeError) as error:
        noticed, verdict = None, f"NOT JUDGED, {error}"
    say(f"{number:4d}  {mutant.file}  {mutant.rule}: {verdict}  ({time.monotonic() - begun:.0f} s)")
    return noticed is not None


def main(arguments: Sequence[str] | None = None, mutants: Sequence[Mutant] = MUTANTS) -> int:
    """Judge the mutants asked for; return 1 if one is not killed or cannot be judged, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these mutants, counted from 1")
    parser.add_argument("--interpreted", action="store_true", help="do not compile: quicker, and nearly as good")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants at a time")
    chosen = parser.parse_args(arguments)
    numbers = chosen.only or range(1, len(mutants) + 1)
    if not set(numbers) <= set(range(1, len(mutants) + 1)):
        parser.error(f"there are mutants 1 to {len(mutants)}")
    files = {mutants[number - 1].file for number in numbers}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        # One state of the tree for all, whatever is edited meanwhile.
        tree = Path(folder) / "tree"
        for name in ("multigrid", "tests"):
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        try:
            by_mode = (
                {True: files} if chosen.interpreted else {True: files & WITHOUT_KERNELS, False: files - WITHOUT_KERNELS}
            )
            if not all(is_green(tree, sorted(some), mode) for mode, some in by_mode.items() if some):
                return 1
            killed = list(
                pool.map(lambda number: is_killed(tree, number, mutants[number - 1], chosen.interpreted), numbers)
            )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                end(process)
            raise
    say(f"{sum(killed)} of {len(killed)} mutants killed  ({time.monotonic() - begun:.0f} s)")
    alive = [number for number, dead in zip(numbers, killed, strict=True) if not dead]
    if alive:
        say(f"not killed: {' '.join(map(str, alive))}")
    return int(bool(alive))


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - what the script is for


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # as Ctrl-C does: what has been started is ended too
    sys.exit(main())
