"""Worlds to test with: random walls, layouts drawn as the rules' prose says, and walks to record."""

from __future__ import annotations

import numpy as np

from multigrid import GridConfig
from multigrid.rendering._episode import Episode

PARTS = ["agent", "target", "others", "offset", "view", "walls", "action_mask", "delayed", "delay_left"]
COLLISIONS = ["symmetric", "priority", "block_both", "soft", "none"]


def some_walls(width: int, height: int, density: float, seed: int) -> np.ndarray:
    """Random walls; what they cut off is for the configuration to judge."""
    return np.random.default_rng(seed).random((width, height)) < density


def walls_of(picture: str) -> np.ndarray:
    """Walls, bool [x, y], of the lines of a picture, "#" for a wall."""
    return np.array([[character == "#" for character in line] for line in picture.split()]).T


def room(walls: np.ndarray) -> int:
    """How many cells have a free neighbour."""
    free = np.pad(~walls, 1)
    beside = free[2:, 1:-1] | free[:-2, 1:-1] | free[1:-1, 2:] | free[1:-1, :-2]
    return int((~walls & beside).sum())


def components(one_map):
    """Give every free cell the set of cells that it can reach."""
    free = {(int(x), int(y)) for x, y in np.argwhere(~one_map)}
    reach = {}
    for start in sorted(free):
        if start in reach:
            continue
        found, fresh = {start}, [start]
        while fresh:
            x, y = fresh.pop()
            fresh += (new := {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)} & free - found)
            found |= new
        reach |= dict.fromkeys(found, found)
    return reach


def oracle_layout(maps, num_agents, stream):
    """Draw a layout as the prose says, cell by cell, with NumPy."""
    index = int(stream.integers(len(maps)))
    width, height = maps[index].shape
    reach = components(maps[index])

    def cell():
        return int(stream.integers(width)), int(stream.integers(height))

    agents, targets = [], []
    for _ in range(num_agents):
        at = cell()
        while at not in reach or len(reach[at]) == 1 or at in agents:
            at = cell()
        agents.append(at)
        no_agent, no_target = reach[at] - set(agents), reach[at] - set(targets)
        if len(no_agent) == 1 and len(no_target) == 2 and no_agent < no_target:
            (to,) = no_agent
        else:
            to = cell()
            while to not in reach[at] or to == at or to in targets:
                to = cell()
        targets.append(to)
    return index, agents, targets


def walk(num_agents: int, num_steps: int, size: tuple[int, int]) -> Episode:
    """An episode in which all that agents do is random, so that little can be packed well."""
    random = np.random.default_rng(0)
    shape = (num_steps + 1, num_agents)
    corner = np.array(size) - 1
    moves = random.integers(-1, 2, (*shape, 2)) * (random.integers(0, 2, shape)[..., None] == [0, 1])
    starts = random.integers(0, corner + 1, (num_agents, 2))
    # A walk that turns round at the edges.
    agents = corner - abs((starts + moves.cumsum(axis=0)) % (2 * corner) - corner)
    targets = np.broadcast_to(random.integers(0, corner + 1, (num_agents, 2)), agents.shape)
    return Episode(
        name="walk",
        config=GridConfig(size=size, num_agents=num_agents, on_target="restart"),
        walls=random.random(size) <= 0.1,
        agents=agents,
        targets=targets,
        present=np.ones(shape, dtype=np.bool_),
        distances=abs(agents - targets).sum(axis=2).astype(np.float64),
        arrivals=(random.random(shape) < 0.05).cumsum(axis=0),
        outcomes=random.integers(0, 8, shape),
        rewards=np.broadcast_to(random.integers(0, 9, (num_steps + 1, 1)) / 500, shape),
        metrics={"csr": np.nan, "isr": np.nan, "sum_of_costs": np.nan, "makespan": np.nan, "throughput": 0.5},
    )
