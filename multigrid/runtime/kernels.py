"""The kernels that worlds call: those of the rules, or their copies for a user's game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from multigrid.runtime.arrays import Arrays
from multigrid.runtime.compiled import make_interpreted
from multigrid.runtime.tables import OwnState, Table
from multigrid.runtime.world_generators import PLAIN

_FEW_NUMBERS = 2**9
_NO_KERNELS = ("are_compiled", "describe_breach", "describe_failure", "hooks", "own", "plain")


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
    hooks: Mapping[str, Any]
    """No kernels: the functions of a user's game in them, by name."""
    own: Table[OwnState] | None
    """The table of a user's game, whose addresses follow those of `Arrays`; None for the built-in game."""
    plain: Mapping[Any, Any]
    """For functions that are not Python's what Python runs in their place."""

    def prepare_arrays(self, arrays: Arrays, table: Any) -> None:
        """Compute the constant arrays, which the table describes.

        Python computes few numbers, in less time than it takes to compile the kernel or to load it.
        """
        is_slow = hasattr(self.prepare, "py_func") and not self.prepare.overloads
        if is_slow and arrays.moves.size <= _FEW_NUMBERS:
            make_interpreted(self.prepare, {**PLAIN, **self.plain})(arrays)
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
