"""Draw the returns of trainings that docs/games/curves has, and write the tables of learners.csv and speeds.csv there.

``python docs/make_curves.py``. Each line is the mean over the seeds of a group, in the range between the lowest and the
highest; a cell of the table of learners has a mean and its 95 % t interval, one of the table of speeds two digits.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from multigrid._palette import colours, hexadecimal
from multigrid.cli._figures import write_figure

GAMES = Path(__file__).parent / "games"
MEMORY = "Foraging-2s-8x8-2p-2f-coop-v3"
TASKS = {
    "path_finding": "path finding, 5 x 5, 16 steps: all arrive",
    "minigrid": "`MiniGrid-DoorKey-5x5-v0`: return",
    "overcooked": "`Overcooked-cramped_room-v0`, old dynamics: score",
    "warehouse": "`rware-tiny-2ag-v2`: deliveries",
    "foraging": "`Foraging-8x8-2p-2f-coop-v3`: return",
    "tag": "tag: tags",
    "key_and_door": "key and door: opened",
    "pursuit": "pursuit: caught",
}
T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""The 97.5 % quantile of Student's distribution, by the number of seeds."""


def read(name: str) -> Any:
    """Return the content of a file in docs/games/curves."""
    return json.loads((GAMES / "curves" / f"{name}.json").read_text(encoding="utf-8"))


def read_grid_world() -> dict[str, list[Any]]:
    """Return the curves of one agent; the shortest paths have 10/3 steps on average."""
    return {"one agent": list(read("grid_world").values())}


def read_minigrid() -> dict[str, list[Any]]:
    """Return the curves of each task and number of agents: pairs of steps and a return."""
    found: dict[str, list[Any]] = {}
    for run in read("minigrid")["runs"]:
        label = f"{run['task']}, {run['agents']} agent{'s' * (run['agents'] > 1)}"
        found.setdefault(label, []).append(run["returns"])
    return found


def read_overcooked() -> dict[str, list[Any]]:
    """Return the curves of each layout."""
    by_layout = {layout: list(curve.values()) for layout, curve in read("overcooked").items()}
    return {
        layout: [list(zip(steps, one, strict=True)) for one in seeds] for layout, (steps, *seeds) in by_layout.items()
    }


def read_memory() -> dict[str, list[Any]]:
    """Return the curves of agents with a memory and without."""
    arms = {"with a memory": "recurrent", "without": "feed-forward"}
    return {label: [read(f"{MEMORY}-{arm}-{seed}")["curve"] for seed in range(5)] for label, arm in arms.items()}


def draw_curves(groups: dict[str, list[Any]], measured: str) -> Figure:
    """Return a figure with a line for each group, as far as all of its curves go."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    is_long = max(curve[-1][0] for curves in groups.values() for curve in curves) > 1e5
    unit, unit_name = (1e6, "million") if is_long else (1e3, "thousand")
    for (label, curves), colour in zip(groups.items(), colours(len(groups)), strict=True):
        points = np.array([curve[: min(map(len, curves))] for curve in curves])
        steps, values, shade = points[0, :, 0] / unit, points[..., 1], hexadecimal(colour)
        axes.fill_between(steps, values.min(axis=0), values.max(axis=0), color=shade, alpha=0.2, linewidth=0)
        axes.plot(steps, values.mean(axis=0), color=shade, label=label)
    axes.set(xlabel=f"{unit_name} steps of all agents", ylabel=measured, ylim=(0, None))
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def make_table(rows: list[dict[str, str]]) -> str:
    """Return the table of the learners: a row for each task; a number of seeds where it is not five."""
    lines = ["| | most agent-steps | random | PPO | MAPPO | QMIX |", "|---|---:|---|---|---|---|"]
    for task, label in TASKS.items():
        cells, steps = [], [int(row["agent_steps"]) for row in rows if row["task"] == task]
        for algorithm in ("random", "ppo", "mappo", "qmix"):
            key = task, algorithm
            values = np.array([float(row["value"]) for row in rows if (row["task"], row["algorithm"]) == key])
            cell = "" if not len(values) else f"{values.mean():.2f}"
            if len(values) > 1 and algorithm != "random":
                cell += f" ± {T[len(values)] * values.std(ddof=1) / len(values) ** 0.5:.2f}"
            cells.append(cell + (f" ({len(values)})" if 0 < len(values) < 5 else ""))
        lines.append(f"| {label} | {max(steps, default=0):,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def make_speeds(rows: list[dict[str, str]]) -> str:
    """Return the table of the speeds: a row for each game."""
    kinds = ("original", "one world", "1,024 worlds")
    lines = [f"| game | {' | '.join(kinds)} |", "|---|---:|---:|---:|"]
    rates = {(row["game"], row["played by"]): float(f"{float(row['steps per second']):.2g}") for row in rows}
    for game in dict.fromkeys(row["game"] for row in rows):
        cells = [f"{rates[game, kind]:,.0f}" if (game, kind) in rates else "" for kind in kinds]
        lines.append(f"| {f'`{game}`' if '-v' in game else game} | {' | '.join(cells)} |")
    return "\n".join(lines)


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in docs/games."""
    with (GAMES / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Draw the figures, and write the table."""
    write_figure(GAMES / "grid_world_curve.svg", draw_curves(read_grid_world(), "steps of an episode"))
    write_figure(GAMES / "minigrid_curve.svg", draw_curves(read_minigrid(), "return"))
    write_figure(GAMES / "overcooked_curve.svg", draw_curves(read_overcooked(), "score of an episode"))
    write_figure(GAMES / "foraging_memory.svg", draw_curves(read_memory(), "return"))
    page = GAMES / "index.md"
    text = page.read_text(encoding="utf-8")
    for head, table in {
        "| | most agent-steps |": make_table(read_rows("learners")),
        "| game | original | one world |": make_speeds(read_rows("speeds")),
    }.items():
        begin, end = text.index(head), text.index("\n\n", text.index(head))
        text = text[:begin] + table + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
