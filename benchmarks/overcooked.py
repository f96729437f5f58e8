"""``python -m benchmarks.overcooked``: play overcooked_ai and this package, step by step, and compare.

It needs overcooked_ai in the same environment, which needs NumPy 1; the release on PyPI, 1.1.0, has the new dynamics,
and its repository both. Each episode is in a random kitchen of one to four players, with random orders, values and
times. Compared are players, things, rewards, events, potentials, for two players the lossless encoding, and for two and
more the features.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from multigrid import games
from multigrid.cli._options import parse
from multigrid.games.overcooked import EVENTS, potential

_ORDERS = [["onion"] * onions + ["tomato"] * tomatoes for onions in range(4) for tomatoes in range(4 - onions)][1:]
_DIRECTIONS = [(0, -1), (0, 1), (1, 0), (-1, 0)]
_THINGS = {"onion": 1, "tomato": 2, "dish": 3}
_STEPS = 200


@dataclasses.dataclass(frozen=True)
class OvercookedOptions:
    """Play overcooked_ai and this package step by step; the exit code is 1 at the first difference."""

    episodes: int = 100
    """How many episodes of 200 steps are played."""
    seed: int = 0
    """The seed of kitchens and actions."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, print what was played, and return the exit code."""
    options = parse(OvercookedOptions, arguments, "python -m benchmarks.overcooked")
    random, begin = np.random.default_rng(options.seed), time.perf_counter()
    for episode in range(options.episodes):
        layout, is_old = draw_kitchen(random)
        if problem := _play(layout, random, is_old=is_old):
            sys.stderr.write(f"benchmarks: episode {episode}, old dynamics {is_old}, {layout!r}: {problem}\n")
            return 1
    steps, seconds = options.episodes * _STEPS, time.perf_counter() - begin
    sys.stdout.write(f"{options.episodes} episodes, {steps} steps, no difference, {seconds:.0f} s\n")
    return 0


def draw_kitchen(random: np.random.Generator) -> tuple[dict[str, Any], bool]:
    """Return the content of a layout file, and whether it is for the old dynamics."""
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld  # type: ignore[import-not-found]

    width, height = (int(random.integers(4, 8)) for _ in range(2))
    grid = np.full((height, width), "X")
    grid[1:-1, 1:-1] = np.where(random.random((height - 2, width - 2)) < 0.8, " ", "X")
    edges = [(y, x) for y in range(height) for x in range(width) if (y in {0, height - 1}) != (x in {0, width - 1})]
    stations = ["D", "S", "P", random.choice(["O", "T"]), *random.choice(list("OTPDS"), 3)]
    for (y, x), station in zip(random.permutation(edges), stations, strict=False):
        grid[y, x] = station
    floor = np.argwhere(grid == " ")
    if len(floor) < 2:
        return draw_kitchen(random)
    players = random.choice([1, 2, 2, 2, 3, 4])
    for k, (y, x) in enumerate(random.permutation(floor)[:players]):
        grid[y, x] = str(k + 1)
    is_old = "old_dynamics" in inspect.signature(OvercookedGridworld).parameters and bool(random.random() < 0.5)
    known = [order for order in _ORDERS if len(order) == 3 or not is_old]
    orders = [known[k] for k in random.permutation(len(known))[: random.integers(1, 5)]]
    layout: dict[str, Any] = {"grid": "\n".join(map("".join, grid))}
    layout["start_all_orders"] = [{"ingredients": order} for order in orders]
    layout["start_bonus_orders"] = layout["start_all_orders"][: random.integers(2)]
    if random.random() < 0.5:
        layout |= {
            "recipe_values": random.integers(1, 9, len(orders)).tolist(),
            "cook_time": int(random.integers(1, 6)),
        }
    else:
        names = ("onion_value", "tomato_value", "onion_time", "tomato_time")
        layout |= {name: int(number) for name, number in zip(names, random.integers(1, 5, 4), strict=True)}
    return layout, is_old


def _play(layout: dict[str, Any], random: np.random.Generator, *, is_old: bool) -> str:
    """Play an episode in both; return the first difference, or ""."""
    from overcooked_ai_py.mdp.actions import Action  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld
    from overcooked_ai_py.planning.planners import MotionPlanner  # type: ignore[import-not-found]

    entries = {key: value for key, value in layout.items() if key != "grid"}
    mdp = OvercookedGridworld.from_grid(
        layout["grid"].split("\n"), entries | ({"old_dynamics": True} if is_old else {})
    )
    state, planner = mdp.get_standard_start_state(), SimpleNamespace(motion_planner=MotionPlanner(mdp))
    options = {"layout": repr(layout), "dynamics": "old" if is_old else "new", "observe": ("lossless", "features")}
    num_pots, gamma = int(random.integers(4)), random.uniform(0.9, 0.999)
    env: Any = games.parallel_env("Overcooked-cramped_room-v0", max_cycles=_STEPS, num_pots=num_pots, **options)
    env.reset(seed=0)
    weights = random.dirichlet([1, 1, 1, 1, 0.3, 3])
    for step in range(1, _STEPS + 1):
        actions = random.choice(6, mdp.num_players, p=weights).tolist()
        state, infos = mdp.get_state_transition(state, tuple(Action.INDEX_TO_ACTION[action] for action in actions))
        observations, _, _, _, ours = env.step(dict(zip(env.agents, actions, strict=True)))
        events = [
            sum(infos["event_infos"][name][i] << k for k, name in enumerate(EVENTS)) for i in range(mdp.num_players)
        ]
        found = [
            ("state", _read_original(state), _read_ours(env)),
            ("sparse", infos["sparse_reward_by_agent"], [info["sparse"] for info in ours.values()]),
            ("shaped", infos["shaped_reward_by_agent"], [info["shaped"] for info in ours.values()]),
            ("events", events, [int(info["events"]) for info in ours.values()]),
        ]
        if mdp.num_players == 2:
            seen = [one["lossless"] for one in observations.values()]
            found.append(("lossless", mdp.lossless_state_encoding(state, _STEPS), seen))
        if mdp.num_players > 1:
            features = [one["features"] for one in observations.values()]
            found.append(("features", mdp.featurize_state(state, planner, num_pots), features))
        expected, own = mdp.potential_function(state, planner.motion_planner, gamma), potential(env, gamma)
        # The last digits depend on the order of products.
        found.append(("potential", expected, expected if np.isclose(own, expected, rtol=1e-12, atol=0) else own))
        for name, theirs, mine in found:
            if not np.array_equal(theirs, mine):
                return f"step {step}, {actions}, {name}:\noriginal {theirs}\nhere     {mine}"
    return ""


def _code(thing: Any) -> int:
    if thing is None:
        return 0
    return (
        16 + 4 * thing.ingredients.count("onion") + thing.ingredients.count("tomato")
        if (thing.name == "soup")
        else _THINGS[thing.name]
    )


def _read_original(state: Any) -> list[Any]:
    """Return players and things, [x, y, code, steps cooked or -1] of each; steps are those of soups in pots alone."""
    players = [[*one.position, _DIRECTIONS.index(one.orientation), _code(one.held_object)] for one in state.players]
    return [
        *players,
        *sorted([*cell, _code(thing), getattr(thing, "_cooking_tick", -1)] for cell, thing in state.objects.items()),
    ]


def _read_ours(env: Any) -> list[Any]:
    state, prepared = env.get_state(), env.config.prepared
    players = np.concatenate([state["location"].T, [state["direction"], state["held"]]]).T.tolist()
    pots, things = prepared["pot"][0].tolist(), []
    for x, y in np.argwhere(state["thing"]).tolist():
        code = int(state["thing"][x, y])
        # A soup that is taken from a pot has cooked for its time.
        ticks = int(state["cooking"][pots.index([x, y])]) - 1 if [x, y] in pots else -1
        things.append([x, y, code, prepared["cook_time"][0, code - 16] if code >= 16 and [x, y] not in pots else ticks])
    return [*players, *things]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
