"""Build the distributions twice, in folders of different names; exit with a sentence if they differ.

The wheel is built from the tree and from the sdist. HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 compiles the kernels, each time
anew.

Usage: python .ci/build_twice.py FOLDER    # which gets the distributions
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build(source: Path, kind: str, folder: Path, **around: str) -> Path:
    """Build a distribution of a kind, "sdist" or "wheel", from a folder of sources."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, env={**os.environ, **around}, stdout=subprocess.DEVNULL)
    (path,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


def copy_tree(folder: Path) -> None:
    """Copy what git has of the tree, each file with the time of now."""
    listed = subprocess.run(
        [shutil.which("git") or "git", "ls-files", "-z"], check=True, cwd=ROOT, capture_output=True
    ).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def compare(one: Path, other: Path) -> None:
    """Exit if two distributions differ, with the first member that does."""
    if one.read_bytes() == other.read_bytes():
        print(f"{one.name}: twice {hashlib.sha256(one.read_bytes()).hexdigest()}")
        return
    different = ["the order, the times or the modes of the members"]
    if one.suffix == ".whl":
        with zipfile.ZipFile(one) as ones, zipfile.ZipFile(other) as others:
            names = sorted({*ones.namelist(), *others.namelist()})
            both = {*ones.namelist()} & {*others.namelist()}
            changed = [name for name in names if name not in both or ones.read(name) != others.read(name)]
            different = changed or different
    sys.exit(f"{one.name} was built twice, and differs in {', '.join(different)}")


def main(folder: Path) -> None:
    """Build everything twice, and compare."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        copies = [home / "tree", home / "a tree with a longer name"]
        for copy in copies:
            copy_tree(copy)
        sdists = [build(copy, "sdist", home / f"sdist_{k}") for k, copy in enumerate(copies)]
        compare(*sdists)
        with tarfile.open(sdists[1]) as archive:
            archive.extractall(home / "from_sdist", filter="data")
        (unpacked,) = (home / "from_sdist").iterdir()
        sources = (copies[0], unpacked)
        caches = [{"NUMBA_CACHE_DIR": str(home / f"cache_{k}")} for k in range(2)]
        wheels = [build(source, "wheel", home / f"wheel_{k}", **caches[k]) for k, source in enumerate(sources)]
        compare(*wheels)
        for path in (sdists[0], wheels[0]):
            shutil.copy(path, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
