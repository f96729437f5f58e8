"""What agents see: the windows are those of a slow writing of their description."""

import itertools

import numpy as np
import pytest
from judging import distances_to

from helpers import WALLS
from multigrid import GridConfig, MultiGridEnv, vector_env
from multigrid.planning._graph import Tables
from multigrid.planning._memory import read_state
from multigrid.policies._surroundings import NUM_AGENT_BITS, NUM_CELLS, Surroundings

FIELDS = Surroundings.FIELDS
SHIFTS = [(1, 0), (0, 1), (-1, 0), (0, -1)]
RULES = [
    {"on_target": "stay", "collisions": "soft"},
    {"on_target": "leave", "collisions": "symmetric"},
    {"on_target": "restart", "collisions": "priority"},
    {"on_target": "park", "collisions": "none"},
]


def make(config):
    """Surroundings of one world."""
    return Surroundings(Tables(config.is_wall, at_least=config.num_agents), 1, config.num_agents)


def list_dead_ends(near):
    """The cells that go when cells with at most one other next to them go, again and again."""
    left = set(near)
    while ends := {cell for cell in left if len(left & set(near[cell])) <= 1}:
        left -= ends
    return set(near) - left


def describe(env, before, agent):
    """The window of an agent and the length of its way, from the description alone; `before`: locations a step ago."""
    state = env.get_state()
    if state["status"][agent] == 2:
        return [0] * NUM_CELLS, [0] * NUM_CELLS, -1
    free = np.argwhere(~env.config.is_wall[0]).tolist()
    near = {(x, y): [(x + dx, y + dy) for dx, dy in SHIFTS if [x + dx, y + dy] in free] for x, y in free}
    places, targets = (list(map(tuple, state[name].tolist())) for name in ("location", "target"))
    present = [i for i in range(len(places)) if state["status"][i] != 2]
    ways = {i: distances_to(targets[i], near) for i in present}
    steps_left = {i: ways[i][places[i]] for i in present}
    dead_ends = list_dead_ends(near)

    def code(i):
        way, (x, y) = ways[i], places[i]
        bits = 1 + 32 * (places[i] == targets[i]) + 64 * (state["outcomes"][i] in {4, 5, 6})
        bits += 4096 * (steps_left[i] in {1, 2, 3})
        for k, (dx, dy) in enumerate(SHIFTS):
            bits += 2 * 2**k * (way.get((x + dx, y + dy), 999) < way[x, y])
            bits += 256 * 2**k * (before is not None and (before[i][0] + dx, before[i][1] + dy) == places[i])
        return bits

    way, (x, y) = ways[agent], places[agent]
    grounds, codes = [], []
    for dx, dy in itertools.product(range(-5, 6), repeat=2):
        cell = x + dx, y + dy
        longer = max(-8, min(8, way.get(cell, 0) - way[x, y]))
        grounds.append(0 if cell not in way else 19 if cell == targets[agent] else 10 + longer)
        passage = 16384 * (cell in near and len(near[cell]) <= 2) + 32768 * (cell in dead_ends)
        bits = passage
        for i in present:
            if places[i] == cell:
                bits |= code(i) | 8192 * (steps_left[i] > steps_left[agent])
            if targets[i] == cell and cell != targets[agent]:
                bits |= 128
        codes.append(code(agent) | passage if dx == dy == 0 else bits)
    return grounds, codes, way[x, y]


def observe(env, surroundings):
    """The windows of an environment."""
    return [part.tolist() for part in surroundings.observe(read_state(env, FIELDS))]


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules["on_target"])
def test_windows_are_as_described(rules):
    """In each step of whole episodes, under each rule on target, the codes are those of the description."""
    config = GridConfig(walls=WALLS, num_agents=9, allow_stay=True, max_cycles=25, **rules)
    surroundings, env, generator, seen = make(config), MultiGridEnv(config), np.random.default_rng(3), set()
    for seed in (0, 1):
        env.reset(seed=seed)
        before = None
        while env.agents:
            windows = observe(env, surroundings)
            for agent in range(9):
                expected = describe(env, before, agent)
                assert [part[agent] for part in windows] == list(expected)
                seen |= set(expected[1])
            before = env.get_state()["location"].tolist()
            env.step({agent: int(generator.integers(5)) for agent in env.agents})
    # The episodes have agents that came from each side, were refused, and see targets, arrivals and longer ways.
    shown = {k for k in range(NUM_AGENT_BITS) if any(bits & 2**k for bits in seen)}
    assert shown == set(range(16)) - {"stay": set(), "leave": {5}, "restart": {5}, "park": {6}}[rules["on_target"]]


def test_worlds_do_not_mix():
    """The windows of many worlds, with several maps and at different steps, are those of each world by itself."""
    walls = np.stack([np.zeros((7, 5), bool), np.zeros((7, 5), bool)])
    walls[1, 2:5, 2] = True
    config = GridConfig(walls=walls, num_agents=3, allow_stay=True, max_cycles=7, on_target="leave")
    envs, generator = vector_env(4, config), np.random.default_rng(0)
    together = Surroundings(Tables(config.is_wall, 12), num_worlds=4, num_agents=3)
    apart = [make(config) for _ in range(4)]
    envs.reset(seed=5)
    for _ in range(30):
        states = envs.get_state()
        windows = together.observe(states)
        for world in range(4):
            alone = apart[world].observe({name: states[name][world : world + 1] for name in FIELDS})
            for part, own in zip(windows, alone, strict=True):
                np.testing.assert_array_equal(part[3 * world : 3 * world + 3], own)
        envs.step(generator.integers(5, size=12))


def test_cells_of_another_episode_are_forgotten():
    """Where the cells a step ago are those of another episode, no agent came from anywhere, on the same map or not."""
    walls = np.stack([np.zeros((5, 3), bool), np.zeros((5, 3), bool)])
    walls[1, 0, 0] = True
    config = GridConfig(walls=walls, num_agents=2, allow_stay=True, on_target="stay", collisions="soft")
    env = MultiGridEnv(config)
    layout = {"agents": [[1, 1], [3, 0]], "targets": [[4, 2], [1, 0]]}
    for first, second in ((0, 0), (0, 1)):
        surroundings, fresh = make(config), make(config)
        env.reset(options={**layout, "map": first})
        env.step({"agent_0": 1, "agent_1": 4})
        observe(env, surroundings)
        env.reset(options={**layout, "map": second})
        env.step({"agent_0": 0, "agent_1": 4})
        env.step({"agent_0": 4, "agent_1": 0})
        assert observe(env, surroundings) == observe(env, fresh)


def test_a_second_look_at_a_state_changes_nothing():
    """Windows of one state are equal each time, and so are those of the next state."""
    env = MultiGridEnv(GridConfig(walls="a...\n.#.A", allow_stay=True))
    env.reset()
    twice, once = make(env.config), make(env.config)
    for action in (0, 0, 4):
        assert observe(env, twice) == observe(env, twice) == observe(env, once)
        env.step({"agent_0": action})


def test_windows_along_a_plan():
    """The windows along a plan are those that agents see who follow it, from the middle of an episode on."""
    config = GridConfig(walls="a.b..\n.#.#.\nB...A", allow_stay=True, on_target="stay", collisions="soft")
    env, surroundings, planning = MultiGridEnv(config), make(config), make(config)
    env.reset()
    seen, cells = [], []
    for number, actions in enumerate([[4, 0], [0, 4], [0, 0], [1, 1], [1, 1]]):
        seen.append(observe(env, surroundings))
        if number < 2:
            observe(env, planning)
        cells.append(env.get_state()["location"])
        env.step(dict(zip(env.agents, actions, strict=True)))
    cells.append(env.get_state()["location"])
    planned = planning.follow(np.array(cells[1:]))
    for part, own in zip(planned, zip(*seen[1:], strict=True), strict=True):
        np.testing.assert_array_equal(part, np.concatenate(own))
