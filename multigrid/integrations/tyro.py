"""tyro: flags for the fields of a `GridConfig`, in programs of users."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from multigrid.config import GridConfig
from multigrid.integrations.extras import missing_library

try:
    from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "cli") from error

__all__ = ["add_field_rule", "grid_registry"]


def grid_registry() -> ConstructorRegistry:
    """Return rules that make tyro use the exact types of a `GridConfig`'s fields, also inside other dataclasses.

    The annotations of the fields are ``Annotated[type, exact type]``, where the first type is one that OmegaConf takes.
    tyro by itself would read the first one: ``--size`` could not be given, and ``--collisions`` would take any text.

    >>> import tyro
    >>> tyro.cli(GridConfig, args=["--size", "7", "4", "--on-target", "leave"], registry=grid_registry()).size
    (7, 4)
    """

    def take_given(spec: StructConstructorSpec, default: Any) -> StructConstructorSpec:
        given = default.given if isinstance(default, GridConfig) else {}
        return dataclasses.replace(spec, fields=tuple(_take_exact_type(field, given) for field in spec.fields))

    registry = ConstructorRegistry()
    add_struct_rule(registry, take_given, GridConfig)
    return registry


def add_field_rule(registry: ConstructorRegistry, change: Callable[[StructFieldSpec], StructFieldSpec]) -> None:
    """Add a rule that replaces each field of all dataclasses by ``change(field)``."""
    add_struct_rule(registry, lambda spec, _: dataclasses.replace(spec, fields=tuple(map(change, spec.fields))))


def add_struct_rule(
    registry: ConstructorRegistry,
    change: Callable[[StructConstructorSpec, Any], StructConstructorSpec],
    only: type[Any] | None = None,
) -> None:
    """Add a rule that replaces tyro's description of the dataclass `only`, or of all, by ``change(spec, default)``."""
    inside: list[StructTypeInfo] = []

    @registry.struct_rule
    def read(info: StructTypeInfo) -> StructConstructorSpec | None:
        # tyro's own rules come next, not this one again.
        if inside or only not in (None, info.type):
            return None
        inside.append(info)
        try:
            spec = ConstructorRegistry.get_struct_spec(info)
        finally:
            inside.pop()
        return change(spec, info.default) if isinstance(spec, StructConstructorSpec) else None


def _take_exact_type(field: StructFieldSpec, given: Mapping[str, Any]) -> StructFieldSpec:
    exact = get_args(field.type)[1] if get_origin(field.type) is Annotated else field.type
    return dataclasses.replace(field, type=exact, default=given.get(field.name, field.default))
