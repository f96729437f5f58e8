"""``python -m benchmarks.delays``: controllers under delays, and whether plans in a kept order come to their end."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import multigrid
from multigrid import Delays, GridConfig, Outcome
from multigrid.cli._options import parse
from multigrid.maps._cells import label_components
from multigrid.planning import Executor, controller
from multigrid.policies import pretrained

PROBABILITIES = (0.0, 0.01, 0.05, 0.1, 0.2)
DURATION = (1, 4)
MAPS, EPISODES = 32, 32
POLICIES: dict[str, Any] = {
    "PIBT": lambda: controller("pibt"),
    "windowed": lambda: controller("windowed"),
    "LaCAM, planning again": lambda: controller("lacam"),
    "PIBT, order kept": lambda: controller("pibt", keep_order=True),
    "windowed, order kept": lambda: controller("windowed", keep_order=True),
    "LaCAM, order kept": lambda: controller("lacam", keep_order=True),
    "the pretrained policy": pretrained,
    "the pretrained policy, with messages": lambda: pretrained(messages=2),
    "the pretrained policy, with a shield": lambda: pretrained(shield=True),
}
_WORST = (Outcome.CONTESTED, Outcome.SWAP)


@dataclasses.dataclass(frozen=True)
class DelayOptions:
    """Play episodes under delays, and print a table; or play plans to their end, and count what goes wrong."""

    output: Path = Path("delays.json")
    """Where the results are kept; those that it has are not measured again."""
    delayed: int = 0
    """Instead: keep the order of plans on 100 maps until agents were delayed in so many steps."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, print, and return the exit code."""
    options = parse(DelayOptions, arguments, "python -m benchmarks.delays")
    if options.delayed:
        sys.stdout.write(json.dumps(soak(options.delayed), indent=1) + "\n")
        return 0
    found: dict[str, Any] = json.loads(options.output.read_text()) if options.output.exists() else {}
    for name, make in POLICIES.items():
        for probability in PROBABILITIES:
            key = f"{name} {probability}"
            if key not in found:
                found[key] = measure(make(), probability)
                options.output.write_text(json.dumps(found, indent=1))
                sys.stderr.write(f"{key}: {found[key]}\n")
    sys.stdout.write(make_table(found))
    return 0


def random_maps(width: int, height: int, share: float, count: int) -> np.ndarray:
    """Return maps, bool (count, width, height), with a share of the cells walls, and without cells that are cut off."""
    random = np.random.default_rng(0)
    maps = np.zeros((count, width, height), bool)
    for index in range(count):
        one = maps[index]
        chosen = random.permutation(width * height)[: round(share * width * height)]
        one.flat[chosen] = True
        regions = label_components(one)
        maps[index] |= regions != np.bincount(regions[regions > 0]).argmax()
    return maps


def measure(policy: Any, probability: float) -> dict[str, list[float]]:
    """Play episodes, and return the share that is solved and the mean sum of costs, each with its 95 % interval."""
    config = GridConfig(
        walls=random_maps(15, 12, 0.2, MAPS),
        num_agents=12,
        collisions="soft",
        on_target="stay",
        allow_stay=True,
        max_cycles=128,
        delays=Delays(probability, DURATION),
    )
    begun = time.monotonic()
    results = multigrid.evaluate(config, policy, range(EPISODES))
    found = {
        name: [getattr(results[name], field) for field in ("mean", "low", "high")] for name in ("csr", "sum_of_costs")
    }
    return found | {"seconds": [round(time.monotonic() - begun, 1)]}


def make_table(found: dict[str, Any]) -> str:
    """Return the mean sums of costs as a table in Markdown, with the interval of what is solved if it is not all."""
    lines = [
        "| | " + " | ".join(f"{100 * one:g} %" for one in PROBABILITIES) + " |",
        "|---|" + "---:|" * len(PROBABILITIES),
    ]
    for name in POLICIES:
        cells = []
        for probability in PROBABILITIES:
            csr, (cost, *_) = (found[f"{name} {probability}"][key] for key in ("csr", "sum_of_costs"))
            solved = "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * one for one in csr))
            cells.append(f"{cost:.0f}" + f" ({solved})" * (csr[0] < 1))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def soak(delayed: int, maps: int = 100, agents: int = 20, steps: int = 120) -> dict[str, int]:
    """Execute PIBT's lifelong plans until agents were delayed so often; count collisions, and plans that do not end."""
    counts = dict.fromkeys(("delayed", "refused", "collisions", "unfinished", "plans", "agent_steps"), 0)
    random = np.random.default_rng(1)
    while counts["delayed"] < delayed:
        for number, walls in enumerate(random_maps(13, 10, 0.15, maps)):
            cells = np.argwhere(~walls)
            starts = random.permutation(cells)[:agents]
            targets = [random.choice(cells, 8).tolist() for _ in range(agents)]
            rules: dict[str, Any] = {"on_target": "restart", "collisions": ("symmetric", "soft")[number % 2]}
            config = GridConfig(walls=walls, num_agents=agents, allow_stay=True, max_cycles=None, **rules)
            layout = {"agents": starts, "targets": targets}
            nominal = multigrid.parallel_env(config)
            plan = _Limited(steps)
            _play(nominal, plan, layout, steps)
            env = multigrid.parallel_env(dataclasses.replace(config, delays=Delays(0.2, DURATION)))
            outcomes = _play(env, Executor(_Limited(steps)), layout, 20 * steps, nominal.get_state()["location"])
            counts["delayed"] += int((outcomes == Outcome.DELAYED).sum())
            counts["refused"] += int((outcomes == Outcome.OCCUPIED).sum())
            counts["collisions"] += int(np.isin(outcomes, _WORST).sum())
            counts["unfinished"] += int((env.get_state()["location"] != nominal.get_state()["location"]).any())
            counts["plans"] += 1
            counts["agent_steps"] += outcomes.size
            if counts["delayed"] >= delayed:
                break
    return counts


class _Limited:
    """PIBT for some steps; then all stay."""

    def __init__(self, steps: int) -> None:
        self._plan, self._left = controller("pibt"), steps

    def __call__(self, env: Any, observations: Any) -> dict[str, int]:
        self._left -= 1
        if self._left >= 0:
            return self._plan(env, observations)
        return dict.fromkeys(env.agents, int(multigrid.Action.STAY))


def _play(env: Any, policy: Any, layout: dict[str, Any], most: int, ends: Any = None) -> np.ndarray:
    """Play at most so many steps, or until all agents are in the cells where they end; return the outcomes."""
    observations, _ = env.reset(seed=0, options=layout)
    outcomes = []
    for step in range(most):
        if ends is not None and step > most // 20 and (env.get_state()["location"] == ends).all():
            break
        observations, *_, infos = env.step(policy(env, observations))
        outcomes.append([info["outcome"] for info in infos.values()])
    return np.array(outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
