"""The recipe `examples.levels`: its buffer samples by rank and age, its rounds score what was played, and it trains."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the recipe needs PyTorch")

import torch

from examples import levels, ppo
from examples.levels import Buffer, Options, find_learnable, make_config, play_round, read_mazes, train
from multigrid import vector_env
from multigrid.maps import Level, mutate, parse_map
from multigrid.maps._cells import label_components

LEVEL = Level(*parse_map("a.#A\n...."))
RANDOM = np.random.default_rng(0)


def make_levels(count):
    """Levels, no two alike."""
    found = {LEVEL}
    while len(found) < count:
        found.add(mutate(LEVEL, 9, RANDOM))
    return sorted(found, key=lambda level: [array.tolist() for array in level])


def test_a_buffer_keeps_the_highest_scores():
    """A full buffer lets a higher score take the place of the lowest, and a known level has its new score."""
    kept, (first, second, third, fourth) = Buffer(Options(capacity=3, worlds=2)), make_levels(4)
    kept.keep([first], np.array([0.5]), 1)
    assert not kept.is_ready
    kept.keep([second, third], np.array([0.2, 0.9]), 2)
    assert kept.is_ready
    kept.keep([fourth], np.array([0.1]), 3)
    assert kept.levels == [first, second, third]
    kept.keep([fourth, first], np.array([0.3, 0.0]), 4)
    assert (kept.levels, kept.scores.tolist()) == ([first, fourth, third], [0.0, 0.3, 0.9])
    kept.keep([second], np.array([0.8]), 5)
    assert (kept.levels, kept.scores.tolist()) == ([second, fourth, third], [0.8, 0.3, 0.9])


def test_levels_are_sampled_by_rank_and_age():
    """Weights are the shares of rank ** (-1 / temperature) and of the rounds since a level was sampled."""
    kept = Buffer(Options(capacity=3, worlds=400, temperature=0.5, staleness=0.25))
    kept.keep(make_levels(3), np.array([0.1, 0.7, 0.4]), 10)
    ranks = np.array([1 / 9, 1, 1 / 4])
    np.testing.assert_allclose(kept.weights(10), 0.75 * ranks / ranks.sum() + 0.25 / 3)
    kept.sampled[:] = [4, 10, 8]
    np.testing.assert_allclose(kept.weights(10), 0.75 * ranks / ranks.sum() + 0.25 * np.array([6, 0, 2]) / 8)
    chosen = kept.sample(10, np.random.default_rng(0))
    assert [chosen.count(level) for level in kept.levels] == pytest.approx([99, 220, 80], abs=35)
    assert kept.sampled.tolist() == [10, 10, 10]


def test_a_round_repeats_its_levels():
    """Each world plays one level again and again, and its score is the mean of its advantages, negative ones as 0."""
    options = Options(worlds=3, rollout=40)
    config = make_config(options, max_cycles=7)
    setup = ppo.Options(config, rollout=40, gamma=0.9, gae_lambda=0.0)
    envs = vector_env(3, config)
    envs.reset(seed=0)
    given, seen = envs.get_levels(), []
    step = envs.step
    envs.step = lambda actions: (seen.append(envs.get_levels()), step(actions))[1]
    torch.manual_seed(0)
    net = ppo.make_net(envs, (8,))
    batch, played, scores = play_round(net, envs, given, setup, torch.Generator().manual_seed(0))
    assert played == given
    assert all(levels == given for levels in seen)
    assert len(seen) == 40
    observations, actions, _, _, returns = batch
    assert len(observations) == len(actions) == len(returns) <= 3 * 36
    with torch.no_grad():
        advantages = returns - net["critic"](observations).squeeze(1)
    assert scores.mean() == pytest.approx(float(advantages.clamp(min=0).mean()), abs=0.02)
    shorter = dataclasses.replace(setup, rollout=39)  # all episodes end in the last step
    play_round(net, envs, given, shorter, torch.Generator().manual_seed(0))
    assert envs.episode_over.all()
    envs.reset()
    assert not set(envs.get_levels()) & set(given)
    _, drawn, _ = play_round(net, envs, None, setup, torch.Generator().manual_seed(0))
    assert drawn != given
    assert envs.get_levels() != drawn  # domain randomisation draws on


@pytest.mark.parametrize("method", ["dr", "plr", "accel", "sfl"])
def test_each_method_trains(method, monkeypatch):
    """Training changes the net in rounds that train; PLR and ACCEL train once half of the buffer is full."""
    updates, mutations, rounds = [], [], []
    monkeypatch.setattr(ppo, "update", lambda *given: updates.append(len(given[2][0])))
    monkeypatch.setattr(levels, "mutate", lambda *given: (mutations.append(given[1]), mutate(*given))[1])
    monkeypatch.setattr(
        levels,
        "play_round",
        lambda net, envs, *given: (rounds.append(envs.num_worlds), play_round(net, envs, *given))[1],
    )
    train(Options(method, steps=9600, worlds=4, rollout=60, capacity=16, replay=1.0, candidates=4, chosen=2, trial=9))
    assert len(updates) == 40
    assert mutations == ([5] * 4 * 40 if method == "accel" else [])
    assert rounds == {"dr": 40, "plr": 42, "accel": 82, "sfl": 40}[method] * [4]


def test_half_of_the_worlds_repeat_learnable_levels(monkeypatch):
    """SFL searches every `period` rounds; then a share of the worlds repeats what was found, the others new levels."""
    searches, given = [], []
    monkeypatch.setattr(
        levels, "find_learnable", lambda net, envs, *rest: (searches.append(len(given)), envs.get_levels()[:2])[1]
    )
    monkeypatch.setattr(levels, "play_round", lambda *rest: (given.append(rest[2]), play_round(*rest))[1])
    train(Options("sfl", steps=1600, worlds=4, rollout=40, period=4))
    assert searches == [0, 4, 8]
    for first in searches:
        some = given[first : first + 4]
        assert len({level for one in some for level in one[:2]}) <= 2
        assert len({level for one in some for level in one[2:]}) == 2 * len(some)


class Trials:
    """Four worlds, whose episodes of one step are solved never, always, every second and every fourth time."""

    num_worlds, episode_over = 4, np.ones(4, dtype=bool)

    def __init__(self):
        self.round, self.repeated = 0, []

    def reset(self):
        """Draw new levels."""
        self.round, self.steps = self.round + 1, 0
        return np.zeros((4, 1), np.float32), {}

    def get_levels(self):
        """The levels, named by how often they are solved."""
        return [(self.round, name) for name in ("never", "always", "half", "quarter")]

    def set_next_levels(self, worlds, given):
        """Remember what is repeated."""
        assert worlds.tolist() == [0, 1, 2, 3]
        self.repeated += given

    def step(self, actions):
        """Play an episode of each world."""
        self.steps += 1
        solved = np.array([False, True, self.steps % 2 == 0, self.steps % 4 == 0])
        return np.zeros((4, 1), np.float32), None, solved, ~solved, {}


def test_learnable_levels_are_solved_now_and_then():
    """Of new levels, those are kept for which p (1 - p) is highest, p being the share of episodes that are solved."""
    envs, options = Trials(), Options(candidates=8, chosen=3, trial=8)
    net = {"actor": lambda rows: torch.zeros(len(rows), 4)}
    kept = find_learnable(net, envs, options, torch.Generator().manual_seed(0))
    assert kept == [(1, "half"), (2, "half"), (1, "quarter")]
    assert {number for number, _ in envs.repeated} == {1, 2}
    assert len(envs.repeated) == 2 * 8 * 4


def test_a_game_is_played_on_its_own_levels():
    """Levels of a game have its state: the key and the door of a level are the same whenever it is repeated."""
    options = Options(game="examples.games.key_and_door:KeyAndDoor", worlds=3, side=5, metric="opened")
    config = make_config(options)
    assert config.parts == ("view", "agent", "has_key", "goal")
    envs = vector_env(3, config)
    envs.reset(seed=0)
    given = [mutate(level, 2, RANDOM) for level in envs.get_levels()]
    assert all(level.state is None for level in given)
    net, setup = ppo.make_net(envs, (8,)), ppo.Options(config, rollout=70)
    _, played, _ = play_round(net, envs, given, setup, torch.Generator().manual_seed(0))
    assert [np.array_equal(one.walls, other.walls) for one, other in zip(played, given, strict=True)] == [True] * 3
    assert envs.get_levels() == played
    assert all({"key", "door"} <= set(level.state) for level in played)


def test_held_out_episodes_are_repeated():
    """Each seed is played several times, with other actions, and measured as `multigrid.evaluate` does."""
    options = Options(held_out=6, episodes=4, side=5)
    config = make_config(options)
    torch.manual_seed(0)
    net = ppo.make_net(vector_env(1, config), (8,))
    result = levels.evaluate(net, config, options)
    assert result.seeds == tuple(np.arange(6).repeat(4))
    values = np.array([episode["isr"] for episode in result.episodes]).reshape(6, 4)
    assert {0.0, 1.0} == set(values.ravel())
    assert any(0 < row.mean() < 1 for row in values)
    assert result.worst("isr", 0.5).mean <= 1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"metric": "irs"}, ValueError, r"metric is 'irs' \(did you mean 'isr'\?\); expected one of 'return', 'csr'"),
        ({"save": Path("nowhere/levels.json")}, FileNotFoundError, "nowhere is not a folder; make it first"),
    ],
)
def test_what_cannot_be_measured_is_not_trained(change, error, message, monkeypatch):
    """An unknown metric, and a file in no folder, are refused before the training."""
    monkeypatch.setattr(levels, "train", lambda options: pytest.fail("it trains"))
    with pytest.raises(error, match=message):
        levels.main(Options(**change))


def test_held_out_mazes_are_connected():
    """Each map has 15 x 15 cells, and all of its free cells reach one another; none is another one's copy."""
    mazes = read_mazes(15)
    known = {name: maze for name, maze in mazes.items() if isinstance(maze, np.ndarray)}
    assert len(known) == len(mazes) - 1 == 8
    assert {maze.shape for maze in known.values()} == {(15, 15)}
    assert {int(label_components(maze).max()) for maze in known.values()} == {1}
    assert len({maze.tobytes() for maze in known.values()}) == 8
