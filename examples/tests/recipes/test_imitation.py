"""imitation: the recipe learns, and its trajectories are the rows of a dataset."""

import minari
import numpy as np
import pytest

from examples import imitation_bc
from multigrid import datasets
from recipe_contract import examples_of, pages_of_recipe

# imitation 1.0.1 logs its losses in a way that newer versions of torch warn about; what is learned is the same.
pytestmark = pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar:UserWarning")


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty folder for Minari's datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def test_it_learns(capsys):
    """On held-out episodes, agents that were cloned arrive far more often than untrained ones, and `main` says so."""
    rates = imitation_bc.main(rows=4_000, epochs=6, seed=1, episodes=100)
    assert rates["before"] < 0.2
    assert rates["after"] > 0.8
    assert f"{rates['before']:.1%} before training, {rates['after']:.1%} after" in capsys.readouterr().out
    dataset = minari.load_dataset("multigrid/rooms-v0")
    assert dataset.total_episodes == 4_000
    datasets.verify(dataset)


def test_trajectories_are_rows(tmp_path):
    """Each trajectory has one more observation than actions, all of a single agent's row."""
    dataset = imitation_bc.record_expert(imitation_bc.CONFIG, "few-v0", episodes=5, seed=0)
    trajectories = imitation_bc.load_trajectories(dataset)
    assert len(trajectories) == 5 * imitation_bc.CONFIG.num_agents
    for number, trajectory in enumerate(trajectories):
        np.testing.assert_array_equal(trajectory.acts, dataset[number].actions)
        np.testing.assert_array_equal(trajectory.obs, dataset[number].observations["observation"])


test_examples = examples_of("examples.imitation_bc")
test_pages = pages_of_recipe("imitation")
