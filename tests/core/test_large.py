"""What must never happen, looked for in 5 million agent-steps on large, crowded maps; in 100 million with `--long`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from multigrid import GridConfig
from multigrid.core import rules
from multigrid.core.worlds import Worlds
from multigrid.maps import maze, random_map, rooms, warehouse
from multigrid.runtime import pcg64
from multigrid.runtime.arrays import LEFT, PARKED, TRAVELLING
from multigrid.runtime.compiled import COMPILED
from reference import MOVED

pytestmark = pytest.mark.heavy

COLLISIONS = ["symmetric", "priority", "block_both", "soft"]
ON_TARGET = ["park", "leave", "stay", "restart"]
MAPS = ["random", "rooms and maze", "warehouse", "scattered"]
RUNS = [(collisions, on_target) for collisions in COLLISIONS for on_target in ON_TARGET]
AGENT_STEPS, LONG_AGENT_STEPS = 5_000_000, 100_000_000
# Interpreted kernels play the same game, as other tests show, a hundred times slower.
INTERPRETED_AGENT_STEPS = 1_600_000
EPISODE = 48  # steps from one reset to the next: few enough for agents to be still under way
NOBODY = -1


def pool(kind: str) -> tuple[np.ndarray, int, int]:
    """Two maps of a kind as bool (2, W, H), the number of worlds, and the number of agents in each."""
    if kind == "random":
        return np.stack([random_map(131, 97, 0.2, seed=seed) for seed in (1, 2)]), 6, 4000
    if kind == "rooms and maze":
        return np.stack([rooms(67, 93, 7, seed=3), maze(67, 93, seed=4, loops=0.2)]), 40, 700
    if kind == "warehouse":
        return np.stack([warehouse(131, 58, fill=fill, seed=5) for fill in (1.0, 0.6)]), 10, 2400
    # Hundreds of regions, and an agent on nine cells of ten.
    return np.random.default_rng(6).random((2, 61, 83)) < 0.4, 8, 2600


def labelled(walls: np.ndarray) -> np.ndarray:
    """The cells with a border of walls around each map: 0 at walls, else a number that the whole region shares."""
    labels = np.pad(np.where(walls, 0, 1 + np.arange(walls.size).reshape(walls.shape)), ((0, 0), (1, 1), (1, 1)))
    while True:
        beside = [np.roll(labels, shift, axis) for axis in (1, 2) for shift in (1, -1)]
        spread = np.where(labels > 0, np.max([labels, *beside], axis=0), 0)
        if (spread == labels).all():
            return labels
        labels = spread


class Inspector:
    """Watches some worlds from outside, and says so when something happens that the rules forbid.

    Cells are numbers: those of all worlds, one after the other, each with the border that `labelled` puts around it.
    """

    def __init__(self, world: Worlds, labels: np.ndarray, seed: int) -> None:
        """Watch worlds whose maps have these labels."""
        self.world, self.config, self.labels_of_maps = world, world.config, labels
        self.column = labels.shape[2]
        self.first_cell = (np.arange(world.num_worlds) * labels[0].size)[:, None]
        self.steps = np.array([self.column, 1, -self.column, -1, 0])
        self.agent = np.arange(world.arrays.status.size).reshape(world.arrays.status.shape)
        self.grid = np.full(world.num_worlds * labels[0].size, NOBODY)
        self.random = np.random.default_rng(seed)
        self.seen = dict.fromkeys(("agent-steps", "moved", "followed", "arrived", "head-on", "refused"), 0)

    def cells(self, places: np.ndarray) -> np.ndarray:
        """The numbers of cells that are given as x, y."""
        return self.first_cell + (places[..., 0] + 1) * self.column + places[..., 1] + 1

    def who_is_at(self, asked: np.ndarray, cells: np.ndarray, here: np.ndarray) -> np.ndarray:
        """The agents at the asked cells, of those who are here, each alone in its cell."""
        self.grid[cells[here]] = self.agent[here]
        assert (self.grid[cells[here]] == self.agent[here]).all(), "two agents in one cell"
        found = self.grid[asked]
        self.grid[cells[here]] = NOBODY
        return found

    def reset(self) -> None:
        """Let all worlds begin anew, and look at the layouts."""
        self.world.reset()
        w = self.world.arrays
        everyone = np.ones(w.status.shape, dtype=bool)
        self.labels = self.labels_of_maps[w.map_index].ravel()
        at, goal = self.cells(w.location), self.cells(w.target)
        for cells in (at, goal):
            self.who_is_at(cells, cells, everyone)
        assert (at != goal).all()
        self.check_places(at, goal)
        assert (w.status == TRAVELLING).all()
        for flags in (w.rewards, w.terminated, w.truncated, w.episode_over, w.arrivals):
            assert not flags.any()
        self.arrivals = np.zeros(w.status.shape, dtype=int)

    def check_places(self, at: np.ndarray, goal: np.ndarray) -> None:
        """Nobody is in a wall or outside, and every target can be reached; the distances are right."""
        assert (self.labels[at] > 0).all(), "an agent in a wall or outside"
        assert (self.labels[at] == self.labels[goal]).all(), "a target that its agent cannot reach"
        w = self.world.arrays
        assert (w.distances == np.abs(w.location - w.target).sum(axis=2)).all()

    def step(self) -> None:
        """Let all worlds play a step, and look at what has become of everyone."""
        w = self.world.arrays
        status, goal, at = w.status.copy(), self.cells(w.target), self.cells(w.location)
        # Some towards the target along x, some along y, and some at random: enough to arrive, and to meet.
        toward = np.sign(w.target - w.location)
        lot = self.random.integers(0, 256, w.status.shape, dtype=np.uint8)
        actions = np.where(lot < 100, 1 - toward[..., 0], np.where(lot < 200, 2 - toward[..., 1], lot % 5))
        w.actions[...] = actions
        assert self.world.step() == rules.ALL_VALID
        here, travelling = status != LEFT, status == TRAVELLING
        wanted = at + self.steps[actions]
        asks = travelling & (wanted != at) & (self.labels[wanted] > 0)
        after, moved = self.cells(w.location), w.outcomes == MOVED

        assert not (moved & ~asks).any(), "a move that nobody asked for"
        assert (after == np.where(moved, wanted, at)).all(), "a move of another length or direction"
        ahead, now_there = self.who_is_at(wanted, at, here), self.who_is_at(wanted, after, here)
        met = asks & (ahead != NOBODY)
        head_on = met & asks.ravel()[ahead] & (wanted.ravel()[ahead] == at)
        assert not (head_on & moved).any(), "a swap"
        follows = met & moved.ravel()[ahead]
        blocked = met & ~follows
        rule = self.config.collisions
        if rule == "priority":
            # Free in turn: whoever was there has gone before, and nobody else has come before.
            granted = ~blocked & (~met | (ahead < self.agent)) & ((now_there == NOBODY) | (now_there >= self.agent))
        elif rule == "soft":
            newcomers = asks & ~head_on
            self.grid[wanted[newcomers][::-1]] = self.agent[newcomers][::-1]  # the lowest index is written last
            granted = ~blocked & ~head_on & (self.grid[wanted] == self.agent)
            self.grid[wanted[newcomers]] = NOBODY
        else:
            alone = np.bincount(wanted[asks], minlength=self.grid.size)[wanted] == 1
            granted = alone & (~met if rule == "block_both" else ~blocked & ~head_on)
        assert (moved == (asks & granted)).all(), "a move granted or refused against the rule"

        standing = here & (after == goal)
        arrived = standing & moved  # nobody begins on their target, or gets one where they stand
        together = (standing | ~here).all(axis=1, keepdims=True) & here
        rewards = together if self.config.on_target == "stay" else arrived
        if self.config.reward == "shared":
            sums, numbers = (one.sum(axis=1, keepdims=True) for one in (rewards, here))
            rewards = np.where(here, sums / np.maximum(numbers, 1), 0)
        assert (w.rewards == rewards).all()
        ended = {"leave": arrived, "restart": np.zeros_like(here)}.get(self.config.on_target, together)
        assert (w.terminated == ended).all()
        assert not w.truncated.any()
        settled = {"park": PARKED, "leave": LEFT}.get(self.config.on_target, TRAVELLING)
        assert (w.status == np.where(arrived, settled, status)).all()
        next_goal = self.cells(w.target)
        if self.config.on_target == "restart":
            assert (next_goal != after).all(), "a new target where the agent stands"
            assert (next_goal == goal)[~arrived].all(), "a new target before the old one was reached"
        else:
            assert (next_goal == goal).all()
        self.check_places(after, next_goal)
        self.arrivals += arrived
        assert (w.arrivals == self.arrivals).all()
        events = {"agent-steps": here, "moved": moved, "followed": follows & moved, "arrived": arrived}
        for event, agents in (events | {"head-on": head_on, "refused": asks & ~moved}).items():
            self.seen[event] += int(np.count_nonzero(agents))


@pytest.mark.parametrize(("collisions", "on_target"), RUNS)
def test_nothing_illegal_happens_in_a_large_world(
    collisions: Any, on_target: Any, request: pytest.FixtureRequest
) -> None:
    """After every step no two share or swap cells, moves and refusals are the rule's, targets and rewards are right."""
    all_runs = LONG_AGENT_STEPS if request.config.getoption("--long") else AGENT_STEPS
    agent_steps = (all_runs if COMPILED else INTERPRETED_AGENT_STEPS) // len(RUNS)
    rule, mode = COLLISIONS.index(collisions), ON_TARGET.index(on_target)
    # Each rule and each mode meets each kind of map.
    walls, num_worlds, num_agents = pool(MAPS[(rule + mode) % 4])
    config = GridConfig(
        walls=walls,
        num_agents=num_agents,
        collisions=collisions,
        on_target=on_target,
        reward="shared" if rule % 2 else "individual",
        observe=("agent",),
        allow_stay=True,
        max_cycles=None,
    )
    world = Worlds(config, num_worlds)
    for e in range(num_worlds):
        pcg64.write_stream(world.arrays.streams[e], np.random.PCG64([rule, mode, e]).state)
    inspector = Inspector(world, labelled(walls), seed=10 * rule + mode)
    seen = inspector.seen
    while seen["agent-steps"] < agent_steps:
        inspector.reset()
        for step in range(1, EPISODE + 1):
            inspector.step()
            assert (world.arrays.steps == step).all()
    quiet = {event for event, count in seen.items() if count < agent_steps // 10_000}
    assert quiet == ({"followed"} if collisions == "block_both" else set()), seen
