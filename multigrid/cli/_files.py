"""Write the folders and files of a run; each appears under its name when it is complete."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multigrid._files import create_folder, replace_file

__all__ = ["check_new", "date_names", "make_folder", "staged_folder", "write_json", "write_rows"]


def make_folder(folder: Path | None, parent: str = "runs") -> Path:
    """Create and return a new folder: `folder`, or ``PARENT/DATE-TIME``, with a number appended if that exists.

    Raises:
        FileExistsError: `folder` exists; nothing in it is changed.
    """
    if folder is not None:
        check_new(folder)
        folder.mkdir(parents=True)
        return folder
    for name in date_names():
        with contextlib.suppress(FileExistsError):
            (Path(parent) / name).mkdir(parents=True)
            return Path(parent) / name
    raise FileExistsError(f"{parent}/{name} and all names before it are taken; name a folder")


def check_new(folder: Path | None) -> None:
    """Raise a FileExistsError if `folder` is not None and exists."""
    if folder is not None and os.path.lexists(folder):
        raise FileExistsError(f"{folder} exists already and is left alone; name another folder")


def date_names() -> list[str]:
    """Return the default names DATE-TIME, DATE-TIME-2, DATE-TIME-3 and so on, in order of preference."""
    name = dt.datetime.now(tz=dt.timezone.utc).astimezone().strftime("%Y%m%d-%H%M%S")
    return [name, *(f"{name}-{number}" for number in range(2, 1000))]


@contextlib.contextmanager
def staged_folder(folder: Path | None, parent: str) -> Iterator[tuple[Path, Path]]:
    """Yield a hidden folder to write to and its destination, and rename the one to the other at the end.

    After an exception neither exists.

    Args:
        folder: the destination, which must not exist; None names one in `parent`, as `make_folder` does.
        parent: the parent folder of a destination without a given name.

    Raises:
        FileExistsError: the destination exists, at the beginning or at the end; nothing in it is changed.
    """
    check_new(folder)
    # Created at once if no name is given, so that no other process takes the same name.
    destination = make_folder(None, parent) if folder is None else folder
    try:
        with create_folder(destination) as stage:
            yield stage, destination
    except BaseException:
        if folder is None:
            # rmdir() fails, and the folder stays, if another process has written to it.
            with contextlib.suppress(OSError):
                destination.rmdir()
        raise


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON."""
    with replace_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV with a header line, even if there are no rows."""
    with replace_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns)
        writer.writeheader()
        writer.writerows(rows)
