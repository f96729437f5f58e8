"""``python -m benchmarks.minigrid``: play minigrid and this package, step by step, and compare.

It needs minigrid==3.2.0 in the same environment. In each id, both play the same random actions, mostly *forward*; the
first episode is from a seed, and so is every other one. Compared are observations, rewards with their types, flags and
infos, the random streams, and some frames.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from multigrid.cli._options import parse
from multigrid.games.minigrid._tasks import list_ids

IDS = tuple(f"MiniGrid-{name}" for name in list_ids())
_ACTIONS = (0, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 6)
_FRAMES = 500


@dataclasses.dataclass(frozen=True)
class MinigridOptions:
    """Play minigrid and this package step by step; the exit code is 1 at the first difference."""

    steps: int = 1000
    """How many steps are played in each id."""
    seed: int = 0
    """The seed of episodes and actions."""


class DifferenceError(Exception):
    """The games differ; the message says where."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, print what was played, and return the exit code."""
    options = parse(MinigridOptions, arguments, "python -m benchmarks.minigrid")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
