"""What a state must be like for a game to have come to it, and whether play from it on is that of the reference."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import numpy as np

from multigrid import Delays, GridConfig, MultiGridEnv
from multigrid.config import OnTarget
from reference import DELAYED, Clock, Reference
from reference import PARKED as PARKED_BEFORE
from worldgen import COLLISIONS, PARTS

TRAVELLING, PARKED, LEFT = range(3)
DTYPES = dict.fromkeys(PARTS, "int64") | dict.fromkeys(("view", "walls"), "uint8")
DTYPES |= dict.fromkeys(("action_mask", "delayed"), "int8")
STREAM = ("state", "inc")


def split(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The state of each world by itself, out of one state, with its stream as NumPy writes the state of a PCG64."""
    if "np_random" in state:
        return [state]
    worlds = [{name: array[k] for name, array in state.items()} for k in range(len(state["steps"]))]
    for world in worlds:
        high, low, inc_high, inc_low, has_half, half = (int(word) for word in world.pop("streams"))
        inner = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
        world["np_random"] = {"bit_generator": "PCG64", "state": inner, "has_uint32": has_half, "uinteger": half}
    return worlds


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
    """Why no PCG64 can be in this state."""
    inner = state["state"]
    is_sound = state["has_uint32"] in (0, 1) and 0 <= state["uinteger"] < 2**32
    is_sound = is_sound and all(0 <= inner[name] < 2**128 for name in STREAM) and inner["inc"] % 2 == 1
    return [] if is_sound else [f"PCG64 with {state}"]


def delay_breaches(delays: Delays | None, steps: int, state: dict[str, Any]) -> list[str]:
    """Why no game can have these delays."""
    if delays is None:
        return ["delays"] if "delay_left" in state else []
    high, low, inc_high, inc_low, has_half, half = (int(word) for word in state["delay_streams"])
    inner = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
    broken = stream_breaches({"bit_generator": "PCG64", "state": inner, "has_uint32": has_half, "uinteger": half})
    names = ("status", "outcomes", "delay_left", "delayed_steps")
    for status, outcome, left, total in zip(*(state[name].tolist() for name in names), strict=True):
        if not 0 <= left <= delays.duration[1]:
            broken.append("a delay that is too long")
        if left > 0 == steps:
            broken.append("a delay before the first step")
        if (outcome == DELAYED) != (left > 0 and status == TRAVELLING):
            broken.append("delayed, or not, without a reason")
        if not (outcome == DELAYED) <= total <= steps:
            broken.append("delayed in other steps than those played")
    return broken


BY_AGENT = (
    *("location", "target", "status", "arrivals", "arrival_step", "target_lists", "rewards", "terminated", "truncated"),
    *("outcomes", "distances", "delay_left", "delayed_steps"),
)
UNSAFE = (
    *("PCG64 with", "no such map", "steps out of range", "a cell ", "a target that cannot be reached", "an agent that"),
    *("a status that", "two agents in a cell", "a target of two agents", "more agents than there can be"),
    *("lists with holes", "lists under another rule", "a delay that is too long", "no such outcome"),
)
"""How the texts of `breaches` begin that `set_state` must refuse; a game may not come to other states, either."""
BEGUN = {"location": [0, 0], "target": [0, 0], "status": LEFT, "arrivals": 0, "arrival_step": -1, "delayed_steps": 0}
BEGUN |= {"rewards": 0.0, "terminated": False, "truncated": False, "outcomes": 1, "distances": 0.0}


@functools.lru_cache(maxsize=512)
def _of(config: GridConfig, num_agents: int, shape: tuple[int, ...] = (), walls: bytes = b"") -> GridConfig:
    fields: dict[str, Any] = {"walls": np.frombuffer(walls, bool).reshape(shape)} if walls else {}
    return dataclasses.replace(config, num_agents=num_agents, least_agents=None, **fields)


def breaches(config: GridConfig, state: dict[str, Any]) -> list[str]:
    """Why no game of this configuration can be in this state of one world; an empty list if nothing speaks against it.

    Agents that take no part in the episode are as it began; the others are as in a world that has no more agents.
    """
    count = int(state.get("num_agents", config.num_agents))
    if not (config.least_agents or config.num_agents) <= count <= config.num_agents:
        return ["more agents than there can be, or fewer"]
    for name in BEGUN.keys() & state.keys():
        if any(one != BEGUN[name] for one in state[name][count:].tolist()):
            return [f"an agent that takes no part has a {name}"]
    of_count = {name: value[:count] if name in BY_AGENT else value for name, value in state.items()}
    if config.draws_maps:
        walls = of_count.pop("walls")
        return breaches_of_all(_of(config, count, walls.shape, walls.tobytes()), of_count)
    return breaches_of_all(config if config.least_agents is None else _of(config, count), of_count)


def breaches_of_all(config: GridConfig, state: dict[str, Any]) -> list[str]:  # noqa: PLR0915 - a list of laws
    """Why no game in which all agents take part can be in this state of one world.

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
        law(steps == 0 or all(there), "on a target, not arrived")
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
    law(int(state["num_ended"]) == sum(map(max, terminated, truncated)), "num_ended")

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
    last_outcome = PARKED_BEFORE if config.delays is None else DELAYED
    law(all(0 <= one <= last_outcome for one in state["outcomes"].tolist()), "no such outcome")
    broken += delay_breaches(config.delays, steps, state)
    return broken


def unsafe(broken: list[str]) -> list[str]:
    """Return what of `breaches` kernels cannot play on from."""
    by_agent = ("a list with holes", "a target of its list out of reach", "arrived more often than it moved")
    return [one for one in broken if one.startswith(UNSAFE) or one.endswith(by_agent)]


def random_actions(env: MultiGridEnv, random: np.random.Generator) -> dict[str, int]:
    """An action for everyone who is still there."""
    drawn = random.integers(0, env.config.num_actions, len(env.agents)).tolist()
    return dict(zip(env.agents, drawn, strict=True))


def play_episode(config: GridConfig, seed: int, options: Any = None) -> MultiGridEnv:
    """Play an episode at random, and refuse all that is not as in the reference, or impossible; return the env."""
    env = MultiGridEnv(config)
    observations, infos = env.reset(seed=seed, options=options)
    state, drawn = env.get_state(), copy.deepcopy(env.np_random)
    walls = state["walls"] if config.draws_maps else _map(config, int(state["map_index"]))[0]
    count = len(env.agents)
    reference = Reference(config, state["location"][:count], state["target"][:count], walls, drawn)
    reference.lists = lists_of(state["target_lists"]) if "target_lists" in state else None
    reference.clock = None if config.delays is None else Clock(config.delays, config.num_agents, seed)
    for i, agent in enumerate(env.agents):
        np.testing.assert_equal(observations[agent], reference.observe(i, reference.at[i]))
        _assert_belongs(env, agent, observations[agent], infos[agent])
    random = np.random.default_rng(seed)
    while env.agents:
        assert breaches(config, env.get_state()) == []
        present, actions = list(env.agents), random_actions(env, random)
        observations, rewards, terminations, truncations, infos = env.step(actions)
        expected = reference.step({env.possible_agents.index(agent): action for agent, action in actions.items()})
        assert list(observations) == [env.possible_agents[i] for i in expected] == present
        for agent, (seen, reward, *flags, distance, outcome) in zip(present, expected.values(), strict=True):
            np.testing.assert_equal(observations[agent], seen)
            _assert_belongs(env, agent, observations[agent], infos[agent])
            returned = [rewards[agent], terminations[agent], truncations[agent]]
            assert [type(value) for value in returned] == [float, bool, bool]
            assert abs(rewards[agent] - reward) < 1e-12
            assert returned[1:] == flags
            arrived = reference.arrived[env.possible_agents.index(agent)]
            assert infos[agent] == {"distance": distance, "outcome": outcome, "arrived": arrived}
        assert env.state().tolist() == reference.state()
        assert env.state_space.contains(env.state())
        assert (not env.agents) == reference.over
    assert breaches(config, env.get_state()) == []
    assert env.np_random.bit_generator.state == drawn.bit_generator.state
    return env


def _assert_belongs(env: MultiGridEnv, agent: str, observation: Any, info: dict[str, Any]) -> None:
    """An observation is of the space, its parts in order and, which `contains` does not ask, of the very dtype."""
    assert {key: type(value) for key, value in info.items()} == {"distance": float, "outcome": int, "arrived": int}
    space = env.observation_space(agent)
    assert space.contains(observation)
    if env.config.flatten:
        if "action_mask" in env.config.parts:
            assert list(observation) == list(space.spaces) == ["observation", "action_mask"]
            assert observation["action_mask"].dtype == np.int8
            observation, space = observation["observation"], space["observation"]
        assert (type(observation), observation.dtype, observation.shape) == (np.ndarray, np.float32, space.shape)
    else:
        assert type(observation) is dict
        assert list(observation) == list(space.spaces) == list(env.config.parts)
        assert all(str(seen.dtype) == DTYPES[part] for part, seen in observation.items())


ON_TARGET = ("park", "leave", "stay", "restart")
PICTURES = ["a.#.B\n..#..\nb...A", "a...#\n#b.BA\n.#..."]
LISTED = ["a.#..\n..#..\nb....\na: 1,0 1,0 0,1\nb: 0,2", "a...#\n#b...\n.#...\na: 0,0 2,1 1,1 2,0\nb: 2,1 2,0 2,0"]


@functools.lru_cache(maxsize=256)
def some_config(number: int, on_target: OnTarget | None = None) -> GridConfig:
    """A configuration of any kind: all rules, empty grids, maps, pools of maps and pictures, none of them square."""
    random = np.random.default_rng([7, number])
    width, height = ((5, 3), (3, 4), (7, 2), (1, 6))[number % 4]
    collisions, on_target = COLLISIONS[number % 5], on_target or ON_TARGET[number // 2 % 4]
    kind = number % 7
    world: dict[str, Any] = {"size": (width, height)}
    room = width * height
    if kind in (1, 2, 3) and width > 1:
        maps = random.random((3 if kind == 2 else 1, width, height)) < 0.2
        maps[:, 0, :2] = False
        world, regions = {"walls": maps}, GridConfig(num_agents=1, walls=maps).components
        sizes = [np.bincount(region.ravel())[1:] for region in regions]
        room = min(int(one[one > 1].sum()) for one in sizes)
    agents = {"num_agents": int(random.integers(1, min(room, 5) + 1))}
    if kind == 4:
        pictures = LISTED if on_target == "restart" else PICTURES
        world, agents = {"walls": pictures if number % 2 else pictures[0]}, {}
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
        least_agents=1 if number % 5 == 1 and kind != 4 else None,
        delays=(None, None, 0.2, Delays(0.3, (2, 5), events="poisson", durations="gaussian"))[number // 3 % 4],
    )
