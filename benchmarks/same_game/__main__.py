"""``python -m benchmarks.same_game``: play the POGEMA benchmark here and in POGEMA, and compare each step."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import track

from benchmarks.peers.environments import default_folder
from benchmarks.peers.processes import python_path
from benchmarks.pogema import SETS, DataError, Kind, read_instances
from benchmarks.same_game.episodes import Name
from benchmarks.same_game.pogema import Pogema
from benchmarks.same_game.rows import Row, RowsError, append_row, compare, format_table, read_rows
from benchmarks.same_game.worlds import read_worlds
from benchmarks.speed.processes import ProcessError
from multigrid.cli._options import parse

Set = Literal["random", "mazes", "warehouse", "movingai", "puzzles", "pathfinding"]


@dataclasses.dataclass(frozen=True)
class SameGameOptions:
    """Play episodes of the POGEMA benchmark here and in POGEMA itself, and compare all positions, rewards and metrics.

    Each episode gives a line of episodes.jsonl. An interrupted run goes on with --resume. The exit code is 1 if
    episodes differ.
    """

    data: Path
    """A clone of the repository CognitiveAISystems/pogema-benchmark, at commit 3303133."""
    output: Path
    """The folder of episodes.jsonl; created if there is none."""
    kind: Kind = "mapf"
    """Episodes that end when all agents have arrived, or lifelong ones."""
    sets: tuple[Set, ...] = tuple(SETS)  # type: ignore[arg-type]
    """The sets of instances; pathfinding has no lifelong ones."""
    policies: tuple[Name, ...] = ("random", "pibt")
    """Who plays: random actions, shortest paths, PIBT, the pretrained policy, or, where episodes end, LaCAM*."""
    every: int = 1
    """Take only every K-th instance of each set, from the first one on."""
    pogema: Path = dataclasses.field(default_factory=lambda: python_path(default_folder() / "pogema"))
    """The Python of an environment with pogema==1.4.0; `python -m benchmarks.peers --setup-peers` makes one."""
    resume: bool = False
    """Go on with the lines in the folder."""


class _OptionsError(Exception):
    """The flags do not go with one another or with the folder; the message is one line."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, print a table, and return the exit code."""
    options = parse(SameGameOptions, arguments, "python -m benchmarks.same_game")
    try:
        rows = _play_all(options)
    except (DataError, ModuleNotFoundError, RowsError, _OptionsError, OSError) as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return 2
    except ProcessError as error:
        sys.stderr.write(f"benchmarks: POGEMA in {options.pogema} has failed: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"benchmarks: interrupted; --resume goes on with the lines in {options.output}\n")
        return 130
    sys.stdout.write(format_table(rows))
    return 1 if any(row.differences for row in rows) else 0


def _play_all(options: SameGameOptions) -> list[Row]:
    if options.every < 1:
        raise _OptionsError(f"--every is {options.every}; expected at least 1")
    if options.kind == "lmapf" and "lacam" in options.policies:
        raise _OptionsError("--policies has lacam, which plans episodes that end; leave it out, or --kind lmapf")
    file = options.output / "episodes.jsonl"
    rows = read_rows(file)
    if rows and not options.resume:
        raise _OptionsError(f"{file} holds episodes; --resume goes on with them, or name another folder")
    options.output.mkdir(parents=True, exist_ok=True)
    done = {row.key for row in rows}
    with Pogema(options.pogema) as pogema:
        for name in options.sets:
            if (options.kind, name) == ("lmapf", "pathfinding"):
                continue
            instances = read_instances(options.data, name, options.kind, every=options.every)
            todo = [
                (instance, policy)
                for policy in options.policies
                for instance in instances
                if (*instance.key, policy) not in done
            ]
            worlds = read_worlds(options.data, name, options.kind) if todo else {}
            for instance, policy in track(todo, name, console=Console(stderr=True)):
                rows.append(compare(pogema, worlds[instance.map, instance.seed], instance, policy))
                append_row(file, rows[-1])
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
