"""Compile the kernels when a wheel is built, if that is asked for: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1.

Otherwise the wheel is pure: Numba compiles the kernels when they are first called. The wheel is for the platform that
builds it, whose C compiler it needs.
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

# For every processor of the platform, and without a library that Numba may call.
_SETTINGS = {"MULTIGRID_JIT": "1", "NUMBA_CPU_NAME": "generic", "NUMBA_DISABLE_INTEL_SVML": "1"}
_LINKERS = {"darwin": "cc -bundle -undefined dynamic_lookup", "linux": "cc -shared"}


class KernelsHook(BuildHookInterface[Any]):
    """Compile the kernels, and the module through which Python calls them."""

    def dependencies(self) -> list[str]:
        """Return the package's dependencies, which compiling the kernels imports, and what calls the C compiler."""
        return [*self.metadata.core.dependencies, "setuptools"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension module, and put it into the wheel."""
        if version == "editable":
            return
        from setuptools import Distribution, Extension

        self._folder = tempfile.TemporaryDirectory()
        folder, sources = Path(self._folder.name), Path(self.root, "tools", "building")
        around = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "MULTIGRID_"))}
        around |= {**_SETTINGS, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": self.root}
        subprocess.run([sys.executable, sources / "object_code.py", folder], check=True, env=around)
        if sys.platform in _LINKERS:  # Python's own command may name folders of the machine where Python was built
            os.environ["LDSHARED"] = _LINKERS[sys.platform]
        module = Extension(
            "multigrid.runtime._kernels",
            [str(sources / "binding.c")],
            include_dirs=[str(folder)],
            extra_objects=[str(folder / "kernels.o")],
            extra_compile_args=[] if sys.platform == "win32" else ["-fvisibility=hidden", "-g0"],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
        )
        command = Distribution({"ext_modules": [module]}).get_command_obj("build_ext")
        command.build_lib, command.build_temp = str(folder), str(folder)
        command.ensure_finalized()
        command.run()
        name = command.get_ext_filename(module.name)
        platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
        build_data |= {"pure_python": False, "tag": f"cp310-abi3-{platform}"}
        build_data["force_include"][str(folder / name)] = Path(name).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if version != "editable":
            self._folder.cleanup()
