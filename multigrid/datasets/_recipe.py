"""What a dataset was recorded from: enough to record it again."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium

from multigrid._checks import check_int, check_seed, shorten
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.game import Game
from multigrid.games._stored import name_game
from multigrid.parts import MASK
from multigrid.scenarios._worlds import grid_fields, make_grid
from multigrid.wrappers import StandardParallel

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

KEY = "multigrid"
"""The key of the recipe in the metadata of a dataset."""
FORMAT = 1
"""The version of the form of the rows, and of the recipe."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a dataset was recorded. The same recipe, rules and policy give the same rows."""

    config: GridConfig
    """The world, with the observations that were recorded."""
    policy: str
    """The name of the policy or planner."""
    seed: int
    """The seed of the first episode; episode i has this number plus i."""
    episodes: int
    """The number of the worlds' episodes. Each gives a row, one of Minari's episodes, for each agent."""
    num_worlds: int | None
    """The number of worlds of the vector env; None if a ParallelEnv has played the episodes one after the other, with a
    policy for each, seeded by the episode's seed."""
    standard: bool
    """Whether the states are those of `multigrid.wrappers.StandardVector` or `StandardParallel`."""
    row_column: bool = False
    """Whether the world is ``multigrid/GridWorld-v1``, which numbers actions otherwise."""

    def __post_init__(self) -> None:
        given: Any = self.policy
        if not isinstance(given, str):
            raise TypeError(f"policy_name is {shorten(given)}, of type {type(given).__name__}; expected a text")
        if self.config.max_cycles is None:
            raise ValueError("max_cycles is None, but each episode is played to its end; expected a number of steps")
        if self.config.game is not None:
            name_game(self.config.game)  # now, for its file may be edited while it is played

    @property
    def seeds(self) -> range:
        """The seeds of the episodes."""
        return range(self.seed, self.seed + self.episodes)

    def fields(self) -> dict[str, Any]:
        """Return the recipe for JSON."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"format": FORMAT, "rules": RULES_VERSION, **fields, "config": grid_fields(self.config)}


def read_recipe(metadata: Mapping[str, Any], game: type[Game] | None = None) -> Recipe:
    """Return the recipe in the metadata of a dataset, ``dataset.storage.metadata``.

    Args:
        metadata: the metadata, which name a game by its name and version.
        game: the game of the dataset, if it has one that is neither of this package nor registered with
            `multigrid.register`.

    Raises:
        ValueError: there is no recipe, or it is of another version of the rows or the rules, or of another game.
    """
    content = check_recipe(metadata)
    fields = {field.name: content[field.name] for field in dataclasses.fields(Recipe)}
    return Recipe(**{**fields, "config": make_grid(content["config"], game)})


def check_recipe(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of the recipe in the metadata of a dataset, without its game; raise as `read_recipe`."""
    content = metadata.get(KEY)
    if content is None:
        raise ValueError(
            f"the dataset has no metadata under {KEY!r}; expected one that multigrid.datasets.record or "
            "`multigrid rollout --dataset` has written"
        )
    for name, version in (("format", FORMAT), ("rules", RULES_VERSION)):
        if content.get(name) != version:
            raise ValueError(
                f"the dataset is of version {content.get(name)!r} of the {name}, but this multigrid has version "
                f"{version}; use the multigrid that recorded it"
            )
    return content  # type: ignore[no-any-return]


def recipe_of_episodes(config: GridConfig, policy: str, seed: int, episodes: int) -> Recipe:
    """Return the recipe of episodes that are played one after the other."""
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is of type {type(config).__name__}; expected a GridConfig")
    seed, episodes = check_seed(seed, ""), check_int("episodes", episodes, 1)
    # As `multigrid.wrappers.standard_config` has them.
    is_standard = config.observation_keys == ("observation", MASK)
    return Recipe(config, policy, seed, episodes, num_worlds=None, standard=is_standard)


def wrap_env(env: Any, recipe: Recipe) -> Any:
    """Return a ParallelEnv with the observations and states that a recipe names."""
    return StandardParallel(env) if recipe.standard else env


def find_spec(config: GridConfig, *, row_column: bool = False) -> EnvSpec | None:
    """Return the Gymnasium spec of a single agent's world, or None if no registered env has these rules."""
    if config.num_agents != 1 or config.width != config.height or config.maps is not None:
        return None
    plain = GridConfig(size=config.width, num_agents=1, max_cycles=config.max_cycles)
    # With one agent, all of these rules but "restart" are the documented ones.
    rules = ("size", "num_agents", "max_cycles", "collisions", "reward", "view_radius")
    same = {field: getattr(plain, field) for field in rules}
    if config.on_target != "restart":
        same["on_target"] = plain.on_target
    if config.parts == plain.parts:
        same["observe"] = None
    if dataclasses.replace(config, **same) != plain:
        return None
    spec = copy.deepcopy(gymnasium.spec(f"multigrid/GridWorld-v{int(row_column)}"))
    spec.kwargs = {"size": config.width}
    spec.max_episode_steps = config.max_cycles
    return spec
