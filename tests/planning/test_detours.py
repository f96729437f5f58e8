"""Ways around parked agents: the lengths are those of a slow writing of their description."""

import numpy as np
import pytest
from judging import distances_to

from helpers import WALLS
from multigrid import GridConfig, vector_env
from multigrid.planning import expert
from multigrid.planning._graph import Tables
from multigrid.policies._detours import go_around
from multigrid.policies._surroundings import NUM_CELLS, OWN_TARGET, Surroundings

SHIFTS = [(1, 0), (0, 1), (-1, 0), (0, -1)]
FAR = 10**6


def lengthen(near, way, place, target, rests):
    """The lengths of the ways from the cells in sight, from the description alone; near: cells next to each cell."""
    seen = {cell for cell in near if max(abs(cell[0] - place[0]), abs(cell[1] - place[1])) <= 5}
    exits = {cell for cell in seen if any(way[other] < way[cell] for other in near[cell] if other not in seen)}
    lengths = {cell: way[cell] + rests.get(cell, 0) if cell in exits | {target} else FAR for cell in seen}
    for _ in seen:
        for cell in seen:
            through = [lengths[other] for other in near[cell] if other in seen]
            lengths[cell] = min([lengths[cell], *(length + 1 + rests.get(cell, 0) for length in through)])
    return lengths


@pytest.mark.parametrize("on_target", ["stay", "park"])
def test_cells_of_parked_agents_lengthen_ways(on_target):
    """The grounds and what brings agents nearer are those of the description, for travellers that have come nearer."""
    config = GridConfig(walls=WALLS, num_agents=9, allow_stay=True, on_target=on_target, collisions="soft")
    envs, tables = vector_env(1, config), Tables(config.is_wall, 9)
    surroundings, generator, count = Surroundings(tables, 1, 9), np.random.default_rng(1), 0
    free = list(map(tuple, np.argwhere(~config.is_wall[0]).tolist()))
    near = {(x, y): [(x + dx, y + dy) for dx, dy in SHIFTS if (x + dx, y + dy) in free] for x, y in free}
    envs.reset(seed=4)
    for _ in range(40):
        states = envs.get_state()
        locations, targets = (list(map(tuple, states[name][0].tolist())) for name in ("location", "target"))
        windows, is_calm = surroundings.observe(states), generator.random(9) < 0.7
        before = windows.grounds.copy()
        nearer = go_around(tables, states, tables.locate(states), is_calm, windows)
        rested = states["steps"][0] - np.maximum(states["arrival_step"][0], 0)
        rests = {locations[i]: min(rested[i], 5) for i in range(9) if locations[i] == targets[i]}
        for i, (x, y) in enumerate(locations):
            way, ground = distances_to(targets[i], near), before[i].copy()
            is_near = any(rests[cell] and max(abs(cell[0] - x), abs(cell[1] - y)) <= 5 for cell in rests)
            if is_calm[i] and locations[i] != targets[i] and is_near:
                way = lengthen(near, way, (x, y), targets[i], rests)
                for p in range(NUM_CELLS):
                    if before[i, p] not in (0, OWN_TARGET):
                        longer = way[x + p // 11 - 5, y + p % 11 - 5] - way[x, y]
                        ground[p] = 10 + max(-8, min(8, longer))
                count += not np.array_equal(ground, before[i])
            np.testing.assert_array_equal(windows.grounds[i], ground)
            cells = [(x + dx, y + dy) for dx, dy in SHIFTS]
            assert nearer[i].tolist() == [way[x, y] - way[cell] if cell in near else 0 for cell in cells] + [0]
        envs.step(np.where(generator.random(9) < 0.2, generator.integers(5, size=9), expert(envs)))
    assert count > 20
