"""The tables of the learned policy on held-out layouts: of the weights that are shipped, as the command makes them."""

import hashlib
import json
import runpy
from pathlib import Path

import pytest

from multigrid.policies._learned import FILE

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "pretrained"


@pytest.fixture
def modules(monkeypatch):
    """What measure_pretrained.py defines or imports."""
    monkeypatch.syspath_prepend(FOLDER)
    return runpy.run_path(str(FOLDER / "measure_pretrained.py"))


@pytest.fixture
def content():
    """The committed figures."""
    return json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))


def test_figures_are_of_the_shipped_weights(content):
    """Whoever changes the weights, or how they are measured, measures them again."""
    assert content["weights"] == hashlib.sha256(FILE.read_bytes()).hexdigest()
    command = (FOLDER / "measure_pretrained.py").read_text(encoding="utf-8").encode()
    assert content["command"] == hashlib.sha256(command).hexdigest()


def test_the_tables_are_of_the_figures(modules, content):
    """figures.md is what the command makes of figures.json, which has all worlds and no other."""
    assert modules["make_tables"](content, modules["read_runs"](FOLDER / "training")) == (
        FOLDER / "figures.md"
    ).read_text(encoding="utf-8")
    measured = [(cell["map"], cell["agents"], cell["on_target"]) for cell in content["cells"]]
    assert measured == [cell[:3] for cell in modules["list_cells"]()]
    assert len(content["acting"]) == 4
    assert all(len(one["policies"]) == 2 * len(modules["ACTING"]) for one in content["acting"])


def test_a_cell_is_what_its_episodes_are(modules, monkeypatch):
    """The CSR of a world is the share of episodes that are solved, counted here, and the command goes on after it."""
    import multigrid
    from multigrid.policies import pretrained

    monkeypatch.setitem(modules["measure"].__globals__, "_EPISODES", 3)
    config = modules["make_held_out"]("small, 6 x 5", 4, "stay")
    env, solved = multigrid.MultiGridEnv(config), 0.0
    for seed in range(3):
        observations, _ = env.reset(seed=seed)
        policy = pretrained(seed=seed)
        while env.agents:
            observations, *_ = env.step(policy(env, observations))
        solved += env.metrics()["csr"]
    assert modules["measure"](config)["pretrained"]["csr"][0] == round(solved / 3, 4)


def test_curves_have_the_measured_rounds(modules):
    """The figure of the training has a line for each run and way of acting, over the measured rounds."""
    runs = modules["read_runs"](FOLDER / "training")
    assert list(runs) == [f"seed {seed}" for seed in range(4)]
    assert [rows[-1]["round"] for rows in runs.values()] == ["220", "73", "73", "73"]
    axes = modules["draw_training"](runs).axes[0]
    assert len(axes.lines) == 2 * len(runs)
    first = next(row for row in runs["seed 0"] if row["mazes-24-shield"])
    line = axes.lines[2 * list(runs).index("seed 0")]
    assert line.get_xydata()[0].tolist() == [int(first["round"]), float(first["mazes-24-shield"])]
