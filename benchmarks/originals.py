"""``python -m benchmarks.originals``: play rware or lbforaging and this package, step by step, and compare.

It needs rware==2.0.0 and lbforaging==2.0.0 in the same environment. Each configuration is random, and plays some
episodes: the first from a seed, the others from resets without one. Compared are observations, with their types,
rewards, ends, and the state: places, directions, loads, levels, foods, shelves and requests.
"""

from __future__ import annotations

import dataclasses
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import tyro

from multigrid.cli._options import parse
from multigrid.config import GridConfig
from multigrid.games._tuple_env import TupleEnv

Name = Literal["rware", "lbforaging"]
_EPISODES_A_CONFIGURATION = 4
_LAYOUTS = (
    ".......\n...x...\n..x.x..\n.x...x.\n..x.x..\n...x...\n.g...g.",
    "g....\n.xxx.\n.x.x.\n.xxx.\n....g",
    "......\n.xx...\n......\n...xx.\ng....g",
    "gxx.....\nxx..xx.g",
    "X.G.x\n.....\nx.g.X",
    "x.g\n...\ng.x",
)


@dataclasses.dataclass(frozen=True)
class OriginalsOptions:
    """Play rware or lbforaging and this package step by step; the exit code is 1 at the first difference."""

    game: tyro.conf.Positional[Name]
    """The original."""
    episodes: int = 10_000
    """How many episodes are played."""
    seed: int = 0
    """The seed of configurations and actions."""


class DifferenceError(Exception):
    """The games differ; the message says where."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, print what was played, and return the exit code."""
    options = parse(OriginalsOptions, arguments, "python -m benchmarks.originals")
    begin = time.perf_counter()
    try:
        episodes, steps = compare_episodes(options.game, options.episodes, options.seed)
    except DifferenceError as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return 1
    seconds = time.perf_counter() - begin
    sys.stdout.write(f"{options.game}: {episodes} episodes, {steps} steps, no difference, {seconds:.0f} s\n")
    return 0


def compare_episodes(game: Name, num_episodes: int, seed: int) -> tuple[int, int]:
    """Play episodes of random configurations; return how many, and their steps. Raises DifferenceError."""
    random, episodes, steps = np.random.default_rng(seed), 0, 0
    draw, make, read, ours, choose = _GAMES[game]
    while episodes < num_episodes:
        name, keywords = draw(random)
        try:
            original, env = make(name, keywords), TupleEnv(name, **keywords)
        except ValueError:
            continue  # refused: the original would fail later
        policy = choose(random)
        for episode in range(_EPISODES_A_CONFIGURATION):
            start = int(random.integers(2**31)) if episode == 0 else None
            where = f"{name} {keywords}, seed {start}, episode {episode}"
            _compare(where, "reset", original.reset(seed=start)[0], env.reset(seed=start)[0])
            _compare(where, "reset, state", read(original), ours(env))
            over = False
            while not over:
                actions = policy(env)
                theirs, mine = original.step(actions), env.step(actions)
                steps, over = steps + 1, bool(theirs[2])
                at = f"step {env.get_state()['steps']}, actions {actions}"
                for label, one, other in zip(("observations", "rewards", "terminated"), theirs, mine, strict=False):
                    _compare(where, f"{at}, {label}", one, other)
                _compare(where, f"{at}, state", read(original), ours(env))
            episodes += 1
            if episodes == num_episodes:
                break
    return episodes, steps


def _compare(where: str, what: str, theirs: Any, mine: Any) -> None:
    if not _are_equal(theirs, mine):
        raise DifferenceError(f"{where}, {what}:\noriginal {theirs}\nhere     {mine}")


def _are_equal(theirs: Any, mine: Any) -> bool:
    if isinstance(theirs, dict):
        # Without messages, the original's has a None that its space has not.
        known = {key: value for key, value in theirs.items() if value is not None}
        if "local_message" in known:  # of others floats, and zeros integers
            known["local_message"] = list(known["local_message"])
        return list(known) == list(mine) and all(_are_equal(value, mine[key]) for key, value in known.items())
    if isinstance(theirs, np.ndarray):
        return theirs.dtype == mine.dtype and np.array_equal(theirs, mine)
    if isinstance(theirs, tuple):
        return len(theirs) == len(mine) and all(map(_are_equal, theirs, mine))
    return bool(np.array_equal(theirs, mine))


def _draw_warehouse(random: np.random.Generator) -> tuple[str, dict[str, Any]]:
    from rware import ObservationType, RewardType  # type: ignore[import-not-found]

    size, level = random.choice(["tiny", "small", "medium", "large"]), random.choice(["", "-easy", "-hard"])
    name = f"rware-{size}-{random.integers(1, 20)}ag{level}-v2"
    keywords: dict[str, Any] = {"max_steps": int(random.integers(10, 150))}
    if random.random() < 0.7:
        keywords["reward_type"] = RewardType(int(random.integers(3)))
    if random.random() < 0.3:
        keywords["observation_type"] = ObservationType(int(random.integers(4)))
    for option, most in (("sensor_range", 4), ("msg_bits", 4), ("max_inactivity_steps", 60)):
        if random.random() < 0.3:
            keywords[option] = int(random.integers(1, most))
    for option in ("normalised_coordinates", "image_observation_directional"):
        if random.random() < 0.3:
            keywords[option] = bool(random.integers(2))
    kind = random.random()
    if kind < 0.4:
        layout = _LAYOUTS[random.integers(len(_LAYOUTS))]
        most = len(layout.replace("\n", ""))
        shelves = layout.lower().count("x")
        keywords |= {"layout": layout, "n_agents": int(random.integers(1, most + 1))}
        keywords["request_queue_size"] = int(random.integers(1, shelves))
    elif kind < 0.6:
        keywords |= {"shelf_columns": int(random.choice([1, 3, 5])), "column_height": int(random.integers(1, 9))}
        keywords |= {"shelf_rows": int(random.integers(1, 4)), "n_agents": int(random.integers(1, 20))}
    return name, keywords


def _make_warehouse(name: str, keywords: dict[str, Any]) -> Any:
    import gymnasium
    import rware

    assert rware
    return gymnasium.make(name, disable_env_checker=True, **keywords).unwrapped


def _read_warehouse(env: Any) -> tuple[Any, ...]:
    agents = [
        (one.x, one.y, one.dir.value, one.carrying_shelf.id if one.carrying_shelf else 0, int(one.has_delivered))
        for one in env.agents
    ]
    return agents, [(one.x, one.y) for one in env.shelfs], [one.id for one in env.request_queue]


def _read_our_warehouse(env: TupleEnv) -> tuple[Any, ...]:
    state: Any = env.get_state()
    columns = (*state["location"].T, state["direction"], state["load"], state["delivered"])
    cells = np.argwhere(state["shelf_in"])
    order = np.argsort(state["shelf_in"][tuple(cells.T)])
    return np.stack(columns, axis=1), cells[order], state["request"]


def _choose_in_warehouse(random: np.random.Generator) -> Callable[[TupleEnv], list[Any]]:
    """Return a policy: actions with a bias to drive, or errands: fetch, bring to a goal, bring back."""
    noise, weights = random.choice([0.05, 0.3, 1.0]), random.dirichlet([1, 4, 1, 1, 1])

    def choose(env: TupleEnv) -> list[Any]:
        state: Any = env.get_state()
        bits = env.config.message_bits
        actions: list[Any] = []
        for i in range(env.n_agents):
            action = run_errand(env.config, state, i)
            if random.random() < noise:
                action = int(random.choice(5, p=weights))
            actions.append([action, *random.integers(2, size=bits).tolist()] if bits else action)
        return actions

    return choose


def run_errand(config: GridConfig, state: Any, i: int) -> int:
    """Return the action of an agent of a warehouse that fetches requested shelves and brings them to a goal and back.

    It drives to the nearest shelf, goal, or place without a shelf, whoever is in its way. `state` is that of the env.
    """
    cell, direction, load = state["location"][i], int(state["direction"][i]), int(state["load"][i])
    shelf_in, is_wanted, prepared = state["shelf_in"], state["is_wanted"], config.prepared
    if not load:
        goals = np.argwhere(is_wanted[shelf_in] > 0)
    elif is_wanted[load]:
        goals = prepared["goal"]
    else:
        goals = np.argwhere((shelf_in == 0) & (prepared["is_way"] == 0))
    if not len(goals):
        return 0
    dx, dy = goals[np.abs(goals - cell).sum(axis=1).argmin()] - cell
    if dx == dy == 0:
        return 0 if load and is_wanted[load] else 4
    wanted = (3 if dx > 0 else 2) if abs(dx) >= abs(dy) else (1 if dy > 0 else 0)
    if wanted == direction:
        return 1
    return 2 if (direction, wanted) in {(0, 2), (2, 1), (1, 3), (3, 0)} else 3


def _draw_foraging(random: np.random.Generator) -> tuple[str, dict[str, Any]]:
    side, players, foods = map(int, random.integers([5, 2, 1], [20, 10, 5]))
    sight, coop = random.choice(["", "-2s"]), random.choice(["", "-coop"])
    name = f"Foraging{sight}-{side}x{side}-{players}p-{foods}f{coop}-v3"
    keywords: dict[str, Any] = {}
    if random.random() < 0.3:
        keywords |= {"field_size": (side,) * 2, "players": int(random.integers(1, side * side // 2))}
        players = keywords["players"]
    if random.random() < 0.3:
        foods = keywords["max_num_food"] = int(random.integers(1, 9))
    if random.random() < 0.3:
        keywords["sight"] = int(random.integers(1, side + 1))
    if random.random() < 0.5:
        keywords |= {"penalty": float(random.choice([0.1, 0.5])), "normalize_reward": bool(random.integers(2))}
    if random.random() < 0.2:
        keywords["observe_agent_levels"] = False
    if random.random() < 0.4:
        low = random.integers(1, 4, players)
        keywords |= {"min_player_level": low.tolist(), "max_player_level": (low + random.integers(3)).tolist()}
    if random.random() < 0.4:
        low = random.integers(1, 4, foods)
        keywords |= {"min_food_level": low.tolist(), "max_food_level": (low + random.integers(3)).tolist()}
    return name, keywords


def _make_foraging(name: str, keywords: dict[str, Any]) -> Any:
    import gymnasium
    import lbforaging  # type: ignore[import-not-found]

    assert lbforaging
    return gymnasium.make(name, disable_env_checker=True, **keywords).unwrapped


def _read_foraging(env: Any) -> tuple[Any, ...]:
    return [one.position for one in env.players], [one.level for one in env.players], env.field


def _read_our_foraging(env: TupleEnv) -> tuple[Any, ...]:
    state: Any = env.get_state()
    field = np.zeros(env.config.size[::-1], np.int32)  # type: ignore[index]
    for row, column, level in state["food"][: state["num_food"]]:
        field[row, column] = level
    return state["location"][:, ::-1], state["level"], field


def _choose_in_foraging(random: np.random.Generator) -> Callable[[TupleEnv], list[Any]]:
    """Return a policy: to the nearest food and load, with more or less noise."""
    noise = random.choice([0.05, 0.3, 1.0])

    def choose(env: TupleEnv) -> list[Any]:
        state: Any = env.get_state()
        return [
            int(random.integers(6)) if random.random() < noise else seek_food(state, i) for i in range(env.n_agents)
        ]

    return choose


def seek_food(state: Any, i: int) -> int:
    """Return the action of a player that walks to the nearest food and loads it. `state` is that of the env."""
    column, row = state["location"][i]
    steps = state["food"][: state["num_food"], :2] - (row, column)
    if not len(steps):
        return 0
    rows, columns = steps[np.abs(steps).sum(axis=1).argmin()]
    if abs(rows) + abs(columns) == 1:
        return 5
    if abs(rows) > abs(columns):
        return 2 if rows > 0 else 1
    return 4 if columns > 0 else 3


_GAMES: dict[Name, tuple[Any, ...]] = {
    "rware": (_draw_warehouse, _make_warehouse, _read_warehouse, _read_our_warehouse, _choose_in_warehouse),
    "lbforaging": (_draw_foraging, _make_foraging, _read_foraging, _read_our_foraging, _choose_in_foraging),
}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(sys.argv[1:]))
