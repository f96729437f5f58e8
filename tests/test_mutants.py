"""The mutants are those of today's sources, and the command that runs them tells the living from the dead."""

import ast
import subprocess
import sys

import pytest

import mutants
from mutants import MUTANTS, Mutant

EQUIVALENT = Mutant("core/metrics.py", "success = arrival_step >= 0", "success = arrival_step > -1", "no rule")
GONE = Mutant("core/metrics.py", "no such line", "no other line", "a rule of yesterday")


def test_there_are_enough():
    """At least forty mutants, no two alike, each with its rule; every file of theirs has tests to notice them."""
    assert len({mutant[:3] for mutant in MUTANTS}) == len({mutant.rule for mutant in MUTANTS}) == len(MUTANTS) >= 40
    assert {mutant.file for mutant in MUTANTS} == mutants.TESTS.keys()


@pytest.mark.parametrize("mutant", MUTANTS, ids=[str(number) for number in range(1, len(MUTANTS) + 1)])
def test_the_line_is_there_once(mutant):
    """The line occurs once, and what stands there instead is one line of other code, which Python can read."""
    source = (mutants.ROOT / "multigrid" / mutant.file).read_text()
    mutated = mutant.made_of(source)
    assert len(mutated.splitlines()) == len(source.splitlines())
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))


def test_files_without_kernels_have_none():
    """Only where no kernel is, a mutant is judged without compiling anything."""
    with_kernels = {file for file in mutants.TESTS if "@kernel" in (mutants.ROOT / "multigrid" / file).read_text()}
    assert with_kernels == mutants.TESTS.keys() - mutants.WITHOUT_KERNELS


def test_a_mutant_is_killed():
    """Run as a command, it names the test that has noticed, and succeeds."""
    number = next(k for k, mutant in enumerate(MUTANTS, 1) if mutant.rule == "csr asks for the success of all")
    done = subprocess.run(
        [sys.executable, mutants.__file__, "--interpreted", "--only", str(number)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    unchanged, killed, summary = done.stdout.splitlines()
    assert done.returncode == 0
    assert unchanged.startswith("unchanged, interpreted: all tests pass")
    assert f"{number}  core/metrics.py  csr asks for the success of all: killed by core/test_worlds.py::test_" in killed
    assert summary.startswith("1 of 1 mutants killed")


def test_what_is_not_killed_is_a_failure(capsys):
    """A mutant that survives, or whose line is gone, is named, and makes the command fail."""
    assert mutants.main(["--interpreted"], [EQUIVALENT, GONE]) == 1
    _, survived, gone, summary, named = capsys.readouterr().out.splitlines()
    assert "no rule: SURVIVED" in survived
    assert "a rule of yesterday: NOT JUDGED, the line occurs 0 times: no such line" in gone
    assert summary.startswith("0 of 2 mutants killed")
    assert named == "not killed: 1 2"


def test_numbers_that_no_mutant_has_are_refused(capsys):
    """A number that is too small or too large is a mistake in the command."""
    for number in (0, len(MUTANTS) + 1):
        with pytest.raises(SystemExit, match="2"):
            mutants.main(["--only", str(number)])
        assert f"there are mutants 1 to {len(MUTANTS)}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("returncode", "output", "verdict"),
    [
        (0, "tests/test_a.py::test_b PASSED", None),
        (
            1,
            "tests/test_a.py::test_b PASSED\ntests/test_a.py::test_c[x y] FAILED [ 4%]\n\nFAILED ...",
            "test_a.py::test_c",
        ),
        (1, "tests/test_a.py::test_b PASSED\ntests/test_a.py::test_c ERROR", "test_a.py::test_c"),
        (
            1,
            "tests/test_a.py::test_b PASSED\ntests/test_a.py::test_c Timeout (",
            "test_a.py::test_c, which took more than",
        ),
        (-11, "tests/test_a.py::test_b Fatal Python error", "test_a.py::test_b, which died of SIGSEGV"),
        (2, "ERROR collecting tests/test_a.py", "the import"),
    ],
)
def test_verdicts(returncode, output, verdict):
    """A test has noticed that fails, hangs, dies, or cannot even be imported."""
    told = mutants.failure(returncode, output)
    assert told == verdict if verdict is None else told.startswith(verdict)


@pytest.mark.parametrize("returncode", [-15, 4, 5])
def test_what_says_nothing_about_the_mutant(returncode):
    """A run that somebody ended, or that found nothing to run, is no verdict."""
    with pytest.raises(RuntimeError, match=f"pytest returned {returncode}"):
        mutants.failure(returncode, "tests/test_a.py::test_b ")
