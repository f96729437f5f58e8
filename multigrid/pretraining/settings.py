"""The settings of a training, which are equal in all calls for its folder."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from multigrid._files import read_bytes, replace_file

__all__ = ["check_settings"]


def check_settings(settings: Any, file: Path) -> None:
    """Write settings to a JSON file; if there is one, compare them with it.

    Args:
        settings: a dataclass.
        file: in the folder of the training, which is made if there is none.

    Raises:
        ValueError: the file has other settings; the message names those that differ.
        OSError: the file cannot be written.
    """
    own = json.loads(json.dumps(dataclasses.asdict(settings)))
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as temporary:
            temporary.write_text(json.dumps(own, indent=2) + "\n")
    known = json.loads(read_bytes(file))
    if differing := [name for name in own if own[name] != known.get(name)]:
        there, here = (", and ".join(f"{k}={part.get(k)}" for k in differing) for part in (known, own))
        raise ValueError(
            f"{file.parent} has a training with {there}; got {here}; expected equal settings or another folder"
        )
