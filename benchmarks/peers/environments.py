"""The Python environments of the peers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.processes import PEERS, Peer, PeerProcess, python_path
from benchmarks.speed.cases import CROWDS
from benchmarks.speed.processes import last_line

__all__ = ["default_folder", "set_up_peers"]

_INSTALL_LIMIT = 1800.0
"""Seconds after which an installation is given up."""


class _SetupError(Exception):
    """A peer cannot be installed or played; the message is one line."""


def default_folder() -> Path:
    """Return the folder of the peers' environments, unless the user names another one."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "multigrid" / "peers"


def set_up_peers(folder: Path, report: Callable[[str], None]) -> bool:
    """Make the environments that do not exist yet, each as a whole or not at all; return whether all exist.

    Args:
        folder: where to make them.
        report: called with each line of progress.
    """
    complete = True
    for peer in PEERS:
        home = folder / peer.key
        if home.exists():
            report(f"{peer.title}: exists already, in {home}")
            continue
        part = folder / f".{peer.key}.part"
        try:
            part.mkdir(parents=True)
            report(f"{peer.title}: installing {' '.join(peer.requirements)}")
            _install(peer, part)
            versions = _find_versions(peer, part)
            part.rename(home)
            report(f"{peer.title}: set up in {home}: {versions}")
        except (_SetupError, OSError) as error:
            complete = False
            report(f"{peer.title}: not set up: {error}")
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return complete


def _install(peer: Peer, home: Path) -> None:
    pip = [str(python_path(home)), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    for command in ([sys.executable, "-m", "venv", str(home)], [*pip, *peer.requirements]):
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            try:
                subprocess.run(  # noqa: S603 - our own
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=_INSTALL_LIMIT, check=True
                )
            except subprocess.SubprocessError as error:
                raise _SetupError(last_line(output, "ERROR:") or str(error)) from error


def _find_versions(peer: Peer, home: Path) -> str:
    """Play what was installed, and return the versions."""
    with contextlib.closing(PeerProcess(peer, home, CROWDS[:1])) as process:
        process.wait()
    if process.failed:
        raise _SetupError(process.messages[-1])
    return ", ".join(f"{package} {version}" for package, version in process.versions.items())
