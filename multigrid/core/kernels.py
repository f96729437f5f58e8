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
from multigrid.runtime.compiled import COMPILED, Bound, find_plain, pack_table
from multigrid.runtime.tables import OwnState, Table

_FEW_NUMBERS = 2**9


_KERNELS = (
    *(rules.build_move_table, rules.reset_worlds, rules.begin_worlds, rules.restore_worlds),
    *(rules.find_bad_action, rules.step_worlds, observe.step_and_observe, observe.step_and_observe_flat),
    *(observe.observe_worlds, observe.observe_worlds_flat, rules.place_agent, rules.walk_agent),
    *(write_metrics, find_breach, play_tasks),
)


def bind_kernels(bind: Callable[[Any], Any]) -> SimpleNamespace:
    """Return by name what a function makes of each kernel that worlds call."""
    return SimpleNamespace(**{find_plain(kernel).__name__: bind(kernel) for kernel in _KERNELS})


class Rules(NamedTuple):
    """A set of rules: its kernels, and what they need."""

    kernels: Any
    """The kernels by name, which get an address table, and mostly the first world and the one after the last."""
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
        prepare = self.kernels.build_move_table
        if not getattr(prepare, "entry", True) and arrays.moves.size <= _FEW_NUMBERS:
            find_plain(prepare)(arrays._replace(hooks=self.hooks))
        else:
            prepare(table)


BUILT_IN = Rules(bind_kernels(Bound if COMPILED else find_plain))
"""The built-in game on known maps, with its kernels as Python calls them."""
