"""The platforms that kernels are compiled for ahead of time, and the command that makes their object files.

Usage: python tools/building/targets.py FOLDER [PLATFORM...]

Writes FOLDER/PLATFORM/kernels.o and entries.h, by default for every platform. Each is compiled in a process of its own,
in about half a minute of processor time, wherever Numba runs. A wheel is then linked on its own platform, where
MULTIGRID_OBJECT_CODE names the folder.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Target(NamedTuple):
    """What kernels are compiled for."""

    triple: str  # as LLVM names the platform
    processor: str  # the oldest one that runs them, as LLVM names it
    tag: str  # of the wheel
    library: str  # the name of the extension module's file
    compilers: tuple[str, str]  # the C compiler that links on the platform itself, and the one that does so elsewhere
    options: tuple[str, ...]  # of the C compiler


_ELF = ("-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,noexecstack", "-s")
_MACH_O = ("-bundle", "-undefined", "dynamic_lookup", "-fvisibility=hidden", "-Wl,-x")
_COFF = ("-shared", "-static-libgcc", "-s")

TARGETS = {
    "linux-x86_64": Target(
        "x86_64-unknown-linux-gnu",
        "x86-64",
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "_kernels.abi3.so",
        ("cc", "x86_64-linux-gnu-gcc"),
        _ELF,
    ),
    "linux-aarch64": Target(
        "aarch64-unknown-linux-gnu",
        "generic",
        "manylinux_2_17_aarch64.manylinux2014_aarch64",
        "_kernels.abi3.so",
        ("cc", "aarch64-linux-gnu-gcc"),
        _ELF,
    ),
    "macosx-x86_64": Target(
        "x86_64-apple-macosx10.13.0",
        "x86-64",
        "macosx_10_13_x86_64",
        "_kernels.abi3.so",
        ("cc", "cc"),
        ("-arch", "x86_64", "-mmacosx-version-min=10.13", *_MACH_O),
    ),
    "macosx-arm64": Target(
        "arm64-apple-macosx11.0.0",
        "apple-m1",
        "macosx_11_0_arm64",
        "_kernels.abi3.so",
        ("cc", "cc"),
        ("-arch", "arm64", "-mmacosx-version-min=11.0", *_MACH_O),
    ),
    # Linked by GCC: Microsoft's compiler accepts neither these options nor the attributes in binding.c.
    "win-amd64": Target(
        "x86_64-w64-windows-gnu", "x86-64", "win_amd64", "_kernels.pyd", ("gcc", "x86_64-w64-mingw32-gcc"), _COFF
    ),
}
"""Keyed by the value of MULTIGRID_PLATFORM."""


def find_platform() -> str:
    """Return the name of the platform that Python builds for here; it may not be in `TARGETS`."""
    name = sysconfig.get_platform()
    if name.startswith("macosx-"):
        # As macosx-11.0-arm64; a universal2 Python builds for the processor that it runs on.
        processor = name.rpartition("-")[2]
        return f"macosx-{platform.machine() if processor == 'universal2' else processor}"
    has_musl = "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "")
    return f"{name} with musl" if has_musl else name


def check_name(name: str) -> str:
    """Return the name of a platform; raise a ValueError if no kernels are compiled for it."""
    if name not in TARGETS:
        raise ValueError(f"no kernels are compiled for the platform {name!r}; expected one of {', '.join(TARGETS)}")
    return name


def write_object_code(folder: Path, name: str) -> None:
    """Compile the kernels for a platform, in a process of its own, and write kernels.o and entries.h into a folder."""
    target = TARGETS[check_name(name)]
    with tempfile.TemporaryDirectory() as cache:
        settings = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "MULTIGRID_"))}
        settings |= {"NUMBA_DISABLE_INTEL_SVML": "1", "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or cache}
        settings |= {"MULTIGRID_JIT": "1", "PYTHONPATH": str(ROOT)}
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, ROOT / "tools" / "building" / "object_code.py", folder]
        subprocess.run([*command, target.triple, target.processor], check=True, env=settings)


def main(folder: str, *names: str) -> None:
    """Write the object files of some platforms, or of all."""
    for name in [check_name(name) for name in names] or TARGETS:
        write_object_code(Path(folder) / name, name)
        sys.stdout.write(f"{Path(folder) / name / 'kernels.o'}\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
