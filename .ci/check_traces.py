"""Check that a wheel does not say where it was built, and holds nothing that tests the package.

Usage: python .ci/check_traces.py WHEEL...
"""

import os
import platform
import re
import sys
import tempfile
import zipfile
from pathlib import Path

TESTS = re.compile(r"(^|/)(tests?|conftest\.py|test_[^/]*|[^/]*_test\.py)(/|$)")
# Folders of users and of builds, on the three systems.
FOLDERS = re.compile(rb"/(?:home|root|tmp|Users|private/var|github/workspace)/\w|[A-Za-z]:[\\/](?:Users|a)[\\/]")
SHORTEST = 4  # letters of a machine's name that is looked for


def list_traces() -> list[bytes]:
    """Return texts that this machine leaves: the folders of the tree, the user and temporary files, and its name."""
    folders = [Path(__file__).resolve().parents[1], Path.home(), Path(tempfile.gettempdir()).resolve()]
    texts = [os.fsencode(folder) + os.sep.encode() for folder in folders if len(folder.parts) > 1]
    return texts + [name.encode() for name in (platform.node(),) if len(name) >= SHORTEST and name != "localhost"]


def find_traces(wheel: Path, texts: list[bytes]) -> list[str]:
    """Return a sentence for each file of a wheel that holds one of some texts, or a test."""
    found = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            found += [f"{name} holds {text.decode(errors='replace')}" for text in texts if text in content]
            found += [f"{name} holds {text[0]!r}" for text in [FOLDERS.search(content)] if text]
            found += [f"{name} is a test"] if TESTS.search(name) else []
    return found


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if traces := find_traces(Path(argument), list_traces()):
            sys.exit("\n".join((f"{Path(argument).name}:", *traces)))
        print(f"{Path(argument).name}: no test, and no trace of the machine")
