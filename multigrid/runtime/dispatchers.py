"""Numba's dispatcher for kernels, which compiles those of a user's game in half the time.

Numba makes machine code and a wrapper of each function, and optimizes all that it calls once more with it. For a game,
whose users wait, only kernels that Python calls get that: they optimize the code of the others with their own. The
rules themselves are compiled as Numba does it, which makes them a twentieth faster.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import builtin_registry

from multigrid.runtime.uninterrupted import run_uninterrupted

_REDUCED = (
    *("fndesc", "environment", "signature", "objectmode", "lifted", "type_annotation", "reload_init"),
    "referenced_envs",
)
"""What `CompileResult._reduce` returns after the library."""
_superseded: list[CompileResult] = []
"""What machine code of others may still read."""
_under_way: list[bool] = []
"""For each compilation, each for the one before it, if it is of a game; whoever changes it holds Numba's lock."""


class _Flags(Flags):  # type: ignore[misc]
    """Flags of a compilation, compared by what is set first.

    Numba looks up its own functions by all of the caller's flags, for which it needs a twentieth of the time.
    """

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Flags) and self._values == other._values:
            return True
        return super().__eq__(other)  # type: ignore[no-any-return]


_HASH = hash(Flags())


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """What compiles a kernel when it is first called."""

    watch: Callable[..., Any] = staticmethod(lambda function, *arguments: function(*arguments))
    """A function that calls another one with its arguments while this compiles."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._compiler._customize_flags = _Flags  # noqa: SLF001 - Numba's own place to change them

    @property
    def is_linked(self) -> bool:
        """Whether what is compiled now has no machine code, for only kernels call it."""
        return self._compiler.pipeline_class is _LinkedCompiler

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what a call of these types gives, as Numba does; a constant is of the type of other numbers."""
        return super().get_call_template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(one) for name, one in kws.items()}
        )

    def compile(self, sig: Any) -> Any:
        """Compile for a signature."""
        return self._watch(sig, is_linked=False)

    def compile_linked(self, sig: Any) -> Any:
        """Compile for other kernels of a game alone, as what one of them calls."""
        return self._watch(sig, is_linked=True)

    def _watch(self, sig: Any, *, is_linked: bool) -> Any:
        # If this thread holds Numba's lock, another one would wait for it forever.
        if global_compiler_lock.is_locked():
            return self.watch(self._compile, sig, is_linked)
        return run_uninterrupted(self.watch, self._compile, sig, is_linked)

    def _compile(self, sig: Any, linked: bool) -> Any:
        with global_compiler_lock:
            linked = linked or any(_under_way[:1])
            known = self.overloads.get(tuple(sig))
            if known is not None and not linked and isinstance(known.library, _LinkedLibrary):
                _superseded.append(self.overloads.pop(tuple(sig)))
            self._compiler.pipeline_class = _LinkedCompiler if linked else Compiler
            # Numba makes so many objects that looking for cycles among them takes a tenth of the time.
            collects = gc.isenabled()
            gc.disable()
            _under_way.append(bool(find_rules(sig)))
            try:
                return super().compile(sig)
            finally:
                _under_way.pop()
                if collects:
                    gc.enable()

    def add_overload(self, cres: CompileResult) -> None:
        """Add what was compiled; what has no machine code is not for calls of Python."""
        if isinstance(cres.library, _LinkedLibrary):
            self.overloads[tuple(cres.signature.args)] = cres
            return
        super().add_overload(cres)
        # What was linked reads its environments, too.
        for environment in cres._find_referenced_environments():  # noqa: SLF001 - as Numba does for what it loads
            cres.library.codegen.set_env(environment.env_name, environment)


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library without machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, "linked", self._get_module_for_linking().as_bitcode()


class _LinkedCompiler(Compiler):  # type: ignore[misc]
    """A compiler of what has no machine code."""

    def define_pipelines(self) -> Any:
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()

    def _compile_core(self) -> CompileResult:
        # Numba finds the code of a function by its entry point.
        compiled = super()._compile_core()._replace(entry_point=object())
        self.state.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])
        return compiled


def find_rules(signature: Any) -> str:
    """Return the set of rules, see `tables.RULES`, that a signature is for; "" for the built-in or any one."""
    return next((one.rules for one in signature if getattr(one, "rules", "")), "")


def list_overloads() -> list[tuple[int | str, Any]]:
    """Return what others gave to `numba.extending.overload`, each with the function's id or the attribute's name."""
    return _read_registry(len(builtin_registry.globals), len(builtin_registry.attributes))


@functools.lru_cache(1)
def _read_registry(*_lengths: int) -> list[tuple[int | str, Any]]:
    found = [(id(value), one) for value, kind in builtin_registry.globals for one in getattr(kind, "templates", ())]
    found += [(one._attr, one) for one in builtin_registry.attributes if hasattr(one, "_attr")]  # noqa: SLF001
    overloads = [(key, getattr(template, "_overload_func", None)) for key, template in found]
    return [(key, one) for key, one in overloads if one and not str(one.__module__).startswith("numba.")]


def load_linked(context: Any, reduced: tuple[Any, ...]) -> CompileResult:
    """Return what `CompileResult._reduce` has returned for what has no machine code."""
    (name, _, bitcode), *others = reduced
    entries = dict(zip(_REDUCED, others, strict=True))
    for reload in entries["reload_init"]:
        reload()
    library = _LinkedLibrary(context.codegen(), name)
    library._final_module = llvm.parse_bitcode(bitcode)  # noqa: SLF001
    library._finalize_final_module()  # noqa: SLF001
    entries |= {"target_context": context, "typing_context": context.typing_context, "library": library}
    return compile_result(**entries, entry_point=object())
