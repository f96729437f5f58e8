"""The policies of ``multigrid benchmark``: those of ``multigrid rollout``."""

from __future__ import annotations

from pathlib import Path

from multigrid.benchmark.playing import Contestant, blind
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.policies import BUILT_IN, make_policy_factory, trained_config
from multigrid.cli.rollout.worlds import match_observations
from multigrid.config import GridConfig

__all__ = ["find_contestant"]


def find_contestant(name: str) -> Contestant:
    """Return a built-in policy, or the model in the folder of a run of ``multigrid train``.

    Raises:
        ValueError: there is no such policy, or a file of the folder is malformed; the message names it.

    >>> find_contestant("pibt").fit(GridConfig(num_agents=3)).parts
    ('agent', 'target')
    """
    factory = make_policy_factory(name)
    if name in BUILT_IN:
        return Contestant(factory, blind)
    trained = trained_config(Path(name))

    def fit(config: GridConfig) -> GridConfig:
        return match_observations(NamedConfig(f"an instance with {config.num_agents} agents", config), trained).config

    return Contestant(factory, fit)
