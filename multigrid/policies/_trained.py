"""Policies that ``multigrid train`` has trained; the libraries that trained them are imported when one is loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_seed, shorten
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.game import Game, describe
from multigrid.integrations.training import check_hidden
from multigrid.policies._learned import POLICY_STREAM
from multigrid.scenarios._worlds import make_grid, read_config


def load(
    folder: str | PathLike[str], *, game: type[Game] | None = None, seed: int | np.random.Generator = 0
) -> Trained:
    """Return the policy in the folder of a run of ``multigrid train``.

    Its world, with the observations and the rules of the training, is its attribute `config`. Only weights are read
    from the folder, and no code in it is run. This needs the extra ``train``.

    Args:
        folder: of a run that has ended.
        game: the game that it was trained in, if it is neither of this package nor registered with
            `multigrid.register`.
        seed: an integer, which may equal the environment's seed (the streams differ), or a generator that samples the
            actions.

    Raises:
        ModuleNotFoundError: Stable-Baselines3 is not installed.
        FileNotFoundError: there is no such folder, or it has no config.json or no model.zip.
        TypeError: `folder`, `game` or `seed` has another type.
        ValueError: the files are malformed, of another version of the rules, or of another game, or one that is
            not found; or `seed` is negative.

    See the section "Use the trained model" of docs/how_to/command_line.md in the source. ::

        policy = multigrid.policies.load("runs/20261129-093000")
        multigrid.evaluate(policy.config, policy, seeds=range(100))
    """
    folder = Path(folder)
    if game is not None:
        describe(game)  # before errors of the file
    config, hidden, recurrent = read_training(folder, game)
    # They need torch, which takes seconds to import.
    from multigrid.integrations._sb3_policies import read_policy
    from multigrid.integrations.sb3 import Actor

    network = read_policy(folder, config, hidden, recurrent=recurrent)
    return Trained(functools.partial(Actor, network), config, seed, remembers=recurrent)


def read_training(folder: Path, game: type[Game] | None = None) -> tuple[GridConfig, tuple[int, ...], bool]:
    """Return what config.json says of a trained model: its world, its hidden layers, and whether it is recurrent."""
    if missing := [name for name in ("config.json", "model.zip") if not (folder / name).is_file()]:
        lacks = f"has no {' and no '.join(missing)} in it" if folder.is_dir() else "is not a folder"
        raise FileNotFoundError(f"{folder} {lacks}; expected the folder of a run of `multigrid train` that has ended")

    def convert(stored: dict[str, Any]) -> tuple[GridConfig, tuple[int, ...], bool]:
        recurrent = stored["recurrent"]
        if type(recurrent) is not bool:
            raise TypeError(f"recurrent is {recurrent!r}; expected true or false")
        return make_grid(stored["grid"], game), check_hidden(stored["hidden"], recurrent=recurrent), recurrent

    return read_config(folder, convert)


class Trained:
    """A trained policy: a callable that takes an environment and its last observations. `load` returns it.

    Agents sample their actions, because with the most probable ones two agents that block each other would repeat their
    blocked moves forever. It can be pickled. A recurrent one remembers what it has seen in the episode of one
    environment: use one for each (`seeded`). Its memory begins anew with an episode, and, except
    in `act`, if the policy was not called at the step before.

    Args:
        make_actor: a function of the number of rows, one for each agent of each world. It returns a function
            ``(observations, indices, generator)`` that returns K actions. The observations of K rows are an array
            (K, ...) or a dict of such arrays; `indices` are those of the rows.
        config: the world of the training. An environment whose agents observe the same can differ in all else.
        seed: as for `load`.
        remembers: whether what `make_actor` returns has a memory, and a method `forget` of indices.

    Attributes:
        config: the same.
        remembers: the same.

    Raises:
        TypeError: `config` is not a `multigrid.GridConfig`, or `seed` has another type.
        ValueError: `seed` is negative.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(num_agents=2)
    >>> policy = Trained(lambda num_agents: lambda seen, indices, generator: [3] * len(indices), env.config, seed=0)
    >>> policy(env, env.reset(seed=0)[0])
    {'agent_0': 3, 'agent_1': 3}
    """

    def __init__(
        self,
        make_actor: Callable[[int], Any],
        config: GridConfig,
        seed: int | np.random.Generator,
        *,
        remembers: bool = False,
    ) -> None:
        if not isinstance(config, GridConfig):
            raise TypeError(f"config is {shorten(config)}; expected a GridConfig")
        self.config, self._make_actor, self.remembers = config, make_actor, remembers
        self._actor: Any = None
        # The rows of the actor, and the episode and the step with which it goes on.
        self._num_rows, self._following = 0, (0, -1)
        if not isinstance(seed, np.random.Generator):
            seed = np.random.default_rng([check_seed(seed, ", or a numpy Generator"), POLICY_STREAM])
        self._generator = seed
        self._shapes, self._actions = list_shapes(spaces.observation_space(config)), spaces.action_space(config)

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        """Return an action for each agent in ``env.agents``.

        Raises:
            ValueError: the agents of the environment do not observe what was observed in the training, or have fewer
                actions.
        """
        # `observations` also has those of agents that have just left.
        rows = [observations[agent] for agent in env.agents]
        if not rows:
            return {}
        self._check(env.action_space(env.agents[0]), env.observation_space(env.agents[0]))
        in_parts = isinstance(rows[0], dict)
        seen = {name: np.stack([row[name] for row in rows]) for name in rows[0]} if in_parts else np.stack(rows)
        inner: Any = env.unwrapped
        episode, step = inner._moment()  # noqa: SLF001 - the same package
        self._ready_actor(len(env.possible_agents), begins=(episode, step) != self._following)
        self._following = episode, step + 1
        indices = [env.possible_agents.index(agent) for agent in env.agents]
        return dict(zip(env.agents, self._actor(seen, indices, self._generator), strict=True))

    def act(self, vector_env: Any, observations: Any) -> NDArray[np.int64]:
        """Return the actions of all agents of all worlds, int64 (num_worlds * num_agents,), which is (num_envs,).

        Args:
            vector_env: what `multigrid.vector_env` returns.
            observations: its last ones.

        Raises:
            TypeError: `vector_env` is not a `multigrid.MultiGridVectorEnv`.
            ValueError: as when the policy is called.
        """
        if not isinstance(getattr(vector_env, "unwrapped", None), MultiGridVectorEnv):
            raise TypeError(f"vector_env is {shorten(vector_env)}; expected what multigrid.vector_env returns")
        self._check(vector_env.single_action_space, vector_env.single_observation_space)
        self._ready_actor(vector_env.num_envs, begins=False)
        if self.remembers:
            worlds = vector_env.unwrapped
            begun = np.repeat(worlds._worlds.arrays.steps == 0, worlds.config.num_agents)  # noqa: SLF001
            self._actor.forget(np.flatnonzero(begun))
        indices = np.arange(vector_env.num_envs)
        return np.array(self._actor(observations, indices, self._generator), dtype=np.int64)

    def seeded(self, seed: int | np.random.Generator) -> Trained:
        """Return the same policy with its own stream, as `multigrid.evaluate` with `per_episode` needs it."""
        return Trained(self._make_actor, self.config, seed, remembers=self.remembers)

    def _ready_actor(self, num_rows: int, *, begins: bool) -> None:
        """Make an actor, whose memory is empty, unless there is one for as many rows that goes on."""
        if begins or num_rows != self._num_rows:
            self._actor, self._num_rows = self._make_actor(num_rows), num_rows

    def _check(self, actions: Any, observed: Any) -> None:
        if (shapes := list_shapes(observed)) != self._shapes:
            raise ValueError(
                f"agents observe {shapes}, but the policy was trained to observe {self._shapes}; make the environment "
                "with the attribute config of the policy, or with its observe, view_radius, flatten and num_agents"
            )
        # More actions, such as stay, do no harm.
        if actions != self._actions and getattr(actions, "n", 0) < self.config.num_actions:
            raise ValueError(
                f"agents have the actions {actions}, but the policy was trained with {self._actions}; make the "
                "environment with the attribute config of the policy, or with its game and allow_stay"
            )


def list_shapes(space: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parts of a Dict, by key, or of another space, by ""."""
    return {name: part.shape for name, part in getattr(space, "spaces", {"": space}).items()}
