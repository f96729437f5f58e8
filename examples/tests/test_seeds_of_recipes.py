"""Seeds of the recipes that train and evaluate on a vector env: one decides a run, and none is a held-out one."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete

from examples import ppo, sb3_algorithms
from examples.ppo import Options
from multigrid import GridConfig, MultiGridEnv, MultiGridVectorEnv

pytestmark = pytest.mark.heavy

SMALL = GridConfig(size=(4, 3), num_agents=2, max_cycles=12, flatten=True)
SHORT = {"steps": 1_200, "worlds": 4, "episodes": 10}


def train(name, seed):
    """Train with a recipe: the evaluations before and after, and the weights."""
    if name == "ppo":
        options = Options(SMALL, seed=seed, rollout=20, epochs=2, batch_size=64, hidden=(8,), **SHORT | {"steps": 400})
        before, after, net, *_ = ppo.main(options)
    else:
        before, after, model, *_ = sb3_algorithms.main(name, seed=seed, **SHORT)
        net = model.policy
    return before, after, torch.cat([value.flatten() for value in net.state_dict().values()])


@pytest.mark.parametrize("name", ["ppo", "qr_dqn", "maskable_ppo"])
def test_a_seed_decides_everything(name, monkeypatch):
    """Two runs with a seed are equal to the bit; another seed gives other weights, of worlds that no other run has."""
    reset_seeds, reset = [], MultiGridVectorEnv.reset

    def noted(envs, **given):
        returned = reset(envs, **given)
        reset_seeds.append(tuple(envs.np_random_seed))
        return returned

    monkeypatch.setattr(MultiGridVectorEnv, "reset", noted)
    one, again, other = (train(name, seed) for seed in (3, 3, 4))
    assert torch.equal(one[2], again[2])
    assert one[:2] == again[:2]
    assert not torch.equal(one[2], other[2])
    # Evaluated, trained, evaluated, three times over.
    assert reset_seeds[::3] == reset_seeds[2::3] == [tuple(range(10))] * 3
    (first, _, last) = reset_seeds[1::3]
    assert min(first + last) >= 1_000_000
    assert not set(first) & set(last)


def mean_figures(grid, actions):
    """Play single envs, seeded 0, 1, ..., with these actions (steps, rows): the mean success, steps and return."""
    figures, width = [], grid.num_agents
    for seed in range(actions.shape[1] // width):
        env, steps, returns = MultiGridEnv(grid), 0, 0.0
        env.reset(seed=seed)
        for row in actions[:, width * seed : width * (seed + 1)].tolist():
            if env.agents:
                by_name = dict(zip(env.possible_agents, row, strict=True))
                _, rewards, *_ = env.step({agent: by_name[agent] for agent in env.agents})
                returns += sum(rewards.values()) / width
                steps += 1
        figures.append((env.metrics()["csr"], steps, returns))
    return np.mean(figures, axis=0)


@pytest.mark.parametrize("on_target", ["park", "leave"])
@pytest.mark.parametrize("recipe", [ppo, sb3_algorithms])
def test_an_evaluation_counts_each_episode_once(recipe, on_target):
    """Success, steps and returns are those of single environments in which agents play the same actions."""
    grid = GridConfig(size=(4, 3), num_agents=3, max_cycles=25, flatten=True, on_target=on_target)
    if recipe is ppo:
        net = ppo.make_net(ppo.vector_env(1, grid), (8,))
        for parameter in net["actor"][-1].parameters():
            torch.nn.init.constant_(parameter, 0.0)
        # All actions are equally probable: the draws do not depend on the observations.
        stream = torch.Generator().manual_seed(0)
        actions = np.stack([ppo.sample(torch.zeros(90, 4), stream).numpy() for _ in range(25)])
        success, _, _ = expected = mean_figures(grid, actions)
        assert ppo.evaluate(net, grid, 30) == pytest.approx(expected)
    else:
        actions = np.random.default_rng(5).integers(0, 4, (25, 90))
        rows = iter(actions)
        model = SimpleNamespace(predict=lambda _, deterministic: (next(rows), None), action_space=Discrete(4))
        success, _, returns = mean_figures(grid, actions)
        assert sb3_algorithms.evaluate(model, grid, 30) == pytest.approx((success, returns))
    assert 0 < success < 1
