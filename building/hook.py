"""Compile the kernels when a wheel is built, if that is asked for: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1.

Without, the wheel is pure: kernels are compiled by Numba when they are first called.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {"linux-x86_64": ("x86-64", "cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64")}
"""The oldest processor that runs the kernels, in LLVM's terms, and the tag of the wheel, by platform."""


class KernelsHook(BuildHookInterface[Any]):
    """Compile the kernels, and the module through which Python calls them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension module, and put it into the wheel."""
        if version == "editable":
            return
        platform = sysconfig.get_platform()
        if platform not in PLATFORMS:
            raise RuntimeError(f"kernels are compiled ahead of time for {', '.join(PLATFORMS)}, not for {platform}")
        processor, tag = PLATFORMS[platform]
        root, self._folder = Path(self.root), tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "MULTIGRID_"))}
        settings |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
        settings |= {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(folder / "cache")}
        settings |= {"MULTIGRID_JIT": "1", "PYTHONPATH": str(root)}
        subprocess.run(
            [sys.executable, root / "building" / "object_code.py", folder, processor], check=True, env=settings
        )
        library = folder / "_kernels.abi3.so"
        command = [
            *shlex.split(os.environ.get("CC", "cc")),
            *("-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wl,-z,noexecstack", "-s"),
            *("-DPy_LIMITED_API=0x030A0000", f"-I{sysconfig.get_path('include')}", f"-I{folder}"),
            *(str(root / "building" / "binding.c"), str(root / "building" / "unreached.c"), str(folder / "kernels.o")),
            *("-o", str(library)),
        ]
        subprocess.run(command, check=True)
        build_data["pure_python"], build_data["tag"] = False, tag
        build_data["force_include"][str(library)] = "multigrid/core/_kernels.abi3.so"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if version != "editable":
            self._folder.cleanup()
