"""Compile the kernels that Python calls to an object file, with Numba's compiler.

Usage: python tools/building/object_code.py FOLDER TRIPLE PROCESSOR

Writes kernels.o and entries.h, both for binding.c, into the folder. The code runs on the platform TRIPLE, which may be
another than the one that compiles, from PROCESSOR on; both are names of LLVM's. targets.py calls this with the settings
of Numba that it needs.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import carray, cfunc, config, types
from numba.core.codegen import JITCodeLibrary, JitEngine
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from multigrid.core import hooks, invariants, metrics, observe, rules, tasks
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import KERNELS
from multigrid.runtime.sources import digest_sources, list_sources
from multigrid.runtime.tables import RULES

# What the object files depend on beside the sources of the kernels.
BUILDER = [Path(__file__), Path(__file__).with_name("targets.py")]
MOST_ARGUMENTS = 64  # of binding.c

# A code for each argument, as binding.c explains them.
ENTRIES: dict[Callable[..., Any], str] = {
    invariants.find_breach: "T N N N",
    metrics.write_metrics: "T i1 f3",
    observe.observe_worlds: "T N N",
    observe.observe_worlds_flat: "T N N",
    observe.step_and_observe: "T N N",
    observe.step_and_observe_flat: "T N N",
    pcg64._seed: "u2 u1",
    rules.begin_worlds: "T i1 i1 i3 i4",
    rules.build_move_table: "T",
    rules.find_bad_action: "T N N",
    rules.place_agent: "T N N N N",
    rules.reset_worlds: "T N N N",
    rules.restore_worlds: "T T i1",
    rules.step_worlds: "T N N",
    rules.walk_agent: "T N N",
    tasks.play_tasks: "T i2 N N N N",
}


def _make_pointer(dtype: Any) -> Any:
    @intrinsic
    def pointer(_context: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(dtype)(address), codegen

    return pointer


def main(folder: Path, triple: str, processor: str) -> None:
    """Write the two files."""
    assert KERNELS == "just in time", KERNELS
    assert RULES[""] is hooks.DEFAULTS
    # Numba compiles for what it takes for this machine, and nothing of it is called. So it makes code for the other one
    # from the start; what it had optimized for this one would have some of its instructions.
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.get_process_triple = lambda: triple
    config.CPU_NAME, config.CPU_FEATURES = processor, ""
    _load_nothing()
    cpu_target.target_context.init()  # anew: the imports above have chosen this machine
    # LLVM would make branches of some choices without one; random moves mispredict them, and one agent's steps take 1.2
    # times as long.
    llvm.set_option("", "-x86-cmov-converter=0")
    names = [kernel.__name__ for kernel in ENTRIES]
    assert len(set(names)) == len(names)
    modules = [_compile_entry(kernel, codes) for kernel, codes in ENTRIES.items()]
    whole = modules[0]
    for module in modules[1:]:
        whole.link_in(module)
    assert whole.triple == triple, whole.triple
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=processor, opt=3, reloc="pic", codemodel="default")
    _drop_unused(whole, machine)
    (folder / "kernels.o").write_bytes(machine.emit_object(whole))
    rows = [
        f'    ENTRY({kernel.__name__}, "{kernel.__module__}", "{codes.replace(" ", "")}")'
        for kernel, codes in ENTRIES.items()
    ]
    entries = " \\\n".join(["#define ENTRIES", *rows])
    digests = f'#define SOURCES "{digest_sources(list_sources())}"\n#define BUILDER "{digest_sources(BUILDER)}"\n'
    header = f"{digests}{entries}\n"
    (folder / "entries.h").write_text(header, encoding="utf-8")


def _load_nothing() -> None:
    """Keep Numba from loading what it compiles into this process: LLVM's loader takes the files of few platforms."""
    nowhere = (ctypes.c_void_p * 1)()
    for name in ("get_function_address", "get_global_value_address"):
        setattr(JitEngine, name, lambda _self, _name: ctypes.addressof(nowhere))

    def add_module(engine: Any, module: Any) -> None:
        engine._load_defined_symbols(module)
        # Loading would make object code, which also prepares the module for it: without, the kernels would differ.
        cpu_target.target_context.codegen()._tm.emit_object(module)

    JitEngine.add_module = add_module
    JitEngine.finalize_object = lambda _self: None
    JITCodeLibrary.serialize_using_object_code = JITCodeLibrary.serialize_using_bitcode  # for the cache


def _drop_unused(module: Any, machine: Any) -> None:
    """Keep only what the entries need; Numba's functions for Python, among others, are dropped.

    Numba has optimized each function. Optimized once more, steps of one agent take 1.2 times as long.
    """
    entries = {f"multigrid_{kernel.__name__}" for kernel in ENTRIES}
    for value in (*module.functions, *module.global_variables):
        if value.name in entries:
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
        if code == "N":
            arguments.append(f"values[{place}]")
            place += 1
        elif code == "T":
            # Kernels read only the address.
            arguments.append(f"carray(i(values[{place}]), (1, 1))")
            place += 1
        else:
            extents = ", ".join(f"values[{place + 1 + axis}]" for axis in range(int(code[1])))
            arguments.append(f"carray({code[0]}(values[{place}]), ({extents},))")
            place += 1 + int(code[1])
    assert place <= MOST_ARGUMENTS
    call = f"kernel({', '.join(arguments)})"
    has_result = kernel.py_func.__annotations__["return"] != "None"
    body = f"return {call}" if has_result else f"{call}; return 0"
    kinds = {"i": types.int64, "u": types.uint64, "f": types.float64}
    scope = {"kernel": kernel, "carray": carray, **{kind: _make_pointer(dtype) for kind, dtype in kinds.items()}}
    exec(f"def entry(values): {body}", scope)  # noqa: S102 - of the names above
    compiled = cfunc(types.int64(types.CPointer(types.int64)))(scope["entry"])
    module = llvm.parse_assembly(compiled.inspect_llvm())
    module.get_function(compiled.native_name).name = f"multigrid_{kernel.__name__}"
    module.verify()
    return module


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
