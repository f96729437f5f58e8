"""Tianshou: the recipe learns, and what it works around is still there."""

import numpy as np
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.torch_utils import policy_within_training_step

import multigrid
from examples import tianshou_dqn
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

WORLD = multigrid.GridConfig(size=(4, 3), num_agents=2, flatten=True, max_cycles=10)


def test_the_first_to_arrive_still_ends_the_episode():
    """Where agents leave, Tianshou calls the episode terminated while an agent is still on its way."""
    env = PettingZooEnv(multigrid.env(walls="aA..\nb..B", on_target="leave", max_cycles=None))
    env.reset()
    env.step(multigrid.Action.RIGHT)
    _, _, terminated, _, _ = env.step(multigrid.Action.RIGHT)
    assert terminated
    assert not env.env.terminations["agent_1"]


def collected():
    """Two turns of each of two agents, in a buffer, with the learner that played them."""
    dqn, make = tianshou_dqn.make_dqn(WORLD), lambda: PettingZooEnv(multigrid.env(WORLD))
    agents = MultiAgentOffPolicyAlgorithm(algorithms=[dqn] * 2, env=make())
    collector = Collector(agents, DummyVectorEnv([make]), VectorReplayBuffer(20, 1), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=4)
    return dqn, agents, collector.buffer


def test_returns_end_at_an_agents_own_next_turn():
    """A turn is stored with the other agent's next observation; as many turns on as there are agents is its own."""
    dqn, _, buffer = collected()
    turns = buffer[np.arange(4)]
    assert list(turns.obs.agent_id) == ["agent_0", "agent_1", "agent_0", "agent_1"]
    assert turns.obs_next.agent_id[0] == "agent_1"
    last = dqn.n_step - 1
    assert turns.obs_next.agent_id[last] == "agent_0"
    np.testing.assert_array_equal(turns.obs_next.obs[last], turns.obs.obs[2])


def test_agents_still_explore_only_as_if_nobody_trained_them():
    """The policy of all agents draws actions by ``eps_inference`` in training, whatever ``eps_training`` is."""
    dqn, agents, buffer = collected()
    batch = Batch(obs=buffer[np.zeros(1000, dtype=int)].obs)
    drawn = {}
    for name, eps in {"training": (1.0, 0.0), "inference": (0.0, 1.0)}.items():
        dqn.policy.set_eps_training(eps[0])
        dqn.policy.set_eps_inference(eps[1])
        with policy_within_training_step(agents.policy):
            drawn[name] = set(agents.policy.add_exploration_noise(np.zeros(1000, dtype=int), batch).tolist())
    assert drawn == {"training": {0}, "inference": {0, 1, 2, 3}}
    assert tianshou_dqn.make_dqn(WORLD).policy.eps_inference > 0


test_it_learns = learning(tianshou_dqn.main, before=0.2, after=0.8, steps=16_000, seed=2)
test_other_modes_are_refused = refusing(tianshou_dqn.main, "leave", "'park' or 'stay'")
test_examples = examples_of("examples.tianshou_dqn")
test_pages = pages_of_recipe("tianshou")
