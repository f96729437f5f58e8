"""The recipes of Stable-Baselines3's guide that need a wrapper of ours: hindsight, pixels, shaped rewards."""

import pytest

from examples import sb3_her, sb3_pixels, sb3_shaping

pytestmark = pytest.mark.heavy


def test_hindsight_learns_where_dqn_alone_does_not():
    """After the same steps DQN with HER finds most held-out targets, and DQN without it hardly more than before."""
    results = sb3_her.main(steps=3_200)
    assert max(before for before, _ in results.values()) < 0.2
    assert results["HER"][1] > results["DQN"][1] + 0.25


def test_pixels_are_learnt_from():
    """On the smallest frames that CnnPolicy takes, a short training multiplies success."""
    before, after = sb3_pixels.main(steps=4_096, pixels=36)
    assert after > before + 0.25


def test_a_potential_saves_steps(capsys):
    """With a potential PPO reaches the level of success within steps that are far too few with the sparse reward."""
    results = sb3_shaping.main(steps=10_240, rewards=("sparse", "potential"))
    assert max(before for before, _, _ in results.values()) < 0.2
    assert results["potential"][1] > results["sparse"][1] + 0.3
    assert results["potential"][2] <= 10_240
    assert "potential: " in capsys.readouterr().out


@pytest.mark.parametrize("rewards", [("potential", "dense"), "sparse"])
def test_an_unknown_reward_is_refused_at_once(rewards, capsys):
    """A name that is none is an error before anything is trained, and the message has those that are."""
    with pytest.raises(ValueError, match=r"rewards name \['.*; expected .* \['sparse', 'potential', 'distance'\]"):
        sb3_shaping.main(steps=1_024, rewards=rewards)
    assert capsys.readouterr().out == ""


def test_the_guides_reward_is_learnt_from():
    """On a smaller grid the distance reward of Gymnasium's guide, too, leads to the target."""
    ((before, after, _),) = sb3_shaping.main(steps=8_192, size=10, rewards=["distance"]).values()
    assert (before < 0.2, after > 0.8) == (True, True)
