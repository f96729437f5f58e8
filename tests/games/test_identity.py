"""What tells versions of a game apart: after an edit, kernels are compiled anew, and files are refused."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import multigrid
from helpers import AROUND, run_python
from multigrid.core.games import identify
from multigrid.game import describe
from multigrid.games._stored import digest_game
from multigrid.runtime.compiled import COMPILED
from multigrid.runtime.digests import LOCAL

GAME = """
import numpy as np
from typing import Annotated, NamedTuple
from numpy.typing import NDArray
import multigrid
import beside
{above}

class Mine(multigrid.Game):
    options = {{"toll": 0.5}}

    class State(NamedTuple):
        door: Annotated[NDArray[np.int64], "E 2"]

    def after_moves(w, s, e):
        w.rewards[e, 0] = {price} - s.toll

class Child(Mine):
    pass
"""
BESIDE = """
import enum
import os
import types
import numpy as np
from typing import NamedTuple

N = int(os.environ["MULTIGRID_N"])
inner = types.ModuleType("inner")
inner.deep, inner.outer = N, inner
ARRAY, PAIR = np.array([N, 1]), (N, 1)

class Kind(enum.IntEnum):
    KEY = N

class Point(NamedTuple):
    x: int
    y: int

POINT = Point(1, N)
make = type("One", (tuple,), {"__new__": lambda cls: tuple.__new__(cls, (1, 2)), "_fields": ("x", "y")[:: 5 - 2 * N]})

def pay(x):
    return x + N

def close(n):
    return lambda x: x + n

def default(x, price=N):
    return x + price

def keyword(x, *, price=N):
    return x + price
"""
COMPILED_BESIDE = (
    BESIDE
    + """
import numba
from numba.extending import intrinsic, overload, overload_method

jitted = numba.njit(pay)
mode = numba.njit(fastmath=N == 3)(lambda x: x)

@numba.vectorize
def raised(x):
    return x + N

@numba.guvectorize("(n)->(n)")
def shifted(x, y):
    y[0] = x[0] + N

@intrinsic
def known(_typing, x):
    return x(x), lambda context, builder, signature, arguments: builder.add(arguments[0], N)

def stub(x):
    return x

@overload(stub)
def _overload_stub(x):
    return lambda x: x + N

@numba.njit
def calls(x):
    return stub(x)

@overload_method(numba.types.Integer, "blow_up")
def _blow_up(x):
    return lambda x: x + N
"""
)


def load_module(folder: Path, name: str, text: str) -> ModuleType:
    """Return a module of a new file, imported under a name."""
    (folder / f"{name}.py").write_text(text)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(folder, monkeypatch, *, price="beside.N", above="", beside=BESIDE, number=1, name="own_game"):
    """Return a module with the game `Mine`, which reads something of another file that it imports."""
    monkeypatch.setenv("MULTIGRID_N", str(number))
    monkeypatch.setitem(sys.modules, "beside", load_module(folder, "beside", beside))
    return load_module(folder, name, GAME.format(price=price, above=above))


def find_key(game):
    """Return the key with which compiled code of a game is kept."""
    return identify(describe(game))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{price}", "{price} + 1"),
        ("- s.toll", "+ s.toll"),
        ('{{"toll": 0.5}}', '{{"toll": 1}}'),
        ('"E 2"', '"E 3"'),
        ("    options", "    targets = False\n    options"),
        ("class Child", "# A comment.\nclass Child"),
    ],
)
def test_what_an_edit_changes(tmp_path, monkeypatch, old, new):
    """A game is another one after any edit of its file, and the same one by another name, or in a subclass."""
    module = load(tmp_path, monkeypatch)
    other = load(tmp_path, monkeypatch, name="__mp_main__")
    assert find_key(module.Mine) == find_key(other.Mine) == find_key(other.Child)
    assert old in GAME
    monkeypatch.setattr(sys.modules[__name__], "GAME", GAME.replace(old, new))
    assert find_key(load(tmp_path, monkeypatch).Mine) != find_key(module.Mine)


REACHED = [
    ("beside.N", ""),
    ("own.N", "own = beside"),
    ("beside.inner.deep", ""),
    ("(lambda m: m.N)(beside)", ""),
    ('getattr(beside, "N")', ""),
    ("getattr(beside, NAME)", 'NAME = "N"'),
    ("PRICE", "PRICE = beside.N"),
    ("PRICES[0]", "PRICES = beside.ARRAY"),
    ("PRICES[0]", "PRICES = beside.PAIR"),
    ("Kind.KEY", "from beside import Kind"),
    ("Alias.KEY", "Alias = beside.Kind"),
    ("POINT.y", "from beside import POINT"),
    ("ONE.x", "ONE = beside.make()"),
    ("pay(1)", "from beside import pay"),
    ("beside.pay(1)", ""),
    ("TOOLS[0](1)", "TOOLS = (beside.pay, beside.pay)"),
    ("closed(1)", "closed = beside.close(beside.N)"),
    ("default(1)", "from beside import default"),
    ("keyword(1)", "from beside import keyword"),
]
"""How a game reads a number of another file, and what is above it."""
REACHED_COMPILED = [
    ("jitted(1)", "from beside import jitted"),
    ("mode(1)", "from beside import mode"),
    ("raised(1)", "from beside import raised"),
    ("shifted(w.rewards[e], w.rewards[e])", "from beside import shifted"),
    ("known(1)", "from beside import known"),
    ("calls(1)", "from beside import calls"),
    ("w.steps[e].blow_up()", ""),
]
"""As `REACHED`, for what Numba has compiled, or is to compile."""
needs_numba = pytest.mark.skipif(not COMPILED, reason="Numba compiles nothing here")
WAYS = [(*way, BESIDE) for way in REACHED] + [
    pytest.param(*way, COMPILED_BESIDE, marks=needs_numba) for way in REACHED_COMPILED
]


@pytest.mark.parametrize(("price", "above", "beside"), WAYS)
def test_a_value_that_no_edit_shows_is_part_of_the_game(tmp_path, monkeypatch, price, above, beside):
    """A game is another one with another value that it reaches, read from the environment when its file was imported.

    That of `numba.njit` is no part of files, which are the same where Numba compiles nothing.
    """
    keys, versions = [], []
    for number in (1, 1, 3):
        game = load(tmp_path, monkeypatch, price=price, above=above, beside=beside, number=number).Mine
        keys.append(find_key(game))
        versions.append(digest_game(game))
    if "blow_up" not in price:  # which Numba has twice then
        assert keys[0] == keys[1]
        assert versions[0] == versions[1]
    assert keys[2] not in keys[:2]
    assert (versions[0] != versions[2]) == (price != "mode(1)")
    assert LOCAL not in "".join(keys)


@pytest.mark.parametrize(("price", "above", "beside"), [*WAYS[-8:], *WAYS[13:17]])
def test_an_edit_of_a_function_is_seen(tmp_path, monkeypatch, price, above, beside):
    """A game is another one after an edit of a function that it reaches, of which it imports the name alone."""
    before = load(tmp_path, monkeypatch, price=price, above=above, beside=beside).Mine
    key, version = find_key(before), digest_game(before)
    edited = beside.replace("x + N", "x + 4").replace("[0], N", "[0], 4").replace("x + n", "x + 4 * n")
    after = load(tmp_path, monkeypatch, price=price, above=above, beside=edited.replace("x + price", "x * price")).Mine
    assert key != find_key(after)
    assert version != digest_game(after)


@pytest.mark.parametrize(("price", "above", "beside"), WAYS[13:])
def test_what_no_file_has_counts_by_its_code(tmp_path, monkeypatch, price, above, beside):
    """In a notebook, functions count by code and values; what Numba has made with unknown options is not kept."""
    keys = []
    for factor in ("", "", "2 * "):
        module = load(tmp_path, monkeypatch, price=price, above=above, beside=beside)
        code = beside.replace("x + N", f"{factor}x + N").replace("[0], N", f"[0], {factor}N")
        code = code.replace("x + n", f"{factor}x + n").replace("x + price", f"{factor}x + price")
        exec(code.replace("lambda x: x)", f"lambda x: {factor}x)"), vars(sys.modules["beside"]))  # noqa: S102
        exec(above, vars(module))  # noqa: S102
        keys.append(find_key(module.Mine))
    assert keys[2] not in keys[:2]
    is_local = any(word in price for word in ("raised", "shifted", "known"))
    assert {LOCAL in key for key in keys} == {is_local}
    assert is_local or keys[0] == keys[1] or "blow_up" in price  # which Numba has twice then


def test_a_file_that_was_edited_after_the_import_is_not_read(tmp_path, monkeypatch):
    """The key is that of the functions that are played, also if their file has others by now."""
    old = load(tmp_path, monkeypatch).Mine
    new = load(tmp_path, monkeypatch, price="2").Mine
    keys = [find_key(old), find_key(new), find_key(load(tmp_path, monkeypatch).Mine)]
    assert len(set(keys)) == 3


def test_what_is_not_known_is_of_this_process_alone(tmp_path, monkeypatch):
    """An object whose content is not known makes the key one that no file of compiled code has, the same each time."""
    module = load(tmp_path, monkeypatch, price="THING", above="THING = object()")
    key = find_key(module.Mine)
    assert key.endswith(LOCAL)
    assert find_key(module.Mine) == key
    module.THING = object()
    assert find_key(module.Mine) != key


def test_names_of_a_notebook_that_a_game_does_not_read_are_no_part_of_it(tmp_path, monkeypatch):
    """A global that has the name of an attribute, such as ``rewards`` of ``w.rewards``, changes nothing."""
    module = load(tmp_path, monkeypatch)
    key = find_key(module.Mine)
    module.rewards = np.ones(3)
    assert find_key(module.Mine) == key


def play(game, **options):
    """Return what the first step of a new environment pays."""
    env = multigrid.parallel_env(game=game, num_agents=1, size=(4, 3), **options)
    env.reset(seed=0)
    return env.step({"agent_0": 0})[1]["agent_0"]


def change_value(module):
    module.PRICES[0] = 2.0


def change_helper(module):
    exec("def pay(w, e):\n    return 2 * PRICES[0]\n", vars(module))  # noqa: S102 - as a notebook


def change_option(module):
    module.Mine.options["toll"] = 1.0


def change_function(module):
    def after_moves(w, s, e):
        w.rewards[e, 0] = 7.0

    module.Mine.after_moves = after_moves


def change_action(module):
    module.Mine.actions = ("pay",)


CHANGES = {change_value: 1.5, change_helper: 3.5, change_option: 3.0, change_function: 7.0, change_action: 7.0}
"""What is redefined, in turn, and what a step pays then."""


@pytest.mark.parametrize("num_changes", [1, pytest.param(len(CHANGES), id="interpreted")])
def test_a_new_env_looks_again(tmp_path, monkeypatch, num_changes):
    """What is redefined between two environments counts in the second: a value, a helper, an option, a function."""
    if num_changes > 1:
        monkeypatch.setenv("MULTIGRID_CHECK", "1")
    above = "PRICES = np.array([1.0])\ndef pay(w, e):\n    return PRICES[0]\n"
    module = load(tmp_path, monkeypatch, price="pay(w, e)", above=above)
    for change, paid in [(lambda _: None, 0.5), *CHANGES.items()][: 1 + num_changes]:
        key = find_key(module.Mine)
        change(module)
        env = multigrid.parallel_env(game=module.Mine, num_agents=1, size=(4, 3))
        env.reset(seed=0)
        assert env.step({"agent_0": 0})[1]["agent_0"] == paid
        assert (find_key(module.Mine) == key) == (change is change_option or paid == 0.5)
    assert env.action_space("agent_0").n == (6 if num_changes > 1 else 4)


SCRIPT = """
import sys

import multigrid
from helper import raised


class Toll(multigrid.Game):
    def after_moves(w, s, e):
        for i in range(w.rewards.shape[1]):
            w.rewards[e, i] = raised(1.0)


def main(game):
    env = multigrid.parallel_env(game=game, num_agents=2, size=(4, 3))
    env.reset(seed=0)
    print(*env.step({"agent_0": 0, "agent_1": 0})[1].values())


if __name__ == "__main__":
    main(Toll)
"""
HELPER = """
import numba


@numba.vectorize
def raised(x):
    return x + 3
"""


@pytest.mark.heavy
@needs_numba
def test_a_game_is_compiled_once_and_again_after_an_edit(tmp_path):
    """The command line and an import find what a script has compiled, not after an edit of a file that it imports."""
    (tmp_path / "toll.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text(HELPER)
    loaded = "import sys\nfrom multigrid.games._files import find_game\ngame, _ = find_game('toll.py:Toll')\n"
    loaded += "sys.modules[game.__module__].main(game)"
    around = {**AROUND, "PYTHONPATH": f"{AROUND['PYTHONPATH']}{os.pathsep}{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(*arguments):
        ended = run_python(*arguments, cwd=tmp_path, env=around)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.split(), "compiling the game Toll" in ended.stderr

    assert run("toll.py") == (["4.0", "4.0"], True)
    assert run("-c", loaded) == (["4.0", "4.0"], False)
    assert run("-c", "import toll\ntoll.main(toll.Toll)") == (["4.0", "4.0"], False)
    (tmp_path / "helper.py").write_text(HELPER.replace("3", "4"))
    assert run("-c", loaded) == (["5.0", "5.0"], True)
