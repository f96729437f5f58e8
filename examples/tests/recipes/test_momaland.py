"""MOMAland: its wrappers weigh two rewards of each agent, and dear steps are saved."""

import importlib

import numpy as np
import pytest
from momaland.utils.parallel_wrappers import LinearizeReward, NormalizeReward, RecordEpisodeStatistics
from pettingzoo.test import parallel_api_test

import multigrid
from examples import momaland_wrappers
from recipe_contract import examples_of, pages_of_recipe

CORRIDORS = "a.A..\nb...B"


def test_dear_steps_are_saved(capsys):
    """Where steps are free agents learn to arrive, far more often than untrained; the dearer a step, the fewer."""
    front = momaland_wrappers.main(episodes=800, seed=1, tests=150)
    before, free, fair, dear = front[None], front[0.0], front[0.2], front[1.0]
    assert before.success < 0.3
    assert free.success > 0.75
    assert free.arrivals > fair.arrivals + 0.1 > dear.arrivals + 0.4
    assert free.steps > fair.steps > dear.steps
    shares = f"both arrive in {free.success:.1%}, {free.arrivals:.1%} of agents do, {free.steps:.1f} moves each"
    assert capsys.readouterr().out.splitlines()[1] == f"a step costs 0.0: {shares}"


def test_effort_is_asking_to_move():
    """Asking to move costs, also against an edge; staying does not, nor does an agent that has arrived."""
    env = momaland_wrappers.EffortReward(multigrid.parallel_env(walls=CORRIDORS, allow_stay=True))
    env.reset(seed=0)
    rewards = [env.step({"agent_0": 0, "agent_1": action})[1] for action in (2, 4, 0)]
    assert [reward["agent_0"].tolist() for reward in rewards] == [[0, -1], [1, -1], [0, 0]]
    assert [reward["agent_1"].tolist() for reward in rewards] == [[0, -1], [0, 0], [0, -1]]
    assert all(env.reward_space(agent).contains(reward) for each in rewards for agent, reward in each.items())


# MOMAland tells its statistics under "episode", beside the agents' infos.
@pytest.mark.filterwarnings("ignore:Agent was given info but was dead last turn:UserWarning")
def test_the_wrappers_keep_to_pettingzoo():
    """What MOMAland's wrappers make of a world is a ParallelEnv still."""
    parallel_api_test(momaland_wrappers.make_env(0.1), num_cycles=60)


def test_figures_of_an_episode():
    """The figures are sums over an episode, averaged over agents: one arrives with 2 moves, one does not with 3."""
    env = multigrid.parallel_env(walls=CORRIDORS, allow_stay=True, max_cycles=3)
    weights = dict.fromkeys(env.possible_agents, np.array([1, 0.5]))
    wrapped = LinearizeReward(RecordEpisodeStatistics(momaland_wrappers.EffortReward(env)), weights)

    class East(momaland_wrappers.QTable):
        def act(self, seen, explore=0.0):
            return 0

    figures = momaland_wrappers.play(wrapped, East(5, np.random.default_rng(0)), 0, explore=0.0)
    assert figures == (0.0, 0.5, 2.5)


@pytest.mark.parametrize("wrap", [RecordEpisodeStatistics, lambda env: NormalizeReward(env, "agent_0", 0)])
def test_leave_still_fails(wrap):
    """MOMAland's wrappers still ask for rewards of agents that have left, which is why the recipe's agents park."""
    env = wrap(multigrid.parallel_env(walls=CORRIDORS, on_target="leave"))
    env.reset(seed=0)
    env.step({"agent_0": 0, "agent_1": 0})
    env.step({"agent_0": 0, "agent_1": 0})
    with pytest.raises(KeyError, match="agent_0"):
        env.step({"agent_1": 0})


def test_statistics_are_still_wiped():
    """MOMAland's statistics of an episode still turn into zeros at the next reset: they are read before."""
    env = RecordEpisodeStatistics(multigrid.parallel_env(walls=CORRIDORS, max_cycles=2))
    env.reset(seed=0)
    for _ in range(2):
        *_, infos = env.step({"agent_0": 0, "agent_1": 0})
    sums = infos["episode"]["r"]
    assert sums == {"agent_0": 1, "agent_1": 0}
    env.reset(seed=0)
    assert sums == {"agent_0": 0, "agent_1": 0}


def test_the_agent_by_agent_wrappers_still_fail():
    """MOMAland's wrappers for AEC environments still want a Gymnasium older than MOMAland itself requires."""
    with pytest.raises(ModuleNotFoundError, match=r"gymnasium\.wrappers\.normalize"):
        importlib.import_module("momaland.utils.aec_wrappers")


test_examples = examples_of("examples.momaland_wrappers")
test_pages = pages_of_recipe("momaland")
