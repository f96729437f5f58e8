"""Write the pictures of README: ``python docs/make_front.py RUN``, where RUN is a folder of ``multigrid train``.

The badges and the bars are made of pyproject.toml and docs/speed.md, the crowd of the suite, the policies of an episode
of the learned policy. The others need RUN, and chromium.
"""

from __future__ import annotations

import html
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

import multigrid
from multigrid.cli._episodes import play_episode
from multigrid.cli._models import make_policy_factory
from multigrid.maps import rooms
from multigrid.rendering._frame import Painter
from multigrid.rendering._scene import scene_of
from multigrid.rendering.svg import compare_svg
from multigrid.scenarios.tracing import trace_episode

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
POLICIES = {"shortest paths": "shortest-path", "learned policy": "pretrained", "planner": "lacam"}
"""What the policies of the animation are called by it, and by the command line."""
_ROOMS, _NUM_AGENTS, _LAYOUT = (15, 13, 3), 14, 1
_LETTER, _PADDING, _HEIGHT = 6.2, 9, 20


def badge(label: str, value: str) -> str:
    """Return an SVG of two words side by side, which needs no network."""
    left, right = (round(len(word) * _LETTER + 2 * _PADDING) for word in (label, value))
    texts = "".join(
        f'<text x="{x}" y="14">{html.escape(word)}</text>' for x, word in ((left / 2, label), (left + right / 2, value))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img">'
        f"<title>{html.escape(label)}: {html.escape(value)}</title>"
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="#46464e"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v{_HEIGHT - 6}a3 3 0 0 1-3 3h-{right - 3}z" fill="{OURS}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">{texts}</g>'
        "</svg>\n"
    )


def badges() -> dict[str, str]:
    """Return the badges by file name, from what pyproject.toml promises."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Programming Language :: Python :: (3\.\d+)", project)
    (licence,) = re.findall(r'^license = "(.+)"', project, re.MULTILINE)
    assert "strict = true" in project
    return {
        "python.svg": badge("python", f"{versions[0]} to {versions[-1]}"),
        "licence.svg": badge("licence", licence),
        "typed.svg": badge("typed", "mypy --strict"),
        "apis.svg": badge("APIs", "Gymnasium, PettingZoo"),
    }


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
    """Write what needs no run and no browser: the same bytes each time."""
    for name, text in badges().items():
        (folder / name).write_text(text, encoding="utf-8")
    for theme in INKS:
        # A fixed salt and no date give the same identifiers and bytes each time.
        with mpl.rc_context({"svg.hashsalt": "multigrid", "svg.fonttype": "none"}):
            bars(theme).savefig(folder / f"speed-{theme}.svg", metadata={"Date": None}, transparent=True)


def write_crowd(path: Path) -> None:
    """Write 64 agents between shelves, in the middle of the plan of their scenario."""
    episode = trace_episode(multigrid.scenarios.get("warehouse-41x31-64"))
    frame = Painter(episode.config, size=1230).frame(scene_of(episode, episode.num_steps // 3))
    Image.fromarray(frame).quantize(128).save(path, optimize=True)


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


def write_page(recording: Path, theme: str, path: Path) -> None:
    """Write a screenshot of the page of a recording."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        multigrid.show_episode(str(recording)).save(page)
        dark = ["--blink-settings=preferredColorScheme=0"] if theme == "dark" else []
        command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1230,930", *dark]
        subprocess.run(  # noqa: S603 - a browser, with a page of our own
            [*command, f"--screenshot={Path(folder) / 'page.png'}", f"{page.as_uri()}#step=6"], check=True
        )
        Image.open(Path(folder) / "page.png").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    FRONT.mkdir(exist_ok=True)
    write_drawn(FRONT)
    write_crowd(FRONT / "crowd.png")
    write_policies(FRONT / "policies.svg")
    if len(sys.argv) > 1:
        run = Path(sys.argv[1])
        shutil.copyfile(run / "comparison.svg", FRONT / "learned.svg")
        for name in INKS:
            write_page(run / "episode.json", name, FRONT / f"replay-{name}.png")
