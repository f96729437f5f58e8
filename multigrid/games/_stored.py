"""How files name a game: by its name and a digest of its source, never by code."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from multigrid._checks import shorten
from multigrid.core.games import make_table
from multigrid.game import Game, OtherGameError, describe
from multigrid.games._registry import list_games
from multigrid.runtime.users import Digest, digest_functions

# Their functions are known by their names.
_LIBRARIES = ("multigrid", "numba", "numpy")
_DIGESTS: dict[type[Game], str] = {}
# The fields of a syntax tree that change nothing that a function computes.
_NO_EFFECT = ("annotation", "ctx", "decorator_list", "kind", "returns", "type_comment", "type_params")


def name_game(game: type[Game]) -> dict[str, str]:
    """Return what a file says of a game; `find_stored` finds the game again."""
    return {"name": game.__name__, "digest": digest_game(game)}


def find_stored(stored: Any, game: type[Game] | None = None) -> type[Game] | None:
    """Return the game that a file names: the one that is passed, or a registered one; None for a file without a game.

    Raises:
        TypeError: `game` is no subclass of `multigrid.Game`.
        OtherGameError: there is no such game, or only in another version.
        ValueError: `stored` is not what `name_game` returned.
    """
    if game is not None:
        describe(game)
    if stored is None:
        if game is not None:
            raise OtherGameError(f"the world is of no game, and game is {game.__name__}; leave out game")
        return None
    name, digest = (stored.get(key) if isinstance(stored, dict) else None for key in ("name", "digest"))
    if not re.fullmatch(r"\w{1,100} [0-9a-f]{16}", f"{name} {digest}") or len(stored) != 2:
        raise ValueError(f"game is {shorten(stored)}; expected a name and a digest")
    if game is not None and game.__name__ != name:
        raise OtherGameError(f"the world is of the game {name!r}, and game is {game.__name__}; pass game={name}")
    versions = {}
    for one in [game] if game is not None else [one for one in list_games() if one.__name__ == name]:
        versions[digest_game(one)] = one
    if not versions:
        raise OtherGameError(
            f"the world is of the game {name!r}; pass game={name}, or register it with multigrid.register"
        )
    if digest not in versions:
        found = f"{'the registered ' if game is None else 'game='}{name} is version {', '.join(versions)}"
        raise OtherGameError(
            f"the world is of version {digest} of the game {name!r}, and {found}; use the version of the game that "
            "wrote it, or write it again"
        )
    return versions[digest]


def digest_game(game: type[Game]) -> str:
    """Return the version of a game, 16 characters: of its functions, what they reach, State, actions, parts, options.

    It is the same in each version of Python, in compiled and in interpreted mode, and after an edit of comments,
    docstrings, annotations, defaults of options, or `marks`. Functions whose source cannot be read, such as those that
    were typed into an interpreter, or are no longer in their file, are known by their bytecode, which each version of
    Python has in another form.
    """
    if game not in _DIGESTS:
        _DIGESTS[game] = _digest(game)
    return _DIGESTS[game]


def _digest(game: type[Game]) -> str:
    described = describe(game)
    rows = {name: (row.dtype.name, row.shape) for name, row in make_table(described).rows.items()}
    parts = {name: (np.dtype(part.dtype).name, *part[1:4]) for name, part in described.parts.items()}
    digest = _SourceDigest(repr((rows, parts, described.actions, game.targets, list(described.functions))))
    for function in described.functions.values():
        digest.add(function)
    return digest.hash.hexdigest()[:16]


class _SourceDigest(Digest):
    """A digest that reads functions as syntax trees."""

    def add_function(self, function: types.FunctionType) -> None:
        """Add the tree of a function, and what it reaches; of one of a library its name."""
        if _is_library(function.__module__):
            self.write(function.__name__)
            return
        tree = _parse(function)
        if tree is None:
            self.write(digest_functions([function]))
            return
        stored = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        stored |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
        scope = dict(inspect.getclosurevars(function).nonlocals)
        scope = {name: value for name, value in {**function.__globals__, **scope}.items() if name not in stored}
        self._add_tree(tree, scope)
        self.add(function.__defaults__)

    def _add_tree(self, node: Any, scope: Mapping[str, Any]) -> None:
        if isinstance(node, ast.AST):
            self.write(type(node).__name__)
            for name, value in ast.iter_fields(node):
                # Versions of Python differ in the fields that a tree has without a value.
                if name not in _NO_EFFECT and value is not None and value != []:
                    self.write(name)
                    self._add_tree(value, scope)
            found = _resolve(node, scope)
            if found is not None:
                self.add(found)
        elif isinstance(node, list):
            rest = [one for one in node if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
            self.write(f"{len(rest)}")
            for one in rest:
                self._add_tree(one, scope)
        else:
            self.write(f"{type(node).__name__} {node!r}")


def _parse(function: types.FunctionType) -> ast.AST | None:
    """Return the syntax tree of a function, or of all lambdas of its line; None if no source gives its code."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    nodes, codes = _compile("".join(linecache.getlines(file, function.__globals__)))
    # The file may have been edited since it was imported.
    found = codes.get(_read_code(function.__code__))
    return None if found is None else ast.Module(nodes.get(found, []), [])


@functools.lru_cache(16)
def _compile(text: str) -> tuple[dict[tuple[str, int], list[Any]], dict[Any, tuple[str, int]]]:
    """Return the functions of a module by name and line, and these by what `_read_code` returns of their code."""
    nodes: dict[tuple[str, int], list[Any]] = {}
    try:
        tree, codes = ast.parse(text), [compile(text, "", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            line = min(one.lineno for one in (node, *getattr(node, "decorator_list", ())))
            nodes.setdefault((getattr(node, "name", "<lambda>"), line), []).append(node)
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return nodes, {_read_code(code): (code.co_name, code.co_firstlineno) for code in codes}


def _read_code(code: types.CodeType) -> tuple[Any, ...]:
    """Return what code does: its instructions, names and constants, without places in files."""
    constants = (_read_code(one) if isinstance(one, types.CodeType) else repr(one) for one in code.co_consts)
    return code.co_name, code.co_code, code.co_names, code.co_varnames, tuple(constants)


def _resolve(node: ast.AST, scope: Mapping[str, Any]) -> Any:
    """Return the value of a name, or of an attribute of a module or a class; None for what only a call knows."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, scope)
        return getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType | type) else None
    return None


def _is_library(module: str) -> bool:
    # The files of games that the command line loads are modules of the package.
    return module.partition(".")[0] in _LIBRARIES and not module.startswith("multigrid.games._files.")
