"""The frozen, validated configuration of a world, from which every environment is built."""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
from collections.abc import Collection, Mapping
from functools import cached_property
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid import _fields
from multigrid._checks import (
    check_bool,
    check_int,
    check_keywords,
    check_limit,
    check_name,
    check_num_agents,
    check_parts,
    keep_given,
    name_errors,
    resolve_size,
    shorten,
)
from multigrid._delays import resolve_delays
from multigrid._fields import Collisions, GridOptions, OnTarget, Reward, Size, Walls
from multigrid._memory import check_grid, check_observations
from multigrid._options import MOST_BITS, check_walls, prepare_fields, resolve_options
from multigrid.game import Game, describe
from multigrid.maps._cells import WALL, label_components
from multigrid.maps._drawn import MapGenerator
from multigrid.maps._layouts import check_room
from multigrid.maps._levels import stack_maps
from multigrid.maps._text import ParsedMap, format_map, parse_map
from multigrid.parts import IMAGES, MESSAGES, PARTS, Part, PartSpec, check_flat, list_keys, name_extents, resolve_shape

__all__ = ["Collisions", "GridConfig", "GridOptions", "OnTarget", "Part", "Reward", "Size", "Walls", "resolve_config"]

_DEFAULT_SIZE, _DEFAULT_NUM_AGENTS, _DEFAULT_MAX_CYCLES = 5, 2, 300
_LARGEST_TILE = 256
_NOT_GIVEN: Any = None
_LEAVE_OUT = (
    "leave it out, or to change the map of a configuration, use "
    "dataclasses.replace(config, walls=..., size=None, num_agents=None)"
)


@keep_given
@check_keywords
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GridConfig:
    """The description of a world: its grid, its agents, its rules and its observations.

    The attributes are the values that hold: `size`, `num_agents`, `max_cycles` and `observe` are there, given or not.
    `dataclasses.replace`, copies, comparisons and `to_dict` are of what was given, so that
    ``dataclasses.replace(config, walls=...)`` takes the size of the new map, unless `size` was given.

    Raises:
        TypeError: a field of the wrong type.
        ValueError: a field out of range, an unknown name, a `size` or `num_agents` that differs from the map's, more
            agents than the map has room for, or a world that needs too much memory.

    >>> config = GridConfig(size=(7, 4), num_agents=3)
    >>> config.width, config.height, config.parts
    (7, 4, ('agent', 'target', 'others'))

    See the page "MultiGrid" (docs/environments/multi_grid.md in the source).
    """

    size: _fields.SizeField = _NOT_GIVEN
    """The side of a square in cells, or (width, height); by default the map's size, else 5."""
    num_agents: _fields.CountField = _NOT_GIVEN
    """The number of agents; by default the map's, else 2. With (least, most), each episode has a random number of
    agents; the `GridConfig` has the two as `least_agents` and `num_agents`."""
    walls: _fields.WallsField = _NOT_GIVEN
    """A map: text, in which letters set starts and targets, or a bool array (W, H), True at walls. Or M maps of one
    size, a list or an array (M, W, H): each episode uses a random one. Or a generator of `multigrid.maps`. None for a
    grid without walls."""
    collisions: _fields.CollisionsField = "symmetric"
    """Which requested moves are granted."""
    on_target: _fields.OnTargetField = "park"
    """What happens to an agent on its target."""
    reward: _fields.RewardField = "individual"
    """Whether each agent gets its own reward, or the mean of all."""
    observe: _fields.PartsField = _NOT_GIVEN
    """The parts of an observation, in order; by default ("agent", "target"), with "others" for several agents. With a
    single name, an observation is the array of that part, not a Dict."""
    view_radius: int = 2
    """How many cells the parts "view" and "rgb_view" show in each direction."""
    rgb_tile: int = 8
    """How many pixels a side of a cell has in the parts "rgb" and "rgb_view"; at most 256."""
    flatten: bool = False
    """One float32 vector instead of a Dict, coordinates scaled to 0..1. With the part "action_mask", the Dict
    ``{"observation": vector, "action_mask": int8}``."""
    allow_stay: bool = False
    """Add action 4, stay."""
    max_cycles: int | None = _DEFAULT_MAX_CYCLES
    """Episodes are truncated after this many steps; None for never."""
    game: _fields.GameField = _NOT_GIVEN
    """The class of a game with its own rules; None for path finding."""
    options: _fields.OptionsField = _NOT_GIVEN
    """Options of the game that differ from its defaults; `GridConfig.options` is a dict of them all."""
    delays: _fields.DelaysField = _NOT_GIVEN
    """Random delays: `multigrid.Delays`, a mapping of its fields, a probability, or (probability, least, most) with the
    least and most steps of a delay. None for no delays."""
    least_agents: int | None = None
    """The least number of agents in an episode; None if it is always `num_agents`."""
    message_bits: int = 0
    """How many bits each agent sends with its action, which all agents observe in the next step: an action is then
    ``[action, bit, ...]``, and the part "messages" is observed by default."""

    _given = cast("Mapping[str, Any]", MappingProxyType({}))

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        derived = [name for name in ("size", "num_agents", "walls", "observe") if getattr(self, name) is None]
        own, fields = vars(self)["options"], [field.name for field in dataclasses.fields(type(self))]
        if "max_cycles" not in self._given and self.max_cycles == _DEFAULT_MAX_CYCLES:
            fields.remove("max_cycles")
        set_field(self, "message_bits", check_int("message_bits", self.message_bits, 0, most=MOST_BITS))
        if not self.message_bits:
            fields.remove("message_bits")
        set_field(self, "options", resolve_options(self.game, own))
        if self.walls is not None and not self.draws_maps:
            set_field(self, "walls", stack_maps(self.walls, has_targets=self.has_targets))
        check_walls(self.game, has_walls=self.draws_maps or bool(np.any(self.maps)))
        if self.num_agents is not None:  # `prepare` may compute with the number
            most, least = check_num_agents(self.num_agents, self.least_agents, None)
            vars(self).update(num_agents=most, least_agents=least)
        self._take_prepared({"size", "num_agents", "walls"} | ({"max_cycles", "message_bits"} - set(fields)))
        sides = self.walls.largest if self.draws_maps else None if self.maps is None else self.maps.shape[1:]
        set_field(self, "size", resolve_size(self.size, sides, _DEFAULT_SIZE, _LEAVE_OUT))
        letters = self.walls.agents.shape[1] if isinstance(self.walls, ParsedMap) else None
        given: Any = self.num_agents
        if letters is not None and given not in (None, letters):
            raise ValueError(f"num_agents is {shorten(given)} but the map shows {letters}; {_LEAVE_OUT}")
        given = (letters or _DEFAULT_NUM_AGENTS) if given is None else given
        fixes = "a map with letters" if letters else None
        if self.game is not None and "num_agents" in self.prepared:
            fixes = f"the game {self.game.__name__}"
        most, least = check_num_agents(given, self.least_agents, fixes)
        vars(self).update(num_agents=most, least_agents=least)
        if self.maps is None:
            check_grid(self.width, self.height, num_maps=None)
        set_field(self, "view_radius", check_int("view_radius", self.view_radius, 0))
        set_field(self, "rgb_tile", check_int("rgb_tile", self.rgb_tile, 1, most=_LARGEST_TILE))
        set_field(self, "max_cycles", check_limit(self.max_cycles))
        set_field(self, "delays", resolve_delays(self.delays, self.game))
        for name, names in (("collisions", Collisions), ("on_target", OnTarget), ("reward", Reward)):
            set_field(self, name, check_name(name, getattr(self, name), get_args(names)))
        for name in ("flatten", "allow_stay"):
            set_field(self, name, check_bool(name, getattr(self, name)))
        observe: Any = self.observe
        observe = self._find_default_parts(with_messages="message_bits" in fields) if observe is None else observe
        check_walls(self.game, observe=observe)
        parts = check_parts(observe, self.part_specs)
        set_field(self, "observe", parts[0] if isinstance(observe, str) else parts)
        if self.flatten:
            check_flat(self.parts, self.part_specs, max(self.width, self.height))
        check_room(self)
        check_observations(self.parts, self.extents, flatten=self.flatten)
        given = {name: None if name in derived else getattr(self, name) for name in fields}
        given["options"] = {name: value for name, value in (self.options or {}).items() if name in (own or {})} or None
        set_field(self, "_given", MappingProxyType(given))

    def _find_default_parts(self, *, with_messages: bool) -> Any:
        observe: Any = self.prepared.get("observe")
        if observe is None:
            usual = ("agent", "target", "others")[: 2 + (self.num_agents > 1)]
            observe = tuple(part for part in self.part_specs if part in usual or part not in PARTS)
        if with_messages:
            observe = (*((observe,) if isinstance(observe, str) else observe), MESSAGES)
        return observe

    def _take_prepared(self, names: Collection[str]) -> None:
        """Set those of some fields that the game's function `prepare` has returned."""
        fields = {name: value for name, value in self.prepared.items() if name in names}
        if self.has_own_maps:
            with name_errors(f"{self.game.__name__ if self.game else ''}.prepare"):
                fields["walls"] = stack_maps(fields["walls"], has_targets=self.has_targets)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def given(self) -> dict[str, Any]:
        """The fields that were given, checked; None for what follows from others, and without such a `max_cycles`."""
        return {**self._given, "options": copy.copy(self._given["options"])}

    def to_dict(self) -> dict[str, Any]:
        """Return what was given as a dict for JSON, from which `from_dict` makes an equal configuration.

        Maps are pictures in text; agents and targets are lists of cells, as a picture cannot show two in one cell. A
        game is ``"module:Class"``. Games, options, delays, `least_agents` and `rgb_tile` are left out if the default.
        """
        optional: dict[str, Any] = dict.fromkeys(("game", "options", "delays", "least_agents"))
        optional["rgb_tile"] = type(self).rgb_tile
        fields = {name: one for name, one in self.given.items() if name not in optional or one != optional[name]}
        if self.game is not None:
            fields["game"] = f"{self.game.__module__}:{self.game.__qualname__}"
        if self.delays is not None:
            fields["delays"] = dataclasses.asdict(self.delays)
        if self.has_own_maps:
            return fields
        if self.draws_maps:
            fields["walls"] = {"generator": type(self.walls).__name__, **dataclasses.asdict(self.walls)}
        if self.maps is not None:
            # In a pool, the constructor takes plain lines for the rows of one map.
            end = "\n" if self.height == 1 < self.num_maps else ""
            fields["walls"] = [format_map(walls) + end for walls in self.maps]
        if isinstance(self.walls, ParsedMap):
            cells = {"agents": self.walls.agents.tolist(), "targets": self.walls.targets.tolist()}
            fields["walls"] = {"maps": fields["walls"], **cells}
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], game: type[Game] | None = None) -> GridConfig:
        """Return the configuration of what `to_dict` returned; TypeError, ValueError or KeyError for anything else.

        No code is loaded: the game is the one that is passed, or a class of a module that has been imported.

        >>> config = GridConfig(size=(7, 4), num_agents=(1, 3))
        >>> GridConfig.from_dict(config.to_dict()) == config
        True
        """
        walls = fields.get("walls")
        if isinstance(walls, dict) and "generator" in walls:
            generators = {one.__name__: one for one in MapGenerator.__subclasses__()}
            options = {name: value for name, value in walls.items() if name != "generator"}
            walls = generators[walls["generator"]](**options)
        elif isinstance(walls, dict):
            rows = zip(walls["maps"], walls["agents"], walls["targets"], strict=True)
            walls = [ParsedMap(parse_map(picture).walls, agents, targets) for picture, agents, targets in rows]
        elif isinstance(walls, list):
            walls = [parse_map(one) if isinstance(one, str) else one for one in walls]
        stored = fields.get("game")
        if game is None and stored is not None:
            module, _, name = str(stored).partition(":")
            nested: Any = sys.modules.get(module)
            game = functools.reduce(lambda one, part: getattr(one, part, None), name.split("."), nested)
            if game is None:
                problem = f"the game is {shorten(stored)}, which no imported module has"
                raise ValueError(f"{problem}; import its module, or pass game=")
        return cls(**{**fields, "walls": walls, "game": game})

    @property
    def maps(self) -> NDArray[np.bool_] | None:
        """The walls alone: bool (M, W, H); None without walls, and where maps are drawn."""
        return self.walls.walls if isinstance(self.walls, ParsedMap) else None if self.draws_maps else self.walls

    @property
    def draws_maps(self) -> bool:
        """Whether `walls` is a generator, so that each episode has a map of its own."""
        return isinstance(self.walls, MapGenerator)

    @property
    def has_own_maps(self) -> bool:
        """Whether the maps are those that the game's function `prepare` has returned."""
        return "walls" in self.prepared

    @property
    def draws_images(self) -> bool:
        """Whether observations have images."""
        return not set(IMAGES).isdisjoint(self.parts)

    @property
    def has_targets(self) -> bool:
        """Whether agents have targets: always, but in some games."""
        return self.game is None or self.game.targets

    @property
    def agents_can_leave(self) -> bool:
        """Whether agents can be absent before the episode ends: under *leave*, in most games of several, or drawn."""
        leave = self.on_target == "leave" or self.least_agents is not None
        return leave or (self.game is not None and self.game.departures and self.num_agents > 1)

    @cached_property
    def width(self) -> int:
        """The number of cells along x."""
        return self.size if isinstance(self.size, int) else self.size[0]

    @cached_property
    def height(self) -> int:
        """The number of cells along y."""
        return self.size if isinstance(self.size, int) else self.size[1]

    @property
    def num_actions(self) -> int:
        """4, or 5 with `allow_stay`, and those of the game, which follow the fifth."""
        own = len(self.own_actions)
        moves = 0 if self.game is not None and not self.game.moves else 5 if self.allow_stay or own else 4
        return moves + own

    @property
    def own_actions(self) -> tuple[str, ...]:
        """The names of the actions of the game: all, or the first so many as its function `prepare` has returned."""
        names = () if self.game is None else describe(self.game).actions
        return names[: self.prepared.get("actions")]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of an observation, in order; of `observe` as a single name, that one."""
        return (self.observe,) if isinstance(self.observe, str) else self.observe

    @cached_property
    def part_specs(self) -> MappingProxyType[Part, PartSpec]:
        """What an observation can have: the parts of `multigrid.parts.PARTS`, then those of the game."""
        needs_targets = () if self.has_targets else ("target", "offset")
        specs: dict[Any, PartSpec] = PARTS | ({} if self.game is None else describe(self.game).parts)
        return MappingProxyType({part: spec for part, spec in specs.items() if part not in needs_targets})

    @cached_property
    def extents(self) -> MappingProxyType[str, int]:
        """The extents, by the names that shapes in `multigrid.parts` use: W, H, N, A, ..."""
        sizes = self.width, self.height, self.num_agents, self.num_actions, self.message_bits
        extents = name_extents(*sizes, self.view_radius, self.rgb_tile)
        own = {name: value for name, value in self.prepared.items() if isinstance(value, int)}
        return MappingProxyType(own | extents)

    @cached_property
    def part_shapes(self) -> MappingProxyType[Part, tuple[int, ...]]:
        """The shape of each part of one agent's observation, in order."""
        return MappingProxyType({part: resolve_shape(self.part_specs[part].shape, self.extents) for part in self.parts})

    @property
    def observation_keys(self) -> tuple[str, ...]:
        """The keys of an observation's Dict, in order, as `multigrid.parts.list_keys`; none for a single array."""
        return () if isinstance(self.observe, str) and not self.flatten else list_keys(self.parts, flatten=self.flatten)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The agents' names, in index order: agent_0, agent_1, ..."""
        return tuple(f"agent_{index}" for index in range(self.num_agents))

    @property
    def num_maps(self) -> int:
        """The number of maps; 1 without walls."""
        return 1 if self.maps is None else len(self.maps)

    @cached_property
    def is_wall(self) -> NDArray[np.bool_]:
        """Bool (M, W, H): True at the walls of each map; False everywhere without walls. ValueError for drawn maps."""
        if self.maps is not None:
            return self.maps
        if self.draws_maps:
            self.walls.refuse_unknown()
        no_walls = np.zeros((1, self.width, self.height), dtype=bool)
        no_walls.setflags(write=False)
        return no_walls

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """int32 (M, W, H): the connected components of each map, as `label_components` numbers them."""
        if self.maps is None and not self.draws_maps:
            components = np.full((1, self.width, self.height), WALL + 1, dtype=np.int32)
        else:
            components = np.stack([label_components(walls) for walls in self.is_wall])
        components.setflags(write=False)
        return components

    @property
    def layouts(self) -> NDArray[np.int64] | None:
        """int64 (M, N, 4): x, y, target x, target y of each agent that the maps' letters show; None without letters."""
        if not isinstance(self.walls, ParsedMap):
            return None
        targets = self.walls.targets if self.target_lists is None else self.target_lists[:, :, 0]
        if not self.has_targets:
            targets = np.zeros_like(self.walls.agents)
        return np.concatenate([self.walls.agents, targets], axis=2)

    @property
    def target_lists(self) -> NDArray[np.int64] | None:
        """int64 (M, N, T, 2): the lists of targets that the maps show, filled with -1; None without lists."""
        return self.walls.targets if isinstance(self.walls, ParsedMap) and self.walls.targets.ndim == 4 else None

    @cached_property
    def prepared(self) -> MappingProxyType[str, Any]:
        """What the game's function `prepare` returned: its extents, its constant arrays, the parts it observes."""
        return MappingProxyType(prepare_fields(self.game, self._name_options({})))

    @property
    def game_options(self) -> SimpleNamespace:
        """The argument of a game's plain functions: options, some fields, and what `prepare` returned."""
        return self._name_options(self.prepared)

    def _name_options(self, prepared: Mapping[str, Any]) -> SimpleNamespace:
        size, num_agents = cast("tuple[Any, Any]", (self.size, self.num_agents))
        maps: Any = self.walls if self.draws_maps else self.maps
        if size is None and maps is not None:
            size = maps.largest if self.draws_maps else maps.shape[1:]
        if num_agents is None and isinstance(self.walls, ParsedMap):
            num_agents = self.walls.agents.shape[1]
        fields = {"size": size, "num_agents": num_agents, "maps": maps, "on_target": self.on_target}
        fields |= {"least_agents": self.least_agents, "message_bits": self.message_bits or None}
        return SimpleNamespace(**dict(self.options or {}) | dict(prepared) | fields)

    def _key(self) -> tuple[object, ...]:
        # Some libraries, such as OmegaConf, pass the default of a field, which is the same limit as none that is given.
        limit = self.max_cycles == _DEFAULT_MAX_CYCLES and _DEFAULT_MAX_CYCLES
        options = tuple(sorted((self.options or {}).items()))
        given = {"max_cycles": limit, **self._given, "options": options}
        rest = tuple(value for name, value in given.items() if name != "walls")
        if self.walls is None or self.draws_maps:
            return (*rest, self.walls)
        arrays = self.walls if isinstance(self.walls, ParsedMap) else (self.walls,)
        return (*rest, *((array.shape, array.tobytes()) for array in arrays))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy calls the constructor, for pickled arrays lose their read-only flag.
        return functools.partial(type(self), **self._given), ()

    def __repr__(self) -> str:
        values = {name: repr(value) for name, value in self._given.items()}
        if self.walls is not None and not self.draws_maps:
            maps = "map" if self.num_maps == 1 else "maps"
            letters = " with agents and targets" if isinstance(self.walls, ParsedMap) else ""
            values["walls"] = f"<{self.num_maps} {maps} of {self.width} x {self.height} cells{letters}>"
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in values.items())})"

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, GridConfig) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


# It reads as a new dict each time, a change of which does not reach the configuration.
GridConfig.options = property(  # type: ignore[assignment]
    lambda config: copy.copy(vars(config)["options"]), lambda config, value: vars(config).update(options=value)
)


def resolve_config(config: GridConfig | None, /, **settings: Any) -> GridConfig:
    """Return the given config, or if it is None, a config of the keywords; TypeError for both, or for another type.

    >>> resolve_config(None, size=(7, 4)).width
    7
    """
    if config is None:
        return GridConfig(**settings)
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is of type {type(config).__name__}; expected a GridConfig, or its fields as keywords")
    if settings:
        raise TypeError(f"both a config and {sorted(settings)} were given; use dataclasses.replace(config, ...)")
    return config
