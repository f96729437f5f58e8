"""Each mutant can be made, and the command that runs the mutants reports which of them a test has killed."""

import ast
import functools
import json
import re
import shutil

import pytest

import mutants
from helpers import AROUND, run_python
from mutants import MUTANTS, Mutant

pytestmark = pytest.mark.heavy

KILLED = next(mutant for mutant in MUTANTS if mutant.rule == "csr asks for the success of all")
ARRIVED = "            success = int(w.arrivals[e, i] > 0 if restarts else arrival >= 0)\n"
EQUIVALENT = Mutant("core/metrics.py", "no rule", ARRIVED, ARRIVED.replace(">= 0", "> -1"), KILLED.tests)
GONE = EQUIVALENT._replace(rule="a rule of yesterday", old="yesterday\n")


def test_there_are_enough():
    """Each rule of the list is read as a mutant, no file has one twice, and the tests that are named exist."""
    lines = re.findall(r"^rule ", (mutants.ROOT / "tests" / "mutants.txt").read_text(), re.MULTILINE)
    assert len({(mutant.file, mutant.rule) for mutant in MUTANTS}) == len(MUTANTS) == len(lines) >= 556
    for path, _, test in {name.partition("::") for mutant in MUTANTS for name in mutant.tests}:
        assert f"def {test.partition('[')[0]}" in (mutants.ROOT / "tests" / path).read_text()


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_every_old_text_is_there(file):
    """Every old text is in its file once, and the mutated files are valid Python, all different."""
    source = (mutants.ROOT / "multigrid" / file).read_text()
    mutated = [mutant.apply(source) for mutant in MUTANTS if mutant.file == file]
    codes = {ast.unparse(ast.parse(code)) for code in [source, *mutated]}
    assert len(codes) == len(mutated) + 1


@pytest.mark.parametrize(("old", "count"), [("c\n", 0), ("    a = 1\n", 2), ("= 1\n", 0)])
def test_wrong_old_texts(old, count):
    """An old text is whole lines, and one that is missing or there twice is a mistake."""
    with pytest.raises(ValueError, match=f"^a.py has the old text {count} times; expected once$"):
        Mutant("a.py", "", old, "", ()).apply("if b:\n    a = 1\nelse:\n    a = 1\n")


@pytest.mark.long
def test_a_mutant_is_killed(capsys):
    """The command names the test that has failed, and succeeds."""
    number = MUTANTS.index(KILLED) + 1
    assert mutants.main(["--interpreted", "--only", str(number)]) == 0
    unchanged, killed, summary = capsys.readouterr().out.splitlines()
    assert unchanged.startswith("unchanged, interpreted: all tests pass")
    assert f"{number}  core/metrics.py  {KILLED.rule}: killed by core/test_metrics.py::" in killed
    assert summary.startswith("1 of 1 mutants killed")


@pytest.mark.long
def test_what_is_not_killed_is_a_failure(capsys):
    """A mutant that survives, or that cannot be made, is named beside one that is killed, and the command fails."""
    assert mutants.main(["--interpreted"], [EQUIVALENT, GONE, KILLED]) == 1
    _, survived, gone, killed, summary, named = capsys.readouterr().out.splitlines()
    assert f"{KILLED.rule}: killed by core/test_metrics.py::" in killed
    assert "no rule: SURVIVED" in survived
    assert "a rule of yesterday: NOT JUDGED, core/metrics.py has the old text 0 times" in gone
    assert summary.startswith("1 of 3 mutants killed")
    assert named == "not killed: 1 2"


def test_a_run_goes_on(tmp_path, monkeypatch):
    """With a file, what has been judged is not judged again; once a test has changed, the last killer comes first."""
    tree, verdicts = tmp_path / "tree", tmp_path / "verdicts"
    test = tree / "tests" / "core" / "test_metrics.py"
    test.parent.mkdir(parents=True)
    test.write_text("def test_b(): ...")
    calls = []
    monkeypatch.setattr(mutants, "run", lambda tree, mutant, tests, interpreted: calls.append(tests) or killer)

    def judge():
        return mutants.is_killed(tree, 1, EQUIVALENT, True, mutants.Journal(verdicts, tree))

    killer = "core/test_metrics.py::test_b"
    assert judge()
    assert judge()
    usual = [*EQUIVALENT.tests]
    assert calls == [usual]
    assert json.loads(verdicts.read_text())["killer"] == killer
    test.write_text("def test_b(): pass")
    assert judge()
    assert calls == [usual, ["core/test_metrics.py::test_b", *usual]]
    test.write_text("def test_c(): ...")
    assert judge()
    assert calls[2:] == [usual]


KEYS = """
import compile_once, multigrid
from multigrid.core import invariants, observe, rules
from multigrid.runtime.tables import RULES
multigrid.parallel_env(observe="rgb")
kernels = [(kernel, "") for kernel in (rules.reset_worlds, rules.step_worlds, invariants.find_breach)]
for kernel, name in [*kernels, (observe.observe_worlds, [*RULES][-1])]:
    print(compile_once.make_key(kernel.compiled._cache, f"arrays@{name}").hex())
"""


@functools.cache
def keys_of(folder):
    """The keys of three kernels of the package in a folder, and of one for worlds with images."""
    return run_python("-c", KEYS, cwd=folder, env={**AROUND, "PYTHONPATH": str(mutants.ROOT / "tests")}).stdout.split()


EDITS = [
    ("core/rules.py", "# A single agent collides with none.", "# One.", [False, False, False, False]),
    ("core/placement.py", "e, w.components.shape[0])", "e, w.components.shape[1])", [True, True, False, False]),
    ("core/images.py", "255 - opacity", "256 - opacity", [False, False, False, True]),
    ("actions.py", "[[1, 0]", "[[2, 0]", [False, True, False, False]),
    ("core/invariants.py", "MOST_STEPS = 2**53", "MOST_STEPS = 2**52", [False, False, True, False]),
    ("runtime/pcg64.py", "HAS_HALF, HALF =", "HALF, HAS_HALF =", [True, True, True, False]),
    ("runtime/table_types.py", "invariant.load", "load", [True, True, True, True]),
]


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"), [*EDITS[:3], *(pytest.param(*one, marks=pytest.mark.long) for one in EDITS[3:])]
)
def test_a_kernel_is_compiled_anew_after_an_edit_of_what_it_reaches(tmp_path, file, old, new, changed):
    """Mutants share a kernel only if all that it is compiled from is equal: callees, hooks, constants, intrinsics."""
    shutil.copytree(mutants.ROOT / "multigrid", tmp_path / "multigrid")
    path = tmp_path / "multigrid" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert [one != other for one, other in zip(keys_of(mutants.ROOT), keys_of(tmp_path), strict=True)] == changed


def test_numbers_that_no_mutant_has_are_refused(capsys):
    """A number that is too small or too large is a mistake in the command."""
    for number in (0, len(MUTANTS) + 1):
        with pytest.raises(SystemExit, match="2"):
            mutants.main(["--only", str(number)])
        assert f"there are mutants 1 to {len(MUTANTS)}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("returncode", "output", "killer"),
    [
        (0, "tests/test_a.py::test_b PASSED", None),
        (1, "tests/test_a.py::test_b PASSED\ntests/test_a.py::test_c[x y] FAILED [ 4%]\n\n...", "test_a.py::test_c"),
        (1, "tests/test_a.py::test_b PASSED\ntests/test_a.py::test_c Timeout (", "test_a.py::test_c"),
        (-11, "tests/test_a.py::test_b Fatal Python error", "test_a.py::test_b"),
        (-27, "tests/test_a.py::test_b ", "test_a.py::test_b"),  # out of processor time
        (2, "ERROR collecting tests/test_a.py", "the import"),
    ],
)
def test_verdicts(returncode, output, killer):
    """A test has noticed that fails, hangs, dies, or cannot even be imported."""
    assert mutants.failure(returncode, output) == killer


@pytest.mark.parametrize("returncode", [-15, 4, 5])
def test_what_says_nothing_about_the_mutant(returncode):
    """A run that was ended from outside, or that found nothing to run, is no verdict."""
    with pytest.raises(RuntimeError, match=f"pytest returned {returncode}"):
        mutants.failure(returncode, "tests/test_a.py::test_b ")
