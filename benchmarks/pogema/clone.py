"""The files of a clone of the POGEMA benchmark's repository, checked against SHA-256 sums.

The clone is that of CognitiveAISystems/pogema-benchmark at commit 3303133. Its newest commit has no files, so this one
has to be checked out. ``pogema.sha256``, beside this module, lists the files that are read, with their sums, in the
form of ``sha256sum``: ``sha256sum -c`` with this list checks a clone, too.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from multigrid._files import read_bytes
from multigrid.integrations.extras import missing_library

REPOSITORY = "CognitiveAISystems/pogema-benchmark"
"""The repository, on GitHub."""
COMMIT = "3303133"
"""The commit with the files."""

_SUMS = Path(__file__).with_name("pogema.sha256")
# Reading a list of cells as YAML takes fifty times as long as reading it as JSON, which such a list is as well.
_CELLS = re.compile(r"^( +(?:agents|targets)_xy: )(\[[\[\]\d,\s]*\])$", re.MULTILINE)


class DataError(ValueError):
    """A file of the benchmark is missing, or is not as expected; the message names it."""


def known_sums() -> dict[str, str]:
    """Return the SHA-256 sum of each file that is read, by its path within the clone."""
    return read_sums(_SUMS)


def read_sums(file: Path) -> dict[str, str]:
    """Return the sums in a file of the form of ``sha256sum``, by path."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {path: digits for digits, path in (line.split(maxsplit=1) for line in lines)}


@dataclasses.dataclass(frozen=True)
class Clone:
    """A clone of the repository; without `check`, other files of the same form are read as well."""

    folder: Path
    check: bool = True

    @property
    def sums(self) -> dict[str, str]:
        """The SHA-256 sum of each file that is read, by its path."""
        return known_sums()

    @property
    def wanted(self) -> str:
        """Which clone is expected."""
        checkout = f"`git checkout {COMMIT}`: the newest commit has no files"
        return f"expected a clone of {REPOSITORY} at commit {COMMIT} ({checkout})"

    def read_yaml(self, path: str) -> Any:
        """Return the content of a YAML file."""
        try:
            import yaml
        except ModuleNotFoundError as error:
            raise missing_library("benchmarks.pogema", error, "benchmark") from error
        text = self.read_text(path)
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            text = _CELLS.sub(r"\1'\2'", text)
            # Nested aliases may stand for more than fits into memory. No file with a known sum has them.
            has_alias = not self.check and any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, loader))
            content = None if has_alias else _parse_cells(yaml.load(text, Loader=loader))  # noqa: S506 - a safe loader
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise self.error(path, f"is no YAML of the expected form: {' '.join(str(error).split())}") from error
        if has_alias:
            raise self.error(path, "has an alias (*NAME), which may stand for more than fits into memory; write it out")
        return content

    def error(self, path: str, what: str) -> DataError:
        """Return the error for a file, which names the file and the clone that is expected."""
        return DataError(f"{self.folder / path} {what}; {self.wanted}")

    def check_folder(self) -> None:
        """Raise a DataError unless the folder has the form of a clone."""
        if not (self.folder / "algorithms").is_dir():
            what = "has no folder `algorithms`" if self.folder.is_dir() else "is no folder"
            raise DataError(f"{self.folder} {what}; {self.wanted}")

    def read_json(self, path: str) -> Any:
        """Return the content of a JSON file."""
        try:
            return json.loads(self.read_text(path))
        except (json.JSONDecodeError, RecursionError) as error:
            raise self.error(path, f"is no JSON: {error}") from error

    def read_text(self, path: str) -> str:
        """Return the content of a file as text."""
        self.check_folder()
        try:
            content = read_bytes(self.folder / path)
        except FileNotFoundError as error:
            raise self.error(path, "is missing") from error
        except (OSError, ValueError) as error:
            raise self.error(path, f"cannot be read: {error}") from error
        if self.check:
            known, digits = self.sums.get(path), hashlib.sha256(content).hexdigest()
            if digits != known:
                sums = f"its SHA-256 sum is {digits[:12]}..., not {str(known)[:12]}..."
                raise self.error(path, f"differs from the file of the repository: {sums}{_guess_cause(content, known)}")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise self.error(path, f"is no text: {error}") from error


def _guess_cause(content: bytes, known: str | None) -> str:
    if content.startswith(b"version https://git-lfs"):
        return "; it is a pointer of Git LFS, which `git lfs pull` replaces by the file"
    if hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest() == known:
        return "; its line ends were converted, which `git clone -c core.autocrlf=false` does not do"
    return ""


def _parse_cells(content: Any) -> Any:
    """Replace the texts in scenarios that are lists of cells by these lists."""
    scenarios = content.get("scenarios") if isinstance(content, dict) else None
    for scenario in scenarios.values() if isinstance(scenarios, dict) else ():
        for key, value in scenario.items() if isinstance(scenario, dict) else ():
            if str(key).endswith("_xy") and isinstance(value, str):
                scenario[key] = json.loads(value)
    return content
