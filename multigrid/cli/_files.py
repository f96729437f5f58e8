"""Write the folders and files of a run; each appears under its name when it is complete."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from multigrid._files import create_folder, replace_file


def make_folder(folder: Path | None, parent: str = "runs") -> Path:
    """Create and return a new folder: `folder`, or ``PARENT/DATE-TIME``, with a number appended if that exists."""
    if folder is not None:
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


def check_writable(flag: str, folder: Path | None, *names: str, parent: str = "") -> None:
    """Raise an OSError that names a flag if these files cannot be created in a folder, whether or not it exists."""
    path = Path(parent, date_names()[0]) if folder is None else folder
    try:
        # Without "..", which leads out of the temporary folder.
        whole = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` fails for names that are too long
        there = next(one for one in (whole, *whole.parents) if os.path.lexists(one))
        with tempfile.TemporaryDirectory(prefix=".", dir=there) as temporary:
            inside = temporary / whole.relative_to(there)
            inside.mkdir(parents=True, exist_ok=True)
            for name in names:
                (inside / name).touch()
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        shown = Path(path, names[0]) if names else path
        raise OSError(f"{shown} cannot be written: {reason}; name another with {flag}") from error


class WriteErrors(list[str]):
    """Collects what could not be written, so that the other files of a run are not lost."""

    @contextlib.contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """Note an error of the block, with the name of the file that it writes; signals and Ctrl-C are raised."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - libraries for films and figures raise errors of any kind
            self.append(f"{name} ({error})")

    def __str__(self) -> str:
        return ", ".join(self)


def date_names() -> list[str]:
    """Return the default names DATE-TIME, DATE-TIME-2, DATE-TIME-3 and so on, in order of preference."""
    name = dt.datetime.now(tz=dt.timezone.utc).astimezone().strftime("%Y%m%d-%H%M%S")
    return [name, *(f"{name}-{number}" for number in range(2, 1000))]


@contextlib.contextmanager
def staged_folder(folder: Path | None, parent: str) -> Iterator[tuple[Path, Path]]:
    """Yield a hidden folder and a new destination, to which it is renamed at the end; an error removes both."""
    check_new(folder)
    # Without a given name the folder is created at once, so that no other process takes the name.
    destination = make_folder(None, parent) if folder is None else folder
    try:
        with create_folder(destination) as stage:
            yield stage, destination
    except BaseException:
        if folder is None:
            # rmdir() fails if another process has written to the folder, which then stays.
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
