"""The flags of ``multigrid benchmark``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Literal, get_args

from multigrid.benchmark import SETS, Kind
from multigrid.benchmark.playing import SEARCHES
from multigrid.cli._options import Range, check_address, check_numbers

__all__ = ["BenchmarkOptions", "check_options"]

Set = Literal["random", "mazes", "warehouse", "movingai", "puzzles", "pathfinding"]

_DEFAULTS = {
    "mapf": ("random", "shortest-path", "pibt", "lacam"),
    "lmapf": ("random", "shortest-path", "pibt", "windowed"),
}


@dataclasses.dataclass(frozen=True)
class BenchmarkOptions:
    """Play the instances of the POGEMA benchmark (Skrynnik et al., ICLR 2025), and compare with published results.

    Each instance and policy gives a row of rows.csv. An interrupted run goes on with --resume, also with other sets,
    policies or samples. scores.md has the scores of the benchmark, for the published rows alone and with these rows,
    and success and the gap to a proven bound by number of agents.

    With --engine ray the CPUs of a Ray cluster play. Start it by `ray start --head` on one machine and
    `ray start --address=HEAD:6379` on the others, and use --address auto on one of them. All need the same version of
    multigrid, with ray[rllib]; the clone, the folders of trained models and --output are on this machine alone.
    """

    data: Path
    """A clone of the repository CognitiveAISystems/pogema-benchmark, at commit 3303133."""
    sets: tuple[Set, ...] = get_args(Set)
    """The sets of instances."""
    kind: Kind = "mapf"
    """mapf: an episode ends when all agents stand on their targets; lmapf: lifelong, with one target after the
    other."""
    policy: tuple[str, ...] = ()
    """random, shortest-path; the planners pibt, windowed, lacam and cbs; the learned pretrained and pretrained-shield;
    or folders of runs of ``multigrid train``.
    By default random, shortest-path, pibt, and lacam or, for lmapf, windowed."""
    agents: Annotated[tuple[int, ...], Range(1, 10**6)] = ()
    """Play only the instances with these numbers of agents, such as ``--agents 8 16``."""
    every: Annotated[int, Range(1, 10**6)] = 1
    """Play only every K-th scenario of each set, from the first one on."""
    time_limit: Annotated[float, Range(0, 10**9)] = 1.0
    """The seconds of lacam and cbs for an instance. Other policies have no limit."""
    processes: Annotated[int, Range(1, 1024)] = 1
    """The number of processes that play; not with --engine ray, where each CPU of the cluster plays."""
    engine: Literal["local", "ray"] = "local"
    """What plays: processes of this machine, or Ray, on one machine or a cluster. Tasks of a machine that is lost are
    played again on others."""
    address: str | None = None
    """With --engine ray: HOST:PORT of a Ray cluster that is running, or "auto" on one of its nodes; by default Ray is
    started on this machine."""
    output: Path | None = None
    """The folder of rows.csv and scores.md; by default a new one, benchmark-runs/DATE-TIME."""
    resume: bool = False
    """Go on with the rows in the folder."""
    join: tuple[Path, ...] = ()
    """Folders of other runs, whose rows are added to this one first."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that play."""
        return self.policy or _DEFAULTS[self.kind]

    @property
    def played_sets(self) -> tuple[str, ...]:
        """The sets with instances to play: of the kind "lmapf" there is no pathfinding."""
        sets = (name for name in SETS if name in self.sets and (self.kind, name) != ("lmapf", "pathfinding"))
        return tuple(name for name in sets if self.numbers_of(name))

    def numbers_of(self, name: str) -> tuple[int, ...]:
        """Return the numbers of agents that are played of a set."""
        return tuple(number for number in SETS[name] if not self.agents or number in self.agents)


def check_options(options: BenchmarkOptions) -> None:
    """Raise a ValueError if an option is out of range, or two do not go together."""
    check_numbers(options)
    if options.engine == "ray" and options.processes != 1:
        raise ValueError(
            f"--processes is {options.processes}, but with --engine ray each CPU of the cluster plays; leave it out"
        )
    if options.engine != "ray" and options.address is not None:
        raise ValueError(f"--address is {options.address}, but only --engine ray plays on a cluster; add that")
    check_address(options.address)
    if options.resume and options.output is None:
        raise ValueError("--resume goes on with the rows in a folder; name it by --output")
    known = sorted({number for name in options.sets for number in SETS[name]})
    if not set(options.agents) <= set(known):
        raise ValueError(
            f"--agents is {' '.join(map(str, options.agents))}; expected some of {', '.join(map(str, known))}, the "
            "numbers of agents in --sets"
        )
    if not options.played_sets:
        raise ValueError(f"--sets has no set of the kind {options.kind}; expected some of {', '.join(SETS)}")
    for name in options.policies:
        if options.policies.count(name) > 1:
            raise ValueError(f"--policy has {name} twice; expected each once")
        if options.kind == "lmapf" and name in SEARCHES:
            raise ValueError(f"--policy {name} plans single episodes; expected pibt or windowed for --kind lmapf")
