"""Record episodes of POGEMA with the figures that POGEMA itself reports of them, in tests/golden/pogema_metrics.json.

Run it in an environment of its own, for POGEMA pins an old NumPy: a Python 3.11 with pogema==1.4.0 and nothing else.
It always writes the same bytes. Cells are [x, y] and actions are digits, both as in multigrid: 0 right [1, 0],
1 up [0, 1], 2 left, 3 down, 4 stay. An episode holds

- map: the rows of the picture, "#" for a wall;
- starts, targets, collisions, on_target and limit (POGEMA's max_episode_steps);
- actions: one string a step, one digit an agent;
- next_targets, under *restart*: [step, agent, x, y] for each target that POGEMA assigned, steps counted from 1;
- metrics: POGEMA's own, after the last step.
"""

import functools
import itertools
import json
from pathlib import Path

import numpy as np
from pogema import GridConfig, pogema_v0

FILE = Path(__file__).parents[2] / "tests" / "golden" / "pogema_metrics.json"
EPISODES_PER_RULE = 10
STEPS = [(1, 0), (0, 1), (-1, 0), (0, -1), (0, 0)]
STAY = 4
# POGEMA counts rows and columns, and its 0 is to stay.
TO_POGEMA = [GridConfig().MOVES.index([dy, dx]) for dx, dy in STEPS]


def distances(free, target):
    """Return the number of steps to a target from every cell that can reach it."""
    found, border = {target: 0}, [target]
    for x, y in border:
        for dx, dy in STEPS:
            to = (x + dx, y + dy)
            if to in free and to not in found:
                found[to] = found[x, y] + 1
                border.append(to)
    return found


def chosen(free, location, target, noise, random):
    """Return the action of one agent: a shortest way to its target, and there to stay, but for the noise."""
    if random.random() < noise:
        return int(random.integers(len(STEPS)))
    if location == target:
        return STAY
    left = distances(free, target)
    ways = [
        k for k, (dx, dy) in enumerate(STEPS) if left.get((location[0] + dx, location[1] + dy)) == left[location] - 1
    ]
    return int(random.choice(ways))


def flipped(cells):
    """Turn POGEMA's rows and columns into x and y."""
    return [(int(column), int(row)) for row, column in cells]


def draw_map(random):
    """Draw a map of random size: its walls, the cells without, and the rows of its picture."""
    width, height = int(random.integers(4, 8)), int(random.integers(3, 6))
    walls = random.random((height, width)) < random.choice([0.0, 0.15, 0.3])
    free = {(int(x), int(y)) for y, x in np.argwhere(~walls)}
    return walls, free, ["".join(".#"[wall] for wall in row) for row in walls.astype(int).tolist()]


def write(file, rules, count):
    """Write so many episodes of each rule, a function of a seed, in the order of the seeds."""
    seeds, episodes = itertools.count(), []
    for rule in rules:
        episodes += itertools.islice(filter(None, map(rule, seeds)), count)
    lines = ",\n".join(json.dumps(episode, separators=(",", ":")) for episode in episodes)
    file.write_text(f"[\n{lines}\n]\n")


def record(collisions, on_target, seed):
    """Play one episode, or return None where the random map has no room for its agents."""
    random = np.random.default_rng(seed)
    walls, free, picture = draw_map(random)
    limit = int(random.integers(4, 21))
    noise = float(random.choice([0.0, 0.1, 0.3, 0.8]))
    # Under *nothing* it matters who walks off a target in the very last step.
    last_noise = float(random.choice([noise, 0.9]))
    try:
        env = pogema_v0(
            GridConfig(
                map=walls.astype(int).tolist(),
                num_agents=int(random.integers(1, 6)),
                collision_system=collisions,
                on_target=on_target,
                max_episode_steps=limit,
                obs_radius=2,
                seed=seed,
            )
        )
        env.reset()
    except OverflowError:
        return None
    starts = flipped(env.get_agents_xy(ignore_borders=True))
    targets = flipped(env.get_targets_xy(ignore_borders=True))
    actions, next_targets, goals, over = [], [], targets, False
    while not over:
        locations = flipped(env.get_agents_xy(ignore_borders=True))
        some = last_noise if len(actions) == limit - 1 else noise
        row = [chosen(free, *cells, some, random) for cells in zip(locations, goals, strict=True)]
        # A list made for this call: under *soft* POGEMA writes into it.
        _, _, terminated, truncated, infos = env.step([TO_POGEMA[action] for action in row])
        actions.append("".join(map(str, row)))
        before, goals = goals, flipped(env.get_targets_xy(ignore_borders=True))
        next_targets += [[len(actions), i, *goals[i]] for i in range(len(goals)) if goals[i] != before[i]]
        over = all(terminated) or all(truncated)
    return {
        "map": picture,
        "starts": starts,
        "targets": targets,
        "collisions": collisions,
        "on_target": on_target,
        "limit": limit,
        "actions": actions,
        **({"next_targets": next_targets} if on_target == "restart" else {}),
        "metrics": infos[0]["metrics"],
    }


if __name__ == "__main__":
    rules = itertools.product(["priority", "block_both", "soft"], ["finish", "nothing", "restart"])
    write(FILE, [functools.partial(record, *rule) for rule in rules], EPISODES_PER_RULE)
