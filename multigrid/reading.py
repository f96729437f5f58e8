"""Files that somebody hands over, read up to a bound."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["MOST_BYTES", "bytes_of"]

MOST_BYTES = 2**27
"""The size of the largest file that is read, 128 MiB: more than ten million agent-steps, or cells, take."""


def bytes_of(path: Path) -> bytes:
    """Return what is in a file.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is larger than `MOST_BYTES`, or no regular file but a pipe or a device, which may never end. The
            message names the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "notes.txt").write_text("short")
    ...     bytes_of(Path(folder) / "notes.txt")
    b'short'
    """
    with open(path, "rb", opener=_opened_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no regular file; expected one, not a pipe, a device or a socket")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES} bytes; expected at most so many")
    return content


def _opened_at_once(path: str, flags: int) -> int:
    # Without this flag, opening a pipe waits for somebody who writes to it. Windows lacks both.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
