"""The recipe `examples.ppo`: it learns, repeats itself, and counts only what was played."""

import dataclasses
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import tyro
from gymnasium.wrappers.vector import TransformReward

from examples import ppo
from examples.ppo import Options, advantages_of, main, make_net
from multigrid import GridConfig, MultiGridEnv
from multigrid.integrations.tyro import grid_registry

pytestmark = pytest.mark.heavy

SMALL = GridConfig(size=(4, 3), num_agents=2, max_cycles=12, flatten=True)
CROWD = GridConfig(size=(4, 3), num_agents=3, max_cycles=7, flatten=True)
QUICK = Options(SMALL, worlds=32, rollout=16, batch_size=256, learning_rate=3e-3)
TINY = Options(SMALL, steps=400, worlds=5, rollout=20, epochs=2, batch_size=64, hidden=(8,), episodes=10)


def weights(net):
    """All weights of a net, in one vector."""
    return torch.cat([value.flatten() for value in net.state_dict().values()])


def test_it_stays_one_short_file():
    """A file to copy has fewer than 250 lines, and needs torch, tyro and NumPy beside this package."""
    source = Path(ppo.__file__).read_text()
    assert len(source.splitlines()) < 250
    modules = set(re.findall(r"^ *(?:import|from) (\w+)", source, re.MULTILINE))
    assert modules - sys.stdlib_module_names == {"multigrid", "numpy", "torch", "tyro"}


def test_it_learns(capsys):
    """Within a limit that few untrained episodes keep, nearly all trained ones succeed, in fewer steps."""
    result = main(dataclasses.replace(QUICK, steps=30_000))
    assert result.before.success_rate < 0.3
    assert result.after.success_rate > 0.85
    assert result.after.mean_steps < 6 < result.before.mean_steps
    assert result.env_rate > result.rate > 0
    rates = f"{result.env_rate:,.0f} the env alone, {result.rate:,.0f} the whole"
    said = capsys.readouterr().out
    assert all(part in said for part in (f"before: {result.before}", f": {result.after}", rates))


@pytest.mark.parametrize("on_target", ["leave", "stay", "restart"])
def test_every_target_rule_trains(on_target):
    """Whatever follows from arriving, an agent collects more than before."""
    grid = dataclasses.replace(SMALL, on_target=on_target)
    result = main(dataclasses.replace(QUICK, grid=grid, steps=10_000))
    assert result.after.mean_return > 1.5 * result.before.mean_return


def test_the_weights_can_be_saved(tmp_path):
    """With `save` there is one file, of the weights that the run ended with."""
    path = tmp_path / "weights.pt"
    result = main(dataclasses.replace(TINY, save=path))
    assert [file.name for file in tmp_path.iterdir()] == ["weights.pt"]
    loaded = torch.load(path, weights_only=True)
    assert all(torch.equal(loaded[name], value) for name, value in result.net.state_dict().items())


def test_a_reward_of_ones_own_is_trained_on():
    """The env's own reward as a function changes nothing; another changes the weights, as TransformReward does."""
    plain, same, other = (main(TINY, reward) for reward in (None, lambda *step: step[1], lambda *step: step[1] - 0.1))
    assert torch.equal(weights(plain.net), weights(same.net))
    assert not torch.equal(weights(plain.net), weights(other.net))
    assert plain.before == same.before == other.before
    torch.manual_seed(TINY.seed)
    envs = ppo.vector_env(TINY.worlds, SMALL)
    net = make_net(envs, TINY.hidden)
    wrapped = TransformReward(envs, lambda rewards: rewards - 0.1)
    ppo.train(net, wrapped, TINY)
    assert torch.equal(weights(net), weights(other.net))


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(0.9, 0.7), (0.5, 1.0), (0.99, 0.0)])
def test_advantages_are_those_of_the_definition(gamma, gae_lambda):
    """With ends of both kinds, an estimate is the discounted sum of the errors up to the end of the row's episode."""
    random = np.random.default_rng(6)
    rewards, values = random.normal(size=(9, 40)), random.normal(size=(10, 40))
    terminated, truncated = random.random((2, 9, 40)) < 0.2
    expected = np.zeros((9, 40))
    for t, row in np.ndindex(9, 40):
        for k in range(t, 9):
            ahead = 0.0 if terminated[k, row] else values[k + 1, row]
            error = rewards[k, row] + gamma * ahead - values[k, row]
            expected[t, row] += (gamma * gae_lambda) ** (k - t) * error
            if terminated[k, row] or truncated[k, row]:
                break
    given = map(torch.from_numpy, (rewards, values, terminated, terminated | truncated))
    np.testing.assert_allclose(advantages_of(*given, gamma=gamma, gae_lambda=gae_lambda).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("advantage", "old", "moves"),
    [(1.0, 0.9, True), (1.0, 0.8, False), (1.0, 1.5, True), (-1.0, 1.2, True), (-1.0, 1.3, False), (-1.0, 0.5, True)],
)
def test_an_update_goes_no_further_than_it_may(advantage, old, moves):
    """An action's probability rises no further once it is above 1.2 times the old one, nor falls below 0.8 of it."""
    # All four actions have the probability 0.25 now; that of the drawn one was `old` times as much.
    options = dataclasses.replace(TINY, epochs=1, entropy=0.0, clip=0.2)
    net = make_net(ppo.vector_env(1, SMALL), (8,))
    for parameter in net["actor"][-1].parameters():
        torch.nn.init.zeros_(parameter)
    before = weights(net["actor"])
    seen, drawn = torch.ones(5, net["actor"][0].in_features), torch.full((5,), 2)
    probability, gains = torch.full((5,), 0.25 * old), torch.full((5,), advantage)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    ppo.update(net, optimizer, (seen, drawn, probability.log(), gains, torch.zeros(5)), options)
    assert torch.equal(weights(net["actor"]), before) != moves


def replayed(grid, num_worlds, rollouts, length, actions):
    """What updates should be given, of worlds played one by one: [observation, rewards ahead, the last observation]."""
    envs = [MultiGridEnv(grid) for _ in range(num_worlds)]
    seen = [env.reset(seed=1_000_000 + index)[0] for index, env in enumerate(envs)]
    asked, played = iter(actions), []
    open_steps = {}
    for t in range(rollouts * length):
        if t % length == 0:
            open_steps.clear()
        for index, env in enumerate(envs):
            if not env.agents:
                seen[index], _ = env.reset()
                continue
            live = list(env.agents)
            for agent in live:
                played.append([seen[index][agent], [], None])
                open_steps.setdefault((index, agent), []).append(played[-1])
            seen[index], rewards, terminated, truncated, _ = env.step({agent: next(asked) for agent in live})
            for agent in live:
                for step in open_steps[index, agent]:
                    step[1].append(rewards[agent])
                    step[2] = None if terminated[agent] else seen[index][agent]
                if terminated[agent] or truncated[agent]:
                    del open_steps[index, agent]
    assert next(asked, None) is None
    return played


@pytest.mark.parametrize(("on_target", "max_cycles"), [("park", 25), ("leave", 7), ("restart", 7)])
def test_updates_see_what_was_played_and_nothing_else(on_target, max_cycles, monkeypatch):
    """Neither rows of agents that have left nor those of resets are learned from, and returns end where they must."""
    # Judged by single environments that play the same actions. With a lambda of 1 the return is the discounted sum of
    # the rewards ahead, and of the value of the last observation where an episode, or the rollout, was cut.
    batches = []
    monkeypatch.setattr(ppo, "update", lambda *given: batches.append([array.clone() for array in given[2]]))
    grid = dataclasses.replace(CROWD, on_target=on_target, max_cycles=max_cycles)
    options = dataclasses.replace(TINY, grid=grid, steps=4 * 3 * 60, worlds=4, rollout=15, gamma=0.8, gae_lambda=1.0)
    net = main(options).net
    assert len(batches) == 4
    observations, actions, old, _, returns = (torch.cat(arrays) for arrays in zip(*batches, strict=True))
    played = replayed(grid, 4, 4, 15, actions.tolist())
    np.testing.assert_array_equal(observations.numpy(), np.stack([step[0] for step in played]))
    ends = {step[2] is None for step in played}
    assert ends == ({False} if on_target == "restart" else {False, True}), "there are ends of both kinds"

    def value(seen):
        with torch.no_grad():
            return net["critic"](torch.from_numpy(seen)).item()

    expected = [
        sum(0.8**k * reward for k, reward in enumerate(rewards))
        + (0.0 if last is None else 0.8 ** len(rewards) * value(last))
        for _, rewards, last in played
    ]
    np.testing.assert_allclose(returns.numpy(), expected, atol=1e-5)
    gains = np.array(expected) - [value(step[0]) for step in played]
    for advantages in (batch[3].numpy() for batch in batches):
        own, gains = gains[: len(advantages)], gains[len(advantages) :]
        np.testing.assert_allclose(advantages, (own - own.mean()) / own.std(ddof=1), atol=1e-4)
    with torch.no_grad():
        likely = net["actor"](observations).softmax(dim=1)[torch.arange(len(actions)), actions].log()
    np.testing.assert_allclose(old.numpy(), likely.numpy(), atol=1e-6)


def test_the_learning_rate_falls_to_nothing(monkeypatch):
    """It is the whole at the first update, and falls by the same amount with each."""
    rates = []
    monkeypatch.setattr(ppo, "update", lambda net, optimizer, *_: rates.append(optimizer.param_groups[0]["lr"]))
    main(dataclasses.replace(TINY, steps=4 * 5 * 2 * 20, learning_rate=0.1))
    assert rates == pytest.approx([0.1, 0.075, 0.05, 0.025])


def test_flags_reach_the_world():
    """Every field of a GridConfig is a flag, beside those of the learner."""
    flags = "--size 4 3 --num-agents 3 --on-target leave --max-cycles 9 --hidden 16 16 --steps 5"
    options = tyro.cli(Options, args=flags.split(), registry=grid_registry())
    assert options.grid == GridConfig(size=(4, 3), num_agents=3, on_target="leave", max_cycles=9)
    assert (options.hidden, options.steps) == ((16, 16), 5)


def test_what_cannot_end_well_is_refused(tmp_path, monkeypatch):
    """Episodes without an end, no steps, and a folder that is not there are refused before anything is played."""
    monkeypatch.setattr(ppo, "vector_env", None)
    for options, error, message in (
        (Options(GridConfig(max_cycles=None)), ValueError, "max-cycles is None"),
        (Options(SMALL, steps=0), ValueError, "--steps 0; expected numbers from 1 on"),
        (Options(SMALL, save=tmp_path / "missing" / "w.pt"), FileNotFoundError, "missing is no folder; make it first"),
    ):
        with pytest.raises(error, match=message):
            main(options)
