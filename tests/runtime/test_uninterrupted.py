"""Signals that arrive while kernels are compiled: their exceptions come out, and nothing else is changed by them."""

import _thread
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from multigrid.runtime import compiled

if not compiled.JUST_IN_TIME:
    pytest.skip("Numba compiles nothing here", allow_module_level=True)
if os.name == "nt":
    pytest.skip("signals are sent as POSIX has them", allow_module_level=True)

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.typing.templates import builtin_registry
from numba.extending import overload

from multigrid.runtime import kernel_cache, uninterrupted
from multigrid.runtime.kernel_cache import KernelCache
from multigrid.runtime.uninterrupted import check_stopped, run_uninterrupted


@pytest.fixture(autouse=True)
def base(tmp_path, monkeypatch):
    """A folder for cache folders."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    cache = KernelCache([Path(__file__)], Path("never"))
    monkeypatch.setattr(compiled, "_open_cache", lambda: cache)
    return tmp_path


def polynomial(number):
    """Something to compile."""
    return 3 * number * number + number - 5


inner = None
"""A kernel, which the test puts here."""


def outer(number):
    """Something to compile that calls another kernel."""
    return inner(number) + inner(number + 1)


@pytest.fixture(params=[KeyboardInterrupt, TimeoutError], ids=lambda error: error.__name__)
def signalled(request):
    """Let a signal raise an exception; return its class, and what sends the signal and waits until it has arrived."""

    def raise_(_number, _frame):
        raise request.param

    def send():
        os.kill(os.getpid(), signal.SIGINT)
        while not uninterrupted._here.stops:
            time.sleep(0.001)

    before = signal.signal(signal.SIGINT, raise_)
    yield request.param, send
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("moment", [1, 30, 48, "dumps", "_write"])
def test_an_interrupted_compilation_is_done_again(base, capfd, monkeypatch, signalled, moment):
    """What a signal handler raises, at any step of a kernel or its callee, comes out; the next call works."""
    error, send = signalled
    monkeypatch.setattr(sys.modules[__name__], "inner", compiled.kernel(polynomial))
    function = compiled.kernel(outer)
    steps = []

    def counted(original):
        def step(*arguments):
            steps.append(original)
            if moment in (len(steps), original.__name__) and getattr(uninterrupted._here, "stops", None) == []:
                send()
            return original(*arguments)

        return step

    with monkeypatch.context() as patched:
        if isinstance(moment, int):
            patched.setattr(PassManager, "_runPass", counted(PassManager._runPass))
        else:
            patched.setattr(kernel_cache, moment, counted(getattr(kernel_cache, moment)))
        with pytest.raises(error):
            function(7)
    if moment == 1:
        assert not list(base.rglob("*.kernel"))  # nothing was begun after that
    assert function(7) == polynomial(7) + polynomial(8)
    assert len(list(base.rglob("*.kernel"))) == 2
    cache = KernelCache([Path(__file__)], Path("never"))
    monkeypatch.setattr(compiled, "_open_cache", lambda: cache)
    another = compiled.kernel(outer)
    assert another(7) == polynomial(7) + polynomial(8)
    assert len(another.compiled.stats.cache_hits) == 1
    assert capfd.readouterr().err == ""


def test_numba_itself_is_whole_after_an_interrupt(monkeypatch, signalled):
    """Numba goes through lists of what it can compile, each entry once: an exception there would lose the others."""
    error, send = signalled

    class Trap:
        asked = False

        def __hash__(self):
            if not self.asked:
                self.asked = True
                send()
            return 1

    def last():
        """Something that Numba comes to know after the trap."""

    monkeypatch.setattr(sys.modules[__name__], "inner", last)
    builtin_registry.globals.append((Trap(), numba.types.none))
    overload(last)(lambda number: lambda number: number)
    with pytest.raises(error):
        compiled.kernel(outer)(7)
    assert compiled.kernel(outer)(7) == 15


def test_what_a_function_returns_and_raises():
    """It is as if the function were called."""
    assert run_uninterrupted(divmod, 17, 5) == (3, 2)
    with pytest.raises(ZeroDivisionError):
        run_uninterrupted(divmod, 17, 0)


def test_a_signal_that_another_thread_gets_is_noticed(signalled):
    """The system may give a signal to any thread; the main one, whose it is, does not wait for the end."""
    error, _ = signalled

    def work():
        signal.raise_signal(signal.SIGINT)  # to this thread
        while True:
            time.sleep(0.001)
            check_stopped()

    with pytest.raises(error):
        run_uninterrupted(work)


def test_the_exception_does_not_wait(signalled):
    """Who presses Ctrl-C need not wait; the work goes on alone, to its end."""
    error, send = signalled
    may_end, ended = threading.Event(), threading.Event()

    def work():
        send()
        may_end.wait()
        ended.set()

    with pytest.raises(error):
        run_uninterrupted(work)
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(60)


def test_where_another_thread_is_no_use_there_is_none(monkeypatch):
    """Other threads, one that holds Numba's lock, and where the system has no thread left, compile by themselves."""
    found = []
    other = threading.Thread(target=lambda: found.append(run_uninterrupted(threading.current_thread)))
    other.start()
    other.join()
    assert found == [other]
    with global_compiler_lock:
        assert compiled.kernel(polynomial)(7) == polynomial(7)
    kernel = compiled.kernel(polynomial)
    assert numba.njit(lambda number: kernel(number) + 1)(7) == polynomial(7) + 1

    def start(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert run_uninterrupted(threading.current_thread) is threading.main_thread()
