"""Tianshou: the recipe learns from what each agent has seen in its own next turn."""

import numpy as np
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv

import multigrid
from examples import tianshou_dqn
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

WORLD = multigrid.GridConfig(size=(4, 3), num_agents=2, flatten=True, max_cycles=10)


def test_returns_end_at_an_agents_own_next_turn():
    """A turn is stored with the other agent's next observation; as many turns on as there are agents is its own."""
    dqn, make = tianshou_dqn.make_dqn(WORLD), lambda: PettingZooEnv(multigrid.env(WORLD))
    agents = MultiAgentOffPolicyAlgorithm(algorithms=[dqn] * 2, env=make())
    collector = Collector(agents, DummyVectorEnv([make]), VectorReplayBuffer(20, 1), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=4)
    assert dqn.policy.eps_inference > 0, "the agents explore"
    turns = collector.buffer[np.arange(4)]
    assert list(turns.obs.agent_id) == ["agent_0", "agent_1", "agent_0", "agent_1"]
    assert turns.obs_next.agent_id[0] == "agent_1"
    last = dqn.n_step - 1
    assert turns.obs_next.agent_id[last] == "agent_0"
    np.testing.assert_array_equal(turns.obs_next.obs[last], turns.obs.obs[2])


test_it_learns = learning(tianshou_dqn.main, before=0.2, after=0.8, steps=16_000, seed=2)
test_other_modes_are_refused = refusing(tianshou_dqn.main, "leave", "'park' or 'stay'")
test_examples = examples_of("examples.tianshou_dqn")
test_pages = pages_of_recipe("tianshou")
