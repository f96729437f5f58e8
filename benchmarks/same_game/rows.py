"""What was compared, an episode a line, in a file with which an interrupted run goes on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.pogema import Instance
from benchmarks.same_game.episodes import Name, play
from benchmarks.same_game.pogema import Pogema, list_differences
from benchmarks.same_game.worlds import World

__all__ = ["Row", "RowsError", "append_row", "compare", "format_table", "read_rows"]


class RowsError(Exception):
    """A file does not hold rows of this comparison; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One episode, played here and in POGEMA.

    Attributes:
        kind: the kind of the instance.
        set: its set.
        map: its map.
        seed: its seed.
        agents: its number of agents.
        policy: who played.
        steps: the number of steps played.
        metrics: POGEMA's metrics.
        sum_of_costs: the sum of costs here; None in a lifelong episode.
        differences: what differs, none if the episodes are equal.
    """

    kind: str
    set: str
    map: str
    seed: int
    agents: int
    policy: str
    steps: int
    metrics: dict[str, float]
    sum_of_costs: float | None
    differences: list[str]

    @property
    def key(self) -> tuple[str, str, str, int, int, str]:
        """What no two rows share: the key of the instance, and the policy."""
        return self.kind, self.set, self.map, self.seed, self.agents, self.policy

    @property
    def is_forgiven(self) -> bool:
        """Whether POGEMA's sum of costs is smaller, as an agent has walked off its target in the last step."""
        return self.sum_of_costs is not None and self.metrics.get("SoC") != self.sum_of_costs


def compare(pogema: Pogema, world: World, instance: Instance, policy: Name) -> Row:
    """Play an episode of an instance here and in POGEMA, and return what is the same and what is not."""
    episode = play(instance, policy)
    answer = pogema.play({**world, "num_agents": instance.num_agents}, episode.actions)
    costs = episode.metrics[-1]["sum_of_costs"] if instance.kind == "mapf" else None
    differences = list_differences(episode, answer)
    return Row(*instance.key, policy, len(episode.actions), answer["metrics"], costs, differences)


def append_row(file: Path, row: Row) -> None:
    """Append a row to a file, which is created if there is none."""
    with file.open("a", encoding="utf-8", newline="") as lines:
        lines.write(json.dumps(dataclasses.asdict(row)) + "\n")


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a file, none if there is no file; a last line that was cut off is cut away.

    Raises:
        RowsError: the file holds something else.
    """
    if not file.exists():
        return []
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        file.write_bytes(whole)
    try:
        return [Row(**json.loads(line)) for line in whole.splitlines()]
    except (ValueError, TypeError) as error:
        raise RowsError(f"{file} does not hold rows of this comparison: {error}; name another folder") from error


def format_table(rows: Sequence[Row]) -> str:
    """Return a table by kind, set and policy, and the first lines of what differs."""
    return "\n".join([*_list_lines(rows), ""])


def _list_lines(rows: Sequence[Row]) -> Iterator[str]:
    yield "| kind | set | policy | episodes | steps | agent-steps | equal | CSR 1 | POGEMA's SoC is smaller |"
    yield "|---|---|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.kind, row.set, row.policy), []).append(row)
    for names, some in groups.items():
        counts = (
            len(some),
            sum(row.steps for row in some),
            sum(row.steps * row.agents for row in some),
            sum(not row.differences for row in some),
            sum(row.metrics.get("CSR") == 1 for row in some),
            sum(row.is_forgiven for row in some),
        )
        yield f"| {' | '.join([*names, *(f'{count:,}' for count in counts)])} |"
    for row in rows:
        for difference in row.differences[:1]:
            yield f"{' '.join(map(str, row.key))}: {difference}"
