"""Break the rules of the game one at a time, and see that a test fails.

Usage: python tests/mutants.py [--only NUMBER ...] [--show] [--interpreted] [--jobs N] [--resume FILE]

Every mutant is one expression or statement replaced by another, in a private copy of the tree. The tests that `TESTS`
names for its file are run on it until one fails; one that hangs or dies counts as failed. The kernels that a mutant
changes are compiled for it, see `compile_once`; where a file has no kernels, its mutants are run interpreted, which is
quicker. The command fails when a mutant survives, when its address is wrong, or when the tests fail on the unchanged
copy.

An address in `ADDRESSES` names a file and a function (or a constant of the module) and nothing else of ours, so that no
other rename touches it. After an edit of a function, ``--show`` prints where its addresses lead. In an address,
``If 2 -> _1 or not _2`` changes the condition of the function's second ``if``:

- The node is the second of its class in Python's `ast`, in the order of `nodes`. ``If``, ``While`` and ``For`` stand
  for their condition or iterable.
- In what replaces it, ``_`` is the node; ``_1``, ``_2`` ... are its operands, see `operands`; ``_2_1`` is the first
  operand of the second. Settings, statuses and outcomes are written as their numbers.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

# By mutated file, in the order in which they are run: the quickest first.
TESTS = {
    "core/rules.py": [
        "core/test_target_lists.py",
        "core/test_observe.py::test_an_agent_that_is_placed_is_shown_in_its_new_cell",
        "envs/test_documented_subclasses.py",
        "core/test_rules.py",
        "core/test_agents.py",
        "core/test_delays.py",
        "core/test_worlds.py",
        "core/test_metrics.py",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
        "envs/test_parallel.py",
        "envs/test_vector.py",
        "envs/test_contract.py",
    ],
    "core/placement.py": [
        "core/test_levels.py",
        "core/test_target_lists.py",
        "core/test_worlds.py",
        "core/test_rules.py",
        "core/test_placement.py::test_a_grid_without_walls_equals_the_oracle",
        "core/test_placement.py::test_drawn_layouts_on_any_map_equal_the_oracle",
        "core/test_placement.py::test_drawn_layouts_equal_the_oracle",
        "core/test_placement.py::test_new_targets_under_restart",
    ],
    "core/observe.py": [
        "core/test_observe.py",
        "core/test_rules.py",
        "core/test_worlds.py",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
        "envs/test_parallel.py",
        "envs/test_contract.py",
    ],
    "runtime/pcg64.py": [
        "runtime/test_pcg64.py",
        "core/test_invariants.py::test_one_change_is_refused_or_leads_to_a_state_of_the_game",
        "envs/test_vector.py",
        "envs/test_contract.py",
    ],
    "core/delays.py": [
        "core/test_delays.py",
        "core/test_invariants.py::test_one_change_is_refused_or_leads_to_a_state_of_the_game",
    ],
    "core/drawn_maps.py": ["core/test_drawn_maps.py"],
    "core/map_generators.py": ["core/test_drawn_maps.py"],
    "core/levels.py": ["core/test_levels.py"],
    "core/metrics.py": ["core/test_metrics.py", "core/test_delays.py", "core/test_agents.py"],
    "core/invariants.py": [
        "core/test_target_lists.py",
        "core/test_invariants.py::test_one_change_is_refused_or_leads_to_a_state_of_the_game",
        "core/test_worlds.py::test_states_of_cells_out_of_reach_are_refused",
        "core/test_agents.py",
        "envs/test_contract.py::test_bad_states_are_refused",
        "envs/test_documented_subclasses.py",
        "envs/test_starts_on_targets.py",
        "envs/test_safety.py",
        "core/test_worlds.py",
        "envs/test_parallel.py",
        "envs/test_documented.py",
        "envs/test_vector.py",
        "envs/test_contract.py",
    ],
    "core/wrappers.py": [
        "games/test_hooks.py",
        "games/test_games.py",
        "games/test_errors.py",
        "games/test_random_games.py",
    ],
    "games/foraging.py": [
        "games/test_originals.py::test_recorded_foraging_is_played",
        "games/test_originals.py::test_players_begin_where_they_stood_or_not",
    ],
    "games/robotic_warehouse.py": [
        "games/test_originals.py::test_outcomes_say_why_an_agent_stays",
        "games/test_originals.py::test_recorded_warehouses_are_played",
    ],
    "games/_ties.py": [
        "games/test_originals.py::test_cells_come_in_the_order_of_a_set",
        "games/test_originals.py::test_recorded_warehouses_are_played",
    ],
    "core/draws.py": ["games/test_hooks.py", "games/test_games.py", "games/test_random_games.py"],
    "core/states.py": [
        "core/test_target_lists.py",
        "envs/test_contract.py::test_bad_states_are_refused",
        "envs/test_safety.py",
        "envs/test_parallel.py",
        "envs/test_documented.py",
        "envs/test_vector.py",
        "envs/test_contract.py",
    ],
    "core/generators.py": [
        "envs/test_safety.py",
        "envs/test_documented.py",
        "envs/test_vector.py",
        "envs/test_contract.py",
    ],
    "core/worlds.py": [
        "envs/test_lists_of_targets.py",
        "core/test_target_lists.py",
        "envs/test_contract.py::test_a_generator_that_somebody_holds_follows_the_env",
        "envs/test_safety.py",
        "core/test_worlds.py",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
        "core/test_observe.py",
        "envs/test_parallel.py",
        "envs/test_documented.py",
        "envs/test_vector.py",
        "envs/test_contract.py",
    ],
    "core/allocation.py": [
        "core/test_target_lists.py",
        "core/test_invariants.py::test_play_is_that_of_the_reference",
        "core/test_worlds.py",
        "envs/test_parallel.py",
        "envs/test_documented.py",
    ],
    "maps/_layouts.py": [
        "core/test_placement.py",
        "envs/test_contract.py::test_bad_options_are_refused",
        "envs/test_documented_subclasses.py::test_bad_locations",
        "envs/test_documented_subclasses.py::test_locations_outside_the_grid",
        "envs/test_starts_on_targets.py",
        "test_config.py::test_bad_walls",
    ],
    "maps/_target_lists.py": ["core/test_target_lists.py", "envs/test_lists_of_targets.py", "maps/test_text.py"],
    "planning/_search.py": ["planning/test_solve.py"],
    "planning/_travellers.py": ["planning/test_solve.py"],
    "planning/_pibt.py": ["planning/test_solve.py", "planning/test_controllers.py"],
    "planning/_next_step.py": ["planning/test_expert.py", "planning/test_controllers.py"],
    "planning/_expansion.py": ["planning/test_lacam.py", "planning/test_solve.py"],
    "planning/_timetable.py": ["planning/test_lacam.py", "planning/test_solve.py"],
    "planning/_path_search.py": ["planning/test_window_paths.py", "planning/test_lacam.py", "planning/test_solve.py"],
    "planning/_windowed.py": ["planning/test_controllers.py"],
    "planning/_cbs_pairs.py": ["planning/test_cbs.py", "planning/test_solve.py"],
    "planning/_cbs_spaces.py": ["planning/test_splits.py", "planning/test_cbs.py", "planning/test_solve.py"],
    "planning/_cbs_paths.py": ["planning/test_cbs.py", "planning/test_solve.py"],
    "planning/_cbs_joint.py": ["planning/test_cbs.py", "planning/test_solve.py"],
    "planning/_cbs_tree.py": ["planning/test_splits.py", "planning/test_cbs.py", "planning/test_solve.py"],
}

# By file and function, the rule that each mutant takes away, and its address.
ADDRESSES = """
core/rules.py
    place_agent
        the distance is that of the cells it was placed in: Assign 4 -> pass
        an agent that is set off its target has not arrived: Assign 5 -> pass
        an agent that is set off its target is not terminated: Assign 7 -> pass
        an episode goes on when its agent is set off the target: Assign 8 -> _1 = True
        an agent that stays on its target has arrived: If 1 -> True
        an agent that is placed is observed: Assign 10 -> pass
    walk_agent
        a walk is a step: AugAssign 1 -> pass
        a walk is observed: Assign 5 -> pass
        who walks nowhere has stayed: If 1 -> False
        who walks against the edge has not moved: If 2 -> _1
        a walk ends at the near edge: Call 3 -> _2
        a walk ends at the far edge: Call 4 -> _2
        a walk may reach the target: Expr 1 -> pass
    find_bad_action
        an action below the range is refused: Compare 4 -> _1 < -1
        an action above the range is refused: Compare 5 -> _1 > _2
        a parked agent's action is examined: Compare 6 -> _1 == 0
        a departed agent's action is not examined: BoolOp 2 -> _1 and _3
    begin_worlds
        a layout by hand has its lists of targets: Expr 4 -> pass
    restore_worlds
        a state that is set tells who has arrived: Assign 13 -> pass
        a state that is set is observed: Assign 14 -> pass
        a state that is set has its lists of targets: Expr 1 -> pass
    reset_worlds
        only a world that is over begins anew: If 1 -> True
    _begin
        an episode begins with step 0: Assign 1 -> pass
        everyone travels when an episode begins: Assign 4 -> pass
        arrivals are counted anew in each episode: Assign 7 -> pass
        nobody has arrived when an episode begins: Assign 8 -> pass
        nobody is truncated when an episode begins: Assign 11 -> pass
        everyone has stayed when an episode begins: Assign 12 -> pass
        the first distance is that of the layout: Assign 13 -> pass
        nobody arrives by a reset: Assign 14 -> pass
        an episode that begins is observed: Assign 15 -> pass
    distance
        the distance is the sum of both sides: BinOp 3 -> max(_1, _2)
    step_agents
        a step is observed: Assign 1 -> pass
        individual rewards are not shared: If 1 -> True
    resolve
        two agents are in each other's way: Compare 1 -> _1 > 2
        under none, agents pass through one another: BoolOp 1 -> _1
    build_moves
        who asks for its own cell has the outcome that it stayed: Compare 1 -> _1 > _2
        the lower edges stop: Compare 3 -> _1 < -1
        each side's edge is its own: BoolOp 2 -> _1 or _2 or _3 or _4_1 >= _3_2
        the edge is reported as the edge: Assign 5 -> _1 = 3
        a wall is reported as a wall: Assign 6 -> _1 = 2
        walls stop: If 3 -> _1 < _2
    request_moves
        walls are those of the map: Call 1 -> 0
        a parked agent stays: Compare 1 -> _1 != 2
        an agent that has left stays away: Compare 1 -> _1 != 1
        a parked agent has the outcome that it is parked: IfExp 1 -> _3
        who is stopped asks for its own cell: Compare 2 -> _1 != 3
    play_step
        delays hold agents up: If 1 -> False
    draw_agents
        the largest number is drawn, too: BinOp 2 -> _1
        the least number counts: BinOp 1 -> _2 + 1
    _begin
        the others have left: If 1 -> False
        the others are in a cell: Assign 6 -> pass
    _collide
        an agent that has left is no obstacle: Compare 1 -> _1 <= _2
        the first of two that ask for a cell is refused as the second is: Assign 9 -> _2 = _3
        the second of two that ask for a cell is refused as the first is: Assign 9 -> _1 = _3
        under soft, the lowest index is the claimant: For 2 -> _1(_2 - 1, -1, -1)
        nobody swaps: Assign 11 -> _1 = 4
        a swap is reported as a swap: Assign 11 -> _1 = 5
        two swap only if each asks for the cell of the other: Compare 6 -> True
        under priority, agents move in turn: Compare 8 -> False
        under symmetric, who stays holds up who follows: Compare 9 -> _1 == 3
        under soft, who stays holds up who follows: Compare 9 -> _1 == 0
        the claimant of a cell is forgotten after the step: Assign 13 -> pass
        the occupant of a cell is forgotten after the step: Assign 14 -> pass
        under priority, who was granted a cell is forgotten after the step: Assign 15 -> pass
    _is_refused
        under soft, the first claimant keeps its request: Compare 2 -> _1 != _2
        under soft, a claimant that would swap is refused: Call 2 -> False
        under block_both, a cell that was occupied is closed: If 2 -> False
        a swap is refused as a contest is: Compare 6 -> _1 == 5
    _move_in_turn
        under priority, an occupied cell is closed: If 2 -> True
        under priority, the cell that is left is open to those who come later: Assign 1 -> pass
        under priority, the cell that is entered is closed to those who come later: Assign 2 -> pass
    _hold_up_followers
        an agent that has left holds nobody up: BoolOp 1 -> _1
        the whole chain behind one who stays is held up: Assign 4 -> _1 = -1
        who is held up has its own reason: Assign 3 -> _1 = 4
    move
        who is granted a cell goes there: AugAssign 2 -> pass
        who is refused stays: Assign 2 -> _1 = 1
    _arrive
        a reward is paid once: Assign 7 -> pass
        who has left has terminated once: Assign 8 -> pass
        only the target itself is the target: Compare 2 -> _1 > 1
        under stay, walking off undoes the arrival: Assign 11 -> pass
        a parked agent is rewarded once: Compare 4 -> _1 == 2
        under restart, an arrival is rewarded: If 5 -> _1 < 2
        under stay, an arrival alone is not rewarded: If 5 -> True
        under stay, the arrival is the first step of standing there: If 6 -> True
        under restart, every arrival counts: BoolOp 2 -> _1
        the metrics tell the step of arrival: Assign 13 -> _1 = _2 - 1
        an arrival is reported: Assign 14 -> pass
        an arrival is reported once: Assign 9 -> pass
        an agent on its target parks: Assign 15 -> _1 = 0
        an agent on its target leaves: Assign 16 -> _1 = 1
        who has left has ended: AugAssign 4 -> pass
        an agent that arrives gets another target: Expr 1 -> pass
        the distance is that to the new target: Assign 18 -> pass
        under restart, nobody terminates: BoolOp 3 -> _2
        all must stand on their targets: Compare 12 -> _1 >= _2 - 1
        under park and stay, all terminate together: Compare 13 -> _1 == 2
        who left earlier does not terminate again: BoolOp 4 -> _1
        who terminates together with all has ended: Assign 20 -> pass
        under stay, everyone is rewarded when all stand on their targets: Assign 22 -> _1 = _2 / 2
    _share_rewards
        a shared reward is the mean over those who were there: Assign 2 -> _1 = _2_1 / _1_1.shape[1]
        who leaves in this step has a share: BoolOp 1 -> _1
    _end
        the limit is the number of steps: Compare 2 -> _1 <= _2
        without a limit nobody is truncated: BoolOp 1 -> _2
        a limit that is lowered below the steps played ends the episode: Compare 2 -> _1 != _2
        who terminates in the last step is truncated too: BoolOp 2 -> _1
        who is truncated has ended: Assign 3 -> pass
        the limit ends the episode: Assign 4 -> pass
core/placement.py
    draw_map
        the map of a pool is drawn: Call 2 -> _1(_2, _3, 1)
    draw_layout
        a map with letters is its own layout: If 1 -> _1 > 1
        the layout is that of the drawn map: Subscript 6 -> 0
        a map's lists of targets are its layout's: Expr 1 -> pass
        the lists are those of the drawn map: Subscript 1 -> 0
        a cell that can reach no other is not used: Compare 3 -> _1 < 1
        agents begin in cells of their own: BoolOp 1 -> _1 or _2
        the agents of a region are counted: AugAssign 1 -> pass
        only the last cell without an agent can be forced: BoolOp 2 -> _1_1 == 2 and _2_1 == 3
        where every cell has an agent, no cell is forced: BoolOp 2 -> _1_1 <= 1 and _2_1 <= 2
        a crowded region's last cell without an agent becomes the target: Compare 7 -> False
        a cell that already is a target is not forced: Compare 7 -> True
        a target is in reach: Compare 8 -> _1 == 0
        a target may be another agent's cell: Compare 9 -> has_agent[cell] != -1
        a target is not the agent's own cell: While 2 -> _1 or _3
        no two have one target: While 2 -> _1 or _2
        no agent stays marked after placing: Assign 25 -> pass
        no target stays marked after placing: Assign 26 -> pass
        the counts of agents by region are undone: Assign 27 -> pass
    _draw_cell
        x is drawn before y: Return 1 -> return _1_2, _1_1
        y is drawn from the height: Call 2 -> _1(_2, _3, _4_1[1])
    _cell_without_agent
        the forced cell has no agent: Compare 2 -> _1 != _2
        the forced cell is in the agent's region: Compare 1 -> _1 != 0
    set_lists
        the last target of a list counts: Compare 3 -> _1 < _2 - 1
        what fills a list does not count: Compare 4 -> True
        a world without lists forgets those before: Assign 4 -> pass
        what is left of longer lists is overwritten: For 3 -> range(0)
    set_next_target
        where there is a list nothing is drawn: If 1 -> False
        the target after an arrival is the next of the list: BinOp 1 -> (_1 + 1) % _2
        after its last target a list begins again: BinOp 1 -> min(_1, _2 - 1)
        a new target is in reach: Compare 3 -> _1 == 0
        a new target is another cell: While 1 -> _1
core/observe.py
    global_states
        the global state hides who has left: Compare 1 -> _1 > _2
    _mark
        who has left is not seen in the view: Compare 2 -> _1 <= _2
    observe_worlds
        what has changed is observed: If 1 -> False
        the marks of the view are taken away: Expr 3 -> pass
    observe_worlds_flat
        flat, what has changed is observed: If 1 -> False
        flat, the marks of the view are taken away: Expr 4 -> pass
    _write_others
        the others come in index order: IfExp 1 -> _1_2 - 1 - _2 if _1 else _3
        of who has left, the others see no cell: If 2 -> False
    _write_view
        the view is one of the drawn map: Call 2 -> 0
        the view's first axis is x: Assign 5 -> _1, _2 = _4, _3
        agents are seen in the view: Expr 2 -> pass
        the target of the step before is gone from the view: Assign 6 -> pass
        a target beyond the window is on its near edge: Call 11 -> abs(_2)
        a target beyond the window is on its far edge: Call 12 -> _2 % (_3 + 1)
    _copy_column
        a view of radius 2 is whole: Assign 4 -> pass
        a view of another radius is whole: For 1 -> range(side - 1)
    _write_offset
        the offset is seen from the agent: BinOp 1 -> _2 - _1
        the offset's y is seen from the agent: BinOp 3 -> _1
    _scale_offset
        flat, an offset to the left is negative: IfExp 1 -> _2
        flat, an offset's y is scaled by the height: Subscript 2 -> _1[0, abs(cells)]
    _write_walls
        the part walls is 1 at a wall: Compare 1 -> _1 != _2
    _write_action_mask
        the mask is that of the map: Subscript 2 -> 0
        the mask knows the edges: BoolOp 1 -> _2
        the mask knows the walls: BoolOp 1 -> _1
    _write_flat
        flat, the others are scaled: If 8 -> _ and _2_2 < 2
    _scale
        flat, an absent coordinate is -1: Compare 1 -> _1 >= _2
        flat, y is scaled by the height: BinOp 1 -> 0
runtime/pcg64.py
    is_stream
        a state's stream has an odd increment: BoolOp 1 -> _2 and _3
        a state's stream has a flag of 0 or 1: BoolOp 1 -> _1 and _3
        a state's stream has a half of 32 bits: BoolOp 1 -> _1 and _2
    _next_uint64
        the product's middle is carried into its upper half: BinOp 11 -> _1
        a sum of lower halves is carried: If 1 -> False
        the bits are turned by the highest six: Assign 11 -> _1 = _2 & np.uint64(31)
    _next_uint32
        a half that is left over is used once: Assign 1 -> pass
        the upper half is left over: Assign 4 -> _1 = _2_1 & np.uint64(0xFFFFFFFF)
        the lower half comes first: Return 2 -> return _1_1 >> np.uint64(32)
    draw_integer
        of one number nothing is drawn: If 1 -> False
        a draw is checked whenever it could favour a number: If 2 -> _1 < _2 >> np.uint64(1)
        the threshold is 2**32 modulo the count: BinOp 5 -> _1
        a draw at the threshold is taken: While 1 -> _1 <= _2
    write_stream
        a half that is left over is loaded: Subscript 6 -> 0
    read_stream
        a half that is left over is stored: Name 14 -> 0
    _seed
        a seed's two words both count: IfExp 1 -> _2
        a seeded state's sum is carried: IfExp 3 -> _2 if _1_1 < _3 else _3
core/drawn_maps.py
    _draw_own_map
        the largest side is drawn, too: BinOp 2 -> _1
        a map without room is drawn again: Compare 2 -> False
        density is halved in the end: BinOp 4 -> 1.0
    _restore_own_map
        a state has its map: Assign 1 -> pass
        a state's map is the world's own: Assign 2 -> pass
core/map_generators.py
    _clear
        the surroundings of a map are walls: Call 1 -> 0
    draw_random_walls
        an exact number is exact: AugAssign 1 -> pass
    _scatter
        walls are as likely as the density: Compare 1 -> _1 >= 0.5
    _draw_share
        a fixed density draws nothing: If 1 -> False
        a density has a range: BinOp 3 -> _1
        the mode is likeliest: If 2 -> True
        below the mode densities are rarer: BinOp 10 -> _2
        above the mode densities are rarer: BinOp 15 -> _2
    _draw_range
        the largest number is drawn, too: BinOp 3 -> _1
    _draw_rooms
        a maze begins anywhere: Call 2 -> 0
        ways are drawn: Assign 7 -> chosen = 0
        rooms are joined: Call 13 -> 0
    _find_room
        rooms are as large as others: BinOp 3 -> x
    _is_new
        a maze ends at its side: Compare 1 -> x < 99
    _open_door
        a wall has one door: If 1 -> False
        loops are as likely as they should be: Compare 3 -> True
        doors are anywhere: Call 5 -> 0
    draw_warehouse
        blocks are in the middle: BinOp 7 -> aisle
        blocks are few in the end: BinOp 19 -> _1
        all blocks are kept without a draw: Compare 1 -> False
        a number of blocks is exact: AugAssign 1 -> pass
    draw_cave
        walls grow: Assign 4 -> pass
        walls fall: Assign 3 -> pass
        a wall is not its own neighbour: BinOp 2 -> _1
        fewer walls are drawn in the end: BinOp 1 -> _1
    _count_walls
        cells around a map are walls: BoolOp 2 -> inside and (_2 or _3)
        all cells change at once: BoolOp 2 -> _1 or _2
    draw_wall_components
        walls are few in the end: BinOp 6 -> _1
        walls begin anywhere: Call 7 -> 0
        walls are long: For 2 -> range(1)
    _draw_way
        walls go straight: IfExp 1 -> _3
    build_map
        components have their sizes: Assign 7 -> pass
        walls are counted: AugAssign 1 -> pass
        cells that reach no other are no room: IfExp 1 -> _2
        a view shows the walls of the map: Assign 9 -> pass
    _flood
        cells reach over moves, not over edges: Compare 2 -> to_x < width
        the queue is left as before: Assign 6 -> pass
        a component goes on: AugAssign 2 -> pass
core/levels.py
    take_level
        a level that was not chosen is drawn: If 1 -> False
        a drawn episode has no number: Assign 1 -> pass
        a level has its walls: IfExp 1 -> _3
        a level has its components: Expr 1 -> pass
        a level has its number: Assign 3 -> pass
        a level has its layout: Expr 2 -> pass
        a level is that of one episode: Assign 4 -> pass
    keep_beginning
        agents that take no part have no beginning: Compare 1 -> True
        a beginning has targets: Assign 3 -> pass
    restore_beginning
        a state has its beginning: Assign 1 -> pass
        a state has no number of a level: Assign 2 -> pass
core/placement.py
    set_layout
        a layout sets the number of agents: Compare 1 -> True
core/delays.py
    hold_up
        a delay has one step less each step: BinOp 1 -> _1
        a delay ends: Call 2 -> _2
        delays go on: Compare 2 -> True
        a delayed agent is held up: If 3 -> False
        who has parked is not delayed: BoolOp 1 -> _1
        the outcome says delayed: Assign 6 -> pass
        a delayed agent asks for its own cell: Assign 7 -> pass
        delayed steps are counted: AugAssign 2 -> pass
    _begin_delays
        one agent is chosen of all: If 1 -> count == 1
        one agent is chosen at random: BinOp 1 -> 0
        under poisson, those without a delay are chosen: BoolOp 2 -> True
        agents are chosen at random: BinOp 2 -> k
        an agent is chosen once: Assign 4 -> pass
    _delay
        a delay goes on to its end: If 1 -> True
        durations have a least: BinOp 1 -> _2
        durations are drawn: BinOp 1 -> _1
    begin_delays
        an episode begins without delays: Assign 1 -> pass
        an episode begins without delayed steps: Assign 2 -> pass
    restore_delays
        a state has its stream of delays: Assign 1 -> pass
        a state has its delays: Assign 2 -> pass
    find_problem
        a state's stream of delays is one: If 1 -> False
        a state's delay is not negative: BoolOp 1 -> _2
        a state's delay has a longest: BoolOp 1 -> _1
        a state's delays and outcomes agree: If 3 -> False
        a state's delayed steps count the last one: BoolOp 4 -> _2
        a state's delayed steps have been played: BoolOp 4 -> _1
core/metrics.py
    write_metrics
        delays are counted for all agents: AugAssign 4 -> pass
        who takes no part has no success: Assign 12 -> pass
        metrics are over those who take part: Assign 3 -> num_agents = most
        an arrival in the first step is a success: Compare 3 -> _1 > 1
        who has not arrived costs all the steps: IfExp 2 -> arrival if success else 0
        csr asks for the success of all: Compare 4 -> _1 > 0
        isr is the rate of success: BinOp 1 -> _1
        soc is a sum: IfExp 6 -> _UNDEFINED if restarts else costs / num_agents
        the makespan is the largest cost: Call 6 -> min(makespan, cost)
        the throughput counts all agents' arrivals: BinOp 2 -> w.arrivals[e, 0] / _2
        the throughput is by step: BinOp 2 -> _1 / 1
        under restart, one arrival is a success: Compare 2 -> _1 > 1
core/invariants.py
    _check_cells
        a state's map is one of the pool: Compare 2 -> _1 > _2
        a state's stream is one: If 2 -> False
        a state's steps are not negative: BoolOp 3 -> _2
        a state's steps have a limit: BoolOp 3 -> _1
        a state's cells are no walls: BoolOp 4 -> _2 and _1_1 != _1_2
        a state's cells can reach another: BoolOp 4 -> _1
        a state's targets are no walls: If 9 -> False
        a state's targets are in reach: If 10 -> False
        a state's number of agents has a least: If 3 -> num_agents > w.location.shape[1]
        a state's number of agents has a largest: If 3 -> num_agents < w.settings[LEAST_AGENTS]
    _are_absent
        who takes no part is in a cell: If 1 -> False
        who takes no part has not arrived: If 2 -> False
        who takes no part has no results: If 3 -> False
        who takes no part does not end: If 4 -> False
    _is_inside
        a state's cells are not below the grid: BoolOp 1 -> _3 and _4
        a state's cells are not beyond the grid: Compare 4 -> _1 <= _2
    _is_allowed
        nobody parks where on_target does not say so: BoolOp 2 -> _1
        nobody leaves where on_target does not say so: BoolOp 3 -> _1
    _check_shared_cells
        a state has no two agents in one cell: Assign 4 -> pass
        under none, a state may have two agents in one cell: If 1 -> True
        in a state, who has left shares its cell with anyone: If 2 -> True
        a state has no two equal targets: If 5 -> False
        under restart, a state may have two equal targets: If 4 -> True
    _check_arrivals
        who is parked stands on its target: BoolOp 6 -> _1 and _2 and _3_1 and _3_2_1 == _3_2_2
        arrivals are as many as on_target allows: BoolOp 7 -> _1 or _3
        an arrival has its step: If 5 -> _2
        no arrival is to come: BoolOp 13 -> _1
        outcomes are such: BoolOp 14 -> _1
        distances are those of the cells: If 7 -> _1 < 0
        who has just arrived may stand on its next target: If 1 -> False
        with a list too, nobody stands on a target for long: BoolOp 4 -> _1
        only an agent alone may be placed on its target: BoolOp 1 -> _1
        an agent that was placed has not arrived yet: BoolOp 3 -> _1 and _2
        under stay, agents may start on their targets: BoolOp 2 -> _2
        under restart, agents may start on their targets: IfExp 1 -> _3
        under restart, no agent is on its target later: IfExp 1 -> _1 or _3
    check_list_cells
        a state's agents all have lists, or none has: Compare 1 -> False
        a state has lists under restart alone: Compare 2 -> False
        a state's lists end as they are filled: If 2 -> False
        a state's lists are in reach: Compare 7 -> False
        a state's lists are inside the grid: BoolOp 6 -> _2
    _check_lists
        a state's targets are those that its lists have now: If 3 -> False
        who has just arrived stands on the target before: If 4 -> False
    _check_ends
        nobody terminates alone: If 1 -> not _1 and _2
        nobody is truncated alone: Compare 8 -> _1 and not _2_2
        an episode is over when all are done: If 3 -> _2 and not _1
        ends are counted: If 4 -> _1 < 0
        rewards are those of the arrivals: If 6 -> _1 < _2
        shared, a reward is the mean: BinOp 1 -> _1
core/wrappers.py
    _is_place
        a game puts no agent left of the grid: Compare 1 -> True
        a game puts no agent beyond the grid: Compare 3 -> True
        a game puts no agent into a wall: Compare 5 -> True
        a game puts no agent where it can never move: Compare 6 -> True
    _check_places
        a game puts no target beyond the grid: Compare 4 -> True
        a misplaced agent is a failure: Expr 1 -> pass
    _clear_own
        an episode begins with empty arrays of the game: Expr 1 -> pass
        an episode begins with actions of 0: Assign 1 -> pass
    _restore_own
        a state that is set has the arrays of the game: Expr 1 -> pass
        a state that is set has the actions: Assign 1 -> pass
    _place_own
        no two agents are placed in one cell: Expr 5 -> pass
        cells of agents are forgotten after they are placed: Assign 7 -> pass
    _has_departed
        an agent that leaves in this step has not departed: BoolOp 2 -> _1
    _forget_departed
        a departed agent's action is 0: Assign 1 -> pass
    _step_own
        a step of a game begins without rewards: Assign 4 -> pass
        a step of a game is checked: Expr 3 -> pass
    _request_own
        an agent that travels no more asks for nothing: If 1 -> False
        who asks for its own cell has stayed: If 2 -> False
        who asks for a cell outside the grid meets the edge: Assign 8 -> pass
        who asks for a wall stays: Compare 9 -> False
        who asks for a cell of its own choice asks the game, too: BoolOp 3 -> _1
    _may_enter_own
        a failure of may_enter is a failure: Expr 1 -> pass
    _resolve_own
        a move that was not asked for is a failure: Expr 3 -> pass
    _after_moves_own
        a failure of after_moves is a failure: Expr 2 -> pass
    _settle
        the distance follows an agent that a game moves: Assign 3 -> pass
        a departed agent is rewarded no more: Assign 5 -> pass
        an agent that a game terminates leaves: Assign 7 -> pass
        an episode is over when a game has terminated all: BoolOp 5 -> _1
        ends are counted in a game: Assign 8 -> pass
    _check_memory
        a state's actions are in range: If 1 -> False
    _check_own
        a game's check has the last word: Assign 2 -> _1 = True
    write_metric
        each metric of a game has its row: Assign 3 -> pass
        a failure of a metric is a failure: Expr 1 -> pass
    write_part
        each part of a game is written: Expr 1 -> pass
        a failure of a part is a failure: Expr 2 -> pass
    write_part_flat
        cells of a game are scaled: If 1 -> False
        differences of cells are scaled: If 3 -> False
games/foraging.py
    step
        foraging ends without foods: BoolOp 1 -> _2
        foraging ends at the limit: Compare 2 -> _1 > _2
    _place_players
        levels of players are permuted: Assign 5 -> _1 = s.player_levels[i, 0], s.player_levels[i, 1]
        players that are placed keep others away: If 2 -> True
        the largest level of a player can be drawn: BinOp 3 -> _1
        places of the last episode count: If 1 -> True
    _place_foods
        foods keep apart: BoolOp 2 -> _1
        no food is where a player is: BoolOp 2 -> _2
        foods lie inside: BinOp 1 -> _1
        the tries for foods are counted together: Compare 2 -> _1 < 9 * _2
        levels of foods are permuted: Assign 7 -> f = s.num_placed[e]
        a largest level of a food holds: IfExp 1 -> together
        force_coop makes foods as hard as can be: IfExp 2 -> s.food_levels[f, 0]
    _add_lowest
        the third lowest level counts: Assign 3 -> pass
    _has_food_near
        foods are not two cells apart in a row: BoolOp 1 -> _1
    _put_food
        foods are in reading order: BoolOp 1 -> False
        the sum of levels is that of the beginning: AugAssign 2 -> pass
    _move
        a player stays off the lower edge: Compare 1 -> _1 >= -1
        a player stays off the right edge: Compare 4 -> _1 <= _2
        foods are closed: AugAssign 1 -> pass
        who loads asks for its own cell: Assign 7 -> moves = _1
    _refuse
        two that ask for a cell stay: Assign 1 -> pass
    _load
        only who loads is in the group: Compare 2 -> True
        levels add up: AugAssign 1 -> pass
        a group of less level is refused: Compare 5 -> _1 <= _2
        who loads in vain pays: AugAssign 3 -> pass
        rewards are normalised: IfExp 2 -> reward
        the group's levels divide the reward: BinOp 3 -> s.total[e]
        a food is loaded once: AugAssign 4 -> pass
games/robotic_warehouse.py
    step
        a warehouse ends without deliveries: Assign 1 -> is_idle = False
        a warehouse ends at its limit: Compare 4 -> _1 > _2
    _resolve
        an agent stays on the map: BoolOp 1 -> _1 or _2 or _3
        bits of a message are told apart: BinOp 4 -> _1
        a carrier stays off shelves: If 3 -> False
        a carrier may follow another: BoolOp 3 -> _1 and _2
    _follow_chain
        two do not change places: IfExp 1 -> _MOVED
        three turn together: IfExp 1 -> _SWAP
        who follows one that stays, stays: Return 3 -> return 5
        who follows a cycle stays: Return 4 -> return 0
        chains have a length: Assign 3 -> pass
    _move_longest_chain
        the longest chain moves: Compare 6 -> follower == NOBODY
        equal chains are told apart: Compare 8 -> False
        those behind the first of a chain move: Assign 7 -> pass
    _act
        a shelf leaves its cell: Assign 3 -> pass
        a shelf that another agent brings stays: BoolOp 2 -> _1
        a shelf moves with its carrier: Assign 6 -> pass
        an agent with a shelf takes no other: Compare 9 -> True
        no shelf is put down on a way: BoolOp 5 -> _1
        the second stage is paid once: Assign 10 -> pass
        the second stage is paid to who has delivered: BoolOp 6 -> _2
    _deliver
        only requested shelves are delivered: BoolOp 1 -> _1
        a delivery ends the time without one: Assign 3 -> pass
        who is not on the goal is not paid: BoolOp 3 -> True
        a global reward is for all: BoolOp 3 -> _2
        each stage pays half: IfExp 1 -> 1.0
        a delivery has a second stage: Assign 5 -> pass
    _replace_request
        the delivered shelf is not drawn: BinOp 2 -> _1 - _2 + 1
        a requested shelf is not drawn again: AugAssign 2 -> drawn -= 1
        the delivered shelf is requested no more: Assign 5 -> s.is_wanted[e, new] = 1
games/_ties.py
    find_first
        a large component is gone through in order of mention: If 2 -> False
        a small component is gone through as a set: If 2 -> True
        cells are counted once: BoolOp 2 -> _1
    _sort_as_set
        a set grows: If 1 -> False
        a set grows fourfold: BinOp 6 -> _1 * 2
    _insert
        a cell goes to a place without another: Compare 2 -> True
        neighbours are tried first: IfExp 1 -> 0
core/draws.py
    draw_integer
        a number is drawn from the lowest on: BinOp 2 -> _2
        there is nothing to draw below the lowest: BoolOp 1 -> False
    is_free
        a wall is not free: Compare 5 -> False
        a cell without a neighbour is not free: Compare 6 -> False
        the cell of an agent is not free: Return 3 -> pass
        the cell of an agent that has left is free: BoolOp 3 -> _1 and _2
    shuffle
        a shuffle draws any place up to its own: Compare 4 -> _1 >= _2
core/states.py
    FIELDS
        a state holds the arrivals' steps: Tuple 2 -> _[:7]
        a state holds the targets: Tuple 2 -> _[:4] + _[5:]
        a state holds the steps played: Tuple 2 -> _[:1] + _[2:]
        a state holds the last rewards: Tuple 3 -> _[1:]
    find_longest
        there is room for the longest list of any state: Assign 3 -> _1 = max(1, *shape[-2:-1])
    StateBuffer.read_each
        what is left of another state's lists is overwritten: Assign 4 -> pass
    _check_field
        a state's fields have the world's shape: Compare 1 -> len(_1) == len(_2)
        a state's fields have the world's dtype: BoolOp 1 -> _1
    _copy
        a bool of a state is 0 or 1: IfExp 1 -> _3
    _read_generator
        a state's PCG64 is copied to the stream: Expr 1 -> pass
core/generators.py
    check_state
        an increment is odd: Compare 2 -> False
        MT19937's key has a bit: BoolOp 3 -> False
    _is_plain
        a plain state's increment is odd: Compare 4 -> _1_1 >= 0
        a flag of a plain state is 0 or 1: Compare 5 -> _1 <= _2 <= 2**40
    _INTEGERS
        MT19937's position is in its key: Dict 2 -> {_1: 2**40}
    _check_integer
        Philox's position is in its buffer: UnaryOp 2 -> _1_2 > _1_3
    _draw_integer
        a generator's numbers are in range: UnaryOp 2 -> _1_2 < 0
        a generator's numbers are not negative: UnaryOp 2 -> _1_2 >= _1_3
    is_compiled
        a subclass of Generator is asked itself: Compare 1 -> isinstance(_1_2, _2)
        a bit generator of another kind is asked itself: Compare 2 -> _1_2_1 is not None
    WorldGenerators.update_streams
        a draw follows the generator that somebody holds: Expr 1 -> pass
        what was drawn outside is loaded: Compare 1 -> _2 is None
    WorldGenerators.copy_state
        the state of a generator of another kind is its own: If 1 -> False
    WorldGenerators.prepare
        a generator that is not safe is not drawn from: Expr 1 -> pass
core/worlds.py
    _run
        the generator that somebody holds follows a draw: Expr 4 -> pass
        a kernel that is cut off is noticed: Assign 3 -> pass
    _start_streams
        a stream of delays is set: IfExp 1 -> {}
    _make_room
        every thread gets the longer lists: ListComp 1 -> [_[0], *self._thread_arrays[1:]]
        lists of other worlds are kept when they get longer: If 2 -> False
        shorter lists take no room away: Compare 1 -> _1 == _2
    reset
        a seed forgets the generator: Expr 8 -> pass
    restore
        the generator that somebody holds follows a state: Expr 7 -> pass
    _copy_lists
        a state's lists are as long as its longest: Subscript 1 -> _1
core/allocation.py
    _fill_maps
        outside the grid, a view shows walls: Call 5 -> _1(_2, _3, constant_values=0)
    allocate
        flat, the last cell of a side has the coordinate 1: BinOp 12 -> _1 / _1_2
        flat, a side of one cell has the coordinate 0: BinOp 12 -> (_1 + (_1_2 == 1)) / _2
maps/_layouts.py
    check_places
        a cell by hand is not at the grid's far edge: Compare 2 -> _1 <= _2 <= _3
        a cell by hand is not negative: Compare 1 -> -1 <= _2 < _3
        a cell by hand is no wall: If 2 -> _1 < _2
        no two have one cell by hand: If 3 -> _1 > _2
    check_layout
        an agent does not begin on its target: If 1 -> False
        under stay and restart, an agent may begin there: If 1 -> _1
        who starts on its target can reach another cell: If 2 -> False
        a target by hand is in reach: If 3 -> _2 == 0
    check_cells
        cells by hand are integers: Constant 6 -> "iuf"
        there is a cell by hand for each agent: Compare 5 -> False
    check_cell
        a location is not at the grid's far edge: Compare 1 -> _1 <= _2 <= _3
    check_pair
        a location is of integers: Compare 2 -> _1 not in "iuf"
maps/_target_lists.py
    holds_lists
        an empty list is a list: BoolOp 4 -> _2
    make_layout
        lists need the rule restart: If 2 -> False
    check_lists
        agents with lists have cells of their own: Expr 1 -> pass
        an agent with a list can reach another cell: If 1 -> False
        a list has no negative cells: Compare 2 -> _1 >= -1
        a list has no cells at the far edge: Compare 3 -> _1 <= _2
        a list is in reach: Compare 4 -> there == 0
    read_lists
        there is a list for each agent: If 1 -> False
    _read_list
        a list is of integers: Compare 3 -> _1 not in "iuf"
        a list is not empty: If 4 -> False
    _length
        what fills a list is no target: Compare 1 -> _1 == _1
        a coordinate may be -1 beside another: Call 2 -> (cells != NO_TARGET).all(axis=1)
planning/_search.py
    count_costs
        a plan's arrivals are those at the last stay: If 1 -> False
        an agent that starts on its target has the cost of one step: Call 4 -> _3
planning/_travellers.py
    Travellers.__init__
        who has parked is an obstacle for a plan: If 1 -> False
    Travellers.check_plan
        each move of a plan is granted: If 2 -> False
        the costs of a plan are the game's: If 3 -> False
planning/_pibt.py
    _take_option
        PIBT gives no cell to two agents: BoolOp 2 -> _2
        PIBT lets no two agents swap: BoolOp 2 -> _1
    begin_step
        PIBT's agents that have left are nowhere: BoolOp 1 -> _1
        PIBT's parked agents keep their cells: If 2 -> False
    _pull
        PIBT's agents follow into cells that are not reserved: BoolOp 2 -> _1
planning/_next_step.py
    sort_agents
        under restart, an agent's time begins with its last arrival: IfExp 1 -> 0
        who is on its target chooses last: IfExp 2 -> _3
    _walk_alone
        without collisions, an agent takes the nearest cell: BoolOp 1 -> _1
planning/_expansion.py
    _fix
        constraints of LaCAM give no cell to two agents: BoolOp 1 -> _2
        constraints of LaCAM let no two agents swap: BoolOp 1 -> _1
    _charge
        leaving has no cost: BoolOp 2 -> _1
    _pass_on
        a cheaper way lowers the costs behind it: If 1 -> False
planning/_timetable.py
    make_timetable
        who has left blocks no path: BoolOp 1 -> _1
planning/_path_search.py
    _push_next
        no path enters a cell where another agent has arrived: BoolOp 1 -> _1 or _3
        no path enters a cell where another agent is: BoolOp 1 -> _1 or _2
        no path swaps with another: If 2 -> False
    find_path
        no path ends before the last visit of another agent: IfExp 1 -> 0
    _push_next_in_window
        in a window, no path enters a cell where another agent is: BoolOp 1 -> _1
        in a window, parked agents stay: If 2 -> False
        in a window, no path swaps with another: If 3 -> False
    price
        under restart, the first arrival has the cost: If 1 -> False
planning/_windowed.py
    _move_on
        agents that are somewhere else get a new window: BoolOp 1 -> _1
planning/_cbs_pairs.py
    is_conflict
        two agents in one cell are a conflict: If 1 -> False
        a swap is a conflict: Return 2 -> return False
    list_options
        one of a pair that has left is nowhere: IfExp 1 -> _3
planning/_cbs_spaces.py
    is_stop
        no path stops too early: BoolOp 1 -> _1 and _3
    first_stop
        a goal that is forbidden later is no stop: If 4 -> False
    reach
        who parks does not pass over its goal: If 3 -> False
    is_open
        forbidden actions are not taken: If 1 -> False
        forbidden cells are not entered: Return 2 -> return True
planning/_cbs_paths.py
    list_conflicts
        agents in one cell are listed: If 2 -> False
        agents that swap are listed: If 5 -> False
planning/_cbs_joint.py
    _has_conflict
        in joint searches, no two agents are in conflict: If 1 -> False
    list_moves
        in a joint search, who has left is nowhere: IfExp 1 -> _3
        in a joint search, who parks stays: UnaryOp 2 -> True
    Joint.__init__
        a joint search keeps the horizon: IfExp 1 -> _2 + 1 if _1 else _3
planning/_cbs_tree.py
    _judge
        each agent raises a bound once: If 2 -> True
    _split_costs
        one of a pair may pay less: BinOp 5 -> _1 - 2
        the other of a pair pays no more than it has to: BinOp 7 -> _1 + _2 + 1
    _split_cells
        a swap is forbidden to one of both: Assign 4 -> _1 = (step, cells[0], FORBID_CELL)
"""

HEADS = {"If": "test", "While": "test", "For": "iter"}


class Mutant(NamedTuple):
    """The `number`-th node of a kind in a function, what stands there instead, and the rule that this takes away."""

    file: str
    function: str
    rule: str
    kind: str
    number: int
    template: str

    def apply(self, source):
        """Return the mutated source; raise what `find` raises."""
        tree = ast.parse(source)
        return ast.unparse(Replace(*self.find(tree)).visit(tree))

    def find(self, tree):
        """Return the node, and what stands there instead; raise a ValueError if there is no such node or operand."""
        known = definitions(tree)
        named = [node for name, node in known.items() if f".{name}".endswith(f".{self.function}")]
        if len(named) != 1:
            raise ValueError(f"{self.file} has {len(named)} functions {self.function}; it has {', '.join(known)}")
        sites = [node for node in nodes(named[0]) if type(node).__name__ == self.kind]
        if not 1 <= self.number <= len(sites):
            raise ValueError(f"{self.function} in {self.file} has {len(sites)} {self.kind}, and none is {self.number}")
        site = getattr(sites[self.number - 1], HEADS.get(self.kind, ""), sites[self.number - 1])
        return site, fill(self.template, site)


def definitions(tree):
    """Return the functions by qualified name, and the assignments of the module by theirs."""
    found, waiting = {}, [("", node) for node in tree.body]
    while waiting:
        prefix, node = waiting.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(node, ast.FunctionDef):
                found[prefix + node.name] = node
            waiting[:0] = [(f"{prefix}{node.name}.", inner) for inner in node.body]
        elif not prefix and isinstance(node, (ast.Assign, ast.AnnAssign)):
            found[ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)] = node
    return found


def nodes(node):
    """Yield the nodes of a function's body, each before those inside it; no docstrings, no annotations."""
    for child in node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(node, ast.AnnAssign) and child is node.annotation:
            continue
        yield child
        yield from nodes(child)


def operands(node):
    """Return the expressions directly inside a node, in the order of `ast`; for assigned tuples, their parts."""
    found = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Assign):
        return [part for child in found for part in (child.elts if isinstance(child, ast.Tuple) else [child])]
    return found


def fill(template, site):
    """Return what stands for a node: the template, with the node and its operands put in."""
    new = ast.parse(template).body[0]
    filled = new.value if isinstance(new, ast.Expr) and isinstance(site, ast.expr) else new
    for name in [node for node in ast.walk(filled) if isinstance(node, ast.Name)]:
        if re.fullmatch(r"_(\d+(_\d+)*)?", name.id):
            part = site
            for k in re.findall(r"\d+", name.id):
                if int(k) > len(operands(part)):
                    raise ValueError(f"{name.id} of {ast.unparse(site)} is missing")
                part = operands(part)[int(k) - 1]
            filled = Replace(name, copy.deepcopy(part)).visit(filled)
    return filled


class Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old, new):
        self.visit = lambda node: new if node is old else self.generic_visit(node)


def read(addresses):
    """Yield the mutants of a table: files, functions and rules, each with four more spaces before it."""
    file = function = ""
    for line in filter(str.strip, addresses.splitlines()):
        if found := re.fullmatch(r" {8}(.+): (\w+) (\d+) -> (.+)", line):
            yield Mutant(file, function, found[1], found[2], int(found[3]), found[4])
        elif line.startswith(" "):
            function = line.strip()
        else:
            file = line


MUTANTS = list(read(ADDRESSES))

LIMIT = 120
# Seconds of processor time for each test, so that a busy machine fails none; five times that by the clock, for a test
# that only waits. Both timers also end a process that hangs in a compiled kernel.
WATCH = f"""
import faulthandler
import signal

def pytest_runtest_logstart():
    signal.setitimer(signal.ITIMER_PROF, {LIMIT})
    faulthandler.dump_traceback_later(5 * {LIMIT}, exit=True)

pytest_runtest_logstart()  # for the imports
"""
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGPROF}
PASSED, FAILED, INTERRUPTED = range(3)  # exit codes of pytest; 2 also if a test file cannot be imported

running = set()


def run(tree, mutant, tests, interpreted):
    """Run tests on a private copy of the tree until one fails; return its name, or None if all pass.

    Compiled kernels are kept beside the tree, for the next mutants.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        home, cache, output = Path(folder) / "home", tree.parent / "cache", Path(folder) / "output"
        shutil.copytree(tree, home)
        (home / "watch.py").write_text(WATCH)
        if mutant is not None:
            path = home / "multigrid" / mutant.file
            path.write_text(mutant.apply(path.read_text()))
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        numba = {"NUMBA_DISABLE_JIT": "1"} if interpreted else {"NUMBA_CACHE_DIR": str(cache)}
        # Without the other plugins of the environment pytest starts in half the time.
        plugins = ["-p", "no:cacheprovider", "-p", "watch", "-p", "hypothesispytest"]
        plugins += [] if interpreted else ["-p", "compile_once"]
        paths = os.pathsep.join(map(str, (home, home / "tests")))
        flags = ["-x", "-v", "--tb=no", "--hypothesis-seed=0", *plugins]
        with output.open("wb") as printed:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *flags, *(f"tests/{test}" for test in tests)],
                cwd=home,
                env={**surroundings, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **numba},
                stdout=printed,
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


def end(process):
    """End a run with all that it has started, also what a hanging test has left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def failure(returncode, output):
    """Return the test that failed, hung or died, or None; raise a RuntimeError if the mutant is not to blame."""
    if returncode == PASSED:
        return None
    if returncode not in (FAILED, INTERRUPTED) and -returncode not in CRASHES:
        raise RuntimeError(f"pytest returned {returncode}")
    begun = re.findall(r"^tests/(\S+?\.py::[^\s\[]+)", output, re.MULTILINE)
    return begun[-1] if begun else "the import"


def has_kernels(file):
    """Return whether mutants of this file change compiled code, or what only compiled kernels have, such as threads.

    Games take minutes to compile, and their own tests compare compiled ones with interpreted ones.
    """
    return file == "core/worlds.py" or bool(
        file not in {"core/wrappers.py", "core/draws.py"}
        and not file.startswith("games/")
        and re.search("^@(kernel|function|inlined|draw)$", (ROOT / "multigrid" / file).read_text(), re.MULTILINE)
    )


def is_green(tree, files, interpreted):
    """Run the tests that mutants of these files must fail, without a mutant, and print how that went."""
    tests = list(dict.fromkeys(test for file in files for test in TESTS[file]))
    begun, broken = time.monotonic(), run(tree, None, tests, interpreted)
    verdict = "all tests pass" if broken is None else f"FAILS in {broken}"
    say(f"unchanged, {'interpreted' if interpreted else 'compiled'}: {verdict}  ({time.monotonic() - begun:.0f} s)")
    return broken is None


class Journal:
    """The verdicts so far, kept in a file unless its path is None, so that a run that was cut off goes on.

    Verdicts on another tree only say which test to run first.
    """

    def __init__(self, path, tree):
        self.path = path
        digest = hashlib.sha256()
        for file in sorted(tree.rglob("*")):
            if file.is_file() and file.name not in (Path(__file__).name, f"test_{Path(__file__).name}"):
                digest.update(f"{file.relative_to(tree)}".encode() + file.read_bytes())
        self.digest = digest.hexdigest()
        entries = [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []
        self.killers = {entry["mutant"][2]: entry["killer"] for entry in entries if entry["killer"]}
        same = [entry for entry in entries if entry["tree"] == self.digest]
        self.known = {(*entry["mutant"], entry["interpreted"]): entry["killer"] for entry in same}

    def add(self, mutant, interpreted, killer):
        """Write a verdict down."""
        entry = {"tree": self.digest, "interpreted": interpreted, "mutant": mutant, "killer": killer}
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def tests(self, mutant, tree):
        """Return the tests for a mutant, that which killed it before first."""
        path, _, test = self.killers.get(mutant.rule, "").partition("::")
        is_there = test and (tree / "tests" / path).exists() and f"def {test}(" in (tree / "tests" / path).read_text()
        return [*([f"{path}::{test}"] if is_there else []), *TESTS[mutant.file]]


def is_killed(tree, number, mutant, interpreted, journal):
    """Run one mutant unless its verdict is known, print its line, and return whether a test has failed."""
    begun = time.monotonic()
    interpreted = interpreted or not has_kernels(mutant.file)
    key = (*mutant, interpreted)
    try:
        if key in journal.known:
            killer = journal.known[key]
        else:
            killer = run(tree, mutant, journal.tests(mutant, tree), interpreted)
            journal.add(mutant, interpreted, killer)
        verdict = f"killed by {killer}" if killer else "SURVIVED"
    except (ValueError, RuntimeError) as error:
        killer, verdict = None, f"NOT JUDGED, {error}"
    say(f"{number:4d}  {mutant.file}  {mutant.rule}: {verdict}  ({time.monotonic() - begun:.0f} s)")
    return killer is not None


def main(arguments=None, mutants=MUTANTS):
    """Judge the mutants asked for; return 1 if one is not killed or cannot be judged, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these mutants, counted from 1")
    parser.add_argument("--interpreted", action="store_true", help="do not compile: quicker, and nearly as good")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keep the verdicts here, and go on from them")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants at a time")
    parser.add_argument("--show", action="store_true", help="only print what each mutant changes")
    chosen = parser.parse_args(arguments)
    numbers = chosen.only or range(1, len(mutants) + 1)
    if not set(numbers) <= set(range(1, len(mutants) + 1)):
        parser.error(f"there are mutants 1 to {len(mutants)}")
    if chosen.show:
        for number in numbers:
            mutant = mutants[number - 1]
            old, new = map(ast.unparse, mutant.find(ast.parse((ROOT / "multigrid" / mutant.file).read_text())))
            say(f"{number:4d}  {mutant.file} {mutant.function}  {mutant.rule}\n      - {old}\n      + {new}")
        return 0
    files = {mutants[number - 1].file for number in numbers}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        # One state of the tree for all, whatever is edited meanwhile.
        tree = Path(folder) / "tree"
        for name in ("docs", "examples", "multigrid", "tests"):
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / name, tree)
        try:
            compiled = set() if chosen.interpreted else set(filter(has_kernels, files))
            by_mode = {True: files - compiled, False: compiled}
            if not all(is_green(tree, sorted(some), mode) for mode, some in by_mode.items() if some):
                return 1
            journal = Journal(chosen.resume, tree)

            def judge(number):
                return is_killed(tree, number, mutants[number - 1], chosen.interpreted, journal)

            killed = list(pool.map(judge, numbers))
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


def say(line):
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - what the script is for


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # as Ctrl-C does: what has been started is ended too
    sys.exit(main())
