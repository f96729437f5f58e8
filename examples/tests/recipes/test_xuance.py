"""XuanCe: the recipe learns, and its worlds give XuanCe what the game plays."""

import numpy as np
import pytest
from xuance.environment import XuanCeMultiAgentEnvWrapper

import multigrid
from examples import xuance_mappo
from multigrid.wrappers import StandardParallel, standard_config
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

WEST, EAST = 2, 0


def played(actions, **fields):
    """What XuanCe's own wrapper returns of steps in which two agents play these actions, (T, 2)."""
    config = multigrid.GridConfig(**{"walls": "a.A..\nb...B", "max_cycles": 6} | fields)
    world = XuanCeMultiAgentEnvWrapper(xuance_mappo.World(config, seed=0))
    world.reset()
    return [world.step(dict(zip(config.agents, pair, strict=True))) for pair in actions]


def test_who_has_left_keeps_a_row_of_zeros():
    """An agent that arrives in step 2 has acted in it; from step 3 it has zeros, no reward, and the mask is False."""
    steps = played([[EAST, EAST]] * 4, on_target="leave")
    assert [list(step[1].values()) for step in steps] == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert [list(step[2].values()) for step in steps] == [[False, False], [True, False], [True, False], [True, True]]
    assert [list(step[4]["agent_mask"].values()) for step in steps] == [[True] * 2] * 2 + [[False, True]] * 2
    assert [bool(step[0]["agent_0"].any()) for step in steps] == [True, True, False, False]
    assert [int(step[4]["avail_actions"]["agent_0"].sum()) for step in steps] == [3, 1, 1, 1]
    assert not any(step[3] for step in steps)


def test_a_time_limit_is_a_truncation():
    """At `max_cycles` the flag of truncation is True, and nobody has terminated."""
    steps = played([[WEST, WEST]] * 6)
    assert [step[3] for step in steps] == [False] * 5 + [True]
    assert not any(any(step[2].values()) for step in steps)


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_observations_masks_and_states_are_the_worlds(on_target):
    """A world seeded s gives the observations, masks and states of a ParallelEnv seeded s, over several episodes."""
    config = multigrid.GridConfig(size=(5, 3), num_agents=3, on_target=on_target, max_cycles=15)
    world, env = xuance_mappo.World(config, seed=4), StandardParallel(multigrid.parallel_env(standard_config(config)))
    stream, ends = np.random.default_rng(2), 0
    seen, (expected, _) = world.reset()[0], env.reset(seed=4)
    for _ in range(60):
        for agent, row in expected.items():
            assert np.array_equal(seen[agent], row["observation"])
            assert world.avail_actions()[agent].tolist() == row["action_mask"].astype(bool).tolist()
        assert list(seen) == list(config.agents)
        assert np.array_equal(world.state(), env.state())
        actions = dict(zip(config.agents, stream.integers(4, size=3).tolist(), strict=True))
        expected, *_ = env.step({agent: actions[agent] for agent in env.agents})
        seen, _, terminated, truncated, _ = world.step(actions)
        over = all(terminated.values()) or truncated
        assert over == (not env.agents)
        if over:
            ends += 1
            seen, (expected, _) = world.reset()[0], env.reset()
    assert ends >= 3


def test_arrival_rate():
    """An episode counts when every agent has arrived in it."""
    config = multigrid.GridConfig(walls="a.A\nb.B", max_cycles=4)

    class Fixed:
        def __init__(self, *actions):
            self.actions = dict(zip(config.agents, map(np.array, actions), strict=True))

        def get_actions(self, obs_dict, avail_actions_dict, test_mode):
            assert test_mode
            assert list(obs_dict[0]) == list(avail_actions_dict[0]) == list(config.agents)
            return {"actions": [self.actions]}

    assert xuance_mappo.arrival_rate(Fixed(EAST, EAST), config, 3) == 1
    assert xuance_mappo.arrival_rate(Fixed(EAST, WEST), config, 3) == 0


test_it_learns = learning(xuance_mappo.main, before=0.4, after=0.85, steps=1500, seed=1)
test_other_modes_are_refused = refusing(xuance_mappo.main, "restart", "'park', 'leave' or 'stay'")
test_examples = examples_of("examples.xuance_mappo")
test_pages = pages_of_recipe("xuance")
