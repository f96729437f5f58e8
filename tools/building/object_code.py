"""Compile the kernels that Python calls to an object file for this platform, with Numba's compiler.

Usage: python tools/building/object_code.py FOLDER    # which gets kernels.o and entries.h, both for binding.c
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import carray, cfunc, types
from numba.extending import intrinsic

from multigrid.core import hooks, invariants, metrics, observe, rules, tasks
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import KERNELS
from multigrid.runtime.sources import digest_sources, list_sources
from multigrid.runtime.tables import RULES

MOST_ARGUMENTS = 64  # of binding.c

# The kernels, by the codes of their arguments, which binding.c explains.
KERNELS_BY_CODES: dict[str, list[Callable[..., Any]]] = {
    "T": [rules.build_move_table],
    "T N N": [
        *(observe.observe_worlds, observe.observe_worlds_flat, observe.step_and_observe, observe.step_and_observe_flat),
        *(rules.find_bad_action, rules.step_worlds, rules.walk_agent),
    ],
    "T N N N": [invariants.find_breach, rules.reset_worlds],
    "T N N N N": [rules.place_agent],
    "T T i1": [rules.restore_worlds],
    "T i1 f3": [metrics.write_metrics],
    "T i1 i1 i3 i4": [rules.begin_worlds],
    "T i2 N N N N": [tasks.play_tasks],
    "u2 u1": [pcg64._seed],
}
ENTRIES = {kernel: codes for codes, kernels in KERNELS_BY_CODES.items() for kernel in kernels}


@intrinsic
def _pointer(_context: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(address), codegen


def main(folder: Path) -> None:
    """Write the two files."""
    assert KERNELS == "just in time", KERNELS
    assert RULES[""] is hooks.DEFAULTS
    if platform.machine() in {"x86_64", "AMD64"}:
        # LLVM would make branches of some choices without one; random moves mispredict them, and one agent's steps take
        # 1.2 times as long.
        llvm.set_option("", "-x86-cmov-converter=0")
    whole, *others = [_compile_entry(kernel, codes) for kernel, codes in ENTRIES.items()]
    for module in others:
        whole.link_in(module)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(cpu="generic", opt=3, reloc="pic", codemodel="default")
    _drop_unused(whole, machine)
    (folder / "kernels.o").write_bytes(machine.emit_object(whole))
    rows = [f'ENTRY({_name(kernel)}, "{codes.replace(" ", "")}")' for kernel, codes in ENTRIES.items()]
    header = f'#define SOURCES "{digest_sources(list_sources())}"\n#define ENTRIES {" ".join(rows)}\n'
    (folder / "entries.h").write_text(header, encoding="utf-8")


def _name(kernel: Any) -> str:
    """Return the name of a kernel in C and in the extension module."""
    return f"{kernel.__module__}.{kernel.__name__}".replace(".", "_")


def _drop_unused(module: Any, machine: Any) -> None:
    """Keep only what the entries need; Numba's functions for Python, among others, are dropped.

    Numba has optimized each function. Optimized once more, steps of one agent take 1.2 times as long.
    """
    for value in (*module.functions, *module.global_variables):
        if value.name in map(_name, ENTRIES):
            value.visibility = "hidden"
        elif not value.is_declaration:
            value.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


def _compile_entry(kernel: Any, codes: str) -> Any:
    """Return the LLVM module of a function that gets all arguments of a kernel as one pointer, and calls it."""
    arguments, place = [], 0
    for code in codes.split():
        num_axes = int(code[1:] or 0)
        value, *extents = (f"values[{place + k}]" for k in range(1 + num_axes))
        place += 1 + num_axes
        if code != "N":
            # Of a table, kernels read only the address.
            shape, dtype = ("1, 1", "i") if code == "T" else (", ".join(extents), code[0])
            value = f"carray(pointer({value}), ({shape},), {dtype})"
        arguments.append(value)
    assert place <= MOST_ARGUMENTS
    call = f"kernel({', '.join(arguments)})"
    has_result = kernel.py_func.__annotations__["return"] != "None"
    body = f"return {call}" if has_result else f"{call}; return 0"
    scope = {"kernel": kernel, "carray": carray, "pointer": _pointer, "i": np.int64, "u": np.uint64, "f": np.float64}
    exec(f"def entry(values): {body}", scope)  # noqa: S102 - of the names above
    compiled = cfunc(types.int64(types.CPointer(types.int64)))(scope["entry"])
    module = llvm.parse_assembly(compiled.inspect_llvm())
    module.get_function(compiled.native_name).name = _name(kernel)
    module.verify()
    return module


if __name__ == "__main__":
    main(Path(sys.argv[1]))
