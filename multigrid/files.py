"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replaced"]


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a temporary path beside the file, which takes the file's place if all went well.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced(Path(folder) / "notes.txt") as temporary:
    ...         _ = temporary.write_text("all or nothing")
    ...     [path.name for path in Path(folder).iterdir()]
    ['notes.txt']
    """
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
