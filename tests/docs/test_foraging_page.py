"""The curves of agents with a memory and without: of five trainings each, and the page has their ends."""

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs" / "games"
NAME = "Foraging-2s-8x8-2p-2f-coop-v3"


def test_the_page_shows_the_committed_trainings():
    """A cell has the mean over five seeds, with the lowest and the highest, of the last whole point of the curves."""
    page = (DOCS / "foraging.md").read_text(encoding="utf-8")
    flags = []
    for arm, ends in (("recurrent", [1_966_080]), ("feed-forward", [1_966_080, 3_932_160, 7_864_320])):
        runs = [json.loads((DOCS / "curves" / f"{NAME}-{arm}-{seed}.json").read_text()) for seed in range(5)]
        flags += [run["flags"] | {"seed": 0, "feed_forward": False} for run in runs]
        assert [(run["flags"]["seed"], run["flags"]["feed_forward"]) for run in runs] == [
            (seed, arm == "feed-forward") for seed in range(5)
        ]
        for end in ends:
            last = np.array([dict(run["curve"])[end] for run in runs])
            assert f"| {last.mean():.2f} ({last.min():.2f} to {last.max():.2f}) |" in page
    assert all(one == flags[0] for one in flags), "the trainings differ in nothing else"
