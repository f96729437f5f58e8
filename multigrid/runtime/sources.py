"""The files that the kernels are compiled from, and their digest, which differs after a change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def list_sources() -> list[Path]:
    """Return the files that the kernels of the game depend on, including those of the constants that they import."""
    package = Path(__file__).parents[1]
    kernels = (path for folder in ("runtime", "core") for path in sorted((package / folder).glob("*.py")))
    others = "actions.py", "game.py", "parts.py", "_checks.py"
    maps = (package / "maps" / f"_{name}.py" for name in ("cells", "drawn", "generators"))
    return [*kernels, *(package / name for name in others), *maps]


def digest_sources(sources: Iterable[Path]) -> str:
    """Return a digest of files, 16 characters; "" if one cannot be read, as in a zip file."""
    try:
        # Each with its own digest, so that moving text from one file to the next is a change.
        digests = (f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in sources)
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]
    except OSError:
        return ""
