"""The kernels that worlds call, of the built-in game or of another set of rules."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from multigrid.core import observe, rules
from multigrid.core.arrays import Arrays, pack
from multigrid.core.hooks import DEFAULTS
from multigrid.core.invariants import find_breach
from multigrid.core.metrics import write_metrics
from multigrid.core.tasks import play_tasks
from multigrid.runtime.compiled import COMPILED, find_plain, pack_table
from multigrid.runtime.tables import OwnState, Table

_FEW_NUMBERS = 2**9


class Kernels(NamedTuple):
    """Kernels of a set of rules, which get an address table, and mostly the first world and the one after the last."""

    prepare: Any
    """Compute constant arrays, once."""
    reset: Any
    """Begin an episode, from a random layout on a random map, in all worlds or in those whose episode is over."""
    begin: Any
    """Begin an episode in K worlds, with given maps, streams, layouts and lists of targets."""
    restore: Any
    """Copy the states of another table to K worlds."""
    find_bad_action: Any
    """Return the first row, world * N + agent, whose action is out of range; a negative number if there is none."""
    step: Any
    """Find a bad action as `find_bad_action`, and play a step if there is none."""
    step_and_observe: Any
    """Do as `step`, then as `observe`."""
    step_and_observe_flat: Any
    """Do as `step`, then as `observe_flat`."""
    observe: Any
    """Write the outdated observations, an array for each part."""
    observe_flat: Any
    """Write the outdated observations, flat vectors."""
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


class Rules(NamedTuple):
    """A set of rules: its kernels, and what they need."""

    kernels: Kernels
    are_compiled: bool = COMPILED
    """Whether the kernels are compiled; else Python runs them."""
    hooks: Any = SimpleNamespace(**DEFAULTS)
    """The functions that differ between games, as Python finds them in `Arrays.hooks`."""
    name: str = ""
    """The key of `multigrid.runtime.tables.RULES`."""
    own: Table[OwnState] | None = None
    """The table of a user's game, whose addresses follow those of `Arrays`; None for the built-in game."""
    describe_failure: Callable[[int], str] | None = None
    """Returns the error message for `Arrays.failed`."""

    def pack(self, arrays: Arrays) -> Any:
        """Return what the kernels take for arrays: a table of their addresses, or if Python runs them, the arrays."""
        if not self.are_compiled:
            return arrays._replace(hooks=self.hooks)
        table = pack(arrays, self.own)
        return table if self.name else pack_table(table)

    def prepare_arrays(self, arrays: Arrays, table: Any) -> None:
        """Compute the constant arrays, which the table describes.

        Python computes few numbers, in less time than it takes to compile the kernel or to load it.
        """
        prepare = self.kernels.prepare
        is_compiled = getattr(prepare, "overloads", True) and getattr(prepare, "entry", True)
        if not is_compiled and arrays.moves.size <= _FEW_NUMBERS:
            find_plain(prepare)(arrays._replace(hooks=self.hooks))
        else:
            prepare(table)


KERNELS = Kernels(
    prepare=rules.build_move_table,
    reset=rules.reset_worlds,
    begin=rules.begin_worlds,
    restore=rules.restore_worlds,
    find_bad_action=rules.find_bad_action,
    step=rules.step_worlds,
    step_and_observe=observe.step_and_observe,
    step_and_observe_flat=observe.step_and_observe_flat,
    observe=observe.observe_worlds,
    observe_flat=observe.observe_worlds_flat,
    place=rules.place_agent,
    walk=rules.walk_agent,
    measure=write_metrics,
    play_tasks=play_tasks,
    find_breach=find_breach,
)
"""The kernels of the rules, which are compiled for each set of hooks."""
BUILT_IN = Rules(Kernels(*(getattr(kernel, "entry", kernel) for kernel in KERNELS)))
"""The built-in game on known maps, with its kernels as Python calls them."""
