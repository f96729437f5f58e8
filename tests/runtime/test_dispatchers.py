"""Kernels of games without machine code: whoever calls one, in whatever order, gets what Python gets."""

import gc
import pickle
import re
import sys
import weakref
from pathlib import Path

import pytest

from multigrid.runtime.compiled import JUST_IN_TIME

if not JUST_IN_TIME:
    pytest.skip("Numba compiles nothing here", allow_module_level=True)

import numba
import numpy as np
from numba.core.compiler import Flags

from multigrid.runtime import compiled, dispatchers
from multigrid.runtime.compiled import Bound
from multigrid.runtime.kernel_cache import KernelCache

pytestmark = pytest.mark.heavy


RULES = "a game-1"
TABLE = np.zeros((1, 1), np.int64)
"""What is passed as an address table."""


def polynomial(number):
    """Something to compile, which raises an error with a message of its own."""
    if number == 0:
        raise ValueError("zero")
    if number < 0:
        print("below", number)  # noqa: T201 - kernels that print read their environment
    return 3 * number * number + number - 5


inner = None
"""A kernel, which the test puts here."""


def outer(address_table, number):
    """Something to compile that calls another kernel."""
    return inner(number) + inner(number + 1)


def outermost(address_table, number):
    """Something to compile that calls a kernel that calls another one."""
    return outer_kernel(address_table, number) * inner(number)


outer_kernel = None
"""A kernel, which the test puts here."""


def with_constant(address_table, number):
    """Something to compile that calls a kernel with a number and with a constant."""
    return inner(number) + inner(3)


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """A function that makes three kernels as a process has them that starts now; the last two are those of a game."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def begin():
        cache = KernelCache([Path(__file__)], Path("never"))
        monkeypatch.setattr(compiled, "_open_cache", lambda: cache)
        module = sys.modules[__name__]
        monkeypatch.setattr(module, "inner", compiled.kernel(polynomial))
        monkeypatch.setattr(module, "outer_kernel", compiled.kernel(outer))
        return inner.compiled, Bound(outer_kernel, RULES), Bound(compiled.kernel(outermost), RULES)

    return begin


def find_dispatcher(kernel):
    """Return what compiles a kernel."""
    return kernel if isinstance(kernel, dispatchers.KernelDispatcher) else kernel._kernel.compiled


def has_machine_code(kernel):
    """Return whether Python can call what the kernel was compiled to, for its one signature."""
    (found,) = find_dispatcher(kernel).overloads.values()
    return callable(found.entry_point)


def test_only_what_python_calls_has_machine_code(begin):
    """A kernel that a kernel calls gets machine code when Python calls it, and the one before still works."""
    small, middle, large = begin()
    expected = (polynomial(7) + polynomial(8)) * polynomial(7)
    assert large(TABLE, 7) == expected
    assert [has_machine_code(kernel) for kernel in (small, middle, large)] == [False, False, True]
    assert middle(TABLE, 7) == polynomial(7) + polynomial(8)
    assert small(7) == polynomial(7)
    assert [has_machine_code(kernel) for kernel in (small, middle, large)] == [True, True, True]
    assert large(TABLE, 7) == expected


def test_functions_of_two_games_have_two_names_in_machine_code(begin):
    """Processes number what they compile, and a later one loads the files of both, so a name has the set of rules."""
    _, middle, _ = begin()
    other = Bound(outer_kernel, "another game-1")
    assert middle(TABLE, 7) == other(TABLE, 7)
    compiled_names = [one.fndesc.mangled_name for one in find_dispatcher(middle).overloads.values()]
    assert len({re.sub(r"B\d+v\d+", "", name) for name in compiled_names}) == 2


def test_a_constant_is_compiled_as_other_numbers_are(begin):
    """A kernel that others call with numbers and with constants is compiled once."""
    small, _, _ = begin()
    assert Bound(compiled.kernel(with_constant), RULES)(TABLE, 7) == polynomial(7) + polynomial(3)
    assert len(small.overloads) == 1


def test_flags_are_equal_where_those_of_numba_are():
    """The flags of a kernel's compilation equal Numba's with the same values, and then have the same hash."""
    plain, other = Flags(), Flags()
    other.forceinline = True
    plain.forceinline = False  # the default, which is set in one alone
    same = dispatchers._Flags()
    assert same == plain == same
    assert hash(same) == hash(plain)
    assert dispatchers._Flags(other) == other != same
    assert same not in {None, dispatchers._Flags(other)}


def test_what_was_compiled_for_kernels_is_kept_for_later_processes(begin, tmp_path):
    """A later process compiles a caller with callees that are in the cache, and calls a callee of the earlier one."""
    _, middle, _ = begin()
    middle(TABLE, 7)
    assert len(list(tmp_path.rglob("*.kernel"))) == 2
    small, middle, large = begin()
    assert large(TABLE, 7) == (polynomial(7) + polynomial(8)) * polynomial(7)
    assert sum(small.stats.cache_hits.values()) == 1
    assert small(7) == polynomial(7)
    small, middle, large = begin()
    assert [small(7), middle(TABLE, 7)] == [polynomial(7), polynomial(7) + polynomial(8)]
    assert large(TABLE, 7) == middle(TABLE, 7) * small(7)
    assert not any(sum(find_dispatcher(kernel).stats.cache_misses.values()) for kernel in (small, middle, large))


@pytest.mark.parametrize("later", [False, True], ids=["compiled", "loaded"])
def test_errors_and_prints_of_callees_come_out(begin, later, capfd):
    """What a callee raises or prints, which needs its environment, comes out of its caller, also in a later process."""
    for _ in range(1 + later):
        _, _, large = begin()
        with pytest.raises(ValueError, match="zero"):
            large(TABLE, 0)
        with pytest.raises(ValueError, match="zero"):
            large(TABLE, -1)
        assert capfd.readouterr().out.splitlines() == ["below -1"]


def test_kernels_of_the_rules_are_compiled_as_numba_does(begin):
    """A kernel of the built-in game has callees with machine code, also if a game had compiled them without."""
    small, _, large = begin()
    assert large(TABLE, 7) == (polynomial(7) + polynomial(8)) * polynomial(7)
    assert not has_machine_code(small)
    environment = weakref.ref(next(iter(small.overloads.values())).environment)
    assert compiled.kernel(outer)(TABLE, 7) == polynomial(7) + polynomial(8)
    assert has_machine_code(small)
    gc.collect()
    assert environment() is not None  # what was compiled before may read it
    assert large(TABLE, 9) == (polynomial(9) + polynomial(10)) * polynomial(9)


def test_kernels_are_pickled_by_value(begin, monkeypatch):
    """Numba's pickle of a kernel, which libraries make of functions in a notebook, is read and compiled again."""
    small, _, _ = begin()
    pickled = numba.core.serialize.dumps(small)
    monkeypatch.setattr("numba.core.dispatcher._MemoMixin._memo", weakref.WeakValueDictionary())  # as another process
    again = pickle.loads(pickled)
    assert again is not small
    assert again(7) == small(7) == polynomial(7)


def test_callers_of_other_libraries_are_served(begin):
    """A function that the user compiles with Numba calls a kernel, compiled before for kernels alone."""
    small, _, large = begin()
    large(TABLE, 7)
    assert numba.njit(lambda number: small(number) + 1)(7) == polynomial(7) + 1


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_as_it_was(begin, collects):
    """Compiling stops the collection of garbage, and begins it again only where it was on."""
    small, _, large = begin()
    try:
        (gc.enable if collects else gc.disable)()
        large(TABLE, 7)
        assert gc.isenabled() is collects
        with pytest.raises(numba.TypingError):
            small("seven")
        assert gc.isenabled() is collects
    finally:
        gc.enable()
