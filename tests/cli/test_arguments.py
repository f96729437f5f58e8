"""Arguments of the commands: scenarios by file or by name, and what is refused, in one line, with nothing written."""

import dataclasses
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import get_type_hints

import pytest

import multigrid.cli
import multigrid.integrations
from helpers import AROUND, run_without
from multigrid import GridConfig, planning, scenarios
from multigrid.cli import main, play
from multigrid.cli._episodes import RolloutOptions
from multigrid.cli._models import make_policy_factory
from multigrid.cli._options import Range, _types_in
from multigrid.cli._train_options import TrainOptions
from multigrid.cli.evaluate import EvaluateOptions
from multigrid.cli.play import PlayOptions
from multigrid.policies._baselines import built_in_factory
from multigrid.runtime.compiled import KERNELS
from multigrid.scenarios import Scenario, save

REFUSED = {
    "play": [
        ("--scenario empty-9x7-2 --size 4", "--scenario has its own world and cannot be combined with --size"),
        ("--scenario empty-9x7-2 --map empty-9x7-2", "--map and --scenario say different worlds"),
        ("--map empty-9x7", "there is no file 'empty-9x7', nor .*empty-9x7-2.* generator maze, random_map, rooms"),
        ("--map empty-9x7-2 --size 4", "--map has a size of its own and cannot be combined with --size"),
        ("--map maze-9x7-2 --map rooms-9x7-2", "--map comes twice; name all maps of a pool after one --map"),
        ("--map", "--map names no map; expected a file, a name of the suite, or GENERATOR:KEY=VALUE"),
        ("--map bare.json --num-agents 15", r"num_agents is 15, but the map \(5 x 3\) has room for"),
        ("--record nowhere/a.json", "there is no folder nowhere"),
        ("--record .", "--record is ., which is a folder"),
    ],
    "evaluate": [
        ("", "no policy is named; expected one or more, such as: multigrid evaluate shortest-path pibt"),
        ("--json random pibt", "random pibt came after a flag; name the policies before the flags"),
        ("random pibt random", "random comes twice; expected each policy once"),
        ("random pretraned", r"policy is pretraned \(did you mean pretrained\?\), and there is no such folder"),
        ("random pibt --collisions priority", "collisions is 'priority', which no controller supports"),
        ("random --gap 1 --on-target restart", "on_target is 'restart'"),
        ("random --output torn.json", "torn.json exists already and is left alone"),
        ("random --output no/rows.csv", "there is no folder no; make it first"),
        ("--cross-play random random", "random comes twice; expected each policy once"),
        ("pibt --cross-play random", "POLICY is not for --cross-play; leave out one of them"),
        ("--cross-play random --gap 1", "--gap is not for --cross-play; leave out one of them"),
        ("pibt --metric isr", "--metric is for --cross-play; leave out one of them"),
        ("--cross-play random --metric irs", r"metric is 'irs' \(did you mean 'isr'\?\); expected one of 'csr', "),
        ("--cross-play random --picture torn.json", "torn.json exists already and is left alone"),
        ("--cross-play random --suite maze --picture a.svg", "--picture shows one matrix, and there are . worlds"),
        ("--cross-play random nowhere", "policy is nowhere, which has no config.json .* in it; expected random, "),
    ],
    "replay": [
        ("torn.json", "torn.json is not JSON"),
        ("bare.json", "scenario 'bare' has no actions"),
        ("empty-9x7", "there is no file 'empty-9x7', nor a scenario of this name in .*empty-9x7-2"),
        ("maze-9x7-2 --output no/folder.html", "expected a file in a folder that is there"),
        ("maze-9x7-2 --output .", "--output is .; expected a file"),
        ("bare.json --output bare.json", "bare.json is the recording itself"),
        ("maze-9x7-2 --output page.svg --svg", "--output is page.svg, where --svg writes"),
        ("maze-9x7-2 empty-9x7-2 bare.json", "3 recordings came: .*, bare.json; expected one, or two of one layout"),
        ("maze-9x7-2 empty-9x7-2", "not of one layout: cell .* is a wall in only one of them; .*multigrid replay FILE"),
    ],
    "rollout": [
        ("--policy nowhere", "policy is nowhere, which has no config.json .* expected random, .*pretrained-shield or"),
        ("--policy torn", "torn.config.json is not what `multigrid train` writes: .*"),
        (
            "--suite --no-flatten --max_cycles=7",
            "--suite has its own world and cannot be combined with --no-flatten, --max-cycles",
        ),
        ("--map maze:width=9", "'maze:width=9' lacks height; maze has the keys width, height, seed, loops, maps"),
        ("--map torn", "torn.config.json is not what `multigrid train` writes"),
        ("--policy untrained", "policy is untrained, which has no model.zip in it; expected random, .* or"),
        ("--suite desert", "--suite is desert, but no name is like that; the nearest of 36 names are '"),
        ("--suite maze --num-agents-sweep 2", "--suite and --num-agents-sweep say different worlds"),
        ("--num-agents-sweep 2 4 8 99", r"num_agents is 99, but the grid \(5 x 5\) has room for 25"),
        ("--max-cycles None", "max_cycles of grid-5x5-2 is None"),
        ("--gap 1 --collisions priority", "collisions is 'priority', which no method supports"),
        ("--seed 99999999999", "--seed is 99999999999; expected 0 to 2,147,483,647"),
        ("--gif --fps 0.001", "--fps is 0.001; expected 0.01 to 60"),
        ("--output old", "old exists already and is left alone"),
    ],
    "train": [
        ("--map old", "old is a folder that no `multigrid train` has written"),
        ("--fade-shaping 0.5", "--fade-shaping is 0.5, but the game has no option shaping"),
        ("--map maze-9x7-2 maze-11x9-4", "maze-9x7-2 and maze-11x9-4 differ in their size"),
        ("--max-cycles None", "--max-cycles is None"),
        ("--hidden 8 999999 999999", "--hidden is 8 999999 999999: the training .* use smaller layers"),
        ("--rollout 9999999", "--rollout is 9999999: with --copies 64, .* use a shorter rollout, or fewer copies"),
        (
            "--size 4 --observe agent rgb_view",
            "rgb_view is an image, Box.* learns from vectors: expected other",
        ),
        (
            "--game rware-tiny-2ag-v2 --option msg_bits=2",
            "an action has 2 bits of messages; .* one number",
        ),
        ("--folder old", "old exists already"),
        ("--folder torn.json/run", "torn.json/run cannot be written: Not a directory; name another with --folder"),
    ],
}
CASES = [
    pytest.param(f"{name} {flags}", complaint, marks=[pytest.mark.heavy] * (name in ("rollout", "train")))
    for name, rows in REFUSED.items()
    for flags, complaint in rows
]


@pytest.mark.parametrize(("command", "complaint"), CASES)
def test_what_a_command_cannot_do_is_refused_in_one_line(command, complaint, home, monkeypatch, refused):
    """A bad flag gives one line and exit code 2 before anything is played; files stay, and no others are written."""
    monkeypatch.setattr(play, "show", None)
    save(Scenario("bare", GridConfig(walls="a#A..\n.b.Bc\n....C", max_cycles=20)), "bare.json")
    Path("torn.json").write_text("{")
    Path("old").mkdir()
    for folder, content in (("torn", "{}"), ("untrained", "{}")):
        Path(folder).mkdir()
        Path(folder, "config.json").write_text(content)
        if folder != "untrained":
            Path(folder, "model.zip").write_text("")
    before = {path: path.is_file() and path.read_bytes() for path in home.rglob("*")}
    refused(command, complaint)
    assert {path: path.is_file() and path.read_bytes() for path in home.rglob("*")} == before


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: planning.controller("widowed"), "'windowed'"),
        (lambda: planning.solve(scenarios.get("empty-9x7-2"), "lakam"), "'lacam'"),
        (lambda: built_in_factory("shortest_path"), "'shortest-path'"),
        (lambda: GridConfig(on_target="leaf"), "'leave'"),
        (lambda: scenarios.get("maze-17x3-8"), "'maze-17x13-8'"),
        (lambda: make_policy_factory("pretraned"), "pretrained"),
    ],
)
def test_a_name_that_is_nearly_right_is_named(call, meant):
    """Whoever misspells a name by a letter is told the right one."""
    with pytest.raises(ValueError, match=f"(did you mean|nearest .* are) {meant}"):
        call()


def test_the_version_says_what_a_bug_report_needs(run):
    """`multigrid --version` prints the versions of the libraries that decide what an environment does, and how."""
    lines = run("--version").splitlines()
    assert lines[0] == f"multigrid {multigrid.__version__}"
    assert lines[1].startswith(f"Python {platform.python_version()}")
    assert {f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo")} <= set(lines)
    assert lines[-1] == f"kernels: {'' if KERNELS == 'interpreted' else 'compiled '}{KERNELS}"
    assert all(re.search(f"^{name}", "\n".join(lines), re.MULTILINE) for name in ("numba ", "pygame"))


OUTPUTS = {
    "play --record {}": ".json",
    "evaluate random --output {}": ".csv",
    "rollout --episodes 100000000 --record --output {}": "",
    "rollout --episodes 100000000 --dataset {}": "-v0",
    "train --folder {}": "",
    "replay maze-9x7-2 --output {}": ".html",
}


@pytest.mark.heavy
@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.parametrize("path", ["/proc/mine{}", "m" * 251 + "{}", "\ud800{}"], ids=ascii)
def test_a_path_that_cannot_be_written_is_refused_first(path, command, home, monkeypatch, refused):
    """What cannot be a file or a folder gives one line with the flag, before anything is played or measured."""
    monkeypatch.setattr(play, "show", None)
    name, flag = path.format(OUTPUTS[command]), command.split()[-2]
    if flag == "--dataset":
        monkeypatch.setenv("MINARI_DATASETS_PATH", "/proc" if "/proc" in path else str(home))
        name = name.removeprefix("/proc/")
    refused(command.format(name * 2 if name.startswith("mm") else name), f"{flag}|there is no folder|dataset's name is")
    assert not list(home.iterdir())


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are text there")
def test_a_path_that_is_no_text_is_written_and_printed(home):
    """A file may have any name that the system allows; what is not text in it is printed as a question mark."""
    command = [sys.executable, "-m", "multigrid", "replay", "maze-9x7-2", "--output", b"\xff.html"]
    done = subprocess.run(command, env={**AROUND, "PYTHONIOENCODING": "utf-8:strict"}, capture_output=True, check=True)
    assert done.stdout == b"?.html\n"
    assert [os.fsencode(path.name) for path in home.iterdir()] == [b"\xff.html"]


WITH_NUMBERS = {
    "play": PlayOptions,
    "evaluate random": EvaluateOptions,
    "rollout": RolloutOptions,
    "train": TrainOptions,
}


def numbers_of(kind):
    """The flags of some options that take numbers, those of the grid included, with their types."""
    hints = get_type_hints(kind, include_extras=True)
    inner = numbers_of(GridConfig) if "grid" in hints else {}
    fields = [field.name for field in dataclasses.fields(kind)]
    return inner | {name: hints[name] for name in fields if {int, float} & set(_types_in(hints[name]))}


@pytest.mark.heavy
@pytest.mark.parametrize("command", WITH_NUMBERS)
def test_a_number_that_cannot_be_is_refused(command, home, capsys, request):
    """Each flag for numbers of each command refuses what it cannot do, by its name, before anything is written."""
    assert {name.split()[0] for name in WITH_NUMBERS} == multigrid.cli._COMMANDS.keys() - {"replay"}
    for number, (name, hint) in enumerate(numbers_of(WITH_NUMBERS[command]).items()):
        flag = f"--{name.replace('_', '-')}"
        takes_zero = all(one.least <= 0 for one in getattr(hint, "__metadata__", ()) if isinstance(one, Range))
        values = ("nan", "inf", "-inf", "-1", "1e30", "1" + 23 * "0", "x", *["0"] * (not takes_zero))
        for value in values if request.config.getoption("--long") else values[number % 3 :: 3]:
            try:
                code = main([*command.split(), flag, value])
            except (ValueError, SystemExit) as error:
                code = getattr(error, "code", 2)
                sys.stderr.write(str(error))
            errors = capsys.readouterr().err
            assert code == 2, f"{command} {flag} {value}"
            assert flag in errors or f"{name} is" in errors, f"{command} {flag} {value}: {errors}"
    assert not list(home.iterdir())


def install(library, extra):
    """What is said of a missing library."""
    return rf'needs {library}.*: pip install -e ".*\[{extra}\]"'


@pytest.mark.heavy
def test_a_missing_library_is_named_by_who_needs_it(home):
    """Without a library that a command needs one line says how to install it, before anything is played."""
    missing = ("torch", "stable_baselines3", "matplotlib", "imageio", "PIL")
    calls = {
        "train": install("torch", "train"),
        "rollout --episodes 1 --gif": install("imageio", "train"),
        "rollout --episodes 1 --figures": install("matplotlib", "train"),
    }
    each = f"for words in {[flags.split() for flags in calls]}: print(main(words), file=sys.stderr)"
    before = f"from multigrid.cli import main\n{each}"
    done = run_without(missing, "rollout", "--episodes", "1", before=before, cwd=home)
    assert re.fullmatch("".join(f".*{line}\n1\n" for line in calls.values()), done.stderr), done.stderr
    assert (done.returncode, "sum of costs" in done.stdout) == (0, True)
    assert list(home.iterdir()) == []


@pytest.mark.long
def test_a_missing_library_of_a_flag_is_named(home):
    """So does a training without what draws its curve, and without what a flag asks for."""
    done = run_without(("tensorboard",), "train", "--log", "tensorboard", cwd=home)
    assert re.fullmatch(f".*{install('tensorboard', 'loggers')}\n", done.stderr), done.stderr
    done = run_without(("matplotlib",), "train", cwd=home)
    assert re.fullmatch(f".*{install('matplotlib', 'train')}\n", done.stderr), done.stderr
    assert done.returncode == 1
    assert list(home.iterdir()) == []


def test_a_name_of_the_suite_is_taken_unless_there_is_such_a_file(home, run, refused):
    """Beside a folder of this name the scenario of the suite is read; a file of this name wins."""
    name = "empty-9x7-2"
    (home / name).mkdir()
    run(f"replay {name} --output out.html")
    assert name in (home / "out.html").read_text()
    (home / name).rmdir()
    save(Scenario("mine", GridConfig(walls="a..A", max_cycles=9)), home / name)
    refused(f"replay {name} --output out.html", "scenario 'mine' has no actions")
