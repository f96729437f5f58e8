"""The policies of ``multigrid benchmark``: those of ``multigrid rollout``."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from multigrid._files import read_bytes
from multigrid.benchmark import Instance
from multigrid.benchmark.playing import SEARCHES, Contestant, blind
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.policies import BUILT_IN, RUN_FILES, make_policy_factory, trained_config
from multigrid.cli.rollout.worlds import match_observations
from multigrid.config import GridConfig

__all__ = ["SentPolicies", "check_models", "find_contestant", "send_policies"]


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
    return Contestant(factory, functools.partial(_fit, trained_config(Path(name))))


def _fit(trained: GridConfig, config: GridConfig) -> GridConfig:
    return match_observations(NamedConfig(f"an instance with {config.num_agents} agents", config), trained).config


def check_models(policies: Sequence[str], instances: Collection[Instance]) -> None:
    """Check that trained models can play instances.

    Args:
        policies: the names of policies, and the folders of models.
        instances: the instances.

    Raises:
        ValueError: a model observes an array whose shape depends on the number of agents or the size of the map, and
            other numbers or sizes are among the instances.
    """
    # The observations depend on nothing else.
    kinds = {(one.num_agents, one.walls.shape): one for one in instances}
    for name in policies:
        if name in BUILT_IN or name in SEARCHES:
            continue
        trained = trained_config(Path(name))
        refused = {kind for kind, instance in kinds.items() if not _fits(trained, instance)}
        if not refused:
            continue
        numbers = sorted({number for number, _ in kinds})
        playable = [number for number in numbers if number not in {number for number, _ in refused}]
        raise ValueError(
            f"--policy {name} was trained with {trained.num_agents} agents to see {', '.join(trained.parts)}, and the "
            f"instances have {_list(numbers)} agents, of which it can play "
            + (
                f"{_list(playable)}: give --agents {' '.join(map(str, playable))}"
                if playable
                else "none: train it with --observe agent target view, which fits all instances"
            )
        )


def _fits(trained: GridConfig, instance: Instance) -> bool:
    try:
        _fit(trained, instance.scenario().config)
    except ValueError:
        return False
    return True


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


@dataclasses.dataclass(frozen=True)
class SentPolicies:
    """Returns what `find_contestant` does, also on machines that do not have the folders of trained models."""

    files: tuple[tuple[str, str, bytes], ...]
    """The policy, the name and the content of each file."""

    def __call__(self, name: str) -> Contestant:
        """As `find_contestant`."""
        files = {file: content for policy, file, content in self.files if policy == name}
        if not files:
            return find_contestant(name)
        with tempfile.TemporaryDirectory() as folder:
            for file, content in files.items():
                (Path(folder) / file).write_bytes(content)
            return find_contestant(folder)


def send_policies(names: Iterable[str]) -> SentPolicies:
    """Return a function that can be pickled, and finds these policies on other machines.

    Raises:
        OSError: a file of a trained model cannot be read.

    >>> send_policies(["pibt", "lacam"]).files
    ()
    """
    folders = [name for name in names if name not in BUILT_IN and name not in SEARCHES]
    return SentPolicies(tuple((name, file, read_bytes(Path(name) / file)) for name in folders for file in RUN_FILES))
