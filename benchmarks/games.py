"""``python -m benchmarks.games POGEMA > docs/games/speeds.csv``: steps of the games on the page "Games", in one run.

It needs minigrid==3.2.0, rware==2.0.0, lbforaging==2.0.0 and overcooked-ai==1.1.0, which needs NumPy 1, in the same
environment, and POGEMA in another one, whose folder is the argument. One world of an original, one world here, and
1,024 worlds play random actions by turns. Each row is a median rate, in steps per second, summed over agents.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

import multigrid
from benchmarks.peers.processes import Pogema
from benchmarks.speed.cases import CROWDS, WORLDS, Play, play_calls, play_vector, restart_config
from examples.games.bridge import Bridge
from examples.games.key_and_door import KeyAndDoor
from examples.games.pursuit import Pursuit
from examples.games.tag import Tag
from multigrid import GridConfig, games

_TURNS, _SECONDS = 15, 0.5
_OWN_GAMES: tuple[type[multigrid.Game], ...] = (Tag, KeyAndDoor, Bridge, Pursuit)
_Plays = dict[str, Callable[[], Play]]
"""Functions that make a play, by "original", "one world" or "1,024 worlds"."""


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
    spec = EnvSpec("multigrid/Documented-v0", entry_point="benchmarks.documented:DocumentedGridWorld")
    yield "GridWorld", _single(spec, "GridWorld-v0")
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
    yield name, _single(f"minigrid:{name}", name, observe=("image", "direction"))
    yield _several("Overcooked-cramped_room-v0", _play_overcooked)
    yield _several("rware-small-4ag-v2", functools.partial(_play_tuples, "rware"))
    yield _several("Foraging-10x10-3p-3f-v3", functools.partial(_play_tuples, "lbforaging"))
    for game in _OWN_GAMES:
        yield (
            game.__module__.rpartition(".")[2].replace("_", " "),
            {"1,024 worlds": functools.partial(_play_vector, _find_config(game))},
        )


def _find_config(game: type[multigrid.Game]) -> GridConfig:
    """Return the configuration in which `multigrid train` trains a game by default."""
    fields = {field.name for field in dataclasses.fields(GridConfig)}
    return GridConfig(
        game=game,
        options={name: value for name, value in game.training.items() if name in game.options},
        **{name: value for name, value in game.training.items() if name in fields},
    )


def _several(name: str, original: Callable[[str], Play]) -> tuple[str, _Plays]:
    """Return the name and the plays of a game of several agents that has ids."""
    return name, {
        "original": lambda: original(name),
        "one world": lambda: _play_parallel(games.parallel_env(name)),
        "1,024 worlds": lambda: play_vector(games.vector_env(name, WORLDS)),
    }


def _single(original: str | EnvSpec, name: str, **options: Any) -> _Plays:
    """Return the plays of a game of one agent, through `gymnasium.make`."""
    name = f"multigrid/{name}"

    def play(env_id: str | EnvSpec) -> Play:
        # Gymnasium's checker would warn, at every step, of the arrays that the tutorial's code shares.
        env = gymnasium.make(env_id, disable_env_checker=True)
        action_space: Any = env.action_space
        return _play_episodes(env, np.random.default_rng(0).integers(action_space.n, size=256).tolist(), 1)

    return {
        "original": lambda: play(original),
        "one world": lambda: play(name),
        "1,024 worlds": lambda: play_vector(gymnasium.make_vec(name, num_envs=WORLDS, **options)),
    }


def _play_episodes(env: Any, actions: list[Any], num_agents: int) -> Play:
    """Return a play of an env with Gymnasium's `step`, which is reset when an episode ends."""
    env.reset(seed=0)

    def step() -> None:
        for action in actions:
            _, _, is_terminated, is_truncated, _ = env.step(action)
            if is_terminated or is_truncated:
                env.reset()

    return play_calls(step, len(actions) * num_agents)


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
    env: Any = gymnasium.make(f"{module}:{name}", disable_env_checker=True).unwrapped
    actions = np.random.default_rng(0).integers(env.action_space[0].n, size=(64, env.n_agents)).tolist()
    return _play_episodes(env, actions, env.n_agents)


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
