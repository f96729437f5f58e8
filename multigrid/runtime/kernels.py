"""The kernels that worlds call, for the built-in game or for another set of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from multigrid.runtime.arrays import Arrays, pack
from multigrid.runtime.compiled import find_plain, pack_table
from multigrid.runtime.tables import OwnState, Table

_FEW_NUMBERS = 2**9
_NO_KERNELS = ("are_compiled", "describe_breach", "describe_failure", "hooks", "own", "rules")


class Bound:
    """A kernel of a set of rules, see `multigrid.runtime.tables.RULES`, that Python calls with address tables."""

    def __init__(self, kernel: Any, rules: str) -> None:
        self.__name__, self.py_func, self._kernel, self._rules = kernel.__name__, kernel.py_func, kernel, rules
        self.entry: Any = None
        """The compiled function, which takes no arguments of other types; None before the first call."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel, compiled at the first call."""
        if self.entry is None:
            from multigrid.runtime.table_types import compile_entry

            self.entry = compile_entry(self._kernel.compiled, self._rules, arguments)
        return self.entry(*arguments)


class Kernels(NamedTuple):
    """The kernels of a game, which get an address table, and mostly the first world and the one after the last.

    `multigrid.core.worlds.KERNELS` are those of the built-in one.
    """

    prepare: Any
    """Compute constant arrays, once."""
    reset: Any
    """Begin an episode, on a given map or a `RANDOM` one."""
    begin: Any
    """Begin an episode in K worlds, with given maps, streams, layouts and lists of targets."""
    reset_ended: Any
    """Begin an episode where the last one is over."""
    restore: Any
    """Copy the states of another table to K worlds."""
    find_bad_action: Any
    """Return the first row, world * N + agent, whose action is out of range; a negative number if there is none."""
    play: Any
    """Play a step."""
    step: Any
    """Find a bad action as `find_bad_action`, and play a step if there is none."""
    step_and_observe: tuple[Any, Any]
    """Do as `step`, then as `observe`."""
    observe: tuple[Any, Any]
    """Write the outdated observations: one for an array of each part, one for flat vectors."""
    place: Any
    """Move the only agent of the only world, and its target."""
    walk: Any
    """Play a step of the only agent of the only world, which asks for the cell at some offset."""
    measure: Any
    """Write the metrics of some worlds."""
    play_tasks: Any
    """Play pieces of tasks, see `multigrid.runtime.threads`."""
    find_breach: Any
    """Return the first broken invariant of all worlds, or of those that had a reset; a negative number if none is."""
    describe_breach: Any
    """No kernel: return the error message for what `find_breach` returned, given the arrays, it, and the config."""
    describe_failure: Any
    """No kernel: return the error message for `Arrays.failed`."""
    are_compiled: bool
    """Whether they are compiled; else Python runs them."""
    hooks: Any
    """No kernels: what Python finds in `Arrays.hooks`."""
    rules: str
    """No kernel: the set of rules, see `multigrid.runtime.tables.RULES`."""
    own: Table[OwnState] | None
    """The table of a user's game, whose addresses follow those of `Arrays`; None for the built-in game."""

    def pack(self, arrays: Arrays) -> Any:
        """Return what the kernels take for arrays: a table of their addresses, or if Python runs them, the arrays."""
        if not self.are_compiled:
            return arrays._replace(hooks=self.hooks)
        table = pack(arrays, self.own)
        return table if self.rules else pack_table(table)

    def prepare_arrays(self, arrays: Arrays, table: Any) -> None:
        """Compute the constant arrays, which the table describes.

        Python computes few numbers, in less time than it takes to compile the kernel or to load it.
        """
        is_compiled = getattr(self.prepare, "overloads", True) and getattr(self.prepare, "entry", True)
        if not is_compiled and arrays.moves.size <= _FEW_NUMBERS:
            find_plain(self.prepare)(arrays._replace(hooks=self.hooks))
        else:
            self.prepare(table)

    def change(self, change: Callable[[Any], Any]) -> Kernels:
        """Return what a function makes of each kernel."""
        changed: dict[str, Any] = {
            name: tuple(map(change, value)) if isinstance(value, tuple) else change(value)
            for name, value in self._asdict().items()
            if name not in _NO_KERNELS
        }
        return self._replace(**changed)
