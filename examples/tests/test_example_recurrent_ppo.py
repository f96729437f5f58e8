"""The recipe `examples.recurrent_ppo`: what it remembers, what it learns from, and that it resumes to the bit."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import multigrid
from examples import recurrent_ppo
from examples.ppo import advantages_of
from examples.recurrent_ppo import Net, Options, Trainer, main
from multigrid.integrations.training import FIRST_TRAINING_SEED

pytestmark = pytest.mark.heavy

TINY = Options("Foraging-2s-5x6-2p-1f-coop-v3", worlds=3, rollout=40, epochs=2, minibatches=2, hidden=8, save_every=2)
ROLLOUT = 3 * 2 * 40
STEM = "Foraging-2s-5x6-2p-1f-coop-v3"
both = pytest.mark.parametrize("feed_forward", [False, True])


def content(folder, name):
    """The curve, and all that the checkpoint contains, as bytes."""
    saved = torch.load(folder / f"{name}.pt", weights_only=True)
    leaves = {}

    def walk(path, value):
        if isinstance(value, dict | list):
            for key, one in value.items() if isinstance(value, dict) else enumerate(value):
                walk(f"{path}.{key}", one)
        else:
            leaves[path] = value.numpy().tobytes() if isinstance(value, torch.Tensor) else value

    walk("", saved)
    return json.loads((folder / f"{name}.json").read_text()), leaves


def test_it_stays_one_short_file():
    """A file to copy has fewer than 280 lines, and needs torch, tyro, Gymnasium and NumPy beside this package."""
    source = Path(recurrent_ppo.__file__).read_text()
    assert len(source.splitlines()) < 280
    modules = set(re.findall(r"^ *(?:import|from) (\w+)", source, re.MULTILINE))
    assert modules - sys.stdlib_module_names == {"gymnasium", "multigrid", "numpy", "torch", "tyro"}


@both
def test_a_stopped_run_ends_as_one_that_was_not(feed_forward, tmp_path, monkeypatch):
    """Stopped between checkpoints and started again, a training ends with the same bits; another seed has others."""
    options = dataclasses.replace(TINY, feed_forward=feed_forward, steps=5 * ROLLOUT, folder=tmp_path / "whole")
    name = f"{STEM}-{'feed-forward' if feed_forward else 'recurrent'}-0"
    main(options)
    update = Trainer.update

    def stop(trainer, played):
        if trainer.updates == 3:
            raise KeyboardInterrupt
        update(trainer, played)

    stopped = dataclasses.replace(options, folder=tmp_path / "stopped")
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", stop)
        with pytest.raises(KeyboardInterrupt):
            main(stopped)
    assert [steps for steps, _ in content(stopped.folder, name)[0]["curve"]] == [2 * ROLLOUT]
    main(stopped)
    curve, saved = content(options.folder, name)
    assert [steps for steps, _ in curve["curve"]] == [2 * ROLLOUT, 4 * ROLLOUT, 5 * ROLLOUT]
    assert (curve, saved) == content(stopped.folder, name)
    other = main(dataclasses.replace(options, seed=1)).net.state_dict()
    assert saved[".net.actor.bias"] != other["actor.bias"].numpy().tobytes()


def test_a_state_begins_at_zero_with_its_episode():
    """A net returns for two episodes in a row what it returns for each alone, from the row's own state."""
    net = Net(Trainer(TINY).envs, 8, has_memory=True)
    draw = torch.Generator().manual_seed(2)
    seen, states = torch.rand(7, 2, 9, generator=draw), torch.rand(2, 8, generator=draw)
    begins = torch.zeros(7, 2, dtype=torch.bool)
    begins[4, 1] = True
    logits, values, after = net(seen, begins, states)
    first, second = (slice(0, 4), slice(4, 7))
    for row, parts in ((0, [(slice(0, 7), states[:1])]), (1, [(first, states[1:]), (second, torch.zeros(1, 8))])):
        for steps, state in parts:
            alone = net(seen[steps, row : row + 1], torch.zeros(steps.stop - steps.start, 1, dtype=torch.bool), state)
            torch.testing.assert_close(logits[steps, row], alone[0][:, 0])
            torch.testing.assert_close(values[steps, row], alone[1][:, 0])
        torch.testing.assert_close(after[row], alone[2][0])


@both
def test_a_rollout_is_what_was_played(feed_forward):
    """Steps that only reset are left out, states begin with episodes, and an update finds the probabilities of play."""
    trainer = Trainer(dataclasses.replace(TINY, feed_forward=feed_forward))
    assert min(trainer.envs.np_random_seed) >= FIRST_TRAINING_SEED
    step, noted, left_out = trainer.envs.step, [], 0

    def note(actions):
        state = trainer.envs.get_state()
        noted.append((state["steps"] == 0, ~state["episode_over"]))
        return step(actions)

    trainer.envs.step = note
    for _ in range(3):
        noted.clear()
        played = trainer.play()
        begins, kept = (np.repeat(array, 2, axis=1) for array in map(np.stack, zip(*noted, strict=True)))
        np.testing.assert_array_equal(played.begins.numpy(), begins)
        np.testing.assert_array_equal(played.kept.numpy(), kept)
        left_out += (~kept).sum()
        with torch.no_grad():
            logits, values, _ = trainer.net(played.observations, played.begins, played.states)
        old = logits.log_softmax(2).gather(2, played.actions[..., None])[..., 0]
        torch.testing.assert_close(played.old, old)
        torch.testing.assert_close(played.returns, played.advantages + values)
    assert left_out > 0
    assert feed_forward or played.states.abs().sum() > 0


def test_advantages_are_those_of_ppo():
    """Terminations end the return, truncations only the look ahead, as in `examples.ppo`."""
    draw = torch.Generator().manual_seed(1)
    rewards, values = torch.rand(9, 6, generator=draw), torch.rand(10, 6, generator=draw)
    terminated, truncated = torch.rand(2, 9, 6, generator=draw) < 0.2
    done = terminated | truncated
    expected = advantages_of(rewards, values, terminated, done, gamma=0.99, gae_lambda=0.95)
    torch.testing.assert_close(Trainer(TINY).judge(rewards, values, terminated, done), expected)


@both
def test_it_learns(feed_forward, tmp_path):
    """Both arms learn a small game, in which an agent sees all."""
    name = "Foraging-5x5-1p-1f-v3"
    options = Options(name, feed_forward, steps=25_000, rollout=16, hidden=32, learning_rate=3e-3, save_every=6)
    curve = main(dataclasses.replace(options, folder=tmp_path)).curve
    assert curve[0][1] < 0.9
    assert curve[-1][1] > 0.95


def test_what_cannot_go_on_is_refused(tmp_path):
    """A run is continued with its own flags only, and observations in parts are not for this net."""
    options = dataclasses.replace(TINY, steps=1, folder=tmp_path)
    main(options)
    with pytest.raises(ValueError, match=r"recurrent-0\.pt was trained with gamma 0\.99, hidden 8; pass the same"):
        main(dataclasses.replace(options, gamma=0.5, hidden=4))
    with pytest.raises(TypeError, match="expected a game whose agents observe a Box"):
        Net(multigrid.vector_env(2, size=(4, 3)), 8, has_memory=True)
