"""How files name a game: by its name and a digest of its source, never by code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from multigrid._checks import shorten
from multigrid.core.games import make_table
from multigrid.game import Game, OtherGameError, describe
from multigrid.games._registry import find_named
from multigrid.runtime.digests import digest_functions


def name_game(game: type[Game]) -> dict[str, str]:
    """Return what a file says of a game; `find_stored` finds the game again."""
    return {"name": game.__name__, "digest": digest_game(game)}


def find_stored(stored: Any, game: type[Game] | None = None) -> type[Game] | None:
    """Return the game that a file names: the one that is passed, one of this package, or a registered one.

    None for a file without a game.

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
    for one in [game] if game is not None else find_named(name):
        versions[digest_game(one)] = one
    if not versions:
        raise OtherGameError(
            f"the world is of the game {name!r}; pass game={name}, or register it with multigrid.register"
        )
    if digest not in versions:
        found = f"{'the one here' if game is None else f'game={name}'} is version {', '.join(versions)}"
        raise OtherGameError(
            f"the world is of version {digest} of the game {name!r}, and {found}; use the version of the game that "
            "wrote it, or write it again"
        )
    return versions[digest]


def digest_game(game: type[Game]) -> str:
    """Return the version of a game, 16 characters: of its functions, what they reach, State, actions, parts, options.

    It is the same in each version of Python, in compiled and in interpreted mode. It changes with any edit of a file
    that has one of the functions, or of a value that they reach. Functions that no file has, such as those that were
    typed into an interpreter, are known by their bytecode, which each version of Python has in another form.
    """
    described = describe(game)
    rows = {name: (row.dtype.name, row.shape) for name, row in make_table(described).rows.items()}
    parts = {name: (np.dtype(part.dtype).name, *part[1:4]) for name, part in described.parts.items()}
    functions = [*described.functions.values(), *filter(None, [described.plain.get("prepare")])]
    declared = rows, parts, described.actions, list(described.functions)
    numbers = game.targets, game.moves, game.idle
    return digest_functions(functions, repr((*declared, *numbers)), is_key=False)
