"""Compile the kernels when a wheel is built, if that is asked for: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1.

Without, the wheel is pure: kernels are compiled by Numba when they are first called. The wheel is for the platform that
builds it, or for the one that MULTIGRID_PLATFORM names.
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

PROCESSORS = {"linux-x86_64": "x86-64", "linux-aarch64": "generic"}
"""The oldest processor that runs the kernels, in LLVM's terms, by platform."""


class KernelsHook(BuildHookInterface[Any]):
    """Compile the kernels, and the module through which Python calls them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension module, and put it into the wheel."""
        if version == "editable":
            return
        here = sysconfig.get_platform()
        if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
            here += " with musl"
        platform = os.environ.get("MULTIGRID_PLATFORM") or here
        if not {here, platform} <= set(PROCESSORS):
            known = ", ".join(PROCESSORS)
            raise RuntimeError(f"kernels are compiled ahead of time on and for {known}, not on {here} for {platform}")
        processor, machine = PROCESSORS[platform], platform.removeprefix("linux-")
        root, self._folder = Path(self.root), tempfile.TemporaryDirectory()
        sources = root / "tools" / "building"
        folder = Path(self._folder.name)
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "MULTIGRID_"))}
        settings |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
        settings |= {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(folder / "cache")}
        settings |= {"MULTIGRID_JIT": "1", "PYTHONPATH": str(root)}
        subprocess.run(
            [
                sys.executable,
                sources / "object_code.py",
                folder,
                f"{machine}-unknown-linux-gnu",
                processor,
            ],
            check=True,
            env=settings,
        )
        library = folder / "_kernels.abi3.so"
        # Python's headers are those of this machine: what the stable ABI takes from them is the same on both platforms.
        command = [
            *shlex.split(os.environ.get("CC") or ("cc" if platform == here else f"{machine}-linux-gnu-gcc")),
            *("-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wl,-z,noexecstack", "-s"),
            *("-DPy_LIMITED_API=0x030A0000", f"-I{sysconfig.get_path('include')}", f"-I{folder}"),
            *(
                str(root / "tools" / "building" / "binding.c"),
                str(root / "tools" / "building" / "unreached.c"),
                str(folder / "kernels.o"),
            ),
            *("-o", str(library)),
        ]
        subprocess.run(command, check=True)
        build_data["pure_python"] = False
        build_data["tag"] = f"cp310-abi3-manylinux_2_17_{machine}.manylinux2014_{machine}"
        build_data["force_include"][str(library)] = "multigrid/runtime/_kernels.abi3.so"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if version != "editable":
            self._folder.cleanup()
