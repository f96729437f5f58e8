"""How many agents hear of one another, and how many moves are refused, if the pretrained policy sends messages.

`python docs/benchmark/measure_messages.py --data CLONE` plays every 32nd scenario of `CELLS`, and writes messages.json,
from which `make_benchmark.py` makes a table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_tables import TITLES, table
from numpy.typing import NDArray

from benchmarks.pogema import Instance, read_instances
from benchmarks.pogema.playing import blind
from multigrid import MultiGridEnv, Outcome
from multigrid.cli._files import write_json
from multigrid.evaluation._playing import play
from multigrid.policies import pretrained

MESSAGES = Path(__file__).parent / "messages.json"
CELLS = {"random": (32, 64), "mazes": (32, 64), "warehouse": (96, 192), "movingai": (128, 256)}
"""The numbers of agents of each set."""
_EVERY = 32
_ROUNDS, _RADIUS = 2, 5
"""Of `pretrained(messages=2)`, which plays as pretrained-messages, and of its windows of 11 x 11 cells."""
_MOVED = (Outcome.MOVED,)
_REFUSED = (Outcome.EDGE, Outcome.WALL, Outcome.OCCUPIED, Outcome.CONTESTED, Outcome.SWAP)


def hear(cells: NDArray[np.int64]) -> float:
    """Return the mean share of the others that an agent hears of, of agents on cells (N, 2).

    Messages reach all agents in the window, and are passed on once in each further round.

    >>> hear(np.array([[0, 0], [5, 0], [10, 3], [10, 9]]))
    0.5
    """
    near = np.abs(cells[:, None] - cells).max(axis=2) <= _RADIUS
    heard = np.linalg.matrix_power(near.astype(float), _ROUNDS) > 0
    return float((heard.sum() - len(cells)) / (len(cells) * (len(cells) - 1)))


def measure(instances: Sequence[Instance]) -> dict[str, float]:
    """Return the share of others that agents hear of, over all steps, and the share of moves that are refused."""
    heard: list[float] = []
    moves: list[int] = []
    for number, instance in enumerate(instances):
        env = MultiGridEnv(blind(instance.scenario().config))
        for actions, step in play(env, pretrained(messages=_ROUNDS, seed=number), seed=number):
            if actions is not None:
                moves += [info["outcome"] for info in step.infos.values()]
            if env.agents:
                heard.append(hear(np.asarray(env.get_state()["location"])))
    refused, moved = (sum(moves.count(outcome) for outcome in some) for some in (_REFUSED, _MOVED))
    return {"heard": round(float(np.mean(heard)), 4), "refused": round(refused / max(moved + refused, 1), 5)}


def show_messages(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of what messages.json has."""
    cells = [
        [f"{TITLES[row['set']]}, {row['agents']} agents", f"{100 * row['heard']:.0f}", f"{100 * row['refused']:.2f}"]
        for row in rows
    ]
    return table(["", "others heard of, %", "moves refused, %"], cells)


def main() -> None:
    """Play, and write messages.json."""
    parser = argparse.ArgumentParser(description="Measure how many agents hear of one another.")
    parser.add_argument("--data", type=Path, required=True, metavar="CLONE", help="a clone of the benchmark")
    data = parser.parse_args().data
    pairs = [(name, agents) for name, numbers in CELLS.items() for agents in numbers]
    found = [measure(read_instances(data, name, agents=[agents], every=_EVERY)) for name, agents in pairs]
    write_json(MESSAGES, [{"set": pair[0], "agents": pair[1], **one} for pair, one in zip(pairs, found, strict=True)])


if __name__ == "__main__":
    main()
