"""What a state must be like for a game to have come to it, and whether play from it on is that of the reference."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from helpers import frozen
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.maps.text import ParsedMap
from reference import STAYED, Reference
from worldgen import COLLISIONS, PARTS, oracle_layout

TRAVELLING, PARKED, LEFT = range(3)
FIELDS = ("map_index", "steps", "episode_over", "location", "target", "status", "arrivals", "arrival_step")
SAID = ("rewards", "terminated", "truncated", "num_ended", "outcomes", "distances")
STREAM = ("state", "inc")


def one_by_one(env: Any) -> list[dict[str, Any]]:
    """The state of each world by itself, with its stream in the form of a single env's."""
    return split(env.get_state())


def split(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The state of each world by itself, out of one state."""
    if "np_random" in state:
        return [state]
    worlds = [{name: array[k] for name, array in state.items()} for k in range(len(state["steps"]))]
    for world in worlds:
        world["np_random"] = pcg64_of(world.pop("streams"))
    return worlds


def pcg64_of(words: Any) -> dict[str, Any]:
    """A row of `streams` as NumPy writes the state of a PCG64."""
    high, low, inc_high, inc_low, has_half, half = (int(word) for word in words)
    inner = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
    return {"bit_generator": "PCG64", "state": inner, "has_uint32": has_half, "uinteger": half}


def generator_of(state: dict[str, Any]) -> np.random.Generator:
    """A generator in a state."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = copy.deepcopy(state)
    return np.random.Generator(bits)


@functools.lru_cache(maxsize=512)
def _map(config: GridConfig, index: int) -> tuple[np.ndarray, np.ndarray]:
    maps = np.zeros((1, config.width, config.height), dtype=bool) if config.maps is None else config.maps
    return maps[index], config.components[index]


def lists_of(lists: Any) -> list[list[tuple[int, ...]]]:
    """Lists of targets without the rows of -1 that fill them."""
    return [[tuple(cell) for cell in one if cell != [-1, -1]] for one in np.asarray(lists).tolist()]


def list_breaches(config: GridConfig, state: dict[str, Any]) -> list[str]:
    """Why no game can be in a state with these lists of targets; the rest of the state is as it should be."""
    if "target_lists" not in state:
        return []
    given, lists = np.asarray(state["target_lists"]).tolist(), lists_of(state["target_lists"])
    if not any(lists):
        return [] if all(cell == [-1, -1] for one in given for cell in one) else ["lists with holes"]
    if config.on_target != "restart" or not all(lists):
        return ["lists under another rule, or not for all"]
    walls, regions = _map(config, int(state["map_index"]))
    broken = []
    for i, one in enumerate(lists):
        here, count = tuple(state["location"][i].tolist()), int(state["arrivals"][i])
        if given[i][: len(one)] != [list(cell) for cell in one]:
            broken.append(f"agent {i}: a list with holes")
        for x, y in one:
            if not (0 <= x < config.width and 0 <= y < config.height) or walls[x, y] or regions[x, y] != regions[here]:
                broken.append(f"agent {i}: a target of its list out of reach")
        if tuple(state["target"][i].tolist()) != one[count % len(one)]:
            broken.append(f"agent {i}: a target that is not the next of its list")
        if int(state["arrival_step"][i]) == int(state["steps"]) and here != one[(count - 1) % len(one)]:
            broken.append(f"agent {i}: arrived elsewhere")
    return broken


def stream_breaches(state: dict[str, Any]) -> list[str]:
    """Why no generator of NumPy's can be in this state."""
    kind, inner = state["bit_generator"], state["state"]
    broken = []
    if kind.startswith("PCG64") and not (all(0 <= inner[name] < 2**128 for name in STREAM) and inner["inc"] % 2 == 1):
        broken.append(f"{kind} with {inner}")
    if kind == "MT19937" and not 0 <= inner["pos"] <= 624:
        broken.append(f"MT19937 at {inner['pos']}")
    if kind == "Philox" and not 0 <= state["buffer_pos"] <= 4:
        broken.append(f"Philox at {state['buffer_pos']}")
    if kind != "MT19937" and not (state["has_uint32"] in (0, 1) and 0 <= state["uinteger"] < 2**32):
        broken.append(f"{kind} with {state['has_uint32']} halves, {state['uinteger']}")
    return broken


def breaches(config: GridConfig, state: dict[str, Any]) -> list[str]:  # noqa: PLR0915 - a list of laws
    """Why no game of this configuration can be in this state of one world; an empty list if nothing speaks against it.

    Every law here follows from the rules' prose. What may be otherwise after a change of `max_cycles` is left out.
    """
    broken: list[str] = stream_breaches(state["np_random"])

    def law(holds: Any, text: str) -> None:
        if not holds:
            broken.append(text)

    steps, over, rule = int(state["steps"]), bool(state["episode_over"]), config.on_target
    law(0 <= int(state["map_index"]) < config.num_maps, "no such map")
    # A state says no more, but play goes on.
    law(0 <= steps <= 2**53 + 1000, "steps out of range")
    at, goal = ([tuple(cell) for cell in state[name].tolist()] for name in ("location", "target"))
    inside = all(0 <= x < config.width and 0 <= y < config.height for x, y in at + goal)
    law(inside, "a cell outside the grid")
    if broken:
        return broken
    walls, regions = _map(config, int(state["map_index"]))
    law(not any(walls[cell] for cell in at + goal), "a cell in a wall")
    law(all(regions[a] == regions[b] for a, b in zip(at, goal, strict=True)), "a target that cannot be reached")
    for cell in at:
        law((regions == regions[cell]).sum() > 1, "an agent that can reach no other cell")

    status = state["status"].tolist()
    last = {"park": PARKED, "leave": LEFT}.get(rule, TRAVELLING)
    law(all(one in (TRAVELLING, last) for one in status), "a status that this rule does not know")
    present = [i for i, one in enumerate(status) if one != LEFT]
    if config.collisions != "none":
        law(len({at[i] for i in present}) == len(present), "two agents in a cell")
    if rule != "restart":
        law(len(set(goal)) == len(goal), "a target of two agents")

    standing = [a == b for a, b in zip(at, goal, strict=True)]
    terminated, truncated = state["terminated"].tolist(), state["truncated"].tolist()
    arrivals, arrival_step = state["arrivals"].tolist(), state["arrival_step"].tolist()
    rewards = state["rewards"].tolist()
    arrived = [step == steps > 0 for step in arrival_step]
    # `_agent_location` and `_target_location` of a GridWorldEnv may be set to one cell between two steps.
    may_be_placed = rule == "stay" and len(at) == 1
    all_there = {
        "park": all(one == PARKED for one in status),
        "leave": all(one == LEFT for one in status),
        "stay": all(step != -1 for step in arrival_step) if may_be_placed else all(standing) and steps > 0,
        "restart": False,
    }[rule]
    if rule in ("park", "leave"):
        law(standing == [one == last for one in status], "settled off the target, or on it without having arrived")
    broken += list_breaches(config, state)
    if rule == "restart" and not ("target_lists" in state and any(lists_of(state["target_lists"]))):
        law(steps == 0 or not any(hit and one for hit, one in zip(standing, arrived, strict=True)), "no new target")
    if rule == "restart":
        there = [hit for hit, one in zip(arrived, standing, strict=True) if one]
        law(steps == 0 or all(there), "on a target without having arrived")
    law(over == (all_there or any(truncated)), "over, or not, without a reason")
    law(not (over and steps == 0), "over before the first step")
    ends = {
        "park": [all_there] * len(at),
        "stay": [all_there] * len(at),
        "leave": [one == LEFT and hit for one, hit in zip(status, arrived, strict=True)],
        "restart": [False] * len(at),
    }[rule]
    law(terminated == ends, "terminated, or not, without a reason")
    here = [one != LEFT or end for one, end in zip(status, terminated, strict=True)]
    law(not any(truncated) or truncated == here, "some are truncated and some are not")
    ended = sum(terminated) if rule == "leave" and not any(truncated) else len(at) * over
    law(int(state["num_ended"]) == ended, "num_ended")

    for i, (count, step) in enumerate(zip(arrivals, arrival_step, strict=True)):
        law(step == -1 or 1 <= step <= steps, f"agent {i} arrived in a step that was not played")
        law(0 <= count <= steps, f"agent {i} arrived more often than it moved")
        if rule in ("park", "leave"):
            law(count == standing[i] and (step != -1) == standing[i], f"agent {i}: arrivals")
        elif rule == "stay":
            placed = may_be_placed and step == -1
            law((step != -1) == (standing[i] and steps > 0 and not placed), f"agent {i}: arrival step")
            law(count >= (step != -1) and (step == -1 or count <= step), f"agent {i}: arrivals")
        else:
            law((step != -1) == (count > 0) and step >= count - (count == 0) * 2, f"agent {i}: arrivals")

    alone = [float(all_there) if rule == "stay" else float(hit) for hit in arrived]
    if config.reward == "shared":
        total = sum(alone)
        alone = [total / max(sum(here), 1) if one else 0.0 for one in here]
    law(all(abs(a - b) < 1e-12 for a, b in zip(rewards, alone, strict=True)), "rewards")
    far = [float(abs(a[0] - b[0]) + abs(a[1] - b[1])) for a, b in zip(at, goal, strict=True)]
    law(state["distances"].tolist() == far, "distances")
    law(all(0 <= one <= 7 for one in state["outcomes"].tolist()), "no such outcome")
    return broken


class Shadow:
    """The reference in the state of one world, from which it plays on."""

    def __init__(self, config: GridConfig, state: dict[str, Any]) -> None:
        """Take the state of one world."""
        self.config = config
        self.generator = generator_of(state["np_random"])
        walls, _ = _map(config, int(state["map_index"]))
        self.game = Reference(config, state["location"], state["target"], walls, self.generator)
        status = state["status"].tolist()
        self.game.at = {i: cell for i, cell in self.game.at.items() if status[i] != LEFT}
        self.game.parked = {i for i, one in enumerate(status) if one == PARKED}
        lists = lists_of(state["target_lists"]) if "target_lists" in state else []
        self.game.lists = lists if any(lists) else None
        self.game.reached = state["arrivals"].tolist()
        self.game.steps, self.over = int(state["steps"]), bool(state["episode_over"])

    def step(self, actions: np.ndarray) -> dict[int, Any]:
        """Play a step; what it is for each agent that was here."""
        expected = self.game.step({i: int(actions[i]) for i in self.game.at})
        self.over = self.game.over
        return expected

    def check(self, state: dict[str, Any], expected: dict[int, Any]) -> None:
        """Refuse a state after a step that is not the one expected."""
        n = self.config.num_agents
        absent = (None, 0.0, False, False, 0.0, STAYED)
        rows = [expected.get(i, absent) for i in range(n)]
        for column, name in enumerate(("rewards", "terminated", "truncated", "distances", "outcomes"), 1):
            theirs = [row[column] for row in rows]
            ours = state[name].tolist()
            assert all(abs(a - b) < 1e-12 for a, b in zip(ours, theirs, strict=True)), f"{name}: {ours}, not {theirs}"
        ours = [
            [*at, *goal] if status != LEFT else [-1] * 4
            for at, goal, status in zip(
                state["location"].tolist(), state["target"].tolist(), state["status"].tolist(), strict=True
            )
        ]
        assert ours == self.game.state(), f"agents and targets are {ours}, not {self.game.state()}"
        assert (int(state["steps"]), bool(state["episode_over"])) == (self.game.steps, self.over), "steps or over"
        assert frozen(state["np_random"]) == frozen(self.generator.bit_generator.state), "the stream has gone elsewhere"
        broken = breaches(self.config, state)
        assert not broken, broken

    def restart(self, state: dict[str, Any]) -> None:
        """Refuse a state after a reset that is not the one that the stream gives, and play on from it."""
        config = self.config
        maps = [np.zeros((config.width, config.height), dtype=bool)] if config.maps is None else list(config.maps)
        if isinstance(config.walls, ParsedMap):
            index = int(self.generator.integers(len(maps)))
            agents, targets = config.walls.agents[index].tolist(), config.walls.targets[index].tolist()
            if config.walls.targets.ndim == 4:
                lists = lists_of(targets)
                assert lists_of(state["target_lists"]) == lists, "other lists"
                targets = [one[0] for one in lists]
        else:
            assert "target_lists" not in state, "lists without a reason"
            index, agents, targets = oracle_layout(maps, config.num_agents, self.generator)
        assert int(state["map_index"]) == index, "another map"
        ours = [[tuple(cell) for cell in state[name].tolist()] for name in ("location", "target")]
        theirs = [[tuple(map(int, cell)) for cell in cells] for cells in (agents, targets)]
        assert ours == theirs, f"the layout is {ours}, not {theirs}"
        assert frozen(state["np_random"]) == frozen(self.generator.bit_generator.state), "the stream has gone elsewhere"
        assert int(state["steps"]) == 0
        broken = breaches(config, state)
        assert not broken, broken
        self.__init__(config, state)  # type: ignore[misc]


def check_observation(seen: Any, expected: Any) -> None:
    """Refuse an observation, a dict or flat, that is not the reference's."""
    for part, array in expected.items() if isinstance(expected, dict) else [(None, expected)]:
        ours = seen if part is None else seen[part]
        assert np.array_equal(ours, array), f"{part}: {ours.tolist()}, not {array.tolist()}"


def play(env: Any, steps: int, random: np.random.Generator) -> None:
    """Play some steps at random, with a reset where an episode is over, and compare all with the reference."""
    config = env.config
    if isinstance(env, MultiGridEnv) and env.max_cycles != config.max_cycles:
        config = dataclasses.replace(config, max_cycles=env.max_cycles)
    (_play_many if isinstance(env, MultiGridVectorEnv) else _play_one)(env, config, steps, random)


def _play_one(env: Any, config: GridConfig, steps: int, random: np.random.Generator) -> None:
    (state,) = one_by_one(env)
    shadow = Shadow(config, state)
    for _ in range(steps):
        if shadow.over:
            env.reset()
            shadow.restart(*one_by_one(env))
        actions = random.integers(0, config.num_actions, config.num_agents)
        expected = shadow.step(actions)
        if isinstance(env, MultiGridEnv):
            returned = env.step({agent: int(actions[int(agent[6:])]) for agent in env.agents})
            assert sorted(returned[0]) == sorted(f"agent_{i}" for i in expected), "the wrong agents were there"
            watched = int(random.choice(list(expected)))
            check_observation(returned[0][f"agent_{watched}"], expected[watched][0])
        else:
            seen, *_ = env.step(int(actions[0]))
            check_observation(seen, expected[0][0])
        (state,) = one_by_one(env)
        shadow.check(state, expected)


def _play_many(env: MultiGridVectorEnv, config: GridConfig, steps: int, random: np.random.Generator) -> None:
    n, mode = config.num_agents, env.autoreset_mode
    shadows = [Shadow(config, state) for state in one_by_one(env)]
    for _ in range(steps):
        over = [shadow.over for shadow in shadows]
        if mode is not AutoresetMode.NEXT_STEP and any(over):
            # In SAME_STEP mode only a state that was set can be over.
            env.reset(options={"reset_mask": np.repeat(over, n)})
            for shadow, state, was_over in zip(shadows, one_by_one(env), over, strict=True):
                if was_over:
                    shadow.restart(state)
        actions = random.integers(0, config.num_actions, (env.num_worlds, n))
        seen, rewards, terminated, _, infos = env.step(actions.reshape(-1))
        for e, (shadow, state) in enumerate(zip(shadows, one_by_one(env), strict=True)):
            if mode is AutoresetMode.NEXT_STEP and shadow.over:
                shadow.restart(state)
                continue
            expected = shadow.step(actions[e])
            watched = int(random.choice(list(expected)))
            row = e * n + watched
            assert abs(rewards[row] - expected[watched][1]) < 1e-12
            assert bool(terminated[row]) == expected[watched][2]
            if mode is AutoresetMode.SAME_STEP and shadow.over:
                check_observation(infos["final_obs"][row], expected[watched][0])
                shadow.restart(state)
                continue
            shown = {part: array[row] for part, array in seen.items()} if isinstance(seen, dict) else seen[row]
            check_observation(shown, expected[watched][0])
            shadow.check(state, expected)


ON_TARGET = ("park", "leave", "stay", "restart")
PICTURES = ["a.#.B\n..#..\nb...A", "a...#\n#b.BA\n.#..."]
LISTED = [
    "a.#..\n..#..\nb....\na: 1,0 1,0 0,1\nb: 0,2",
    "a...#\n#b...\n.#...\na: 0,0 2,1 1,1 2,0\nb: 2,1 2,0 2,0",
]


@functools.lru_cache(maxsize=256)
def some_config(number: int) -> GridConfig:
    """A configuration of any kind: all rules, empty grids, maps, pools of maps and pictures, none of them square."""
    random = np.random.default_rng([7, number])
    width, height = ((5, 3), (3, 4), (7, 2), (1, 6))[number % 4]
    collisions, on_target = COLLISIONS[number % 5], ON_TARGET[number // 2 % 4]
    kind = number % 7
    world: dict[str, Any] = {"size": (width, height)}
    room = width * height
    if kind in (1, 2, 3) and width > 1:
        maps = random.random((3 if kind == 2 else 1, width, height)) < 0.2
        maps[:, 0, :2] = False
        world = {"walls": maps}
        room = min(
            int(np.bincount(r.ravel())[1:][np.bincount(r.ravel())[1:] > 1].sum())
            for r in GridConfig(num_agents=1, walls=maps).components
        )
    agents = {"num_agents": int(random.integers(1, min(room, 5) + 1))}
    if kind == 4:
        world, agents = {"walls": PICTURES if number % 2 else PICTURES[0]}, {}
        if on_target == "restart":
            world = {"walls": LISTED if number % 2 else LISTED[0]}
    observe = tuple(random.permutation(PARTS)[: random.integers(1, len(PARTS) + 1)].tolist())
    return GridConfig(
        **world,
        **agents,
        collisions=collisions,
        on_target=on_target,
        reward=("individual", "shared")[int(random.integers(2))],
        observe=None if number % 3 else observe,
        view_radius=int(random.integers(0, 3)),
        flatten=bool(random.integers(2)),
        allow_stay=bool(random.integers(2)),
        max_cycles=(None, 6, 40)[int(random.integers(3))],
    )


MODES = ("NextStep", "SameStep", "Disabled")


def some_env(number: int, random: np.random.Generator, threads: int = 1) -> Any:
    """One of the faces, with a game under way: seeded, and played for some steps."""
    seed = int(random.integers(2**31))
    kind = number % 5
    config = some_config(number // 5 % 211)
    env: Any
    if kind == 0:
        env = GridWorldEnv(size=int(random.integers(2, 6)))
    elif kind in (1, 2):
        env = MultiGridEnv(config)
    else:
        settings = {"autoreset_mode": MODES[number // 3 % 3], "num_threads": threads}
        count = int(random.integers(1, 5))
        if number % 25 == 3:
            env = GridWorldVectorEnv(count, size=3, max_episode_steps=9, **settings)
        else:
            env = MultiGridVectorEnv(config, count, **settings)
    env.reset(seed=seed)
    play(env, int(random.choice([0, 1, 3, 9])), random)
    return env
