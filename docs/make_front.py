"""Write README's films, and the pictures that pages share: ``python docs/make_front.py [RUN]``.

The bars are made of docs/speed.md; the comparison of ``multigrid train`` needs RUN, a folder that it has left.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import multigrid
from multigrid.cli._episodes import play_episode
from multigrid.cli._models import make_policy_factory
from multigrid.maps import rooms
from multigrid.rendering.svg import compare_svg

ROOT = Path(__file__).parents[1]
FRONT = ROOT / "docs" / "front"
ROWS = {
    "documented GridWorld through `gym.make`": "documented GridWorld",
    "`GridWorldEnv` through `gym.make`": "multigrid, one agent",
    "POGEMA, 8 agents on 16 x 16": "POGEMA, 8 agents",
    "`parallel_env`, 8 agents, `view`": "multigrid, 8 agents",
    "`vector_env`, 1,024 worlds of 8 agents, `view`": "multigrid, 1,024 x 8 agents",
    "`SyncVectorEnv` of 1,024 documented GridWorlds": "SyncVectorEnv, 1,024 worlds",
    '`gym.make_vec("multigrid/GridWorld-v0", num_envs=1024)`': "multigrid, 1,024 worlds",
}
INKS = {"light": "#1f2328", "dark": "#f0f6fc"}
OURS, THEIRS = "#0072b2", "#8b949e"
POLICIES = {"shortest paths": "shortest-path", "pretrained policy": "pretrained", "planner": "lacam"}
"""What the policies of the animation are called by it, and by the command line."""
GAMES = (
    "environments/multi_grid",
    "games/minigrid",
    "games/overcooked",
    "environments/robotic_warehouse",
    "environments/foraging",
)
"""Films of the page of games that README shows."""
_ROOMS, _NUM_AGENTS, _LAYOUT = (15, 13, 3), 14, 1


def read_times() -> dict[str, float]:
    """Return the microseconds of a step in docs/speed.md, by row."""
    table = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    return {
        row: float(time.replace(",", ""))
        for row, time in re.findall(r"^\| (.+?) \| ([\d.,]+) us \|", table, re.MULTILINE)
    }


def bars(theme: str) -> Figure:
    """Return a figure of the time per step of an agent, ours and others', in the ink of a theme."""
    times, ink = read_times(), INKS[theme]
    rows = [(name, times[row], "multigrid" in name) for row, name in ROWS.items()]
    figure = Figure(figsize=(4.8, 3.4), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    # A gap before each bar that others are compared with.
    places = list(itertools.accumulate(1.0 if ours else 1.6 for *_, ours in rows))
    axes.barh(places, [time for _, time, _ in rows], color=[OURS if ours else THEIRS for *_, ours in rows])
    for place, (_, time, _) in zip(places, rows, strict=True):
        axes.text(time * 1.15, place, f"{time:g}", va="center", color=ink, fontsize=9)
    axes.set_yticks(places, [name for name, *_ in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.004, 100)
    axes.set_xlabel("microseconds per step of an agent", color=ink)
    axes.tick_params(which="both", colors=ink)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(ink)
    return figure


def write_drawn(folder: Path) -> None:
    """Write the bars of each theme: the same bytes each time."""
    for theme in INKS:
        # A fixed salt and no date give the same identifiers and bytes each time.
        with mpl.rc_context({"svg.hashsalt": "multigrid", "svg.fonttype": "none"}):
            bars(theme).savefig(folder / f"speed-{theme}.svg", metadata={"Date": None}, transparent=True)


def join_films(height: int = 200, gap: int = 20) -> str:
    """Return the films of GAMES side by side as one SVG, equally high."""
    left, parts = 0.0, []
    for i, name in enumerate(GAMES):
        text = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
        # All films name their classes and animations alike.
        text = re.sub(r"(\.|class=\")(?=[gj]\b)", rf"\g<1>f{i}", text)
        text = re.sub(r"(@keyframes |animation-name:|,)(?=k\d+\b)", rf"\g<1>f{i}", text)
        wide, high = (int(side) for side in re.findall(r' (?:width|height)="(\d+)"', text)[:2])
        width = height * wide / high
        place = f'<svg x="{left:g}" width="{width:g}" height="{height}" '
        parts.append(re.sub(r"<svg .*?(?=viewBox)", place, text, count=1))
        left += width + gap
    size = f'{left - gap:g}" height="{height}'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" viewBox="0 0 {left - gap:g} {height}" role="img">'
    return "\n".join([head, *parts, "</svg>\n"])


def write_policies(path: Path) -> None:
    """Write an animation of three policies on one layout."""
    walls = rooms(*_ROOMS, seed=_LAYOUT)
    config = multigrid.GridConfig(
        walls=walls, num_agents=_NUM_AGENTS, collisions="soft", on_target="stay", allow_stay=True, max_cycles=64
    )
    episodes = {}
    for name, policy in POLICIES.items():
        result = play_episode("rooms", config, make_policy_factory(policy), _LAYOUT, watch=True)
        assert result.episode is not None
        figures = result.measures
        arrived = f"{_NUM_AGENTS * figures['isr']:.0f} of {_NUM_AGENTS} arrive"
        said = f"solved, {figures['makespan']:.0f} steps" if figures["success"] else arrived
        episodes[f"{name}: {said}"] = result.episode
    path.write_text(compare_svg(episodes), encoding="utf-8")


if __name__ == "__main__":
    FRONT.mkdir(exist_ok=True)
    write_drawn(FRONT)
    write_policies(FRONT / "policies.svg")
    (FRONT / "games.svg").write_text(join_films(), encoding="utf-8")
    if len(sys.argv) > 1:
        shutil.copyfile(Path(sys.argv[1]) / "comparison.svg", FRONT / "learned.svg")
