"""``python -m benchmarks.games POGEMA > docs/games/speeds.csv``: steps of the games on the page "Games", in one run.

It needs minigrid==3.2.0, rware==2.0.0, lbforaging==2.0.0 and overcooked-ai==1.1.0, which needs NumPy 1, in the same
environment, and POGEMA in another one, whose folder is the argument. One world of an original, one world here, and
1,024 worlds play random actions by turns. Each row is a median rate, in steps per second, summed over agents.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import multigrid
from benchmarks.documented import DocumentedGridWorld
from benchmarks.peers.processes import Pogema
from benchmarks.speed.cases import CROWDS, WORLDS, Play, play_calls, play_single, play_vector, restart_config
from examples.games.bridge import Bridge
from examples.games.key_and_door import KeyAndDoor
from examples.games.pursuit import Pursuit
from examples.games.tag import Tag
from multigrid import GridConfig, games

_TURNS, _SECONDS = 15, 0.5
_OWN_GAMES = {
    "tag": GridConfig(game=Tag, size=6, num_agents=4, max_cycles=40),
    "key and door": GridConfig(game=KeyAndDoor, size=5, reward="shared", max_cycles=40),
    "bridge": GridConfig(
        game=Bridge,
        options={"west": 2, "east": 4},
        walls="..###..\n.......\n..###..",
        num_agents=3,
        on_target="leave",
        max_cycles=40,
    ),
    "pursuit": GridConfig(game=Pursuit, size=5, num_agents=3, max_cycles=40),
}
"""Configurations in which `examples.games.train` trains."""
_Plays = dict[str, Callable[[], Play]]
"""A play, or more of them, by "original", "one world" or "1,024 worlds"."""


def main(arguments: Sequence[str]) -> int:
    """Measure all games, write the rows, and return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m benchmarks.games FOLDER_OF_POGEMA\n")
        return 2
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(("game", "played by", "steps per second"))
    with contextlib.redirect_stdout(sys.stderr):  # where overcooked_ai prints what it computes
        for game, makers in list_games(Path(arguments[0])):
            rows.writerows((game, name, f"{rate:.0f}") for name, rate in measure(makers).items())
    return 0


def measure(makers: _Plays) -> dict[str, float]:
    """Return the median rate of each play, in steps per second; they take turns, after one that does not count."""
    plays = {name: make() for name, make in makers.items()}
    rates: dict[str, list[float]] = {name: [] for name in plays}
    for _ in range(_TURNS + 1):
        for name, play in plays.items():
            seconds, steps = play(_SECONDS)
            rates[name].append(steps / seconds)
    return {name: statistics.median(turns[1:]) for name, turns in rates.items()}


def list_games(pogema: Path) -> Iterator[tuple[str, _Plays]]:
    """Yield the name of each game on the page, and what plays it. `pogema` is the folder of POGEMA's environment."""
    yield "GridWorld", _single(DocumentedGridWorld, "GridWorld-v0")
    process, config = Pogema(pogema, CROWDS[:1]), restart_config(*CROWDS[0])
    yield (
        f"path finding, {config.num_agents} agents",
        {
            "original": lambda: process.cases[0].play,
            "one world": lambda: _play_parallel(multigrid.parallel_env(config)),
            "1,024 worlds": lambda: _play_vector(config),
        },
    )
    process.close()
    name = "MiniGrid-DoorKey-8x8-v0"
    yield name, _single(functools.partial(_make_original, "minigrid", name), name, observe=("image", "direction"))
    yield _several("Overcooked-cramped_room-v0", _play_overcooked)
    yield _several("rware-small-4ag-v2", functools.partial(_play_tuples, "rware"))
    yield _several("Foraging-10x10-3p-3f-v3", functools.partial(_play_tuples, "lbforaging"))
    for name, config in _OWN_GAMES.items():
        yield name, {"1,024 worlds": functools.partial(_play_vector, config)}


def _several(name: str, original: Callable[[str], Play]) -> tuple[str, _Plays]:
    """Return the name and the plays of a game of several agents that has ids."""
    return name, {
        "original": lambda: original(name),
        "one world": lambda: _play_parallel(games.parallel_env(name)),
        "1,024 worlds": lambda: play_vector(games.vector_env(name, WORLDS)),
    }


def _single(original: Callable[[], Any], name: str, **options: Any) -> _Plays:
    """Return the plays of a game of one agent, through `gymnasium.make`."""
    name = f"multigrid/{name}"
    return {
        "original": lambda: play_single(original()),
        "one world": lambda: play_single(gymnasium.make(name, disable_env_checker=True)),
        "1,024 worlds": lambda: play_vector(gymnasium.make_vec(name, num_envs=WORLDS, **options)),
    }


def _make_original(module: str, name: str) -> Any:
    """Return an environment of a library that registers its ids when it is imported."""
    __import__(module)
    return gymnasium.make(name, disable_env_checker=True)


def _play_vector(config: GridConfig) -> Play:
    return play_vector(multigrid.vector_env(WORLDS, config))


def _play_parallel(env: Any) -> Play:
    """Return a play of a ParallelEnv, which is reset when an episode ends."""
    rows = np.random.default_rng(0).integers(env.config.num_actions, size=(64, env.max_num_agents)).tolist()
    actions = [dict(zip(env.possible_agents, row, strict=True)) for row in rows]
    env.reset(seed=0)

    def step() -> None:
        for joint in actions:
            env.step(joint)
            if not env.agents:
                env.reset()

    return play_calls(step, len(actions) * env.max_num_agents)


def _play_tuples(module: str, name: str) -> Play:
    """Return a play of rware or lbforaging, whose actions are a list."""
    env = _make_original(module, name).unwrapped
    actions = np.random.default_rng(0).integers(env.action_space[0].n, size=(64, env.n_agents)).tolist()
    env.reset(seed=0)

    def step() -> None:
        for joint in actions:
            _, _, is_terminated, is_truncated, _ = env.step(joint)
            if is_terminated or is_truncated:
                env.reset()

    return play_calls(step, len(actions) * env.n_agents)


def _play_overcooked(name: str) -> Play:
    """Return a play of overcooked_ai, whose states are encoded after each step, as here."""
    from overcooked_ai_py.mdp.actions import Action  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld  # type: ignore[import-not-found]

    mdp = OvercookedGridworld.from_layout_name(name.split("-")[1])
    env = OvercookedEnv.from_mdp(mdp, horizon=400, info_level=0)
    rows = np.random.default_rng(0).integers(6, size=(64, mdp.num_players)).tolist()
    actions = [tuple(Action.INDEX_TO_ACTION[action] for action in row) for row in rows]

    def step() -> None:
        for joint in actions:
            state, _, is_over, _ = env.step(joint)
            env.lossless_state_encoding_mdp(state)
            if is_over:
                env.reset()

    return play_calls(step, len(actions) * mdp.num_players)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
