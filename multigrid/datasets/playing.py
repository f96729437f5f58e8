"""Play episodes and yield their rows: those of a vector env, or one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.datasets.rows import Row, make_row
from multigrid.integrations.training import map_parts
from multigrid.policies.named import PolicyFactory

__all__ = ["EpisodeBuffer", "VectorPolicy", "play_episodes", "play_worlds"]

VectorPolicy: TypeAlias = Callable[[Any, Any], NDArray[Any]]
"""A function of a vector env and its last observations that returns an action for each row, integers (num_envs,)."""


class _Snapshot(NamedTuple):
    """Observations and states of all worlds at one step."""

    observations: dict[str, NDArray[Any]]
    """(num_envs, ...) each, by part; a single array is named ""."""
    states: NDArray[Any] | None
    """(num_worlds, ...), or None."""


class _History:
    """The last steps of all worlds, as far back as the episodes that are under way.

    Args:
        vector_env: the vector env.
        read_states: as for `play_worlds`.
    """

    def __init__(self, vector_env: Any, read_states: Callable[[], NDArray[Any]] | None) -> None:
        self._num_agents: int = vector_env.unwrapped.config.num_agents
        self._read_states = read_states
        self._began = np.zeros(vector_env.unwrapped.num_worlds, np.int64)
        self._steps: deque[tuple[_Snapshot, tuple[NDArray[Any], ...]]] = deque()
        self._now = 0

    def snapshot(self, observations: Any) -> _Snapshot:
        """Return copies of observations, with the states."""
        copied: Any = map_parts(np.copy, observations)
        parts = dict(copied) if isinstance(copied, Mapping) else {"": copied}
        return _Snapshot(parts, None if self._read_states is None else self._read_states().copy())

    def add(self, before: _Snapshot, *results: NDArray[Any]) -> None:
        """Add a step: the snapshot before it, and its actions, rewards, terminations and truncations."""
        self._steps.append((before, results))
        self._now += 1

    def cut(self, ids: tuple[int, int], world: int, last: _Snapshot, metrics: Mapping[str, NDArray[Any]]) -> list[Row]:
        """Return the rows of the episode of a world that has ended with the last step, each up to its agent's end."""
        span = [self._steps[step - self._now] for step in range(self._began[world], self._now)]
        snapshots = [*(before for before, _ in span), last]
        rows = slice(world * self._num_agents, (world + 1) * self._num_agents)
        stacked = {part: np.stack([one.observations[part][rows] for one in snapshots]) for part in last.observations}
        states = (
            np.stack([one.states[world] for one in snapshots if one.states is not None]) if self._read_states else None
        )
        played = [
            np.stack([array[rows] for array in arrays]) for arrays in zip(*(step for _, step in span), strict=True)
        ]
        *_, terminations, truncations = played
        lengths = (terminations | truncations).argmax(axis=0) + 1
        of_world = {name: values[world] for name, values in metrics.items()}
        return [
            make_row(
                (*ids, agent),
                {part: array[: length + 1, agent] for part, array in stacked.items()},
                [array[:length, agent] for array in played],
                states,
                of_world,
            )
            for agent, length in enumerate(lengths.tolist())
        ]

    def begin(self, worlds: NDArray[np.int64]) -> None:
        """Begin new episodes in some worlds, and forget the steps that no world needs any more."""
        self._began[worlds] = self._now
        while len(self._steps) > self._now - self._began.min():
            self._steps.popleft()


def play_worlds(
    vector_env: Any, policy: VectorPolicy, seeds: range, read_states: Callable[[], NDArray[Any]] | None
) -> Iterator[list[Row]]:
    """Play an episode for each seed, and yield the rows of each, in the order of the seeds.

    A world whose episode has ended begins that of the next seed. Which world plays a seed changes nothing in it, unless
    the policy acts by more than the state of a world.

    Args:
        vector_env: a vector env in DISABLED mode, whose episodes have a limit of steps.
        policy: chooses the actions.
        seeds: of the resets.
        read_states: returns the states of all worlds, (E, ...); None leaves them out.
    """
    worlds, history = vector_env.unwrapped, _History(vector_env, read_states)
    number = np.arange(worlds.num_worlds)
    following, upcoming = 0, worlds.num_worlds
    finished: dict[int, list[Row]] = {}
    # Worlds without a seed continue with extra episodes, which are discarded: all worlds are stepped together.
    observations, _ = vector_env.reset(seed=(seeds.start + number).tolist())
    while following < len(seeds):
        before = history.snapshot(observations)
        actions = np.array(policy(vector_env, observations))
        observations, *results, _ = vector_env.step(actions)
        history.add(before, actions, *results)
        over = worlds.episode_over
        if not over.any():
            continue
        last, metrics, ended = history.snapshot(observations), worlds.metrics(), np.flatnonzero(over)
        for world in ended[number[ended] < len(seeds)].tolist():
            place = int(number[world])
            finished[place] = history.cut((seeds[place], place), world, last, metrics)
        history.begin(ended)
        number[ended] = np.arange(upcoming, upcoming + len(ended))
        upcoming += len(ended)
        again = [seeds.start + place if is_over else None for place, is_over in zip(number.tolist(), over, strict=True)]
        rows = over.repeat(worlds.config.num_agents)
        observations, _ = vector_env.reset(seed=again, options={"reset_mask": rows})
        while following in finished:
            yield finished.pop(following)
            following += 1


def play_episodes(env: Any, factory: PolicyFactory, seeds: range, *, with_states: bool) -> Iterator[list[Row]]:
    """Play an episode of a ParallelEnv for each seed, one after the other, and yield the rows of each.

    Args:
        env: what `multigrid.parallel_env` returns, wrapped or not.
        factory: returns the policy of an episode for its seed.
        seeds: of the resets and of the policies.
        with_states: whether rows have the states of the whole world.
    """
    buffer = EpisodeBuffer(env, with_states=with_states)
    for world, seed in enumerate(seeds):
        policy = factory(seed)
        observations, _ = env.reset(seed=seed)
        buffer.begin(observations)
        while env.agents:
            actions = policy(env.unwrapped, observations)
            results = env.step(actions)
            observations = results[0]
            buffer.add(actions, results)
        yield list(buffer.rows(seed, world))


class EpisodeBuffer:
    """Store the steps of one episode of a ParallelEnv: call `begin` after its reset, and `add` after each step.

    Args:
        env: what `multigrid.parallel_env` returns, wrapped or not.
        with_states: whether rows have the states of the whole world.
    """

    def __init__(self, env: Any, *, with_states: bool) -> None:
        self._env = env
        self._with_states = with_states
        self._observations: dict[str, list[Any]] = {}
        self._steps: dict[str, list[tuple[Any, ...]]] = {}
        self._states: list[NDArray[Any]] = []

    def begin(self, observations: Mapping[str, Any]) -> None:
        """Forget the episode before, and store the first observations."""
        self._observations = {agent: [observation] for agent, observation in observations.items()}
        self._steps = {agent: [] for agent in observations}
        self._states = [self._env.state()] if self._with_states else []

    def add(self, actions: Mapping[str, Any], results: tuple[Any, ...]) -> None:
        """Store the actions of a step, and what ``env.step`` has returned for them."""
        observations, rewards, terminations, truncations, _ = results
        for agent, observation in observations.items():
            self._observations[agent].append(observation)
            step = (actions[agent], rewards[agent], terminations[agent], truncations[agent])
            self._steps[agent].append(step)
        if self._with_states:
            self._states.append(self._env.state())

    def rows(self, seed: int, world: int) -> Iterator[Row]:
        """Yield the rows of the episode, which has ended; `seed` and `world` are as in a `Row`."""
        metrics = self._env.unwrapped.metrics()
        states = np.stack(self._states) if self._with_states else None
        for index, (agent, observations) in enumerate(self._observations.items()):
            named = [_name_parts(observation) for observation in observations]
            stacked = {part: np.stack([one[part] for one in named]) for part in named[0]}
            yield make_row((seed, world, index), stacked, list(zip(*self._steps[agent], strict=True)), states, metrics)


def _name_parts(observation: Any) -> Mapping[str, Any]:
    return observation if isinstance(observation, Mapping) else {"": observation}
