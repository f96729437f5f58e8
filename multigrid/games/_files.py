"""Find the game that ``--game`` names, and load files of games, without a change of `sys.path`."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from multigrid._checks import find_nearest, shorten
from multigrid.game import Game, describe
from multigrid.games._registry import find

_FORMS = (
    "FILE.py:CLASS, MODULE:CLASS, or the id of a game, such as MiniGrid-Empty-8x8-v0 or one given to multigrid.register"
)


def find_game(word: str | None) -> tuple[type[Game] | None, dict[str, Any]]:
    """Return the game that ``--game`` names, and the fields and options that it was registered with.

    Without a word, they are None and no fields.

    Raises:
        OSError: there is no such file.
        TypeError, ValueError: the file or the module cannot be loaded, it has no such class, the class is no game, or
            there is no such id.
    """
    if word is None:
        return None, {}
    source, _, name = word.rpartition(":")
    if not source:
        if word.endswith(".py") or not word:
            raise ValueError(f"--game is {shorten(word)}, without a class; expected {_FORMS}")
        try:
            return find(word)
        except ValueError as error:
            raise ValueError(f"--game: {error}; expected {_FORMS}") from error
    module = _load_file(Path(source)) if source.endswith(".py") else _load_module(source)
    if not hasattr(module, name):
        found = {one: value for one, value in vars(module).items() if isinstance(value, type) and value is not Game}
        classes = [one for one, value in found.items() if issubclass(value, Game)]
        near = find_nearest(name, {one.lower(): one for one in classes}, 0.5)
        meant = next((f" (did you mean {one}?)" for one in classes if one.lower() == near), "")
        raise ValueError(f"{source} has no class {shorten(name)}{meant}; its games are {', '.join(classes) or 'none'}")
    game = getattr(module, name)
    if not isinstance(game, type) or not issubclass(game, Game):
        raise TypeError(f"{source} has {name}, which is no game; expected a subclass of multigrid.Game")
    try:
        describe(game)
    except (TypeError, ValueError) as error:
        raise type(error)(f"--game {word}: {error}") from error
    return game, {}


def game_flag(game: type[Game] | None) -> str:
    """Return a space and the flag that names a game, for a command that users may copy; nothing without a game."""
    if game is None:
        return ""
    where: str | Path = game.__module__
    if game.__module__.startswith(f"{__name__}."):
        where = Path(str(sys.modules[game.__module__].__file__))
        where = where.relative_to(Path.cwd()) if where.is_relative_to(Path.cwd()) else where
    return f" --game {shlex.quote(f'{where}:{game.__qualname__}')}"


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"--game is {path}:..., but there is no file {path}")
    try:
        return _import_file(path.resolve())
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise ValueError(f"{error.filename}, line {error.lineno}: {error.msg}: {shorten(line)}") from error
    except (Exception, SystemExit) as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename) == path.resolve()]
        where = f", line {frames[-1].lineno}: {frames[-1].line}" if frames else ""
        beside = "; files beside it are found only in PYTHONPATH" if isinstance(error, ImportError) else ""
        raise ValueError(f"{path} cannot be loaded{where}: {_shorten_error(error)}{beside}") from error


def _import_file(path: Path) -> ModuleType:
    """Return the module of a file, which is imported once."""
    name = f"{__name__}.{str(path).encode().hex()}"
    if name not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)  # there classes look it up while it runs
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        said = f"--game is {name}:..., but the module cannot be imported: {_shorten_error(error)}"
        raise ValueError(f"{said}; expected {_FORMS}") from error


def _shorten_error(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
