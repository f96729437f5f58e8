"""A vector env in which some agents are played by given policies, so that a learner sees the others alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from multigrid._checks import check_bool, check_name, shorten
from multigrid.actions import add_messages
from multigrid.envs._agent_dicts import pick_row
from multigrid.envs._reset_arguments import check_reset_mask
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.spaces import rows_space
from multigrid.policies._team import act_all, check_agents, plays_many, too_few
from multigrid.wrappers._vector_reward import WorldsWrapper

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

_STREAM = 4
"""Seeds of draws of partners include this number, so that the draws are independent of a world's of the same seed."""


class Partners(WorldsWrapper):
    """Let policies play some agents of a vector env; the rows that are left are those of the other agents.

    Row k * M + j is the j-th of the M other agents of world k, in observations, rewards, flags, infos, actions and
    ``reset_mask``. Each partner agent of each world has one policy of its list, drawn when an episode begins. Partners
    see the observations of the unwrapped env, and draw their actions from their own streams.

    Where the episode of a learner's agent ends before that of its world, as under ``on_target="leave"``, its row is as
    in `multigrid.MultiGridVectorEnv`. All autoreset modes work, and so do `multigrid.wrappers` and
    `multigrid.integrations.sb3.to_sb3` around this wrapper. States do not say which partners play: after `set_state`,
    the partners of each world stay.

    Args:
        env: what `multigrid.vector_env` returns; it may be wrapped, but not in another `Partners`.
        partners: by agent, a policy, a list of policies, or a dict of them, such as a pool. Policies with a method
            ``act(vector_env, observations)`` play all worlds at once. Others are functions of an env and its
            observations, see `multigrid.evaluate`. For these, each step copies the state of each world, which is
            slower; they must not remember anything between calls, even with `per_episode`.
        draw: "episode" draws a policy for each episode; with "world", world k always has policy k modulo their number.
        per_episode: whether policies are functions of a seed that return the policy of an episode and world.

    Attributes:
        rows: int64 (num_envs,), the rows of the unwrapped env that are left.
        drawn: int64 (num_worlds, number of partner agents), the number of the policy of each.

    Raises:
        TypeError: `env` is not a vector env of multigrid, or a policy is not a function.
        ValueError: there is no such agent, no agent is left, a list is empty, or `env` has partners already; later, a
            partner returns too few actions, or with `per_episode` has a memory.

    >>> import multigrid
    >>> envs = multigrid.vector_env(2, num_agents=3, size=(6, 4))
    >>> envs = Partners(envs, {"agent_1": lambda env, observations: dict.fromkeys(env.agents, 3)})
    >>> observations, infos = envs.reset(seed=0)
    >>> envs.num_envs, observations["agent"].shape
    (4, (4, 2))
    >>> observations, rewards, *_ = envs.step([0, 1, 2, 3])
    >>> rewards.shape
    (4,)

    See the page "Partners" (docs/how_to/partners.md in the source).
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        partners: Mapping[str, Any],
        draw: Literal["episode", "world"] = "episode",
        *,
        per_episode: bool = False,
    ) -> None:
        super().__init__(env)
        if env.num_envs != self._worlds.num_envs:
            raise ValueError("the env has partners already; name all partners in one dict")
        if not isinstance(partners, Mapping):
            raise TypeError(f"partners is of type {type(partners).__name__}; expected a dict of policies by agent")
        agents = self.config.agents
        check_agents("partners", partners, agents)
        self._draws = check_name("draw", draw, ("episode", "world")) == "episode"
        self._per_episode = check_bool("per_episode", per_episode)
        self._seats = [agents.index(agent) for agent in partners]
        self._policies = [_list_policies(agent, given) for agent, given in partners.items()]
        own = [i for i, agent in enumerate(agents) if agent not in partners]
        if not own or not partners:
            left = "no agent" if partners else "every agent"
            raise ValueError(
                f"partners is {shorten(list(partners))}, which leaves {left} to the learner, of {len(agents)}"
            )
        num_worlds = self._worlds.num_worlds
        self.rows: NDArray[np.int64] = (np.arange(num_worlds)[:, None] * len(agents) + own).ravel()
        self.observation_space = rows_space(self.single_observation_space, len(self.rows))
        self.action_space = batch_space(self.single_action_space, len(self.rows))
        self.drawn = np.zeros((num_worlds, len(partners)), np.int64)
        self._playing = np.full(self.drawn.shape, None, dtype=object)
        self._plans: list[_Plan] = []
        self._generator = np.random.default_rng()
        self._shadows: dict[int, MultiGridEnv] = {}

    @property
    def num_envs(self) -> int:  # type: ignore[override] # as in Gymnasium's VectorWrapper
        """The number of rows that are left."""
        return len(self.rows)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the worlds as `multigrid.MultiGridVectorEnv.reset`, and draw their partners.

        A seed also seeds the draws of partners.
        """
        worlds = check_reset_mask(options, self._worlds.num_worlds, len(self.rows) // self._worlds.num_worlds)
        if options is not None and options.get("reset_mask") is not None:
            mask = np.zeros((self._worlds.num_worlds, self.config.num_agents), dtype=bool)
            mask[worlds] = True
            options = {**options, "reset_mask": mask.ravel()}
        observations, infos = self.env.reset(seed=seed, options=options)
        if seed is not None:
            seeds = [seed] if np.ndim(seed) == 0 else [one for one in seed if one is not None]
            if seeds:
                self._generator = np.random.default_rng([*map(int, seeds), _STREAM])
        # Worlds that were reset before they had partners have none yet.
        lacking = [e for e, playing in enumerate(self._playing.tolist()) if None in playing]
        self._begin(np.array(sorted({*worlds.tolist(), *lacking})))
        return self._pick(observations), self._pick(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play one step of every world: the learner's actions, and those of the partners."""
        given = np.asarray(actions)
        if given.shape[:1] != (len(self.rows),) or given.dtype.kind not in "iu":
            expected = f"expected integers of shape {self.action_space.shape}, an action for each row"
            raise ValueError(f"actions are {given.dtype} of shape {given.shape}; {expected}")
        if not self._plans:
            raise ResetNeeded("there is no episode yet; call reset() of the env with its partners first")
        given = add_messages(given, self.config.num_actions, self.config.message_bits)
        together = np.zeros((self._worlds.num_envs, *given.shape[1:]), np.int64)
        together[self.rows] = given
        observations = self._worlds._rows.observations()  # noqa: SLF001 - the same package
        for plan in self._plans:
            if plan.world is None:
                together[plan.rows] = act_all(plan.policy, self._worlds, observations)[plan.rows]
            else:
                self._play_one(plan, observations, together)
        results = self.env.step(together)
        self._begin(np.flatnonzero(self._worlds._worlds.arrays.steps == 0))  # noqa: SLF001 - the same package
        observations, rewards, terminations, truncations, infos = map(self._pick, results)
        return observations, rewards, terminations, truncations, infos

    def _play_one(self, plan: _Plan, observations: Any, together: NDArray[np.int64]) -> None:
        """Write the actions of a policy of one world, which gets an env with the state of that world."""
        if plan.world not in self._shadows:
            self._shadows[plan.world] = MultiGridEnv(self.config)
        shadow = self._shadows[plan.world]
        shadow.set_state(self._worlds.get_state([plan.world], single=True)[0])
        first, agents = plan.world * self.config.num_agents, shadow.agents
        seen = {agent: pick_row(observations, first + self.config.agents.index(agent)) for agent in agents}
        chosen: Any = plan.policy(shadow, seen) if agents else {}
        for row in plan.rows.tolist():
            agent = self.config.agents[row - first]
            if agent in agents:
                if not isinstance(chosen, Mapping) or agent not in chosen:
                    raise ValueError(too_few(f"the partner {agent}", chosen, [agent]))
                action = np.asarray(chosen[agent])[None]
                together[row] = add_messages(action, self.config.num_actions, self.config.message_bits)[0]

    def _begin(self, worlds: NDArray[np.int64]) -> None:
        """Draw the partners of worlds whose episode begins."""
        if not len(worlds):
            return
        self.drawn = self.drawn.copy()  # callers may keep the last draws
        for e in worlds.tolist():
            for k, policies in enumerate(self._policies):
                number = int(self._generator.integers(len(policies))) if self._draws else e % len(policies)
                self.drawn[e, k] = number
                seed = int(self._generator.integers(2**32)) if self._per_episode else 0
                policy = policies[number](seed) if self._per_episode else policies[number]
                if self._per_episode and getattr(policy, "remembers", False):
                    raise ValueError("a partner is recurrent, and per_episode would forget; expected it without")
                self._playing[e, k] = policy
        self._plans = list(self._list_plans())

    def _list_plans(self) -> Iterator[_Plan]:
        """Yield which policy plays which rows: in all worlds at once, or in one world."""
        rows: dict[tuple[int, int | None], list[int]] = {}
        known: dict[int, Any] = {}
        for e, policies in enumerate(self._playing):
            for seat, policy in zip(self._seats, policies, strict=True):
                many = plays_many(policy) and not self._per_episode
                known[id(policy)] = policy
                rows.setdefault((id(policy), None if many else e), []).append(e * self.config.num_agents + seat)
        for (key, world), where in rows.items():
            yield _Plan(known[key], world, np.array(where))

    def _pick(self, returned: Any) -> Any:
        """Return what is left for the learner of arrays for all rows, also in dicts and tuples."""
        if isinstance(returned, dict):
            return {name: self._pick(one) for name, one in returned.items()}
        if isinstance(returned, np.ndarray) and returned.shape[:1] == (self._worlds.num_envs,):
            return returned[self.rows]
        if isinstance(returned, tuple) and len(returned) == self._worlds.num_envs:
            return tuple(returned[row] for row in self.rows.tolist())
        return returned

    def render(self) -> Any:
        """Return the frame of its world for each row that is left; see `multigrid.MultiGridVectorEnv.render`."""
        return self._pick(self.env.render())


class _Plan(NamedTuple):
    """A policy, its only world or None for all, and its rows."""

    policy: Any
    world: Any
    rows: NDArray[np.int64]


def _list_policies(agent: str, given: Any) -> list[Any]:
    """Return the policies of a partner."""
    many = (
        list(given.values()) if isinstance(given, Mapping) else list(given) if isinstance(given, Sequence) else [given]
    )
    if not many:
        raise ValueError(f"the partners of {agent} are {shorten(given)}; expected at least one policy")
    for policy in many:
        if not callable(policy):
            kind = type(policy).__name__
            raise TypeError(f"a partner of {agent} is {shorten(policy)} of type {kind}; expected a function")
    return many
