"""`multigrid bench`: it measures what it says, and tells it in a form that programs read."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from matplotlib.image import imread
from rich.console import Console

import multigrid
from multigrid.cli import main
from multigrid.cli.bench import against, contenders, intervals, measuring, peers, report, scaling, starts
from multigrid.cli.bench.plot import write_plot
from multigrid.cli.documented import DocumentedGridWorld
from multigrid.cli.peers import rounds
from multigrid.core.world import World

pytestmark = pytest.mark.heavy

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "documented_gridworld.json").read_text())["cases"]
AROUND = {**os.environ, "PYTHONPATH": str(Path(multigrid.__file__).parents[1])}
SCRIPTS = {path.stem: path for path in Path(rounds.__file__).parent.glob("play_*.py")}

# Stands for a peer's Python, which is started with rounds.py; every round takes it half a second, it says.
STUB = """#!{python}
import json, sys
cases = [dict(name={name!r}, agents=agents, size=size, worlds={worlds}) for agents, size in {cases}]
told = dict(versions=dict(started_with=" ".join(sys.argv[1:])), contenders=cases, failures={failures})
print(json.dumps(told), flush=True)
for number, line in enumerate(sys.stdin):
    if number == {rounds}:
        sys.exit("out of cheese")
    index = json.loads(line)["play"]
    print(json.dumps(dict(seconds=0.5, agent_steps=(100_000, 250_000, 125_000)[index])), flush=True)
"""


def make_peer(folder: Path, script: str) -> None:
    """Make the environment of a peer, with a script for a Python."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(script)
    python.chmod(python.stat().st_mode | stat.S_IEXEC)


def stub(name: str, cases: list[tuple[int, int]], *, worlds: int = 1, lasts: int = 10**9, failures: Any = ()) -> str:
    """Return a script that answers as rounds.py does, for so many rounds."""
    return STUB.format(
        python=sys.executable, name=name, cases=cases, worlds=worlds, rounds=lasts, failures=list(failures)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one peer that plays, one that ends on the way, one that does not start, one without a Python."""
    folder = tmp_path_factory.mktemp("peers")
    lacking = ["POGEMA soft, 256 agents: MemoryError: no room"]
    make_peer(folder / "pogema", stub("POGEMA priority", [(8, 16), (64, 32), (256, 64)], failures=lacking))
    make_peer(folder / "lbforaging", stub("lb-foraging", [(8, 16)], lasts=3))
    make_peer(folder / "rware", f"#!{sys.executable}\nimport a_module_that_is_not_there")
    (folder / "ini_multigrid").mkdir()
    return folder


@pytest.fixture(scope="module")
def plot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the picture of the curves goes."""
    return tmp_path_factory.mktemp("plot") / "curves.png"


@pytest.fixture(scope="module")
def told(folder: Path, plot: Path) -> dict[str, Any]:
    """What `multigrid bench --quick --json` prints with those peers."""
    command = [sys.executable, "-m", "multigrid", "bench", "--quick", "--json"]
    command += ["--peers-folder", str(folder), "--plot", str(plot)]
    done = subprocess.run(command, env=AROUND, capture_output=True, text=True, timeout=300, check=True)
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_every_contender_is_told_with_its_goal(told: dict[str, Any]) -> None:
    """Each face, from one agent to 1,024 and from one world to 1,024, stands beside its baseline and its goal."""
    documented, many = "documented GridWorld", "SyncVectorEnv, documented"
    assert {row["name"]: (row["against"], row["goal"]) for row in told["steps"]} == {
        documented: (documented, None),
        "GridWorldEnv": (documented, 6),
        "ParallelEnv, N = 1": (documented, 1),
        "documented GridWorld, gym.make": ("documented GridWorld, gym.make", None),
        "GridWorldEnv, gym.make": ("documented GridWorld, gym.make", 4),
        "512x512 frame, documented": ("512x512 frame, documented", None),
        "512x512 frame": ("512x512 frame, documented", 3),
        many: (many, None),
        "GridWorld, gym.make_vec": (many, 500),
        "GridWorld, gym.make_vec, 2 threads": (many, None),
        "copying what gym.make_vec's returns": (many, None),
        **{f"ParallelEnv, N = {n}": (f"POGEMA priority, N = {n}", 6 if n == 8 else 10) for n in (8, 64, 256)},
        **{f"ParallelEnv, N = {n}, view": (f"POGEMA priority, N = {n}", 5) for n in (8, 64, 256)},
        **{f"POGEMA priority, N = {n}": (f"POGEMA priority, N = {n}", None) for n in (8, 64, 256)},
        "vector env, 8 x 1,024": ("POGEMA priority, N = 8", None),
        "vector env, 8 x 1,024, 2 threads": ("POGEMA priority, N = 8", None),
        "copying what it returns": ("POGEMA priority, N = 8", None),
        "vector env, 8 x 1,024, view": ("POGEMA priority, N = 8", 50),
        "vector env, 8 x 1,024, view, 2 threads": ("POGEMA priority, N = 8", None),
        "copying what it returns, view": ("POGEMA priority, N = 8", None),
        "ParallelEnv, N = 16": (documented, 7.7),
        "ParallelEnv, N = 1024": (documented, 7.7),
        **{f"SB3 VecEnv, {name}": ("SB3 VecEnv, SuperSuit", None) for name in ("SuperSuit", "native")},
    }


def test_the_ratios_are_those_of_the_times(told: dict[str, Any]) -> None:
    """A ratio is the time of what it is measured against over its own; a rate is the time turned over."""
    microseconds = {row["name"]: row["microseconds_per_agent_step"] for row in told["steps"]}
    for row in told["steps"]:
        own = microseconds[row["name"]]
        assert own > 0
        assert row["ratio"] == pytest.approx(microseconds[row["against"]] / own, rel=0.01)
        assert row["agent_steps_per_second"] == pytest.approx(1e6 / own, rel=0.01)
        assert row["spread"] >= 0


def test_a_peer_is_measured_where_it_is_set_up(told: dict[str, Any]) -> None:
    """What a peer's process says of its rounds is what is told, in the group of the same agents and map."""
    rows = {row["name"]: row for row in told["steps"]}
    for agents, size, microseconds in ((8, 16, 5), (64, 32, 2), (256, 64, 4)):
        row = rows[f"POGEMA priority, N = {agents}"]
        assert (row["microseconds_per_agent_step"], row["spread"]) == (microseconds, 0)
        assert row["group"] == rows[f"ParallelEnv, N = {agents}"]["group"] == f"{agents} agents on {size} x {size}"
    pogema = told["peers"][0]
    assert (pogema["title"], pogema["measured"]) == ("POGEMA 1.4", True)
    assert pogema["told"] == ["POGEMA soft, 256 agents: MemoryError: no room"]
    # Nothing that this Python is given reaches a peer's: ini/multigrid is a package of the same name.
    flags, script, *played = pogema["versions"]["started_with"].rsplit(" ", 5)
    assert flags.split() == ["-E", "-s", "-u"]
    assert (Path(script).name, played) == ("rounds.py", ["play_pogema", "8x16", "64x32", "256x64"])


def test_a_peer_that_fails_is_told_in_a_line_and_left_out(told: dict[str, Any], folder: Path) -> None:
    """A peer that does not start, or ends on the way, is told of with its own last words; the others are measured."""
    unmeasured = {row["title"]: row["told"] for row in told["peers"] if not row["measured"]}
    no_python = folder / "ini_multigrid" / "bin" / "python"
    assert unmeasured == {
        "rware 2.0": ["rware 2.0: does not play: ModuleNotFoundError: No module named 'a_module_that_is_not_there'"],
        "lb-foraging 2.0": ["lb-foraging 2.0: does not play: out of cheese"],
        "ini/multigrid 0.1.0": [f"ini/multigrid 0.1.0: does not start: No such file or directory: {no_python}"],
        "Jumanji 1.1": [],
    }
    assert not [row["name"] for row in told["steps"] if "rware" in row["name"] or "foraging" in row["name"]]


def test_what_limits_it_is_told(told: dict[str, Any]) -> None:
    """Copying the returned bytes, two threads over one, and how the cost rises, are ratios of times that are told."""
    cost = {row["name"]: row["microseconds_per_agent_step"] for row in told["steps"]}
    value = {row["name"]: row["value"] for row in told["limits"]}
    goals = Counter((row.get("under"), row.get("over")) for row in told["limits"])
    assert goals == {(4, None): 3, (2, None): 5, (None, 1.6): 2}
    one, two = "vector env, 8 x 1,024, view", "vector env, 8 x 1,024, view, 2 threads"
    assert value[f"{one}: over copying"] == pytest.approx(cost[one] / cost["copying what it returns, view"], rel=0.01)
    assert value[f"{one}: 2 threads"] == pytest.approx(cost[one] / cost[two], rel=0.01)
    for row in told["scaling"]:
        first, *_, last = row["counts"]
        rise = value[f"{row['name']}, from {first:,} to {last:,} {row['axis']}: rise"]
        costs = row["microseconds_per_agent_step"]
        assert rise == pytest.approx(max(costs[costs.index(min(costs)) :]) / min(costs), rel=0.01)
        assert last == {"agents": 4096, "worlds": 100_000}[row["axis"]]


def test_the_rise_is_seen_from_the_lowest_cost_on() -> None:
    """That many share the price of a call is no rise; what comes after the lowest cost is."""
    curve = scaling.Curve("", "agents", (1, 2, 3, 4), [lambda _, cost=cost: (cost, 10) for cost in (9, 1, 3, 2)])
    curve.measure(0.0)
    assert (curve.microseconds, curve.rise) == ([900_000, 100_000, 300_000, 200_000], 3.0)


def test_the_time_to_start_is_told(told: dict[str, Any]) -> None:
    """Importing the libraries, what the package adds to that, a first environment, a reset, and many seeds."""
    seconds = {row["name"]: row["seconds"] for row in told["starts"]}
    libraries, added, first, reset, seeds = seconds
    assert (libraries, added) == ("importing gymnasium and pettingzoo", "what importing multigrid adds")
    assert first == "importing it, and a first environment"
    assert reset == "a reset, 16 agents, one of 1,000 maps of 64 x 64"
    assert seeds == "seeding 100,000 worlds"
    assert min(seconds[name] for name in (libraries, first, reset, seeds)) > 0
    assert [row["goal"] for row in told["starts"]] == [None, 0.1, 2.0, 0.001, 0.7]


def test_the_memory_of_a_world_is_that_of_its_arrays() -> None:
    """A world's memory is its share of every array that has a row for each world."""
    size = {row["name"]: row["bytes"] for row in starts.memory_per_world()}
    config = contenders.restarting(8, 16, "view")
    arrays = [array for array in World(config, 1009).arrays if array.shape[0] == 1009]
    assert size["8 agents on 16 x 16, view"] == sum(array[0].nbytes for array in arrays)
    # What eight agents see of walls, agents and their targets, and two numbers for where each is and wants to be.
    assert size["8 agents on 16 x 16, view"] > 8 * (3 * 5 * 5 + 4 * 8)
    assert size["one agent on 5 x 5"] < size["8 agents on 16 x 16"] < size["64 agents on 32 x 32"]


def test_the_floor_is_every_byte_that_a_step_returns() -> None:
    """Two cells, a reward, two flags, and a distance, an outcome and `alive` with a mask each: 62 bytes a row."""
    env = multigrid.vector_env(5, num_agents=3, size=(6, 4), observe=("agent", "target"))
    env.reset(seed=0)
    returned = list(contenders._arrays(env.step(np.zeros(15, dtype=np.int64))))
    assert sum(array.nbytes for array in returned) == 15 * 62


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_fit_the_terminal(told: dict[str, Any], width: int) -> None:
    """No line is longer than the terminal is wide, but for those that name files, and no figure is cut short."""
    shown = StringIO()
    report.print_report(Console(file=shown, width=width), told, Path("where", "peers", "are"))
    lines = shown.getvalue().splitlines()
    assert [line for line in lines if len(line.rstrip()) > width and "does not" not in line] == []
    assert not [line for line in lines if "\u2026" in line]
    by_name = {row["name"]: row for row in told["steps"]}
    for name in ("GridWorldEnv", "POGEMA priority, N = 64", "vector env, 8 x 1,024, view, 2 threads"):
        (line,) = [line for line in lines if line.split("  ")[0].rstrip() == name]
        assert float(line.removeprefix(name).split()[0]) == pytest.approx(
            by_name[name]["microseconds_per_agent_step"], rel=0.01
        )
    (pogema,) = [line for line in lines if line.startswith("POGEMA priority, N = 8")]
    assert pogema.split()[-1] == "1"


def test_how_to_get_the_peers_is_told(told: dict[str, Any]) -> None:
    """What is not set up, and what could not play, is said in plain words, with the command that helps."""
    shown = StringIO()
    report.print_report(Console(file=shown, width=80), told, Path("where", "peers", "are"))
    lines = shown.getvalue().splitlines()
    assert "multigrid bench --setup-peers sets up what is missing, in where/peers/are." in lines
    assert "lb-foraging 2.0: does not play: out of cheese" in lines
    assert "POGEMA soft, 256 agents: MemoryError: no room" in lines
    text = " ".join(shown.getvalue().split())
    assert "LevelBasedForaging's agents see two cells far. Not set up." in text
    assert text.count("Not measured.") == 3


def test_everything_takes_turns() -> None:
    """Rounds go around, so that a slow moment falls on all; what fails is left out from then on, and told of."""
    played: list[str] = []

    def contender(name: str, peer: str | None, lasts: int) -> contenders.Contender:
        def play(seconds: float) -> tuple[float, int]:
            played.append(f"{name}{seconds:g}")
            if played.count(f"{name}2") > lasts:
                raise peers.PeerError(f"{name} is tired")
            return seconds, 4

        return contenders.Contender(name, "a group", play, peer=peer)

    effort = dataclasses.replace(measuring.QUICK, rounds=3, seconds=2.0)
    told: dict[str, list[str]] = {"x": []}
    three = [contender("a", None, 9), contender("b", "x", 1), contender("c", "x", 9)]
    (left,) = measuring._rounds(three, told, effort, Console(quiet=True))
    # What is ours plays once before, to be compiled; a peer has done so when it says that it is ready.
    assert played == ["a0", "a2", "b2", "c2", "a2", "b2", "a2"]
    assert (left.name, left.costs, told) == ("a", [500_000] * 3, {"x": ["b is tired"]})


def test_without_a_baseline_there_is_no_ratio() -> None:
    """What is to be compared with a peer that is not there has a goal, and no ratio."""
    alone = contenders.Contender("ours", "a group", lambda _: (1.0, 10), against="POGEMA", goal=6.0)
    for _ in range(3):
        alone.measure(0.0)
    (row,) = report.step_rows([alone])
    assert (row["ratio"], row["goal"], row["microseconds_per_agent_step"]) == (None, 6.0, 100_000)


def pixels_of(picture: Any, colour: str) -> int:
    """Count the pixels of a colour, "#RRGGBB"."""
    wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)])
    return int((np.abs(picture[..., :3] * 255 - wanted) < 4).all(axis=-1).sum())


def test_the_curves_are_drawn(told: dict[str, Any], plot: Path) -> None:
    """The picture is a PNG with three curves and POGEMA's on the left, two on the right."""
    assert plot.read_bytes().startswith(b"\x89PNG")
    picture = imread(plot)
    left, right = np.array_split(picture, 2, axis=1)
    blue, red, green, purple = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
    assert all(pixels_of(left, colour) > 500 for colour in (blue, red, green))
    assert all(pixels_of(right, colour) > 500 for colour in (blue, red))
    assert pixels_of(left, purple) > 100
    assert (pixels_of(right, green), pixels_of(right, purple)) == (0, 0)
    assert [path.name for path in plot.parent.iterdir()] == ["curves.png"]


def test_a_curve_stands_where_its_costs_are(tmp_path: Path) -> None:
    """A curve that falls is drawn from the upper left to the lower right."""
    curves = [
        scaling.Curve("a", axis, (1, 100), [lambda _: (8.0, 1), lambda _: (0.5, 1)]) for axis in ("agents", "worlds")
    ]
    for curve in curves:
        curve.measure(0.0)
    write_plot(tmp_path / "one.png", curves, [])
    picture = imread(tmp_path / "one.png")[:, :, :3] * 255
    rows, columns = np.nonzero((np.abs(picture - [0, 0x72, 0xB2]) < 4).all(axis=-1))
    on_the_right = columns > picture.shape[1] / 2
    rows, columns = rows[on_the_right], columns[on_the_right]
    first, lowest = columns.argmin(), rows.argmax()
    assert rows[lowest] - rows[first] > 200
    assert columns[lowest] - columns[first] > 200


def test_a_plot_in_no_folder_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the plot cannot be written, nobody waits for the measurement first."""
    assert main(["bench", "--plot", str(tmp_path / "nowhere" / "curves.png")]) == 2
    told = capsys.readouterr()
    assert (told.out, "there is no folder" in told.err) == ("", True)


PLAYED = {
    "play_pogema": {"pogema"},
    "play_rware": {"rware"},
    "play_lbforaging": {"lbforaging"},
    "play_ini_multigrid": set(),
    "play_jumanji": {"jumanji", "jax"},
}


def test_every_peer_has_a_script() -> None:
    """The scripts are those of the peers, and every peer is installed at one version."""
    assert set(SCRIPTS) == {peer.player for peer in peers.PEERS} == set(PLAYED)
    assert all("==" in requirement for peer in peers.PEERS for requirement in peer.requirements)


@pytest.mark.parametrize("player", SCRIPTS)
def test_a_script_imports_its_peer_alone(player: str) -> None:
    """What runs in a peer's environment needs the peer, NumPy and Python's own modules; here it is imported without."""
    tree = ast.parse(SCRIPTS[player].read_text())
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    others = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert others == PLAYED[player] | {"numpy"}
    module = importlib.import_module(f"multigrid.cli.peers.{player}")
    assert all(callable(make) for make in module.contenders(8, 16).values())


TOY = """
PACKAGES = ("numpy",)

def contenders(agents, size):
    def broken():
        raise ValueError("no such map")

    def play():
        print("a library that talks")

    return {"toy": lambda: (5, play), "other": broken}
"""


def test_rounds_are_played_on_request(tmp_path: Path) -> None:
    """The program in a peer's environment tells what there is and what fails, and counts the steps of every agent."""
    shutil.copy(rounds.__file__, tmp_path)
    (tmp_path / "play_toy.py").write_text(TOY)
    done = subprocess.run(
        [sys.executable, "-E", "-s", str(tmp_path / "rounds.py"), "play_toy", "3x7"],
        input='{"play": 0, "seconds": 0.02}\n{"play": 0, "seconds": 0}\n',
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, long, short = map(json.loads, done.stdout.splitlines())
    assert first == {
        "versions": {"numpy": np.__version__},
        "contenders": [{"name": "toy", "agents": 3, "size": 7, "worlds": 5}],
        "failures": ["other, 3 agents: ValueError: no such map"],
    }
    assert 0.02 <= long["seconds"] < 1
    assert short["agent_steps"] == 15
    # One play to begin with, and those that are counted.
    assert done.stderr.count("a library that talks") == 2 + long["agent_steps"] // 15


@pytest.fixture
def two_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only POGEMA and rware, so that fewer environments are made."""
    monkeypatch.setattr(peers, "PEERS", peers.PEERS[:2])


def test_peers_that_cannot_be_installed_are_told_and_leave_nothing(
    two_peers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an index pip finds nothing: one line says so, the exit code is 1, and no half environment is left."""
    make_peer(tmp_path / "rware", stub("rware", [(8, 16)]))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert main(["bench", "--setup-peers", "--peers-folder", str(tmp_path)]) == 1
    pogema, result, rware = capsys.readouterr().out.splitlines()
    assert pogema == "POGEMA 1.4: installing pogema==1.4.0"
    assert result == "POGEMA 1.4: not set up: No matching distribution found for pogema==1.4.0"
    assert rware == f"rware 2.0: there already, in {tmp_path / 'rware'}"
    assert [path.name for path in tmp_path.iterdir()] == ["rware"]


def test_peers_are_set_up_once_they_play(
    two_peers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An environment is there when what is in it has played; what is installed and does not play is taken away."""
    scripts = {"pogema": stub("POGEMA priority", [(8, 16)]), "rware": f"#!{sys.executable}\nprint('hello')"}

    def install(peer: peers.Peer, home: Path) -> None:
        home.rmdir()
        make_peer(home, scripts[peer.key])

    monkeypatch.setattr(peers, "_install", install)
    flags = ["bench", "--setup-peers", "--peers-folder", str(tmp_path)]
    assert main(flags) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"POGEMA 1.4: set up in {tmp_path / 'pogema'}: started_with")
    assert lines[3] == "rware 2.0: not set up: rware 2.0: does not play: hello"
    assert [path.name for path in tmp_path.iterdir()] == ["pogema"]
    scripts["rware"] = stub("rware", [(8, 16)])
    assert main(flags) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pogema", "rware"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"size {case['size']}, seed {case['seed']}")
def test_what_is_measured_against_is_the_documented_game(case: dict[str, Any]) -> None:
    """The code that stands for the documented one plays the recorded episodes: it saves no work by leaving some out."""
    env = DocumentedGridWorld(size=case["size"])
    seed = case["seed"]
    for row in case["rows"]:
        if row[0] == "reset":
            observation, info = env.reset(seed=seed)
            seed = None
            assert [observation["agent"].tolist(), observation["target"].tolist(), info["distance"]] == row[1:]
        else:
            observation, *flags, info = env.step(row[0])
            cells = [observation["agent"].tolist(), observation["target"].tolist()]
            assert [*cells, *flags, info["distance"]] == row[1:]


def test_nothing_is_registered_for_the_measurement(told: dict[str, Any]) -> None:
    """The stand-in for the documented code has no id that a user could come upon."""
    assert not [name for name in gymnasium.registry if "Documented" in name]


def test_an_unknown_flag_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A flag that does not exist is an error, not a measurement of something else."""
    with pytest.raises(SystemExit) as left:
        main(["bench", "--quik"])
    assert left.value.code == 2
    assert "--quik" in capsys.readouterr().err


# Stands for a version of the package: what it plays takes as long as it says, by a clock of its own.
STUB_VERSION = {
    "contenders": """
import __main__, sys, types
from pathlib import Path

now = [0.0]
__main__._CLOCK = lambda: now[0]
FOLDER = Path(__file__).parents[3]
COSTS = {costs}


def player(name):
    def play(seconds):
        with (FOLDER.parent / "played.txt").open("a") as file:
            file.write(f"{{FOLDER.name}} {{name}} {{seconds:g}}\\n")
        now[0] += COSTS[name]
        return 0.0, 1000

    return play


def local_contenders():
    for name in COSTS:
        yield types.SimpleNamespace(name=name, play=player(name), costs=[])
""",
    "scaling": """
from multigrid.cli.bench.contenders import player
import types


def curves(agents, worlds):
    yield types.SimpleNamespace(name="step", axis="agents", counts=agents[:1], plays=[player("step")])
""",
    "starts": """
import importlib.util, os
from pathlib import Path

# What is started from here finds this version too, and nothing finds the modules of the bench under their bare names.
assert os.environ["PYTHONPATH"] == str(Path(__file__).parents[3])
assert importlib.util.find_spec("intervals") is None


def start_times(repeats):
    return [{{"name": "importing", "seconds": {importing}}}, {{"name": "adds", "seconds": -0.5}}]


def memory_per_world():
    return [{{"name": "a world", "bytes": {world}}}]
""",
    "report": """
def limit_rows(contenders, scaling):
    rounds = len(contenders[0].costs) + len(scaling[0].costs[0])
    assert rounds in (2 * 3, 2 * 16), "asked before all rounds were played"
    return [{{"name": "rounds", "value": rounds, "under": 4.0}}, {{"name": "2 threads", "value": {gain}, "over": 1.6}}]
""",
}
ROUNDS = 3
AGAINST = dataclasses.replace(measuring.QUICK, rounds=ROUNDS, starts=2)


def make_version(folder: Path, *, importing: float, world: int, gain: float, **costs: float) -> Path:
    """Make a folder with a package of which nothing is there but what measures it."""
    bench = folder / "multigrid" / "cli" / "bench"
    bench.mkdir(parents=True)
    for package in (bench, *list(bench.parents)[:2]):
        (package / "__init__.py").touch()
    for name, text in STUB_VERSION.items():
        filled = text.format(costs=costs, importing=importing, world=world, gain=gain)
        (bench / f"{name}.py").write_text(filled)
    return folder


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    """This version, which steps faster, resets slower, and has a figure of its own; and the other."""
    this = make_version(tmp_path / "this", importing=0.5, world=300, gain=1.5, step=1.0, reset=4.0, new=1.0)
    other = make_version(tmp_path / "other", importing=0.5, world=200, gain=1.8, step=3.0, reset=2.0, old=1.0)
    return this, other


def compared(versions: tuple[Path, Path], turns: int, kept: Path | None = None) -> dict[str, Any]:
    """What JSON tells of two versions."""
    return against.compare(versions, turns, AGAINST, kept, Console(quiet=True))


def test_versions_are_compared_figure_by_figure(versions: tuple[Path, Path]) -> None:
    """A ratio is how many times better this version is, whatever the figure; what only one has is not compared."""
    content = compared(versions, 6)
    assert (content["turns"], content["this"], content["other"]) == (6, *map(str, versions))
    assert [(row["name"], pytest.approx(row["ratio"]), row["verdict"]) for row in content["figures"]] == [
        ("reset", 0.5, "worse"),
        ("memory, a world", 2 / 3, "worse"),
        ("2 threads", 1.5 / 1.8, "worse"),
        ("importing", 1.0, "no difference"),
        ("rounds", 1.0, "no difference"),
        ("step", 3.0, "better"),
        ("step, 1 agents", 3.0, "better"),
    ]
    for row in content["figures"]:
        assert len(row["by_turn"]) == 6
        assert row["low"] == pytest.approx(row["ratio"]) == row["high"]


def test_versions_play_by_turns(versions: tuple[Path, Path]) -> None:
    """Both compile first; in a round both play a thing one after the other, and who begins alternates."""
    compared(versions, 6)
    lines = [line.split() for line in (versions[0].parent / "played.txt").read_text().splitlines()]
    assert not [line for line in lines[:6] if line[2] != "0"]
    played = [folder for folder, *name, seconds in lines if name == ["reset"] and seconds != "0"]
    begin = [["this", "other"], ["other", "this"]]
    expected = [begin[(turn + k) % 2] for turn in range(6) for k in range(ROUNDS)]
    assert [played[k : k + 2] for k in range(0, len(played), 2)] == expected
    # So that both begin equally often within a turn.
    efforts = (against.QUICK_TURN, against.FULL_TURN)
    assert [count % 2 for effort in efforts for count in (effort.rounds, effort.starts)] == [0] * 4


def test_a_comparison_goes_on_where_it_was_cut_off(versions: tuple[Path, Path], tmp_path: Path) -> None:
    """Turns are kept as they come; a run goes on from those in the file, if they are of the same code and effort."""
    kept = tmp_path / "turns.json"
    contenders_file = versions[1] / "multigrid" / "cli" / "bench" / "contenders.py"
    ending = "file = FOLDER.parent / 'played.txt'\nif file.exists() and not (FOLDER.parent / 'mended').exists():\n"
    ending += "    if file.read_text().count('other reset 0.015') == 2 * 3: sys.exit('out of cheese')\n"
    contenders_file.write_text(contenders_file.read_text() + ending)
    with pytest.raises(against.VersionError, match=f"^{versions[1]} does not play: out of cheese$"):
        compared(versions, 6, kept)
    first = json.loads(kept.read_text())
    assert len(first["turns"]) == 2
    (tmp_path / "played.txt").unlink()
    (tmp_path / "mended").touch()
    first["turns"][0]["reset"] = 0.25
    kept.write_text(json.dumps(first))
    (row,) = [row for row in compared(versions, 6, kept)["figures"] if row["name"] == "reset"]
    assert row["by_turn"] == pytest.approx([0.25, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert (tmp_path / "played.txt").read_text().count("this reset 0.015") == 4 * ROUNDS
    before, played = kept.read_bytes(), (tmp_path / "played.txt").read_bytes()
    assert compared(versions, 6, kept)["turns"] == 6
    assert (tmp_path / "played.txt").read_bytes() == played
    contenders_file.write_text(contenders_file.read_text() + "\n")
    with pytest.raises(against.VersionError, match="has turns of other code"):
        compared(versions, 6, kept)
    assert kept.read_bytes() == before
    kept.write_text('{"turns"')
    with pytest.raises(against.VersionError, match="has no turns"):
        compared(versions, 6, kept)


def test_the_interval_is_that_of_order_statistics() -> None:
    """For each number of turns: which values enclose the median, and how probably, as tables of it have them."""
    table = {6: (1, 6, 0.969), 8: (1, 8, 0.992), 9: (2, 8, 0.961), 10: (2, 9, 0.979), 12: (3, 10, 0.961)}
    table |= {15: (4, 12, 0.965), 17: (5, 13, 0.951), 20: (6, 15, 0.959)}
    for turns, (low, high, coverage) in table.items():
        values = np.random.default_rng(0).permutation(np.arange(1.0, turns + 1)).tolist()
        assert intervals.median_interval(values) == (low, high, pytest.approx(coverage, abs=0.0006))
    assert intervals.median_interval([1.0] * intervals.FEWEST_TURNS)[2] >= 0.95
    assert intervals.median_interval([1.0] * (intervals.FEWEST_TURNS - 1))[2] < 0.95


def test_a_figure_is_worse_when_the_interval_lies_below_one() -> None:
    """An interval that has 1 in it, or at its end, shows no difference; what a turn lacks is named, not compared."""
    ratios = {
        "down to one": [1.0, 1.0, 1.1, 1.2, 1.2, 1.3],
        "above": [1.01, 1.01, 1.1, 1.2, 1.2, 1.3],
        "up to one": [0.7, 0.8, 0.9, 0.9, 1.0, 1.0],
        "below": [0.9, 0.9, 0.9, 0.9, 0.99, 0.99],
        "far below": [0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
    }
    turns = [{name: values[k] for name, values in ratios.items()} for k in range(6)]
    turns[3]["seldom"] = 0.5
    content = intervals.summary(turns)
    verdicts = {row["name"]: row["verdict"] for row in content["figures"]}
    assert list(verdicts) == ["far below", "below", "up to one", "down to one", "above"]
    assert list(verdicts.values()) == ["worse", "worse", "no difference", "no difference", "better"]
    assert content["left_out"] == ["seldom"]
    assert content["by_chance"] == pytest.approx(5 / 32)


@pytest.mark.parametrize(("slower", "code"), [(1.0, 0), (2.0, 1)])
def test_the_exit_code_says_whether_a_figure_is_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], slower: float, code: int
) -> None:
    """The command exits with 1 if a figure is worse, else 0; the table and JSON say the same."""
    folders = [
        make_version(tmp_path / name, importing=0.5, world=200, gain=1.5, step=cost)
        for name, cost in (("this", 2.0 * slower), ("other", 2.0))
    ]
    monkeypatch.setattr(multigrid, "__file__", str(folders[0] / "multigrid" / "__init__.py"))
    flags = ["bench", "--quick", "--against", str(folders[1]), "--turns", "6", "--resume", str(tmp_path / "turns.json")]
    assert main([*flags, "--json"]) == code
    content = json.loads(capsys.readouterr().out)
    verdict = "worse" if slower > 1 else "no difference"
    assert {row["name"]: row["verdict"] for row in content["figures"]}["step"] == verdict
    assert main(flags) == code
    table = capsys.readouterr().out
    (line,) = [line for line in table.splitlines() if line.startswith("step ")]
    assert line.split() == ["step", *[f"{1 / slower:.3f}"] * 3, *verdict.split()]
    assert "Not measured in every turn" not in table


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--against", "{empty}"], "there is no package multigrid in {empty}"),
        (["--against", "{broken}"], "{broken} does not play: ModuleNotFoundError: No module named 'multigrid.cli'"),
        (["--against", "{broken}", "--turns", "5"], "--turns is 5; expected at least 6"),
        (
            ["--against", "{broken}", "--resume", "{empty}/a/b.json"],
            "there is no folder {empty}/a to keep the turns in",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    """A folder without the package, a package that does not play, too few turns: one line, and exit code 2."""
    this = make_version(tmp_path / "this", importing=0.5, world=200, gain=1.5, step=1.0)
    monkeypatch.setattr(multigrid, "__file__", str(this / "multigrid" / "__init__.py"))
    folders = {name: tmp_path / name for name in ("empty", "broken")}
    folders["empty"].mkdir()
    (folders["broken"] / "multigrid").mkdir(parents=True)
    (folders["broken"] / "multigrid" / "__init__.py").touch()
    assert main(["bench", "--json", *(flag.format(**folders) for flag in flags)]) == 2
    assert capsys.readouterr().err == f"multigrid bench: {said.format(**folders)}\n"


def test_this_version_plays_what_the_bench_measures(told: dict[str, Any]) -> None:
    """A process with the real package names and plays every figure of the bench but the peers'."""
    folder = Path(multigrid.__file__).parents[1]
    effort = dataclasses.replace(measuring.QUICK, seconds=0.0, worlds=(1, 10, 1000))
    with contextlib.closing(against._Version(folder, effort)) as version:
        names = version.read()
        figures = {figure: value for name in names for figure, value in version.play(name).items()}
    expected = {row["name"] for row in told["steps"] if "POGEMA" not in row["name"]}
    expected |= {f"{row['name']}, {count:,} agents" for row in told["scaling"][:3] for count in row["counts"]}
    expected |= {row["name"] for row in told["starts"]} | {f"memory, {row['name']}" for row in told["memory"]}
    expected |= {row["name"].replace("to 100,000 worlds", "to 1,000 worlds") for row in told["limits"]}
    missing = expected - set(figures)
    assert missing == set()
    assert not [name for name, value in figures.items() if value <= 0 and name != "what importing multigrid adds"]
