"""``multigrid bench``: the documented code and this one, measured side by side in one run."""

from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import tyro
from gymnasium.envs.registration import EnvSpec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from multigrid.cli.documented import DocumentedGridWorld
from multigrid.config import GridConfig
from multigrid.envs.grid_world import GridWorldEnv
from multigrid.envs.parallel import MultiGridEnv

__all__ = ["BenchOptions", "main"]

_AGENTS = ((1, 5), (8, 16), (64, 32), (256, 64), (16, 256), (1024, 256))
"""Agents, and the side of their grid: about a tenth of the cells is taken. Then few and many on a large grid."""


@dataclasses.dataclass(frozen=True)
class BenchOptions:
    """Measure the documented GridWorld and this package's, interleaved, and print medians and ratios.

    A ratio is how many times faster than the documented code a step of one agent is.
    """

    json: bool = False
    """Print JSON instead of a table."""
    quick: bool = False
    """Fewer rounds, under half a minute."""


@dataclasses.dataclass
class _Contender:
    """Something to be timed: a function that plays `agent_steps` steps of an agent."""

    name: str
    play: Callable[[], None]
    agent_steps: int
    against: str
    goal: float
    seconds: list[float] = dataclasses.field(default_factory=list)

    @property
    def microseconds(self) -> float:
        """The median time of one agent's step."""
        return 1e6 * statistics.median(self.seconds) / self.agent_steps

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        low, middle, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / (2 * middle)


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, and print."""
    options = tyro.cli(BenchOptions, args=list(arguments), prog="multigrid bench")
    console = Console()
    contenders = _contenders(steps=1000 if options.quick else 4000)
    rounds = 9 if options.quick else 31
    quiet = Console(stderr=True)
    for _ in track(range(rounds), description="measuring", console=quiet, disable=options.json, transient=True):
        # One round after the other, so that a slow moment of the machine falls on everyone.
        for contender in contenders:
            before = time.perf_counter()
            contender.play()
            contender.seconds.append(time.perf_counter() - before)
    starts = [*_start_times(repeats=3 if options.quick else 7), _pool_resets(repeats=200)]
    if options.json:
        sys.stdout.write(json.dumps({"steps": _rows(contenders), "starts": starts}, indent=2) + "\n")
    else:
        _print(console, _rows(contenders), starts)
    return 0


def _contenders(steps: int) -> list[_Contender]:
    documented = "documented GridWorld"
    made = "documented GridWorld, gym.make"
    spec = EnvSpec("multigrid/Documented-v0", entry_point="multigrid.cli.documented:DocumentedGridWorld")
    # Gymnasium's checker would warn, at every step, of the arrays that the documented code shares.
    made_documented = gymnasium.make(spec, disable_env_checker=True)
    made_ours = gymnasium.make("multigrid/GridWorld-v0", disable_env_checker=True)
    contenders = [
        _Contender(documented, _single(DocumentedGridWorld(), steps), steps, documented, 1.0),
        _Contender("GridWorldEnv", _single(GridWorldEnv(), steps), steps, documented, 6.0),
        _Contender(made, _single(made_documented, steps), steps, made, 1.0),
        _Contender("GridWorldEnv, gym.make", _single(made_ours, steps), steps, made, 4.0),
    ]
    for num_agents, size in _AGENTS:
        config = GridConfig(
            size=size, num_agents=num_agents, observe=("agent", "target"), on_target="restart", max_cycles=None
        )
        cycles = max(steps // num_agents, 20)
        # A million steps a second where the documented code makes 0.13 million.
        goal = 7.7 if num_agents >= 8 else 1.0
        name = f"ParallelEnv, N = {num_agents}, {size} x {size}"
        contenders.append(_Contender(name, _parallel(config, cycles), cycles * num_agents, documented, goal))
    return contenders


def _single(env: gymnasium.Env[Any, Any], steps: int) -> Callable[[], None]:
    actions = np.random.default_rng(0).integers(0, 4, steps).tolist()
    env.reset(seed=0)

    def play() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return play


def _parallel(config: GridConfig, cycles: int) -> Callable[[], None]:
    env = MultiGridEnv(config)
    env.reset(seed=0)
    drawn = np.random.default_rng(0).integers(0, config.num_actions, (cycles, config.num_agents)).tolist()
    actions = [dict(zip(config.agents, row, strict=True)) for row in drawn]

    def play() -> None:
        for chosen in actions:
            env.step(chosen)

    return play


def _rows(contenders: Sequence[_Contender]) -> list[dict[str, Any]]:
    by_name = {contender.name: contender for contender in contenders}
    return [
        {
            "name": contender.name,
            "against": contender.against,
            "microseconds_per_agent_step": round(contender.microseconds, 4),
            "agent_steps_per_second": round(1e6 / contender.microseconds),
            "spread": round(contender.spread, 4),
            "ratio": round(by_name[contender.against].microseconds / contender.microseconds, 2),
            "goal": contender.goal,
        }
        for contender in contenders
    ]


_LIBRARIES = "import gymnasium, pettingzoo"
_PACKAGE = "import multigrid"
_FIRST_ENVIRONMENT = "import multigrid; multigrid.GridWorldEnv().reset(seed=0)"


def _start_times(repeats: int) -> list[dict[str, Any]]:
    """Return the median seconds until each is there, in a Python of its own, beside what they should stay under."""
    timed = "import time; before = time.perf_counter(); {}; print(time.perf_counter() - before)"
    seconds: dict[str, list[float]] = {statement: [] for statement in (_LIBRARIES, _PACKAGE, _FIRST_ENVIRONMENT)}
    for _ in range(repeats):
        for statement, times in seconds.items():
            command = [sys.executable, "-c", timed.format(statement)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own
            times.append(float(printed))
    added = [package - libraries for package, libraries in zip(seconds[_PACKAGE], seconds[_LIBRARIES], strict=True)]
    rows = (
        ("gymnasium and pettingzoo", seconds[_LIBRARIES], None),
        ("what multigrid adds", added, 0.1),
        ("multigrid and a first environment", seconds[_FIRST_ENVIRONMENT], 2.0),
    )
    return [{"name": name, "seconds": round(statistics.median(times), 4), "goal": goal} for name, times, goal in rows]


def _pool_resets(repeats: int) -> dict[str, Any]:
    """Return the median seconds that a reset takes that draws one of 1,000 maps."""
    maps = np.random.default_rng(0).random((1000, 64, 64)) < 0.2
    env = MultiGridEnv(GridConfig(walls=maps, num_agents=16))
    env.reset(seed=0)
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        env.reset()
        times.append(time.perf_counter() - before)
    name = "a reset, 16 agents, one of 1,000 maps of 64 x 64"
    return {"name": name, "seconds": round(statistics.median(times), 6), "goal": 0.001}


def _print(console: Console, rows: Sequence[dict[str, Any]], starts: Sequence[dict[str, Any]]) -> None:
    table = Table(title="a step of one agent, random play", title_justify="left")
    for heading in ("", "us", "M steps/s", "spread", "ratio", "goal"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in rows:
        baseline = row["name"] == row["against"]
        table.add_row(
            row["name"],
            f"{row['microseconds_per_agent_step']:.2f}",
            f"{row['agent_steps_per_second'] / 1e6:.2f}",
            f"±{row['spread']:.0%}",
            "1" if baseline else f"{row['ratio']:.1f}x",
            "" if baseline else f"{row['goal']:g}x",
        )
    console.print(table)
    console.print("Ratios: against the documented code in the same run, called the same way.")
    table = Table(title="starting up, in a new Python, and starting over", title_justify="left")
    table.add_column("")
    table.add_column("seconds", justify="right")
    table.add_column("goal", justify="right")
    for row in starts:
        table.add_row(row["name"], f"{row['seconds']:.2g}", "" if row["goal"] is None else f"under {row['goal']:g}")
    console.print(table)
