"""MOMAland: two rewards for each agent, arrivals and effort, weighed against each other by MOMAland's wrappers.

Install: ``pip install "multigrid-marl" requests && pip install --no-deps "momaland==0.2.0"``. Run:
``python -m multigrid.examples.momaland_wrappers``.

`EffortReward` makes the reward a vector, as environments of MOMAland have it. On top of it, `RecordEpisodeStatistics`
sums up the vectors, and `LinearizeReward` weighs them for a learner of scalars; here that is Q-learning with one table
for all agents. The dearer a step, the nearer a target must be to be worth the way.

``--no-deps``, because MOMAland asks for both pygame and (through pettingzoo[butterfly]) pygame-ce, which write over
each other's files. Its wrappers for a ParallelEnv need nothing of that, but requests, which it does not name.

Bugs worked around (found here, in 0.2.0):

- Under ``on_target="leave"``, `RecordEpisodeStatistics` and `NormalizeReward` raise a KeyError one step after the first
  arrival: both ask for a reward of every possible agent. So it is "park" here.
- ``infos["episode"]["r"]`` is the very dict that the next `reset` sets to zeros, so it is read before.
- ``momaland.utils.aec_wrappers`` cannot be imported with Gymnasium 1.0 or newer, which MOMAland requires
  (ModuleNotFoundError: gymnasium.wrappers.normalize): these are the wrappers for a ParallelEnv.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from momaland.utils.parallel_wrappers import LinearizeReward, RecordEpisodeStatistics
from numpy.typing import NDArray
from pettingzoo.utils import BaseParallelWrapper

import multigrid
from multigrid.integrations.training import FIRST_TRAINING_SEED

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

__all__ = ["EffortReward", "Figures", "QTable", "main", "make_env", "play"]

_FREE = (multigrid.Outcome.STAYED, multigrid.Outcome.PARKED)


class EffortReward(BaseParallelWrapper[str, Any, Any]):
    r"""Rewards as vectors, float32 (2,): the env's own reward, and -1 for a step in which the agent asked to move.

    >>> env = EffortReward(multigrid.parallel_env(walls="a.A\nb.B", allow_stay=True))
    >>> _ = env.reset()
    >>> _, rewards, *_ = env.step({"agent_0": 0, "agent_1": 4})
    >>> rewards["agent_0"].tolist(), rewards["agent_1"].tolist()
    ([0.0, -1.0], [0.0, 0.0])
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        super().__init__(env)
        space = Box(np.array([-np.inf, -1], np.float32), np.array([np.inf, 0], np.float32))
        self.reward_spaces = dict.fromkeys(env.possible_agents, space)

    def reward_space(self, agent: str) -> Box:
        """Return the space of an agent's rewards, where MOMAland looks for it."""
        return self.reward_spaces[agent]

    def step(self, actions: dict[str, Any]) -> Any:
        """Play a step of the env; the rewards are float32 (2,) for each agent."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        vectors = {
            agent: np.array([reward, -(infos[agent]["outcome"] not in _FREE)], np.float32)
            for agent, reward in rewards.items()
        }
        return observations, vectors, terminations, truncations, infos


class QTable:
    """Q-learning (Watkins and Dayan 1992) with one table for all agents, by the way that an agent has still to go.

    >>> table, there = QTable(2, np.random.default_rng(0)), {"agent": np.array([1, 0]), "target": np.array([2, 0])}
    >>> table.learn(there, 1, 5.0, there, terminated=True)
    >>> table.act(there), float(table.of(there)[1])
    (1, 1.0)
    """

    def __init__(self, num_actions: int, generator: np.random.Generator) -> None:
        self.values: defaultdict[bytes, NDArray[np.float64]] = defaultdict(lambda: np.zeros(num_actions))
        self.generator = generator

    def of(self, observation: dict[str, NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the values of all actions, which `learn` changes."""
        return self.values[(observation["target"] - observation["agent"]).tobytes()]

    def act(self, observation: dict[str, NDArray[np.int64]], explore: float = 0.0) -> int:
        """Return a best action, any of several; with probability `explore`, any at all."""
        values = self.of(observation)
        best = np.arange(len(values)) if self.generator.random() < explore else np.flatnonzero(values == values.max())
        return int(self.generator.choice(best))

    def learn(self, observation: Any, action: int, reward: float, following: Any, *, terminated: bool) -> None:
        """Move the value of an action a fifth of the way towards what followed."""
        goal = reward if terminated else reward + 0.95 * self.of(following).max()
        self.of(observation)[action] += 0.2 * (goal - self.of(observation)[action])


def make_env(price: float) -> LinearizeReward:
    """Return a small world of two agents, who are paid 1 for arriving, and pay the price for each step.

    >>> env = make_env(0.25)
    >>> _ = env.reset(seed=0)
    >>> _, rewards, *_ = env.step({"agent_0": 0, "agent_1": 4})
    >>> [float(reward) for reward in rewards.values()]
    [-0.25, 0.0]
    """
    env = multigrid.parallel_env(size=(5, 4), num_agents=2, allow_stay=True, max_cycles=20)
    weights = {agent: np.array([1, price]) for agent in env.possible_agents}
    return LinearizeReward(RecordEpisodeStatistics(EffortReward(env)), weights)


class Figures(NamedTuple):
    """What happens in an episode, or on average in several."""

    success: float
    """Whether all agents arrive."""
    arrivals: float
    """How many of them do, as a fraction."""
    steps: float
    """In how many steps an agent asks to move."""


def play(env: LinearizeReward, table: QTable, seed: int | None, explore: float, *, learn: bool = False) -> Figures:
    """Play an episode, by a table that learns on the way or does not."""
    observations, _ = env.reset(seed=seed)
    infos: dict[str, Any] = {}
    while env.agents:
        actions = {agent: table.act(observations[agent], explore) for agent in env.agents}
        later, rewards, terminations, _, infos = env.step(actions)
        if learn:
            for agent, action in actions.items():
                table.learn(observations[agent], action, rewards[agent], later[agent], terminated=terminations[agent])
        observations = later
    arrivals, effort = np.mean(list(infos["episode"]["r"].values()), axis=0).tolist()
    return Figures(float(arrivals == 1), arrivals, abs(effort))


def main(
    *, prices: tuple[float, ...] = (0.0, 0.2, 1.0), episodes: int = 1000, seed: int = 0, tests: int = 200
) -> dict[float | None, Figures]:
    """Learn at each price of a step, and measure how often agents arrive within 20 steps, and how much they move.

    Args:
        prices: what a step costs, where an arrival pays 1.
        episodes: how many to learn from, at each price.
        seed: of the worlds and of the sampled actions.
        tests: held-out episodes, with seeds below those of training.

    Returns:
        The mean figures of the held-out episodes by price; under None those before training.
    """
    front: dict[float | None, Figures] = {}
    for price in (None, *prices):
        table, env = QTable(5, np.random.default_rng(seed)), make_env(price or 0.0)
        if price is not None:
            env.reset(seed=FIRST_TRAINING_SEED + seed)
            for _ in range(episodes):
                play(env, table, None, explore=0.2, learn=True)
        # Some chance here too: two in each other's way, both sure of what is best, would stand there for ever.
        judged = [play(env, table, held_out, explore=0.1) for held_out in range(tests)]
        front[price] = Figures(*np.mean(judged, axis=0).tolist())
        success, arrivals, steps = front[price]
        name = "before training" if price is None else f"a step costs {price}"
        print(f"{name}: both arrive in {success:.1%}, {arrivals:.1%} of agents do, {steps:.1f} moves each")
    return front


if __name__ == "__main__":
    main()
