"""Compile the kernels when a wheel is built, if that is asked for: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1.

Otherwise the wheel is pure: Numba compiles the kernels when they are first called. The wheel is for the platform that
builds it, or for the one that MULTIGRID_PLATFORM names. An unsupported building platform gets a pure wheel and a
warning; an unknown name in MULTIGRID_PLATFORM is an error. MULTIGRID_OBJECT_CODE names the folder that
tools/building/targets.py has written: then the kernels are only linked, without Numba.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import types
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Hatchling runs this file alone, and its folder is no package.
targets: Any = types.SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("targets.py"))))


class KernelsHook(BuildHookInterface[Any]):
    """Compile the kernels, and the module through which Python calls them."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return the package's dependencies, which compiling the kernels imports; none if they are only linked."""
        is_compiled = not os.environ.get("MULTIGRID_OBJECT_CODE") and self._find_platform() in targets.TARGETS
        return list(self.metadata.core.dependencies) if is_compiled else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension module, and put it into the wheel."""
        if version == "editable":
            return
        platform = self._find_platform()
        if platform not in targets.TARGETS:
            self.app.display_warning(
                f"No kernels are compiled for {platform}: this wheel is pure, and Numba compiles them at run time."
            )
            return
        target = targets.TARGETS[platform]
        self._folder = tempfile.TemporaryDirectory()
        folder = self._find_object_code(platform)
        if folder is None:
            folder = Path(self._folder.name)
            targets.write_object_code(folder, platform)
        library = Path(self._folder.name) / target.library
        subprocess.run(self._make_command(platform, folder, library), check=True)
        build_data["pure_python"] = False
        build_data["tag"] = f"cp310-abi3-{target.tag}"
        build_data["force_include"][str(library)] = f"multigrid/runtime/{target.library}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if self._folder is not None:
            self._folder.cleanup()

    def _find_platform(self) -> str:
        named = os.environ.get("MULTIGRID_PLATFORM")
        return str(targets.check_name(named) if named else targets.find_platform())

    def _find_object_code(self, platform: str) -> Path | None:
        """Return the folder with a platform's object file, of these sources, if MULTIGRID_OBJECT_CODE is set."""
        parent = os.environ.get("MULTIGRID_OBJECT_CODE")
        if not parent:
            return None
        folder = Path(self.root) / parent / platform
        command = f"python tools/building/targets.py {parent} {platform}"
        if not (folder / "kernels.o").is_file() or not (folder / "entries.h").is_file():
            raise FileNotFoundError(f"{folder} has no object file; make it with: {command}")
        sources = runpy.run_path(str(Path(self.root) / "multigrid" / "runtime" / "sources.py"))
        builder = [Path(__file__).with_name(f"{name}.py") for name in ("object_code", "targets")]
        digests = [sources["digest_sources"](files) for files in (sources["list_sources"](), builder)]
        found = re.findall('#define (?:SOURCES|BUILDER) "(.*)"', (folder / "entries.h").read_text(encoding="utf-8"))
        if found != digests:
            raise ValueError(f"the object file in {folder} is of other sources; make it again with: {command}")
        return folder

    def _make_command(self, platform: str, folder: Path, library: Path) -> list[str]:
        """Return the command that links a library with the object file in a folder."""
        target, sources = targets.TARGETS[platform], Path(self.root) / "tools" / "building"
        is_native, is_windows = platform == targets.find_platform(), platform == "win-amd64"
        files = [sources / "binding.c", sources / "unreached.c", *[sources / "windows.c"] * is_windows]
        # Python's headers are those of this machine: what the stable ABI takes from them is the same on both platforms.
        return [
            *shlex.split(os.environ.get("CC") or target.compilers[0 if is_native else 1]),
            *("-O2", "-Wall", "-Wextra", *target.options),
            *("-DPy_LIMITED_API=0x030A0000", f"-I{sysconfig.get_path('include')}", f"-I{folder}"),
            *map(str, (*files, folder / "kernels.o")),
            # On other systems, the program that loads the module provides Python's functions.
            *[str(Path(sys.base_prefix, "libs", "python3.lib"))] * is_windows,
            *("-o", str(library)),
        ]
