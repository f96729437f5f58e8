"""Write the figures of speed into docs/speed.md and README.md: ``python docs/make_speed.py``.

They are read from docs/speed/figures.json, which ``python docs/make_speed.py --measure`` measures first, in some
minutes on an otherwise idle machine: by ``python -m benchmarks`` and, for POGEMA and the curves,
``python -m benchmarks.peers``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.speed.rows import C_NANOSECONDS
from multigrid._files import replace_file

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "speed" / "figures.json"
MACHINE = "one core of a slow two-core machine with other work on it"

_GRID_WORLDS = "GridWorld, gym.make_vec"
_VIEW = "vector env, 1,024 x 8, view"
_MANY = 'gym.make_vec("multigrid/GridWorld-v0", num_envs=1024)'
_SEEDING, _IMPORT, _FIRST = (
    "seeding 100,000 worlds",
    "what importing multigrid adds",
    "then a first env, reset and step",
)


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
    Row(f"`{_MANY}`", "bench", _GRID_WORLDS),
    Row("POGEMA, 8 agents on 16 x 16", "peers", "POGEMA priority, N = 8", is_first=True),
    Row("POGEMA with windows of 5 x 5 cells", "peers", "POGEMA priority, r = 2, N = 8"),
    Row("`parallel_env`, 8 agents, `agent` + `target`", "peers", "ParallelEnv, N = 8"),
    Row("`parallel_env`, 8 agents, `view`", "peers", "ParallelEnv, N = 8, view"),
    Row("`vector_env`, 1,024 worlds of 8 agents, `agent` + `target`", "peers", "vector env, 1,024 x 8"),
    Row("`vector_env`, 1,024 worlds of 8 agents, `view`", "peers", _VIEW),
    Row("POGEMA, 64 agents on 32 x 32", "peers", "POGEMA priority, N = 64", is_first=True),
    Row("`parallel_env`, 64 agents, `agent` + `target`", "peers", "ParallelEnv, N = 64"),
    Row(
        "SuperSuit's vec env for Stable-Baselines3, 16 worlds of 8 agents",
        "bench",
        "SB3 VecEnv, SuperSuit",
        is_first=True,
    ),
    Row("the native vec env for Stable-Baselines3, 16 worlds of 8 agents", "bench", "SB3 VecEnv, native"),
)
README_TIMES = {
    "the steps per second of Gymnasium's `SyncVectorEnv`": ROWS[5],
    "the steps per second of POGEMA 1.4": ROWS[11],
    "with one world": ROWS[9],
}
"""What follows a ratio in README, and where the ratio is from."""

_C_ROWS = {_GRID_WORLDS: "1,024 x 1", "vector env, 1,024 x 8": "1,024 x 8", _VIEW: "1,024 x 8, `view`"}

_PARTS = """\
- **Agents and worlds.** In a vector env of one world, the time per agent and step falls with more agents at first; from
its minimum on, it {by_agents}, up to 4,096 agents. From 1,000 to 100,000 worlds, it {by_worlds}.
- **Copies.** With 1,024 worlds, copying the results takes {one_share} % of a step with one agent per
world, and {eight_shares} % with eight.
- **Threads.** With 8,192 and 16,384 worlds of eight agents, two threads are {idle} times as fast as one. If another
process runs on each core, with 1,024 and 8,192 worlds, they are {busy} times as fast.
- **Starting.** Seeding 100,000 worlds takes {seeding}. `import multigrid` adds {importing} to importing Gymnasium and
PettingZoo; the first environment takes {first} if the rules are already compiled."""


def main() -> None:
    """Measure if asked to, and write the pages and README's bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure, and write docs/speed/figures.json")
    parser.add_argument("--quick", action="store_true", help="with --measure: fewer and shorter rounds, for a trial")
    parser.add_argument("--peers-folder", help="with --measure: as for python -m benchmarks.peers")
    parser.add_argument(
        "--wheel", type=Path, help="with --measure: a wheel with compiled kernels, to measure them, too"
    )
    parser.add_argument("--machine", default=MACHINE, help="with --measure: what it was measured on")
    options = parser.parse_args()
    if options.measure:
        _write(FIGURES, json.dumps(measure(options), indent=1) + "\n")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for path, fill in ((ROOT / "docs" / "speed.md", fill_page), (ROOT / "README.md", fill_readme)):
        _write(path, fill(path.read_text(encoding="utf-8"), figures))
    from make_front import FRONT, write_drawn

    write_drawn(FRONT)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, and return the content of figures.json."""
    quick = ["--quick"] if options.quick else []
    folder = ["--peers-folder", options.peers_folder] if options.peers_folder else []
    bench = _run("-m", "benchmarks", "--json", *quick)
    peers = _run("-m", "benchmarks.peers", "--json", *quick, *folder)
    parts, copying = [_run("docs/measure_parts.py")], [_read_copying(bench)]
    if options.wheel:
        with tempfile.TemporaryDirectory() as package:
            zipfile.ZipFile(options.wheel).extractall(package)
            parts.append(_run("docs/measure_parts.py", package=package))
            copying.append(_read_copying(_run("-m", "benchmarks", "--json", *quick, package=package)))
    return {
        "forms": [{**one, "copying": ratios} for one, ratios in zip(parts, copying, strict=True)],
        "measured": dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        "machine": options.machine,
        "versions": bench["machine"],
        **extract(bench, peers),
    }


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


def _read_copying(bench: Mapping[str, Any]) -> dict[str, float]:
    """Return how many times the copying of its results each step takes."""
    return {row["name"]: row["ratio"] for row in bench["copying"]}


def fill_page(text: str, figures: Mapping[str, Any]) -> str:
    """Return docs/speed.md with the figures, between its marks."""
    filled = {"machine": _say_machine(figures), "steps": _tabulate(figures), "rest": _say(figures)}
    filled |= {"parts": _tabulate_parts(figures), "forms": _tabulate_forms(figures)}
    for name, part in filled.items():
        begin, end = f"<!-- figures: {name} -->\n\n", "\n\n<!-- end -->"
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise ValueError(f"docs/speed.md has no place for {name}; expected {begin.strip()} and {end.strip()}")
        text = before + begin + part + end + rest.partition(end)[2]
    return text


def fill_readme(text: str, figures: Mapping[str, Any]) -> str:
    """Return README with the figures of its results."""
    for words, row in README_TIMES.items():
        times = _cells(row, figures)[1].removesuffix("x")
        text = _replace(rf"\*\*[\d,.]+ times\*\* {re.escape(words)}", f"**{times} times** {words}", text)
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


def _cells(row: Row, figures: Mapping[str, Any]) -> tuple[str, str]:
    case = figures[row.run].get(row.case)
    if case is None:
        raise ValueError(f"figures.json has no {row.case!r}; set the peers up, and measure again")
    return f"{format_time(case['microseconds'])} us", "1" if row.is_first else format_ratio(case["ratio"])


def _tabulate(figures: Mapping[str, Any]) -> str:
    rows = (f"| {row.label} | {' | '.join(_cells(row, figures))} |" for row in ROWS)
    return "\n".join(["| | time | ratio |", "|---|---:|---:|", *rows])


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


def _say_machine(figures: Mapping[str, Any]) -> str:
    return (
        f"With 1,024 GridWorlds, a step is {_cells(ROWS[5], figures)[1].removesuffix('x')} times as fast as with "
        "Gymnasium's `SyncVectorEnv`.\n\n"
        "*Time*: of a step of one agent, with random actions. *Ratio*: how many times as fast as the nearest row\n"
        "above with ratio 1. *Documented*: the code of Gymnasium's tutorial (0.26 to 1.2.2). Measured on\n"
        f"{figures['machine']}, on {figures['measured']},\n"
        f"with {_say_versions(figures['versions'])} and SuperSuit\n(at least 3.11)."
    )


def _say_versions(versions: Mapping[str, Any]) -> str:
    names = {"python": "Python", "gymnasium": "Gymnasium", "numpy": "NumPy", "numba": "Numba"}
    return ", ".join(f"{title} {versions[name]}" for name, title in names.items())


def _say(figures: Mapping[str, Any]) -> str:
    rises = figures["rises"]
    shares = {name: 100 / ratio for name, ratio in figures["copying"].items()}
    eight = [share for name, share in shares.items() if name.startswith("vector env, 1,024 x 8")]
    bench, starts = figures["bench"], figures["starts"]
    # One thread plays 256 worlds.
    idle, busy = (
        [case["ratio"] for name, case in bench.items() if re.fullmatch(rf"2 threads, \d+,\d+ worlds{where}", name)]
        for where in ("", ", busy cores")
    )
    parts = _PARTS.format(
        by_agents=_rise(rises["agents"]),
        by_worlds=_rise(rises["worlds"]),
        one_share=f"{shares[_GRID_WORLDS]:.0f}",
        eight_shares=_span(eight, ".0f"),
        idle=_span(idle, ".1f"),
        busy=_span(busy, ".1f"),
        seeding=_seconds(starts[_SEEDING]),
        importing=_seconds(starts[_IMPORT]),
        first=_seconds(starts[_FIRST]),
    )
    return "\n".join(textwrap.fill(part, 120, subsequent_indent="  ") for part in re.split(r"\n(?=- )", parts))


def _rise(factor: float) -> str:
    times = f"{factor:.1f}"
    return "does not rise" if times == "1.0" else f"rises by a factor of at most {times}"


def _span(values: Sequence[float], form: str) -> str:
    """Return the smallest and the largest value, or one where both read alike."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1g} s" if seconds >= 0.01 else "less than 0.01 s"


def _replace(pattern: str, new: str, text: str) -> str:
    text, count = re.subn(pattern, lambda _: new, text)
    if count != 1:
        raise ValueError(f"README.md has {count} places like {new!r}; expected one")
    return text


def _run(*words: str, package: str | None = None) -> Any:
    """Run Python, with the package of another folder if that is given, and return the JSON that it prints."""
    command = [sys.executable, *(str(ROOT / word) if word.endswith(".py") else word for word in words)]
    sys.stderr.write(f"{' '.join(words)}: measuring ...\n")
    surroundings = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}" if package else str(ROOT)}
    # `python -m` would find the package in the current folder first.
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=package or ROOT, env=surroundings)  # noqa: S603 - our own
    return json.loads(run.stdout)


def _write(path: Path, text: str) -> None:
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
