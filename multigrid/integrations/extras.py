"""Find the versions of libraries, and tell how to install missing ones, which are optional (extras)."""

from __future__ import annotations

import contextlib
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["exit_without", "install_command", "list_versions", "missing_library"]

_NAME = "multigrid-marl"


def install_command(extra: str, package: Path | None = None) -> str:
    """Return the command that installs an extra of this package from its origin: a checkout, file, repository or index.

    Args:
        extra: a name in pyproject.toml, such as "train".
        package: the folder of the package; None is that of the running one.

    >>> install_command("train").startswith("pip install ")
    True
    """
    root = (Path(__file__).parents[1] if package is None else package).resolve().parent
    if (root / "pyproject.toml").is_file():
        return f'pip install -e "{"." if root == Path.cwd() else root}[{extra}]"'
    import json
    from importlib import metadata

    written = None
    with contextlib.suppress(metadata.PackageNotFoundError):
        written = metadata.distribution(_NAME).read_text("direct_url.json")
    if written is None:
        return f'pip install "{_NAME}[{extra}]"'
    origin = json.loads(written)
    address, repository = origin["url"], origin.get("vcs_info")
    if repository is not None:
        address = f"{repository['vcs']}+{address}@{repository['commit_id']}"
    return f'pip install "{_NAME}[{extra}] @ {address}"'


def missing_library(module: str, error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """Return the error for a module that cannot be imported because a library of an extra is missing.

    >>> print(missing_library("multigrid.integrations.sb3", ModuleNotFoundError(name="torch"), "train"))
    ... # doctest: +ELLIPSIS
    multigrid.integrations.sb3 needs torch, which is not installed: pip install ...
    """
    library, command = (error.name or "a library").partition(".")[0], install_command(extra)
    return ModuleNotFoundError(f"{module} needs {library}, which is not installed: {command}", name=error.name)


def exit_without(*libraries: str, text: str | None) -> None:
    """Print a text and end the program if one of these libraries is not installed.

    Args:
        libraries: the names of their modules.
        text: what the program does, and what to install.

    Raises:
        SystemExit: a library is missing; 0 if the command line asks for help, 1 if not.

    >>> exit_without("json", "numpy", text="Needs NumPy.")
    """
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        sys.stdout.write(f"{(text or '').strip()}\n")
        asked = {"-h", "--help"} & set(sys.argv[1:])
        sys.exit(0 if asked else f"not installed: {', '.join(missing)}")


def list_versions(*distributions: str) -> dict[str, str]:
    """Return the versions of the distributions that are installed, by name.

    >>> list(list_versions("numpy", "no-such-distribution"))
    ['numpy']
    """
    from importlib import metadata

    versions = {}
    for name in distributions:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions
