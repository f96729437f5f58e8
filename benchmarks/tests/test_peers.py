"""`python -m benchmarks.peers`: POGEMA takes part where it is installed."""

import json
import os
import re
import stat
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peer_scripts import play_pogema
from benchmarks.peers import __main__ as command
from benchmarks.peers import processes
from benchmarks.peers.__main__ import main
from helpers import run_python

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
QUICKER = """
import dataclasses, sys
from benchmarks.speed import measure
measure.QUICK = dataclasses.replace(measure.QUICK, rounds=3, worlds=(1, 100, 10_000))
from benchmarks.peers.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
# Stands for POGEMA's Python, which is started with play_pogema.py; it answers that every round takes half a second.
STUB = """#!{python}
import json, os, sys
assert sys.argv[1:4] == ["-E", "-s", "-u"] and os.path.exists(sys.argv[4]), sys.argv
sizes = [tuple(map(int, size.split("x"))) for size in sys.argv[5:]]
print(json.dumps([dict(name="POGEMA priority", agents=agents, size=size) for agents, size in sizes]), flush=True)
for number, line in enumerate(sys.stdin):
    if number == {lasts}:
        sys.exit("out of cheese")
    index = json.loads(line)["play"]
    print(json.dumps(dict(seconds=0.5, agent_steps=(100_000, 250_000, 125_000)[index])), flush=True)
"""


def make_peer(home, *, lasts=10**9):
    """Make an environment whose Python answers as play_pogema.py does, for so many rounds."""
    python = home / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(STUB.format(python=sys.executable, lasts=lasts))
    python.chmod(python.stat().st_mode | stat.S_IEXEC)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """What `python -m benchmarks.peers --quick --json` prints with that POGEMA."""
    folder = tmp_path_factory.mktemp("peers")
    make_peer(folder / "pogema")
    done = run_python("-c", QUICKER, "--quick", "--json", "--peers-folder", str(folder), cwd=ROOT)
    return json.loads(done.stdout)


def test_every_case_is_compared_with_pogema(content):
    """Each face with 8, 64 and 256 agents stands beside POGEMA with as many, in the group of the same map."""
    pogema, many = {n: f"POGEMA priority, N = {n}" for n in (8, 64, 256)}, "vector env, 1,024 x 8"
    vector = [f"{many}{view}{of}" for view in ("", ", view") for of in ("", ", 2 threads", ": copying")]
    assert {row["name"]: (row["against"], row["goal"]) for row in content["steps"]} == {
        **{f"ParallelEnv, N = {n}": (pogema[n], 6 if n == 8 else 10) for n in pogema},
        **{f"ParallelEnv, N = {n}, view": (pogema[n], 5) for n in pogema},
        **{name: (name, None) for name in pogema.values()},
        **{name: (pogema[8], 50 if name == f"{many}, view" else None) for name in vector},
    }
    rows = {row["name"]: row for row in content["steps"]}
    for agents, size, microseconds in ((8, 16, 5), (64, 32, 2), (256, 64, 4)):
        row, ours = rows[pogema[agents]], rows[f"ParallelEnv, N = {agents}"]
        assert (row["microseconds_per_agent_step"], row["spread"]) == (microseconds, 0)
        assert ours["ratio"] == pytest.approx(microseconds / ours["microseconds_per_agent_step"], rel=0.01)
        assert row["group"] == ours["group"] == f"{agents} agents on {size} x {size}"


def test_the_rises_are_those_of_the_curves(content):
    """How far a cost rises again is the highest figure of a curve after its lowest, over its lowest."""
    assert len(content["scaling"]) == 5
    for curve, row in zip(content["scaling"], content["limits"], strict=True):
        first, *_, last = curve["counts"]
        costs = curve["microseconds_per_agent_step"]
        assert row["name"] == f"{curve['name']}, from {first:,} to {last:,} {curve['axis']}: rise"
        assert row["value"] == pytest.approx(max(costs[costs.index(min(costs)) :]) / min(costs), rel=0.01)
        assert (first, last) == (1, {"agents": 4096, "worlds": 10_000}[curve["axis"]])


def test_the_tables_fit_the_terminal(content):
    """No line is longer than the terminal is wide, and what is not set up is said, with the command that helps."""
    shown = StringIO()
    without = {**content, "steps": [row for row in content["steps"] if "POGEMA" not in row["name"]]}
    for one in (content, without):
        command.print_report(Console(file=shown, width=80), one, Path("peers", "pogema"))
    lines = shown.getvalue().splitlines()
    assert [line for line in lines if len(line.rstrip()) > 80 and "--setup-peers" not in line] == []
    (said,) = [line for line in lines if "not set up" in line]
    assert said == "POGEMA is not set up: python -m benchmarks.peers --setup-peers does that, in peers/pogema."


def test_a_process_that_fails_is_reported_in_a_line(tmp_path, capsys):
    """A POGEMA that does not start, or ends on the way, is reported with its own last words, and the exit code is 1."""
    make_peer(tmp_path / "pogema", lasts=1)
    process = processes.Pogema(tmp_path / "pogema")
    process.cases[0].measure(0.0)
    with pytest.raises(processes.ProcessError, match=r"^out of cheese$"):
        process.cases[0].measure(0.0)
    process.close()
    (tmp_path / "pogema" / "bin" / "python").write_text(f"#!{sys.executable}\nimport a_module_that_does_not_exist")
    assert main(["--quick", "--json", "--peers-folder", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.endswith("pogema: ModuleNotFoundError: No module named 'a_module_that_does_not_exist'\n")


def test_a_script_imports_pogema_alone():
    """What runs in POGEMA's environment needs POGEMA and NumPy only."""
    names = re.findall(r"^ *(?:import|from) (\w+)", Path(play_pogema.__file__).read_text(), re.MULTILINE)
    assert set(names) - set(sys.stdlib_module_names) == {"numpy", "pogema"}
    assert processes.SCRIPT.samefile(play_pogema.__file__)


def test_rounds_are_played_on_request(tmp_path):
    """The program names what there is, counts the steps of every agent, and gives dicts, or lists where it says so."""
    (tmp_path / "pogema.py").write_text(
        "class GridConfig:\n    def __init__(self, **given): self.agents = given['num_agents']\n"
        "class pogema_v0:\n    def __init__(self, config): self.possible_agents = list(range(config.agents))\n"
        "    def reset(self): pass\n    def step(self, actions): print('a', type(actions).__name__, len(actions))\n"
    )
    asked = '{"play": 0, "seconds": 0.02}\n{"play": 2, "seconds": 0}\n{"play": 3, "seconds": 0}\n'
    done = run_python(str(processes.SCRIPT), "3x7", input=asked, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    first, long, short, lists = map(json.loads, done.stdout.splitlines())
    assert first == [{"name": name, "agents": 3, "size": 7} for name in play_pogema.CASES]
    assert 0.02 <= long["seconds"] < 1
    assert short["agent_steps"] == lists["agent_steps"] == 3
    assert done.stderr.count("a dict 3") == 1 + long["agent_steps"] // 3
    assert done.stderr.count("a list 3") == 1


def test_pogema_is_set_up_once_it_plays(tmp_path, monkeypatch, capsys):
    """An environment exists when what is in it has played; what does not install, or does not play, is removed."""
    flags = ["--setup-peers", "--peers-folder", str(tmp_path)]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert main(flags) == 1
    assert capsys.readouterr().err.endswith("No matching distribution found for pogema==1.4.0\n")
    assert list(tmp_path.iterdir()) == []
    for lasts, code in ((10**9, 0), (10**9, 0)):

        def install(home, lasts=lasts):
            home.rmdir()
            make_peer(home, lasts=lasts)

        monkeypatch.setattr(processes, "install", install)
        assert main(flags) == code
    first, second = capsys.readouterr().out.splitlines()
    assert (first.split()[1:4], second.split()[1:3]) == (["is", "set", "up"], ["exists", "already,"])
