"""Layouts by hand that start agents on their targets."""

import itertools

import numpy as np
import pytest

import judged
import multigrid
from multigrid import GridConfig
from multigrid.maps._text import ParsedMap
from worldgen import walls_of

MAP = """
    ...#.
    .#...
    .....
    """
COLLISIONS = ("symmetric", "priority", "block_both", "soft", "none")
ON_ITS_TARGET = {"agents": [[1, 2], [4, 0], [0, 1]], "targets": [[2, 0], [4, 0], [3, 2]]}


@pytest.mark.parametrize(
    ("collisions", "on_target", "reward"),
    [*itertools.product(COLLISIONS, ("stay", "restart"), ("individual",)), ("symmetric", "restart", "shared")],
)
def test_play_is_that_of_the_reference(collisions, on_target, reward):
    """From starts on targets, whole episodes are the reference's, and each state on the way is one of the game."""
    random = np.random.default_rng(5)
    options = {"collisions": collisions, "on_target": on_target, "reward": reward, "allow_stay": True, "max_cycles": 9}
    config = GridConfig(walls=MAP, num_agents=4, **options)
    free = np.argwhere(~walls_of(MAP))
    for seed in range(6):
        agents, targets = (random.permutation(free)[:4] for _ in range(2))
        there = random.random(4) < 0.6
        targets[there] = agents[there]
        if len({*map(tuple, targets.tolist())}) < 4:
            targets = agents
        judged.play_episode(config, seed, {"agents": agents, "targets": targets})


def test_arrival_is_counted_after_the_first_step():
    """Who starts on its target and stays arrives in step 1, at a cost of 1, which may end the episode; else not."""
    env = multigrid.parallel_env(walls=MAP, num_agents=3, on_target="stay", allow_stay=True)
    stay, up, right = 4, 1, 0
    for action, arrived, arrival_step in ((stay, 1, 1.0), (up, 0, np.nan)):
        _, infos = env.reset(options=ON_ITS_TARGET)
        assert (infos["agent_1"]["distance"], infos["agent_1"]["arrived"]) == (0.0, 0)
        _, rewards, _, _, infos = env.step({"agent_0": right, "agent_1": action, "agent_2": stay})
        assert (infos["agent_1"]["arrived"], rewards["agent_1"]) == (arrived, 0.0)
        np.testing.assert_equal(env.metrics()["arrival_step"][1], arrival_step)
        assert env.step(dict.fromkeys(env.agents, stay))[4]["agent_1"]["arrived"] == 0
    cells = ON_ITS_TARGET["agents"]
    env.reset(options={"agents": cells, "targets": cells})
    _, rewards, terminated, _, _ = env.step(dict.fromkeys(env.agents, stay))
    assert (set(rewards.values()), set(terminated.values()), env.agents) == ({1.0}, {True}, [])
    assert (env.metrics()["sum_of_costs"], env.metrics()["makespan"]) == (3, 1)


def test_restart_gives_a_new_target_after_the_first_step():
    """Under *restart*, an agent that starts on its target and stays is rewarded in step 1, and gets another target."""
    env = multigrid.vector_env(2, walls=MAP, num_agents=3, on_target="restart", allow_stay=True)
    env.reset(seed=3, options=ON_ITS_TARGET)
    _, rewards, *_ = env.step(np.full(6, 4))
    assert rewards.tolist() == [0, 1, 0, 0, 1, 0]
    state = env.get_state()
    assert (state["target"][:, 1] != state["location"][:, 1]).any(axis=1).all()


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_other_rules_refuse_it(on_target):
    """Under *park* and *leave* nobody can arrive where it starts: reset and GridConfig name the agent."""
    env = multigrid.parallel_env(walls=MAP, num_agents=3, on_target=on_target)
    with pytest.raises(ValueError, match=r"agent_1 starts on its own target, \[4, 0\]"):
        env.reset(options=ON_ITS_TARGET)
    picture = ParsedMap(walls_of(MAP), np.array(ON_ITS_TARGET["agents"]), np.array(ON_ITS_TARGET["targets"]))
    with pytest.raises(ValueError, match="agent_1 starts on its own target"):
        GridConfig(walls=picture, on_target=on_target)
    assert GridConfig(walls=picture, on_target="stay").num_agents == 3


@pytest.mark.parametrize("on_target", ["stay", "restart"])
def test_a_cell_that_reaches_no_other_is_no_start(on_target):
    """Walled in, an agent could get no next target, so that start is refused even on its own target."""
    env = multigrid.parallel_env(walls="..#.\n..##", num_agents=1, on_target=on_target)
    with pytest.raises(ValueError, match=r"agent_0 at \[3, 0\] can reach no other cell"):
        env.reset(options={"agents": [[3, 0]], "targets": [[3, 0]]})
