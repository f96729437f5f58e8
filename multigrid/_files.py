"""Write files completely or not at all, read them up to a limit, and name them."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 2**27
"""The size of the largest file that is read, 128 MiB: enough for ten million cells, or steps of agents."""

_KEPT_LETTERS = 24
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}(\..*)?")


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield the path of an empty temporary file beside `path`, which replaces it at the end if no error is raised.

    A reader always finds a complete file, old or new, also when several processes write to one path, when the disk is
    full, or when the writer is killed. A killed writer leaves at most a hidden file with a unique name. The file is
    flushed to the disk before it is renamed. A symbolic link at `path` is replaced; its target is unchanged.

    Raises:
        OSError: `path` exists and is not a regular file, or the file cannot be written; `path` is unchanged.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path} exists and is not a regular file; expected a new name, or that of a file to replace")
    temporary = _beside(path, path.suffix)
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        # The writer may have replaced it. It may be read-only, but on Windows, fsync needs a file open for writing.
        with temporary.open("rb+" if os.name == "nt" else "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def create_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary folder, which is renamed to `path` if no error is raised.

    A killed process leaves at most a hidden folder with a unique name. An empty folder at `path` is replaced.

    Raises:
        FileExistsError: `path` exists and is not an empty folder; it is left unchanged.
        OSError: a folder of this name cannot be created; raised before the path is yielded.
    """
    with contextlib.suppress(FileNotFoundError):
        path.lstat()  # a name that is too long is refused now, not at the end
    temporary = _beside(path, ".part")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        _move_folder(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _beside(path: Path, suffix: str) -> Path:
    # Shortened, for the name of `path` may be as long as the file system permits.
    return path.with_name(f".{path.stem[:_KEPT_LETTERS]}.{secrets.token_hex(8)}{suffix[:_KEPT_LETTERS]}")


def remove_unfinished(folder: Path) -> None:
    """Remove what `replace_file` and `create_folder` of killed processes left; nobody may write there meanwhile."""
    for path in folder.glob(".*"):
        if _TEMPORARY.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)  # does nothing to a file, or to a link
            with contextlib.suppress(OSError):
                path.unlink()


def _move_folder(folder: Path, path: Path) -> None:
    if os.name == "nt":
        # Elsewhere an empty folder is replaced in one step.
        with contextlib.suppress(OSError):
            path.rmdir()
    try:
        folder.rename(path)
    except OSError as error:
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists already and is left alone; name another folder") from error
        raise


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file, up to `MOST_BYTES`."""
    with open_file(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES} bytes, the largest size that is read")
    return content


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading, if it is a regular one: reading a pipe or a device may never end."""
    # Without this flag, opening a pipe waits for a writer. Windows has neither the flag nor such pipes.
    at_once = getattr(os, "O_NONBLOCK", 0)
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once))  # noqa: SIM115 - is returned
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ValueError(f"{path} is not a regular file; expected one, not a pipe, a device or a socket")


def path_parts(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the parts of a path, the last one without its suffix if there is a file at the path.

    >>> path_parts("suite/maze-9x7.2")
    ('suite', 'maze-9x7.2')
    """
    path = Path(path)
    if not path.is_file():
        return path.parts or (str(path),)
    # Not `resolve`: a link has a name of its own.
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - see above
    return whole.relative_to(whole.anchor).with_suffix("").parts


def distinguish_paths(one: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    """Return distinct names of two paths: the fewest last parts that differ, or of equal paths the last part, numbered.

    >>> distinguish_paths(("runs", "pibt", "maze"), ("runs", "learned", "maze"))
    ('pibt/maze', 'learned/maze')
    >>> distinguish_paths(("maze",), ("maze",))
    ('maze (1)', 'maze (2)')
    """
    for length in range(1, max(len(one), len(other)) + 1):
        names = "/".join(one[-length:]), "/".join(other[-length:])
        if names[0] != names[1]:
            return names
    return f"{one[-1]} (1)", f"{other[-1]} (2)"
