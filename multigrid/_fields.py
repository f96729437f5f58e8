"""The types of the fields of `multigrid.config.GridConfig`, for type checkers, OmegaConf and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from multigrid._delays import Delays
from multigrid.game import Game
from multigrid.maps._drawn import MapGenerator
from multigrid.maps._text import ParsedMap
from multigrid.parts import Part

Collisions = Literal["symmetric", "priority", "block_both", "soft", "none"]
OnTarget = Literal["park", "leave", "stay", "restart"]
Reward = Literal["individual", "shared"]
Size: TypeAlias = int | Sequence[int] | NDArray[np.integer[Any]]
_Map: TypeAlias = str | NDArray[np.bool_] | ParsedMap
Walls: TypeAlias = _Map | Sequence[_Map] | MapGenerator

_Value = TypeVar("_Value")
_Given = TypeVar("_Given")
_Hint = TypeVar("_Hint")

if TYPE_CHECKING:
    _Name: TypeAlias = Annotated[_Value, str]

    class _Field(Generic[_Value, _Given, _Hint]):
        """The type of a field whose attribute and argument differ in type: a descriptor has two types."""

        def __get__(self, config: Any, owner: Any = None) -> _Value: ...
        def __set__(self, config: Any, value: _Given) -> None: ...
else:
    # OmegaConf supports neither a Literal nor a tuple in a union. It reads only the first type of an Annotated; the
    # second one is the exact type, for the flags of the command line.
    class _Name:
        def __class_getitem__(cls, names):
            return Annotated[str, names]

    class _Field:
        def __class_getitem__(cls, types):
            return types[2]


SizeField: TypeAlias = _Field[int | tuple[int, int], Size | None, Annotated[Any, int | tuple[int, int] | None]]
CountField: TypeAlias = _Field[int, int | Sequence[int] | None, Annotated[Any, int | tuple[int, int] | None]]
WallsField: TypeAlias = _Field[Any, Walls | None, Any]
PartsField: TypeAlias = _Field[
    tuple[Part, ...] | Part,
    Sequence[Part] | Part | None,
    Annotated[tuple[str, ...] | None, tuple[Part, ...] | None],
]
GameField: TypeAlias = _Field[type[Game] | None, type[Game] | None, Any]
DelaysField: TypeAlias = _Field[
    Delays | None,
    Delays | Mapping[str, Any] | Sequence[float] | float | None,
    Annotated[Any, tuple[float, int, int] | float | None],
]
OptionsField: TypeAlias = _Field[Mapping[str, Any] | None, Mapping[str, Any] | None, Any]
CollisionsField: TypeAlias = _Name[Collisions]
OnTargetField: TypeAlias = _Name[OnTarget]
RewardField: TypeAlias = _Name[Reward]


class GridOptions(TypedDict, total=False):
    """The fields of `GridConfig` as keywords, for type checkers and editors.

    >>> import multigrid
    >>> options: GridOptions = {"size": (7, 4), "num_agents": 3}
    >>> multigrid.GridConfig(**options).width
    7
    """

    size: Size | None
    num_agents: int | Sequence[int] | None
    walls: Walls | None
    collisions: Collisions
    on_target: OnTarget
    reward: Reward
    observe: Sequence[Part] | Part | None
    view_radius: int
    rgb_tile: int
    flatten: bool
    allow_stay: bool
    max_cycles: int | None
    game: type[Game] | None
    options: Mapping[str, Any] | None
    delays: Delays | Mapping[str, Any] | Sequence[float] | float | None
    least_agents: int | None
    message_bits: int
