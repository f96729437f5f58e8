"""docs/results: what is committed belongs together."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from multigrid.core.rules import RULES_VERSION

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "results"
POLICIES = ["random", "shortest-path", "trained"]
FORMS = {"csr": ".3f", "sum_of_costs": ".1f", "gap": ".1f"}


def read_words(name):
    """The words of a page, with one space between any two."""
    return " ".join((FOLDER.parents[1] / name).read_text(encoding="utf-8").split())


def check_table(folder):
    """Compare every row of the table with the figures of the JSON."""
    content = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    text = (folder / "results.md").read_text(encoding="utf-8")
    expected = {}
    for cell in content["cells"]:
        where = cell["map"], str(cell["num_agents"])
        policies = [cell["policies"][name] for name in ("trained", "shortest-path")]
        means = [(one[name]["mean"], form) for name, form in FORMS.items() for one in policies]
        means[4:] = [(mean and 100 * mean, form) for mean, form in means[4:]]  # gaps are in percent
        means.append((cell["least_sum_of_costs"]["mean"], ".1f"))
        expected[where] = ["-" if mean is None else format(mean, form) for mean, form in means]
    cells = r" \| ".join([r"([0-9.]+|-)"] * 7)
    found = re.findall(rf"^\| (\S+) \| (\d+) \| {cells} \|$", text, re.MULTILINE)
    assert {row[:2]: list(row[2:]) for row in found} == expected
    lows = [cell["trained_csr_minus_shortest_path"]["low"] or 0 for cell in content["cells"]]
    assert [low > 0 for low in lows] == [False] + 8 * [True], "the page says: in every row but the first"
    spread = max(np.ptp(cell["trained_csr_by_network"]) for cell in content["cells"])
    assert f"differ by at most {spread:.2f}." in text
    for said in (content["versions"].values(), content["processor_seconds"]["training"], content["held_out_seeds"]):
        assert all(str(one) in text for one in said)
    return content


def test_the_table_says_what_the_figures_say():
    """Every row of results.md is of results.json, which has all cells, under the rules of today."""
    content = check_table(FOLDER)
    cells = [(cell["map"], cell["num_agents"]) for cell in content["cells"]]
    assert cells == [(name, count) for name in ("empty", "random", "warehouse") for count in (2, 4, 8)]
    assert content["versions"]["rules"] == RULES_VERSION
    first, last = content["held_out_seeds"]
    assert last - first >= 99
    for cell in content["cells"]:
        assert list(cell["policies"]) == POLICIES
        for by_name in cell["policies"].values():
            assert by_name["sum_of_costs"]["mean"] >= cell["least_sum_of_costs"]["mean"]


def test_the_text_has_what_the_default_training_reaches():
    """README and the page of `multigrid train` have the figures of train.json, the evaluation.json by training seed."""
    by_seed = json.loads((FOLDER / "train.json").read_text(encoding="utf-8"))
    steps, after = round(by_seed["0"]["during"][-1]["steps"], -5), by_seed["0"]["after"]
    assert {one["before"]["success_rate"] for one in by_seed.values()} == {0.0}
    # The same with each training seed, as the texts say.
    (success,) = {f"{100 * one['after']['success_rate']:g} %" for one in by_seed.values()}
    readme, page = read_words("README.md"), read_words("docs/how_to/command_line.md")
    assert f"- **{success}** of held-out episodes are solved by eight" in readme
    assert "the same share with each of three training seeds" in readme
    assert "before training, 0 %." in readme
    assert "training seeds 1 and 2 give the same rate" in page
    words = f"After {steps:,} steps of training, {success} of {after['episodes']} held-out episodes succeed"
    assert f"{words}, in {after['mean_steps']:.1f} steps on average" in page
