"""d3rlpy: the recipe learns, and its steps are those of a dataset's rows."""

import numpy as np
import pytest

from examples import d3rlpy_cql
from multigrid import datasets
from recipe_contract import examples_of, learning, pages_of_recipe


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty folder for Minari's datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


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


test_it_learns = learning(d3rlpy_cql.main, before=0.2, after=0.8, rows=3_000, steps=2_000, seed=2, episodes=100)
test_examples = examples_of("examples.d3rlpy_cql")
test_pages = pages_of_recipe("d3rlpy")
