"""Games by ids, and the environments of those that are registered.

The ids and the keywords of rware 2.0.0, lbforaging 2.0.0 and minigrid 3.2.0 are those of games and fields of this
package, and there are ids for the layouts of overcooked_ai and of JaxMARL's OvercookedV2.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pkgutil
import re
from typing import Any

import gymnasium
import pettingzoo
from gymnasium.envs.registration import EnvSpec
from typing_extensions import Self

from multigrid._checks import check_name, find_nearest, list_names, shorten, unexpected_keywords
from multigrid.config import GridConfig
from multigrid.envs._factories import env as aec_env
from multigrid.envs._factories import parallel_env, vector_env
from multigrid.game import Game, describe

_GAMES: dict[str, tuple[type[Game], dict[str, Any]]] = {}
_MODULES = {
    "Foraging": "foraging",
    "Minigrid": "minigrid",
    "Overcooked": "overcooked",
    "OvercookedV2": "overcooked",
    "RoboticWarehouse": "robotic_warehouse",
}
"""The modules of the games of this package, by the names of the classes."""
_ONE_AGENT = "multigrid.games._one_agent:OneAgentEnv"
_ROWS_AND_COLUMNS = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}
_REQUESTS = {"": 1.0, "-easy": 2.0, "-hard": 0.5}
_REWARDS = {"indiv": "INDIVIDUAL", "global": "GLOBAL", "twostage": "TWO_STAGE"}
_OBSERVATIONS = {"": "FLATTENED", "-img": "IMAGE", "-imgdict": "IMAGE_DICT"}
# Longer numbers are of no world, and Python does not read the longest.
_WAREHOUSE = re.compile(
    r"rware(?P<seen>-img|-imgdict|)(?P<fixed>-Nd|)(?:-(?P<range>\d{1,18})s)?-"
    r"(?:(?P<size>tiny|small|medium|large)(?:-(?P<height>\d{1,18})h)?-(?P<agents>\d{1,18})ag(?P<level>-easy|-hard|)"
    r"|(?P<rows>\d{1,18})x(?P<columns>\d{1,18})-(?P<rack>\d{1,18})h-(?P<number>\d{1,18})ag-(?P<requests>\d{1,18})req-"
    r"(?P<reward>indiv|global|twostage))-v2",
    re.ASCII,
)
_FORAGING = re.compile(
    r"Foraging(?P<grid>-grid|)(?:-(?P<sight>\d{1,18})s)?-(?P<rows>\d{1,18})x(?P<columns>\d{1,18})-"
    r"(?P<players>\d{1,18})p-(?P<foods>\d{1,18})f(?P<coop>-coop|)-v3",
    re.ASCII,
)
_MINIGRID, _MINIGRID_ENVS = "MiniGrid-", "multigrid.games.minigrid._envs"
_OVERCOOKED = re.compile(r"Overcooked(?P<second>V2|)-(?P<layout>\w+)-v0", re.ASCII)
_NO_LIMITS = ("max_steps", "max_inactivity_steps")


class _GameName(str):
    """The name of a game, "MODULE:CLASS", which JSON takes; a copy or a pickle of it has the class as well."""

    __slots__ = ("game",)
    game: type[Game]

    def __new__(cls, game: type[Game]) -> Self:
        name = super().__new__(cls, f"{game.__module__}:{game.__qualname__}")
        name.game = game
        return name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.game,)


def register(game_id: str, game: type[Game], **options: Any) -> None:
    """Register a game under an id such as "KeyAndDoor-v0", with fields of `GridConfig` and its options as defaults.

    Then ``gymnasium.make("multigrid/KeyAndDoor-v0")`` works for one agent, and where PettingZoo has a registry, so does
    ``pettingzoo.make``. Registering an id again replaces its game. A spec, such as ``gymnasium.spec("multigrid/...")``,
    has the class and the options, so that another process can make the environment of a pickled one.

    Raises TypeError or ValueError for what is no id, no game, or no option of it.
    """
    _check_id(game_id)
    describe(game)
    make_config(game, options)
    full = f"multigrid/{game_id}"
    gymnasium.registry.pop(full, None)
    gymnasium.register(full, entry_point=_ONE_AGENT, kwargs={"game": _GameName(game), **options})
    _GAMES[game_id] = game, options
    if hasattr(pettingzoo, "register"):
        pettingzoo.parallel_registry.pop(full, None)
        pettingzoo.register("parallel", full, parallel_env, kwargs={"game": game, **options})
        pettingzoo.aec_registry.pop(full, None)
        pettingzoo.register("aec", full, aec_env, kwargs={"game": game, **options})


def _check_id(game_id: Any) -> None:
    expected = "expected an id without a namespace, such as 'KeyAndDoor-v0'"
    if not isinstance(game_id, str):
        raise TypeError(f"game_id is {shorten(game_id)} of type {type(game_id).__name__}; {expected}")
    if not re.fullmatch(r"[\w:.-]+", game_id, re.ASCII):
        raise ValueError(f"game_id is {shorten(game_id)}; {expected}, of ASCII letters, digits, _, :, . and -")


def find(game_id: str) -> tuple[type[Game], dict[str, Any]]:
    """Return a registered game, and its default keywords; raise ValueError for an unknown id."""
    found = _GAMES.get(game_id) or parse_id(str(game_id))
    if found is None:
        names = {name.lower(): name for name in (*_list_tuples(), *_list_minigrids(), *_GAMES)}
        near = find_nearest(str(game_id), names, 0.5)
        hint = f" (did you mean {names[near]!r}?)" if near else ""
        known = list_names(map(repr, _GAMES)) or "no game"
        raise ValueError(f"the game is {shorten(game_id)}{hint}; multigrid.register was called for {known}")
    return found


def load_game(name: str) -> type[Game]:
    """Return the game that a spec has, given its name; raise ValueError if there is no such class here."""
    games = {str(_GameName(game)): game for game in list_games()}
    if found := getattr(name, "game", games.get(name)):
        return found
    try:
        return pkgutil.resolve_name(name)  # type: ignore[no-any-return]
    except (ImportError, AttributeError, ValueError) as error:
        expected = "call multigrid.register with it first, or move it into a module that can be imported"
        raise ValueError(f"the game is {shorten(name)}, which is not here ({error}); {expected}") from error


def is_game(name: Any) -> bool:
    """Return whether a name is the id of a registered game, or that of an original."""
    return isinstance(name, str) and (name in _GAMES or parse_id(name) is not None)


def list_games() -> list[type[Game]]:
    """Return the registered games."""
    return [game for game, _ in _GAMES.values()]


def find_named(name: Any) -> list[type[Game]]:
    """Return the games whose class has a name: that of this package first, then those that are registered."""
    module = _MODULES.get(name) if isinstance(name, str) else None
    ours = [pkgutil.resolve_name(f"multigrid.games.{module}:{name}")] if module else []
    return [*ours, *(game for game in list_games() if game.__name__ == name)]


def make_config(game: type[Game], options: dict[str, Any]) -> GridConfig:
    """Return the configuration of a game, given fields of `GridConfig` and the game's options as keywords."""
    names = [*describe(game).options, *(field.name for field in dataclasses.fields(GridConfig))]
    if not options.keys() <= set(names):
        raise unexpected_keywords("GridConfig", options, names)
    own = describe(game).options.keys() & options.keys()
    fields = {name: value for name, value in options.items() if name not in own}
    values = {**(fields.pop("options", None) or {}), **{name: options[name] for name in own}}
    return GridConfig(game=game, options=values, **fields)


def add_game(config: Any, game: type[Game] | str) -> GridConfig:
    """Return a configuration with a game, a class or the id of a registered one, with its defaults in place of None.

    Raises TypeError for something else than a configuration without a game, and as `find`.
    """
    found, defaults = find(game) if isinstance(game, str) else (game, {})
    if config is None:
        return make_config(found, defaults)
    before: Any = getattr(config, "game", None)
    if not isinstance(config, GridConfig) or before is not None:
        what = f"of the game {before.__name__}" if before is not None else f"a {type(config).__name__}"
        raise TypeError(f"config is {what}, and game is {shorten(game)}; expected a GridConfig without a game, or None")
    own = {name: value for name, value in defaults.items() if name in (*describe(found).options, "options")}
    return dataclasses.replace(config, game=found, options=make_config(found, own).given["options"])


def find_config(game_id: str, **options: Any) -> GridConfig:
    """Return the configuration of a registered game, which every adapter takes; keywords are as for `parallel_env`.

    >>> find_config("Foraging-8x8-2p-2f-v3", players=3).num_agents
    3
    """
    game, keywords = find_keywords(game_id, options)
    return make_config(game, keywords)


def find_keywords(game_id: str, options: dict[str, Any]) -> tuple[type[Game], dict[str, Any]]:
    """Return a registered game, and fields and options of it, given keywords; raise as `find` and `translate`."""
    game, defaults = find(game_id)
    if defaults.get("options"):
        rest = {name: value for name, value in defaults["options"].items() if name not in options}
        defaults = {**defaults, "options": rest}
    return game, {**defaults, **(options if game_id in _GAMES else translate(game_id, options))}


def make_parallel(game_id: str, **options: Any) -> Any:
    """Return a PettingZoo ParallelEnv of a registered game, as `multigrid.parallel_env`.

    The ids of the packages rware, lbforaging and minigrid are registered, and their keywords are taken for those games.
    """
    game, keywords = find_keywords(game_id, _in_words(game_id) | options)
    return parallel_env(game=game, **keywords)


def make_aec(game_id: str, **options: Any) -> Any:
    """Return a PettingZoo AECEnv of a registered game, as `multigrid.env`."""
    game, keywords = find_keywords(game_id, _in_words(game_id) | options)
    return aec_env(game=game, **keywords)


def make_vector(game_id: str, num_worlds: int, **options: Any) -> Any:
    """Return many worlds of a registered game, as `multigrid.vector_env`."""
    game, keywords = find_keywords(game_id, options)
    return vector_env(num_worlds, game=game, **keywords)


def parse_id(game_id: str) -> tuple[type[Game], dict[str, Any]] | None:
    """Return the game and the fields and options of an original's id; None for another id."""
    if found := _WAREHOUSE.fullmatch(game_id):
        return _read_warehouse(found.groupdict())
    if found := _FORAGING.fullmatch(game_id):
        return _read_foraging(found.groupdict())
    if game_id.startswith(_MINIGRID) and game_id in (found_ids := _list_minigrids()):
        from multigrid.games.minigrid import Minigrid

        return Minigrid, found_ids[game_id]
    if found := _OVERCOOKED.fullmatch(game_id):
        from multigrid.games.overcooked import LAYOUTS, V2_LAYOUTS, Overcooked, OvercookedV2

        game, layouts = (OvercookedV2, V2_LAYOUTS) if found["second"] else (Overcooked, LAYOUTS)
        return (game, {"layout": found["layout"]}) if found["layout"] in layouts else None
    return None


def has_tuples(game_id: str) -> bool:
    """Return whether an id is that of an original other than minigrid, whose environments take tuples."""
    return parse_id(game_id) is not None and not game_id.startswith(_MINIGRID)


def _list_minigrids() -> dict[str, dict[str, Any]]:
    """Return the options of each id of minigrid."""
    from multigrid.games.minigrid._tasks import list_ids

    return {_MINIGRID + name: options for name, options in list_ids().items()}


def _in_words(game_id: Any) -> dict[str, Any]:
    """Return the options with which missions are words, for environments of one world; none in other games."""
    is_minigrid = isinstance(game_id, str) and game_id.startswith(_MINIGRID) and game_id not in _GAMES
    return {"mission": "text"} if is_minigrid else {}


def _read_warehouse(found: dict[str, str]) -> tuple[type[Game], dict[str, Any]]:
    from multigrid.games.robotic_warehouse import RoboticWarehouse

    options: dict[str, Any] = {
        "sensor_range": int(found["range"] or 1),
        "observation_type": _OBSERVATIONS[found["seen"]],
        "image_observation_directional": not found["fixed"],
    }
    if found["size"]:
        rows, columns = _ROWS_AND_COLUMNS[found["size"]]
        height, agents = int(found["height"] or 8), int(found["agents"])
        requests, reward = int(agents * _REQUESTS[found["level"]]), "INDIVIDUAL"
    else:
        rows, columns, height = int(found["rows"]), int(found["columns"]), int(found["rack"])
        agents, requests, reward = int(found["number"]), int(found["requests"]), _REWARDS[found["reward"]]
    options |= {"shelf_rows": rows, "shelf_columns": columns, "column_height": height}
    return RoboticWarehouse, options | {"num_agents": agents, "request_queue_size": requests, "reward_type": reward}


def _read_foraging(found: dict[str, str]) -> tuple[type[Game], dict[str, Any]]:
    from multigrid.games.foraging import Foraging

    rows, columns = int(found["rows"]), int(found["columns"])
    return Foraging, {
        "size": (columns, rows),
        "num_agents": int(found["players"]),
        "max_num_food": int(found["foods"]),
        "sight": int(found["sight"] or rows),
        "force_coop": bool(found["coop"]),
        "grid_observation": bool(found["grid"]),
    }


def _list_tuples() -> list[str]:
    """Return the ids of the originals other than minigrid that are registered with Gymnasium."""
    from multigrid.games.overcooked import LAYOUTS, V2_LAYOUTS

    warehouses = itertools.product(_ROWS_AND_COLUMNS, range(1, 20), _REQUESTS)
    fields = itertools.product(("", "-2s"), range(5, 20), range(2, 10), range(1, 5), ("", "-coop"))
    ids = [f"rware-{size}-{agents}ag{level}-v2" for size, agents, level in warehouses]
    ids += [f"Foraging{sight}-{n}x{n}-{players}p-{foods}f{coop}-v3" for sight, n, players, foods, coop in fields]
    ids += [f"Overcooked-{name}-v0" for name in LAYOUTS]
    return ids + [f"OvercookedV2-{name}-v0" for name in V2_LAYOUTS]


def register_originals() -> None:
    """Register the ids of the originals with Gymnasium, except those that are registered already."""
    # Not by `gymnasium.register`, which looks at all ids for each, and not each by `EnvSpec`, which parses its id.
    tuples = EnvSpec("multigrid/tuples-v0", "multigrid.games._tuple_env:TupleEnv", disable_env_checker=True)
    for game_id in _list_tuples():
        spec = copy.copy(tuples)
        spec.id, spec.name, spec.version = f"multigrid/{game_id}", game_id[:-3], int(game_id[-1])
        spec.kwargs = {"game_id": game_id}
        gymnasium.registry.setdefault(spec.id, spec)
    for game_id in _list_minigrids():
        spec = EnvSpec(f"multigrid/{game_id}", f"{_MINIGRID_ENVS}:MinigridEnv", kwargs={"game_id": game_id})
        spec.vector_entry_point = f"{_MINIGRID_ENVS}:MinigridVectorEnv"
        # Under the same name, Gymnasium would warn that a first version, which is another task, is out of date.
        spec.name = game_id
        gymnasium.registry.setdefault(spec.id, spec)


def translate(game_id: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return fields and options in place of the keywords of the originals; raise TypeError for one that comes twice."""
    names = {"max_steps": "max_cycles"}
    if not game_id.startswith(_MINIGRID):
        options = {name: 0 if name in _NO_LIMITS and value is None else value for name, value in options.items()}
        names = {"n_agents": "num_agents", "players": "num_agents", "field_size": "size"}
    else:
        options = {name: value for name, value in options.items() if name != "max_steps" or value is not None}
        if "reward" in options and check_name("reward", options["reward"], ("individual", "shared", "all")) == "all":
            options |= {"reward": "individual", "pays_all": True}
    for theirs, ours in names.items():
        if theirs in options:
            value = options.pop(theirs)
            if ours in options:
                raise TypeError(f"both {theirs} and {ours} were given; expected one of them")
            if theirs == "field_size":
                if not isinstance(value, tuple | list) or len(value) != 2:
                    raise TypeError(f"field_size is {shorten(value)}; expected (rows, columns)")
                value = tuple(value)[::-1]
            options[ours] = value
    return options
