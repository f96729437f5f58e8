"""Compiled kernels and their cache: interpreted ones play the same, and edits are noticed."""

import ast
import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

import episode_digest
import multigrid
from helpers import run_python
from multigrid.core.draws import draw_integer
from multigrid.games.minigrid._grid import fill
from multigrid.runtime.compiled import KERNELS, compile_function, find_plain
from multigrid.runtime.sources import digest_sources, list_sources

PACKAGE = Path(multigrid.__file__).parent
PLAYED = Path(episode_digest.__file__)
cached = pytest.mark.skipif(
    KERNELS == "ahead of time" or importlib.util.find_spec("numba") is None,
    reason="only what Numba compiles is cached",
)

# Compiles a little of the game, which all of it would take ten times as long. Two functions: one announcement.
LOOK = """
import numpy as np
from multigrid import GridConfig
from multigrid.runtime.pcg64 import draw_integer
from multigrid.core.worlds import Worlds
Worlds(GridConfig(size=(80, 2)))
moves = Worlds(GridConfig(size=(80, 2))).arrays.moves
print(moves[0, 0, 0].tolist(), draw_integer.compiled(np.array([[1, 2, 3, 5, 0, 0]], dtype=np.uint64), 0, 1000))
"""
SEEN = "[0, 0, 2, 2] 762\n"
"""Two moves of four lead off the grid; NumPy draws 762, from the lower half of 64 bits, whose upper half gives 969."""
FOLDER = "from multigrid.runtime import compiled; print(compiled._open_cache().folder)"

COLD = "multigrid: compiling the rules of the game, once for this version ...\n"


def run(*arguments, home=PACKAGE.parent, **variables):
    """Run Python with the package of a folder, and return what it printed to its two streams."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    env = {**around, "PYTHONPATH": str(home), **{name: str(value) for name, value in variables.items()}}
    done = run_python(*map(str, arguments), cwd=home, env=env)  # python -c looks in cwd first
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def package(tmp_path):
    """A copy of the package that has never been compiled, in a folder of its own."""
    return shutil.copytree(PACKAGE, tmp_path / "home" / "multigrid", ignore=shutil.ignore_patterns("__pycache__"))


def edit(file, old, new):
    """Change one thing in a file."""
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def compiled_digest():
    """What a fresh process with compiled kernels plays."""
    printed, _ = run(PLAYED)
    assert re.fullmatch(r"[0-9a-f]{64}\n", printed)
    return printed


def test_what_is_compared_shows_every_rule():
    """The episodes that are compared have every outcome, and ends of every kind, so that a difference would show."""
    outcomes, endings = set(), set()
    for config in episode_digest.configs():
        for world in episode_digest.play(config, [1, 2]):
            arrays = world.arrays
            outcomes.update(arrays.outcomes.ravel().tolist())
            flags = (arrays.terminated.ravel().tolist(), arrays.truncated.ravel().tolist())
            endings.update((config.on_target, *ends) for ends in zip(*flags, strict=True))
    assert outcomes == set(multigrid.Outcome)
    for on_target in ("park", "leave", "stay", "restart"):
        assert (on_target, False, True) in endings
        assert ((on_target, True, False) in endings) == (on_target != "restart")


def test_interpreted_kernels_play_the_same(compiled_digest):
    """With NUMBA_DISABLE_JIT=1 and every warning an error, whole episodes under all rules are bit for bit the same."""
    assert run(*episode_digest.STRICT, PLAYED, NUMBA_DISABLE_JIT=1) == (compiled_digest, "")


def test_without_numba_the_same_game_and_one_warning(compiled_digest):
    """Where Numba cannot be imported the game is the same, and one warning says why it is slow and what to install."""
    code = f"import runpy, sys; sys.modules['numba'] = None; runpy.run_path({str(PLAYED)!r}, run_name='__main__')"
    printed, warned = run("-W", "always", "-c", code, MULTIGRID_JIT=1)
    assert printed == compiled_digest
    assert warned.count("Warning") == 1
    assert re.search(r"UserWarning: Numba is not installed: .* slower\. To compile: pip install \"numba\"", warned)


GAME = """
import numpy as np
from multigrid import Game, GridConfig
from multigrid.core.worlds import Worlds
class Toll(Game):
    def after_moves(w, s, e):
        w.rewards[e, 1] -= 0.5
for config in (GridConfig(size=(4, 3)), GridConfig(size=(4, 3), game=Toll)):
    world = Worlds(config)
    world.set_generator(0, np.random.default_rng(7))
    world.reset()
    world.step()
    print(world.arrays.location.tolist(), world.arrays.rewards.tolist())
"""


@cached
@pytest.mark.parametrize("code", [LOOK, pytest.param(GAME, marks=pytest.mark.long)], ids=["kernels", "game"])
def test_with_an_unknown_numba_its_own_dispatchers_compile_the_same(tmp_path, code):
    """Where a Numba lacks what dispatcher and cache need, a warning says so, and plain `njit` plays the same."""
    usual, _ = run("-c", code, NUMBA_CACHE_DIR=tmp_path / "usual")
    lack = "import sys; sys.modules['multigrid.runtime.dispatchers'] = None\n"  # as if it could not be imported
    printed, warned = run("-c", lack + code, NUMBA_CACHE_DIR=tmp_path / "plain")
    assert printed == usual
    assert re.match(r"\S+ UserWarning: multigrid compiles the rules of the game in every process, .* Numba \d", warned)
    assert warned.count("Warning") == 1
    assert not (tmp_path / "plain").exists()


@cached
@pytest.mark.long
def test_the_cache_notices_edits(package, tmp_path):
    """An edited callee and an edited constant show in the next process; what is unchanged stays compiled."""

    def look():
        return run("-c", LOOK, home=package.parent, NUMBA_CACHE_DIR=tmp_path / "cache")

    assert look() == (SEEN, COLD)
    assert look() == (SEEN, "")
    edit(package / "runtime" / "pcg64.py", "return bits & _MASK32", "return bits >> _32")
    edit(package / "actions.py", "[[1, 0], [0, 1], [-1, 0], ", "[[-1, 0], [0, -1], [1, 0], ")
    assert look() == ("[2, 2, 0, 2] 969\n", COLD)
    assert look() == ("[2, 2, 0, 2] 969\n", "")


def test_every_file_that_kernels_are_made_from_is_in_the_key():
    """The files with kernels, and all modules of ours that they import, are those whose digest names the cache."""
    made_from = set()
    both = (*PACKAGE.glob("core/*.py"), *PACKAGE.glob("runtime/*.py"))
    waiting = [path for path in both if "@kernel" in path.read_text()]
    assert len(waiting) >= 3
    while waiting:
        path = waiting.pop()
        made_from.add(path)
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        modules = {node.module for node in imports if node.module.startswith("multigrid")}
        files = {Path(importlib.util.find_spec(module).origin) for module in modules}
        waiting += files - made_from
    assert made_from <= set(list_sources())


@cached
def test_games_of_the_package_are_kept_by_their_own_files(tmp_path):
    """What is compiled of a game of the package is in a folder whose name depends on the files of these games, too."""
    code = """
from pathlib import Path
from multigrid import games
from multigrid.games import foraging, overcooked
from multigrid.runtime import compiled
from multigrid.runtime.sources import digest_sources, list_sources
files = sorted(Path(games.__file__).parent.rglob("*.py"))
cache = foraging._move.compiled._cache._cache
print(Path(overcooked.__file__) in files, cache is compiled._open_game_cache(), cache is compiled._open_cache())
print(cache.sources == digest_sources([*list_sources(), *files]), cache.sources == digest_sources(list_sources()))
"""
    printed, _ = run("-c", code, NUMBA_CACHE_DIR=tmp_path)
    assert printed == "True True False\nTrue False\n"


@cached
def test_an_import_leaves_no_folder(package, tmp_path):
    """Nothing is read or written before there is something to compile."""
    run("-c", "import multigrid.envs, multigrid.core.rules", home=package.parent, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@cached
def test_where_the_cache_is(package, tmp_path):
    """NUMBA_CACHE_DIR if it is set; else beside the sources; else, where that is not to be written, in ~/.cache."""

    def folder(**variables):
        printed, _ = run("-B", "-c", FOLDER, home=package.parent, XDG_CACHE_HOME=tmp_path / "xdg", **variables)
        return Path(printed.strip())

    beside = package / "runtime" / "__pycache__"
    assert folder(NUMBA_CACHE_DIR=tmp_path / "chosen").parent == tmp_path / "chosen"
    assert folder().parent == beside
    shutil.rmtree(beside)
    beside.touch()  # a file where a folder should be made
    assert folder().parent == tmp_path / "xdg" / "multigrid"
    # A user whom the system does not know has no home folder.
    nobody = "import pathlib; pathlib.Path.home = lambda: (_ for _ in ()).throw(RuntimeError()); "
    assert run("-B", "-c", nobody + FOLDER, home=package.parent, XDG_CACHE_HOME="")[0] == "None\n"


def test_text_that_moves_to_another_file_is_a_change(tmp_path):
    """The digest of the sources is of each file: it changes if the end of one becomes the beginning of the next."""
    one, other = tmp_path / "a.py", tmp_path / "b.py"
    digests = set()
    for first, second in (("x = 1\ny = 2\n", "z = 3\n"), ("x = 1\n", "y = 2\nz = 3\n")):
        one.write_text(first)
        other.write_text(second)
        digests.add(digest_sources([one, other]))
    assert len(digests) == 2


@cached
def test_an_edit_of_a_game_compiles_its_helpers_again():
    """Functions of the package's games are kept in a cache whose key has the files of games; those of the rules not."""
    games = [*list_sources(), *sorted((PACKAGE / "games").rglob("*.py"))]
    for function, sources in ((find_plain(fill), games), (find_plain(draw_integer), list_sources())):
        cache = compile_function(function, forceinline=False)._cache._cache
        assert cache.sources == digest_sources(sources)
