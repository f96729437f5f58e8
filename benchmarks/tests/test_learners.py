"""`python -m benchmarks.learners`: the speed of each library is of its training alone."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.learners import __main__ as program
from benchmarks.learners.__main__ import main
from benchmarks.learners.table import LEARNERS, format_page

ROOT = Path(__file__).parents[2]
BURN = "import time\nwhile time.process_time() < {seconds}: pass"


def test_a_rate_is_of_the_steps_between_two_trainings(monkeypatch, tmp_path):
    """Libraries train by turns, fixed costs cancel out, and a step of a world counts once for each agent."""
    calls = []

    def cpu_seconds(command, environment):
        calls.append(command[2])
        steps = int(command[command.index("--steps") + 1])
        assert environment["OMP_NUM_THREADS"] == "1"
        return 20 + steps / (1000 if "torchrl" in command[2] else 500)

    monkeypatch.setattr(program, "cpu_seconds", cpu_seconds)
    monkeypatch.setattr(program, "_set_up", lambda learner, folder: folder / learner.recipe)
    monkeypatch.setattr(program, "_find_version", lambda learner, home, checkouts: f"1.{home.name}")
    assert main(["--only", "TorchRL", "PyTorch alone", "--rounds", "2", "--output", str(tmp_path / "new")]) == 0
    content = json.loads((tmp_path / "new" / "learners.json").read_text())
    assert [(row["name"], row["rates"]) for row in content["rows"]] == [
        ("PyTorch alone", [500.0, 500.0]),
        ("TorchRL", [2000.0, 2000.0]),
    ]
    names = ["examples.ppo"] * 2 + ["examples.torchrl_ppo"] * 2
    assert calls == names * 2
    page = (tmp_path / "new" / "learners.md").read_text()
    cells = ("TorchRL", "2,000 (2,000 to 2,000)", "1.torchrl", "PPO", "`examples.torchrl_ppo`")
    assert f"| {' | '.join(cells)} |" in page


def test_cpu_time_is_that_of_all_processes():
    """The time of a process that the command starts and waits for counts, waiting does not."""
    inner = f"import subprocess, sys, time; time.sleep(0.3); {BURN.format(seconds=0)!r}"
    child = BURN.format(seconds=0.6)
    both = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n{BURN.format(seconds=0.3)}"
    assert program.cpu_seconds([sys.executable, "-c", both], {}) >= 0.9
    assert program.cpu_seconds([sys.executable, "-S", "-c", inner], {}) < 0.3


def test_what_cannot_be_measured_is_said(tmp_path, capsys):
    """An unknown name, and a training that fails, are said in a line; nothing is written."""
    assert main(["--only", "Caffe", "--output", str(tmp_path)]) == 2
    assert "BenchMARL" in capsys.readouterr().err
    home = tmp_path / "tested"
    (home / "bin").mkdir(parents=True)
    (home / "complete").touch()
    (home / "bin" / "python").symlink_to("/bin/false")
    assert main(["--only", "PyTorch alone", "--folder", str(tmp_path), "--output", str(tmp_path)]) == 1
    assert "ppo --size 5 4 --steps 100000 --episodes 10 ended with exit code 1" in capsys.readouterr().err
    assert not (tmp_path / "learners.md").exists()


def test_each_library_has_its_environment_and_program():
    """The recipes and modules that the table names exist, and a long training is longer than a short one."""
    for learner in LEARNERS:
        assert not learner.recipe or (ROOT / ".ci" / "recipes" / f"{learner.recipe}.txt").exists(), learner.name
        module = ROOT / learner.program.split()[0].replace(".", "/")
        assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), learner.name
        assert 0 < learner.few < learner.many


def test_checkouts_are_measured_where_they_are(monkeypatch, tmp_path):
    """EPyMARL and HARL are left out without a folder of clones; with one, they run there and name its commit."""
    commands = []

    def cpu_seconds(command, environment):
        del environment
        commands.append(command)
        return float(len(commands))

    monkeypatch.setattr(program, "cpu_seconds", cpu_seconds)
    monkeypatch.setattr(program, "_set_up", lambda learner, folder: folder)
    clone = tmp_path / "clones" / "HARL"
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", str(clone)], check=True)  # noqa: S607 - the git of the PATH
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "."], check=True)
    flags = ["--only", "HARL", "--rounds", "1", "--output", str(tmp_path)]
    assert main(flags) == 2
    assert not commands
    assert main([*flags, "--checkouts", str(clone.parent)]) == 0
    assert [command[2:4] for command in commands] == [["examples.harl", str(clone)]] * 2
    (row,) = json.loads((tmp_path / "learners.json").read_text())["rows"]
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert head.startswith(row["version"])
    assert len(row["version"]) == 7


def test_the_page_is_of_the_results():
    """docs/frameworks/learners.md is what the JSON file gives, with every library."""
    content = json.loads((program.PAGE / "learners.json").read_text())
    assert (program.PAGE / "learners.md").read_text() == format_page(content)
    assert [row["name"] for row in content["rows"]] == [learner.name for learner in LEARNERS]
