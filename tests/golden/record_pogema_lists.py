"""Record episodes of POGEMA in which each agent has a list of targets, in pogema_lists.json.

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

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
from pogema import GridConfig, pogema_v0
from record_pogema_metrics import TO_POGEMA, chosen, distances, flipped

FILE = Path(__file__).with_name("pogema_lists.json")
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
    width, height = int(random.integers(4, 8)), int(random.integers(3, 6))
    walls = random.random((height, width)) < random.choice([0.0, 0.15, 0.3])
    free = {(int(x), int(y)) for y, x in np.argwhere(~walls)}
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
    while not over:
        locations, goals = (
            flipped(env.get_agents_xy(ignore_borders=True)),
            flipped(env.get_targets_xy(ignore_borders=True)),
        )
        row = [chosen(free, *one, noise, random) for one in zip(locations, goals, strict=True)]
        # A list made for this call: under *soft* POGEMA writes into it.
        _, gained, terminated, truncated, infos = env.step([TO_POGEMA[action] for action in row])
        now = (flipped(env.get_agents_xy(ignore_borders=True)), flipped(env.get_targets_xy(ignore_borders=True)))
        actions.append("".join(map(str, row)))
        rewards.append("".join(str(int(reward)) for reward in gained))
        cells.append([number for at, goal in zip(*now, strict=True) for number in (*at, *goal)])
        over = all(terminated) or all(truncated)
    return {
        "map": ["".join(".#"[wall] for wall in row) for row in walls.astype(int).tolist()],
        "starts": starts,
        "lists": lists,
        "collisions": collisions,
        "limit": limit,
        "actions": actions,
        "cells": cells,
        "rewards": rewards,
        "throughput": infos[0]["metrics"]["avg_throughput"],
    }


def main():
    """Write the file."""
    # POGEMA warns whenever a list begins again.
    warnings.simplefilter("ignore")
    seeds = itertools.count()
    episodes = []
    for collisions in ("priority", "block_both", "soft"):
        some = filter(None, (record(collisions, seed) for seed in seeds))
        episodes += itertools.islice(some, EPISODES_PER_RULE)
    lines = ",\n".join(json.dumps(episode, separators=(",", ":")) for episode in episodes)
    FILE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
