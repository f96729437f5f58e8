"""Each mutant's address is right, and the command that runs the mutants reports which of them a test has killed."""

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

EQUIVALENT = Mutant("core/metrics.py", "write_metrics", "no rule", "Compare", 3, "_1 > -1")
KILLED = next(mutant for mutant in MUTANTS if mutant.rule == "csr asks for the success of all")
GONE = Mutant("core/metrics.py", "no_such_function", "a rule of yesterday", "Compare", 1, "True")


def test_there_are_enough():
    """Each line of the table is read as a mutant, no two have the same rule, and the tests of each file exist."""
    lines = [line for line in mutants.ADDRESSES.splitlines() if line.startswith(" " * 8)]
    assert len({(mutant.file, mutant.rule) for mutant in MUTANTS}) == len(MUTANTS) == len(lines) >= 216
    assert {mutant.file for mutant in MUTANTS} == mutants.TESTS.keys()
    for path, _, test in (name.partition("::") for names in mutants.TESTS.values() for name in names):
        assert f"def {test}" in (mutants.ROOT / "tests" / path).read_text()


@pytest.mark.parametrize("file", mutants.TESTS)
def test_every_address_is_right(file):
    """Every address leads to a node, and what replaces it is other code, which Python can read; no two are alike."""
    source = (mutants.ROOT / "multigrid" / file).read_text()
    mutated = {mutant.rule: mutant.apply(source) for mutant in MUTANTS if mutant.file == file}
    assert all(map(ast.parse, mutated.values()))
    codes = {ast.unparse(ast.parse(source)), *mutated.values()}
    assert len(codes) == len(mutated) + 1


def test_what_a_mutant_changes_is_shown(capsys):
    """With `--show`, the code before and after is printed, and nothing is run."""
    assert mutants.main(["--show"], [EQUIVALENT]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "1  core/metrics.py write_metrics  no rule",
        "- arrival >= 0",
        "+ arrival > -1",
    ]


SOURCE = """
CELLS: tuple[int, int] = (3, 4)

class A:
    def walk(self, x: int = 5) -> int:
        '''Return 7.'''
        a, b = x, 2
        if a < b and not self.over:
            a = b - 1
        return a

class B:
    def walk(self): ...
"""


@pytest.mark.parametrize(
    ("function", "kind", "number", "template", "line"),
    [
        ("CELLS", "Tuple", 1, "(5, _2)", "CELLS: tuple[int, int] = (5, 4)"),
        ("A.walk", "Constant", 1, "0", "a, b = (x, 0)"),
        ("A.walk", "Assign", 1, "_2 = _3", "b = x"),
        ("A.walk", "Assign", 2, "_1 += _2_1", "a += b"),
        ("A.walk", "Assign", 2, "pass", "pass"),
        ("A.walk", "If", 1, "_1", "if a < b:"),
        ("A.walk", "If", 1, "_1_1 <= _1_2 or _2_1", "if a <= b or self.over:"),
        ("A.walk", "Compare", 1, "not _", "if not a < b and (not self.over):"),
        ("A.walk", "Attribute", 1, "_1.left", "if a < b and (not self.left):"),
        ("A.walk", "Return", 1, "return _1 - 1", "return a - 1"),
    ],
)
def test_addresses(function, kind, number, template, line):
    """A node is counted among those of its class in its function, and replaced by what is written of its operands."""
    mutated = Mutant("a.py", function, "", kind, number, template).apply(SOURCE)
    before = ast.unparse(ast.parse(SOURCE)).splitlines()
    assert [new.strip() for old, new in zip(before, mutated.splitlines(), strict=True) if old != new] == [line]


@pytest.mark.parametrize(
    ("function", "kind", "number", "template", "message"),
    [
        ("run", "If", 1, "True", "a.py has 0 functions run; it has CELLS, A.walk, B.walk"),
        ("walk", "If", 1, "True", "a.py has 2 functions walk; it has CELLS, A.walk, B.walk"),
        ("A.walk", "If", 2, "True", "A.walk in a.py has 1 If, and none is 2"),
        ("A.walk", "If", 1, "_3", "_3 of a < b and (not self.over) is missing"),
    ],
)
def test_wrong_addresses(function, kind, number, template, message):
    """An address that leads nowhere says what is there instead."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Mutant("a.py", function, "", kind, number, template).apply(SOURCE)


@pytest.mark.long
def test_a_mutant_is_killed(capsys):
    """The command names the test that has failed, and succeeds."""
    number = next(k for k, mutant in enumerate(MUTANTS, 1) if mutant.rule == KILLED.rule)
    assert mutants.main(["--interpreted", "--only", str(number)]) == 0
    unchanged, killed, summary = capsys.readouterr().out.splitlines()
    assert unchanged.startswith("unchanged, interpreted: all tests pass")
    assert f"{number}  core/metrics.py  csr asks for the success of all: killed by core/test_metrics.py::" in killed
    assert summary.startswith("1 of 1 mutants killed")


def test_what_is_not_killed_is_a_failure(capsys):
    """A mutant that survives, or whose address is wrong, is named beside one that is killed, and the command fails."""
    assert mutants.main(["--interpreted"], [EQUIVALENT, GONE, KILLED]) == 1
    _, survived, gone, killed, summary, named = capsys.readouterr().out.splitlines()
    assert f"{KILLED.rule}: killed by core/test_metrics.py::" in killed
    assert "no rule: SURVIVED" in survived
    assert "a rule of yesterday: NOT JUDGED, core/metrics.py has 0 functions no_such_function; it has DELAYS, " in gone
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
    usual = mutants.TESTS[EQUIVALENT.file]
    assert calls == [usual]
    assert json.loads(verdicts.read_text())["killer"] == killer
    test.write_text("def test_b(): pass")
    assert judge()
    assert calls == [usual, ["core/test_metrics.py::test_b", *usual]]
    test.write_text("def test_c(): ...")
    assert judge()
    assert calls[2:] == [usual]


KEYS = """
import compile_once
from multigrid.core import invariants, rules
for kernel in (rules.reset_worlds, rules.step_worlds, invariants.find_breach):
    print(compile_once.make_key(kernel.compiled._cache, "signature").hex())
"""


@functools.cache
def keys_of(folder):
    """The keys of three kernels of the package in a folder."""
    return run_python("-c", KEYS, cwd=folder, env={**AROUND, "PYTHONPATH": str(mutants.ROOT / "tests")}).stdout.split()


EDITS = [
    ("core/rules.py", "# A single agent collides with none.", "# One.", [False, False, False]),
    ("core/placement.py", "e, w.components.shape[0])", "e, w.components.shape[1])", [True, True, False]),
    ("actions.py", "[[1, 0]", "[[2, 0]", [False, True, False]),
    ("core/invariants.py", "MOST_STEPS = 2**53", "MOST_STEPS = 2**52", [False, False, True]),
    ("runtime/pcg64.py", "HAS_HALF, HALF =", "HALF, HAS_HALF =", [True, True, True]),
    ("runtime/table_types.py", "invariant.load", "load", [True, True, True]),
]


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"), [*EDITS[:2], *(pytest.param(*one, marks=pytest.mark.long) for one in EDITS[2:])]
)
def test_a_kernel_is_compiled_anew_after_an_edit_of_what_it_reaches(tmp_path, file, old, new, changed):
    """Mutants share a kernel only if nothing that it is compiled from differs: callees, constants, intrinsics."""
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
