"""The flags of ``multigrid evaluate``."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from multigrid.cli._files import check_new, check_writable
from multigrid.cli.rollout.options import EpisodeOptions, check_episodes, parse_episodes

__all__ = ["EvaluateOptions", "check_options", "parse_evaluate"]

_PROGRAM = "multigrid evaluate"


@dataclasses.dataclass(frozen=True)
class EvaluateOptions(EpisodeOptions):
    """Compare policies: all play the same episodes, and each is compared with the first one.

    The policies stand before the flags. The worlds are a scenario, scenarios of the suite, or the grid that the flags
    describe, on maps or without; if trained models take part, the defaults of these flags are those of the first
    model's training. Episode i is seeded alike for all policies, so it has the same layout.

    An agent that does not arrive costs all steps of the episode. Intervals are Wilson's for success and CSR, and
    percentile bootstraps over episodes for other metrics. The differences are means over pairs of episodes with equal
    seeds, with bootstrap intervals; those of costs and gaps are over the episodes that both policies solved.
    """

    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")] = ()
    """random, shortest-path; the planners pibt, windowed and lacam; the learned pretrained and pretrained-shield; or
    folders of runs of ``multigrid train``. Of a model only weights are read; no code in it is run."""
    output: Path | None = None
    """A CSV file that does not exist yet, for the metrics of each episode."""


def parse_evaluate(arguments: Sequence[str]) -> EvaluateOptions:
    """Parse the flags.

    Raises:
        ValueError: there is no policy before the flags, or one after them; or as for a rollout.
    """
    policies = tuple(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
    options = parse_episodes(EvaluateOptions, arguments, _PROGRAM, policies)
    if options.policies != policies:
        raise ValueError(f"{' '.join(options.policies)} came after a flag; name the policies before the flags")
    return options


def check_options(options: EvaluateOptions) -> None:
    """Raise a ValueError if an option is out of range, or an OSError if the file cannot be written."""
    if not options.policies:
        raise ValueError("no policy is named; expected one or more, such as: multigrid evaluate shortest-path pibt")
    for policy in options.policies:
        if options.policies.count(policy) > 1:
            raise ValueError(f"{policy} comes twice; expected each policy once")
    check_episodes(options)
    check_new(options.output)
    if options.output is not None:
        check_writable("--output", options.output.parent, options.output.name)
        if not options.output.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {options.output.parent}; make it first")
