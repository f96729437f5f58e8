"""`multigrid train`: it learns and goes on; what it says, and what it loads. tests/cli/training has the rest."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from helpers import AROUND, names, read_rows, run_python
from multigrid import Game, GridConfig, games
from multigrid.cli import main
from multigrid.cli._files import make_folder
from multigrid.cli._train_options import TrainOptions
from multigrid.cli._train_runs import Curve, HeldOut, training_bar
from multigrid.cli._train_sb3 import panels, print_report
from multigrid.cli.train import _has_small_images
from multigrid.integrations.training import training_seed
from trainings import stop_in_update, train

pytestmark = pytest.mark.heavy


def held_out(successes, isr):
    """The results of 20 episodes, of which so many succeed, and in the others a share of the agents arrives."""
    success = np.arange(20) < successes
    metrics = {"csr": success.astype(np.float64), "isr": np.where(success, 1.0, isr)}
    return HeldOut(np.full(20, 9.0), np.full(20, 1.0), metrics)


class Toll(Game):
    """A game with targets, whose rewards nobody knows."""

    metric_paid = metric_owed = staticmethod(lambda w, s, e: w.steps[e])


@pytest.mark.parametrize("on_target", ["park", "restart"])
def test_a_game_is_measured_by_its_return(on_target, capsys):
    """What a game pays is a return, not a number of arrivals, and the axis of its curve shows values below 0."""
    results = [(0, held_out(1, 0.5)), (1000, held_out(2, 0.5))]
    for game, measure in ((Toll, "return"), (None, "arrivals" if on_target == "restart" else "success")):
        config = GridConfig(size=(4, 3), game=game, on_target=on_target)
        print_report(Console(), Path("run"), config, results, finished=False)
        assert capsys.readouterr().out.splitlines()[1].split()[0] == measure
        curve = {panel.label: panel for panel in panels(config, results)}
        assert curve["reward per step of an agent"].bottom == (None if game else 0)


@pytest.mark.parametrize("on_target", ["park", "restart"])
def test_each_metric_of_a_game_has_a_panel(on_target):
    """The curve of a training in a game shows its metrics that are defined in all episodes, also of a resumed run."""
    config = GridConfig(size=(4, 3), game=Toll, on_target=on_target)
    results = [(steps, held_out(1, 0.5)) for steps in (0, 1000)]
    for steps, (_, one) in enumerate(results):
        one.metrics["paid"] = np.arange(20.0) * (1 + steps)
    curve = Curve([], results)
    again = Curve.from_lists(json.loads(json.dumps(curve.to_lists())))
    assert [one.summary() for _, one in again.evaluations] == [one.summary() for _, one in results]
    for evaluations in (curve.evaluations, again.evaluations):
        labels = {panel.label: panel for panel in panels(config, evaluations)}
        assert [(steps, one.mean) for steps, one in labels["paid"].evaluations] == [(0, 9.5), (1000, 19.0)]
        assert "owed" not in labels


def test_only_the_first_metrics_of_a_game_are_drawn(capsys):
    """The curve has the first four metrics that are not always 0, and the report leaves out those that are."""
    own = {f"metric_{name}": staticmethod(lambda w, s, e: 0) for name in "abcdef"}
    config = GridConfig(size=(4, 3), game=type("Counted", (Game,), own))
    results = [(steps, held_out(1, 0.5)) for steps in (0, 1000)]
    for steps, (_, one) in enumerate(results):
        one.metrics.update({name: np.full(20, float(steps * (name != "b"))) for name in "abcdef"})
    assert {panel.label for panel in panels(config, results)} & set("abcdef") == set("acde")
    print_report(Console(), Path("run"), config, results, finished=False)
    names = [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert set(names) & set("abcdef") == set("acdef")


@pytest.mark.usefixtures("no_pictures")
def test_training_learns():
    """A training that was stopped half-way goes on; nearly all held-out episodes then succeed, few did before."""
    # Within the default 300 steps random play succeeds in 97 of 100 episodes, and success would show nothing.
    flags = "--size 5 --max-cycles 20 --steps 60000 --hidden 64 64 --episodes 100 --checkpoint-every 9000 --folder run"
    stop_in_update(8, SystemExit(143), flags)
    assert names(Path("run/checkpoints")) != []
    assert train("--resume run") == 0
    evaluation = json.loads(Path("run/evaluation.json").read_text())
    assert evaluation["before"]["success_rate"] < 0.3
    assert evaluation["after"]["success_rate"] > 0.85
    rows = read_rows(Path("run/metrics.csv"))
    assert float(rows[-1]["success_rate"]) > float(rows[0]["success_rate"]) + 0.4


def test_default_folders_never_meet():
    """Runs that begin in the same second get folders of their own, with a number after the time."""
    folders = {make_folder(None) for _ in range(5)}
    assert len(folders) == 5
    assert all(folder.is_dir() and folder.parent == Path("runs") for folder in folders)
    assert any(folder.name.endswith("-2") for folder in folders)


def test_runs_share_no_training_episodes():
    """The copies of runs with different seeds play different episodes, all of them above the held-out seeds."""
    copies = TrainOptions().copies
    firsts = sorted(training_seed(seed, worlds=copies) for seed in range(300))
    assert firsts[0] >= 1_000_000
    assert firsts[-1] + copies < 2**32
    assert min(np.diff(firsts)) >= copies


def test_a_command_is_named(run, capsys):
    """`multigrid` alone lists the commands, and one that does not exist is refused with those that do."""
    assert "train" in run("")
    assert main(["trian"]) == 2
    assert "mean train?); expected one of train, play, rollout, evaluate, replay" in capsys.readouterr().err


def test_help_loads_nothing_heavy(tmp_path):
    """A command, and the libraries that it needs, are imported when it is asked for; flags are listed without any."""
    code = (
        "import sys; from multigrid.cli import main; main([])\n"
        "print({'tyro', 'rich'} & set(sys.modules))\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit as done: assert done.code == 0\n"
        "heavy = {'torch', 'stable_baselines3', 'supersuit', 'matplotlib', 'ray', 'imageio', 'pygame'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = run_python("-c", code, env={**AROUND, "NUMBA_CACHE_DIR": str(tmp_path / "cache")})
    lines = done.stdout.splitlines()
    assert (lines.count("set()"), lines[-1]) == (2, "set()"), done.stderr
    assert not (tmp_path / "cache").exists(), "nothing is compiled"


def test_the_bar_cuts_no_words_in_80_columns():
    """Whatever is done, its line is whole, and the only one."""
    shown = io.StringIO()
    bar = training_bar(Console(file=shown, width=80, force_terminal=True, color_system=None))
    figures, doing = "success 100%  ISR 100%  reward/step 0.017", "writing the model and the curve"

    with bar.shown(), bar.doing("training", 800_000) as update:
        update(800_000, figures=figures, refresh=True)
        with bar.doing(doing):
            pass
    assert all(words in shown.getvalue() for words in ("100% " + figures, doing))
    assert not {"\n", "\u2026"} & set(shown.getvalue()), "a second line, or words that are cut"


def test_the_folder_is_not_taken_for_markup(capsys):
    """A folder with the letters of rich's markup and of its emoji is named as it is."""
    evaluations = [(0, held_out(20, 1.0)), (9, held_out(20, 1.0))]
    print_report(Console(), Path("[bold]a[/x] :cat:"), GridConfig(size=(4, 3)), evaluations, finished=False)
    printed = capsys.readouterr().out
    assert "files in [bold]a[/x] :cat:: \n" in printed
    assert "multigrid train --resume '[bold]a[/x] :cat:'" in printed


def test_small_images_are_vectors(tmp_path, monkeypatch):
    """Minigrid's cells, which are too small for a network for images, are trained on as a vector."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile the game
    world = "--game MiniGrid-Empty-5x5-v0 --num-agents 1 --steps 64 --copies 2 --rollout 16 --batch-size 32"
    assert train(f"{world} --episodes 1 --evaluations 2 --folder {tmp_path / 'run'}") == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["grid"]["flatten"] is True
    for image, is_small in (("partial", True), ("rgb", False)):
        assert _has_small_images(games.config("MiniGrid-Empty-5x5-v0", image=image)) is is_small
