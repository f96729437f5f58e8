"""N agents on one grid, as a PettingZoo ParallelEnv.

The agents, ``agent_0``, ``agent_1`` and so on, walk to their targets on a grid of W x H cells, some of which may be
walls. All act at once; as a PettingZoo AECEnv they act in turn, and the world moves after the last one. A cell is
``[x, y]``. Each agent can reach its target. Starts and targets are random, unless the map or ``reset(options={"agents":
(N, 2), "targets": (N, 2)})`` sets them.

**Actions.** 0 right ``[1, 0]``; 1 up ``[0, 1]``, which is down in pictures; 2 left ``[-1, 0]``; 3 down ``[0, -1]``; and
with `allow_stay`, 4 stay ``[0, 0]``: ``Discrete(4)`` or ``Discrete(5)``. An agent stays in its cell if its move leads
off the grid or into a wall, or if `collisions` refuses it:

- *symmetric* (default): if several agents request a cell, none enters it; two cannot swap; following is allowed.
- *priority*: agents move in index order, into cells that are free at that moment.
- *block_both*: no agent enters a cell that was occupied before the step, or that another agent also requests.
- *soft*: as symmetric, but if several agents want to enter a cell, the one with the lowest index may try.
- *none*: agents pass through one another and may share cells.

**Rewards and ends.** A reward is 0 or, for an agent on its target, what `on_target` says:

- *park* (default): it gets 1 and stays as an obstacle, its actions ignored; when all have arrived, all terminate.
- *leave*: it gets 1, terminates and leaves; from the next step on, others can enter its cell.
- *stay*: it goes on acting; when all stand on their targets at once, each gets 1 and all terminate.
- *restart*: it gets 1 and a new target, the next one of its list or a random one; nobody terminates.

With `reward` *individual* (default), each agent gets its own; with *shared*, each gets the mean over the agents that
had not left. After `max_cycles` steps, all agents that had not left are truncated.

**Observations.** A Dict of the parts that `observe` names; by default agent, target and, for several agents, others:

- *agent*: int64 (2,), its own cell. *target*: int64 (2,), its target. *offset*: int64 (2,), target minus own cell.
- *others*: int64 (N-1, 2), the other agents' cells, in index order; (-1, -1) for one that has left.
- *view*: uint8 (3, V, V), V = 2 r + 1, the cells within r = `view_radius`: ``view[c, i, j]`` is for (x + i - r,
  y + j - r). Layer 0 is 1 at walls and outside the grid, layer 1 at agents, itself too, layer 2 at its target or, if
  that is out of view, at the cell in view that is nearest to it.
- *walls*: uint8 (W, H), the whole map, 1 at walls.
- *action_mask*: int8 (A,), one for each of the A actions: 0 if it leads into a wall or off the grid, else 1.
- *rgb*: uint8 (H t, W t, 3), t = `rgb_tile`: an image of the whole grid. Agents are discs, their targets squares in a
  tint, arrived agents full squares; the agent's own disc has a black ring, and its target a grey frame. *rgb_view*: the
  cells of its view in this image, uint8 (V t, V t, 3), its target as in *view*.
- *delayed*: int8 (1,), 1 if it was delayed in the last step. *delay_left*: int64 (1,), how many more steps it is.
- *messages*: int8 (N, `message_bits`), the bits that each agent sent in the last step; 0 for one that had left.

If `observe` is one name, not a tuple, an observation is the array of that part. With `flatten`, it is one float32
vector of all parts in their order, *offset* scaled to -1..1 and other coordinates to 0..1, and with an action mask the
Dict of the two, *observation* and *action_mask*; images cannot be in it.

``state()``: int64 (N, 4), each agent's x, y, target x and target y; -1s for one that has left.

**Infos.** *distance*: float, the L1 distance to the target. *arrived*: 1 if it arrived in this step, else 0. *outcome*,
why its move ended so: 0 moved, 1 stayed, 2 edge, 3 wall, 4 occupied, 5 contested, 6 swap, 7 parked, 8 delayed.

**Arguments.** `collisions`, `on_target`, `reward` and `observe`: as above. `size` = 5: the side, or (W, H).
`num_agents` = 2; with (least, most) or `least_agents`, a random number in each episode. `walls`: a map as text or bool
(W, H), a list of maps, or a generator of `multigrid.maps`. `view_radius` = 2. `rgb_tile` = 8. `flatten` = False.
`allow_stay` = False. `max_cycles` = 300; None for no limit. `delays`: `multigrid.Delays`, random steps in which an
agent stays whatever it does. `game`: a class with rules, actions and parts of its own, which its docstring describes,
and `options`, its options. `render_mode`: None, "human", "rgb_array" or "ansi"; `render_size`, `render_trails` and
`render_view`: how frames are drawn.

**Version history.** v0: the first version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from multigrid._checks import check_limit
from multigrid.actions import check_action
from multigrid.config import GridConfig, resolve_config
from multigrid.core.arrays import LEFT
from multigrid.core.observe import global_states
from multigrid.core.rules import ALL_VALID
from multigrid.envs import spaces
from multigrid.envs._agent_dicts import Results, infos_by_agent, observations_by_agent, of_agent, pick_row, to_list
from multigrid.envs._annotations import Info, ObservationType, State
from multigrid.envs._env_base import AFTER_CALL, CUT_OFF, HasShaping, one_at_a_time
from multigrid.envs._one_world import OneWorld
from multigrid.rendering._frame import WINDOW_SIZE

_INTEGERS = frozenset({int, np.int64})


# Type checkers that do not read PettingZoo's annotations see no type parameter but that of Generic.
class MultiGridEnv(HasShaping, OneWorld, ParallelEnv[str, ObservationType, Any], Generic[ObservationType]):
    """N agents walk to their targets on one grid, by the rules in `multigrid.core.rules`.

    Each agent observes a Dict with the parts in `GridConfig.observe`. With ``flatten=True`` it observes one float32
    Box; an action mask then stands beside the Box in a Dict. The actions are ``Discrete(4)``, or ``Discrete(5)`` with
    ``allow_stay=True``. ``infos[agent]`` has ``distance``, the L1 distance to the target, a float; ``outcome``, an int,
    the `multigrid.Outcome` of the last move; and ``arrived``, 1 if the agent arrived in this step, else 0.

    For type checkers, an observation is a `multigrid.Observation`. Annotate an env with ``flatten=True`` as
    ``MultiGridEnv[FlatObservation]``, or with an action mask as ``MultiGridEnv[MaskedObservation]``.

    Args:
        config: the world; `parallel_env` creates it from keywords.
        render_mode: None; "human" for a resizable window; "rgb_array" or "ansi" for what `render` returns. If a user
            closes the window, the env warns and opens no other until `close` is called.
        render_size: the longer side of a frame in pixels, at least 16; both sides are rounded up to even numbers.
        render_trails: the number of past cells drawn behind each agent.
        render_view: the index of an agent; the cells within `view_radius` of it are highlighted.

    Raises:
        TypeError: `config` is not a GridConfig, or a size, trail or view is not an integer.
        ValueError: the render mode is unknown, or a size, trail or view is out of range.

    >>> env = MultiGridEnv(GridConfig(size=(5, 3), num_agents=2))
    >>> observations, infos = env.reset(seed=0)
    >>> {part: cells.tolist() for part, cells in observations["agent_0"].items()}
    {'agent': [4, 1], 'target': [2, 0], 'others': [[1, 0]]}
    """

    metadata: dict[str, Any] = {
        "name": "multigrid_v0",
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": 4,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        config: GridConfig | None = None,
        render_mode: str | None = None,
        *,
        render_size: int = WINDOW_SIZE,
        render_trails: int = 0,
        render_view: int | None = None,
    ) -> None:
        config = resolve_config(config)
        OneWorld.__init__(self, config, render_mode, (render_size, render_trails, render_view))
        self.possible_agents = list(config.agents)
        self._agents: list[str] = []  # that have not left
        self._num_begun = 0  # how often the world was reset, or its state was set
        self._keys, self._no_ends = config.observation_keys, dict.fromkeys(config.agents, False)
        self._has_trails = render_mode is not None and render_trails > 0
        self.observation_spaces = {agent: spaces.observation_space(config) for agent in config.agents}
        self.action_spaces = {agent: spaces.action_space(config) for agent in config.agents}
        self.state_space = spaces.state_space(config, self._worlds.count_own_numbers())
        self._index = {agent: index for index, agent in enumerate(config.agents)}
        self._has_game = config.game is not None
        # Of actions that only the kernel checks; it does not see which numbers have a message.
        self._plain_types = frozenset() if config.message_bits else _INTEGERS

    def _bind_arrays(self) -> None:
        arrays = self._worlds.arrays
        self._actions, self._rewards = arrays.actions[0], arrays.rewards[0]
        self._figures: tuple[NDArray[Any], ...] = arrays.distances[0], arrays.outcomes[0], arrays.arrived[0]
        if not self.config.has_targets:
            self._figures = (arrays.outcomes[0],)
        self._own_infos = {name: array[0] for name, array in self._worlds.own_infos.items()}
        self._terminated, self._truncated, self._num_ended = arrays.terminated[0], arrays.truncated[0], arrays.num_ended
        self._steps = arrays.steps
        self._observed = [part[0] for part in self._worlds.observation_arrays]
        self._form = spaces.find_form(self.config)

    def __repr__(self) -> str:
        mode = "" if self.render_mode is None else f", render_mode={self.render_mode!r}"
        return f"{type(self).__name__}({self.config!r}{mode})"

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return an agent's observation space, the same object at every call.

        Raises:
            KeyError: there is no agent of this name.
        """
        return of_agent(self.observation_spaces, agent)  # type: ignore[no-any-return]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return an agent's action space, the same object at every call.

        Raises:
            KeyError: there is no agent of this name.
        """
        return of_agent(self.action_spaces, agent)  # type: ignore[no-any-return]

    @property
    def vector_state(self) -> bool:
        """False if an observation is an image, uint8 (height, width, 3) from 0 to 255. A PettingZoo tutorial reads it.

        >>> import multigrid
        >>> multigrid.env(flatten=True).unwrapped.vector_state
        True
        """
        space: Any = self.observation_spaces[self.possible_agents[0]]
        return space.dtype != np.uint8 or space.shape[2:] != (3,) or bool(space.high.max() < 255)

    @property
    def agents(self) -> list[str]:  # type: ignore[override]
        """The names of the agents that have not left, in index order; a new list each time."""
        if self._call == CUT_OFF:
            raise self._refusal("agents", CUT_OFF)
        return self._agents.copy()

    def _moment(self) -> tuple[int, int]:
        """Return two numbers, one of which every reset and every step changes; the first is 0 before any reset."""
        if self._call == CUT_OFF:
            raise self._refusal("agents", CUT_OFF)
        return self._num_begun, self._steps.item()

    def _list_present(self) -> list[str]:
        if self._worlds.arrays.episode_over[0]:
            return []
        by_agent = zip(self.possible_agents, self._worlds.arrays.status[0].tolist())
        return [agent for agent, status in by_agent if status != LEFT]

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never. Setting it takes effect at once."""
        return self._worlds.max_cycles

    @max_cycles.setter
    @one_at_a_time
    def max_cycles(self, limit: int | None) -> None:
        self._worlds.max_cycles = check_limit(limit)

    @one_at_a_time
    def reset(  # type: ignore[override]
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, ObservationType], dict[str, Info]]:
        """Begin an episode: of all agents, or where their number is drawn, of the first so many.

        Args:
            seed: the seed of a new random stream; None continues the stream.
            options: ``{"agents": (N, 2), "targets": (N, 2)}`` sets the layout by hand, ``{"map": i}`` the map of
                a pool, ``{"level": level}`` all that `get_level` returned, or `multigrid.maps.mutate`; other keys are
                ignored. An agent may start on its target under "stay" and "restart". Under
                "restart" the targets may be a list of cells (L, 2) for each agent, which it goes through in order,
                again and again; L may differ between agents. Where the number of agents is drawn, the layout sets it.

        Returns:
            Observations and infos by agent; all of them new objects.

        Raises:
            TypeError, ValueError: a bad seed or layout; the env is unchanged.
        """
        self._reset_world(seed, options)
        agents, rows = self.possible_agents.copy(), None
        if self.config.least_agents is not None:
            agents = self._list_present()
            rows = list(range(len(agents)))
        self._agents, self._num_begun = agents, self._num_begun + 1
        self._past_cells.clear()
        if self.render_mode is not None:
            self._update_window()
        return self._observations(agents, rows), infos_by_agent(agents, self._figures, rows, self._own_infos)

    def step(  # type: ignore[override]
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, ObservationType], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Play one step of all agents in `agents`.

        Args:
            actions: an action for every agent in `agents`: an int, a NumPy integer or an integer array of one element.
                Those of agents that have left are ignored.

        Returns:
            Observations, rewards, terminations, truncations and infos of the agents that were in `agents` before the
            step; five empty dicts when the episode was over.

        Raises:
            TypeError, ValueError: a bad, missing or unknown action; the env is unchanged.
            ResetNeeded: there was no reset yet.
        """
        # As `one_at_a_time` does, without the cost of another call.
        worlds = self._worlds
        if self._call is None:
            self._call = "step"
        else:
            raise self._refusal("step", self._call)
        try:
            agents = self._agents
            if not agents:
                self._check_started()
                self._call = None
                return {}, {}, {}, {}, {}
            before = self._write_actions(agents, actions)
            past = worlds.arrays.location[0].copy() if self._has_trails else None
            worlds.is_changing = True
            if worlds.step() != ALL_VALID:
                worlds.is_changing = False
                self._actions[: len(before)] = before
                self._check_actions(agents, [actions[agent] for agent in agents])
            rows = None if len(agents) == len(self._actions) else [self._index[agent] for agent in agents]
            if self._num_ended.item():
                terminations = dict(zip(agents, to_list(self._terminated, rows)))
                truncations = dict(zip(agents, to_list(self._truncated, rows)))
                self._agents = self._list_present()
            else:
                # Copying a dict takes a quarter of the time of creating one.
                none = self._no_ends if rows is None else dict.fromkeys(agents, False)
                terminations, truncations = none.copy(), none.copy()
            if past is not None:
                self._past_cells.append(past)
            worlds.is_changing = False
            if self.render_mode is not None:
                self._update_window()
            rewards = dict(zip(agents, to_list(self._rewards, rows)))
            if self._form is None:
                observations = observations_by_agent(agents, self._keys, self._observed, rows)
            else:
                observations = self._observations(agents, rows)
            infos = infos_by_agent(agents, self._figures, rows, self._own_infos)
        except BaseException:
            self._call = AFTER_CALL[worlds.is_changing]
            raise
        self._call = None
        return observations, rewards, terminations, truncations, infos

    def _observations(self, agents: list[str], rows: list[int] | None) -> dict[str, Any]:
        if self._form is None:
            return observations_by_agent(agents, self._keys, self._observed, rows)
        arrays = [part.copy() if rows is None else part[rows] for part in self._observed]
        batch = self._form(dict(zip(self.config.parts, arrays)))
        return {agent: pick_row(batch, row) for row, agent in enumerate(agents)}

    def _write_actions(self, agents: list[str], actions: Mapping[str, Any]) -> Any:
        """Write the actions to the world, which checks their range; return those before, of a game, or ()."""
        try:
            values = [actions[agent] for agent in agents]
        except (KeyError, TypeError, IndexError) as error:
            if not isinstance(actions, Mapping):
                kind, expected = type(actions).__name__, f"expected a dict with an action for each of {agents}"
                raise TypeError(f"actions are of type {kind}; {expected}") from error
            missing = [agent for agent in agents if agent not in actions]
            raise ValueError(f"actions lack {missing}; expected an action for each of {agents}") from error
        if len(actions) != len(values):
            unknown = [agent for agent in actions if agent not in self._index]
            if unknown:
                raise ValueError(f"actions name the unknown {unknown}; expected names out of {self.possible_agents}")
        if not self._plain_types.issuperset(map(type, values)):
            values = self._check_actions(agents, values)
        # The state of a game has the last actions.
        before = self._actions.copy() if self._has_game else ()
        try:
            if len(values) == len(self._actions):
                self._actions[:] = values
            else:
                self._actions[[self._index[agent] for agent in agents]] = values
        except OverflowError:
            self._actions[: len(before)] = before
            self._check_actions(agents, values)
            raise
        return before

    def _check_actions(self, agents: list[str], values: list[Any]) -> list[int]:
        limit, bits = self.config.num_actions, self.config.message_bits
        return [check_action(action, limit, agent, bits) for agent, action in zip(agents, values)]

    def observe_all(self) -> tuple[dict[str, ObservationType], dict[str, Info]]:
        """Return the observations and infos of the last `reset` or `step`, or of the state that `set_state` restored.

        Raises:
            ResetNeeded: there was no reset yet.

        >>> from multigrid import parallel_env
        >>> env, other = parallel_env(size=(6, 4)), parallel_env(size=(6, 4))
        >>> observations, _ = env.reset(seed=0)
        >>> _ = other.reset(seed=1)
        >>> other.set_state(env.get_state())
        >>> bool((other.observe_all()[0]["agent_0"]["agent"] == observations["agent_0"]["agent"]).all())
        True
        """
        observations, *_, infos = self._last_results()
        return observations, infos

    @one_at_a_time
    def _last_results(self) -> Results:
        """Return the last step's results, computed again if the state was set; right after a reset, rewards are 0."""
        self._check_started()
        self._worlds.observe()
        rows = np.flatnonzero(~self._worlds.find_departed()[0]).tolist()
        agents = [self.possible_agents[row] for row in rows]
        arrays = self._rewards, self._terminated, self._truncated
        rewards, terminations, truncations = (dict(zip(agents, to_list(array, rows))) for array in arrays)
        observations = self._observations(agents, rows)
        return (
            observations,
            rewards,
            terminations,
            truncations,
            infos_by_agent(agents, self._figures, rows, self._own_infos),
        )

    @one_at_a_time
    def state(self) -> NDArray[Any]:
        """Return the global state: int64 (N, 4), x, y, target x, target y; -1s for an agent that has left.

        In a game with arrays of its own it is one float64 vector: these numbers, then those of the arrays.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        self._check_started()
        state: NDArray[Any] = global_states(self._worlds.arrays, self._worlds.own_state)[0]
        return state

    def _restore(self, state: State | dict[str, Any]) -> None:
        super()._restore(state)
        self._agents, self._num_begun = self._list_present(), self._num_begun + 1
        self._past_cells.clear()

    @one_at_a_time
    def render(self) -> NDArray[np.uint8] | str | None:
        """Return the frame or the text of this state, according to the render mode.

        "rgb_array": the frame, uint8 (height, width, 3), with `render_size` as the longer side. "ansi": the map as
        text, by `multigrid.maps.format_map`. None in human mode, and, with a warning, without a mode.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; pass render_mode='rgb_array' or 'human'")
        return self._render_by_mode()
