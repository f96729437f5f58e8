"""Rows, each the part of a world's episode that one agent plays: play them, and add them to a checksum."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import add_messages
from multigrid.evaluation._playing import VectorPolicy, play, play_episodes
from multigrid.integrations.training import map_parts
from multigrid.policies._baselines import PolicyFactory
from multigrid.scenarios import Step


class AgentRow(NamedTuple):
    """What one agent sees, does and gets in T steps of an episode, from its reset to the agent's own end.

    Arrays have the shape (T,), but (T + 1, ...) for observations (an array or a dict of arrays) and for states, which
    are those of the whole world: before each step, and after the last one. `world` is the number of the world's episode
    in the dataset. Of the metrics of the whole episode, "success" and "arrival_step" are the agent's own.
    """

    seed: int
    world: int
    agent: int
    observations: Any
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    states: NDArray[Any] | None
    metrics: dict[str, Any]

    @property
    def ids(self) -> dict[str, Any]:
        """The ids and the metrics, by name."""
        return {"seed": self.seed, "world": self.world, "agent": self.agent, **self.metrics}

    @property
    def num_bytes(self) -> int:
        """The size of the arrays."""
        return sum(array.nbytes for _, array in _flatten(self._asdict()))


def _make_row(
    ids: tuple[int, int, int], observations: Any, steps: Sequence[Any], states: Any, metrics: Mapping[str, Any]
) -> AgentRow:
    """Return a row. `ids` are its seed, episode and agent; `steps` its actions, rewards, terminations and truncations.

    A single array of observations has the name "". The states are those of the whole episode, or None; the metrics are
    those of the world, (N,) where they are by agent.
    """
    # Copies: a view would keep all agents' arrays in memory.
    parts = {part: np.array(array) for part, array in observations.items()}
    kinds: tuple[Any, ...] = (np.int64, np.float64, np.bool_, np.bool_)
    columns: list[Any] = [np.array(values, kind) for values, kind in zip(steps, kinds, strict=True)]
    kept = None if states is None else states[: len(columns[0]) + 1].copy()
    plain = {name: np.asarray(value) for name, value in metrics.items()}
    numbers = {name: (value[ids[2]] if value.ndim else value).item() for name, value in plain.items()}
    values = (parts.get("", parts), *columns, kept, numbers)
    return AgentRow(*ids, *values)


def update_digest(digest: Any, ids: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Add a row to a running SHA-256: its ids and metrics, and its arrays with their names, types and shapes."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in ids.items()}
    digest.update(json.dumps(plain, sort_keys=True).encode())
    for name, array in sorted(_flatten(arrays)):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)


def _flatten(arrays: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in arrays.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}/")
        elif value is not None:
            yield prefix + name, np.asarray(value)


class _Snapshot(NamedTuple):
    """Observations of all rows, by part, and states of all worlds, or None, at one step."""

    observations: Mapping[str, NDArray[Any]]
    states: NDArray[Any] | None


def rows_of_worlds(
    vector_env: Any, policy: VectorPolicy, seeds: range, read_states: Callable[[], NDArray[Any]] | None
) -> Iterator[list[AgentRow]]:
    """Play an episode for each seed, and yield the rows of each, in the order of the seeds."""
    worlds = vector_env.unwrapped
    # The last steps of all worlds, as far back as the episodes that are under way: the snapshot before each, and the
    # actions, rewards, terminations and truncations.
    steps: deque[tuple[_Snapshot, tuple[Any, ...]]] = deque()
    now, following, began = 0, 0, np.zeros(worlds.num_worlds, np.int64)
    finished: dict[int, list[AgentRow]] = {}
    before: Any = None
    for actions, step, numbers in play_episodes(vector_env, policy, seeds):
        copied: Any = map_parts(np.copy, step.observations)
        snapshot = _Snapshot(_name_parts(copied), None if read_states is None else read_states().copy())
        if actions is not None:
            chosen = add_messages(actions, worlds.config.num_actions, worlds.config.message_bits)
            steps.append((before, (chosen, *step[1:4])))
            now += 1
            over = worlds.episode_over
            metrics = worlds.metrics() if over.any() else {}
            for world in np.flatnonzero(over & (numbers < len(seeds))).tolist():
                span = [steps[index - now] for index in range(began[world], now)]
                of_world = {name: values[world] for name, values in metrics.items()}
                number = int(numbers[world])
                rows = list(_cut(span, snapshot, world, (seeds[number], number), of_world))
                state: Any = worlds.get_state([world])
                # Where numbers of agents are drawn, the last agents may not have taken part.
                finished[number] = rows[: state["num_agents"][0]] if "num_agents" in state else rows
            began[over] = now
            while len(steps) > now - began.min():
                steps.popleft()
            while following in finished:
                yield finished.pop(following)
                following += 1
        before = snapshot


def _cut(
    span: Sequence[Any], last: _Snapshot, world: int, ids: tuple[int, int], metrics: Mapping[str, Any]
) -> Iterator[AgentRow]:
    """Yield the rows of a world's episode, each up to its agent's end."""
    snapshots = [*(before for before, _ in span), last]
    num_agents = len(metrics["success"])
    rows = slice(world * num_agents, (world + 1) * num_agents)
    stacked = {part: np.stack([one.observations[part][rows] for one in snapshots]) for part in last.observations}
    states = None if last.states is None else np.stack([one.states[world] for one in snapshots])
    played = [np.stack([array[rows] for array in arrays]) for arrays in zip(*(step for _, step in span), strict=True)]
    *_, terminations, truncations = played
    lengths = (terminations | truncations).argmax(axis=0) + 1
    for agent, length in enumerate(lengths.tolist()):
        parts = {part: array[: length + 1, agent] for part, array in stacked.items()}
        yield _make_row((*ids, agent), parts, [array[:length, agent] for array in played], states, metrics)


def rows_of_episodes(env: Any, factory: PolicyFactory, seeds: range, *, with_states: bool) -> Iterator[list[AgentRow]]:
    """Play an episode of a ParallelEnv for each seed, one after the other, and yield the rows of each."""
    buffer = EpisodeBuffer(env, with_states=with_states)
    for world, seed in enumerate(seeds):
        policy = factory(seed)
        for actions, step in play(env, lambda _, seen: policy(env.unwrapped, seen), seed):  # noqa: B023 - called at once
            buffer.note(actions, step)
        yield list(buffer.rows(seed, world))


class EpisodeBuffer:
    """Store one episode of a ParallelEnv: `note` takes what `multigrid.evaluation._playing.play` yields."""

    def __init__(self, env: Any, *, with_states: bool) -> None:
        self._env = env
        self._with_states = with_states
        config = env.unwrapped.config
        self._sizes = config.num_actions, config.message_bits
        self._observations: dict[str, list[Any]] = {}
        self._steps: dict[str, list[tuple[Any, ...]]] = {}
        self._states: list[NDArray[Any]] = []

    def note(self, actions: Mapping[str, Any] | None, step: Step) -> None:
        """Store a step; a reset, without actions, begins another episode."""
        if actions is None:
            self._observations, self._states = {agent: [] for agent in step.observations}, []
            self._steps = {agent: [] for agent in step.observations}
        for agent, observation in step.observations.items():
            self._observations[agent].append(observation)
            if actions is not None:
                flags = step.terminations[agent], step.truncations[agent]
                action = add_messages(np.asarray(actions[agent])[None], *self._sizes)[0]
                self._steps[agent].append((action, step.rewards[agent], *flags))
        if self._with_states:
            self._states.append(self._env.state())

    def rows(self, seed: int, world: int) -> Iterator[AgentRow]:
        """Yield the rows of the episode, which has ended; `seed` and `world` are as in an `AgentRow`."""
        metrics = self._env.unwrapped.metrics()
        states = np.stack(self._states) if self._with_states else None
        for index, (agent, observations) in enumerate(self._observations.items()):
            named = [_name_parts(observation) for observation in observations]
            stacked = {part: np.stack([one[part] for one in named]) for part in named[0]}
            yield _make_row((seed, world, index), stacked, list(zip(*self._steps[agent], strict=True)), states, metrics)


def _name_parts(observation: Any) -> Mapping[str, Any]:
    return observation if isinstance(observation, Mapping) else {"": observation}
