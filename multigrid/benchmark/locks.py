"""Locks of open files, so that one process at a time writes; the system frees them when the process ends."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt

    _FAR = 2**30

    def _lock(descriptor: int) -> None:
        # The locked byte lies behind all rows: others could not read it.
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

    _IS_TAKEN: type[OSError] = PermissionError

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _IS_TAKEN = BlockingIOError


def try_lock(descriptor: int) -> bool:
    """Lock an open file, until it is closed, and return whether no other process, or descriptor, has locked it.

    On file systems without locks nothing is locked, and the answer is True.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file, open(file.name, "rb") as again:
    ...     try_lock(file.fileno()), try_lock(again.fileno())
    (True, False)
    """
    try:
        _lock(descriptor)
    except _IS_TAKEN:
        return False
    except OSError:
        return True
    return True
