"""The games in examples/games: `examples.games.train` trains and films each, and what it has trained still plays."""

import csv

import pytest
import torch
from PIL import Image

import multigrid
from examples.games import train
from examples.games.train import RESULTS, TASKS

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("name", TASKS)
def test_each_is_one_short_file(name):
    """A game to copy has at most 80 lines."""
    assert len((RESULTS.parent / f"{name}.py").read_text().splitlines()) <= 80


@pytest.mark.parametrize("name", TASKS)
def test_each_is_trained_and_filmed(name, tmp_path, capsys):
    """A training leaves a curve of the game's metric with a row for each evaluation, the weights, and a film."""
    estimates = train.main(name, steps=2_048, points=1, episodes=4, folder=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"{name}.{kind}" for kind in ("csv", "gif", "png", "pt")
    ]
    header, *rows = csv.reader((tmp_path / f"{name}.csv").read_text().splitlines())
    assert header == ["rows", TASKS[name].metric, "low", "high"]
    assert [float(row[1]) for row in rows] == [estimate.mean for estimate in estimates]
    assert int(rows[0][0]) == 0 < int(rows[1][0])
    assert f"{TASKS[name].metric} {estimates[1].mean:.2f} after" in capsys.readouterr().out
    with Image.open(tmp_path / f"{name}.gif") as film:
        assert film.n_frames > 3


@pytest.mark.parametrize("name", TASKS)
def test_what_was_trained_still_plays(name):
    """The weights beside the games play as the end of the curve says, which rises beyond the first evaluation."""
    header, before, *curve = csv.reader((RESULTS / f"{name}.csv").read_text().splitlines())
    # Not the last one: in a game of two teams, the second learns to undo what the first has learned.
    assert max(float(mean) for _, mean, _, _ in curve) > float(before[3])
    model = train.make_model(TASKS[name].config, worlds=1)
    model.policy.load_state_dict(torch.load(RESULTS / f"{name}.pt", weights_only=True))
    torch.manual_seed(0)
    config = train.standard_config(TASKS[name].config)
    estimate = multigrid.evaluate(config, train.make_policy(model), range(1_000, 1_060))[header[1]]
    assert estimate.mean == pytest.approx(float(curve[-1][1]), rel=0.2)
    assert (RESULTS / f"{name}.gif").stat().st_size < 150_000
