"""Record episodes, and replay them."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pettingzoo.utils.wrappers import BaseParallelWrapper

from multigrid.actions import add_messages, check_action
from multigrid.core.states import BEGINNINGS, WALLS, walls_of
from multigrid.envs._annotations import Info, State
from multigrid.envs._env_base import SHAPING, forward
from multigrid.envs.parallel import MultiGridEnv
from multigrid.games._stored import name_game
from multigrid.maps._text import ParsedMap
from multigrid.scenarios._scenario import ABSENT, NOT_STORED, Scenario, needs_start


class Step(NamedTuple):
    """The results of a reset or a step, by agent."""

    observations: dict[str, Any]
    """The agents' observations."""
    rewards: dict[str, float]
    """The agents' rewards; empty after a reset, as are the flags."""
    terminations: dict[str, bool]
    """Whether each agent has terminated."""
    truncations: dict[str, bool]
    """Whether each agent has been truncated."""
    infos: dict[str, Info]
    """The agents' infos."""


class RecordEpisode(BaseParallelWrapper[str, Any, Any]):
    """Record each episode from its reset on; `scenario` returns the recording.

    Args:
        env: a `MultiGridEnv` without wrappers.

    Raises:
        TypeError: `env` is something else.

    >>> from multigrid import parallel_env
    >>> env = RecordEpisode(parallel_env(size=(4, 3), num_agents=2))
    >>> observations, infos = env.reset(seed=0)
    >>> _ = env.step({"agent_0": 0, "agent_1": 3})
    >>> env.scenario("first").actions.tolist()
    [[0, 3]]
    """

    np_random = forward("_grid", "np_random", "The random generator of the environment; it can be set.")
    max_cycles = forward("_grid", "max_cycles", "The environment's time limit in steps, or None; it can be set.")
    shaping = forward("_grid", "shaping", SHAPING)

    def __init__(self, env: MultiGridEnv) -> None:
        if not isinstance(env, MultiGridEnv):
            raise TypeError(f"env is of type {type(env).__name__}; expected a MultiGridEnv without wrappers")
        super().__init__(env)
        self._grid = env
        if env.config.game is not None:
            name_game(env.config.game)  # now, for its file may be edited while it is played
        self._start: State | None = None
        self._shaping: float | None = None
        self._actions: list[list[int]] = []
        self._log = _Log()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the environment, and start a recording."""
        observations, infos = self._grid.reset(seed=seed, options=options)
        self._start = self._grid.get_state()
        self._shaping = getattr(self._grid, "shaping", None)
        self._actions, self._log = [], _Log()
        self._log.note(Step(observations, {}, {}, {}, infos))
        return observations, infos

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Step the environment, and record the actions unless they are invalid or the episode is over."""
        agents = list(self._grid.agents)
        results = self._grid.step(actions)
        if agents:
            valid = {
                agent: check_action(
                    actions[agent], self._grid.config.num_actions, agent, self._grid.config.message_bits
                )
                for agent in agents
            }
            self._actions.append([valid.get(agent, ABSENT) for agent in self._grid.possible_agents])
            self._log.note(Step(*results))
        return results

    def set_state(self, state: State | dict[str, Any]) -> None:
        """Set a state, as `MultiGridEnv.set_state` does, and drop the recording, which lacks the steps before."""
        self._grid.set_state(state)
        self._start = None

    def scenario(self, name: str) -> Scenario:
        """Return the episode so far, after checking that it can be replayed.

        Raises:
            ValueError: there was no reset, or a `set_state` after it; a generator other than PCG64 sampled new
                targets; or the replay differs for another reason, such as a caller that sampled from ``np_random``
                or set `shaping` during the episode.
        """
        start, env = copy.deepcopy(self._start), self._grid  # the caller may change what is returned
        if start is None:
            raise ValueError("no episode has been recorded from its reset on; call reset(), and then no set_state()")
        walls: Any = walls_of(env.config, start)
        draws = env.config.on_target == "restart" and "target_lists" not in start
        state, given = None, dict[str, Any](size=None, num_agents=None)
        if self._shaping is not None:
            given["options"] = {**(env.config.given["options"] or {}), "shaping": self._shaping}
        if not needs_start(env.config):
            walls = ParsedMap(walls, start["location"], start.get("target_lists", start["target"]))
        else:
            given |= {"num_agents": env.config.num_agents, "least_agents": env.config.least_agents}
            # A replay is on a known map, whose episodes have no level.
            left_out = [*NOT_STORED, WALLS, *(name for name in start if name.split()[0] == BEGINNINGS)]
            if env.config.has_own_maps:
                walls = None
                left_out.remove("map_index")
            draws, state = True, {name: value for name, value in start.items() if name not in left_out}
        scenario = Scenario(
            name,
            dataclasses.replace(env.config, walls=walls, max_cycles=env.max_cycles, **given),
            stream=start["np_random"] if draws else None,
            actions=np.array(self._actions, dtype=np.int64).reshape(-1, len(env.possible_agents)),
            digests=tuple(self._log.digests),
            start=state,
        )
        for _ in replay(scenario):
            pass
        return scenario


def replay(scenario: Scenario, env: MultiGridEnv | None = None) -> Iterator[Step]:
    """Replay a recorded episode, and compare each step with the recording, bit for bit.

    Args:
        scenario: a scenario with actions.
        env: an environment that `Scenario.env` returned; by default a new one.

    Yields:
        A `Step` for the reset and one for each step of the recording.

    Raises:
        TypeError: `scenario` is not a Scenario, or `env` not a `MultiGridEnv`.
        ValueError: the scenario has no actions, or a step differs from the recording.

    >>> import multigrid.scenarios
    >>> scenario = multigrid.scenarios.get("empty-9x7-2")
    >>> steps = list(replay(scenario))
    >>> len(steps) == len(scenario.actions) + 1, all(steps[-1].terminations.values())
    (True, True)
    """
    if not isinstance(scenario, Scenario):
        raise TypeError(f"scenario is of type {type(scenario).__name__}; expected a Scenario")
    if env is not None and not isinstance(env, MultiGridEnv):
        raise TypeError(f"env is of type {type(env).__name__}; expected what Scenario.env returned")
    if scenario.actions is None or scenario.digests is None:
        raise ValueError(f"scenario {scenario.name!r} has no actions; only a recorded episode can be played again")
    env = scenario.env() if env is None else env
    log = _Log()
    for number, actions in enumerate([None, *scenario.actions.tolist()]):
        if actions is None:
            observations, infos = env.reset()
            step = Step(observations, {}, {}, {}, infos)
        else:
            sent = add_messages(actions, env.config.num_actions, env.config.message_bits)
            step = Step(*env.step(dict(zip(env.possible_agents, sent, strict=True))))
        log.note(step)
        if log.digests[-1] != scenario.digests[number]:
            differs = f"step {number} of scenario {scenario.name!r} differs from the recording"
            raise ValueError(f"{differs}: the environment, or the recording, has changed")
        yield step


class _Log:
    """A running digest of the results of an environment, the same on every machine."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.digests: list[str] = []

    def note(self, step: Step) -> None:
        parts: list[bytes] = []
        for agent, observation in step.observations.items():
            parts.append(agent.encode())
            for name, array in _list_arrays("", observation):
                little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
                parts += [f"{name} {little.dtype.str} {little.shape}".encode(), little.tobytes()]
            info = step.infos[agent]
            # Agents of a game without targets have no distance.
            parts.append(struct.pack("<dq", info.get("distance", 0.0), info["outcome"]))
            if step.rewards:
                flags = step.terminations[agent], step.truncations[agent]
                parts.append(struct.pack("<d??", step.rewards[agent], *flags))
        self._hash.update(b"".join(parts))
        self.digests.append(self._hash.hexdigest()[:8])


def _list_arrays(name: str, seen: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of an observation with their names; in a game, it may have dicts, tuples, numbers and texts."""
    if isinstance(seen, dict | tuple):
        for key, part in seen.items() if isinstance(seen, dict) else enumerate(seen):
            yield from _list_arrays(f"{name}.{key}" if name else str(key), part)
    else:
        yield name, np.asarray(seen)
