"""Compile the kernels when a wheel is built, if that is asked for: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1.

The wheel is then for the platform that builds it, whose C compiler it needs. Otherwise it is pure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Code for every processor of the platform, which needs no library of Intel's.
_SETTINGS = {"MULTIGRID_JIT": "1", "NUMBA_CPU_NAME": "generic", "NUMBA_DISABLE_INTEL_SVML": "1"}
# Python's own command may name folders of the machine where Python was built.
_LINKERS = {"darwin": "cc -bundle -undefined dynamic_lookup", "linux": "cc -shared"}
_OPTIONS = [] if sys.platform == "win32" else ["-fvisibility=hidden", "-g0"]


class KernelsHook(BuildHookInterface[Any]):
    """Compile the kernels, and the module through which Python calls them."""

    def dependencies(self) -> list[str]:
        """Return what compiles the kernels, and what calls the C compiler."""
        return [*self.metadata.core.dependencies, "setuptools"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension module, and put it into the wheel."""
        if version == "editable":
            return
        from setuptools import Distribution, Extension

        self._folder = tempfile.TemporaryDirectory()
        folder, sources = self._folder.name, Path(self.root, "tools", "building")
        around = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "MULTIGRID_"))}
        around |= {**_SETTINGS, "NUMBA_CACHE_DIR": str(Path(folder, "cache")), "PYTHONPATH": self.root}
        subprocess.run([sys.executable, sources / "object_code.py", folder], check=True, env=around)
        os.environ |= {"LDSHARED": _LINKERS[sys.platform]} if sys.platform in _LINKERS else {}
        module = Extension(
            "multigrid.runtime._kernels",
            [str(sources / "binding.c")],
            include_dirs=[folder],
            extra_objects=[str(Path(folder, "kernels.o"))],
            extra_compile_args=_OPTIONS,
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
        )
        command = Distribution({"ext_modules": [module]}).get_command_obj("build_ext")
        command.build_lib = command.build_temp = folder
        command.ensure_finalized()
        command.run()
        name = command.get_ext_filename(module.name)
        build_data["pure_python"] = False
        build_data["tag"] = "cp310-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
        build_data["force_include"][str(Path(folder, name))] = Path(name).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if version != "editable":
            self._folder.cleanup()
