"""N agents on one grid, as a PettingZoo AECEnv.

**Turns.** Agents act in index order. When the last one has acted, the world moves once, by the actions of all; until
then, no observation changes. ``last()`` returns the results of the world's last move for the selected agent; `rewards`
has those of all agents until the next turn, then zeros. An agent that has terminated or was truncated is selected once
more, before all others, for ``step(None)``, and is then no longer in `agents`. An invalid action raises an error, and
the same agent remains selected.

All else is as in the ParallelEnv, `multigrid.envs.parallel`.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from gymnasium.error import ResetNeeded
from pettingzoo.utils import OrderEnforcingWrapper
from pettingzoo.utils.conversions import parallel_to_aec_wrapper
from typing_extensions import override

from multigrid._checks import shorten
from multigrid.actions import add_messages, check_action
from multigrid.envs._agent_dicts import of_agent
from multigrid.envs._annotations import State
from multigrid.envs._env_base import SHAPING, forward
from multigrid.envs.parallel import MultiGridEnv

_OVER = "the episode is over, and no agent is selected; call reset() first"


@dataclasses.dataclass(slots=True)
class _Cycle:
    """What the last step or reset of the world has returned, and how many agents have acted since.

    Every turn ends in one assignment: to `num_acted`, or of another cycle. So an exception of a signal handler leaves
    the env as before the turn or as after it.
    """

    moment: tuple[int, int]  # `MultiGridEnv._moment` of the world
    present: list[str]  # the agents that act in this cycle, in order
    agents: list[str]  # the same, and after them the agents that have ended and are selected first
    observations: dict[str, Any]
    move_rewards: dict[str, float]  # of the world's last move
    cumulative_rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, Any]
    # Of the agents that have acted; any others are left from interrupted turns.
    actions: dict[str, int] = dataclasses.field(default_factory=dict)
    num_acted: int = 0

    @property
    def rewards(self) -> dict[str, float]:
        """The rewards of the world's last move until an agent acts, then zeros."""
        return dict.fromkeys(self.move_rewards, 0.0) if self.num_acted else self.move_rewards

    @property
    def selection(self) -> str:
        """The agent whose turn it is; after the end the last one."""
        if len(self.agents) > len(self.present):
            return self.agents[len(self.present)]
        return self.present[self.num_acted] if self.present else list(self.observations)[-1]

    def without(self, agent: str) -> _Cycle:
        """Return the cycle after the last turn of an agent that has ended."""
        left: dict[str, Any] = {}
        for name in ("cumulative_rewards", "terminations", "truncations", "infos"):
            left[name] = {other: value for other, value in getattr(self, name).items() if other != agent}
        agents = [other for other in self.agents if other != agent]
        return dataclasses.replace(self, agents=agents, move_rewards=dict.fromkeys(left["infos"], 0.0), **left)


def _shown(name: str) -> Any:
    """Return a property that reads a field of the cycle."""

    def read_now(env: MultiGridAECEnv) -> Any:
        try:
            return getattr(env._find_cycle(), name)  # noqa: SLF001
        except ResetNeeded as error:
            raise AttributeError(f"{name} cannot be accessed before reset") from error

    return property(read_now)


class MultiGridAECEnv(OrderEnforcingWrapper[str, Any, Any]):
    """`multigrid.MultiGridEnv` as an AECEnv, with states and metrics.

    Agents act in turn; the world moves after the last one. An agent that has terminated or was truncated is selected
    once more, for ``step(None)``. An invalid action, or a step before a reset or after the episode, raises an error at
    once and changes nothing. Actions, observations, rewards and infos are those of the MultiGridEnv.

    `unwrapped` is the MultiGridEnv; its `reset`, `step` and `set_state` begin a new cycle.

    Raises:
        TypeError: `parallel` is not a MultiGridEnv.

    >>> import multigrid
    >>> game = multigrid.env(size=(4, 3), num_agents=2)
    >>> game.reset(seed=0)
    >>> state = game.get_state()
    >>> for action in (0, 1):
    ...     game.step(action)
    >>> game.set_state(state)
    >>> game.agent_selection, game.metrics()["sum_of_costs"]
    ('agent_0', 0.0)
    """

    agents, agent_selection = _shown("agents"), _shown("selection")
    rewards, _cumulative_rewards = _shown("rewards"), _shown("cumulative_rewards")
    terminations, truncations, infos = _shown("terminations"), _shown("truncations"), _shown("infos")
    shaping = forward("_parallel", "shaping", SHAPING)

    def __init__(self, parallel: MultiGridEnv[Any]) -> None:
        if not isinstance(parallel, MultiGridEnv):
            raise TypeError(f"parallel is of type {type(parallel).__name__}; expected a MultiGridEnv")
        # Not OrderEnforcingWrapper's, which would set `_has_reset`. PettingZoo's conversion has the spaces, and lets
        # `aec_to_parallel` return the MultiGridEnv; the turns are those of this class.
        super(OrderEnforcingWrapper, self).__init__(parallel_to_aec_wrapper(parallel))
        self._parallel = parallel
        self._num_actions, self._message_bits = parallel.config.num_actions, parallel.config.message_bits
        self._cycle: _Cycle | None = None
        self._has_updated = False

    def __copy__(self) -> Any:
        # Two environments that share a world would move each other's agents.
        return copy.deepcopy(self)

    def __str__(self) -> str:
        return str(self.env)

    @property
    def _has_reset(self) -> bool:  # type: ignore[override]
        return self._parallel._moment()[0] > 0  # noqa: SLF001

    def _find_cycle(self) -> _Cycle:
        """Return the cycle of this moment, a new one if the world has changed without it."""
        cycle = self._cycle
        if cycle is None or cycle.moment != self._parallel._moment():  # noqa: SLF001 - the same package
            cycle = self._begin(*self._parallel._last_results())  # noqa: SLF001
        return cycle

    def _begin(self, observations: Any, rewards: dict[str, float], *flags_and_infos: Any) -> _Cycle:
        parallel = self._parallel
        agents, moment = parallel.agents, parallel._moment()  # noqa: SLF001
        # PettingZoo sorts them by name.
        ended = sorted(rewards.keys() - set(agents)) if len(agents) < len(rewards) else []
        cycle = _Cycle(moment, agents, agents + ended, observations, rewards, rewards.copy(), *flags_and_infos)
        self._cycle = cycle
        return cycle

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode of all agents, as `MultiGridEnv.reset`."""
        observations, infos = self._parallel.reset(seed=seed, options=options)
        none = dict.fromkeys(infos, False)
        self._begin(observations, dict.fromkeys(infos, 0.0), none, none.copy(), infos)
        self._has_updated = True

    def step(self, action: Any) -> None:
        """Take the action of the selected agent; the world moves if it is the last of the cycle.

        Args:
            action: an int, a NumPy integer or an integer array of one element; None for an agent that has ended.

        Raises:
            TypeError, ValueError: a bad action; the env is unchanged, and the same agent is selected.
            ResetNeeded: there was no reset yet, or the episode is over.
        """
        self._has_updated = True
        cycle = self._find_cycle()
        present, agent = cycle.present, cycle.selection
        if len(cycle.agents) > len(present):
            if action is not None:
                why = f"{agent} has {'terminated' if cycle.terminations[agent] else 'truncated'}: call step(None)"
                raise ValueError(f"action for {agent} is {shorten(action)}; expected None, since {why}")
            self._cycle = cycle.without(agent)
            return
        if not present:
            raise ResetNeeded(_OVER)
        checked = check_action(action, self._num_actions, agent, self._message_bits)
        sent = add_messages([checked], self._num_actions, self._message_bits) if self._message_bits else [checked]
        cycle.actions[agent] = sent[0]
        if agent == present[-1]:
            self._begin(*self._parallel.step(cycle.actions))
        else:
            cycle.num_acted += 1

    @override
    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, None without `observe`, reward, termination, truncation and info of the selected agent.

        Raises:
            ResetNeeded: there was no reset yet, or the episode is over.
        """
        cycle = self._find_cycle()
        agent = cycle.selection
        if not cycle.agents:
            raise ResetNeeded(_OVER)
        observation = self.observe(agent) if observe else None
        flags = cycle.terminations[agent], cycle.truncations[agent]
        return observation, cycle.cumulative_rewards[agent], *flags, cycle.infos[agent]

    def observe(self, agent: str) -> Any:
        """Return the last observation of an agent.

        Raises:
            KeyError: there is no agent of this name, or it left before the last step of the world.
            ResetNeeded: there was no reset yet.
        """
        return of_agent(self._find_cycle().observations, agent)

    def state(self) -> Any:
        """Return the global state, as `MultiGridEnv.state`."""
        return self._parallel.state()

    def render(self) -> Any:
        """Return the frame or the text of this state, as `MultiGridEnv.render`."""
        return self._parallel.render()

    def get_state(self) -> State:
        """Return a copy of the whole state, as `MultiGridEnv.get_state`, without the actions chosen in this cycle."""
        return self._parallel.get_state()

    def set_state(self, state: State | dict[str, Any]) -> None:
        """Restore a state that `get_state` returned, of this env or of a `MultiGridEnv` of the same configuration.

        A cycle begins: actions that agents have already chosen in the current one are discarded. `agents`,
        `agent_selection`, observations, rewards, flags and infos are as after the step that led to the state, so agents
        that ended in it are selected first, for their last `step(None)`.

        Raises:
            TypeError, ValueError: as `MultiGridEnv.set_state`; the env is unchanged.
        """
        self._parallel.set_state(state)
        self._has_updated = True

    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the metrics of the episode so far, as `MultiGridEnv.metrics`."""
        return self._parallel.metrics(as_lists=as_lists)
