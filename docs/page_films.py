"""The films of the pages in docs/environments; `python docs/make_pages.py` writes them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import imageio.v3 as imageio
import numpy as np
from numpy.typing import NDArray

import multigrid
from benchmarks.originals import run_errand, seek_food
from multigrid import games
from multigrid.actions import DIRECTIONS
from multigrid.policies import shortest_path_policy
from multigrid.rendering._scene import Episode
from multigrid.rendering.svg import animated_svg, compare_svg
from multigrid.scenarios import get
from multigrid.scenarios.tracing import EpisodeTrace, trace_episode

__all__ = ["GRID_WORLD", "MULTI_GRID", "SUITE", "films", "grid_world_frames"]

GRID_WORLD = "grid_world.svg"
MULTI_GRID = "warehouse-17x13-8"
"""The scenario on MultiGrid's page."""
SUITE = {
    "delivery": ("delivery-17x13-8", "Eight agents deliver between shelves, and leave"),
    "empty": ("empty-21x17-16", "Sixteen agents on an empty grid"),
    "random": ("random-21x17-16", "Sixteen agents between scattered walls"),
    "maze": ("maze-21x17-16", "Sixteen agents in a maze"),
    "rooms": ("rooms-21x17-16", "Sixteen agents in rooms"),
    "warehouse": ("warehouse-21x17-16", "Sixteen agents between shelves"),
}
"""For each kind of scenario of the suite: the one whose plan is shown, and what there is to see."""

_EPISODES, _PAUSE = 3, 3
_NOISE = 0.1
_WORLDS, _SIZE, _NUM_AGENTS = 4, (6, 5), 3


def films() -> dict[str, str]:
    """Return each film by the name of its file."""
    return {
        GRID_WORLD: _play_frames(grid_world_frames(), multigrid.GridWorldEnv.metadata["render_fps"]),
        "multi_grid.svg": animated_svg(trace_episode(get(MULTI_GRID))),
        "multi_grid_vector.svg": compare_svg({f"world {i}": _play_world(i) for i in range(_WORLDS)}),
        "robotic_warehouse.svg": _play_game("rware-tiny-4ag-v2", 3, max_steps=100),
        "foraging.svg": _play_game("Foraging-8x8-3p-4f-v3", 1),
        **{f"suite_{kind}.svg": animated_svg(trace_episode(get(name))) for kind, (name, _) in SUITE.items()},
    }


def grid_world_frames() -> list[NDArray[np.uint8]]:
    """Return the frames of some episodes of GridWorld in which the agent walks to its target, uint8 (512, 512, 3)."""
    env = multigrid.GridWorldEnv(render_mode="rgb_array")
    frames = []
    for episode in range(_EPISODES):
        observation, _ = env.reset(seed=None if episode else 0)
        ended = False
        frames.append(env.render())
        while not ended:
            observation, _, ended, _, _ = env.step(_step_nearer(observation))
            frames.append(env.render())
        # The last state stays for a moment.
        frames += frames[-1:] * _PAUSE
    return [frame for frame in frames if frame is not None]


def _step_nearer(observation: dict[str, Any]) -> int:
    """Return the first action that brings the agent nearer to its target, alternately in x and in y."""
    way = observation["target"] - observation["agent"]
    axis = int(abs(way[1]) > abs(way[0]))
    nearer = (DIRECTIONS[:4] @ np.sign(way) > 0) & (DIRECTIONS[:4, axis] != 0)
    return int(np.argmax(nearer))


def _play_frames(frames: Sequence[NDArray[np.uint8]], frames_per_second: int) -> str:
    """Return an SVG that shows frames one after the other in a loop, or the first one where motion is to be reduced."""
    size, count = frames[0].shape[0], len(frames)
    # Equal frames in succession are one image.
    changes = [0, *(k for k in range(1, count) if not np.array_equal(frames[k - 1], frames[k]))]
    images, rules = [], []
    for number, (begin, end) in enumerate(zip(changes, [*changes[1:], count], strict=True)):
        buffer = io.BytesIO()
        imageio.imwrite(buffer, frames[begin], extension=".png")
        picture = base64.b64encode(buffer.getvalue()).decode("ascii")
        shown = f"{100 * begin / count:.2f}%{{opacity:1}}{100 * end / count:.2f}%{{opacity:0}}"
        rules.append(f"@keyframes k{number}{{0%{{opacity:{int(not number)}}}{shown}}}")
        style = "" if number == 0 else ' opacity="0"'
        images.append(
            f'<image width="{size}" height="{size}"{style} style="animation-name:k{number}" '
            f'href="data:image/png;base64,{picture}"/>'
        )
    seconds = f"{count / frames_per_second:g}"
    style = (
        f"<style>image{{animation:{seconds}s step-end infinite}}{''.join(rules)}"
        "@media(prefers-reduced-motion:reduce){image{animation:none!important}}</style>"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="320" height="320" viewBox="0 0 {size} {size}" role="img">'
    title = "<title>The documented frames of three episodes</title>"
    return "\n".join([head, title, style, *images, "</svg>\n"])


def _play_world(world: int) -> Episode:
    """Return the first episode of a world of a vector env that is seeded 0: that of an env seeded as the world is."""
    env = multigrid.parallel_env(size=_SIZE, num_agents=_NUM_AGENTS, on_target="leave", max_cycles=40)
    policy = shortest_path_policy(np.random.default_rng(world))
    trace = EpisodeTrace(env)
    observations, _ = env.reset(seed=world)
    trace.note()
    while env.agents:
        actions = policy(env, observations)
        observations, *_ = env.step(actions)
        trace.note(actions)
    return trace.episode(f"world {world}")


def _play_game(game_id: str, seed: int, **options: Any) -> str:
    """Return the film of an episode of a game of another package, played by a script, now and then at random."""
    env: Any = games.parallel_env(game_id, **options)
    trace, random = EpisodeTrace(env), np.random.default_rng(seed)
    env.reset(seed=seed)
    trace.note()
    while env.agents:
        state, actions = env.get_state(), {}
        for i, agent in enumerate(env.agents):
            wanted = run_errand(env.config, state, i) if game_id.startswith("rware") else seek_food(state, i)
            actions[agent] = wanted if random.random() > _NOISE else int(random.integers(5))
        env.step(actions)
        trace.note(actions)
    return animated_svg(trace.episode(game_id))
