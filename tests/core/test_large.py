"""Large, crowded worlds, against the reference: chains of hundreds of refusals, and layouts with hardly any room."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import crossed
from multigrid import GridConfig
from multigrid.core import rules
from multigrid.core.worlds import Worlds
from multigrid.maps import maze, random_map, rooms, warehouse
from multigrid.runtime import pcg64
from reference import Reference
from worldgen import oracle_layout, room

pytestmark = pytest.mark.heavy

COLLISIONS = ["symmetric", "priority", "block_both", "soft"]
ON_TARGET = ["park", "leave", "stay", "restart"]
# With how many agents on each cell that has a free neighbour.
MAPS = [
    (random_map(31, 24, 0.2, seed=1), 0.45),
    (np.vstack([rooms(17, 23, 7, seed=3), maze(18, 23, seed=4, loops=0.2)]), 0.3),
    (warehouse(31, 20, fill=0.6, seed=5), 0.6),
    (np.random.default_rng(6).random((31, 21)) < 0.4, 0.9),  # dozens of regions
]
STEPS, LONG_STEPS = 24, 400


@pytest.mark.parametrize(("collisions", "on_target"), crossed(COLLISIONS, ON_TARGET[::-1]))
def test_a_large_world_plays_as_the_reference_does(
    collisions: str, on_target: str, request: pytest.FixtureRequest
) -> None:
    """The layout is the oracle's, and of each step cells, targets, outcomes, rewards and ends are the reference's."""
    rule, mode = COLLISIONS.index(collisions), ON_TARGET.index(on_target)
    walls, share = MAPS[(rule + mode) % 4]  # each rule and each mode meets each kind of map
    seen = {"observe": ("agent",), "reward": "shared" if rule % 2 else "individual"}
    rules_ = {"collisions": collisions, "on_target": on_target, "allow_stay": True, "max_cycles": None}
    config = GridConfig(walls=walls, num_agents=int(share * room(walls)), **rules_, **seen)
    world, random, stream = Worlds(config), np.random.default_rng(rule), np.random.default_rng(10 * rule + mode)
    w = world.arrays
    world.reset(seeds=np.array([10 * rule + mode]))
    _, agents, targets = oracle_layout([walls], config.num_agents, stream)
    reference = Reference(config, agents, targets, walls, stream)
    outcomes = np.zeros(8, int)
    for _ in range(LONG_STEPS if request.config.getoption("--long") else STEPS):
        states = np.concatenate([w.location[0], w.target[0]], axis=1)
        states[w.status[0] == 2] = -1
        assert states.tolist() == reference.state()
        if reference.over:
            break
        # Some towards the target along x, some along y, and some at random: enough to arrive, and to meet.
        toward, lot = np.sign(w.target - w.location)[0], random.integers(0, 256, config.num_agents)
        w.actions[0] = np.where(lot < 100, 1 - toward[:, 0], np.where(lot < 200, 2 - toward[:, 1], lot % 5))
        expected = reference.step({i: int(w.actions[0, i]) for i in reference.at})
        assert world.step() == rules.ALL_VALID
        found = [w.rewards, w.terminated, w.truncated, w.distances, w.outcomes]
        for column, array in enumerate(found, 1):
            np.testing.assert_allclose(array[0, list(expected)], [one[column] for one in expected.values()], rtol=1e-12)
        outcomes += np.bincount(w.outcomes[0, list(expected)], minlength=8)
    assert str(pcg64.read_stream(w.streams[0])) == str(stream.bit_generator.state)
    assert (outcomes[[0, 3, 4, 5, 6]] > 0).all(), outcomes
