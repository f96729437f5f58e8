"""AgileRL: the recipe learns where agents leave, and what it works around is still there."""

import warnings

import numpy as np
import pytest
from gymnasium.spaces import Box

import multigrid
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

with warnings.catch_warnings():
    # AgileRL warns, when it is imported, of a class of its own.
    warnings.filterwarnings("ignore", "MakeEvolvable will be deprecated", DeprecationWarning)
    from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
    from agilerl.utils.algo_utils import concatenate_experiences_into_batches, vectorize_agent_experiences_flat
    from agilerl.vector import AsyncPettingZooVecEnv
    from agilerl.wrappers.agent import AsyncAgentsWrapper

    from examples import agilerl_ippo

NAN = np.nan


class Scripted:
    """One world of two agents, and a learner with known values: agent_1 leaves in step 0, agent_0 in step 2."""

    agent_ids = ("agent_0", "agent_1")
    gamma = 0.5
    seen = ([(0, 0), (10, 10)], [(1, 1), (11, 11)], [(2, 2), (NAN, NAN)], [(3, 3), (13, 13)], [(4, 4), (14, 14)])
    rewards = ([0, 1], [0, NAN], [2, NAN], [4, 0])
    terminated = ([False, True], [False, NAN], [True, NAN], [False, False])
    truncated = ([False, False], [False, NAN], [False, NAN], [False, False])

    def __init__(self):
        self.played = 0

    def by_agent(self, values):
        """Return a row of one world for each agent."""
        return {agent: np.array([value], dtype=np.float32) for agent, value in zip(self.agent_ids, values, strict=True)}

    def get_action(self, observations):
        """As the learner: the number of the step as action, and observations plus a hundred as values."""
        assert not any(np.isnan(rows).any() for rows in observations.values())
        values = self.by_agent([observations[agent][0, 0] + 100 for agent in self.agent_ids])
        return self.by_agent([self.played, self.played]), self.by_agent([-1, -2]), None, values

    def step(self, actions):
        """As the world: what comes next in the script."""
        now, self.played = self.played, self.played + 1
        following = (self.rewards[now], self.terminated[now], self.truncated[now])
        return self.by_agent(self.seen[now + 1]), *(self.by_agent(values) for values in following), {}


def test_what_is_learned_from():
    """The steps of agents that were there are laid end to end, ends are marked, and what goes on counts its value."""
    script = Scripted()
    experiences, observations = agilerl_ippo.rollout(script, script, script.by_agent(script.seen[0]), 4)
    assert [list(field) for field in experiences] == [["agent_0"]] * 8
    states, actions, log_probs, rewards, begins, values, _, _ = (field["agent_0"] for field in experiences)
    assert states[:, 0].tolist() == [0, 1, 2, 3, 10, 13]
    assert actions.tolist() == [0, 1, 2, 3, 0, 3]
    assert log_probs.tolist() == [-1, -1, -1, -1, -2, -2]
    assert rewards.tolist() == [0, 0, 2, 4 + 0.5 * 104, 1, 0 + 0.5 * 114]
    assert begins.tolist() == [1, 0, 0, 1, 1, 1]
    assert values.tolist() == [100, 101, 102, 103, 110, 113]
    assert observations["agent_1"].tolist() == [[14, 14]]


def test_agents_really_leave():
    """AgileRL's envs go on without those that have arrived: some of the steps recorded are missing, none is NaN."""
    config = multigrid.GridConfig(size=(4, 2), num_agents=2, on_target="leave", flatten=True, max_cycles=30)
    ippo = agilerl_ippo.make_ippo(config)
    envs = AsyncPettingZooVecEnv([lambda: multigrid.parallel_env(config)] * 2)
    try:
        observations, _ = envs.reset(seed=0)
        experiences, _ = agilerl_ippo.rollout(ippo, envs, observations, 60)
    finally:
        envs.close()
    lengths = {len(field["agent_0"]) for field in experiences[:6]}
    assert len(lengths) == 1
    assert 60 < lengths.pop() < 60 * 4
    assert not any(np.isnan(field["agent_0"]).any() for field in experiences)


def test_learn_still_mixes_up_agents():
    """Of two steps of two agents, AgileRL lists observations by agent, but log-probabilities and rewards by step."""
    by_agent = {"agent_0": np.array([[1.0], [2.0]]), "agent_1": np.array([[3.0], [4.0]])}
    observations = concatenate_experiences_into_batches({a: x[..., None] for a, x in by_agent.items()}, Box(0, 9, (1,)))
    assert observations.tolist() == [1, 2, 3, 4]
    assert vectorize_agent_experiences_flat(by_agent).flatten().tolist() == [1, 3, 2, 4]


def test_agents_may_still_not_leave_one_world_only():
    """AgileRL's wrapper for agents that come and go stops where one has left the first of two worlds."""
    config = multigrid.GridConfig(size=(4, 3), num_agents=2, on_target="leave", flatten=True)
    observations = {"agent_0": np.zeros((2, 6), np.float32), "agent_1": np.zeros((2, 6), np.float32)}
    observations["agent_1"][0] = NAN
    with pytest.raises(ValueError, match="cannot reshape array"):
        AsyncAgentsWrapper(agilerl_ippo.make_ippo(config)).get_action(observations)


def test_ends_are_still_forgotten(monkeypatch):
    """In AgileRL's own training no step is marked as the first after an end, though episodes last two steps."""
    config = multigrid.GridConfig(size=(4, 3), num_agents=2, flatten=True, max_cycles=2)
    ippo = agilerl_ippo.make_ippo(config)
    ippo.learn_step = 16
    learned = []
    monkeypatch.setattr(ippo, "learn", lambda experiences: learned.append(experiences) or {})
    envs = AsyncPettingZooVecEnv([lambda: multigrid.parallel_env(config)] * 2)
    train_multi_agent_on_policy(envs, "multigrid", "IPPO", [ippo], max_steps=16, evo_steps=16, verbose=False)
    assert np.stack(learned[0][4]["agent_0"]).shape == (8, 2)
    assert not np.any(learned[0][4]["agent_0"])


test_it_learns = learning(agilerl_ippo.main, before=0.2, after=0.9, seed=1)
test_other_modes_are_refused = refusing(agilerl_ippo.main, "restart", "'leave' or 'park'")
test_examples = examples_of("examples.agilerl_ippo")
test_pages = pages_of_recipe("agilerl")
