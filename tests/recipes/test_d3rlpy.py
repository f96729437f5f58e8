"""d3rlpy: the recipe learns, and its steps are those of a dataset's rows."""

import doctest

import numpy as np
import pytest

from examples import d3rlpy_cql
from multigrid import datasets
from pages import blocks_of_recipe, run_block


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty folder for Minari's datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def test_it_learns(capsys):
    """On held-out episodes, trained agents arrive far more often than untrained ones, and `main` says so."""
    rates = d3rlpy_cql.main(rows=3_000, steps=2_000, seed=2, episodes=100)
    assert rates["before"] < 0.2
    assert rates["after"] > 0.8
    assert f"{rates['before']:.1%} before training, {rates['after']:.1%} after" in capsys.readouterr().out


def test_steps_are_those_of_rows():
    """d3rlpy's episodes are the rows: the agents' own, which end by arriving or by the limit of steps."""
    dataset = d3rlpy_cql.record_noisy(d3rlpy_cql.CONFIG, "few-v0", episodes=30, seed=0, noise=0.8)
    episodes = d3rlpy_cql.load_steps(dataset).episodes
    assert len(episodes) == dataset.total_episodes == 30 * d3rlpy_cql.CONFIG.num_agents
    for episode, row in zip(episodes, dataset.iterate_episodes(), strict=True):
        np.testing.assert_array_equal(episode.observations, row.observations["observation"][:-1])
        np.testing.assert_array_equal(episode.actions[:, 0], row.actions)
        np.testing.assert_array_equal(episode.rewards[:, 0], row.rewards)
        assert episode.terminated == row.terminations[-1]
    assert len({bool(episode.terminated) for episode in episodes}) == 2
    datasets.verify(dataset)


def test_doctests():
    """The examples of the recipe's own docstrings are run."""
    failed, _ = doctest.testmod(d3rlpy_cql)
    assert failed == 0


@pytest.mark.parametrize("block", blocks_of_recipe("d3rlpy"), ids=str)
def test_pages(block, tmp_path, monkeypatch):
    """Each block of the pages that needs this environment runs, and prints what the page shows."""
    run_block(block, tmp_path, monkeypatch)
