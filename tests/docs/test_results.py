"""docs/results: the command runs from end to end, and what is committed belongs together."""

import json
import re
import runpy
import statistics
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from helpers import run_python
from multigrid import GridConfig, vector_env
from multigrid.core.rules import RULES_VERSION

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "results"
POLICIES = ["random", "shortest-path", "trained"]
FORMS = {"csr": ".3f", "sum_of_costs": ".1f", "gap": ".1f"}
ESTIMATE = r"(-|[-+0-9.]+(?: \[[-+0-9.]+, [-+0-9.]+\])?)"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The folder that the command has left, training one small cell."""
    folder = tmp_path_factory.mktemp("results") / "quick"
    done = run_python(str(FOLDER / "make_results.py"), "--quick", "--output", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def command(monkeypatch):
    """What make_results.py defines, in this process."""
    monkeypatch.syspath_prepend(FOLDER)
    return runpy.run_path(str(FOLDER / "make_results.py"))


def read_words(name):
    """The words of a page, with one space between any two."""
    return " ".join((FOLDER.parents[1] / name).read_text(encoding="utf-8").split())


def written(estimate, form=".3f"):
    """A mean and its interval: a dash for a gap without a success, no interval where all episodes agree."""
    mean, *ends = (None if value is None else format(value, form) for value in estimate.values())
    if mean is None:
        return "-"
    return mean if None in ends else f"{mean} [{ends[0]}, {ends[1]}]"


def check_table(folder):
    """Compare every row of the table with the figures of the JSON."""
    content = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    text = (folder / "results.md").read_text(encoding="utf-8")
    expected, differences = {}, {}
    for cell in content["cells"]:
        where = cell["map"], str(cell["num_agents"])
        policies = [cell["policies"][name] for name in ("trained", "shortest-path")]
        means = [(one[name]["mean"], form) for name, form in FORMS.items() for one in policies]
        means[4:] = [(mean and 100 * mean, form) for mean, form in means[4:]]  # gaps are in percent
        means.append((cell["least_sum_of_costs"]["mean"], ".1f"))
        expected[where] = ["-" if mean is None else format(mean, form) for mean, form in means]
        difference = cell["trained_csr_minus_shortest_path"]
        by_network = ", ".join(format(csr, ".2f") for csr in cell["trained_csr_by_network"])
        differences[where] = [written(difference, "+.3f"), by_network]
    cells = r" \| ".join([r"([0-9.]+|-)"] * 7)
    found = re.findall(rf"^\| (\S+) \| (\d+) \| {cells} \|$", text, re.MULTILINE)
    assert {row[:2]: list(row[2:]) for row in found} == expected
    found = re.findall(rf"^\| (\S+) \| (\d+) \| {ESTIMATE} \| ([0-9., ]+) \|$", text, re.MULTILINE)
    assert {row[:2]: list(row[2:]) for row in found} == differences
    for said in (content["versions"].values(), content["processor_seconds"]["training"], content["held_out_seeds"]):
        assert all(str(one) in text for one in said)
    return content


def test_the_command_trains_and_writes_table_and_picture(quick):
    """The one command trains a policy that plays far better than random, and leaves table, figures and picture."""
    content = check_table(quick)
    (cell,) = content["cells"]
    csr = {policy: cell["policies"][policy]["csr"]["mean"] for policy in POLICIES}
    assert csr["trained"] > csr["random"] + 0.4
    shortest = cell["policies"]["shortest-path"]
    assert shortest["sum_of_costs"]["mean"] >= cell["least_sum_of_costs"]["mean"]
    assert cell["layouts"] == {"optimum_known": 10, "unsolvable": 0}
    assert 0 <= shortest["gap"]["low"] <= shortest["gap"]["mean"] < cell["policies"]["trained"]["gap"]["mean"]
    picture = ET.parse(quick / "results.svg").getroot()  # noqa: S314 - the command has just drawn it
    assert picture.tag.endswith("svg")
    assert sorted(path.name for path in quick.iterdir()) == ["results.json", "results.md", "results.svg"]


def test_a_folder_that_cannot_be_is_refused_before_the_training(command, monkeypatch, tmp_path, capsys):
    """A quick run without a folder of its own, or with a file in its folder's place, is refused at once."""
    monkeypatch.setitem(command["main"].__globals__, "results", lambda *_: pytest.fail("it has trained"))
    monkeypatch.setattr(sys, "argv", ["make_results.py", "--quick"])
    with pytest.raises(SystemExit, match="2"):
        command["main"]()
    assert "--output" in capsys.readouterr().err
    (tmp_path / "taken").touch()
    monkeypatch.setattr(sys, "argv", ["make_results.py", "--quick", "--output", str(tmp_path / "taken")])
    with pytest.raises(FileExistsError, match="taken"):
        command["main"]()


def test_the_committed_table_says_what_the_committed_figures_say(command):
    """results.md is what the command writes of results.json, which has all cells, under the rules of today."""
    content = check_table(FOLDER)
    assert command["table"](content) == (FOLDER / "results.md").read_text(encoding="utf-8")
    cells = [(cell["map"], cell["num_agents"]) for cell in content["cells"]]
    assert cells == [(name, count) for name in ("empty", "random", "warehouse") for count in (2, 4, 8)]
    assert content["versions"]["rules"] == RULES_VERSION
    first, last = content["held_out_seeds"]
    assert last - first >= 99
    for cell in content["cells"]:
        assert list(cell["policies"]) == POLICIES
        for by_name in cell["policies"].values():
            assert by_name["sum_of_costs"]["mean"] >= cell["least_sum_of_costs"]["mean"]


def test_the_text_has_the_committed_figures():
    """What PyTorch's page says of eight agents, and how long the training took, is what results.json has."""
    content = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    page = read_words("docs/how_to/pytorch.md")
    cells = [cell["policies"] for cell in content["cells"] if cell["num_agents"] == 8]
    solved = {name: [100 * cell[name]["csr"]["mean"] for cell in cells] for name in POLICIES}
    words = "{:.0f} % (empty), {:.0f} % (random maps that were not used in training) and {:.0f} % (warehouse)"
    assert words.format(*solved["trained"]) in page
    assert "reach {:.0f} %, {:.0f} % and {:.0f} %; random play 0 %.".format(*solved["shortest-path"]) in page
    assert solved["random"] == [0, 0, 0]
    minutes = [seconds / 60 for seconds in content["processor_seconds"]["training"]]
    assert 3.5 <= statistics.mean(minutes) < 4.5, "the page says about four minutes"


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


def test_agents_see_which_moves_bring_them_and_others_nearer():
    """In its window an agent sees which moves bring whom nearer: itself in the middle, others around it."""
    learner = runpy.run_path(str(FOLDER / "learner.py"))
    config = GridConfig(walls="a#A.\n....\nBb..", observe=("view",), on_target="stay", allow_stay=True, max_cycles=10)
    envs = vector_env(3, config)
    observations, _ = envs.reset(seed=0)
    sight = learner["Sight"](config)
    seen = sight(envs.get_state(), observations["view"])
    assert seen.shape == (6, learner["num_seen"](config))
    wishes = seen[:, 75:200].reshape(3, 2, 5, 5, 5)
    expected, up, left = np.zeros((2, 5, 5, 5)), [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]
    expected[0, 2, 2], expected[0, 3, 4] = up, left
    expected[1, 2, 2], expected[1, 1, 0] = left, up
    assert (wishes == expected).all()
    assert sight.ways(envs.get_state()).tolist() == [[4, 1]] * 3
    envs.step([1, 2] * 3)
    observations, *_ = envs.step([0, 4] * 3)
    seen = sight(envs.get_state(), observations["view"])
    assert seen[:, 75:200].reshape(3, 2, 5, 5, 5)[:, 1, 2, 2].tolist() == [[0, 0, 0, 0, 1]] * 3
    assert seen[:, -2] == pytest.approx(0.8)  # of the steps are left
    assert seen[:, -1] == pytest.approx(0.5)  # of the agents are away from their targets
