"""N agents on one grid, as a PettingZoo AECEnv."""

from __future__ import annotations

import copy
from typing import Any

from pettingzoo.utils import AgentSelector, OrderEnforcingWrapper
from pettingzoo.utils.conversions import parallel_to_aec_wrapper
from typing_extensions import Unpack

from multigrid.config import GridConfig, GridOptions
from multigrid.envs.annotations import State
from multigrid.envs.options import resolve_options, show_fields
from multigrid.envs.parallel import MultiGridEnv
from multigrid.rendering.frame import WINDOW_SIZE

__all__ = ["MultiGridAECEnv", "env"]


class MultiGridAECEnv(OrderEnforcingWrapper[str, Any, Any]):
    """`multigrid.MultiGridEnv` as an AECEnv: PettingZoo's own conversion, with states and metrics.

    The agents act in turn, and the world moves when the last of a cycle has acted. `unwrapped` is the MultiGridEnv.
    Call `reset`, `step` and `set_state` of the AECEnv: those of the MultiGridEnv would not change the AECEnv.

    Raises:
        TypeError: `parallel` is not a MultiGridEnv.

    >>> game = env(size=(4, 3), num_agents=2)
    >>> game.reset(seed=0)
    >>> state = game.get_state()
    >>> for action in (0, 1):
    ...     game.step(action)
    >>> game.set_state(state)
    >>> game.agent_selection, game.metrics()["sum_of_costs"]
    ('agent_0', 0.0)
    """

    def __init__(self, parallel: MultiGridEnv[Any]) -> None:
        if not isinstance(parallel, MultiGridEnv):
            raise TypeError(f"parallel is of type {type(parallel).__name__}; expected a MultiGridEnv")
        super().__init__(_Turns(parallel))

    def __copy__(self) -> Any:
        # Two environments that share a world would move each other's agents.
        return copy.deepcopy(self)

    def __str__(self) -> str:
        return str(self.env)

    def get_state(self) -> State:
        """Return a copy of the whole state, as `MultiGridEnv.get_state`: that of the beginning of this cycle.

        The actions that agents have chosen since then are no part of it.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        world: Any = self.unwrapped
        state: State = world.get_state()
        return state

    def set_state(self, state: State | dict[str, Any]) -> None:
        """Restore a state that `get_state` returned, of this env or of a `MultiGridEnv` of the same configuration.

        A cycle begins: actions that agents have already chosen in the current one are forgotten. `agents`,
        `agent_selection`, observations, rewards, flags and infos are as after the step that led to the state, so agents
        that ended in it are selected first, for their last `step(None)`.

        Raises:
            TypeError, ValueError: as `MultiGridEnv.set_state`; the env is unchanged.
        """
        turns: Any = self.env
        turns.set_state(state)
        self._has_reset = self._has_updated = True

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the episode so far, as `MultiGridEnv.metrics`.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        world: Any = self.unwrapped
        metrics: dict[str, Any] = world.metrics()
        return metrics


class _Turns(parallel_to_aec_wrapper[str, Any, Any]):
    """PettingZoo's conversion, whose cached results follow a state that is set."""

    env: MultiGridEnv[Any]

    def set_state(self, state: State | dict[str, Any]) -> None:
        self.env.set_state(state)
        results: Any = self.env._last_results()  # noqa: SLF001 - the same package
        self._observations, self.rewards, self.terminations, self.truncations, self.infos = results
        self._cumulative_rewards = dict(self.rewards)
        present = self.env.agents
        # In the order of PettingZoo's `step`.
        self.agents = present + sorted(self.rewards.keys() - set(present))
        self._actions = dict.fromkeys(self.agents)
        self._agent_selector = AgentSelector(present)
        self.agent_selection = self._agent_selector.reset() if present else list(self.rewards)[-1]
        self._deads_step_first()


@show_fields
def env(
    config: GridConfig | None = None,
    *,
    render_mode: str | None = None,
    render_size: int = WINDOW_SIZE,
    render_trails: int = 0,
    render_view: int | None = None,
    **options: Unpack[GridOptions],
) -> MultiGridAECEnv:
    """Return `parallel_env` as an AECEnv, by PettingZoo's own conversion.

    The keywords are those of `parallel_env`.

    Raises:
        TypeError, ValueError: as `parallel_env`.

    >>> env(num_agents=2).possible_agents
    ['agent_0', 'agent_1']

    See the page "MultiGrid" (docs/environments/multi_grid.md in the source).
    """
    config = resolve_options(env, config, options)
    return MultiGridAECEnv(
        MultiGridEnv(config, render_mode, render_size=render_size, render_trails=render_trails, render_view=render_view)
    )
