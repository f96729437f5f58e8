"""What a build of a wheel makes of a platform, a variable or an object file that it cannot use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from multigrid.runtime.sources import digest_sources, list_sources

ROOT = Path(__file__).parents[2]
BUILDING = ROOT / "tools" / "building"
SOURCES = digest_sources(list_sources())


def build(folder, **variables):
    """Build a wheel with the kernels compiled, if possible."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("MULTIGRID_")}
    around |= {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1", **variables}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    return subprocess.run(command, check=False, cwd=ROOT, env=around, capture_output=True, text=True)


def test_another_platform_gets_the_pure_wheel(tmp_path):
    """Where no kernels are compiled for, the wheel is pure, and one line names the platform."""
    # What sysconfig.get_platform() returns.
    done = build(tmp_path, _PYTHON_HOST_PLATFORM="linux-riscv64")
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if "kernels" in line]
    assert line == "No kernels are compiled for linux-riscv64: this wheel is pure, and Numba compiles them at run time."
    assert [path.name.partition("-py3")[2] for path in tmp_path.iterdir()] == ["-none-any.whl"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (None, "has no object file; make it with: python tools/building/targets.py"),
        ('#define SOURCES "0123456789abcdef"\n', "is of other sources; make it again with: python"),
        (f'#define SOURCES "{SOURCES}"\n#define BUILDER "0"\n', "is of other sources; make it again with: python"),
        ("", "is of other sources; make it again with: python"),
    ],
    ids=["missing", "other", "other builder", "damaged"],
)
def test_object_files_of_other_sources_are_refused(tmp_path, entries, message):
    """A folder without the platform's object file, or with one of other sources, is an error that has the command."""
    folder = tmp_path / "object_code" / "linux-aarch64"
    folder.mkdir(parents=True)
    if entries is not None:
        folder.joinpath("kernels.o").write_bytes(b"")
        folder.joinpath("entries.h").write_text(entries)
    done = build(tmp_path, MULTIGRID_OBJECT_CODE=str(folder.parent), MULTIGRID_PLATFORM="linux-aarch64")
    assert done.returncode != 0
    assert message in done.stderr
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.parametrize("of_hook", [True, False], ids=["build", "targets"])
def test_an_unknown_platform_is_refused(tmp_path, of_hook):
    """A name that is no platform's is an error that lists them all, and nothing is written."""
    if of_hook:
        done = build(tmp_path, MULTIGRID_PLATFORM="amiga")
    else:
        command = [sys.executable, BUILDING / "targets.py", tmp_path, "amiga"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    expected = "expected one of linux-x86_64, linux-aarch64, macosx-x86_64, macosx-arm64, win-amd64"
    assert f"no kernels are compiled for the platform 'amiga'; {expected}" in done.stderr
    assert not list(tmp_path.iterdir())
