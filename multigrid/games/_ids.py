"""The ids and the keywords of rware 2.0.0 and lbforaging 2.0.0, and the games and fields that they stand for."""

from __future__ import annotations

import copy
import itertools
import re
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from multigrid._checks import shorten

if TYPE_CHECKING:
    from multigrid.game import Game

_ROWS_AND_COLUMNS = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}
_REQUESTS = {"": 1.0, "-easy": 2.0, "-hard": 0.5}
_REWARDS = {"indiv": "INDIVIDUAL", "global": "GLOBAL", "twostage": "TWO_STAGE"}
_OBSERVATIONS = {"": "FLATTENED", "-img": "IMAGE", "-imgdict": "IMAGE_DICT"}
_WAREHOUSE = re.compile(
    r"rware(?P<seen>-img|-imgdict|)(?P<fixed>-Nd|)(?:-(?P<range>\d+)s)?-"
    r"(?:(?P<size>tiny|small|medium|large)(?:-(?P<height>\d+)h)?-(?P<agents>\d+)ag(?P<level>-easy|-hard|)"
    r"|(?P<rows>\d+)x(?P<columns>\d+)-(?P<rack>\d+)h-(?P<number>\d+)ag-(?P<requests>\d+)req-"
    r"(?P<reward>indiv|global|twostage))-v2",
    re.ASCII,
)
_FORAGING = re.compile(
    r"Foraging(?P<grid>-grid|)(?:-(?P<sight>\d+)s)?-(?P<rows>\d+)x(?P<columns>\d+)-(?P<players>\d+)p-(?P<foods>\d+)f"
    r"(?P<coop>-coop|)-v3",
    re.ASCII,
)
_NO_LIMITS = ("max_steps", "max_inactivity_steps")


def parse_id(game_id: str) -> tuple[type[Game], dict[str, Any]] | None:
    """Return the game and the fields and options of an original's id; None for another id."""
    if found := _WAREHOUSE.fullmatch(game_id):
        return _read_warehouse(found.groupdict())
    if found := _FORAGING.fullmatch(game_id):
        return _read_foraging(found.groupdict())
    return None


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


def register_originals() -> None:
    """Register the ids of rware 2.0.0 and lbforaging 2.0.0 with Gymnasium, except those that are registered already."""
    warehouses = itertools.product(_ROWS_AND_COLUMNS, range(1, 20), _REQUESTS)
    fields = itertools.product(("", "-2s"), range(5, 20), range(2, 10), range(1, 5), ("", "-coop"))
    ids = [f"rware-{size}-{agents}ag{level}-v2" for size, agents, level in warehouses]
    ids += [f"Foraging{sight}-{n}x{n}-{players}p-{foods}f{coop}-v3" for sight, n, players, foods, coop in fields]
    # Not by `gymnasium.register`, which looks at all ids for each, and not each by `EnvSpec`, which parses its id.
    tuples = EnvSpec("multigrid/tuples-v0", "multigrid.games._tuple_env:TupleEnv", disable_env_checker=True)
    for game_id in ids:
        spec = copy.copy(tuples)
        spec.id, spec.name, spec.version = f"multigrid/{game_id}", game_id[:-3], int(game_id[-1])
        spec.kwargs = {"game_id": game_id}
        gymnasium.registry.setdefault(spec.id, spec)


def translate(options: dict[str, Any]) -> dict[str, Any]:
    """Return fields and options in place of the keywords of the originals; raise TypeError for one that comes twice."""
    options = {name: 0 if name in _NO_LIMITS and value is None else value for name, value in options.items()}
    for theirs, ours in (("n_agents", "num_agents"), ("players", "num_agents"), ("field_size", "size")):
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
