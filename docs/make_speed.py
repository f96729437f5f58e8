"""Write the figures of speed into docs/speed.md and README.md: ``python docs/make_speed.py``.

They are read from docs/speed/figures.json, which ``python docs/make_speed.py --measure`` measures first, in some
minutes on an otherwise idle machine: by ``python -m benchmarks``, for POGEMA and the curves by
``python -m benchmarks.peers``, and for the parts of a step here.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import timeit
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import multigrid
from benchmarks.page_parts import fill
from benchmarks.speed.cases import CROWDS, EIGHT, EIGHT_VIEW, GRID_WORLDS
from benchmarks.speed.floors import GridWorldFloor, ParallelFloor
from benchmarks.speed.measure import C_NANOSECONDS
from multigrid._files import replace_file
from multigrid.runtime.compiled import KERNELS

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "speed" / "figures.json"


class Row(NamedTuple):
    """A row of the table: its label, and the run and the case that it shows."""

    label: str
    run: str
    case: str
    is_first: bool = False


ROWS = (
    Row("documented GridWorld through `gym.make`", "bench", "documented GridWorld, gym.make", is_first=True),
    Row("`GridWorldEnv` through `gym.make`", "bench", "GridWorldEnv, gym.make"),
    Row("a 512 x 512 frame, documented", "bench", "512x512 frame, documented", is_first=True),
    Row("a 512 x 512 frame", "bench", "512x512 frame"),
    Row("`SyncVectorEnv` of 1,024 documented GridWorlds", "bench", "SyncVectorEnv, documented", is_first=True),
    Row('`gym.make_vec("multigrid/GridWorld-v0", num_envs=1024)`', "bench", GRID_WORLDS),
    Row("POGEMA, 8 agents on 16 x 16", "peers", "POGEMA priority, N = 8", is_first=True),
    Row("POGEMA with windows of 5 x 5 cells", "peers", "POGEMA priority, r = 2, N = 8"),
    Row("POGEMA with lists in place of PettingZoo's dicts", "peers", "POGEMA priority, lists, N = 8"),
    Row("`parallel_env`, 8 agents, `agent` + `target`", "peers", "ParallelEnv, N = 8"),
    Row("`parallel_env`, 8 agents, `view`", "peers", "ParallelEnv, N = 8, view"),
    Row("`vector_env`, 1,024 worlds of 8 agents, `agent` + `target`", "peers", EIGHT),
    Row("`vector_env`, 1,024 worlds of 8 agents, `view`", "peers", EIGHT_VIEW),
    Row("POGEMA, 64 agents on 32 x 32", "peers", "POGEMA priority, N = 64", is_first=True),
    Row("`parallel_env`, 64 agents, `agent` + `target`", "peers", "ParallelEnv, N = 64"),
    Row(
        "SuperSuit's vec env for Stable-Baselines3, 16 worlds of 8 agents",
        *("bench", "SB3 VecEnv, SuperSuit"),
        is_first=True,
    ),
    Row("the native vec env for Stable-Baselines3, 16 worlds of 8 agents", "bench", "SB3 VecEnv, native"),
)
TIMES = {
    "the steps per second of Gymnasium's `SyncVectorEnv`": ROWS[5],
    "the steps per second of POGEMA 1.4": ROWS[12],
    "with one world": ROWS[10],
}
"""What follows a ratio in README, and where the ratio is from."""
_C_ROWS = {GRID_WORLDS: "1,024 x 1", EIGHT: "1,024 x 8", EIGHT_VIEW: "1,024 x 8, `view`"}


def main() -> None:
    """Measure if asked to, and write the pages and README's bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure, and write docs/speed/figures.json")
    parser.add_argument("--quick", action="store_true", help="with --measure: fewer and shorter rounds, for a trial")
    parser.add_argument("--peers-folder", help="with --measure: as for python -m benchmarks.peers")
    parser.add_argument("--wheel", type=Path, help="with --measure: a wheel with compiled kernels, measured, too")
    parser.add_argument("--parts", action="store_true", help="print the parts of a step as JSON, and end")
    options = parser.parse_args()
    if options.parts:
        sys.stdout.write(json.dumps({"kernels": KERNELS, "rows": measure_parts()}))
        return
    if options.measure:
        _write(FIGURES, json.dumps(measure(options), indent=1) + "\n")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for path, fill_in in ((ROOT / "docs" / "speed.md", fill_page), (ROOT / "README.md", fill_readme)):
        _write(path, fill_in(path.read_text(encoding="utf-8"), figures))
    from make_front import FRONT, write_drawn

    write_drawn(FRONT)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, and return the content of figures.json."""
    quick = ["--quick"] if options.quick else []
    folder = ["--peers-folder", options.peers_folder] if options.peers_folder else []
    bench = _run("-m", "benchmarks", "--json", *quick)
    peers = _run("-m", "benchmarks.peers", "--json", *quick, *folder)
    forms = [{**_run(__file__, "--parts"), "copying": _read_copying(bench)}]
    if options.wheel:
        with tempfile.TemporaryDirectory() as package:
            zipfile.ZipFile(options.wheel).extractall(package)
            copying = _read_copying(_run("-m", "benchmarks", "--json", *quick, package=package))
            forms.append({**_run(__file__, "--parts", package=package), "copying": copying})
    today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    return {"forms": forms, "measured": today, "versions": bench["machine"], **extract(bench, peers)}


def extract(bench: Mapping[str, Any], peers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of ``python -m benchmarks --json`` and of ``python -m benchmarks.peers --json``."""
    return {
        "bench": _read_steps(bench["steps"]),
        "peers": _read_steps(peers["steps"]),
        "copying": _read_copying(bench),
        "starts": {row["name"]: row["seconds"] for row in bench["starts"]},
        "rises": {
            "agents": max(rise_from(1, row) for row in peers["scaling"] if row["name"].startswith("vector env")),
            "worlds": max(rise_from(1000, row) for row in peers["scaling"] if row["axis"] == "worlds"),
        },
    }


def measure_parts() -> list[dict[str, Any]]:
    """Return the microseconds of a step of one world and of its parts: medians over rounds by turns.

    They are CPython's floor, the kernel ("rules"), and for a ParallelEnv reading the actions, and making Python's ints
    and floats of rewards and infos ("numbers").
    """
    env = multigrid.GridWorldEnv()
    floor, turn = GridWorldFloor(env), itertools.cycle(range(4))
    env.reset(seed=0)
    parts = {"step": lambda: env.step(next(turn)), "floor": lambda: floor.step(next(turn)), "rules": env._worlds.step}
    rows = [{"name": "`GridWorldEnv`", **_time_parts(parts)}]
    for agents, size in CROWDS[:2]:
        rows.append({"name": f"`ParallelEnv`, {agents} agents", **_time_parts(_parallel_parts(agents, size))})
    return rows


def _parallel_parts(agents: int, size: int) -> dict[str, Callable[[], Any]]:
    options: Any = {"num_agents": agents, "size": size, "observe": ("agent", "target"), "on_target": "restart"}
    env = multigrid.parallel_env(max_cycles=None, **options)
    floor = ParallelFloor(env)
    env.reset(seed=0)
    names, arrays = env.agents, (env._rewards, env._distances, env._outcomes, env._arrived)
    turn = itertools.cycle([{name: (k + i) % 4 for i, name in enumerate(names)} for k in range(4)])
    return {
        "step": lambda: env.step(next(turn)),
        "floor": lambda: floor.step(next(turn)),
        "rules": env._worlds.step,
        "actions": lambda: env._write_actions(names, next(turn)),
        "numbers": lambda: [array.tolist() for array in arrays],
    }


def _time_parts(parts: dict[str, Callable[[], Any]]) -> dict[str, float]:
    timers = {name: timeit.Timer(part) for name, part in parts.items()}
    counts = {name: max(1, int(1 / timer.timeit(100))) for name, timer in timers.items()}
    times = [{name: timer.timeit(counts[name]) / counts[name] for name, timer in timers.items()} for _ in range(40)]
    return {name: round(1e6 * statistics.median(one[name] for one in times), 3) for name in parts}


def fill_page(text: str, figures: Mapping[str, Any]) -> str:
    """Return docs/speed.md with the figures, between its marks."""
    rows = [f"| {row.label} | {' | '.join(_cells(row, figures))} |" for row in ROWS]
    steps = "\n".join(["| | time | ratio |", "|---|---:|---:|", *rows])
    parts = {"steps": steps, "rest": _tabulate_rest(figures)}
    return fill(text, parts | {"parts": _tabulate_parts(figures), "forms": _tabulate_forms(figures)})


def fill_readme(text: str, figures: Mapping[str, Any]) -> str:
    """Return README with the figures of its results."""
    for words, row in TIMES.items():
        new = f"**{_cells(row, figures)[1].removesuffix('x')} times** {words}"
        text, count = re.subn(rf"\*\*[\d,.]+ times\*\* {re.escape(words)}", lambda _, new=new: new, text)
        if count != 1:
            raise ValueError(f"README.md has {count} places like {new!r}; expected one")
    return text


def format_time(microseconds: float) -> str:
    """Return microseconds with two or three digits."""
    if microseconds >= 100:
        return f"{microseconds:,.0f}"
    return f"{microseconds:.1f}" if microseconds >= 1 else f"{microseconds:.2g}"


def format_ratio(ratio: float) -> str:
    """Return a ratio with two or more digits."""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def rise_from(count: int, curve: Mapping[str, Any]) -> float:
    """Return the highest cost after the lowest one, divided by the lowest, from a count on; rounded up to a tenth."""
    costs = [
        cost for at, cost in zip(curve["counts"], curve["microseconds_per_agent_step"], strict=True) if at >= count
    ]
    least = costs.index(min(costs))
    return math.ceil(10 * max(costs[least:]) / costs[least]) / 10


def _read_steps(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return {
        row["name"]: {"microseconds": row["microseconds_per_agent_step"], "ratio": row["ratio"]}
        for row in rows
        if row["ratio"] is not None
    }


def _read_copying(bench: Mapping[str, Any]) -> dict[str, float]:
    """Return how many times the copying of its results each step takes."""
    return {row["name"]: row["ratio"] for row in bench["copying"]}


def _cells(row: Row, figures: Mapping[str, Any]) -> tuple[str, str]:
    case = figures[row.run].get(row.case)
    if case is None:
        raise ValueError(f"figures.json has no {row.case!r}; set POGEMA up, and measure again")
    return f"{format_time(case['microseconds'])} us", "1" if row.is_first else format_ratio(case["ratio"])


def _tabulate_rest(figures: Mapping[str, Any]) -> str:
    """Return what else was measured, a row each."""
    rises, starts, shares = figures["rises"], figures["starts"], figures["copying"]
    eight = [100 / ratio for name, ratio in shares.items() if name.startswith(EIGHT)]
    # One thread plays 256 worlds.
    idle, busy = (
        [
            case["ratio"]
            for name, case in figures["bench"].items()
            if re.fullmatch(rf"2 threads, \d+,\d+ worlds{where}", name)
        ]
        for where in ("", ", busy cores")
    )
    rows = {
        "rise of the time of an agent's step, one world of up to 4,096 agents": f"{rises['agents']:.1f}x",
        "the same, from 1,000 to 100,000 worlds": f"{rises['worlds']:.1f}x",
        "share of a step that copies results, 1,024 worlds of one agent": f"{100 / shares[GRID_WORLDS]:.0f} %",
        "the same, 1,024 worlds of eight agents": f"{_span(eight, '.0f')} %",
        "two threads over one, 8,192 and 16,384 worlds of eight agents": f"{_span(idle, '.1f')}x",
        "the same, 1,024 and 8,192 worlds, while a process runs on each core": f"{_span(busy, '.1f')}x",
        "seeding 100,000 worlds": _seconds(starts["seeding 100,000 worlds"]),
        "what `import multigrid` adds to Gymnasium and PettingZoo": _seconds(starts["what importing multigrid adds"]),
        "the first environment, rules already compiled": _seconds(starts["then a first env, reset and step"]),
    }
    return "\n".join(["| | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows.items())])


def _tabulate_parts(figures: Mapping[str, Any]) -> str:
    lines = ["| | step | CPython's floor | the rules | step / floor |", "|---|---:|---:|---:|---:|"]
    for rows in zip(*(form["rows"] for form in figures["forms"]), strict=True):
        cells = [" / ".join(f"{row[name]:.2f}" for row in rows) for name in ("step", "floor", "rules")]
        ratios = " / ".join(f"{row['step'] / row['floor']:.1f}x" for row in rows)
        lines.append(f"| {rows[0]['name']} | {' | '.join(cells)} | {ratios} |")
    return "\n".join(lines)


def _tabulate_forms(figures: Mapping[str, Any]) -> str:
    forms = figures["forms"]
    kinds = " | ".join(form["kernels"] for form in forms)
    lines = [f"| worlds x agents | {kinds} | C, ns |", f"|---|{'---:|' * (len(forms) + 1)}"]
    for name, nanoseconds in C_NANOSECONDS.items():
        label = _C_ROWS.get(name, name.removeprefix("vector env, "))
        ratios = " | ".join(format_ratio(form["copying"][name]) for form in forms)
        lines.append(f"| {label} | {ratios} | {nanoseconds} |")
    return "\n".join(lines)


def _span(values: Sequence[float], form: str) -> str:
    """Return the smallest and the largest value, or one where both read alike."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1g} s" if seconds >= 0.01 else "less than 0.01 s"


def _run(*words: str, package: str | None = None) -> Any:
    """Run Python, with the package of another folder if that is given, and return the JSON that it prints."""
    sys.stderr.write(f"{' '.join(words)}: measuring ...\n")
    surroundings = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}" if package else str(ROOT)}
    # `python -m` would find the package in the current folder first.
    run = subprocess.run(  # noqa: S603 - our own
        [sys.executable, *words], check=True, stdout=subprocess.PIPE, cwd=package or ROOT, env=surroundings
    )
    return json.loads(run.stdout)


def _write(path: Path, text: str) -> None:
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
