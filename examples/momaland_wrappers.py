"""Train with two rewards for each agent, arrivals and effort, which MOMAland's wrappers weight.

Install: ``pip install "multigrid-marl" requests && pip install --no-deps "momaland==0.2.0"``. Run:
``python -m examples.momaland_wrappers``.

`EffortReward` converts the reward to a vector, as in environments of MOMAland. On top of it, `RecordEpisodeStatistics`
sums the vectors, and `LinearizeReward` computes their weighted sum for a learner with scalar rewards; here that is
Q-learning with one table for all agents. The higher the price of a step, the fewer targets are worth their path.

``--no-deps``, because MOMAland requires both pygame and (through pettingzoo[butterfly]) pygame-ce, which overwrite
each other's files. Its wrappers for a ParallelEnv need neither, but need requests, which MOMAland does not declare.

Bugs worked around (found here, in 0.2.0):

- Under ``on_target="leave"``, `RecordEpisodeStatistics` and `NormalizeReward` raise a KeyError one step after the first
  arrival: both need a reward of every possible agent. This example uses "park".
- ``infos["episode"]["r"]`` is the same dict that the next `reset` sets to zeros, so this example reads it before.
- ``momaland.utils.aec_wrappers`` cannot be imported with Gymnasium 1.0 or newer, which MOMAland requires
  (ModuleNotFoundError: gymnasium.wrappers.normalize): these are the wrappers for a ParallelEnv.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("momaland", "requests", text=__doc__)

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
    r"""Return rewards as vectors, float32 (2,): the env's reward, and -1 for a step in which the agent requests a move.

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
        """Return the space of an agent's rewards; MOMAland calls this method."""
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
    """Learn Q-values (Watkins and Dayan 1992) in one table for all agents, keyed by the target's relative position.

    >>> table, there = QTable(2, np.random.default_rng(0)), {"agent": np.array([1, 0]), "target": np.array([2, 0])}
    >>> table.learn(there, 1, 5.0, there, terminated=True)
    >>> table.act(there), float(table.of(there)[1])
    (1, 1.0)
    """

    def __init__(self, num_actions: int, generator: np.random.Generator) -> None:
        self.values: defaultdict[bytes, NDArray[np.float64]] = defaultdict(lambda: np.zeros(num_actions))
        self.generator = generator

    def of(self, observation: dict[str, NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the values of all actions, as the array that `learn` changes."""
        return self.values[(observation["target"] - observation["agent"]).tobytes()]

    def act(self, observation: dict[str, NDArray[np.int64]], explore: float = 0.0) -> int:
        """Return a best action, ties broken at random; with probability `explore`, a random action."""
        values = self.of(observation)
        best = np.arange(len(values)) if self.generator.random() < explore else np.flatnonzero(values == values.max())
        return int(self.generator.choice(best))

    def learn(self, observation: Any, action: int, reward: float, following: Any, *, terminated: bool) -> None:
        """Move the value of an action a fifth of the way towards its one-step target."""
        goal = reward if terminated else reward + 0.95 * self.of(following).max()
        self.of(observation)[action] += 0.2 * (goal - self.of(observation)[action])


def make_env(price: float) -> LinearizeReward:
    """Return a small world of two agents, with a reward of 1 for an arrival and of minus the price for each move.

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
    """The figures of an episode, or their means over several episodes."""

    success: float
    """1 if all agents arrive, else 0."""
    arrivals: float
    """The share of the agents that arrive."""
    steps: float
    """The number of steps in which an agent requests a move, as a mean over agents."""


def play(env: LinearizeReward, table: QTable, seed: int | None, explore: float, *, learn: bool = False) -> Figures:
    """Play an episode with the actions of a table; with `learn`, update the table in each step."""
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
    """Train at each price of a step, and measure how often agents arrive within 20 steps, and how much they move.

    Args:
        prices: the costs of a step; an arrival pays 1.
        episodes: number of training episodes at each price.
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
        # Explore here, too: two greedy agents that block each other would do so for ever.
        judged = [play(env, table, held_out, explore=0.1) for held_out in range(tests)]
        front[price] = Figures(*np.mean(judged, axis=0).tolist())
        success, arrivals, steps = front[price]
        name = "before training" if price is None else f"a step costs {price}"
        print(f"{name}: both arrive in {success:.1%}, {arrivals:.1%} of agents do, {steps:.1f} moves each")
    return front


if __name__ == "__main__":
    tyro.cli(main)
