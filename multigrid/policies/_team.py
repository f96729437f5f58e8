"""One policy out of several, each of which plays some of the agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import list_names, shorten
from multigrid.actions import add_messages
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies._baselines import Policy


def team(members: Mapping[str, Policy]) -> Team:
    """Return a policy whose agents are played by others.

    Every policy gets the observations of all agents, once a step, and the actions of its own agents are taken. If all
    members have a method ``act(vector_env, observations)``, which plays many worlds at once, then so does the team.

    Args:
        members: a policy for each agent; several agents may have the same one.

    Raises:
        TypeError: `members` is not a dict of policies by agent.
        ValueError: there are none; later, agents of the environment have no policy, or there are no such agents, or a
            policy returns no action for an agent that it plays.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(num_agents=2)
    >>> observations, _ = env.reset(seed=0)
    >>> right, up = (lambda env, observations, action=action: dict.fromkeys(env.agents, action) for action in (0, 1))
    >>> team({"agent_0": up, "agent_1": right})(env, observations)
    {'agent_0': 1, 'agent_1': 0}
    """
    if not isinstance(members, Mapping):
        raise TypeError(f"members is of type {type(members).__name__}; expected a dict with a policy for each agent")
    if not members:
        raise ValueError("members is empty; expected a policy for each agent")
    for agent, policy in members.items():
        if not callable(policy):
            raise TypeError(f"the policy of {shorten(agent)} is of type {type(policy).__name__}; expected a function")
    return (VectorTeam if all(map(plays_many, members.values())) else Team)(members)


def plays_many(policy: Any) -> bool:
    """Return whether a policy has a method ``act(vector_env, observations)``, which plays many worlds at once."""
    return callable(getattr(policy, "act", None))


class Team:
    """What `team` returns."""

    def __init__(self, members: Mapping[str, Policy]) -> None:
        self.members = dict(members)
        # Each policy is called once a step, because it may have a memory.
        self._distinct = list({id(policy): policy for policy in members.values()}.values())

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        """Return an action for each agent in ``env.agents``."""
        check_agents("members", self.members, env.possible_agents, all_of_them=True)
        actions = {}
        for policy in self._distinct:
            chosen: Any = policy(env, observations)
            own = [one for one in env.agents if self.members[one] is policy]
            known = chosen if isinstance(chosen, Mapping) else ()
            if missing := [agent for agent in own if agent not in known]:
                raise ValueError(too_few(f"the policy of {own[0]}", chosen, missing))
            actions.update({agent: chosen[agent] for agent in own})
        return {agent: actions[agent] for agent in env.agents}


class VectorTeam(Team):
    """A team whose members play many worlds at once."""

    def act(self, vector_env: Any, observations: Any) -> NDArray[np.int64]:
        """Return the actions of all agents of all worlds, int64 (num_envs,)."""
        agents = vector_env.unwrapped.config.agents
        check_agents("members", self.members, agents, all_of_them=True)
        actions = None
        for policy in self._distinct:
            chosen = act_all(policy, vector_env, observations)
            actions = np.empty_like(chosen) if actions is None else actions
            for i, agent in enumerate(agents):
                if self.members[agent] is policy:
                    actions[i :: len(agents)] = chosen[i :: len(agents)]
        assert actions is not None
        return actions


def act_all(policy: Any, vector_env: Any, observations: Any, what: str = "a policy") -> NDArray[np.int64]:
    """Return what the method `act` of a policy returns; raise ValueError if that is not an action for each row."""
    actions = np.asarray(policy.act(vector_env, observations))
    if actions.shape[:1] != (vector_env.num_envs,) or actions.dtype.kind not in "iu":
        expected = f"expected integers, an action for each of {vector_env.num_envs} rows"
        raise ValueError(f"act of {what} returned {actions.dtype} of shape {actions.shape}; {expected}")
    config = vector_env.unwrapped.config
    return add_messages(actions, config.num_actions, config.message_bits)


def too_few(what: str, chosen: Any, missing: list[str]) -> str:
    """Return the message for a policy that returns too few actions."""
    returned = f"actions for {list_names(chosen) or 'no agent'}" if isinstance(chosen, Mapping) else shorten(chosen)
    return (
        f"{what} returned {returned}; expected a dict with an action for each of env.agents, {list_names(missing)} too"
    )


def check_agents(name: str, given: Any, agents: Any, *, all_of_them: bool = False) -> None:
    """Raise ValueError if there are agents that an environment does not have or, if wanted, not all of its agents."""
    if unknown := [agent for agent in given if agent not in agents]:
        raise ValueError(f"{name} has {list_names(map(repr, unknown))}; the agents are {list_names(agents)}")
    if all_of_them and len(given) < len(agents):
        lacking = [agent for agent in agents if agent not in given]
        raise ValueError(f"{name} has no policy for {list_names(lacking)}; expected one for each agent")
