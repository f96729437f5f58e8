"""The libraries that train on these worlds, and the table of their speeds."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["LEARNERS", "Learner", "format_page"]


class Learner(NamedTuple):
    """A library, and the program that trains with it."""

    name: str
    recipe: str
    """The file of .ci/recipes that has its environment; "" for the tested set."""
    package: str
    """The distribution whose version counts, or the folder of a checkout."""
    program: str
    """The module, with flags; "{steps}" is a number of steps, "{folder}" a new folder, "{checkouts}" that of clones."""
    agent_steps: int
    """The steps of agents that one of these steps counts."""
    few: int
    many: int
    """Two numbers of steps: the rate is of those between them, without imports, evaluations and compilation."""
    works: str
    """The algorithms of the example; the program trains with the first."""
    needs: str = ""
    """What pip installs beside the tested set, for a checkout."""
    shown: str = ""
    """What the table shows as the measured program; "" for the words of `program` before its flags."""


_TRAIN = "multigrid train --size 5 4 --num-agents 2 --max-cycles 20 --episodes 10 --evaluations 2 --folder {folder}"

LEARNERS = (
    Learner(
        *("PyTorch alone", "", "torch", "examples.ppo --size 5 4 --steps {steps} --episodes 10"),
        *(1, 100_000, 1_300_000, "PPO"),
    ),
    Learner(
        *("Stable-Baselines3", "", "stable-baselines3"),
        "examples.sb3_algorithms --algorithm ppo_dict --steps {steps} --episodes 10",
        *(1, 20_000, 200_000, "PPO, A2C, DQN, QR-DQN, MaskablePPO, HER"),
    ),
    Learner(
        *("Stable-Baselines3 through SuperSuit", "", "supersuit"),
        _TRAIN + " --vectorizer supersuit --steps {steps}",
        *(1, 32_768, 163_840, "PPO"),
        shown="multigrid train --vectorizer supersuit",
    ),
    Learner(
        *("RLlib", "rllib", "ray"),
        "examples.rllib_ppo --size 5 4 --max-cycles 20 --episodes 10 --num-env-runners 0 --steps {steps}",
        *(1, 16_384, 98_304, "PPO"),
        shown="multigrid train --engine rllib",
    ),
    Learner(
        *("BenchMARL", "benchmarl", "benchmarl"),
        "examples.benchmarl_mappo --frames {steps} --interval 1048576 --episodes 10",
        *(2, 4096, 110_592, "MAPPO, IPPO, QMIX, VDN"),
    ),
    Learner(
        *("TorchRL", "torchrl", "torchrl", "examples.torchrl_ppo --steps {steps} --episodes 10"),
        *(2, 2000, 46_000, "PPO"),
    ),
    Learner(
        *("EPyMARL", "", "epymarl"),
        "examples.epymarl {checkouts}/epymarl --config=mappo with env_args.size=(5,4) "
        "env_args.num_agents=2 env_args.max_cycles=20 test_interval=1000000 test_nepisode=10 t_max={steps}",
        *(2, 4000, 16_000, "MAPPO, QMIX"),
        "sacred==0.8.7 setuptools==80.10.2 PyYAML==6.0.3 scipy==1.17.1",
    ),
    Learner(
        *("HARL", "", "HARL"),
        "examples.harl {checkouts}/HARL --algo mappo --size 5,4 --num_agents 2 --max_cycles 20 "
        "--n_rollout_threads 50 --episode_length 50 --eval_episodes 10 --eval_interval 100000 --torch_threads 1 "
        "--log_dir {folder} --num_env_steps {steps}",
        *(2, 5000, 155_000, "MAPPO, HAPPO"),
        "tensorboardX==2.6.5 setproctitle==1.3.8 absl-py==2.5.1 PyYAML==6.0.3",
    ),
    Learner(
        *("PufferLib", "pufferlib", "pufferlib", "examples.pufferlib_ppo --steps {steps} --episodes 10"),
        *(1, 40_000, 680_000, "PPO"),
    ),
    Learner(
        *("XuanCe", "xuance", "xuance", "examples.xuance_mappo --steps {steps} --episodes 10"),
        *(32, 300, 1500, "MAPPO"),
    ),
    Learner(
        *("skrl", "skrl", "skrl", "examples.skrl_ippo --steps {steps} --episodes 10"),
        *(2, 2000, 24_000, "IPPO"),
    ),
    Learner(
        *("Tianshou", "tianshou", "tianshou", "examples.tianshou_dqn --steps {steps} --episodes 10"),
        *(1, 6000, 30_000, "DQN"),
    ),
    Learner(
        *("AgileRL", "agilerl", "agilerl", "examples.agilerl_ippo --steps {steps} --episodes 10"),
        *(1, 6144, 67_584, "IPPO"),
    ),
)
"""In the order of the table. EPyMARL and HARL are no packages: they run in the tested set and what they need."""

_HEAD = """\
# Learning libraries

The second column is the rate of a library's first algorithm: the agent-steps that it plays and learns from per second \
of CPU time, in one thread. It is the median of several rounds, with the smallest and the largest in brackets. Worlds \
have two or three agents on 5 x 4 cells (4 x 3 for Stable-Baselines3 alone and Tianshou). The rates do not rank \
algorithms: each library trains a small network with its own settings.

"""
_METHOD = """\
A rate is the difference in steps between a long and a short training run, divided by the difference in time. RLlib \
was measured at commit 3e36950 (today's program is `examples.rllib_ppo`), without Ray's other processes.

"""


def format_page(content: Mapping[str, Any], learners: Sequence[Learner] = LEARNERS) -> str:
    """Return the page of the results.

    Args:
        content: "machine", "date", and "rows": for each measured library its "name", "version" and "rates".
        learners: the libraries that the page may show.
    """
    lines = [
        "| library | agent-steps a second | version | algorithms | program |",
        "| --- | ---: | --- | --- | --- |",
    ]
    for row, learner in _pairs(content, learners):
        rates = row["rates"]
        speed = f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
        cells = (learner.name, speed, row["version"], learner.works, f"`{learner.shown or _shorten(learner.program)}`")
        lines.append(f"| {' | '.join(cells)} |")
    machine = content["machine"]
    made = f"`python -m benchmarks.learners` measured this on {content['date']} with {machine['cores']} cores, "
    return f"{_HEAD}{chr(10).join(lines)}\n\n{_METHOD}{made}Python {machine['python']}.\n"


def _shorten(program: str) -> str:
    """Return the words of a program before its flags and what depends on the machine."""
    return " ".join(itertools.takewhile(lambda word: word[0] not in "-{", program.split()))


def _pairs(content: Mapping[str, Any], learners: Sequence[Learner]) -> list[tuple[Mapping[str, Any], Learner]]:
    known = {learner.name: learner for learner in learners}
    return [(row, known[row["name"]]) for row in content["rows"]]
