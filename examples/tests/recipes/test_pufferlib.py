"""PufferLib: the recipe learns, PuffeRL gets what the game plays, and what is worked around is still there."""

import numpy as np
import pytest
import torch

import multigrid
from examples import pufferlib_ppo
from multigrid.integrations.training import list_metrics
from multigrid.wrappers import StandardParallel, standard_config
from own_game import GAME, ORIGINALS, check_brought
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

WORLD = multigrid.GridConfig(size=(5, 4), num_agents=2, max_cycles=9)


def flat(observations, config):
    """The rows that PufferLib gets of the observations of one world: zeros, with one action, for who has left."""
    absent = {"observation": np.zeros(8), "action_mask": [0, 0, 0, 1]}
    rows = [observations.get(agent, absent) for agent in config.agents]
    return np.array([np.concatenate([row["observation"], row["action_mask"]]) for row in rows], np.float32)


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_the_rows_are_those_of_single_worlds(on_target):
    """World i, seeded s + i, gives PufferLib the observations, rewards and ends of a ParallelEnv seeded s + i."""
    config = standard_config(multigrid.GridConfig(size=(5, 3), num_agents=3, on_target=on_target, max_cycles=25))
    worlds = pufferlib_ppo.Worlds(config, num_worlds=2)
    envs = [StandardParallel(multigrid.parallel_env(config)) for _ in range(2)]
    seen, infos = worlds.reset(seed=7)
    assert infos == []
    firsts = [env.reset(seed=7 + world)[0] for world, env in enumerate(envs)]
    assert np.array_equal(seen, np.concatenate([flat(first, config) for first in firsts]))
    actions_stream, ends = np.random.default_rng(5), 0
    for _ in range(120):
        actions = actions_stream.integers(4, size=6)
        seen, rewards, terminals, truncations, infos = worlds.step(actions)
        metrics = []
        for world, env in enumerate(envs):
            rows = slice(3 * world, 3 * world + 3)
            played = {agent: int(actions[3 * world + index]) for index, agent in enumerate(config.agents)}
            present = list(env.agents)
            observations, earned, terminated, truncated, _ = env.step({agent: played[agent] for agent in present})
            assert rewards[rows].tolist() == pytest.approx([earned.get(agent, 0) for agent in config.agents])
            over = not env.agents
            # A world that is over cuts every row, also those of agents that have left before.
            expected = [over or terminated.get(agent, False) or truncated.get(agent, False) for agent in config.agents]
            assert terminals[rows].tolist() == expected
            if over:
                ends += 1
                metrics.append(env.unwrapped.metrics())
                observations, _ = env.reset()
            assert np.array_equal(seen[rows], flat(observations, config))
        assert not truncations.any()
        names = list_metrics(config) if metrics else ()
        means = {name: np.mean([found[name] for found in metrics]) for name in names}
        assert infos == ([pytest.approx(means, nan_ok=True)] if metrics else [])
    assert ends > 4


def test_what_the_mask_excludes_is_never_played():
    """The network gives actions that run into a wall no probability, whatever its weights."""
    worlds = pufferlib_ppo.Worlds(WORLD, num_worlds=8)
    torch.manual_seed(0)
    net = pufferlib_ppo.Net(worlds, hidden_size=8)
    observations, _ = worlds.reset(seed=3)
    logits, values = net.forward_eval(torch.from_numpy(observations))
    assert values.shape == (16, 1)
    probabilities, masks = logits.softmax(dim=1).detach().numpy(), observations[:, -4:]
    assert 0 < (masks == 0).sum() < masks.size
    assert (probabilities[masks == 0] == 0).all()
    assert (probabilities[masks == 1] > 0.01).all()


def test_truncations_are_still_not_used(tmp_path, capfd):
    """PuffeRL still stores no truncation, which is why the worlds give them as terminations."""
    worlds = pufferlib_ppo.Worlds(WORLD, num_worlds=8)
    step = worlds.step

    def step_apart(actions):
        rows, rewards, terminals, truncations, infos = step(actions)
        truncations[:], terminals[:] = terminals, False
        return rows, rewards, terminals, truncations, infos

    worlds.step = step_apart
    trainer = pufferlib_ppo.make_trainer(worlds, seed=0, steps=512, folder=str(tmp_path))
    trainer.evaluate()
    assert not trainer.truncations.any()
    assert not trainer.terminals.any()
    trainer.close()


def test_a_game_is_learned_from(tmp_path, capfd):
    """PuffeRL's rollout has the actions, the part and the rewards of a game of one's own, and it trains on them."""
    worlds = pufferlib_ppo.Worlds(GAME, num_worlds=16)
    assert worlds.single_action_space.n == 6
    trainer = pufferlib_ppo.make_trainer(worlds, seed=0, steps=32 * 32, folder=str(tmp_path))
    trainer.evaluate()
    # PuffeRL clips rewards to -1 .. 1, and a row's first one is that before its first action.
    seen, taken, paid = (array.numpy() for array in (trainer.observations, trainer.actions, trainer.rewards[:, 1:]))
    check_brought(seen, taken, paid, pays=1)
    before = [weights.clone() for weights in trainer.uncompiled_policy.parameters()]
    trainer.train()
    assert not all(map(torch.equal, before, trainer.uncompiled_policy.parameters()))
    trainer.close()


@pytest.mark.parametrize("game_id", ORIGINALS)
def test_the_originals_are_learned_from(game_id, tmp_path, capfd):
    """PuffeRL trains on rware and lb-foraging, and takes each of their actions."""
    size, num_actions = ORIGINALS[game_id]
    worlds = pufferlib_ppo.Worlds(multigrid.games.config(game_id), num_worlds=16)
    assert worlds.single_observation_space.shape == (size + num_actions,)
    trainer = pufferlib_ppo.make_trainer(worlds, seed=0, steps=32 * 32, folder=str(tmp_path))
    trainer.evaluate()
    assert set(trainer.actions.unique().tolist()) == set(range(num_actions))
    before = [weights.clone() for weights in trainer.uncompiled_policy.parameters()]
    trainer.train()
    assert not all(map(torch.equal, before, trainer.uncompiled_policy.parameters()))
    trainer.close()


def test_arrival_rate():
    """An episode counts when every agent has arrived in it; actions are sampled."""
    config = multigrid.GridConfig(walls="a.A\nb.B", max_cycles=4)

    class Fixed:
        def __init__(self, logits):
            self.logits = torch.tensor(logits)

        def forward_eval(self, rows):
            return self.logits.expand(2, 4)[: len(rows)], None

    assert pufferlib_ppo.arrival_rate(Fixed([50.0, 0, 0, 0]), config, 20) == 1
    assert pufferlib_ppo.arrival_rate(Fixed([0, 0, 50.0, 0]), config, 20) == 0
    assert pufferlib_ppo.arrival_rate(Fixed([[50.0, 0, 0, 0], [0, 0, 50.0, 0]]), config, 20) == 0
    assert 0 < pufferlib_ppo.arrival_rate(Fixed([0.0, 0, 0, 0]), config, 100) < 0.3


test_it_learns = learning(pufferlib_ppo.main, before=0.4, after=0.85, steps=100_000, seed=1)
test_other_modes_are_refused = refusing(pufferlib_ppo.main, "restart", "'park', 'leave' or 'stay'")
test_examples = examples_of("examples.pufferlib_ppo")
test_pages = pages_of_recipe("pufferlib")
