"""``python -m benchmarks.minigrid``: play minigrid and this package, step by step, and compare; or time both.

It needs minigrid==3.2.0 in the same environment. In each id, both play the same random actions, mostly *forward*; the
first episode is from a seed, and so is every other one. Compared are observations, rewards with their types, flags and
infos, the random streams, and some frames. With ``--speed``, one environment of minigrid and 1,024 worlds of
``gymnasium.make_vec``, which observe image and direction, play by turns in one thread.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

from multigrid.cli._options import parse
from multigrid.games.minigrid._tasks import list_ids

IDS = tuple(f"MiniGrid-{name}" for name in list_ids())
_ACTIONS = (0, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 6)
_TIMED = ("Empty-8x8", "DoorKey-8x8", "FourRooms", "MultiRoom-N6", "Dynamic-Obstacles-8x8")
_WORLDS, _TURN, _FRAMES = 1024, 60, 500


@dataclasses.dataclass(frozen=True)
class MinigridOptions:
    """Play minigrid and this package step by step; the exit code is 1 at the first difference."""

    steps: int = 1000
    """How many steps are played in each id."""
    seed: int = 0
    """The seed of episodes and actions."""
    speed: int = 0
    """How many rounds are timed, instead of the comparison."""


class DifferenceError(Exception):
    """The games differ; the message says where."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, print what was played, and return the exit code."""
    options = parse(MinigridOptions, arguments, "python -m benchmarks.minigrid")
    if options.speed:
        for name in _TIMED:
            sys.stdout.write(f"{name}: {measure(name, options.speed)}\n")
        return 0
    try:
        for game_id in IDS:
            compare(game_id, options.steps, options.seed)
    except DifferenceError as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return 1
    sys.stdout.write(f"{len(IDS)} ids, {options.steps} steps each, no difference\n")
    return 0


def compare(game_id: str, num_steps: int, seed: int) -> None:
    """Play both with the same actions. Raises DifferenceError."""
    import minigrid  # type: ignore[import-not-found]

    assert minigrid
    theirs: Any = gymnasium.make(game_id, render_mode="rgb_array").unwrapped
    ours: Any = gymnasium.make(f"multigrid/{game_id}", render_mode="rgb_array").unwrapped
    random = np.random.default_rng(seed)
    actions = [action for action in _ACTIONS if action < ours.action_space.n]
    is_over, episode = True, 0
    for step in range(num_steps):
        if is_over:
            begin = {"seed": int(random.integers(2**31))} if episode % 2 == 0 else {}
            shown, again = theirs.reset(**begin), ours.reset(**begin)
            is_over, episode = False, episode + 1
        else:
            action = int(random.choice(actions))
            shown, again = theirs.step(action), ours.step(action)
            is_over = shown[2] or shown[3]
        pairs = {
            "image": (shown[0]["image"].tolist(), again[0]["image"].tolist()),
            "direction and mission": tuple((int(one["direction"]), one["mission"]) for one in (shown[0], again[0])),
            "rewards, flags and infos": (repr(shown[1:]), repr(again[1:])),
            "stream": (theirs.np_random.bit_generator.state, ours.np_random.bit_generator.state),
        }
        if step % _FRAMES == 0:
            pairs["frame"] = theirs.render().tobytes(), ours.render().tobytes()
        for what, (one, other) in pairs.items():
            if one != other:
                raise DifferenceError(f"{game_id}, seed {seed}, episode {episode}, step {step}: {what}")


def measure(name: str, num_rounds: int) -> str:
    """Time both by turns, in seconds of the processor; return the medians of their rates and of the ratio."""
    import minigrid

    assert minigrid
    one: Any = gymnasium.make(f"MiniGrid-{name}-v0")
    many: Any = gymnasium.make_vec(f"multigrid/MiniGrid-{name}-v0", num_envs=_WORLDS, observe=("image", "direction"))
    random = np.random.default_rng(0)
    one.reset(seed=0)
    many.reset(seed=0)
    singles = random.integers(one.action_space.n, size=20 * _TURN).tolist()
    joint = random.integers(one.action_space.n, size=(_TURN, _WORLDS))

    def play_theirs() -> int:
        for action in singles:
            _, _, terminated, truncated, _ = one.step(action)
            if terminated or truncated:
                one.reset()
        return len(singles)

    def play_ours() -> int:
        for actions in joint:
            many.step(actions)
        return joint.size

    rates = [[_time(play) for play in (play_theirs, play_ours)] for _ in range(num_rounds + 1)][1:]
    ratios = sorted(ours / theirs for theirs, ours in rates)
    medians = [statistics.median(column) for column in zip(*rates, strict=True)]
    return (
        f"{medians[0]:,.0f} and {medians[1]:,.0f} steps a second, {statistics.median(ratios):,.0f} times "
        f"({ratios[0]:,.0f} to {ratios[-1]:,.0f})"
    )


def _time(play: Callable[[], int]) -> float:
    begin = time.process_time()
    return play() / (time.process_time() - begin)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
