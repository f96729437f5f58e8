"""`python -m benchmarks.peers`: other environments take part where they are installed, and the curves are drawn."""

import importlib
import json
import math
import os
import re
import shutil
import stat
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.peer_scripts import serve_rounds
from benchmarks.peers import environments, processes, report
from benchmarks.peers.__main__ import main
from benchmarks.peers.plot import write_plot
from benchmarks.speed import rounds
from benchmarks.speed.scaling import Curve
from helpers import read_pixels, run_python

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]

QUICKER = """
import dataclasses, sys
from benchmarks.peers import __main__ as command
bench = dataclasses.replace(command.QUICK.bench, rounds=3, worlds=(1, 100, 10_000))
command.QUICK = dataclasses.replace(command.QUICK, bench=bench, scaling_rounds=1)
sys.exit(command.main(sys.argv[1:]))
"""

# Stands for a peer's Python, which is started with serve_rounds.py; it answers that every round takes half a second.
STUB = """#!{python}
import json, sys
cases = [dict(name={name!r}, agents=agents, size=size, worlds=1) for agents, size in {sizes}]
versions = dict(started_with=" ".join(sys.argv[1:]))
print(json.dumps(dict(versions=versions, cases=cases, failures={failures})), flush=True)
for number, line in enumerate(sys.stdin):
    if number == {lasts}:
        sys.exit("out of cheese")
    index = json.loads(line)["play"]
    print(json.dumps(dict(seconds=0.5, agent_steps=(100_000, 250_000, 125_000)[index])), flush=True)
"""


def make_peer(folder, script):
    """Make the environment of a peer, with a script for a Python."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(script)
    python.chmod(python.stat().st_mode | stat.S_IEXEC)


def stub(name, sizes, *, lasts=10**9, failures=()):
    """Return a script that answers as serve_rounds.py does, for so many rounds."""
    return STUB.format(python=sys.executable, name=name, sizes=sizes, lasts=lasts, failures=list(failures))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one peer that plays, one that ends on the way, one that does not start, one without a Python."""
    folder = tmp_path_factory.mktemp("peers")
    failures = ["POGEMA soft, 256 agents: MemoryError: no room"]
    make_peer(folder / "pogema", stub("POGEMA priority", [(8, 16), (64, 32), (256, 64)], failures=failures))
    make_peer(folder / "lbforaging", stub("lb-foraging", [(8, 16)], lasts=2))
    make_peer(folder / "rware", f"#!{sys.executable}\nimport a_module_that_does_not_exist")
    (folder / "ini_multigrid").mkdir()
    return folder


@pytest.fixture(scope="module")
def content(folder, tmp_path_factory):
    """What `python -m benchmarks.peers --quick --json` prints with those peers, and the path of the plot."""
    plot = tmp_path_factory.mktemp("plot") / "curves.png"
    flags = ["--quick", "--json", "--peers-folder", str(folder), "--plot", str(plot)]
    done = run_python("-c", QUICKER, *flags, cwd=ROOT)
    return {**json.loads(done.stdout), "plot": plot}


def test_every_case_is_compared_with_pogema(content):
    """Each face with 8, 64 and 256 agents stands beside POGEMA with as many, and its goal."""
    pogema, many = {n: f"POGEMA priority, N = {n}" for n in (8, 64, 256)}, "vector env, 1,024 x 8"
    vector = [f"{many}{view}{of}" for view in ("", ", view") for of in ("", ", 2 threads", ": copying")]
    assert {row["name"]: (row["against"], row["goal"]) for row in content["steps"]} == {
        **{f"ParallelEnv, N = {n}": (pogema[n], 6 if n == 8 else 10) for n in pogema},
        **{f"ParallelEnv, N = {n}, view": (pogema[n], 5) for n in pogema},
        **{name: (name, None) for name in pogema.values()},
        **{name: (pogema[8], 50 if name == f"{many}, view" else None) for name in vector},
    }


def test_a_peer_is_measured_where_it_is_set_up(content):
    """The figures of a peer's process are reported in the group of the same agents and map."""
    rows = {row["name"]: row for row in content["steps"]}
    for agents, size, microseconds in ((8, 16, 5), (64, 32, 2), (256, 64, 4)):
        row, ours = rows[f"POGEMA priority, N = {agents}"], rows[f"ParallelEnv, N = {agents}"]
        assert (row["microseconds_per_agent_step"], row["spread"]) == (microseconds, 0)
        assert ours["ratio"] == pytest.approx(microseconds / ours["microseconds_per_agent_step"], rel=0.01)
        assert row["group"] == ours["group"] == f"{agents} agents on {size} x {size}"
    pogema = content["peers"][0]
    assert (pogema["title"], pogema["measured"]) == ("POGEMA 1.4", True)
    assert pogema["messages"] == ["POGEMA soft, 256 agents: MemoryError: no room"]
    # Nothing of this Python reaches a peer's: ini/multigrid is a package of the same name.
    flags, script, timed, *played = pogema["versions"]["started_with"].rsplit(" ", 6)
    assert flags.split() == ["-E", "-s", "-u"]
    assert (Path(script).name, Path(timed)) == ("serve_rounds.py", Path(rounds.__file__))
    assert played == ["play_pogema", "8x16", "64x32", "256x64"]


def test_a_peer_that_fails_is_reported_in_a_line_and_left_out(content, folder):
    """A peer that does not start, or ends on the way, is reported with its own last words; the others are measured."""
    unmeasured = {row["title"]: row["messages"] for row in content["peers"] if not row["measured"]}
    no_python, module = folder / "ini_multigrid" / "bin" / "python", "a_module_that_does_not_exist"
    assert unmeasured == {
        "rware 2.0": [f"rware 2.0 cannot be measured: ModuleNotFoundError: No module named '{module}'"],
        "lb-foraging 2.0": ["lb-foraging 2.0 cannot be measured: out of cheese"],
        "ini/multigrid 0.1.0": [f"ini/multigrid 0.1.0 cannot be started: No such file or directory: {no_python}"],
        "Jumanji 1.1": [],
    }
    assert not [row["name"] for row in content["steps"] if "rware" in row["name"] or "foraging" in row["name"]]


def test_a_peer_that_failed_is_not_played_again(tmp_path):
    """After an error all cases of a peer cost nothing and have no figure, and there is one message."""
    make_peer(tmp_path, stub("lb-foraging", [(8, 16), (64, 32)], lasts=2))
    process = processes.PeerProcess(processes.PEERS[2], tmp_path, [(8, 16), (64, 32)])
    process.wait()
    for _ in range(2):
        for case in process.cases:
            case.measure(0.0)
    process.close()
    first, second = (case.costs for case in process.cases)
    assert (first[0], second[0]) == (5, 2)
    assert all(map(math.isnan, (first[1], second[1])))
    assert (process.failed, process.messages) == (True, ["lb-foraging 2.0 cannot be measured: out of cheese"])


def test_the_rises_are_those_of_the_curves(content):
    """How far a cost rises again is the highest figure of a curve after its lowest, over its lowest."""
    assert len(content["scaling"]) == 5
    for curve, row in zip(content["scaling"], content["limits"], strict=True):
        first, *_, last = curve["counts"]
        costs = curve["microseconds_per_agent_step"]
        assert row["name"] == f"{curve['name']}, from {first:,} to {last:,} {curve['axis']}: rise"
        assert row["value"] == pytest.approx(max(costs[costs.index(min(costs)) :]) / min(costs), rel=0.01)
        assert (first, last) == (1, {"agents": 4096, "worlds": 10_000}[curve["axis"]])
        assert row["under"] == 2


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_fit_the_terminal(content, width):
    """No line is longer than the terminal is wide, but for those that name files, and no figure is cut short."""
    shown = StringIO()
    report.print_report(Console(file=shown, width=width), content, Path("where", "peers", "are"))
    lines = shown.getvalue().splitlines()
    assert [line for line in lines if len(line.rstrip()) > width and " cannot be " not in line] == []
    assert not [line for line in lines if "\u2026" in line]
    (pogema,) = [line for line in lines if line.startswith("POGEMA priority, N = 8")]
    assert pogema.split()[-1] == "1"
    # What is not set up, and what failed, with the command that helps.
    assert "python -m benchmarks.peers --setup-peers sets up the rest, in where/peers/are." in lines
    assert "lb-foraging 2.0 cannot be measured: out of cheese" in lines
    assert "POGEMA soft, 256 agents: MemoryError: no room" in lines
    text = " ".join(shown.getvalue().split())
    assert "LevelBasedForaging's agents see two cells far. Not set up." in text
    assert text.count("Not measured.") == 3


def pixels_of(picture, colour):
    """Count the pixels of a colour, "#RRGGBB"."""
    return int((abs(picture - list(bytes.fromhex(colour[1:]))) < 4).all(axis=2).sum())


def test_the_curves_are_drawn(content):
    """The picture is a PNG with three curves and POGEMA's on the left, two on the right."""
    plot = content["plot"]
    left, right = np.array_split(read_pixels(plot), 2, axis=1)
    blue, red, green, purple = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
    assert all(pixels_of(left, colour) > 500 for colour in (blue, red, green))
    assert all(pixels_of(right, colour) > 500 for colour in (blue, red))
    assert pixels_of(left, purple) > 100
    assert (pixels_of(right, green), pixels_of(right, purple)) == (0, 0)
    assert [path.name for path in plot.parent.iterdir()] == ["curves.png"]


def test_a_curve_stands_where_its_costs_are(tmp_path):
    """A curve that falls is drawn from the upper left to the lower right; the suffix says the kind of the picture."""
    plays = [lambda _: (8.0, 1), lambda _: (0.5, 1)]
    curves = [Curve("a", axis, (1, 100), plays) for axis in ("agents", "worlds")]
    for curve in curves:
        curve.measure(0.0)
    for name, start in (("one.pdf", b"%PDF"), ("one.svg", b"<?xml"), ("one.png", b"\x89PNG")):
        write_plot(tmp_path / name, curves, [])
        assert (tmp_path / name).read_bytes().startswith(start)
    picture = read_pixels(tmp_path / "one.png")
    rows, columns = np.nonzero((abs(picture - [0, 0x72, 0xB2]) < 4).all(axis=2))
    on_the_right = columns > picture.shape[1] / 2
    rows, columns = rows[on_the_right], columns[on_the_right]
    first, lowest = columns.argmin(), rows.argmax()
    assert rows[lowest] - rows[first] > 200
    assert columns[lowest] - columns[first] > 200


def test_a_plot_that_cannot_be_written_is_refused(tmp_path, capsys):
    """A name that says no kind of picture, or one in no folder, is refused before anything is measured."""
    kinds = "expected a name that ends in .png, .svg, .pdf"
    for name, message in {"curves.jpg": kinds, "curves": kinds, "nowhere/curves.png": "there is no folder"}.items():
        assert main(["--plot", str(tmp_path / name)]) == 2
        printed = capsys.readouterr()
        assert (printed.out, message in printed.err, list(tmp_path.iterdir())) == ("", True, [])


def imported(path):
    """Return the packages that a file imports, without those of Python itself."""
    names = re.findall(r"^ *(?:import|from) (\w+)", Path(path).read_text(), re.MULTILINE)
    return set(names) - set(sys.stdlib_module_names)


LIBRARIES = (["pogema"], ["rware"], ["lbforaging"], [], ["jumanji", "jax"])


@pytest.mark.parametrize(("peer", "libraries"), [*zip(processes.PEERS, LIBRARIES, strict=True)])
def test_a_script_imports_its_peer_alone(peer, libraries):
    """What runs in a peer's environment needs the peer, in one version, and NumPy; no script is left over."""
    assert {path.stem for path in Path(serve_rounds.__file__).parent.glob("play_*.py")} == {
        peer.script for peer in processes.PEERS
    }
    module = importlib.import_module(f"benchmarks.peer_scripts.{peer.script}")
    assert imported(str(module.__file__)) == {"numpy", *libraries}
    assert all(callable(make) for make in module.make_cases(8, 16).values())
    assert all("==" in requirement for requirement in peer.requirements)


TOY = """
PACKAGES = ("numpy",)

def make_cases(agents, size):
    def broken():
        raise ValueError("no such map")

    def step():
        print("a library that talks")

    return {"toy": lambda: (5, step), "other": broken}
"""


def test_rounds_are_played_on_request(tmp_path):
    """The program in a peer's environment names what there is and what failed, and counts the steps of every agent."""
    assert imported(serve_rounds.__file__) | imported(rounds.__file__) == set()
    shutil.copy(serve_rounds.__file__, tmp_path)
    (tmp_path / "play_toy.py").write_text(TOY)
    command = ["-E", "-s", str(tmp_path / "serve_rounds.py"), rounds.__file__, "play_toy", "3x7"]
    done = run_python(*command, input='{"play": 0, "seconds": 0.02}\n{"play": 0, "seconds": 0}\n')
    first, long, short = map(json.loads, done.stdout.splitlines())
    assert first == {
        "versions": {"numpy": np.__version__},
        "cases": [{"name": "toy", "agents": 3, "size": 7, "worlds": 5}],
        "failures": ["other, 3 agents: ValueError: no such map"],
    }
    assert 0.02 <= long["seconds"] < 1
    assert short["agent_steps"] == 15
    # One step to begin with, and those that are counted.
    assert done.stderr.count("a library that talks") == 2 + long["agent_steps"] // 15


def test_peers_that_cannot_be_installed_leave_nothing(tmp_path, monkeypatch, capsys):
    """Without an index pip finds nothing: one line reports it, the exit code is 1, and no half environment is left."""
    monkeypatch.setattr(environments, "PEERS", processes.PEERS[:2])
    make_peer(tmp_path / "rware", stub("rware", [(8, 16)]))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert main(["--setup-peers", "--peers-folder", str(tmp_path)]) == 1
    pogema, result, rware = capsys.readouterr().out.splitlines()
    assert pogema == "POGEMA 1.4: installing pogema==1.4.0"
    assert result == "POGEMA 1.4: not set up: No matching distribution found for pogema==1.4.0"
    assert rware == f"rware 2.0: exists already, in {tmp_path / 'rware'}"
    assert [path.name for path in tmp_path.iterdir()] == ["rware"]


def test_peers_are_set_up_once_they_play(tmp_path, monkeypatch, capsys):
    """An environment exists when what is in it has played; what is installed and does not play is removed."""
    monkeypatch.setattr(environments, "PEERS", processes.PEERS[:2])
    scripts = {"pogema": stub("POGEMA priority", [(8, 16)]), "rware": f"#!{sys.executable}\nprint('hello')"}

    def install(peer, home):
        home.rmdir()
        make_peer(home, scripts[peer.key])

    monkeypatch.setattr(environments, "_install", install)
    flags = ["--setup-peers", "--peers-folder", str(tmp_path)]
    assert main(flags) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"POGEMA 1.4: set up in {tmp_path / 'pogema'}: started_with")
    assert lines[3] == "rware 2.0: not set up: rware 2.0 cannot be measured: hello"
    assert [path.name for path in tmp_path.iterdir()] == ["pogema"]
    scripts["rware"] = stub("rware", [(8, 16)])
    assert main(flags) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pogema", "rware"]
