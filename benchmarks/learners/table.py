"""The libraries that train on these worlds, and the table of their speeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["LEARNERS", "Learner", "format_page"]


class Learner(NamedTuple):
    """A library, and the example that trains with it."""

    name: str
    recipe: str
    """The file of .ci/recipes that has its environment; "" for the tested set."""
    package: str
    """The distribution whose version counts."""
    example: str
    """The module of multigrid.examples, with flags; "{steps}" is a number of steps."""
    agent_steps: int
    """The steps of agents that one of these steps counts."""
    few: int
    many: int
    """Two numbers of steps: the rate is of those between them, without imports, evaluations and compilation."""
    works: str
    """What was trained."""


LEARNERS = (
    Learner("PyTorch alone", "", "torch", "ppo --size 5 4 --steps {steps}", 1, 100_000, 300_000, "PPO"),
    Learner(
        "Stable-Baselines3",
        "",
        "stable-baselines3",
        "sb3_algorithms --algorithm ppo_dict --steps {steps}",
        1,
        20_000,
        80_000,
        "PPO, A2C, DQN, QR-DQN, MaskablePPO, HER",
    ),
    Learner(
        "BenchMARL",
        "benchmarl",
        "benchmarl",
        "benchmarl_mappo --frames {steps}",
        2,
        4096,
        14_336,
        "IPPO, MAPPO, QMIX, VDN",
    ),
    Learner("TorchRL", "torchrl", "torchrl", "torchrl_ppo --steps {steps}", 2, 2000, 6000, "PPO"),
    Learner("PufferLib", "pufferlib", "pufferlib", "pufferlib_ppo --steps {steps}", 1, 40_000, 160_000, "PPO"),
    Learner("XuanCe", "xuance", "xuance", "xuance_mappo --steps {steps}", 32, 300, 1200, "MAPPO"),
    Learner("skrl", "skrl", "skrl", "skrl_ippo --steps {steps}", 2, 2000, 6000, "IPPO"),
    Learner("Tianshou", "tianshou", "tianshou", "tianshou_dqn --steps {steps}", 1, 6000, 18_000, "DQN"),
    Learner("AgileRL", "agilerl", "agilerl", "agilerl_ippo --steps {steps}", 1, 6144, 18_432, "IPPO"),
)
"""In the order of the table."""

_HEAD = """\
# Learning libraries

Made by `python -m benchmarks.learners`. The speed is in agent-steps per second of CPU time, training included, with \
one thread: the difference of a long and a short training, as the median of some rounds, with the smallest and the \
largest. All libraries ran in turns. Each trains the small network of its example on two or three agents, so the \
figures show the cost of the library, not that of the worlds.

"""


def format_page(content: Mapping[str, Any], learners: Sequence[Learner] = LEARNERS) -> str:
    """Return the page of the results.

    Args:
        content: "machine", "date", and "rows": for each measured library its "name", "version" and "rates".
        learners: the libraries that the page may show.
    """
    lines = [
        "| library | version | example | trains here | agent-steps per CPU second |",
        "| --- | --- | --- | --- | ---: |",
    ]
    known = {learner.name: learner for learner in learners}
    for row in content["rows"]:
        learner, rates = known[row["name"]], row["rates"]
        speed = f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
        example = learner.example.split()[0]
        lines.append(f"| {row['name']} | {row['version']} | `{example}` | {learner.works} | {speed} |")
    machine = content["machine"]
    lines += ["", f"Measured on {content['date']} with {machine['cores']} cores, Python {machine['python']}.", ""]
    return _HEAD + "\n".join(lines)
