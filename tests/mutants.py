"""Break the rules of the game one at a time, and see that a test fails.

Usage: python tests/mutants.py [--only NUMBER ...] [--interpreted] [--jobs N] [--resume FILE]

`mutants.txt` lists the mutants. ``file`` names a file of the package, and each ``test`` after it names tests that are
run on its mutants, the quickest first. ``rule`` says which rule a mutant takes away; the lines after it are those of a
diff: the old text, which is in the file once, and the new text.

Each mutant is made in a private copy of the tree, and the tests are run until one fails; one that hangs or dies counts
as failed. The kernels that a mutant changes are compiled for it, see `compile_once`; where a file has no kernels, its
mutants are run interpreted, which is quicker. The command fails when a mutant survives, when its old text is not in the
file once, or when the tests fail on the unchanged copy.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Mutant(NamedTuple):
    """A text of a file, the text in its place, the rule that this takes away, and the tests that must see it."""

    file: str
    rule: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, source):
        """Return the mutated source; raise a ValueError if the old text is not in it once."""
        count = f"\n{source}".count(f"\n{self.old}")
        if count != 1:
            raise ValueError(f"{self.file} has the old text {count} times; expected once")
        return f"\n{source}".replace(f"\n{self.old}", f"\n{self.new}")[1:]


def read_mutants(text: str) -> Iterator[Mutant]:
    """Yield the mutants of a list."""
    for section in re.split(r"^file ", text, flags=re.MULTILINE)[1:]:
        head, *hunks = section.split("\nrule ")
        file, *tests = head.split("\n")
        tests = tuple(line.removeprefix("test ") for line in filter(None, tests))
        for hunk in hunks:
            rule, *lines = filter(None, hunk.split("\n"))
            old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] in kinds) for kinds in (" -", " +"))
            yield Mutant(file, rule, old, new, tests)


MUTANTS = list(read_mutants(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")))

LIMIT = 120
# Seconds of processor time for each test, so that a busy machine fails none; five times that by the clock, for a test
# that only waits. Both timers also end a process that hangs in a compiled kernel.
WATCH = f"""
import faulthandler
import signal

def pytest_runtest_logstart():
    signal.setitimer(signal.ITIMER_PROF, {LIMIT})
    faulthandler.dump_traceback_later(5 * {LIMIT}, exit=True)

pytest_runtest_logstart()  # for the imports
"""
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGPROF}
PASSED, FAILED, INTERRUPTED = range(3)  # exit codes of pytest; 2 also if a test file cannot be imported

running = set()


def run(tree, mutant, tests, interpreted):
    """Run tests on a private copy of the tree until one fails; return its name, or None if all pass.

    Compiled kernels are kept beside the tree, for the next mutants.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        home, cache, output = Path(folder) / "home", tree.parent / "cache", Path(folder) / "output"
        shutil.copytree(tree, home)
        (home / "watch.py").write_text(WATCH)
        if mutant is not None:
            path = home / "multigrid" / mutant.file
            path.write_text(mutant.apply(path.read_text()))
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        numba = {"NUMBA_DISABLE_JIT": "1"} if interpreted else {"NUMBA_CACHE_DIR": str(cache)}
        # Without the other plugins of the environment pytest starts in half the time.
        plugins = ["-p", "no:cacheprovider", "-p", "watch", "-p", "hypothesispytest"]
        plugins += [] if interpreted else ["-p", "compile_once"]
        paths = os.pathsep.join(map(str, (home, home / "tests")))
        flags = ["-x", "-v", "--tb=no", "--hypothesis-seed=0", *plugins]
        with output.open("wb") as printed:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *flags, *(f"tests/{test}" for test in tests)],
                cwd=home,
                env={**surroundings, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **numba},
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            running.add(process)
            try:
                process.wait()
            finally:
                end(process)
                running.discard(process)
        return failure(process.returncode, output.read_text(errors="replace"))


def end(process):
    """End a run with all that it has started, also what a hanging test has left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def failure(returncode, output):
    """Return the test that failed, hung or died, or None; raise a RuntimeError if the mutant is not to blame."""
    if returncode == PASSED:
        return None
    if returncode not in (FAILED, INTERRUPTED) and -returncode not in CRASHES:
        raise RuntimeError(f"pytest returned {returncode}")
    begun = re.findall(r"^tests/(\S+?\.py::[^\s\[]+)", output, re.MULTILINE)
    return begun[-1] if begun else "the import"


def has_kernels(file):
    """Return whether mutants of this file change compiled code, or what only compiled kernels have, such as threads.

    Games take minutes to compile, and their own tests compare compiled ones with interpreted ones.
    """
    return file in {"core/calls.py", "core/worlds.py"} or bool(
        file not in {"core/wrappers.py", "core/writers.py", "core/draws.py"}
        and not file.startswith("games/")
        and re.search("^@(kernel|function|inlined|draw)$", (ROOT / "multigrid" / file).read_text(), re.MULTILINE)
    )


def is_green(tree, mutants, interpreted):
    """Run the tests that these mutants must fail, without a mutant, and print how that went."""
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    begun, broken = time.monotonic(), run(tree, None, tests, interpreted)
    verdict = "all tests pass" if broken is None else f"FAILS in {broken}"
    say(f"unchanged, {'interpreted' if interpreted else 'compiled'}: {verdict}  ({time.monotonic() - begun:.0f} s)")
    return broken is None


class Journal:
    """The verdicts so far, kept in a file unless its path is None, so that a run that was cut off goes on.

    Verdicts on another tree only say which test to run first.
    """

    def __init__(self, path, tree):
        self.path = path
        digest = hashlib.sha256()
        for file in sorted(tree.rglob("*")):
            if file.is_file() and file.stem not in ("mutants", "test_mutants"):
                digest.update(f"{file.relative_to(tree)}".encode() + file.read_bytes())
        self.digest = digest.hexdigest()
        entries = [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []
        self.killers = {entry["mutant"][1]: entry["killer"] for entry in entries if entry["killer"]}
        same = [entry for entry in entries if entry["tree"] == self.digest]
        self.known = {(*entry["mutant"], entry["interpreted"]): entry["killer"] for entry in same}

    def add(self, mutant, interpreted, killer):
        """Write a verdict down."""
        entry = {"tree": self.digest, "interpreted": interpreted, "mutant": mutant[:4], "killer": killer}
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def tests(self, mutant, tree):
        """Return the tests for a mutant, that which killed it before first."""
        path, _, test = self.killers.get(mutant.rule, "").partition("::")
        is_there = test and (tree / "tests" / path).exists() and f"def {test}(" in (tree / "tests" / path).read_text()
        return [*([f"{path}::{test}"] if is_there else []), *mutant.tests]


def is_killed(tree, number, mutant, interpreted, journal):
    """Run one mutant unless its verdict is known, print its line, and return whether a test has failed."""
    begun = time.monotonic()
    interpreted = interpreted or not has_kernels(mutant.file)
    key = (*mutant[:4], interpreted)
    try:
        if key in journal.known:
            killer = journal.known[key]
        else:
            killer = run(tree, mutant, journal.tests(mutant, tree), interpreted)
            journal.add(mutant, interpreted, killer)
        verdict = f"killed by {killer}" if killer else "SURVIVED"
    except (ValueError, RuntimeError) as error:
        killer, verdict = None, f"NOT JUDGED, {error}"
    say(f"{number:4d}  {mutant.file}  {mutant.rule}: {verdict}  ({time.monotonic() - begun:.0f} s)")
    return killer is not None


def main(arguments=None, mutants=MUTANTS):
    """Judge the mutants asked for; return 1 if one is not killed or cannot be judged, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these mutants, counted from 1")
    parser.add_argument("--interpreted", action="store_true", help="do not compile: quicker, and nearly as good")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keep the verdicts here, and go on from them")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants at a time")
    chosen = parser.parse_args(arguments)
    numbers = chosen.only or range(1, len(mutants) + 1)
    if not set(numbers) <= set(range(1, len(mutants) + 1)):
        parser.error(f"there are mutants 1 to {len(mutants)}")
    some = [mutants[number - 1] for number in numbers]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        # One state of the tree for all, whatever is edited meanwhile.
        tree = Path(folder) / "tree"
        for name in ("docs", "examples", "multigrid", "tests"):
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / name, tree)
        try:
            by_mode = {True: [], False: []}
            for mutant in some:
                by_mode[chosen.interpreted or not has_kernels(mutant.file)].append(mutant)
            if not all(is_green(tree, those, interpreted) for interpreted, those in by_mode.items() if those):
                return 1
            journal = Journal(chosen.resume, tree)

            def judge(number):
                return is_killed(tree, number, mutants[number - 1], chosen.interpreted, journal)

            killed = list(pool.map(judge, numbers))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                end(process)
            raise
    say(f"{sum(killed)} of {len(killed)} mutants killed  ({time.monotonic() - begun:.0f} s)")
    alive = [number for number, dead in zip(numbers, killed, strict=True) if not dead]
    if alive:
        say(f"not killed: {' '.join(map(str, alive))}")
    return int(bool(alive))


def say(line):
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - what the script is for


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # as Ctrl-C does: what has been started is ended too
    sys.exit(main())
