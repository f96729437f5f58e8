"""Record episodes of POGEMA in which each agent has a list of targets, in tests/golden/pogema_lists.json.

Run it in an environment of its own, for POGEMA pins an old NumPy: a Python 3.11 with pogema==1.4.0 and nothing else.
It always writes the same bytes. Cells are [x, y] and actions are digits, both as in multigrid: 0 right [1, 0],
1 up [0, 1], 2 left, 3 down, 4 stay. An episode holds

- map: the rows of the picture, "#" for a wall;
- starts, collisions and limit (POGEMA's max_episode_steps);
- lists: for each agent its targets in order, at least two, for POGEMA takes no fewer; some start on their targets, have
  the same cell twice in a row, or cells of other agents' lists;
- actions: one string a step, one digit an agent;
- cells: after each step x, y, target x, target y of each agent, in one row;
- rewards: one string a step, one digit an agent;
- throughput: POGEMA's own, after the last step.
"""

import functools
import warnings
from pathlib import Path

import numpy as np
from pogema import GridConfig, pogema_v0
from record_pogema_metrics import TO_POGEMA, chosen, distances, draw_map, flipped, write

FILE = Path(__file__).parents[2] / "tests" / "golden" / "pogema_lists.json"
EPISODES_PER_RULE = 8


def make_lists(free, starts, random):
    """Return a list of targets for each agent: few cells that it can reach, near its start, some of them repeated."""
    lists = []
    for start in starts:
        found = distances(free, start)
        near = sorted(found, key=lambda cell: (found[cell], cell))[:5]
        some = [near[int(random.integers(len(near)))] for _ in range(int(random.integers(2, 6)))]
        if random.random() < 0.4:
            some[0] = start
        if random.random() < 0.5:
            some[1] = some[0]
        lists.append([list(cell) for cell in some])
    return lists


def record(collisions, seed):
    """Play one episode, or return None where the random map has no room for its agents."""
    random = np.random.default_rng([seed, 15])
    walls, free, picture = draw_map(random)
    wide = sorted(cell for cell in free if len(distances(free, cell)) > 1)
    num_agents = int(random.integers(1, 6))
    if len(wide) < num_agents + 2:
        return None
    starts = [list(wide[int(index)]) for index in random.permutation(len(wide))[:num_agents]]
    lists = make_lists(free, [tuple(cell) for cell in starts], random)
    limit, noise = int(random.integers(8, 25)), float(random.choice([0.0, 0.1, 0.4]))
    env = pogema_v0(
        GridConfig(
            map=walls.astype(int).tolist(),
            num_agents=num_agents,
            agents_xy=[cell[::-1] for cell in starts],
            targets_xy=[[cell[::-1] for cell in one] for one in lists],
            collision_system=collisions,
            on_target="restart",
            max_episode_steps=limit,
            obs_radius=2,
            seed=seed,
        )
    )
    env.reset()
    actions, cells, rewards, over = [], [], [], False

    def pairs():
        """The cell and the target of each agent."""
        at, goals = env.get_agents_xy(ignore_borders=True), env.get_targets_xy(ignore_borders=True)
        return list(zip(flipped(at), flipped(goals), strict=True))

    while not over:
        row = [chosen(free, *one, noise, random) for one in pairs()]
        # A list made for this call: under *soft* POGEMA writes into it.
        _, gained, terminated, truncated, infos = env.step([TO_POGEMA[action] for action in row])
        actions.append("".join(map(str, row)))
        rewards.append("".join(str(int(reward)) for reward in gained))
        cells.append([number for at, goal in pairs() for number in (*at, *goal)])
        over = all(terminated) or all(truncated)
    return {
        "map": picture,
        "starts": starts,
        "lists": lists,
        "collisions": collisions,
        "limit": limit,
        "actions": actions,
        "cells": cells,
        "rewards": rewards,
        "throughput": infos[0]["metrics"]["avg_throughput"],
    }


if __name__ == "__main__":
    # POGEMA warns whenever a list begins again.
    warnings.simplefilter("ignore")
    rules = [functools.partial(record, rule) for rule in ("priority", "block_both", "soft")]
    write(FILE, rules, EPISODES_PER_RULE)
