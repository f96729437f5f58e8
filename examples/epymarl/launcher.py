"""Run EPyMARL on worlds of multigrid."""

from __future__ import annotations

import ast
import importlib
import json
import runpy
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium

from examples.epymarl.worlds import MaskedEnv
from multigrid._files import read_bytes

__all__ = ["main"]

_PACKAGE = "examples.epymarl"
_ENV = "multigrid"
_PREFIX = "env_args."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run EPyMARL's ``src/main.py`` on worlds of multigrid.

    Args:
        arguments: the folder of the checkout, and after it what EPyMARL takes; the command line by default.

    Raises:
        SystemExit: there is no checkout in the folder, or help is asked for.
        TypeError, OSError, ValueError: as `MaskedEnv`.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(f"{(sys.modules[_PACKAGE].__doc__ or '').strip()}\n")
        sys.exit(0 if given else 2)
    program = Path(given[0]).resolve() / "src" / "main.py"
    if not program.is_file():
        sys.exit(f"there is no {program}; expected the folder of a checkout of EPyMARL")
    # The modules of EPyMARL import one another by their names in src.
    sys.path.insert(0, str(program.parent))
    # EPyMARL imports SMAClite, which is on no package index, whatever environment it trains on.
    if find_spec("smaclite") is None:
        sys.modules["smaclite"] = ModuleType("smaclite")
    importlib.import_module("envs").REGISTRY[_ENV] = MaskedEnv
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = [str(program), *_replace_env_args(given[1:], program.parent, Path(folder))]
        runpy.run_path(str(program), run_name="__main__")


def _replace_env_args(words: list[str], source: Path, folder: Path) -> list[str]:
    """Return EPyMARL's arguments, with the environment's own in a file of settings in a folder.

    Sacred refuses arguments of an environment that no file of settings has, and those in EPyMARL have no fields of a
    `GridConfig`. With ``--env-config``, the arguments are left as they are.
    """
    if any(word.startswith("--env-config") for word in words):
        return words
    import yaml

    settings: dict[str, Any] = yaml.safe_load(read_bytes(source / "config" / "envs" / "gymma.yaml"))
    settings["env"] = _ENV
    args = {word[len(_PREFIX) :].partition("=")[0]: _read(word.partition("=")[2]) for word in words if _is_arg(word)}
    settings["env_args"] |= {"time_limit": _find_limit(args), **args}
    path = folder / f"{_ENV}.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    # EPyMARL adds the ending, and joins the name to a folder of its own, which an absolute path replaces.
    return [f"--env-config={path.with_suffix('')}", *(word for word in words if not _is_arg(word))]


def _is_arg(word: str) -> bool:
    return word.startswith(_PREFIX)


def _read(text: str) -> Any:
    """Return a value as sacred reads it: a literal of Python, or else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _find_limit(args: dict[str, Any]) -> int:
    """Return the `max_cycles` of the world that arguments of an environment describe."""
    key = str(args.get("key"))
    if key.startswith(f"{_PACKAGE}:"):
        given = {name: value for name, value in args.items() if name != "key"}
        if given.pop("time_limit", None) not in (None, given.get("max_cycles")):
            # gymma would cut episodes off before the world's own limit, as if they had terminated.
            sys.exit("env_args.time_limit is given with an id; expected env_args.max_cycles=... in its place")
        args = {**gymnasium.spec(key.removeprefix(f"{_PACKAGE}:")).kwargs, **given}
        args["key"] = args.pop("map_name", None)
    return MaskedEnv(**args).episode_limit
