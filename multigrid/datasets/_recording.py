"""Record datasets, and record them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from gymnasium.vector import AutoresetMode

from multigrid._checks import check_int, check_seed, shorten
from multigrid.config import GridConfig
from multigrid.datasets._recipe import KEY, Recipe, check_recipe, find_spec, read_recipe, recipe_of_episodes, wrap_env
from multigrid.datasets._rows import AgentRow, rows_of_episodes, rows_of_worlds, update_digest
from multigrid.datasets._writer import ARRAYS, import_minari, open_writer
from multigrid.envs.grid_world_vector import RowColumnGridWorldVectorEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.evaluation._playing import VectorPolicy
from multigrid.game import Game
from multigrid.policies._baselines import BUILT_IN, PolicyFactory, built_in_factory
from multigrid.wrappers import StandardVector

if TYPE_CHECKING:
    import minari
    from gymnasium.vector import VectorEnv

    AnyVectorEnv: TypeAlias = VectorEnv[Any, Any, Any]

# What Minari adds to the ids of a row.
_OTHER_IDS = ("id", "total_steps")


def record(
    vector_env: VectorEnv[Any, Any, Any],
    policy: VectorPolicy,
    name: str,
    *,
    episodes: int,
    policy_name: str,
    seed: int = 0,
) -> minari.MinariDataset:
    """Play episodes of a vector env, and write them as a Minari dataset while they are played.

    Each agent's part of a world's episode, up to the agent's own end, is one of Minari's episodes, here called a row.
    Rows are in the order of the worlds' episodes, and of the agents in each. A row has

    - the observations, actions, rewards and flags of the agent, in Minari's own form;
    - unless the world is ``multigrid/GridWorld-v0`` or ``-v1``, ``infos["state"]``: the vector env's ``state()``, of
      the row's world;
    - in its metadata "seed" and "world", the seed and the number of the world's episode, "agent", and the metrics of
      the whole episode, see `multigrid.core.metrics`.

    The dataset's metadata contain the configuration, the seeds and a SHA-256 of the rows: see `verify` and
    `regenerate`, which needs the policy as well. A single agent in an empty square with the default observations is
    ``multigrid/GridWorld-v0``, which ``dataset.recover_environment()`` returns.

    Args:
        vector_env: what `multigrid.vector_env` returns, or ``gym.make_vec("multigrid/GridWorld-v0", ...)``, with
            ``autoreset_mode="Disabled"`` and a limit of steps. In `multigrid.wrappers.StandardVector`, observations
            and masks are of the standard form, and states are vectors. If the policy's actions depend on the state of
            each world alone, the rows do not depend on the number of worlds.
        policy: a function of the vector env and its last observations that returns an action for each row, integers
            (num_envs,), such as ``lambda envs, observations: planning.expert(envs)``.
        name: of the dataset, ``(NAMESPACE/)NAME-vVERSION``.
        episodes: the number of the worlds' episodes.
        policy_name: the name of the policy or planner: Minari's "algorithm_name".
        seed: episode i is that of a `multigrid.MultiGridEnv` seeded with this number plus i.

    Returns:
        The dataset. ``minari.load_dataset(name)`` loads it again.

    Raises:
        ModuleNotFoundError: Minari is not installed.
        TypeError, ValueError: an argument is of the wrong type or out of range.
        FileExistsError: there is a dataset of this name.

    >>> import os, tempfile
    >>> from unittest import mock
    >>> import multigrid
    >>> envs = multigrid.vector_env(2, num_agents=2, allow_stay=True, autoreset_mode="Disabled")
    >>> expert = lambda envs, observations: multigrid.planning.expert(envs)
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, MINARI_DATASETS_PATH=folder):
    ...     dataset = record(envs, expert, "small-v0", episodes=3, policy_name="pibt")
    ...     dataset.total_episodes
    6

    See the page "Datasets" (docs/how_to/datasets.md in the source).
    """
    worlds = _check_vector_env(vector_env)
    seed, episodes, is_standard = check_seed(seed), check_int("episodes", episodes, 1), worlds is not vector_env
    row_column = isinstance(worlds, RowColumnGridWorldVectorEnv)
    recipe = Recipe(worlds.config, policy_name, seed, episodes, worlds.num_worlds, is_standard, row_column)
    return _record_worlds(recipe, vector_env, policy, name)


def record_episodes(
    config: GridConfig, factory: PolicyFactory, name: str, *, episodes: int, policy_name: str, seed: int = 0
) -> minari.MinariDataset:
    """Play episodes one after the other, and write them as a Minari dataset, as `record` does.

    ``multigrid rollout --dataset`` writes the same. The states are those of `multigrid.wrappers.StandardParallel` if
    the observations are of the standard form.

    Args:
        config: the world, with a limit of steps, and the observations to record, such as those of
            `multigrid.wrappers.standard_config`.
        factory: returns the policy of an episode for its seed, such as
            ``lambda seed: planning.controller("lacam", seed)``.
        name: as for `record`.
        episodes: the number of episodes.
        policy_name: as for `record`.
        seed: episode i and its policy are seeded with this number plus i.

    Returns:
        The dataset.

    Raises:
        ModuleNotFoundError, TypeError, ValueError, FileExistsError: as `record`.
    """
    return _record_episodes(recipe_of_episodes(config, policy_name, seed, episodes), factory, name)


def verify(dataset: minari.MinariDataset) -> str:
    """Read all rows of a dataset, and return their SHA-256 if it is the one in the dataset's metadata.

    Raises:
        ValueError: rows were changed or are missing, or the dataset was not recorded by this package.
    """
    storage: Any = dataset.storage
    check_recipe(storage.metadata)
    digest, everything = hashlib.sha256(), range(storage.total_episodes)
    for ids, episode in zip(storage.get_episode_metadata(everything), storage.get_episodes(everything), strict=True):
        kept = {name: value for name, value in ids.items() if name not in _OTHER_IDS}
        update_digest(digest, kept, {name: episode[name] for name in ARRAYS})
    expected, found = storage.metadata[KEY]["sha256"], digest.hexdigest()
    if found != expected:
        raise ValueError(
            f"the rows of {dataset.id} have the SHA-256 {found}, but its metadata say {expected}: they have been "
            "changed since they were recorded"
        )
    return found


def regenerate(
    dataset: minari.MinariDataset,
    name: str,
    policy: VectorPolicy | PolicyFactory | None = None,
    *,
    game: type[Game] | None = None,
) -> minari.MinariDataset:
    """Record a dataset again from its metadata, under another name, and compare the checksums.

    Args:
        dataset: one that `record`, `record_episodes` or ``multigrid rollout --dataset`` has written. Its rows are not
            read.
        name: of the new dataset.
        policy: the argument `policy` of `record`, in its first state, or `factory` of `record_episodes`. None: the
            built-in policy that ``multigrid rollout`` used.
        game: the game of the dataset, if it has one that is neither of this package nor registered with
            `multigrid.register`.

    Returns:
        The new dataset, whose rows have the same checksum.

    Raises:
        ModuleNotFoundError: Minari is not installed.
        ValueError: there is no recipe; it is from another version of the rules, or of another game; `policy` is
            required; or the rows differ, because the policy differs, its random generator was used before, or it
            depends on the machine. No dataset is written.
        FileExistsError: there is a dataset of this name.
    """
    metadata = dataset.storage.metadata
    recipe = read_recipe(metadata, game)
    given: Any = policy
    if given is None and recipe.num_worlds is None and recipe.policy in BUILT_IN:
        given = built_in_factory(recipe.policy)
    if given is None:
        raise ValueError(
            f"the dataset was recorded with the policy {shorten(recipe.policy)}, which cannot be made from its name; "
            "expected policy=..., the one that it was recorded with"
        )
    expected = metadata[KEY]["sha256"]
    if recipe.num_worlds is None:
        return _record_episodes(recipe, given, name, expected)
    mode, (size, limit) = AutoresetMode.DISABLED, (recipe.config.width, recipe.config.max_cycles)
    envs: Any = (
        RowColumnGridWorldVectorEnv(recipe.num_worlds, size=size, max_episode_steps=limit, autoreset_mode=mode)
        if recipe.row_column
        else MultiGridVectorEnv(recipe.config, recipe.num_worlds, autoreset_mode=mode)
    )
    return _record_worlds(recipe, StandardVector(envs) if recipe.standard else envs, given, name, expected)


def _check_vector_env(vector_env: Any) -> MultiGridVectorEnv:
    """Return the vector env without its wrappers, if episodes of it can be recorded."""
    worlds = vector_env.env if isinstance(vector_env, StandardVector) else vector_env
    if not isinstance(worlds, MultiGridVectorEnv):
        raise TypeError(
            f"vector_env has a {type(worlds).__name__}; expected what multigrid.vector_env returns, or that in a "
            "StandardVector: other wrappers could not be applied again when the dataset is recorded again"
        )
    if worlds.autoreset_mode is not AutoresetMode.DISABLED:
        raise ValueError(
            f"vector_env has autoreset_mode {worlds.autoreset_mode.value!r}, but each episode gets a seed of its own; "
            'make it with autoreset_mode="Disabled"'
        )
    return worlds


def _record_worlds(
    recipe: Recipe, vector_env: Any, policy: VectorPolicy, name: str, expected: str | None = None
) -> minari.MinariDataset:
    read_states = vector_env.state if find_spec(recipe.config) is None else None
    spaces = vector_env.single_observation_space, vector_env.single_action_space
    return _write(name, recipe, spaces, rows_of_worlds(vector_env, policy, recipe.seeds, read_states), expected)


def _record_episodes(
    recipe: Recipe, factory: PolicyFactory, name: str, expected: str | None = None
) -> minari.MinariDataset:
    env = wrap_env(MultiGridEnv(recipe.config), recipe)
    rows = rows_of_episodes(env, factory, recipe.seeds, with_states=find_spec(recipe.config) is None)
    return _write(name, recipe, (env.observation_space("agent_0"), env.action_space("agent_0")), rows, expected)


def _write(
    name: str, recipe: Recipe, spaces: tuple[Any, Any], episodes: Iterable[list[AgentRow]], expected: str | None
) -> minari.MinariDataset:
    """Write the rows of episodes, and return the dataset; `expected` is their checksum, or None if any will do."""
    library = import_minari()
    with open_writer(name, recipe, spaces) as writer:
        for rows in episodes:
            writer.add(rows)
        if expected not in (None, writer.checksum):
            raise ValueError(
                f"the rows recorded anew have the SHA-256 {writer.checksum}, but the dataset's metadata say "
                f"{expected}; expected the policy {shorten(recipe.policy)} as it was at first"
            )
    return library.load_dataset(name)  # type: ignore[no-any-return]
